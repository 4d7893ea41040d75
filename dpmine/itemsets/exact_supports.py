"""Exact supports of all frequent itemsets. NOT private: for checks, comparisons and public data."""

from __future__ import annotations

import gc
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dpmine.errors import BadParameter
from dpmine.io.arrow import integer_array
from dpmine.io.python_values import as_texts, items_of
from dpmine.io.source import ColumnNames, Columns, Cuts
from dpmine.io.unfit import CountedUnfit
from dpmine.itemsets.counting.lists import order_of
from dpmine.itemsets.transactions.lists import ListRoom, taken
from dpmine.itemsets.transactions.memory import MemoryBudget
from dpmine.later import pc
from dpmine.ledger.dry_run import DryRun
from dpmine.options.explained import OF_TRANSACTIONS, explained_by
from dpmine.options.names import LOCAL
from dpmine.parameters import Number, Sizes, count_or_share, least_count, parse_sizes
from dpmine.privacy import Guarantee, Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from dpmine.io.input import Data
    from dpmine.itemsets.ingest.layouts import LayoutPlan
    from dpmine.itemsets.release.supports import Item
    from dpmine.itemsets.transactions.interface import SupportSource
    from dpmine.itemsets.transactions.lists import ItemsetLists


_BLOCK = 1 << 24  # bytes of the itemsets that are written at a time
_OBJECT, _ROW = 64, 512  # bytes an item and an itemset take as Python objects and as text
_ITEMSETS_PER_BLOCK = 1 << 16  # itemsets whose items are looked up at a time
_ALL_SIZES = "1-999999999"
_FOR_FILES = "raise `min_support` or `memory`, or lower the largest `size`"
_FOR_FRAMES = "raise min_support or memory, lower the largest size, or write Parquet with dpmine supports"

_NO_GUARANTEE = Guarantee(Fraction(0), Fraction(0), Neighbors.REPLACE_ONE).without_privacy("supports are exact")


@explained_by(OF_TRANSACTIONS)
def itemset_supports(
    data: Data,
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
    maximal: bool = False,
    closed: bool = False,
) -> pd.DataFrame:
    """The exact supports of all itemsets with at least `min_support`. NOT private.

    Args:
        size: items in an itemset: 2, a range "2-3", or "all".
        min_support: a count of units: an integer, or text such as "100". Any other number is a share of the units:
            0.01, "1.0", "1/3", "2%". Shares are compared as floats, so 5 of 6 units reach 5/6.
        as_fraction: whether supports are shares of the units instead of counts. `dpmine.frequent_patterns` makes rules
            of shares; their lift needs units with one basket each: see `TopItemsets.rules`.
        catalogue: a list of items; others are left out. None: all items that occur.
        maximal: list only itemsets of which no superset has the least support.
        closed: list only itemsets of which no superset has the same support.

    Returns a frame with the columns support and itemsets (frozensets), by decreasing support, then by items. A warning
    says how many lines of text files were left out.
    Raises BadParameter, BadData or UnreadableFile. A frame that does not fit into `memory` is rejected before it is
    made.

    Example:
        >>> import dpmine
        >>> dpmine.itemset_supports([["a", "b"], ["a", "b", "c"], ["a"]], size=2).support.tolist()
        [2, 1, 1]
        >>> dpmine.itemset_supports([["a", "b"], ["a", "b", "c"], ["a"]], size="all", closed=True).support.tolist()
        [3, 2, 1]

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
        maximal=maximal,
        closed=closed,
        as_objects=True,
    )
    return listed.frame()


@dataclass(frozen=True, eq=False)
class ListedSupports:
    """Itemsets of several sizes, by decreasing support, then by size and items.

    Attributes:
        lists: the itemsets, in any order.
        order: int64[k], their places.
        units: that supports are shares of; None where they are counts.
        labels: of the items.
        several_baskets: whether a unit may have more than one basket.
    """

    lists: ItemsetLists
    order: NDArray[np.int64]
    units: int | None
    labels: pa.Array
    several_baskets: bool = False

    def frame(self) -> pd.DataFrame:
        """A frame with the columns support and itemsets (frozensets)."""
        import pandas as pd

        supports = self.lists.supports[self.order]
        itemsets = frozensets(self.lists, self.order, items_of(self.labels))
        return pd.DataFrame(
            {
                "support": supports if self.units is None else supports / self.units,
                "itemsets": pd.Series(itemsets, dtype="object"),
            }
        )

    def rules(self, least: Fraction) -> pd.DataFrame:
        """As `exact_rules`, of all sizes from 1 on; with lift where supports are shares of units of one basket."""
        from dpmine.itemsets.release.rules import exact_rules

        itemsets = frozensets(self.lists, self.order, items_of(self.labels)).tolist()
        counts = dict(zip(itemsets, self.lists.supports[self.order].tolist(), strict=True))
        return exact_rules(counts, least, units=None if self.several_baskets else self.units)

    @property
    def schema(self) -> pa.Schema:
        """The columns items (lists, sorted) and support, a count."""
        return self._block(slice(0, 0)).schema

    def batches(self, *, as_objects: bool) -> Iterator[pa.RecordBatch]:
        """The rows in order, in blocks of a few MB: of Arrow, or of the Python objects that they become."""
        reference, row = (_OBJECT, _ROW) if as_objects else (8, 16)
        longest = 8 if pa.types.is_integer(self.labels.type) else pc.max(pc.binary_length(self._names)).as_py() or 0
        largest = int(self.lists.sizes.max(initial=1))
        step = max(1, _BLOCK // (row + largest * (reference + longest)))
        for first in range(0, max(1, len(self.order)), step):
            yield self._block(slice(first, first + step))

    def _block(self, rows: slice) -> pa.RecordBatch:
        block = taken(self.lists, self.order[rows])
        items = pc.take(self._names, integer_array(block.codes), boundscheck=False)
        lists = pa.LargeListArray.from_arrays(integer_array(block.starts), items)
        return pa.record_batch({"items": lists, "support": integer_array(block.supports)})

    @cached_property
    def _names(self) -> pa.Array:
        """Labels that may be repeated without limit: integers, or texts with offsets of 64 bits."""
        return self.labels if pa.types.is_integer(self.labels.type) else as_texts(self.labels)


def list_supports(
    data: Data,
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
    maximal: bool = False,
    closed: bool = False,
    progress: Callable[[float], None] | None = None,
    notice: Callable[[str], None] | None = None,
    as_objects: bool = False,
    dry_run: bool = False,
) -> ListedSupports:
    """What `itemset_supports` returns, before it becomes a frame or a file, with the same arguments.

    With `as_objects`, the memory limit holds for the frame, too. `progress` and `notice` as in `top_itemset`.
    With `dry_run`, raises DryRun once the layout is said, before any value is read.
    """
    from dpmine.itemsets.counting.rows import showing
    from dpmine.itemsets.ingest.catalogue import read_catalogue
    from dpmine.itemsets.read import notice_cautions, notice_layout, read_transactions, say

    def before_rows(plan: LayoutPlan) -> None:
        notice_cautions(plan, notice)
        notice_layout(plan, notice)
        if dry_run:
            raise DryRun("supports", _NO_GUARANTEE)

    columns = Columns.of(unit, basket, item, items, one_hot, attributes, missing, cut)
    sizes = _sizes(size, maximal=maximal, closed=closed)
    limit = count_or_share("min_support", min_support)
    budget, unfit = MemoryBudget.of(memory), CountedUnfit()
    read = read_transactions(
        data,
        columns,
        catalogue=None if catalogue is None else read_catalogue(catalogue),
        progress=progress,
        memory=budget,
        before_rows=before_rows,
        engine=engine,
        exact=unfit,
    )
    if unfit.rows:
        say(f"lines left out: {unfit.rows:,} (blank ones and headers are not counted)", notice)
    with closing(read), showing(progress):
        baskets = read.transactions
        threshold = limit if isinstance(limit, int) else least_count(limit, baskets.total_units)
        advice = _FOR_FRAMES if as_objects else _FOR_FILES
        room = ListRoom(baskets.room_for_lists(budget), sizes[1], advice, as_objects)
        lists = _found(baskets.miner(), sizes, threshold, room, maximal=maximal, closed=closed)
        units = baskets.total_units if as_fraction else None
    is_ordered = sizes[0] == sizes[1] and not (maximal or closed)  # as `Itemsets` are
    order = np.arange(len(lists.supports)) if is_ordered else order_of(lists)
    return ListedSupports(lists, order, units, baskets.labels, read.several_baskets)


def _sizes(size: Sizes, *, maximal: bool, closed: bool) -> tuple[int, int]:
    """The smallest and the largest size. Raises BadParameter."""
    if maximal and closed:
        raise BadParameter("`maximal` and `closed` exclude each other: every maximal itemset is closed.")
    return parse_sizes(_ALL_SIZES if size == "all" else size)


def _found(
    miner: SupportSource, sizes: tuple[int, int], threshold: int, room: ListRoom, *, maximal: bool, closed: bool
) -> ItemsetLists:
    if maximal or closed:
        return miner.closed(sizes, threshold, room, maximal=maximal)
    return miner.lists(sizes, threshold, room)


def frozensets(lists: ItemsetLists, order: NDArray[np.int64], names: list[Item]) -> NDArray[np.object_]:
    """The itemsets in this order as Python objects, made size by size; names[c] stands for code c."""
    name_of = np.empty(len(names), object)
    name_of[:] = names
    sizes = lists.sizes[order]
    found = np.empty(len(sizes), object)
    with _collector_at_rest():
        for size in np.flatnonzero(np.bincount(sizes)).tolist():
            places = np.flatnonzero(sizes == size)
            for first in range(0, len(places), _ITEMSETS_PER_BLOCK):
                some = places[first : first + _ITEMSETS_PER_BLOCK]
                found[some] = _of_size(size, name_of[taken(lists, order[some]).codes])
    return found


def _of_size(size: int, items: NDArray[np.object_]) -> NDArray[np.object_]:
    """Each `size` of the items as a set. `zip` fills one tuple again and again: nothing is faster."""
    one = iter(items.tolist())
    return np.fromiter(map(frozenset, zip(*[one] * size, strict=True)), object, len(items) // size)


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
