"""Neighbouring public profiles: the same candidates before and after one privacy unit changes, and how they compare.

Structured pairs have the shapes where selection mechanisms are at their worst. All are written with scores of at least
1, so that every move is allowed, and in multiples of the critical leads. The margins q_ℓ of a staircase follow a
search's thresholds, so that every rank is a close decision. Of two output distributions,
the privacy profile is measured, and the ε that it shows.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from enum import Enum, auto
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.privacy import Neighbors
from dpmine.selection.distributions.profile import FloatArray, LevelDistribution, Profile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpmine.selection.distributions.profile import FloatArray
    from dpmine.selection.distributions.stopping import StoppingSearch
    from dpmine.selection.mechanisms.mechanism import Mechanism


_LARGEST_EXPONENT = 700.0  # of e^ε in float64
_STEPS = 60  # bisection steps: more than the bits of a float64


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How exact a float64 output distribution is: the true mass of an outcome is in p (1 ± relative) ± absolute.

    Measured figures count only what exceeds that, so that rounding never accuses a mechanism that is tight.
    """

    relative: float
    absolute: float


DIRECT = Tolerance(1e-9, 1e-18)
"""Closed forms, and quadratures of one smooth piece: found within 1e-11 of the exact e^ε where a pair is tight."""
SEARCHED = Tolerance(1e-9, 1e-10)
"""Output distributions of a search: `selection.distributions.stopping` misses kinks under a mass of 1e-11."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What is claimed of a mechanism, or of one of its stages: (ε, δ), as floats."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True)
class Finding:
    """The worst seen: δ at the claimed ε, and the least ε at the claimed δ. Lower bounds on the true values."""

    delta: float = 0.0
    epsilon: float = 0.0

    @property
    def rank(self) -> tuple[float, float]:
        """What a search for the worst pair maximises: ε first, because δ may be 0 for long."""
        return self.epsilon, self.delta

    def worst(self, other: Finding) -> Finding:
        """The larger of each figure."""
        return Finding(max(self.delta, other.delta), max(self.epsilon, other.epsilon))


NOTHING = Finding()
"""Nothing seen yet."""


def privacy_profile(left: FloatArray, right: FloatArray, epsilon: float, tolerance: Tolerance = DIRECT) -> float:
    """δ(ε) = Σ max(0, P − e^ε P') over outcomes, in the direction from `left` to `right`, both of shape (outcomes,).

    Rounded down by what the tolerance leaves open: never above the true value.
    Source: Balle, Barthe & Gaboardi 2018, section 2 (the hockey-stick divergence).
    """
    factor = math.exp(min(epsilon, _LARGEST_EXPONENT))
    lower = left * (1 - tolerance.relative) - tolerance.absolute
    upper = right * (1 + tolerance.relative) + tolerance.absolute
    return float(np.maximum(0.0, lower - factor * upper).sum())


def measured_epsilon(
    left: FloatArray, right: FloatArray, delta: float, *, tolerance: Tolerance = DIRECT, lower: float = 0.0
) -> float:
    """The least ε ≥ `lower` with δ(ε) ≤ `delta`, from `left` to `right`; never above the true one.

    A `lower` bound already known from elsewhere saves the search where this pair shows no more.
    """
    low, high = lower, max(lower, -math.log(tolerance.absolute))  # at the upper end nothing is left of any outcome
    if privacy_profile(left, right, low, tolerance) <= delta:
        return lower
    for _ in range(_STEPS):
        middle = (low + high) / 2
        holds = privacy_profile(left, right, middle, tolerance) <= delta
        low, high = (low, middle) if holds else (middle, high)
    return low


def measure(
    left: FloatArray, right: FloatArray, claim: Terms, *, tolerance: Tolerance, known: Finding = NOTHING
) -> Finding:
    """The worst of what is `known` and of what the two output distributions show from `left` to `right`."""
    return Finding(
        max(known.delta, privacy_profile(left, right, claim.epsilon, tolerance)),
        measured_epsilon(left, right, claim.delta, tolerance=tolerance, lower=known.epsilon),
    )


def measure_both(
    left: FloatArray, right: FloatArray, claim: Terms, *, tolerance: Tolerance, known: Finding = NOTHING
) -> Finding:
    """`measure` in both directions."""
    forth = measure(left, right, claim, tolerance=tolerance, known=known)
    return measure(right, left, claim, tolerance=tolerance, known=forth)


UNKNOWN = 2**128
"""How many dummies stand for an unknown universe."""

_GRID = 2**16


class PairSide(Enum):
    """Which of two neighbours."""

    BEFORE = auto()
    AFTER = auto()


@dataclass(frozen=True, slots=True)
class Group:
    """`count` candidates that have the same score and make the same move (−1, 0 or +1), in sensitivities."""

    score: float
    move: int
    count: int = 1

    def at(self, side: PairSide) -> float:
        """The score on one side. Exact, because scores are multiples of 2^-16 (see `on_grid`)."""
        return self.score if side is PairSide.BEFORE else self.score + self.move


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring profiles, and `dummies` public candidates of score 0 on both sides (0: a known universe).

    Raises BadParameter without any group, or for scores below 0.
    """

    groups: tuple[Group, ...]
    dummies: int = 0

    def __post_init__(self) -> None:
        if not self.groups or any(group.count < 1 for group in self.groups):
            raise BadParameter("A pair of neighbours needs groups of at least one candidate each.")
        if any(group.at(side) < 0 for group in self.groups for side in PairSide):
            raise BadParameter("The scores of a pair of neighbours must be at least 0.")

    def profile(self, side: PairSide) -> Profile:
        """One side, with equal scores merged into levels."""
        levels: Counter[float] = Counter()
        for group in self.groups:
            levels[group.at(side)] += group.count
        ordered = sorted(levels.items(), reverse=True)
        return Profile(tuple(score for score, _ in ordered), tuple(count for _, count in ordered), self.dummies)

    def masses(self, side: PairSide, distribution: LevelDistribution) -> FloatArray:
        """The mass of every group, then that of "nothing": shape (groups + 1,).

        `distribution` is that of the outputs on `profile(side)`. Candidates of a level are equally likely, so a group
        has its share of the level. Candidates of a group are equally likely on both sides: they count as one outcome.
        """
        profile = self.profile(side)
        levels = dict(zip(profile.scores, zip(distribution.masses, profile.counts, strict=True), strict=True))
        shares = [(group.count, *levels[group.at(side)]) for group in self.groups]
        return np.array([*(mass * (count / total) for count, mass, total in shares), distribution.nothing])


@dataclass(frozen=True, slots=True)
class ClaimScope:
    """Which pairs a mechanism's claim covers.

    Attributes:
        neighbors: the relation.
        dummies: the paddings that it is used with; 0 is a known universe.
        growth: for mechanisms of counts that start at 0, of which one unit supports at most this number; else None.
    """

    neighbors: Neighbors
    dummies: tuple[int, ...] = (0,)
    growth: int | None = None

    @property
    def moves(self) -> tuple[int, ...]:
        """What one unit may do to a score."""
        return (0, 1) if self.neighbors is Neighbors.ADD_REMOVE else (-1, 0, 1)

    def admits(self, pair: Pair) -> bool:
        """Whether the two sides are neighbours that the claim covers, in both directions.

        Under replace_one each score moves by −1, 0 or +1; under add_remove all move by 0 or +1 (read backwards: by 0 or
        −1). With `growth`, scores are whole and at most that many candidates move each way.
        """
        if pair.dummies not in self.dummies or any(group.move not in self.moves for group in pair.groups):
            return False
        if self.growth is None:
            return True
        whole = all(group.score == int(group.score) for group in pair.groups)
        moving = (sum(group.count for group in pair.groups if group.move == move) for move in (-1, 1))
        return whole and max(moving) <= self.growth


def on_grid(score: float) -> float:
    """The nearest multiple of 2^-16: adding and subtracting 1 is then exact, so ties stay ties."""
    return round(score * _GRID) / _GRID


CROWDS = (1, 4, 2**20)
"""How many candidates tie: a rival, a few (the small k̄), very many (the default k̄)."""

_BACKGROUND = 2**21  # a crowd that fills every place that becomes free
_SMALL = 1000  # beside dummies
_MULTIPLES = (0.5, 1, 2, 4, 8, 16, 32)  # of 1/ε, where exponential distributions change
_SHARES_OF_LEAD = (0.25, 0.5, 0.75, 0.9, 1.0, 1.1)  # of the lead that makes a winner, where thresholds are


def critical_leads(mechanism: Mechanism, scope: ClaimScope) -> tuple[float, ...]:
    """Leads at which the output distribution may change character: small ones, and thresholds scaled by 1/ε."""
    epsilon = float(mechanism.epsilon)
    leads = {0.0, 1.0, 2.0, 3.0}
    leads |= {multiple / epsilon for multiple in _MULTIPLES}
    leads |= {share * mechanism.lead(2) for share in _SHARES_OF_LEAD}
    if mechanism.delta:
        leads |= {multiple * math.log(1 / float(mechanism.delta)) / epsilon for multiple in (1, 2)}
    return tuple(sorted({on_grid(lead) if scope.growth is None else float(round(lead)) for lead in leads}))


def structured(scope: ClaimScope, leads: Sequence[float]) -> Iterator[Pair]:
    """All families, at all leads and paddings, without repetitions; only pairs that the claim covers."""
    pairs = (Pair(groups, dummies) for dummies in scope.dummies for groups in _families(leads, scope, dummies))
    return filter(scope.admits, dict.fromkeys(pairs))


def _families(leads: Sequence[float], scope: ClaimScope, dummies: int) -> Iterator[tuple[Group, ...]]:
    """Dummies are a crowd themselves, so that beside them only small crowds are of interest."""
    # With bounded growth a crowd that moves is as large as it may be; one that stays can be larger.
    largest = CROWDS if scope.growth is None else (1, scope.growth, CROWDS[-1])
    crowds = tuple(crowd for crowd in largest if not dummies or crowd <= _SMALL)
    for lead in leads:
        yield from _contests(lead, scope, crowds)
        if dummies:
            yield from _births(lead, scope, crowds)
        if scope.growth is not None:
            yield from _popular(lead, scope, scope.growth, height=2 * max(leads))


def _contests(lead: float, scope: ClaimScope, crowds: Sequence[int]) -> Iterator[tuple[Group, ...]]:
    """One candidate leads a crowd, or one rival, by the lead; others of a crowd leave the top ranks."""
    down, up = min(scope.moves), max(scope.moves)
    for crowd, (leader, others) in product(crowds, _MOVES[scope.neighbors]):  # apart, together or alone
        yield Group(1 + lead, leader), Group(1, others, crowd)
    for crowd, leader in product(crowds, (down, up)):  # half of a crowd goes up, the other down (add_remove: stays)
        yield Group(1 + lead, leader), Group(1, up, crowd), Group(1, down, crowd)
    for leaving in crowds:  # above a crowd by no more than they lose on it; with and without a leader
        crossing = [(Group(1 + height, down, leaving), Group(1, up, _BACKGROUND)) for height in (0, 1, 2)]
        yield from crossing
        yield Group(2 + lead, up), *crossing[1]


def _births(lead: float, scope: ClaimScope, crowds: Sequence[int]) -> Iterator[tuple[Group, ...]]:
    """Candidates without support occur, beside an old one that is as high as the lead; others die, if they can."""
    for newborn in crowds:
        yield (Group(0, 1, newborn),)
        yield Group(lead, 0), Group(0, 1, newborn)
        if scope.neighbors is Neighbors.REPLACE_ONE:
            yield Group(lead + 1, -1, newborn), Group(0, 1, newborn)


def _popular(lead: float, scope: ClaimScope, growth: int, *, height: float) -> Iterator[tuple[Group, ...]]:
    """All that one unit can move leads one rival by the lead, so high that "nothing" hardly weighs beside them."""
    for leaders, rival in _MOVES[scope.neighbors]:
        yield Group(height + lead, leaders, growth), Group(height, rival)


_MOVES = {Neighbors.ADD_REMOVE: [(1, 0), (0, 1), (1, 1)], Neighbors.REPLACE_ONE: [(1, -1), (-1, 1), (1, 0), (0, 1)]}
"""Moves of leader and others; the reverse direction is measured anyway."""
_STAIRCASE_MOVES = {
    Neighbors.ADD_REMOVE: [(1, 0, 0), (1, 0, 1), (1, 1, 0), (0, 1, 1), (0, 0, 1), (0, 1, 0)],
    Neighbors.REPLACE_ONE: [(1, -1, 1), (1, -1, -1), (1, 1, -1), (1, 0, 0), (0, 1, -1), (1, 1, 1), (0, -1, 1)],
}
"""Moves of the top, of the steps between, and of the last step; the reverse direction is measured anyway."""

LENGTHS = (1, 2, 3, 6, 20)
"""How many steps."""

_FLOOR = 1.0  # the lowest step, so that it may go down by 1


def staircases(search: StoppingSearch, neighbors: Neighbors, lengths: Sequence[int] = LENGTHS) -> Iterator[Pair]:
    """Pairs with q_ℓ ≈ T(ℓ) + x for ℓ = 1 … J, where the top, the steps between and the last step move."""
    # Distances from the thresholds: a few moves, and a few noise scales below.
    offsets = [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, -search.scale, -4 * search.scale, 2 * search.scale]
    for length, offset in product(lengths, offsets):
        margins = search.threshold(np.arange(1.0, length + 1)) + offset
        if margins[0] >= 0:
            for moves in _STAIRCASE_MOVES[neighbors]:
                yield stairs(margins.tolist(), moves)


def stairs(margins: Sequence[float], moves: tuple[int, int, int] = (0, 0, 0)) -> Pair:
    """The profile with c(1) − c(ℓ+1) = margins[ℓ−1], rounded to the grid from below; moves of top, middle and last.

    Requires: margins that are not negative, in increasing order.
    """
    top, middle, last = moves
    height = on_grid(margins[-1]) + _FLOOR
    steps = [height - on_grid(margin) for margin in margins]
    groups = [Group(height, top), *(Group(step, middle) for step in steps[:-1]), Group(steps[-1], last)]
    return Pair(tuple(groups))
