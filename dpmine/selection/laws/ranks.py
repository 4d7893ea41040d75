"""The ranks where a search may stop, gathered into segments: single ranks, or blocks that are summed by a rule.

A run of equal scores is walked rank by rank at first and in doubling blocks beyond, where hazards and survival
are smooth.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpmine.selection.laws.quadrature import BLOCK_NODES, SumRule, sum_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpmine.selection.laws.profile import FloatArray, IntArray, Ladder

HEAD = 32  # ranks of a run taken one by one, a power of two
_WIDTH = 64  # nodes handled at once


class Summation(Enum):
    """How a segment's ranks are visited."""

    EACH = auto()
    """Every rank is a node."""
    BLOCK = auto()
    """A few nodes stand for the segment, by `sum_rule`."""


class Segment(NamedTuple):
    """`size` consecutive ranks from `rank` on, of which the first includes `offset` members of `level`.

    At all of them the search compares with the score of that level: c(ℓ+1) is the level's score.
    """

    level: int
    rank: int
    offset: int
    size: int
    summation: Summation


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of several segments, in rank order; all arrays have shape (nodes,) but `sums`.

    `ranks` ℓ, `offsets` the included members of the level c(ℓ+1), `levels` that level, `weights` how many ranks a node
    stands for; column k of `sums` (nodes, nodes + 1) sums over all ranks of these segments below node k, the last
    column over all of them.
    """

    ranks: FloatArray
    offsets: FloatArray
    levels: IntArray
    weights: FloatArray
    sums: FloatArray


def segments(ladder: Ladder, limit: int) -> list[Segment]:
    """The segments of ranks 1 … limit, in order. Requires: limit below the number of candidates, dummies included."""
    found: list[Segment] = []
    firsts = accumulate(ladder.counts, initial=0)
    for level, (first, count) in enumerate(zip(firsts, ladder.counts, strict=False)):
        end = min(count, limit + 1 - first)
        found.extend(
            Segment(level, first + left, left, right - left, summation)
            for left, right, summation in _pieces(1 if level == 0 else 0, end)
        )
    return found


def every_rank(ladder: Ladder, limit: int) -> list[Segment]:
    """The segments of ranks 1 … limit, all visited one by one. Requires: as in `segments`."""
    return [
        Segment(part.level, part.rank + cut, part.offset + cut, min(_WIDTH, part.size - cut), Summation.EACH)
        for part in segments(ladder, limit)
        for cut in range(0, part.size, _WIDTH)
    ]


def _pieces(first: int, end: int) -> Iterator[tuple[int, int, Summation]]:
    """The offsets first … end − 1 as a head and doubling blocks."""
    left, right = first, HEAD
    while left < end:
        stop = min(right, end)
        each = left < HEAD or stop - left <= BLOCK_NODES
        yield left, stop, Summation.EACH if each else Summation.BLOCK
        left, right = right, 2 * right


def batches(parts: list[Segment]) -> Iterator[list[Segment]]:
    """Consecutive segments, together of about _WIDTH nodes."""
    batch: list[Segment] = []
    size = 0
    for part in parts:
        nodes = _node_count(part)
        if batch and size + nodes > _WIDTH:
            yield batch
            batch, size = [], 0
        batch.append(part)
        size += nodes
    if batch:
        yield batch


def _node_count(part: Segment) -> int:
    return part.size if part.summation is Summation.EACH else BLOCK_NODES


def nodes_of(batch: list[Segment]) -> Nodes:
    """The nodes of a batch of segments."""
    rules = [_rule(part) for part in batch]
    sizes = [rule.nodes.size for rule in rules]
    inner = np.concatenate([rule.nodes for rule in rules])
    weights = np.concatenate([rule.weights for rule in rules])
    sums = np.triu(np.broadcast_to(weights[:, None], (weights.size, weights.size + 1)), 1)
    for part, rule, start in zip(batch, rules, accumulate(sizes, initial=0), strict=False):
        if part.summation is Summation.BLOCK:
            end = start + BLOCK_NODES
            sums[start:end, start:end] = rule.before.T
    ranks = np.repeat(np.array([float(part.rank) for part in batch]), sizes) + inner
    offsets = np.repeat(np.array([float(part.offset) for part in batch]), sizes) + inner
    return Nodes(ranks, offsets, np.repeat([part.level for part in batch], sizes), weights, sums)


def _rule(part: Segment) -> SumRule:
    if part.summation is Summation.BLOCK:
        return sum_rule(part.size)
    return SumRule(np.arange(part.size, dtype=np.float64), np.ones(part.size), _UNUSED)


_UNUSED = np.zeros((0, 0))  # single ranks need no rule of their own inside a batch
