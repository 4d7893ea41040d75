"""The compiled loops over partitions: hashes of texts, and conditional databases in the order of rare items first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpmine.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


@compiled
def text_hashes(content: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """uint64[texts]: the hash FNV-1a of content[starts[k] : starts[k + 1]]; equal texts have equal hashes."""
    hashes = np.empty(len(starts) - 1, np.uint64)
    for text in range(len(hashes)):
        value = np.uint64(14695981039346656037)
        for place in range(starts[text], starts[text + 1]):
            value = (value ^ np.uint64(content[place])) * np.uint64(1099511628211)
        hashes[text] = value
    return hashes


class Part(NamedTuple):
    """Baskets of some units."""

    items: NDArray[np.int32]
    """Item codes basket after basket."""
    starts: NDArray[np.int64]
    """int64[baskets + 1]: basket b holds items[starts[b] : starts[b + 1]]."""
    units: NDArray[np.int64]
    """int64[baskets]: the owner of each, never decreasing."""


@compiled
def measure(part: Part, rank_of: NDArray[np.int32], rows: NDArray[np.int64], entries: NDArray[np.int64]) -> None:
    """Add, for every rank, the baskets in which a higher rank follows, and how many follow in all of them."""
    for basket in range(len(part.units)):
        ranks = np.sort(rank_of[part.items[part.starts[basket] : part.starts[basket + 1]]])
        for place in range(len(ranks) - 1):
            rows[ranks[place]] += 1
            entries[ranks[place]] += len(ranks) - 1 - place


class Stretches(NamedTuple):
    """What follows each of some ranks in its baskets: a stretch of rows and of entries for every rank.

    The next free places move on as rows are written.
    """

    free_row: NDArray[np.int64]
    """int64[stretches]: the next row of each."""
    free_entry: NDArray[np.int64]
    """int64[stretches]: the next entry of each."""
    row_starts: NDArray[np.int64]
    """int64[rows + 1]: row r holds entries[row_starts[r] : row_starts[r + 1]]."""
    row_units: NDArray[np.int64]
    """int64[rows]: the unit of each row."""
    entries: NDArray[np.int32]
    """The ranks that follow, increasing in a row."""


@compiled
def _write(ranks: NDArray[np.int32], unit: int, own: int, to: Stretches) -> None:
    """Write ranks as a row of stretch `own`."""
    row, entry = to.free_row[own], to.free_entry[own]
    to.row_starts[row] = entry
    to.row_units[row] = unit
    to.entries[entry : entry + len(ranks)] = ranks
    to.free_row[own] += 1
    to.free_entry[own] += len(ranks)


@compiled
def deliver(part: Part, rank_of: NDArray[np.int32], first: int, to: Stretches) -> None:
    """Write what follows the rank first + k in the baskets into stretch k, for every stretch."""
    for basket in range(len(part.units)):
        ranks = np.sort(rank_of[part.items[part.starts[basket] : part.starts[basket + 1]]])
        for place in range(len(ranks) - 1):
            own = ranks[place] - first
            if own >= len(to.free_row):
                break
            if own >= 0:
                _write(ranks[place + 1 :], part.units[basket], own, to)


@compiled
def renumber(entries: NDArray[np.int32], bounds: NDArray[np.int64], catalogue: int) -> NDArray[np.int64]:
    """Number the pairs (stretch, rank) without gaps, in order, and put the numbers in the place of the ranks.

    Stretch k is entries[bounds[k] : bounds[k + 1]]. The result holds k * catalogue + rank for every number.
    """
    number = np.full(catalogue, -1, np.int32)
    pairs = np.empty(len(entries), np.int64)
    known = 0
    for stretch in range(len(bounds) - 1):
        first = known
        for place in range(bounds[stretch], bounds[stretch + 1]):
            rank = entries[place]
            if number[rank] < 0:
                number[rank] = 0
                pairs[known] = stretch * catalogue + rank
                known += 1
        pairs[first:known] = np.sort(pairs[first:known])
        for pair in range(first, known):
            number[pairs[pair] % catalogue] = pair
        for place in range(bounds[stretch], bounds[stretch + 1]):
            entries[place] = number[entries[place]]
        for pair in range(first, known):
            number[pairs[pair] % catalogue] = -1
    return pairs[:known].copy()
