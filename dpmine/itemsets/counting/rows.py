"""Baskets ranked for the search, items numbered from rare to frequent with all their places; and supports of items."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from dpmine.errors import BadData
from dpmine.itemsets.counting.arrays import Rests, Rows
from dpmine.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from dpmine.itemsets.transactions.interface import Baskets


Part = TypeVar("Part")
Result = TypeVar("Result")

_MOST_THREADS = 8  # of one computation: the loops are bound by memory, and others use the machine too


_allowed: ContextVar[int] = ContextVar("_allowed", default=_MOST_THREADS)


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Computations inside use no more threads than this: others of this machine have their own share of it."""
    before = _allowed.set(threads)
    try:
        yield
    finally:
        _allowed.reset(before)


_PAUSE = 0.1  # seconds
_progress: ContextVar[Callable[[float], object]] = ContextVar("_progress", default=lambda _share: None)


@contextmanager
def showing(progress: Callable[[float], object] | None) -> Iterator[None]:
    """Long searches inside call `progress` with the share of each that is done, 0 to 1."""
    token = _progress.set(progress) if progress is not None else None
    try:
        yield
    finally:
        if token is not None:
            _progress.reset(token)


def thread_count() -> int:
    """How many threads a large computation uses: the processors this process may run on, at most 8."""
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        usable = os.cpu_count() or 1
    return min(usable, _allowed.get())


class Watched(Protocol):
    """Work that may take long."""

    def share(self) -> float:
        """What is done of it, 0 to 1."""
        ...

    def end(self) -> None:
        """Nothing of it is needed any more: what runs ends at once."""
        ...


def in_parallel(work: Callable[[Part], Result], parts: Sequence[Part], threads: int | None = None) -> list[Result]:
    """work(part) for each part, in the order of the parts; by default on as many threads as are used at most."""
    return list(streamed(work, parts, thread_count() if threads is None else threads))


def streamed(
    work: Callable[[Part], Result], parts: Sequence[Part], threads: int, watched: Watched | None = None
) -> Generator[Result]:
    """As `in_parallel`, one result after the other.

    The threads live as long as the iterator: nothing is shared between calls, nor inherited by a forked process. When
    the caller stops early, or is interrupted, or a part fails, the parts not yet begun are dropped. Work that may take
    long is `watched`: it is left to threads in any case, and its progress is shown. Its parts that run are ended.
    """
    if watched is None and (threads == 1 or len(parts) <= 1):
        yield from map(work, parts)
        return
    with ThreadPoolExecutor(max(1, min(threads, len(parts))), thread_name_prefix="dpmine") as pool:
        pending = [pool.submit(work, part) for part in parts]
        try:
            for result in pending:
                while not result.done():
                    with suppress(TimeoutError):
                        result.exception(_PAUSE)  # signals are served in between, on every system
                    if watched is not None:
                        _progress.get()(watched.share())
                yield result.result()
        finally:
            if watched is not None:
                watched.end()
            pool.shutdown(wait=False, cancel_futures=True)


_MOST_BASKETS = (1 << 31) - 1  # baskets, and hence supports, are counted in 32 bits
_PART = 1 << 17  # occurrences that are ranked together: their places fit into a processor's own cache
_MOST_PARTS = 64


def item_supports(baskets: Baskets) -> NDArray[np.int64]:
    """int64[N]: the support of every item of the catalogue, 0 for those that no basket holds.

    Raises BadData for 2^31 baskets or more.
    """
    if baskets.basket_count > _MOST_BASKETS:
        raise BadData("The data hold 2^31 baskets or more: mine them in several parts.")
    if baskets.one_basket_each:
        items, starts, catalogue = baskets.items, baskets.basket_starts, baskets.catalogue_size
        supports: NDArray[np.int64] = _occurrences(items, starts, catalogue, _parts(starts, catalogue)).sum(axis=0)
        return supports
    return count_units(baskets.items, baskets.basket_starts, baskets.unit_numbers(), baskets.catalogue_size)


@dataclass(frozen=True, eq=False)
class ItemRanking:
    """The items that reach a threshold, numbered from rare to frequent (ties by code), and the baskets in these ranks.

    Attributes:
        threshold: that the items reach.
        rows: the baskets that hold at least two such items, and perhaps others.
        supports: int64[ranks], never decreasing.
        rank_of: int32[N], each item's rank, −1 below the threshold.
        baskets: how many there are, those left out of the rows included.
        one_basket_each: whether every unit owns one basket.
    """

    threshold: int
    rows: Rows
    supports: NDArray[np.int64]
    rank_of: NDArray[np.int32]
    baskets: int
    one_basket_each: bool

    @property
    def longest(self) -> int:
        """Items of the longest row."""
        return int(np.diff(self.rows.starts).max(initial=0))


def frequent_rests(baskets: Baskets, supports: NDArray[np.int64], threshold: int) -> Rests:
    """The baskets without the items below the threshold, the others numbered by code.

    Baskets that keep fewer than two items may be left out.
    """
    labels = np.flatnonzero(supports >= threshold).astype(np.int32)
    items, starts, units = baskets.items, baskets.basket_starts, baskets.unit_numbers()
    if len(labels) == len(supports):
        return Rests(labels, items, starts, units)
    number_of = np.full(len(supports), -1, np.int32)
    number_of[labels] = np.arange(len(labels), dtype=np.int32)

    def restrict(part: tuple[int, int]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
        return restrict_rows(items, starts, units, part, number_of)

    parts = in_parallel(restrict, _parts(starts, 1))
    shifts = np.cumsum([0, *(len(kept) for kept, _, _ in parts)]).tolist()
    ends = [starts[1:] + shift for (_, starts, _), shift in zip(parts, shifts, strict=False)]
    return Rests(
        labels,
        np.concatenate([kept for kept, _, _ in parts]),
        np.concatenate([np.zeros(1, np.int64), *ends]),
        _without_gaps(np.concatenate([owners for _, _, owners in parts])),
    )


def ranked(baskets: Baskets, supports: NDArray[np.int64], threshold: int) -> ItemRanking:
    """The ranking of the items that reach the threshold. `supports`: those of the items."""
    rests = frequent_rests(baskets, supports, threshold)
    order = np.argsort(supports[rests.labels], kind="stable").astype(np.int32)
    labels = rests.labels[order]
    ranks = np.arange(len(labels), dtype=np.int32)
    rank_of_code, rank_of_number = np.full(len(supports), -1, np.int32), np.empty(len(labels), np.int32)
    rank_of_code[labels], rank_of_number[order] = ranks, ranks
    rows = _ranked_rows(rests, labels, rank_of_number)
    return ItemRanking(threshold, rows, supports[labels], rank_of_code, baskets.basket_count, baskets.one_basket_each)


def _ranked_rows(rests: Rests, labels: NDArray[np.int32], rank_of: NDArray[np.int32]) -> Rows:
    """The rows in ranks; they may be ranked in parts, by several threads."""
    parts = _parts(rests.starts, len(labels))
    counts = _occurrences(rests.items, rests.starts, len(labels), parts)[:, np.argsort(rank_of)]
    rows = _empty_rows(rests, labels, counts.sum(axis=0))
    firsts = rows.item_starts[:-1] + np.cumsum(counts, axis=0) - counts

    def rank(part: int) -> None:
        rank_rows(rests.items, rank_of, parts[part], firsts[part], rows)

    in_parallel(rank, range(len(parts)))
    return rows


def _parts(starts: NDArray[np.int64], catalogue: int) -> list[tuple[int, int]]:
    """Ranges of baskets with about as many occurrences each; few enough that a counter an item is cheap for each."""
    occurrences = int(starts[-1])
    affordable = occurrences // (2 * max(1, catalogue))
    count = max(1, min(_MOST_PARTS, affordable, occurrences // _PART))
    wanted = np.linspace(0, occurrences, count + 1, dtype=np.int64)[1:-1]  # beside floats all starts became floats
    return list(pairwise([0, *np.searchsorted(starts, wanted).tolist(), len(starts) - 1]))


def _occurrences(
    items: NDArray[np.int32], starts: NDArray[np.int64], catalogue: int, parts: list[tuple[int, int]]
) -> NDArray[np.int64]:
    """int64[parts, N]: the occurrences of every item in each part."""

    def count(part: tuple[int, int]) -> NDArray[np.int64]:
        return count_items(items[starts[part[0]] : starts[part[1]]], catalogue)

    return np.stack(in_parallel(count, parts))


def _empty_rows(rests: Rests, labels: NDArray[np.int32], occurrences: NDArray[np.int64]) -> Rows:
    """Rows of the right sizes, items and places not yet filled in."""
    total = len(rests.items)
    return Rows(
        labels,
        items=np.empty(total, np.int32),
        starts=rests.starts,
        units=rests.units,
        item_starts=np.concatenate([np.zeros(1, np.int64), np.cumsum(occurrences, dtype=np.int64)]),
        row_of=np.empty(total, np.int32),
        place_of=np.empty(total, np.int64),
    )


def _without_gaps(ascending: NDArray[np.int32]) -> NDArray[np.int32]:
    """The numbers 0, 1, … instead of each run of equal ones."""
    runs = np.zeros(len(ascending), np.int32)
    np.cumsum(ascending[1:] != ascending[:-1], out=runs[1:], dtype=np.int32)
    return runs


_count_items, _count_units = kernel("count_items"), kernel("count_units")
_restrict_rows, _rank_rows = kernel("restrict_rows"), kernel("rank_rows")
_units_containing = kernel("units_containing")


def count_items(items: NDArray[np.int32], catalogue: int) -> NDArray[np.int64]:
    """int64[catalogue]: the occurrences of every item."""
    counts = np.zeros(catalogue, np.int64)
    _count_items(items, counts)
    return counts


def count_units(
    items: NDArray[np.int32], starts: NDArray[np.int64], units: NDArray[np.int32], catalogue: int
) -> NDArray[np.int64]:
    """int64[catalogue]: for every item the number of units with a row that holds it. `units` never decreases."""
    supports = np.zeros(catalogue, np.int64)
    _count_units(items, starts, units, np.full(catalogue, -1, np.int32), supports)
    return supports


def restrict_rows(
    items: NDArray[np.int32],
    starts: NDArray[np.int64],
    units: NDArray[np.int32],
    part: tuple[int, int],
    number_of: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """The rows part[0] … part[1] − 1 in other numbers, without the items numbered −1: items, starts, and units.

    Rows that keep fewer than two items are left out: they hold no itemset that is searched for.
    """
    first, end = part
    kept = np.empty(int(starts[end] - starts[first]) + 1, np.int32)  # the kernel writes one entry ahead
    new_starts, owners = np.zeros(end - first + 1, np.int64), np.empty(end - first, np.int32)
    rows = _restrict_rows(items, starts, units, first, end, number_of, kept, new_starts[1:], owners)
    return kept[: new_starts[rows]], new_starts[: rows + 1], owners[:rows]


def rank_rows(
    items: NDArray[np.int32],
    rank_of: NDArray[np.int32],
    part: tuple[int, int],
    item_starts: NDArray[np.int64],
    into: Rows,
) -> None:
    """Rewrite the rows part[0] … part[1] − 1 as increasing ranks: `items`, `row_of` and `place_of` of `into`.

    Requires: the occurrences of the item of rank k in these rows are numbers item_starts[k], item_starts[k] + 1, …
    """
    free, ends = np.empty_like(item_starts), np.empty(part[1] - part[0], np.int64)
    _rank_rows(items, into.starts, rank_of, *part, item_starts, free, ends, into.items, into.row_of, into.place_of)


def units_containing(
    items: NDArray[np.int32],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    units: NDArray[np.int32],
    wanted: NDArray[np.int32],
) -> int:
    """How many units have a stretch items[begins[k] : ends[k]], k = 0, 1, …, with all of `wanted` in it.

    Requires: stretches and `wanted` strictly increasing; units[k], the owner, never decreasing.
    """
    return _units_containing(items, begins, ends, units, wanted)
