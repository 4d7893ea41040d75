"""The stages of a mechanism, each against its own share of the guarantee.

The final choice hides where a search stopped, so the whole law stays far below the claim and would hide a broken stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dpmine.auditing.climbing import Climber
from dpmine.auditing.families import critical_gaps, structured
from dpmine.auditing.pairs import Group, Pair, Side, on_grid
from dpmine.auditing.profile import DIRECT, NOTHING, SEARCHED, Claim, Finding, measure, measure_both
from dpmine.auditing.search import scope_of, worst_pair
from dpmine.auditing.staircases import staircases, stairs
from dpmine.selection.laws.stopping import draw_law, stopping_law
from dpmine.selection.mechanisms.base import DrawStage, EarlyStopStage, SearchStage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpmine.auditing.pairs import Scope
    from dpmine.auditing.search import Effort
    from dpmine.exact.bits import BitSource
    from dpmine.selection.laws.profile import FloatArray, Profile
    from dpmine.selection.laws.stopping import StoppingSearch
    from dpmine.selection.mechanisms.base import Mechanism, Stage

_LAST_RANK = 64  # stops behind it count as one outcome
_LARGEST_CROWD = 1000
_MARGIN_EXCESS = (2.0**-16, 1.0, 2.0, 10.0)  # how far above its margin a draw's lead is
_RANKS = (1, 2, 3, 10, 1000)


@dataclass(frozen=True, slots=True)
class StageFinding:
    """What one stage claims and what it shows."""

    name: str
    claim: Claim
    found: Finding

    @property
    def holds(self) -> bool:
        """Whether the claim survived."""
        return self.found.delta <= self.claim.delta


def audit_stages(mechanism: Mechanism, *, effort: Effort, bits: BitSource) -> list[StageFinding]:
    """The worst that each stage shows over structured and random pairs; none for a mechanism of one piece."""
    scope = scope_of(mechanism)
    gaps = critical_gaps(mechanism, scope)
    return [_audit_stage(stage, scope, gaps, effort=effort, bits=bits) for stage in mechanism.stages()]


def _audit_stage(stage: Stage, scope: Scope, gaps: Sequence[float], *, effort: Effort, bits: BitSource) -> StageFinding:
    if isinstance(stage, SearchStage):
        claim = Claim(stage.epsilon, 0.0)
        return StageFinding("search", claim, _search(stage, claim, scope, gaps, effort=effort, bits=bits))
    if isinstance(stage, EarlyStopStage):
        return StageFinding("early stop", Claim(0.0, stage.delta), _early_stop(stage))
    claim = Claim(stage.epsilon, stage.delta)
    return StageFinding("draw", claim, _draw(stage, claim, scope, gaps))


def _search(
    stage: SearchStage, claim: Claim, scope: Scope, gaps: Sequence[float], *, effort: Effort, bits: BitSource
) -> Finding:
    def shows(pair: Pair, known: Finding = NOTHING) -> Finding:
        left, right = (_stop_masses(stage.search, pair.profile(side)) for side in Side)
        return measure_both(left, right, claim, precision=SEARCHED, known=known)

    small = [pair for pair in structured(scope, gaps) if max(group.count for group in pair.groups) <= _LARGEST_CROWD]
    margins = stage.search.threshold(np.arange(1.0, 8.0)).tolist()
    climber = Climber(scope, [*gaps, *(on_grid(abs(margin)) for margin in margins)], (1, 2, 5))
    return worst_pair([*staircases(stage.search, scope.neighbors), *small], shows, climber, effort=effort, bits=bits)


def _stop_masses(search: StoppingSearch, profile: Profile) -> FloatArray:
    """The mass of stopping at each of the first ranks, and behind them: shape (ranks + 1,)."""
    stops = stopping_law(profile, search=search, limit=_last_rank(profile))
    return np.append(stops.masses, stops.beyond)


def _last_rank(profile: Profile) -> int:
    return min(_LAST_RANK, (profile.dummies or sum(profile.counts)) - 1)


def _early_stop(stage: EarlyStopStage) -> Finding:
    """The largest probability of a stop inside the margin, over profiles that are inside it somewhere."""
    return Finding(max(_early_mass(stage, pair.profile(Side.BEFORE)) for pair in _inside_margin(stage)))


def _inside_margin(stage: EarlyStopStage) -> Iterator[Pair]:
    """Staircases of the margins themselves, of parts of them, and of one lead over a crowd."""
    for length, share in product((1, 2, 5, _LAST_RANK), (1.0, 0.5, 0.0)):
        margins = [share * stage.margin(rank) - 2.0**-16 for rank in range(1, length + 1)]
        if margins[0] >= 0:
            yield stairs(margins)
    for rank, crowd in product((1, 2, 5, _LAST_RANK), (_LAST_RANK, _LARGEST_CROWD)):
        lead = on_grid(max(0.0, stage.margin(rank) - 2.0**-16))
        yield Pair((Group(1 + lead, 0), Group(1, 0, crowd)))


def _early_mass(stage: EarlyStopStage, profile: Profile) -> float:
    """The probability of a stop at a rank ℓ with q_ℓ ≤ margin(ℓ), less what float64 may have added."""
    stops = stopping_law(profile, search=stage.search, limit=_last_rank(profile))
    early = [_lead(profile, rank) <= stage.margin(rank) for rank in range(1, stops.masses.size + 1)]
    return max(0.0, float(stops.masses[early].sum()) * (1 - DIRECT.relative) - DIRECT.absolute)


def _lead(profile: Profile, rank: int) -> float:
    """q_ℓ = c(1) − c(ℓ+1). Requires: there are more than `rank` candidates."""
    ladder = profile.ladder()
    return float(ladder.scores[0] - ladder.scores[ladder.locate(rank + 1)[0]])


def _draw(stage: DrawStage, claim: Claim, scope: Scope, gaps: Sequence[float]) -> Finding:
    """The worst over all pairs and ranks, in the directions that the claim covers."""
    worst = NOTHING
    for rank, pair in _draws(stage, scope, gaps):
        profiles = [pair.profile(side) for side in Side]
        left, right = (
            pair.masses(side, draw_law(profile, rank=rank, rate=stage.rate))
            for side, profile in zip(Side, profiles, strict=True)
        )
        if _is_covered(stage, profiles[0], rank):
            worst = measure(left, right, claim, precision=DIRECT, known=worst)
        if _is_covered(stage, profiles[1], rank):
            worst = measure(right, left, claim, precision=DIRECT, known=worst)
    return worst


def _is_covered(stage: DrawStage, profile: Profile, rank: int) -> bool:
    """Whether the draw's claim holds from this side: nobody is outside the top ℓ, or they are far below."""
    return rank == sum(profile.counts) or _lead(profile, rank) > stage.margin(rank)


def _draws(stage: DrawStage, scope: Scope, gaps: Sequence[float]) -> Iterator[tuple[int, Pair]]:
    """Draws among everybody, and among a leader and others of whom some leave the top ranks on the neighbour."""
    for pair in structured(scope, gaps):
        if not pair.dummies:
            yield sum(group.count for group in pair.groups), pair
    for rank, excess, height in product(_RANKS, _MARGIN_EXCESS, (0.0, 1.0, 2.0, 2.0 - 2.0**-16)):
        lead = on_grid(stage.margin(rank) + excess)
        for moves in product(scope.moves, repeat=3):
            pair = Pair(_leaving(rank, lead, height, moves))
            if scope.admits(pair):
                yield rank, pair


def _leaving(rank: int, lead: float, height: float, moves: tuple[int, ...]) -> tuple[Group, ...]:
    """A leader, rank − 1 candidates a little above a crowd, and the crowd; their moves in this order."""
    others = (Group(1 + height, moves[1], rank - 1),) if rank > 1 else ()
    return Group(1 + lead, moves[0]), *others, Group(1, moves[2], _LARGEST_CROWD**2)
