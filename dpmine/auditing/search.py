"""The search for the worst pair of neighbours of a whole mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from dpmine.auditing.climbing import Climber
from dpmine.auditing.families import critical_gaps, structured
from dpmine.auditing.pairs import UNKNOWN, Scope, Side
from dpmine.auditing.profile import DIRECT, NOTHING, SEARCHED, Claim, Finding, measure_both
from dpmine.auditing.staircases import staircases
from dpmine.selection.mechanisms.base import SearchStage
from dpmine.selection.mechanisms.bounded_growth import BoundedGrowth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpmine.auditing.pairs import Pair
    from dpmine.exact.bits import BitSource
    from dpmine.selection.mechanisms.base import Mechanism


_STEPS = 2  # of a staircase for the whole mechanism; the stages are audited on longer ones
_REMEMBERED = 10_000  # laws: many pairs share a side


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to search.

    Attributes:
        climbs: hill climbs, half of them from the worst structured pair, half from random ones.
        steps: changes tried in each.
    """

    climbs: int
    steps: int


STRUCTURED = Effort(climbs=0, steps=0)
"""Structured pairs only: the same result every time."""
DEFAULT = Effort(climbs=2, steps=40)
THOROUGH = Effort(climbs=4, steps=100)


def scope_of(mechanism: Mechanism) -> Scope:
    """The pairs that the mechanism's claim covers: padded ones too unless it needs a public list of candidates."""
    growth = mechanism.growth if isinstance(mechanism, BoundedGrowth) else None
    return Scope(mechanism.neighbors, (0,) if mechanism.needs_catalogue else (0, UNKNOWN), growth)


def claim_of(mechanism: Mechanism) -> Claim:
    """The mechanism's (ε, δ)."""
    return Claim(float(mechanism.epsilon), float(mechanism.delta))


def audit_whole(mechanism: Mechanism, *, effort: Effort, bits: BitSource) -> Finding:
    """The worst that the mechanism's law shows over all pairs tried, in both directions.

    Requires: `mechanism.law` is the exact law of `mechanism.choose`.
    """
    scope, claim = scope_of(mechanism), claim_of(mechanism)
    stairs = _stairs(mechanism, scope)
    gaps = critical_gaps(mechanism, scope)[:: 2 if stairs else 1]  # where stages are audited, the whole shows little
    precision = SEARCHED if stairs else DIRECT
    law = lru_cache(_REMEMBERED)(mechanism.law)

    def shows(pair: Pair, known: Finding = NOTHING) -> Finding:
        left, right = (pair.masses(side, law(pair.profile(side))) for side in Side)
        return measure_both(left, right, claim, precision=precision, known=known)

    climber = Climber(scope, gaps, (1, scope.growth) if scope.growth else Climber.crowds)
    return worst_pair([*structured(scope, gaps), *stairs], shows, climber, effort=effort, bits=bits)


def worst_pair(
    pairs: Iterable[Pair], shows: Callable[..., Finding], climber: Climber, *, effort: Effort, bits: BitSource
) -> Finding:
    """The worst of the given pairs and of climbs that start from the worst of them, and from random ones."""
    worst, start = NOTHING, None
    for pair in pairs:
        found = shows(pair, worst)
        if found.rank > worst.rank:
            start = pair
        worst = found
    for climb in range(effort.climbs):
        found, _ = climber.climb(start if climb % 2 else None, shows, steps=effort.steps, bits=bits)
        worst = worst.worst(found)
    return worst


def _stairs(mechanism: Mechanism, scope: Scope) -> list[Pair]:
    """For mechanisms that search: short staircases at the search's thresholds."""
    return [
        pair
        for stage in mechanism.stages()
        if isinstance(stage, SearchStage)
        for pair in staircases(stage.search, scope.neighbors, lengths=(_STEPS,))
    ]
