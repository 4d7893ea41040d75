"""The main job: read transactions, count supports exactly, choose the top itemset privately."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

from dpmine.accounting.accounts import Account
from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.itemsets.columns import ColumnNames, Columns
from dpmine.itemsets.memory import parse_memory
from dpmine.itemsets.results import TopItemsets
from dpmine.itemsets.sizes import Sizes, parse_sizes
from dpmine.parameters import whole
from dpmine.privacy import Neighbors
from dpmine.selection.engine import AUTO, advice, build_mechanism, guarantee_of, plain_name, resolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.accounting.ledger import Ledger
    from dpmine.itemsets.out_of_core import Transactions
    from dpmine.parameters import Number
    from dpmine.privacy import Guarantee
    from dpmine.selection.mechanism import Mechanism

FROM_DATA = "from-data"
_NO_CATALOGUE = (
    "{} chooses among all itemsets of a public catalogue, because the items seen in the data are private: give "
    "catalogue (--catalogue FILE), or give up privacy with catalogue='from-data' (--catalogue-from-data), or use a "
    "mechanism that needs no catalogue, such as large_margin."
)
_LEAKS = "the catalogue was taken from the data, which shows that its items exist"


def top_itemset(
    data: Any,
    *,
    size: Sizes = 2,
    epsilon: Number = 1,
    delta: Number = 1e-6,
    mechanism: str = AUTO,
    neighbors: str | Neighbors = Neighbors.REPLACE_ONE,
    unit: ColumnNames = None,
    basket: ColumnNames = None,
    item: str | None = None,
    items: str | None = None,
    one_hot: bool = False,
    catalogue: Any = None,
    kbar: int | None = None,
    max_items_per_unit: int | None = None,
    not_private: bool = False,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    memory: int | str | None = None,
    progress: Callable[[float], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> TopItemsets:
    """The itemset that the most privacy units have in one basket, chosen with differential privacy.

    Args:
        data: a path, a list of paths, a directory, a glob or a URL of Parquet; a pyarrow Table, RecordBatchReader or
            Dataset; a pandas frame; anything with `__arrow_c_stream__` (polars, duckdb); or a sequence of baskets.
        size: items in the itemset: 2, or a range "2-3".
        epsilon: ε > 0, read exactly (0.1 is one tenth).
        delta: δ in (0, 1), used by approximate mechanisms only.
        mechanism: a name out of `dpmine.selection.engine.MECHANISMS`, or "auto": the one that needs the smallest lead
            as far as ε, δ, the relation and the number of itemsets of the catalogue tell.
        neighbors: "replace_one" (the number of units is public) or "add_remove".
        unit: column(s) that name the privacy unit, the person to protect.
        basket: column(s) that tell the baskets of one unit apart (long layout).
        item: column of the items; for the list layout the column of lists.
        items: the same as `item`, for the list layout.
        one_hot: the columns hold 0/1 integers, one item a column.
        catalogue: the public list of all items: a path (text or one-column Parquet), a sequence, an Arrow array, or
            "from-data" (the items seen; NOT private, and the guarantee says so). None: unknown.
        kbar: how many candidates `limited_domain` keeps; public.
        max_items_per_unit: for `bounded_growth`, which needs it: every unit's data are cut to so many items (its most
            frequent ones) before anything is counted.
        not_private: opts in to the mechanism "exact".
        ledger: a `dpmine.Ledger` or its URL, charged before any data are read.
        dataset: the data set's name in the ledger.
        memory: how much to take at most, in bytes or as text such as "4GB" (default: half of the machine); larger data
            are streamed, through temporary files where a unit's rows are scattered.
        progress: told the share of the work done, 0 to 1.
        notice: told which layout was taken, in column names, and why "auto" takes its mechanism.

    Raises BadParameter, BadData, UnreadableFile or NotPrivate. All parameters are checked before any data are read.
    """
    sizes = parse_sizes(size)
    columns = Columns.of(unit=unit, basket=basket, item=item, items=items, one_hot=one_hot)
    limit = parse_memory(memory)
    known = _Catalogue.of(catalogue, sizes)
    options = {"kbar": kbar, "max_items_per_unit": _itemsets_per_unit(max_items_per_unit, sizes)}
    candidates = known.candidates(sizes)
    wanted = resolve(mechanism, epsilon=epsilon, delta=delta, neighbors=neighbors, candidates=candidates)
    chooser = build_mechanism(
        wanted.mechanism, epsilon=epsilon, delta=delta, neighbors=neighbors, not_private=not_private, **options
    )
    if chooser.needs_catalogue and not known.given:
        raise BadParameter(_NO_CATALOGUE.format(chooser.name))
    promise = known.promise(chooser)
    payment = _payment(Account.of(ledger, dataset), promise, chooser.name)
    from dpmine.itemsets.out_of_core import shortened
    from dpmine.itemsets.out_of_core_read import read_transactions

    read = read_transactions(data, columns, catalogue=known.items, progress=progress, memory=limit, planned=payment)
    if notice is not None:
        for text in filter(None, (read.description, wanted.reason)):
            notice(text)
    baskets = read.transactions if max_items_per_unit is None else shortened(read.transactions, max_items_per_unit)
    chosen = _choose(chooser, baskets, sizes, catalogue_is_public=known.given)
    cut = [] if max_items_per_unit is None else [f"every unit was cut to {max_items_per_unit} items before counting"]
    return TopItemsets(
        () if chosen is None else (frozenset(baskets.labels[code].as_py() for code in chosen),),
        sizes,
        requested=plain_name(mechanism),
        mechanism=chooser.name,
        guarantee=promise.for_unit(baskets.unit).noting(*cut),
        advice=advice(chooser, candidates) if chosen is None else "",
    )


@dataclass(frozen=True, slots=True)
class _Catalogue:
    """What is public about the items: a list (Arrow array), nothing, or (not private) whatever the data hold."""

    items: Any
    from_data: bool

    @classmethod
    def of(cls, catalogue: Any, sizes: tuple[int, int]) -> _Catalogue:
        """Read from whatever the user gave; BadParameter when no itemset of the sizes can be made of it."""
        if catalogue is None or (isinstance(catalogue, str) and catalogue == FROM_DATA):
            return cls(None, catalogue is not None)
        from dpmine.itemsets.catalogue import read_catalogue

        items = read_catalogue(catalogue)
        if sizes[1] > len(items):
            raise BadParameter(f"size must not exceed the {len(items)} items of the catalogue.")
        return cls(items, from_data=False)

    @property
    def given(self) -> bool:
        return self.items is not None or self.from_data

    def promise(self, chooser: Mechanism) -> Guarantee:
        """What the chooser promises with this list, before the unit is known."""
        promise = guarantee_of(chooser)
        return promise.without_privacy(_LEAKS) if self.from_data else promise

    def candidates(self, sizes: tuple[int, int]) -> int | None:
        """How many itemsets the public list allows; None where there is none."""
        if self.items is None:
            return None
        return sum(comb(len(self.items), size) for size in range(sizes[0], sizes[1] + 1))


def _payment(account: Account, promise: Guarantee, mechanism: str) -> Callable[[str], None] | None:
    """What charges the account once the privacy unit has a name; None where nobody pays."""
    if account.ledger is None:
        return None

    def pay(unit: str) -> None:
        account.charge(promise.for_unit(unit), job=f"top-itemset {mechanism}")

    return pay


def _itemsets_per_unit(max_items: int | None, sizes: tuple[int, int]) -> int | None:
    """How many itemsets of the sizes a unit of `max_items` items supports at most."""
    if max_items is None:
        return None
    supported = sum(comb(whole("max_items_per_unit", max_items), size) for size in range(sizes[0], sizes[1] + 1))
    if not supported:
        raise BadParameter("max_items_per_unit must be at least the size of the itemsets.")
    return supported


def _choose(
    chooser: Mechanism, baskets: Transactions, sizes: tuple[int, int], *, catalogue_is_public: bool
) -> tuple[int, ...] | None:
    from dpmine.itemsets.out_of_core_miner import miner_of
    from dpmine.itemsets.universe import ItemsetUniverse

    possible = range(sizes[0], min(sizes[1], baskets.catalogue_size) + 1)
    if not possible:
        return None
    universe = ItemsetUniverse(miner_of(baskets), possible, catalogue_is_public=catalogue_is_public)
    return chooser.choose(universe, bits=SystemBits())
