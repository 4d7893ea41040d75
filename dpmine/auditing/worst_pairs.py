"""The search for the worst pair of neighbours, of a whole mechanism and of its stages.

It starts from structured pairs, random ones or known bad ones, and makes small changes that do no harm. Each stage is
held against its own share of the guarantee. The final choice hides where a search stopped, so the whole
stays far below its claim and would hide a broken stage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dpmine.auditing.audit_report import AuditRow
from dpmine.auditing.pairs import (
    CROWDS,
    DIRECT,
    NOTHING,
    SEARCHED,
    UNKNOWN,
    ClaimScope,
    Finding,
    Group,
    Pair,
    PairSide,
    Terms,
    critical_leads,
    measure,
    measure_both,
    on_grid,
    staircases,
    stairs,
    structured,
)
from dpmine.auditing.targets.neighbours import pick
from dpmine.errors import BadParameter
from dpmine.exact.reals import uniform_below
from dpmine.selection.distributions.stopping import StoppingSearch, draw_distribution, stopping_distribution
from dpmine.selection.mechanisms.mechanism import DrawStage, EarlyStopStage, Mechanism, SearchStage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.selection.distributions.profile import Profile
    from dpmine.selection.distributions.stopping import StopDistribution


_STEPS = 2  # of a staircase for the whole mechanism; the stages are audited on longer ones
DISTRIBUTIONS_KEPT = 10_000  # many pairs share a side, and many lists what is left


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


def scope_of(mechanism: Mechanism) -> ClaimScope:
    """The pairs that the mechanism's claim covers: padded ones too unless it needs a public list of candidates."""
    growth = mechanism.candidates_per_unit
    return ClaimScope(mechanism.neighbors, (0,) if mechanism.needs_catalogue else (0, UNKNOWN), growth)


def audit_whole(mechanism: Mechanism, *, effort: Effort, bits: BitSource) -> Finding:
    """The worst that the mechanism shows over all pairs tried, in both directions.

    Requires: `mechanism.distribution` is the exact output distribution of `mechanism.choose`.
    """
    scope, claim = scope_of(mechanism), Terms(float(mechanism.epsilon), float(mechanism.delta))
    searches = [stage.search for stage in mechanism.stages() if isinstance(stage, SearchStage)]
    steps = [pair for search in searches for pair in staircases(search, scope.neighbors, lengths=(_STEPS,))]
    leads = critical_leads(mechanism, scope)[:: 2 if steps else 1]  # where stages are audited, the whole shows little
    tolerance = SEARCHED if steps else DIRECT
    distribution = lru_cache(DISTRIBUTIONS_KEPT)(mechanism.distribution)

    def shows(pair: Pair, known: Finding = NOTHING) -> Finding:
        left, right = (pair.masses(side, distribution(pair.profile(side))) for side in PairSide)
        return measure_both(left, right, claim, tolerance=tolerance, known=known)

    climber = Climber(scope, leads, (1, scope.growth) if scope.growth else Climber.crowds)
    return worst_pair([*structured(scope, leads), *steps], shows, climber, effort=effort, bits=bits)


def worst_pair(
    pairs: Iterable[Pair], shows: Callable[..., Finding], climber: Climber, *, effort: Effort, bits: BitSource
) -> Finding:
    """The worst of the given pairs and of climbs that start from the worst of them, and from random ones."""
    worst, start = NOTHING, None
    for pair in pairs:
        finding = shows(pair, worst)
        if finding.rank > worst.rank:
            start = pair
        worst = finding
    for climb in range(effort.climbs):
        finding, _ = climber.climb(start if climb % 2 else None, shows, steps=effort.steps, bits=bits)
        worst = worst.worst(finding)
    return worst


_GROUPS = 5  # of a random pair, at most


@dataclass(frozen=True)
class Climber:
    """Proposes pairs that the scope admits, at the given critical leads.

    Requires: at least one lead.
    """

    scope: ClaimScope
    leads: Sequence[float]
    crowds: Sequence[int] = CROWDS

    def climb(
        self, start: Pair | None, shows: Callable[[Pair], Finding], *, steps: int, bits: BitSource
    ) -> tuple[Finding, Pair | None]:
        """The best pair found in `steps` changes of `start` (of a random pair when None), and what it shows."""
        pair = start
        best = shows(pair) if pair else NOTHING
        for _ in range(steps):
            proposal = self._changed(pair, bits) if pair else self._random(bits)
            if proposal is None:
                continue
            finding = shows(proposal)
            if pair is None or finding.rank >= best.rank:
                pair, best = proposal, finding
        return best, pair

    def _random(self, bits: BitSource) -> Pair | None:
        groups = [self._group(bits) for _ in range(1 + uniform_below(_GROUPS, bits=bits))]
        return self._admitted(groups, pick(self.scope.dummies, bits))

    def _group(self, bits: BitSource) -> Group:
        height = pick(self.leads, bits) + uniform_below(3, bits=bits)
        return Group(height, pick(self.scope.moves, bits), pick(self.crowds, bits))

    def _changed(self, pair: Pair, bits: BitSource) -> Pair | None:
        """A neighbour in the space of pairs: one group changed, added or removed, or another padding."""
        groups, dummies = list(pair.groups), pair.dummies
        place = uniform_below(len(groups), bits=bits)
        kind = uniform_below(7, bits=bits)
        if kind == 0:
            groups.append(self._group(bits))
        elif kind == 1:
            groups.pop(place)
        elif kind == 2:
            dummies = pick(self.scope.dummies, bits)
        else:
            groups[place] = self._change(groups[place], bits)
        return self._admitted(groups, dummies)

    def _change(self, group: Group, bits: BitSource) -> Group:
        kind = uniform_below(4, bits=bits)
        if kind == 0:
            return replace(group, move=pick(self.scope.moves, bits))
        if kind == 1:
            return replace(group, count=pick((group.count + 1, max(1, group.count // 2), 2 * group.count), bits))
        steps = (1.0, -1.0) if kind == 2 else (pick(self.leads, bits) / 4, -pick(self.leads, bits) / 4)
        step = pick(steps, bits)
        return replace(group, score=on_grid(group.score + (step if self.scope.growth is None else round(step))))

    def _admitted(self, groups: list[Group], dummies: int) -> Pair | None:
        try:
            pair = Pair(tuple(groups), dummies)
        except BadParameter:
            return None
        within = sum(group.count for group in groups) <= 2 * max(CROWDS) * _GROUPS
        return pair if within and self.scope.admits(pair) else None


_LAST_RANK = 64  # stops behind it count as one outcome
_LARGEST_CROWD = 1000
_MARGIN_EXCESS = (2.0**-16, 1.0, 2.0, 10.0)  # how far above its margin a draw's lead is
_RANKS = (1, 2, 3, 10, 1000)


def audit_stages(mechanism: Mechanism, *, effort: Effort, bits: BitSource) -> list[AuditRow]:
    """The worst that each stage shows over structured and random pairs; none for a mechanism of one piece."""
    scope = scope_of(mechanism)
    leads = critical_leads(mechanism, scope)
    rows = []
    for stage in mechanism.stages():
        if isinstance(stage, SearchStage):
            name, claim = "search", Terms(stage.epsilon, 0.0)
            finding = _search(stage, scope, leads, effort=effort, bits=bits)
        elif isinstance(stage, EarlyStopStage):
            name, claim = "early stop", Terms(0.0, stage.delta)
            # the largest probability of a stop inside the margin, over profiles that are inside it somewhere
            finding = Finding(max(_early_mass(stage, pair.profile(PairSide.BEFORE)) for pair in _inside_margin(stage)))
        else:
            name, claim = "draw", Terms(stage.epsilon, stage.delta)
            finding = _draw(stage, claim, scope, leads)
        figures = claim.epsilon, claim.delta, finding.delta, finding.epsilon
        rows.append(AuditRow(mechanism.name, mechanism.neighbors, *figures, stage=name))
    return rows


def _search(
    stage: SearchStage, scope: ClaimScope, leads: Sequence[float], *, effort: Effort, bits: BitSource
) -> Finding:
    """The worst that outcomes of the search show; of a stop at rank 1, less what it may lose more than the others."""
    claim, relief = Terms(stage.epsilon, 0.0), math.exp(stage.epsilon - stage.first_epsilon)

    def shows(pair: Pair, known: Finding = NOTHING) -> Finding:
        stops = [_stops(stage.search, pair.profile(side)) for side in PairSide]
        left, right = (np.append(each.masses, each.beyond) for each in stops)
        factors = np.append(np.where(np.arange(left.size - 1) < 1, relief, 1.0), 1.0)
        forth = measure(factors * left, right, claim, tolerance=SEARCHED, known=known)
        return measure(factors * right, left, claim, tolerance=SEARCHED, known=forth)

    small = [pair for pair in structured(scope, leads) if max(group.count for group in pair.groups) <= _LARGEST_CROWD]
    margins = stage.search.threshold(np.arange(1.0, 8.0)).tolist()
    climber = Climber(scope, [*leads, *(on_grid(abs(margin)) for margin in margins)], (1, 2, 5))
    return worst_pair([*staircases(stage.search, scope.neighbors), *small], shows, climber, effort=effort, bits=bits)


def _stops(search: StoppingSearch, profile: Profile) -> StopDistribution:
    last = min(_LAST_RANK, (profile.dummies or sum(profile.counts)) - 1)
    return stopping_distribution(profile, search=search, limit=last)


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
    stops = _stops(stage.search, profile)
    early = [_lead(profile, rank) <= stage.margin(rank) for rank in range(1, stops.masses.size + 1)]
    return max(0.0, float(stops.masses[early].sum()) * (1 - DIRECT.relative) - DIRECT.absolute)


def _lead(profile: Profile, rank: int) -> float:
    """q_ℓ = c(1) − c(ℓ+1). Requires: there are more than `rank` candidates."""
    ladder = profile.ladder()
    return float(ladder.scores[0] - ladder.scores[ladder.locate(rank + 1)[0]])


def _draw(stage: DrawStage, claim: Terms, scope: ClaimScope, leads: Sequence[float]) -> Finding:
    """The worst over all pairs and ranks, in the directions that the claim covers."""
    worst = NOTHING
    for rank, pair in _draws(stage, scope, leads):
        profiles = [pair.profile(side) for side in PairSide]
        left, right = (
            pair.masses(side, draw_distribution(profile, rank=rank, rate=stage.rate))
            for side, profile in zip(PairSide, profiles, strict=True)
        )
        for profile, one, other in zip(profiles, (left, right), (right, left), strict=True):
            # The claim holds from a side where no candidate is outside the top ℓ, or they are far below.
            if rank == sum(profile.counts) or _lead(profile, rank) > stage.margin(rank):
                share = claim if rank > 1 else Terms(0.0, 0.0)
                worst = measure(one, other, share, tolerance=DIRECT, known=worst)
    return worst


def _draws(stage: DrawStage, scope: ClaimScope, leads: Sequence[float]) -> Iterator[tuple[int, Pair]]:
    """Draws among all, and among a leader and others of whom some leave the top ranks on the neighbour."""
    for pair in structured(scope, leads):
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
