"""Exact supports of itemsets whose baskets are on a Spark cluster, as `Miner` gives them.

The cluster keeps the baskets and the counted itemsets; this process holds the items' supports, the levels that were
asked for, and what is listed. A deeper threshold counts only itemsets that were not counted before.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpmine.errors import BadParameter
from dpmine.io.arrow import integers
from dpmine.itemsets.counting.miner import ordered
from dpmine.itemsets.spark.counting import (
    SUPPORT,
    BasketStore,
    ParentSearch,
    Ranks,
    counted,
    depth,
    itemset_columns,
    stored_threshold,
)
from dpmine.itemsets.spark.progress import watched
from dpmine.itemsets.spark.session import functions, replacing
from dpmine.itemsets.transactions.interface import COUNT_LIMIT, SupportSource, reaching
from dpmine.itemsets.transactions.lists import Itemsets
from dpmine.itemsets.transactions.memory import TooManyItemsets, parse_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from dpmine.io.source import Progress
    from dpmine.itemsets.spark.counting import Work
    from dpmine.itemsets.spark.inputs import SparkRows
    from dpmine.itemsets.spark.session import KeptFrames

_BROADCAST = 2_000_000  # parents that are sent to every executor
_REMEMBERED = 20_000  # itemsets whose supports are remembered here, because those listed are asked for next
_SORTED_AT_ONCE = 10_000  # members of a level that one job may skip
_LISTED_COPIES = 3  # as they come, in order, and between


@dataclass(frozen=True, eq=False)
class _Counted:
    """The itemsets of one size that were counted.

    Attributes:
        threshold: all itemsets with at least this support are among them.
        tables: frames with a0, …, `support`, none twice.
        levels: how many have each support ≥ `threshold`.
    """

    threshold: int
    tables: list[DataFrame] = field(default_factory=list)
    levels: Counter[int] = field(default_factory=Counter)

    def table(self) -> DataFrame:
        """All of them."""
        return reduce(lambda left, right: left.unionByName(right), self.tables)

    def reaches(self, threshold: int) -> bool:
        """Whether any has at least this support, which everything was counted down to."""
        return any(level >= threshold for level in self.levels)

    def between(self, low: int, high: int) -> DataFrame:
        """Those with low ≤ support < high."""
        support = functions.col(SUPPORT)
        return self.table().where((support >= low) & (support < high))


class RowsOfItems(Protocol):
    """What is asked of baskets on a cluster: see `SparkBaskets`."""

    @property
    def item_supports(self) -> NDArray[np.int64]:
        """int64[N], those of single items."""

    @property
    def rows(self) -> SparkRows:
        """Of the items, and perhaps of others."""

    @property
    def session(self) -> SparkSession:
        """Of Spark."""

    @property
    def kept(self) -> KeptFrames:
        """What the cluster keeps."""

    @property
    def progress(self) -> Progress | None:
        """Gets the share of each step's tasks that are done."""

    def projected(self, codes: Sequence[int]) -> RowsOfItems:
        """See `Transactions`."""

    def coded(self, codes: Sequence[int] | NDArray[np.int64]) -> DataFrame:
        """The rows of these items: keys and `rank`, the item's place in `codes`."""


class SparkMiner(SupportSource):
    """Exact supports of the itemsets of baskets on a cluster.

    Raises BadData where a job fails, without Spark's words. May be used by several threads, one after the other.
    """

    def __init__(self, baskets: RowsOfItems) -> None:
        self.item_supports: NDArray[np.int64] = baskets.item_supports
        self._baskets = baskets
        self._ranks = Ranks.of(baskets.item_supports)
        self._rank_of = np.full(len(baskets.item_supports), -1, np.int64)
        self._rank_of[self._ranks.codes] = np.arange(len(self._ranks.codes))
        self._store: BasketStore | None = None
        self._work: dict[int, Work] = {}
        self._counted: dict[int, _Counted] = {}
        self._remembered: dict[tuple[int, ...], int] = {}
        self._one_by_one = RLock()

    def watched(self) -> AbstractContextManager[None]:
        """A step whose progress is shown and whose jobs end with an interrupt."""
        return watched(self._baskets.session, self._baskets.progress)

    @property
    def resident_threshold(self) -> int:
        """One more than the largest support of all: every search takes a job."""
        return int(self.item_supports.max(initial=0)) + 1

    def _itemsets(self, size: int, threshold: int, memory_limit: int | None) -> Itemsets:
        found = self.histogram(size, threshold)
        require_room(found.total(), size, memory_limit)
        if not found:
            return Itemsets(np.empty((0, size), np.int32), np.empty(0, np.int64))
        with self._one_by_one, self.watched():
            return self._listed(size, threshold)

    def _histogram(self, size: int, threshold: int) -> Counter[int]:
        if size > self._ranks.above(threshold):
            return Counter()
        with self._one_by_one:
            return reaching(self._known(size, threshold).levels, threshold)

    def _nth(self, size: int, support: int, n: int) -> Sequence[int] | None:
        if n >= self.histogram(size, support)[support]:
            return None
        with self._one_by_one, self.watched():
            level = self._counted[size].between(support, support + 1)
            ranks = _member(level, itemset_columns(size), n)
        codes: tuple[int, ...] = tuple(sorted(self._ranks.codes[ranks].tolist()))
        self._remembered[codes] = support
        return codes

    def _support(self, codes: NDArray[np.int32]) -> int:
        """Takes a job, unless the itemset was listed or drawn before."""
        with self._one_by_one:
            known = self._remembered.get(tuple(codes.tolist()))
            if known is not None:
                return known
            with self.watched():
                return self._looked_up(sorted(self._rank_of[codes].tolist(), reverse=True))

    def _looked_up(self, ranks: list[int]) -> int:
        """The support of items given by falling ranks."""
        known = self._counted.get(len(ranks))
        if known is not None and known.tables:
            found = known.table()
            for name, rank in zip(itemset_columns(len(ranks)), ranks, strict=True):
                found = found.where(functions.col(name) == rank)
            rows = _rows(found.select(SUPPORT))
            if rows:
                return int(rows[0][0])
            if len(ranks) == 2 and self._ranks.supports[ranks[0]] >= known.threshold:
                return 0  # all pairs of these items were counted
        store = self._store
        if store is None or ranks[0] >= store.depth:
            # Baskets with these items alone: a pass over the data, which leaves nothing behind.
            few = self._baskets.projected(sorted(self._ranks.codes[ranks].tolist()))
            passing = _stored(few, Ranks.of(few.item_supports), 1)
            try:
                return passing.containing(range(len(ranks)))
            finally:
                self._baskets.kept.release(passing.frame)
        return store.containing(ranks)

    def _listed(self, size: int, threshold: int) -> Itemsets:
        """Those that were counted and reach the threshold."""
        wanted = self._counted[size].between(threshold, COUNT_LIMIT)
        with replacing():
            found = wanted.toArrow()
        code_of = self._ranks.codes.astype(np.int32)
        codes = np.stack([code_of[integers(found.column(name))] for name in itemset_columns(size)], axis=1)
        codes.sort(axis=1)
        listed = Itemsets(*ordered(codes, integers(found.column(SUPPORT)).copy()))
        if len(listed) <= _REMEMBERED:
            pairs = zip(map(tuple, listed.items.tolist()), listed.supports.tolist(), strict=True)
            self._remembered.update(pairs)
        return listed

    def _known(self, size: int, threshold: int) -> _Counted:
        """All itemsets of `size` ≥ 2 items down to the threshold; none where no smaller ones are as frequent."""
        if all(self._counted_to(smaller, threshold).reaches(threshold) for smaller in range(2, size)):
            return self._counted_to(size, threshold)
        return _Counted(threshold)

    def _counted_to(self, size: int, threshold: int) -> _Counted:
        """All itemsets of `size` items down to the threshold, counted as far as they were not before."""
        known = self._counted.setdefault(size, _Counted(int(self.item_supports.max()) + 1))
        if known.threshold <= threshold:
            return known
        with self.watched():
            return self._counted_deeper(size, threshold, known)

    def _counted_deeper(self, size: int, threshold: int, known: _Counted) -> _Counted:
        """What is known, and the itemsets below it down to the threshold."""
        store = self._store_for(threshold)
        work = self._work_of(store, size)
        deep = depth(self._ranks, work.of_rank, stored=work.stored, known=known.threshold, asked=threshold)
        deep = max(deep, store.threshold)
        search = self._search(size, deep, known.threshold)
        kept = self._baskets.kept
        found = kept.keep(counted(store, search, heavy=work.heavy, session=self._baskets.session))
        try:
            levels = _levels(_Counted(deep, [*known.tables, found]).between(deep, known.threshold))
        except BaseException:
            kept.release(found)  # a second search must not find it twice
            raise
        self._counted[size] = _Counted(deep, [*known.tables, found], known.levels + levels)  # at once, or not at all
        return self._counted[size]

    def _search(self, size: int, low: int, high: int) -> ParentSearch:
        """The itemsets with low ≤ support of the parent < high."""
        end = self._ranks.above(low)
        if size == 2:
            return ParentSearch(size, self._ranks.above(high), end, ())
        ancestors = [self._counted_to(smaller, low) for smaller in range(2, size)]
        parents = [_keys(known, smaller, low, COUNT_LIMIT) for smaller, known in enumerate(ancestors[:-1], 2)]
        return ParentSearch(size, 0, end, (*parents, _keys(ancestors[-1], size - 1, low, high)))

    def _store_for(self, threshold: int) -> BasketStore:
        """Stored baskets that go down to the threshold; made again where they did not go as far."""
        if self._store is not None and self._store.threshold <= threshold:
            return self._store
        if self._store is not None:
            self._baskets.kept.release(self._store.frame)
        self._work.clear()
        self._store = _stored(self._baskets, self._ranks, stored_threshold(self._ranks, threshold))
        return self._store

    def _work_of(self, store: BasketStore, size: int) -> Work:
        if size not in self._work:
            self._work[size] = store.work(size)
        return self._work[size]


def require_room(count: int, size: int, memory_limit: int | None) -> None:
    """TooManyItemsets where a list takes more than a limit of bytes, by default a share of memory."""
    limit = parse_memory(None) // 5 if memory_limit is None else memory_limit
    if _LISTED_COPIES * count * (4 * size + 8) > limit:
        raise TooManyItemsets


def _stored(baskets: RowsOfItems, ranks: Ranks, threshold: int) -> BasketStore:
    """The baskets stored on the cluster, with the items that reach the threshold."""
    depth = ranks.above(threshold)
    ranked = baskets.coded(ranks.codes[:depth])
    return BasketStore.of(ranked, baskets.rows, baskets.kept, threshold=threshold, depth=depth)


def _keys(known: _Counted, size: int, low: int, high: int) -> DataFrame:
    """The itemsets of a range of supports, as they are joined."""
    keys = known.between(low, high).select(*itemset_columns(size))
    number = sum(count for support, count in known.levels.items() if low <= support < high)
    return functions.broadcast(keys) if number <= _BROADCAST else keys


def _levels(itemsets: DataFrame) -> Counter[int]:
    """How many itemsets have each support."""
    with replacing():
        found = itemsets.groupBy(SUPPORT).count().toArrow()
    return Counter(dict(zip(integers(found.column(0)).tolist(), integers(found.column(1)).tolist(), strict=True)))


def _member(level: DataFrame, names: Sequence[str], n: int) -> list[int]:
    """Row number n of a level in the order of its columns."""
    if n < _SORTED_AT_ONCE:
        return [int(rank) for rank in _rows(level.select(*names).orderBy(*names).offset(n).limit(1))[0]]
    rank, before = _place(_rows(level.groupBy(names[0]).count()), n)
    rest = level.where(functions.col(names[0]) == rank)
    return [rank, *(_member(rest, names[1:], n - before) if len(names) > 1 else ())]


def _place(counts: Iterable[Sequence[int]], n: int) -> tuple[int, int]:
    """The key under which number n lies, and how many come before that key."""
    before = 0
    for key, count in sorted((int(key), int(count)) for key, count in counts):
        if n < before + count:
            return key, before
        before += count
    raise BadParameter("n must be smaller than the number of itemsets with that support.")


def _rows(frame: DataFrame) -> list[Any]:
    with replacing():
        return list(frame.collect())
