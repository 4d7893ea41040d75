"""Data that Spark reads -> baskets that stay on its cluster; and whether the executors count in these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpmine.errors import BadParameter, DpmineError, SpeedWarning, warn
from dpmine.io.arrow import integer_array, integers, integers_or, is_text
from dpmine.io.input import Input, paths_of
from dpmine.io.open import is_spark_frame
from dpmine.io.sources.periods import require_none
from dpmine.itemsets.ingest.encode import coded, narrow
from dpmine.itemsets.ingest.layouts import Layout, plan_layout
from dpmine.itemsets.ingest.lines import Cells, declared, declared_type, grouped, restricted
from dpmine.itemsets.spark.blocks import VERSION, baskets_of_patterns, versions
from dpmine.itemsets.spark.inputs import ITEM, TABLE, SparkSource, small
from dpmine.itemsets.spark.native import Blocks, NativeMiner, row_groups
from dpmine.itemsets.spark.progress import watched
from dpmine.itemsets.spark.session import UNREADABLE, KeptFrames, functions, replacing, spark_session
from dpmine.itemsets.spark.supports import SparkMiner
from dpmine.itemsets.transactions.hashes import label_hashes
from dpmine.itemsets.transactions.interface import Baskets, LoadedTransactions, Transactions
from dpmine.itemsets.transactions.memory import MemoryBudget, parse_memory
from dpmine.itemsets.transactions.repeated import RepeatedUnits
from dpmine.options.names import PARQUET
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame, SparkSession

    from dpmine.io.source import Columns, Progress
    from dpmine.io.unfit import CountedUnfit
    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.itemsets.spark.inputs import SparkRows
    from dpmine.itemsets.transactions.interface import SupportSource


_WEIGHT = "weight"
_NUMBER_BYTES = 8
_SQL_BYTES = 0.3  # that Spark shuffles for each byte of a row: docs/explanation/spark.md
_TASK = "0.7 GB"  # measured for a block of the size that is meant, at the lowest threshold


def read_spark(
    data: Any,
    columns: Columns,
    *,
    catalogue: pa.Array | None,
    progress: Progress | None,
    memory: int | str | MemoryBudget | None,
    before_rows: Callable[[LayoutPlan], None] | None,
    exact: CountedUnfit | None,  # noqa: ARG001 - columns have types
) -> LoadedTransactions:
    """The baskets in a Spark frame or in what Spark reads at some paths; one pass counts the items.

    `before_rows` gets the layout once it is known from the columns, before any row is read. `progress` gets the share
    of each step's tasks that are done: see `watched`. Raises
    BadParameter (no Spark, no Parquet, a stream), BadData or UnreadableFile, none of which quotes Spark.
    """
    if columns.attributes is not None:
        raise BadParameter("Spark reads no tables of attributes: leave out `attributes`, or the engine.")
    if is_spark_frame(data):
        with replacing():
            session, endless = data.sparkSession, data.isStreaming
        if endless:
            raise BadParameter("A stream has no end: give a frame of what has arrived, or the files that hold it.")
        source, paths = SparkSource.of_frame(data), [TABLE]
    else:
        _require_parquet(data)
        session = spark_session(memory.whole if isinstance(memory, MemoryBudget) else parse_memory(memory))
        paths = list(map(str, data.paths if isinstance(data, Input) else paths_of(data) or ()))
        source = SparkSource.of_paths(session, paths)
    require_none(source.source.names, (*columns.unit, *columns.basket))
    plan = plan_layout(source.source, columns)
    known, _ = declared(catalogue, source.source, plan)
    natively = count_themselves(session)
    if before_rows is not None:
        note = _counting_note(plan, natively=natively, files=source.wanted(plan, known) is not None)
        before_rows(replace(plan, counting_note=note))
    rows, kept = source.rows(restricted(plan, source.source, known)), KeptFrames(session)
    try:
        if any(path.startswith(TABLE) for path in paths):
            # A frame or table may differ each time it is computed, and all counts must be of the same rows.
            owners = None if rows.owners is None else kept.keep(rows.owners)
            frame = kept.keep(rows.frame)
            rows = replace(rows, frame=frame, owners=owners, counted=frame)
        with watched(session, progress):
            blocks = _blocks(source, plan, rows, known, kept) if natively else None
            labels, supports = _supports(_items(rows, known, session) if blocks is None else blocks.counts, known)
    except BaseException:
        kept.release_all()
        raise
    baskets = SparkBaskets(labels, supports, plan.unit_name, rows, session, kept, blocks, progress)
    return LoadedTransactions(baskets, declared_type(known, rows.kind), bool(plan.basket_columns))


def _require_parquet(data: object) -> None:
    inputs = [data] if isinstance(data, Input) else map(Input, paths_of(data) or ())
    if {each.form for each in inputs} != {PARQUET}:
        raise BadParameter(
            "engine 'spark' (`engine='spark'`) reads Parquet files or a Spark DataFrame: give one of these, or "
            "leave engine out."
        )


def _counting_note(plan: LayoutPlan, *, natively: bool, files: bool) -> str:
    """Which way counts, and what a row and a task take: by columns alone, because sizes of files depend on the data."""
    columns = len(plan.unit_columns) + len(plan.basket_columns) + 1
    if not natively:
        sent = f"about {_SQL_BYTES * (12 + 8 * columns):.0f} bytes a row, and more for texts"
        return f"Spark's SQL counts; {sent}, are shuffled first"
    read = "read the files where they can, and count" if files else "count the rows that Spark reads"
    alone = plan.layout is not Layout.LONG and not plan.unit
    sent = "nothing is" if alone else f"at most {_NUMBER_BYTES * columns} bytes a row, and more for texts, are"
    return f"Spark's executors {read} with dpmine's kernels; {sent} shuffled; a task takes about {_TASK} beside Java"


def _blocks(source: SparkSource, plan: LayoutPlan, rows: SparkRows, known: pa.Array | None, kept: KeptFrames) -> Blocks:
    """The baskets in blocks, of files that the executors read where they can, else of the rows that Spark gives."""
    wanted = source.wanted(plan, known)
    groups = None if wanted is None else row_groups(source.paths(), wanted, kept.session)
    if wanted is None or groups is None:
        blocks = Blocks.of(_known_alone(rows, known, kept.session), kept, kept.session)
    else:
        blocks = Blocks.of_files(wanted, groups, rows, kept, kept.session)
    return blocks if known is None else replace(blocks, units=None)


def _known_alone(rows: SparkRows, known: pa.Array | None, session: SparkSession) -> SparkRows:
    """The rows of the items of a catalogue."""
    if known is None:
        return rows
    with replacing():
        listed = session.createDataFrame(pa.table({ITEM: known}))
    return replace(rows, frame=rows.frame.join(small(listed, len(known)), ITEM, "left_semi"))


def _items(rows: SparkRows, known: pa.Array | None, session: SparkSession) -> pa.Table:
    """The items and the number of units of each: `item`, `support`."""
    frame = _known_alone(rows, known, session).frame
    if not rows.rows_are_units:
        frame = frame.select(*rows.units, ITEM).distinct()
    with replacing(UNREADABLE):
        return frame.groupBy(ITEM).agg(functions.count("*").alias("support")).toArrow()


def _supports(found: pa.Table, known: pa.Array | None) -> tuple[pa.Array, NDArray[np.int64]]:
    """The labels, sorted, and the number of units of each."""
    items, numbers = found.column(ITEM).combine_chunks(), integers(found.column("support"))
    if is_text(items.type):
        items = items.cast(pa.large_string())
    labels = items.take(pc.sort_indices(items)) if known is None else known
    supports = np.zeros(len(labels), np.int64)
    supports[integers_or(-1, pc.index_in(items, value_set=labels.cast(items.type)))] = numbers
    return narrow(labels), supports


_known: WeakKeyDictionary[SparkSession, bool] = WeakKeyDictionary()
_SAMPLE = 64  # rows, in as many tasks as the cluster has cores
_SLOW = (
    "The executors of Spark cannot import this version of dpmine, so Spark's SQL counts, which is slower: install "
    "dpmine and pyarrow there, or send them with spark.archives (see 'Count on Spark' in the manual)."
)


def count_themselves(session: SparkSession) -> bool:
    """Whether executors can import this version of dpmine with its kernels. The first time, a job without data."""
    found = _known.get(session)
    if found is None:
        found = _known[session] = _found(session)
        if not found:
            warn(_SLOW, SpeedWarning)
    return found


def _found(session: SparkSession) -> bool:
    try:
        with replacing():
            rows = session.range(_SAMPLE).mapInArrow(versions, VERSION).distinct().collect()
    except DpmineError:
        return False
    return [row[0] for row in rows] == [__version__]


@dataclass(frozen=True, eq=False)
class SparkBaskets(Transactions):
    """Baskets on a cluster.

    Attributes:
        labels: as in Baskets.
        item_supports: int64[N], number of units of each item.
        unit: as in Baskets.
        rows: of the items of `labels`, and perhaps of others.
        session: of Spark.
        kept: what the cluster keeps for these baskets until they are closed.
        blocks: the baskets as the executors' dpmine counts in them; None where SQL counts.
        progress: called in each step with the share of its tasks that are done.
    """

    labels: pa.Array
    item_supports: NDArray[np.int64]
    unit: str
    rows: SparkRows
    session: SparkSession
    kept: KeptFrames
    blocks: Blocks | None = None
    progress: Progress | None = None

    @cached_property
    def total_units(self) -> int:
        """See `Transactions`. A pass over the data, where some units may have no items."""
        if self.blocks is not None and self.blocks.units is not None:
            return self.blocks.units
        with watched(self.session, self.progress), replacing(UNREADABLE):
            rows = self.rows.frame if self.rows.owners is None else self.rows.owners
            return int(rows.select(*self.rows.units).distinct().count())

    def miner(self) -> SupportSource:
        """See `Transactions`."""
        by_sql = SparkMiner(self)
        return by_sql if self.blocks is None else NativeMiner(self.labels, self.blocks, by_sql)

    def truncated(self, max_items_per_unit: int) -> SparkBaskets:
        """See `Transactions`. A pass over the data."""
        held = self._held(max_items_per_unit)
        units = self.rows.units
        frame = self.kept.keep(self.rows.frame.join(held.select(*units, ITEM), [*units, ITEM], "left_semi"))
        rows = replace(self.rows, frame=frame, counted=frame)
        with watched(self.session, self.progress):
            supports = _added_up(held, ["rank"], functions.count("*"), len(self.labels))
            blocks = None if self.blocks is None else Blocks.of(rows, self.kept, self.session)
        return replace(self, item_supports=supports, rows=rows, blocks=blocks)

    def item_weights(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `Transactions`. A pass over the data."""
        if self.blocks is None:
            held = _weighted(self._held(len(weights)), self.rows.units, weights, self.session)
        else:
            held = self.blocks.item_weights(self.labels, weights)
        with watched(self.session, self.progress):
            return _added_up(held, ["rank"], functions.sum(_WEIGHT), len(self.labels))

    def pair_weights(self, codes: Sequence[int], weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `Transactions`. A pass over the data."""
        held = _weighted(_pairs_held(self.coded(codes), self.rows), self.rows.units, weights, self.session)
        with watched(self.session, self.progress):
            return _added_up(held, ["rank", "later"], functions.sum(_WEIGHT), len(codes))

    def _held(self, limit: int) -> DataFrame:
        """A row for each of the `limit` items, at most, that a unit keeps: the columns of the unit, `item`, `rank`."""
        codes = np.arange(len(self.labels))
        hashes = integer_array(label_hashes(self.labels))
        with replacing():
            known = self.items_frame(codes, hash=hashes)
        return _items_held(self.rows.frame.join(small(known, len(codes)), ITEM), self.rows, limit)

    def close(self) -> None:
        """The cluster need not keep anything for these transactions any more."""
        self.kept.release_all()

    def projected(self, codes: Sequence[int]) -> SparkBaskets:
        """See `Transactions`."""
        some = list(codes)
        return replace(self, labels=self.labels.take(some), item_supports=self.item_supports[some])

    def supports_of_items(self) -> NDArray[np.int64]:
        """See `Transactions`."""
        return self.item_supports

    def baskets_of(self, codes: Sequence[int]) -> Iterable[Baskets]:
        """See `Transactions`. Different units come to the driver, with their numbers; where SQL counts, all rows."""
        if self.blocks is None:
            yield self._gathered(codes)
            return
        labels = self.labels.take(integer_array(np.asarray(codes, np.int64)))
        with watched(self.session, self.progress):
            patterns, times = self.blocks.patterns(labels)
        empty = self.total_units - int(times.sum())
        for digit in range(int(times.max(initial=1)).bit_length()):
            some = patterns.filter(pa.array(times >> digit & 1 > 0))
            part = baskets_of_patterns(some, np.asarray(codes, np.int32), self.labels, self.unit)
            yield RepeatedUnits(**{**vars(part), "empty_units": 0 if digit else empty}, times=1 << digit)

    def _gathered(self, codes: Sequence[int]) -> Baskets:
        """The baskets of these items, out of their rows."""
        with replacing(UNREADABLE):
            rows = self.coded(codes).toArrow()
        units, baskets = (
            [coded(rows.column(name)) for name in names] for names in (self.rows.units, self.rows.baskets)
        )
        items = np.asarray(codes, np.int32)[integers(rows.column("rank"))]
        found = grouped(Cells.of_units(units, baskets, items, numbered=False), self.labels, self.unit)
        return replace(found, empty_units=self.total_units - found.unit_count)

    def unions(self) -> SparkBaskets:
        """See `Transactions`. Without its names of baskets, a unit has one."""
        blocks = None if self.blocks is None else self.blocks.unions(self.kept)
        return replace(self, rows=replace(self.rows, baskets=()), blocks=blocks)

    def items_frame(self, codes: Sequence[int] | NDArray[np.int64], **more: Any) -> DataFrame:
        """A frame of items (`item`), their places in `codes` (`rank`), and `more` columns of theirs."""
        labels = self.labels.take(integer_array(np.asarray(codes, np.int64)))
        ranks = integer_array(np.arange(len(labels))).cast(pa.int32())
        with replacing():
            return self.session.createDataFrame(pa.table({ITEM: labels, "rank": ranks, **more}))

    def coded(self, codes: Sequence[int] | NDArray[np.int64]) -> DataFrame:
        """The rows of these items: keys and `rank`, the item's place in `codes`."""
        found = self.rows.frame.join(small(self.items_frame(codes), len(codes)), ITEM)
        return found.select(*self.rows.keys, "rank")


def _items_held(items: DataFrame, rows: SparkRows, limit: int) -> DataFrame:
    """A row for each of the `limit` items, at most, that a unit keeps: the columns of the unit, `item`, `rank`.

    `items` are the rows with the items' `rank` and `hash`.
    """
    once = items if rows.rows_are_units else items.distinct()
    held = once.groupBy(*rows.units, ITEM, "rank", "hash").agg(functions.count("*").alias("baskets"))
    lot = functions.xxhash64(functions.bit_xor("hash").over(_window(rows.units)), "hash")
    best = functions.row_number().over(_window(rows.units).orderBy(functions.desc("baskets"), "lot"))
    return held.withColumn("lot", lot).withColumn("place", best).where(functions.col("place") <= limit)


def _pairs_held(coded: DataFrame, rows: SparkRows) -> DataFrame:
    """A row for each pair that a unit supports: the columns of the unit, `rank`, and `later`, the larger rank."""
    once = coded if rows.rows_are_units else coded.distinct()  # or a row that is repeated n times is joined n² times
    later = once.withColumnRenamed("rank", "later")
    both = once.join(later, list(rows.keys)).where(functions.col("rank") < functions.col("later"))
    return both.select(*rows.units, "rank", "later").distinct()


def _weighted(held: DataFrame, units: Sequence[str], weights: NDArray[np.int64], session: SparkSession) -> DataFrame:
    """With a column `weight`: weights[n − 1] in each of the n rows of a unit."""
    numbers = integer_array(np.arange(1, len(weights) + 1)).cast(pa.int32())
    with replacing():
        known = session.createDataFrame(pa.table({"of": numbers, _WEIGHT: integer_array(weights)}))
    count = functions.count("*").over(_window(units))
    return held.withColumn("of", count.cast("int")).join(functions.broadcast(known), "of")


def _added_up(held: DataFrame, places: list[str], total: Column, size: int) -> NDArray[np.int64]:
    """int64[size, …], one axis for each of the columns `places`: what is added up over the rows of each place."""
    with replacing(UNREADABLE):
        found = held.groupBy(*places).agg(total.alias("total")).toArrow()
    sums = np.zeros([size] * len(places), np.int64)
    sums[tuple(integers(found.column(place)) for place in places)] = integers(found.column("total"))
    return sums


def _window(units: Sequence[str]) -> Any:
    """The rows of a unit."""
    from pyspark.sql import Window

    return Window.partitionBy(*units)
