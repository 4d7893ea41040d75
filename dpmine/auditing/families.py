"""Structured pairs of neighbours: the shapes where selection mechanisms are at their worst.

All are written with scores of at least 1, so that every move is allowed, and in multiples of the critical gaps.
"""

from __future__ import annotations

from itertools import product
from math import log
from typing import TYPE_CHECKING

from dpmine.auditing.pairs import Group, Pair, on_grid
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpmine.auditing.pairs import Scope
    from dpmine.selection.mechanisms.base import Mechanism

CROWDS = (1, 4, 2**20)
"""How many candidates tie: a rival, a few (the small k̄), very many (the default k̄)."""

_BACKGROUND = 2**21  # a crowd that fills every place that becomes free
_SMALL = 1000  # beside dummies
_MULTIPLES = (0.5, 1, 2, 4, 8, 16, 32)  # of 1/ε, where exponential laws change
_SHARES_OF_LEAD = (0.25, 0.5, 0.75, 0.9, 1.0, 1.1)  # of the lead that makes a winner, where thresholds are


def critical_gaps(mechanism: Mechanism, scope: Scope) -> tuple[float, ...]:
    """Gaps between scores where the law may change character: small ones, and thresholds scaled by 1/ε."""
    epsilon = float(mechanism.epsilon)
    gaps = {0.0, 1.0, 2.0, 3.0}
    gaps |= {multiple / epsilon for multiple in _MULTIPLES}
    gaps |= {share * mechanism.lead(2) for share in _SHARES_OF_LEAD}
    if mechanism.delta:
        gaps |= {multiple * log(1 / float(mechanism.delta)) / epsilon for multiple in (1, 2)}
    return tuple(sorted({on_grid(gap) if scope.growth is None else float(round(gap)) for gap in gaps}))


def structured(scope: Scope, gaps: Sequence[float]) -> Iterator[Pair]:
    """All families, at all gaps and paddings, without repetitions; only pairs that the claim covers."""
    pairs = (Pair(groups, dummies) for dummies in scope.dummies for groups in _families(gaps, scope, dummies))
    return filter(scope.admits, dict.fromkeys(pairs))


def _families(gaps: Sequence[float], scope: Scope, dummies: int) -> Iterator[tuple[Group, ...]]:
    """Dummies are a crowd themselves, so that beside them only small crowds are of interest."""
    crowds = [crowd for crowd in _crowds(scope) if not dummies or crowd <= _SMALL]
    for gap in gaps:
        yield from _contests(gap, scope, crowds)
        yield from _halves(gap, scope, crowds)
        yield from _crossings(gap, scope, crowds)
        if dummies:
            yield from _births(gap, scope, crowds)
        if scope.growth is not None:
            yield from _popular(gap, scope, scope.growth, height=2 * max(gaps))


def _contests(gap: float, scope: Scope, crowds: list[int]) -> Iterator[tuple[Group, ...]]:
    """One candidate leads a crowd, or one rival, by the gap; they move apart, together or alone."""
    for crowd, (leader, others) in product(crowds, _moves(scope)):
        yield Group(1 + gap, leader), Group(1, others, crowd)


def _halves(gap: float, scope: Scope, crowds: list[int]) -> Iterator[tuple[Group, ...]]:
    """One half of a crowd goes up, the other half down (under add_remove: stays); one leader goes either way."""
    down, up = min(scope.moves), max(scope.moves)
    for crowd, leader in product(crowds, (down, up)):
        yield Group(1 + gap, leader), Group(1, up, crowd), Group(1, down, crowd)


def _crossings(gap: float, scope: Scope, crowds: list[int]) -> Iterator[tuple[Group, ...]]:
    """Candidates above a crowd by no more than they lose on it: they leave the top ranks. With and without a leader."""
    down, up = min(scope.moves), max(scope.moves)
    for leaving in crowds:
        crossing = [(Group(1 + height, down, leaving), Group(1, up, _BACKGROUND)) for height in (0, 1, 2)]
        yield from crossing
        yield Group(2 + gap, up), *crossing[1]


def _births(gap: float, scope: Scope, crowds: list[int]) -> Iterator[tuple[Group, ...]]:
    """Candidates that nobody supported occur, beside an old one that is as high as the gap; others die, if they can."""
    for newborn in crowds:
        yield (Group(0, 1, newborn),)
        yield Group(gap, 0), Group(0, 1, newborn)
        if scope.neighbors is Neighbors.REPLACE_ONE:
            yield Group(gap + 1, -1, newborn), Group(0, 1, newborn)


def _popular(gap: float, scope: Scope, growth: int, *, height: float) -> Iterator[tuple[Group, ...]]:
    """All that one unit can move leads one rival by the gap, so high that "nothing" hardly weighs beside them."""
    for leaders, rival in _moves(scope):
        yield Group(height + gap, leaders, growth), Group(height, rival)


def _crowds(scope: Scope) -> tuple[int, ...]:
    """With bounded growth a crowd that moves is as large as it may be; one that stays can be larger."""
    return CROWDS if scope.growth is None else (1, scope.growth, CROWDS[-1])


def _moves(scope: Scope) -> list[tuple[int, int]]:
    """Moves of leader and others; the reverse direction is measured anyway."""
    if scope.neighbors is Neighbors.ADD_REMOVE:
        return [(1, 0), (0, 1), (1, 1)]
    return [(1, -1), (-1, 1), (1, 0), (0, 1)]
