"""Quadrature rules: integrals on panels, and sums over long runs of ranks from a few nodes.

The ranks where a search may stop are gathered into segments: single ranks, or blocks that are summed by a rule. A run
of equal scores is walked rank by rank at first and in doubling blocks beyond, where hazards and survival are smooth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.polynomial import legendre

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpmine.selection.laws.profile import FloatArray, IntArray, Ladder

BLOCK_NODES = 12
HEAD = 32  # ranks of a run taken one by one, a power of two
_WIDTH = 64  # nodes handled at once

# Coefficients of the Euler-Maclaurin series, by derivative: at the integers, and half way between them.
_AT_INTEGERS = {0: -1 / 2, 1: 1 / 12, 3: -1 / 720, 5: 1 / 30240}
_HALF_WAY = {1: -1 / 24, 3: 7 / 5760, 5: -31 / 967680}


@dataclass(frozen=True, eq=False)
class Rule:
    """Nodes in increasing order and their weights, both of shape (nodes,)."""

    nodes: FloatArray
    weights: FloatArray


@cache
def gauss(order: int) -> Rule:
    """The Gauss-Legendre rule of `order` nodes on [−1, 1]."""
    nodes, weights = legendre.leggauss(order)
    return Rule(nodes, weights)


def panels(edges: FloatArray, *, step: float, order: int) -> Rule:
    """Gauss-Legendre on every interval between consecutive edges, cut into equal panels no wider than `step`.

    Requires: edges increasing, shape (≥ 2,); `order` ≥ 8. Panels narrower than 1/4 of the step get half of the nodes,
    those narrower than 1/16 four.
    """
    gaps = np.diff(edges)
    pieces = np.maximum(1, np.ceil(gaps / step)).astype(np.int64)
    widths = np.repeat(gaps / pieces, pieces)
    lefts = edges[0] + np.concatenate(([0.0], np.cumsum(widths[:-1])))
    orders = np.where(widths < step / 4, np.where(widths < step / 16, 4, order // 2), order)
    rules = [_on(lefts[orders == nodes], widths[orders == nodes], gauss(nodes)) for nodes in {order, order // 2, 4}]
    nodes = np.concatenate([rule.nodes for rule in rules])
    weights = np.concatenate([rule.weights for rule in rules])
    by_node = np.argsort(nodes)
    return Rule(nodes[by_node], weights[by_node])


def _on(lefts: FloatArray, widths: FloatArray, rule: Rule) -> Rule:
    """The rule on the intervals [left, left + width], one after the other."""
    nodes = lefts[:, None] + widths[:, None] * (rule.nodes + 1) / 2
    return Rule(nodes.ravel(), (widths[:, None] / 2 * rule.weights).ravel())


@dataclass(frozen=True, eq=False)
class SumRule:
    """Sums of a smooth function over the integers 0 … size − 1, from its values at `nodes`.

    `weights` (nodes,) give the whole sum, row k of `before` (nodes, nodes) the sum over the integers below node k
    (continued to real nodes as the Euler-Maclaurin formula does).
    """

    nodes: FloatArray
    weights: FloatArray
    before: FloatArray


@lru_cache(maxsize=512)  # doubling blocks have few sizes
def sum_rule(size: int) -> SumRule:
    """The rule of BLOCK_NODES Gauss-Legendre nodes on [−1/2, size − 1/2], corrected by Euler-Maclaurin.

    Law: exact for polynomials of degree < 7; for functions that vary on the scale of the block the error is that of
    the Legendre series. Source: Euler-Maclaurin, terms to the fifth derivative.
    """
    half = float(size) / 2
    inner, *ends = _series()
    at_nodes = _euler_maclaurin(inner, _AT_INTEGERS, 1 / half)
    left, right = (_euler_maclaurin(end, _HALF_WAY, 1 / half) for end in ends)
    nodes = half * gauss(BLOCK_NODES).nodes + (half - 0.5)
    return SumRule(nodes, half * (right - left)[0], half * (at_nodes - left))


def _euler_maclaurin(operators: dict[int, FloatArray], coefficients: dict[int, float], spacing: float) -> FloatArray:
    """The indefinite sum as integral plus derivatives; `operators[-1]` is the integral, [k] the k-th derivative."""
    total = operators[-1].copy()
    for derivative, coefficient in coefficients.items():
        total += coefficient * spacing ** (derivative + 1) * operators[derivative]
    return total


@cache
def _series() -> tuple[dict[int, FloatArray], ...]:
    """Integral (−1) and derivatives (0, 1, 3, 5) of the interpolating polynomial, as linear maps of its node values.

    At the nodes, at the left end and at the right one.
    """
    nodes = gauss(BLOCK_NODES).nodes
    coefficients = np.linalg.inv(legendre.legvander(nodes, BLOCK_NODES - 1))
    maps = {-1: legendre.legint(coefficients, lbnd=-1)}
    maps |= {order: legendre.legder(coefficients, order) for order in (0, 1, 3, 5)}

    def at(points: FloatArray) -> dict[int, FloatArray]:
        return {order: np.asarray(legendre.legvander(points, len(rows) - 1) @ rows) for order, rows in maps.items()}

    return at(nodes), at(np.array([-1.0])), at(np.array([1.0]))


class Segment(NamedTuple):
    """`size` consecutive ranks from `rank` on, of which the first includes `offset` members of `level`.

    At all of them the search compares with the score of that level: c(ℓ+1) is the level's score. A few nodes stand for
    a block, by `sum_rule`; of other segments every rank is a node.
    """

    level: int
    rank: int
    offset: int
    size: int
    is_block: bool


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
            Segment(level, first + left, left, right - left, is_block)
            for left, right, is_block in _pieces(1 if level == 0 else 0, end)
        )
    return found


def every_rank(ladder: Ladder, limit: int) -> list[Segment]:
    """The segments of ranks 1 … limit, all visited one by one. Requires: as in `segments`."""
    return [
        Segment(part.level, part.rank + cut, part.offset + cut, min(_WIDTH, part.size - cut), is_block=False)
        for part in segments(ladder, limit)
        for cut in range(0, part.size, _WIDTH)
    ]


def _pieces(first: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """The offsets first … end − 1 as a head and doubling blocks."""
    left, right = first, HEAD
    while left < end:
        stop = min(right, end)
        yield left, stop, left >= HEAD and stop - left > BLOCK_NODES
        left, right = right, 2 * right


def in_batches(parts: list[Segment]) -> list[Nodes]:
    """The nodes of consecutive segments, each time about _WIDTH of them."""
    return [_nodes_of(batch) for batch in _batches(parts)]


def _batches(parts: list[Segment]) -> Iterator[list[Segment]]:
    batch: list[Segment] = []
    size = 0
    for part in parts:
        nodes = BLOCK_NODES if part.is_block else part.size
        if batch and size + nodes > _WIDTH:
            yield batch
            batch, size = [], 0
        batch.append(part)
        size += nodes
    if batch:
        yield batch


def _nodes_of(batch: list[Segment]) -> Nodes:
    rules = [_rule(part) for part in batch]
    sizes = [rule.nodes.size for rule in rules]
    inner = np.concatenate([rule.nodes for rule in rules])
    weights = np.concatenate([rule.weights for rule in rules])
    sums = np.triu(np.broadcast_to(weights[:, None], (weights.size, weights.size + 1)), 1)
    for part, rule, start in zip(batch, rules, accumulate(sizes, initial=0), strict=False):
        if part.is_block:
            end = start + BLOCK_NODES
            sums[start:end, start:end] = rule.before.T
    ranks = np.repeat(np.array([float(part.rank) for part in batch]), sizes) + inner
    offsets = np.repeat(np.array([float(part.offset) for part in batch]), sizes) + inner
    return Nodes(ranks, offsets, np.repeat([part.level for part in batch], sizes), weights, sums)


def _rule(part: Segment) -> SumRule:
    if part.is_block:
        return sum_rule(part.size)
    return SumRule(np.arange(part.size, dtype=np.float64), np.ones(part.size), _UNUSED)


_UNUSED = np.zeros((0, 0))  # single ranks need no rule of their own inside a batch
