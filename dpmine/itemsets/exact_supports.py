"""Exact supports of all frequent itemsets. NOT private: for checks, comparisons and public data."""

from __future__ import annotations

import gc
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpmine.errors import BadParameter
from dpmine.io.arrow import integer_array, is_integer
from dpmine.io.python_values import as_texts, items_of
from dpmine.io.source import ColumnNames, Columns, Cuts
from dpmine.itemsets.transactions.interface import starts_of
from dpmine.itemsets.transactions.memory import (
    MemoryBudget,
    TooManyItemsets,
    listed_cost,
    listing_cost,
    object_cost,
)
from dpmine.ledger.charging import DryRun
from dpmine.options.names import LOCAL
from dpmine.parameters import Number, Sizes, count_or_share, least_count, parse_sizes
from dpmine.privacy import Guarantee, Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.itemsets.release.supports import Item, Itemset
    from dpmine.itemsets.transactions.interface import Itemsets, SupportSource, Transactions


_BLOCK = 1 << 24  # bytes of the itemsets that are written at a time
_OBJECT, _ROW = 64, 512  # bytes an item and an itemset take as Python objects and as text
_ITEMSETS_PER_BLOCK = 1 << 16  # itemsets whose items are looked up at a time

_MOST_UNCHECKED = 1 << 18  # itemsets of one size: with more, it is worth a look at what larger sizes take at least
_MOST_EXTENSIONS = 64  # items by which an itemset may be extended for this
_FOR_FILES = "raise `min_support` or `memory`, or lower the largest `size`"
_FOR_FRAMES = "raise min_support or memory, lower the largest size, or write Parquet with dpmine supports"

_NO_GUARANTEE = Guarantee(Fraction(0), Fraction(0), Neighbors.REPLACE_ONE).without_privacy("supports are exact")


def itemset_supports(
    data: object,
    *,
    size: Sizes = 2,
    min_support: Number = 1,
    as_fraction: bool = False,
    unit: ColumnNames = None,
    basket: ColumnNames = None,
    item: str | None = None,
    items: str | Iterable[object] | None = None,
    one_hot: bool = False,
    attributes: bool | str | Iterable[str] | None = None,
    missing: str | Iterable[str] | None = None,
    cut: Cuts = None,
    catalogue: object = None,
    memory: int | str | None = None,
    engine: str = LOCAL,
) -> pd.DataFrame:
    """The exact supports of all itemsets with at least `min_support`. NOT private.

    Args:
        data: all that `top_itemset` reads, which says more of the arguments that both have.
        size: items in an itemset: 2, or a range "2-3".
        min_support: a count of units: an integer, or text such as "100". Any other number is a share of the units:
            0.01, "1.0", "1/3", "2%". Shares are compared as floats, so 5 of 6 units reach 5/6.
        as_fraction: whether supports are shares of the units instead of counts. A lift computed from them needs units
            with one basket each: see `TopItemsets.rules`.
        unit: column(s) that name the privacy unit.
        basket: column(s) that distinguish the baskets of one unit.
        item: column of the items, or of lists of them.
        items: column of lists of items; or the names of the columns of a one-hot matrix.
        one_hot: one item per column.
        attributes: the columns of a table whose values are items; True: all but the unit's.
        missing: values of attributes that are no items.
        cut: public points that cut attributes of numbers.
        catalogue: a list of items; others are left out. None: all items that occur.
        memory: the most to use, in bytes or as text such as "4GB" (default: half of the machine).
        engine: "local" or "spark".

    Returns a frame with the columns support and itemsets (frozensets), by decreasing support, then by items.
    Raises BadParameter, BadData or UnreadableFile. A frame that does not fit into `memory` is rejected before it is
    made.

    Example:
        >>> import dpmine
        >>> dpmine.itemset_supports([["a", "b"], ["a", "b", "c"], ["a"]], size=2).support.tolist()
        [2, 1, 1]

    See Also:
        top_itemsets: the best itemsets, chosen with differential privacy.
    """
    listed = list_supports(
        data,
        size=size,
        min_support=min_support,
        as_fraction=as_fraction,
        unit=unit,
        basket=basket,
        item=item,
        items=items,
        one_hot=one_hot,
        attributes=attributes,
        missing=missing,
        cut=cut,
        catalogue=catalogue,
        memory=memory,
        engine=engine,
        as_objects=True,
    )
    return listed.frame()


@dataclass
class ListRoom:
    """How many bytes are left for lists of itemsets.

    Attributes:
        left: of a memory limit.
        largest: the largest size that is asked for.
        advice: what the caller may do where they do not suffice.
        as_objects: whether the itemsets become frozensets, too.
    """

    left: int
    largest: int
    advice: str
    as_objects: bool

    def itemsets(self, miner: SupportSource, size: int, threshold: int) -> Itemsets:
        """All of one size; raises BadParameter before these, or those of larger sizes, take more than is left."""
        limit = min(self.left, self.left * listing_cost(size) // self._cost(size))
        try:
            found = miner.itemsets(size, threshold, memory_limit=limit)
        except TooManyItemsets:
            raise self._too_many() from None
        self.left -= len(found) * self._cost(size)
        if self.left < 0 or (len(found) > _MOST_UNCHECKED and self._subsets(miner, found, threshold) > self.left):
            raise self._too_many()
        return found

    def _too_many(self) -> BadParameter:
        return BadParameter(f"The itemsets do not fit into the memory limit: {self.advice}.")

    def _subsets(self, miner: SupportSource, found: Itemsets, threshold: int) -> int:
        """Bytes of the larger subsets of one frequent itemset: to list millions before the rejection takes long."""
        size, items = found.items.shape[1], found.items[0].tolist()
        if threshold >= miner.resident_threshold:
            for item in np.argsort(-miner.item_supports, kind="stable")[:_MOST_EXTENSIONS].tolist():
                if item not in items and miner.support([*items, item]) >= threshold:
                    items.append(item)
        larger = range(size + 1, min(self.largest, len(items)) + 1)
        return sum(comb(len(items), each) * self._cost(each) for each in larger)

    def _cost(self, size: int) -> int:
        return listed_cost(size) + (object_cost(size) if self.as_objects else 0)


@dataclass(frozen=True, eq=False)
class ListedSupports:
    """Itemsets of several sizes, by decreasing support, then by size and items.

    Attributes:
        parts: those of each size.
        order: int64[k], the places of the itemsets in the parts, one part after the other.
        supports: int64[k], counts of units; or float64[k], shares of the units.
        labels: of the items.
    """

    parts: list[Itemsets]
    order: NDArray[np.int64]
    supports: NDArray[Any]
    labels: pa.Array

    def frame(self) -> pd.DataFrame:
        """A frame with the columns support and itemsets (frozensets)."""
        import pandas as pd

        itemsets = frozensets(self.parts, items_of(self.labels))
        return pd.DataFrame({"support": self.supports, "itemsets": pd.Series(itemsets[self.order], dtype="object")})

    @property
    def schema(self) -> pa.Schema:
        """The columns items (lists, sorted) and support, a count."""
        return self._block(slice(0, 0)).schema

    def batches(self, *, as_objects: bool) -> Iterator[pa.RecordBatch]:
        """The rows in order, in blocks of a few MB: of Arrow, or of the Python objects that they become."""
        reference, row = (_OBJECT, _ROW) if as_objects else (8, 16)
        longest = 8 if is_integer(self.labels.type) else pc.max(pc.binary_length(self._names)).as_py() or 0
        largest = self.parts[-1].items.shape[1]
        step = max(1, _BLOCK // (row + largest * (reference + longest)))
        for first in range(0, max(1, len(self.order)), step):
            yield self._block(slice(first, first + step))

    def _block(self, rows: slice) -> pa.RecordBatch:
        places = self.order[rows]
        ends = np.cumsum([len(part) for part in self.parts])
        part_of = np.searchsorted(ends, places, side="right")
        sizes = np.array([part.items.shape[1] for part in self.parts])
        offsets = starts_of(sizes[part_of])
        codes = np.empty(offsets[-1], np.int64)
        for number in np.flatnonzero(np.bincount(part_of)):
            part, mine = self.parts[number], np.flatnonzero(part_of == number)
            members = part.items[places[mine] - (ends[number] - len(part))]
            codes[offsets[mine, None] + np.arange(sizes[number])] = members
        lists = pa.LargeListArray.from_arrays(integer_array(offsets), self._names.take(integer_array(codes)))
        return pa.record_batch({"items": lists, "support": integer_array(self.supports[rows])})

    @cached_property
    def _names(self) -> pa.Array:
        """Labels that may be repeated without limit: integers, or texts with offsets of 64 bits."""
        return self.labels if is_integer(self.labels.type) else as_texts(self.labels)


def list_supports(
    data: object,
    *,
    size: Sizes,
    min_support: Number,
    as_fraction: bool = False,
    unit: ColumnNames = None,
    basket: ColumnNames = None,
    item: str | None = None,
    items: str | Iterable[object] | None = None,
    one_hot: bool = False,
    attributes: bool | str | Iterable[str] | None = None,
    missing: str | Iterable[str] | None = None,
    cut: Cuts = None,
    catalogue: object = None,
    memory: int | str | None = None,
    engine: str = LOCAL,
    progress: Callable[[float], None] | None = None,
    notice: Callable[[str], None] | None = None,
    as_objects: bool = False,
    dry_run: bool = False,
) -> ListedSupports:
    """What `itemset_supports` returns, before it becomes a frame or a file, with the same arguments.

    With `as_objects`, the memory limit holds for the frame, too. `progress` and `notice` are those of `top_itemset`.
    With `dry_run`, raises DryRun once the layout is said, before any value is read.
    """
    from dpmine.itemsets.counting.rows import showing
    from dpmine.itemsets.ingest.catalogue import read_catalogue
    from dpmine.itemsets.read import notice_cautions, notice_layout, read_transactions

    def planned(plan: LayoutPlan) -> None:
        notice_cautions(plan, notice)
        notice_layout(plan, notice)
        if dry_run:
            raise DryRun("supports", _NO_GUARANTEE)

    columns = Columns.of(unit, basket, item, items, one_hot, attributes, missing, cut)
    sizes = parse_sizes(size)
    limit = count_or_share("min_support", min_support)
    budget = MemoryBudget.of(memory)
    read = read_transactions(
        data,
        columns,
        catalogue=None if catalogue is None else read_catalogue(catalogue),
        progress=progress,
        memory=budget,
        planned=planned,
        engine=engine,
        exact=True,
    )
    with closing(read), showing(progress):
        baskets = read.transactions
        threshold = limit if isinstance(limit, int) else least_count(limit, baskets.total_units)
        advice = _FOR_FRAMES if as_objects else _FOR_FILES
        room = ListRoom(baskets.room_for_lists(budget), sizes[1], advice, as_objects)
        parts = _parts(baskets, sizes[0], threshold, room)
        units = baskets.total_units
    places = np.concatenate([part.supports for part in parts])
    order = np.argsort(np.negative(places, out=places), kind="stable")
    supports = -places[order]
    return ListedSupports(parts, order, supports / units if as_fraction else supports, baskets.labels)


def _parts(baskets: Transactions, smallest: int, threshold: int, room: ListRoom) -> list[Itemsets]:
    """The itemsets of each size, up to one that has none; at least one part."""
    miner = baskets.miner()
    parts = [room.itemsets(miner, smallest, threshold)]
    while len(parts[-1]) and smallest + len(parts) <= room.largest:
        parts.append(room.itemsets(miner, smallest + len(parts), threshold))
    return parts


def frozensets(parts: list[Itemsets], names: list[Item]) -> NDArray[np.object_]:
    """The itemsets as Python objects, one part after the other; names[c] stands for code c."""
    name_of = np.empty(len(names), object)
    name_of[:] = names
    with _collector_at_rest():
        return np.fromiter(_frozensets(parts, name_of), object, sum(map(len, parts)))


def _frozensets(parts: list[Itemsets], names: NDArray[np.object_]) -> Iterator[Itemset]:
    for part in parts:
        for first in range(0, len(part), _ITEMSETS_PER_BLOCK):
            columns = [names[codes].tolist() for codes in part.items[first : first + _ITEMSETS_PER_BLOCK].T]
            yield from map(frozenset, zip(*columns, strict=True))


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """No search for garbage while many small objects are made: it takes four times as long as making them."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
