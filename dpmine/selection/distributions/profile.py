"""Score profiles, output distributions on them, and the quadrature that sums probabilities over ranks.

Candidates with equal scores stand together as a level; nothing here is read from data. The ranks where a search may
stop are gathered into segments: single ranks, or blocks that are summed by a rule. A run of equal scores is walked rank
by rank at first and in doubling blocks beyond, where hazards and survival are smooth.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

_LARGEST_COUNT = 10**300  # still a float64, with room for sums


@dataclass(frozen=True)
class Profile:
    """The levels of a universe: scores in sensitivities, strictly decreasing, and how many candidates have each.

    `dummies` public candidates of score 0 stand first among the zeros (padding for unknown universes); with them, no
    score may be negative. Raises BadParameter where this is not so.
    """

    scores: tuple[float, ...]
    counts: tuple[int, ...]
    dummies: int = 0

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.counts):
            raise BadParameter("A profile needs one multiplicity for each score.")
        if not all(map(math.isfinite, self.scores)):
            raise BadParameter("The scores of a profile must be finite.")
        if any(left <= right for left, right in zip(self.scores, self.scores[1:], strict=False)):
            raise BadParameter("The scores of a profile must be strictly decreasing; merge equal ones into one level.")
        if any(not 1 <= count <= _LARGEST_COUNT for count in self.counts):
            raise BadParameter("The multiplicities of a profile must lie between 1 and 1e300.")
        _check_dummies(self.dummies, self.scores)

    @classmethod
    def of(cls, scores: Iterable[float], dummies: int = 0) -> Profile:
        """The profile of single candidates: equal scores are merged."""
        levels = sorted(Counter(map(float, scores)).items(), reverse=True)
        return cls(tuple(score for score, _ in levels), tuple(count for _, count in levels), dummies)

    def ladder(self, dummies: int | None = None) -> Ladder:
        """All levels in ranking order, `dummies` (the profile's own when None) among them.

        Raises BadParameter when there is neither a candidate nor a dummy, or a score below the dummies' 0.
        """
        number = self.dummies if dummies is None else dummies
        _check_dummies(number, self.scores)
        if not self.scores and not number:
            raise BadParameter("There is no candidate to choose from; give scores, or dummies.")
        scores, counts = list(self.scores), list(self.counts)
        place = len(scores)
        if number:
            place = sum(score > 0 for score in scores)
            scores.insert(place, 0.0)
            counts.insert(place, number)
        return Ladder(np.array(scores), tuple(counts), place)

    def best(self, kept: int) -> Best:
        """The `kept` best candidates, and the score of the next one.

        The universe is padded with `kept` + 1 dummies, the profile's own among them, which stand for *nothing*. A level
        that straddles rank `kept` takes part with the number of its members inside.
        """
        ladder = self.ladder(dummies=max(kept + 1, self.dummies))
        before = accumulate(ladder.counts, initial=0)
        inside = [min(count, max(0, kept - first)) for count, first in zip(ladder.counts, before, strict=False)]
        beyond = next(level for level, count in enumerate(ladder.counts) if inside[level] < count)
        with np.errstate(divide="ignore"):  # levels outside the domain: log 0 is their weight 0
            return Best(ladder, np.log(np.array(inside, dtype=np.float64)), float(ladder.scores[beyond]))

    def draw_from_best(self, kept: int, rate: float, log_above: float) -> LevelDistribution:
        """The output distribution of one draw with P(i) ∝ e^{rate · score} of the `kept` best and *nothing*.

        *Nothing* counts as a candidate with the score behind the best ones and `log_above` / rate.
        """
        best = self.best(kept)
        top = best.ladder.scores[0]
        logs = best.log_counts + rate * (best.ladder.scores - top)
        return best.ladder.softmax(logs, rate * (best.next_score - float(top)) + log_above)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Levels in ranking order, dummies included.

    `scores` has shape (levels,), `counts` are their exact multiplicities, `place` is the position of the dummies' level
    (the number of levels when there are none).
    """

    scores: FloatArray
    counts: tuple[int, ...]
    place: int

    @property
    def log_counts(self) -> FloatArray:
        """The natural logarithms of the multiplicities, shape (levels,)."""
        return np.log(np.array(self.counts, dtype=np.float64))

    def log_weights(self, rate: float) -> FloatArray:
        """ln(multiplicity · e^{rate · score}) up to a constant, shape (levels,)."""
        return np.asarray(self.log_counts + rate * (self.scores - self.scores[0]))

    def softmax(self, log_weights: FloatArray, log_nothing: float = -math.inf) -> LevelDistribution:
        """The probabilities proportional to weights of the levels, shape (levels,), and of *nothing*."""
        logs = np.append(log_weights, log_nothing)
        weights = np.exp(logs - logs.max())
        shares = weights / weights.sum()
        return self.distribution(shares[:-1], shares[-1])

    def draw(self, rate: float) -> LevelDistribution:
        """The output distribution of one draw with P(i) ∝ e^{rate · score}."""
        return self.softmax(self.log_weights(rate))

    def locate(self, rank: int) -> tuple[int, int]:
        """The level of the candidate of this rank, and how many of the level's members have that rank or a smaller one.

        Requires: 1 ≤ rank ≤ the number of candidates, dummies included.
        """
        level = 0
        while rank > self.counts[level]:
            rank -= self.counts[level]
            level += 1
        return level, rank

    def distribution(self, masses: FloatArray, nothing: float = 0.0) -> LevelDistribution:
        """The probabilities of the real levels; those of dummies are added to `nothing`. `masses`: shape (levels,)."""
        dummy = masses[self.place : self.place + 1]
        return LevelDistribution(np.delete(masses, self.place) if dummy.size else masses, float(nothing + dummy.sum()))


@dataclass(frozen=True, eq=False)
class Best:
    """The best candidates of a ladder.

    `log_counts`, shape (levels,), are the logarithms of how many of each level belong to them: −∞ from some level on.
    `next_score` is the score of the best one that does not.
    """

    ladder: Ladder
    log_counts: FloatArray
    next_score: float


@dataclass(frozen=True, eq=False)
class LevelDistribution:
    """The probability of each level of real candidates, shape (levels,), and of choosing nothing.

    Candidates of a level are equally likely: each has mass `masses / counts`.
    """

    masses: FloatArray
    nothing: float


def _check_dummies(dummies: int, scores: tuple[float, ...]) -> None:
    if not 0 <= dummies <= _LARGEST_COUNT:
        raise BadParameter("The number of dummies must lie between 0 and 1e300.")
    if dummies and scores and scores[-1] < 0:
        raise BadParameter("Dummies have score 0, so no score may be negative; shift the scores or leave the dummies.")


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


def panels(cuts: FloatArray, *, step: float, order: int) -> Rule:
    """Gauss-Legendre on every interval between neighbouring cuts, cut into equal panels no wider than `step`.

    Requires: cuts in any order, at least two different ones; `order` ≥ 8. Panels narrower than 1/4 of the step get half
    of the nodes, those narrower than 1/16 four.
    """
    edges = np.sort(cuts)
    edges = edges[np.diff(edges, prepend=-np.inf) > 0]  # not np.unique, which loads numpy.ma
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

    `weights` (nodes,) give the whole sum. Row k of `before` (nodes, nodes) gives the sum over the integers below node
    k, continued to real nodes as the Euler-Maclaurin formula does.
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

    `ranks` are the ℓ, `levels` the levels of c(ℓ+1), `offsets` the included members of these levels. `weights` are the
    numbers of ranks that the nodes stand for. Column k of `sums` (nodes, nodes + 1) sums over all ranks of these
    segments below node k, the last column over all of them.
    """

    ranks: FloatArray
    offsets: FloatArray
    levels: IntArray
    weights: FloatArray
    sums: FloatArray


def segments(ladder: Ladder, limit: int) -> list[Segment]:
    """The segments of ranks 1 … limit, in order; rank 1, where a search may have another scale, is one of its own.

    Requires: limit below the number of candidates, dummies included.
    """
    found: list[Segment] = []
    firsts = accumulate(ladder.counts, initial=0)
    for level, (first, count) in enumerate(zip(firsts, ladder.counts, strict=False)):
        end = min(count, limit + 1 - first)
        found.extend(
            Segment(level, first + left, left, right - left, is_block)
            for left, right, is_block in _pieces(1 if level == 0 else 0, end)
        )
    if found and found[0].size > 1:
        head = found[0]
        found[:1] = [head._replace(size=1), head._replace(rank=2, offset=head.offset + 1, size=head.size - 1)]
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
