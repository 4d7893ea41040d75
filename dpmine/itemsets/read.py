"""Data of any kind, layout and size -> transactions, held by the engine that counts them; what is said before."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from dpmine.errors import AccuracyWarning, BadParameter, LayoutWarning, warn
from dpmine.io.input import Input
from dpmine.io.open import is_spark_frame, open_source
from dpmine.io.source import BasketSource
from dpmine.io.unfit import NoneUnfit
from dpmine.itemsets.ingest.attributes import attributes_in
from dpmine.itemsets.ingest.layouts import Layout, Origin, plan_layout
from dpmine.itemsets.ingest.lines import DoesNotFit, declared, read_whole, restricted
from dpmine.itemsets.ingest.one_hot import as_lists
from dpmine.itemsets.ingest.plain_values import with_plain_values
from dpmine.itemsets.transactions.interface import LoadedTransactions
from dpmine.itemsets.transactions.memory import MemoryBudget, parse_memory, require_catalogue_room
from dpmine.ledger.dry_run import DryRun
from dpmine.options.names import ENGINES, LOCAL, SPARK
from dpmine.parameters import one_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from dpmine.io.source import Columns, Progress, Source
    from dpmine.io.unfit import CountedUnfit
    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.itemsets.transactions.interface import Transactions
    from dpmine.ledger.charging import Account
    from dpmine.options.names import Registered
    from dpmine.privacy import Guarantee


_MANY = 1 << 29
"""Bytes of lines that a private run does not read at once if they are in order."""
_KEPT = 1 << 30
"""Bytes of baskets that it then holds in one piece at most."""


class Reader(Protocol):
    """How an engine reads data into transactions: its home in `dpmine.options.names`. All is as in `read_transactions`.

    `before_rows` is called before any row is read, and what cannot be used is rejected before that.
    """

    def __call__(
        self,
        data: object,
        columns: Columns,
        *,
        catalogue: pa.Array | None,
        progress: Progress | None,
        memory: int | str | MemoryBudget | None,
        before_rows: Callable[[LayoutPlan], None] | None,
        exact: CountedUnfit | None,
    ) -> LoadedTransactions:
        """The transactions in `data`. Raises as `read_transactions`."""


def engine_of(engine: str, data: object) -> Registered:
    """The engine for these data: a Spark frame is counted by Spark whatever is asked for. Raises BadParameter."""
    asked = one_of("engine", engine, [each.name for each in ENGINES])
    return SPARK if is_spark_frame(data) else next(each for each in ENGINES if each.name == asked)


def read_transactions(
    data: object,
    columns: Columns,
    *,
    catalogue: pa.Array | None = None,
    progress: Progress | None = None,
    memory: int | str | MemoryBudget | None = None,
    before_rows: Callable[[LayoutPlan], None] | None = None,
    engine: str = LOCAL,
    exact: CountedUnfit | None = None,
) -> LoadedTransactions:
    """The transactions in `data`, within a limit of memory: what the process takes on top of what it held before.

    Args:
        data: a path or several, a table, frame or stream of columns, or a sequence of baskets. Frames of Spark, and
            with the engine "spark" paths too, stay on the cluster: close what was read in the end.
        columns: those that the user named.
        catalogue: what `read_catalogue` gives; items outside it are left out. Without one, the items that occur are
            the labels.
        progress: called with the fraction done, 0 to 1; on Spark, in each step with the share of its tasks.
        memory: bytes, a text such as "4GB", or None for half of the machine.
        before_rows: called with the layout once it is known from the columns, before any data are read.
        engine: the name of what counts, out of `dpmine.options.names.ENGINES`.
        exact: for a result that is not private: what counts the rows of text that do not fit. In one-hot columns they
            are an error then.

    Raises UnreadableFile for files, and for a full disk of temporary files. Raises BadData for columns, types and
    layouts. Raises BadParameter for `data` of an unknown kind, and for `memory` that is no size. Raises it also for
    `memory` that is too small for the items, or for the data of one unit.
    """
    limit = memory if isinstance(memory, MemoryBudget) else parse_memory(memory)
    named = engine_of(engine, data)
    if named is SPARK and isinstance(data, Input) and (data.where is not None or data.kinds):
        raise BadParameter("Spark takes no `where`, and no `types`: filter and cast in Spark, or leave the engine out.")
    reader: Reader = named.load()
    called: list[LayoutPlan] = []

    def charging(plan: LayoutPlan) -> None:
        called.append(plan)
        if before_rows is not None:
            before_rows(plan)

    loaded = reader(
        data, columns, catalogue=catalogue, progress=progress, memory=limit, before_rows=charging, exact=exact
    )
    if not called:
        loaded.close()
        raise LookupError(f"the engine {engine} read without a charge: nothing may be released")
    return loaded


def open_transactions(data: object, columns: Columns) -> Source:
    """The source behind `data`; of a table of attributes, these as one column of lists. Reads no rows.

    Raises as `open_source` and `attributes_in`.
    """
    source = open_source(data, columns)
    if columns.attributes is not None:
        return attributes_in(source, columns, columns.attributes)
    return source if isinstance(source, BasketSource) else with_plain_values(source, columns)


def read_local(
    data: object,
    columns: Columns,
    *,
    catalogue: pa.Array | None,
    progress: Progress | None,
    memory: int | str | MemoryBudget | None,
    before_rows: Callable[[LayoutPlan], None] | None,
    exact: CountedUnfit | None,
) -> LoadedTransactions:
    """The reader of this process: in memory, or out of core where they do not fit there."""
    budget = memory if isinstance(memory, MemoryBudget) else MemoryBudget.of(memory)
    require_catalogue_room(catalogue, budget.indivisible)
    source = open_transactions(data, columns)
    plan = plan_layout(source, columns)
    if exact is not None:
        source = source.handling(NoneUnfit() if plan.layout is Layout.ONE_HOT else exact)
    # One value may fill a row group of a column that is read whole.
    source.require_room(plan.keys if plan.layout is Layout.ONE_HOT else plan.columns, budget.indivisible)
    # Raises for labels that are unusable, so before a charge.
    typed_catalogue, item_type = declared(catalogue, source, plan)
    if before_rows is not None:
        _require_room_on_disk(source, plan, budget)
        before_rows(plan)
    if plan.layout is Layout.ONE_HOT:
        source, plan = as_lists(source, restricted(plan, source, typed_catalogue))
    return LoadedTransactions(
        _read(source, plan, typed_catalogue, budget, progress or _show_nothing, exact=exact is not None),
        item_type,
        bool(plan.basket_columns),
    )


def _read(
    source: Source,
    plan: LayoutPlan,
    catalogue: pa.Array | None,
    budget: MemoryBudget,
    progress: Progress,
    *,
    exact: bool,
) -> Transactions:
    """In memory where they fit there; for a private run piece by piece, where many of them are in order.

    A private run asks little of all baskets: large arrays of them would take longer than a second pass over a file.
    """
    from dpmine.itemsets.counting.miner import BasketsInMemory

    if not exact and source.repeatable and (source.rows or 0) * plan.line_bytes > _MANY:
        from dpmine.itemsets.outofcore.reading import Stream
        from dpmine.itemsets.outofcore.streams import NotSorted

        with suppress(NotSorted, BadParameter):  # one unit, or all labels, can fit as a whole that no part may take
            return Stream(source, plan, catalogue, budget.packing_beyond(_KEPT), progress).in_order()
    try:
        whole = read_whole(source, plan, catalogue=catalogue, limit=budget.whole, progress=progress)
        return BasketsInMemory(**vars(whole))
    except DoesNotFit as too_large:
        batches = None if source.repeatable else too_large.batches  # or what was read already would be kept
    from dpmine.itemsets.outofcore.reading import Stream

    return Stream(source, plan, catalogue, budget, progress).transactions(batches)


def _require_room_on_disk(source: Source, plan: LayoutPlan, budget: MemoryBudget) -> None:
    """UnreadableFile, before anything is charged, where data that may need temporary files would find no room."""
    if (source.rows or 0) * plan.line_bytes > budget.whole or os.environ.get("TMPDIR"):
        from dpmine.itemsets.outofcore.reading import require_disk

        require_disk()


def notice_layout(plan: LayoutPlan, notice: Callable[[str], None] | None) -> None:
    """The layout that was taken; no warning where options named it, or the data are baskets without columns."""
    if notice is not None:
        notice(plan.description)
        if plan.counting_note:
            notice(plan.counting_note)
    elif plan.origin in {Origin.NAMES, Origin.SCHEMA}:
        advice = "name the columns to be sure, with unit and item (and basket), or one_hot"
        warn(f"{plan.description}: {advice}.", LayoutWarning)


def notice_cautions(plan: LayoutPlan, notice: Callable[[str], None] | None) -> None:
    """What the user may not have meant, in notices, or else in warnings."""
    for caution in plan.cautions:
        say(caution, notice)


def say(caution: str, notice: Callable[[str], None] | None) -> None:
    """In a notice, or else in a warning."""
    if notice is None:
        warn(f"{caution}.", LayoutWarning)
    else:
        notice(caution)


def charge_with_notices(
    plan: LayoutPlan,
    notice: Callable[[str], None] | None,
    account: Account,
    guarantee: Guarantee,
    *,
    job: str,
    doubt: str = "",
    reason: str = "",
) -> None:
    """Charge the guarantee, its unit known by now, and say in notices, or else in warnings, what is to be known.

    Doubts come before the charge: a user may stop there. So do warnings, because Python can turn them into errors.
    Notices of the layout and of the reason come after it, so that a rejected run has none. A dry run, which ends at the
    charge, has them.
    """
    if notice is None:
        notice_layout(plan, None)
    notice_cautions(plan, notice)
    if doubt and notice is not None:
        notice(doubt)
    elif doubt:
        warn(doubt, AccuracyWarning)
    dry_run = None
    try:
        account.charge(guarantee.for_unit(plan.unit_name), job=job)
    except DryRun as ended:
        dry_run = ended
    if notice is not None:
        notice_layout(plan, notice)
        if reason:
            notice(reason)
    if dry_run is not None:
        raise dry_run


def _show_nothing(_share: float) -> None:
    """Progress that is not shown."""
