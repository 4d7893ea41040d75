"""The search for the worst neighbours of a mechanism, and the measurement of the worst that was found.

From output distributions every pair tried is a certain measurement, so the worst is reported. From runs, the search
only chooses a pair and an event, by runs of its own. Then the event is measured once, on fresh runs whose number was
fixed before. Nothing needs to be corrected for what was tried: the measurement does not know of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from dpmine.auditing.pairs import privacy_profile
from dpmine.auditing.targets.claims import GIVEN, GRID, Claim, Evidence, largest_visible
from dpmine.auditing.targets.events import EventChoice, choose_event, frozen, measure_event
from dpmine.auditing.targets.neighbours import Family, Pair, SeededBits
from dpmine.auditing.targets.sampling import Sampler, all_raised
from dpmine.auditing.targets.target_report import TargetReport, Tried
from dpmine.errors import BadParameter
from dpmine.parameters import below_one, positive, probability, truth, whole
from dpmine.selection.select import Law

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from dpmine.auditing.targets.neighbours import Pair
    from dpmine.auditing.targets.sampling import Runs
    from dpmine.parameters import Number
    from dpmine.selection.distributions.profile import FloatArray

_OFF = 1e-6  # how far the sum of probabilities may be from 1
_NAMED = 5  # outcomes of an event
_ROUNDS = ((2000, 0.1, 30), (20_000, 0.02, 8), (100_000, 1e-3, 1))
"""Of choosing: runs on each side of a pair, the probability with which each bound there fails, and how many pairs stay.

The first bounds are loose, or a rare event that only one side has would never be looked at again. The last ones are
about as tight as the measurement, so that the pair and the event are those that it shows most of.
"""
_FIRST_DRAWS = 500  # of the first pair, which says how fast the mechanism is; and of each pair if it is slow
_ONE_PAIR = 0.03  # of the seconds: what a pair may take
_FEW_DRAWS = 500  # of each pair in later rounds, at least
_LEAST_DRAWS = 1000  # of a measurement
_STARTS, _CLIMBED, _CHOSEN = 0.25, 0.35, (0.45, 0.6)  # of the seconds: when each part of the search ends
_SAFETY = 0.9  # of the time that is left: runs vary
_CLIMBS = 3
_RUNS_PER_CHOOSING_RUN = 4  # of one pair: one run in this number chooses the event


@dataclass(frozen=True, slots=True)
class Budget:
    """How much to try.

    Attributes:
        confidence: the probability, at least, that a true claim is not refuted by runs.
        seconds: when to stop searching; the measurement that follows takes what is left of them.
        samples: runs on each side for the last measurement, if the time suffices.
        pairs: structured pairs to try at most.
        steps: changes tried in each of three climbs.
        seed: of the choices of the search; the mechanism's randomness is its own.
        float_bits: whether to look at those of floats.

    Raises BadParameter for unusable values.
    """

    confidence: Number = "0.999"
    seconds: Number = 60
    samples: int = 100_000
    pairs: int = 500
    steps: int = 40
    seed: int = 0
    float_bits: bool = True

    def __post_init__(self) -> None:
        _ = self.limit, self.miss, truth("float_bits", self.float_bits)
        for name, least in (("samples", 100), ("pairs", 1), ("steps", 0), ("seed", 0)):
            whole(name, getattr(self, name), least=least)

    @property
    def limit(self) -> float:
        """The seconds, as a float."""
        return float(positive("seconds", self.seconds))

    @property
    def miss(self) -> float:
        """The probability, at most, that a true claim is refuted by runs."""
        return float(1 - probability("confidence", self.confidence))


@dataclass
class _Clock:
    """The time since the audit began, and whether it ended a part of the search."""

    seconds: float
    start: float
    stopped: bool = False

    def passed(self, share: float = 1.0) -> bool:
        over = perf_counter() - self.start > share * self.seconds
        self.stopped |= over
        return over

    @property
    def used(self) -> float:
        return perf_counter() - self.start


@dataclass
class _Ranking:
    """The worst pairs so far, the worst one first."""

    size: int
    found: list[tuple[Evidence, Pair]]
    pairs: int = 0

    def add(self, evidence: Evidence, pair: Pair) -> None:
        self.pairs += 1
        self.found.append((evidence, pair))
        self.found.sort(key=lambda entry: entry[0].rank, reverse=True)
        del self.found[self.size :]


@runtime_checkable
class HasLaw(Protocol):
    """A mechanism that knows its output distribution."""

    def law(self, data: Any, /) -> object:
        """A mapping from outcomes to probabilities, or a `dpmine.Law`."""
        ...


@dataclass(frozen=True)
class TwoLaws:
    """The outcomes on both sides of a pair, and their probabilities on each side, shape (outcomes,)."""

    outcomes: tuple[Hashable, ...]
    left: FloatArray
    right: FloatArray

    @classmethod
    def of(cls, mechanism: HasLaw, pair: Pair) -> TwoLaws:
        """As `mechanism.law` gives them. Raises BadParameter for what is no distribution."""
        sides = [_masses(mechanism.law(data)) for data in pair.sides()]
        outcomes = tuple(dict.fromkeys([*sides[0], *sides[1]]))
        return cls(outcomes, *(np.array([side.get(outcome, 0.0) for outcome in outcomes]) for side in sides))

    def reversed(self) -> TwoLaws:
        """The other direction."""
        return TwoLaws(self.outcomes, self.right, self.left)

    def worst(self, claim: Claim) -> tuple[Evidence, bool]:
        """What the two show in the direction that shows more, and whether that is backwards."""
        forth, back = claim.of_laws(self.left, self.right), claim.of_laws(self.right, self.left)
        return (back, True) if back.rank > forth.rank else (forth, False)

    def event(self, epsilon: float) -> str:
        """The outcomes that are more than e^ε times likelier on the left, those with the largest excess first."""
        with np.errstate(over="ignore"):
            excess = self.left - np.exp(epsilon) * self.right
        ranked = [place for place in np.argsort(-excess, kind="stable").tolist() if excess[place] > 0]
        if not ranked:
            return "none: no outcome is that much likelier"
        named = ", ".join(repr(self.outcomes[place]) for place in ranked[:_NAMED])
        more = f" and {len(ranked) - _NAMED} more" if len(ranked) > _NAMED else ""
        return f"the outcome is {named}{more}" if len(ranked) == 1 else f"the outcome is one of: {named}{more}"


def _masses(law: object) -> dict[Hashable, float]:
    """The probability of every outcome; of a `Law` by position, and None for nothing."""
    if isinstance(law, Law):
        masses: dict[Hashable, float] = dict(enumerate(law.pmf.tolist()))
        masses[None] = law.nothing
    elif isinstance(law, Mapping):
        masses = {frozen(outcome): float(mass) for outcome, mass in law.items()}
    else:
        raise BadParameter("`law(data)` must return a mapping from outcomes to probabilities, or a dpmine.Law.")
    if not all(mass >= 0 for mass in masses.values()) or abs(sum(masses.values()) - 1) > _OFF:
        raise BadParameter("The probabilities that `law(data)` returns must be at least 0, and their sum must be 1.")
    return masses


def compare_laws(mechanism: HasLaw, claim: Claim, family: Family, budget: Budget) -> TargetReport:
    """The worst that `mechanism.law` shows over all pairs tried, in both directions: certain, up to rounding.

    Raises BadParameter where there are no neighbours.
    """
    clock = _Clock(budget.limit, perf_counter())

    def shows(pair: Pair) -> Evidence:
        return TwoLaws.of(mechanism, pair).worst(claim)[0]

    ranking = _search(shows, family, budget, clock, ends=(0.5, 1.0))
    evidence, pair = ranking.found[0]
    laws = TwoLaws.of(mechanism, pair)
    before, after = pair.sides()
    if laws.worst(claim)[1]:
        laws, before, after = laws.reversed(), after, before
    level = min(evidence.measured, evidence.claimed) * (1 - 1e-9) if claim.rho is None and claim.profile is None else 0
    tried = Tried(ranking.pairs, 0, 0, 0, clock.used, clock.stopped)
    profile = _profile(claim, lambda epsilon: privacy_profile(laws.left, laws.right, epsilon, GIVEN))
    return TargetReport(claim, evidence, 1.0, before, after, laws.event(level), None, tried, inf, profile)


def compare_runs(mechanism: Runs, claim: Claim, family: Family, budget: Budget) -> TargetReport:
    """The worst pair and event that the search finds, measured on fresh runs.

    Law: a true claim is refuted with probability at most `budget.miss`, if runs are independent.
    Raises BadParameter where there are no neighbours, or every run raises.
    """
    clock, sampler, events = _Clock(budget.limit, perf_counter()), Sampler(mechanism), 0
    usable = False

    def choose(pair: Pair, draws: int, loose: float) -> EventChoice:
        nonlocal events, usable
        left, right = sampler.both(pair, draws)
        usable |= not all_raised(left + right)
        chosen = choose_event(left, right, claim, loose, bits=budget.float_bits)
        events += chosen.considered
        return chosen

    pilot, loose, kept = _ROUNDS[0]

    def shows(pair: Pair) -> Evidence:
        room = int(_ONE_PAIR * clock.seconds / (2 * sampler.speed)) if sampler.draws else _FIRST_DRAWS
        return choose(pair, min(budget.samples, pilot, max(_FIRST_DRAWS, room)), loose).evidence

    ranking = _search(shows, family, budget, clock, ends=(_STARTS, _CLIMBED), kept=kept)
    if not usable:
        raise BadParameter("The mechanism raised an exception in every run: call it once with such a data set to see.")
    pair, chosen = _chosen([pair for _, pair in ranking.found], choose, clock, sampler, budget)
    draws = _affordable(budget.samples, clock, sampler)
    measured = measure_event(chosen, *sampler.both(pair, draws), claim, budget.miss)
    before, after = pair.sides()[::-1] if chosen.backwards else pair.sides()
    tried = Tried(ranking.pairs, events, sampler.draws, draws, clock.used, clock.stopped)
    return TargetReport(
        claim=claim,
        evidence=measured.evidence,
        confidence=1 - budget.miss,
        before=before,
        after=after,
        event=str(chosen.event),
        shares=measured.shares,
        tried=tried,
        visible=largest_visible(budget.miss, draws),
        profile=_profile(claim, measured.delta),
    )


def epsilon_lower_bound(
    run: Callable[[], Hashable],
    run_neighbor: Callable[[], Hashable],
    *,
    samples: int = 20_000,
    confidence: Number = 0.99,
    delta: Number | None = None,
) -> float:
    """A lower bound on the ε of code that is run on two neighbouring inputs. It is 0 when the samples show nothing.

    Args:
        run: makes one outcome on an input; it takes no argument.
        run_neighbor: the same on the neighbouring input.
        samples: how often each of them is run.
        confidence: with which the bound holds, below 1.
        delta: δ of the claim; None: 0.

    Each callable is run `samples` times. The first quarter of the outcomes chooses an event and a direction. The rest,
    which is independent of that choice, measures its two probabilities.
    Law: let the code be (ε, δ)-differentially private and its runs independent. The returned value is then above ε with
    probability at most 1 − confidence, for every number of samples.
    Requires: at least 4 samples; outcomes are few, compared with the samples; `delta` None means 0.
    Source: `dpmine.auditing.blackbox.joint_bounds`.
    """
    count, miss = whole("samples", samples, least=4), float(1 - probability("confidence", confidence))
    claim = Claim(1, 0 if delta is None else below_one("delta", delta))
    choosing_runs = max(2, count // _RUNS_PER_CHOOSING_RUN)
    chosen = choose_event(*_outcomes(run, run_neighbor, choosing_runs), claim, _ROUNDS[1][1])
    fresh = _outcomes(run, run_neighbor, count - choosing_runs)
    return measure_event(chosen, *fresh, claim, miss).evidence.measured


def _outcomes(
    run: Callable[[], Hashable], run_neighbor: Callable[[], Hashable], count: int
) -> tuple[list[Hashable], list[Hashable]]:
    return [run() for _ in range(count)], [run_neighbor() for _ in range(count)]


def _search(
    shows: Callable[[Pair], Evidence],
    family: Family,
    budget: Budget,
    clock: _Clock,
    *,
    ends: tuple[float, float],
    kept: int = _CLIMBS,
) -> _Ranking:
    """Structured pairs, then climbs from the worst of them: a change is kept unless it shows less."""
    ranking = _Ranking(kept, [])
    for pair in family.starts():
        ranking.add(shows(pair), pair)
        if ranking.pairs >= budget.pairs or clock.passed(ends[0]):
            break
    if not ranking.found:
        raise BadParameter("There are no neighbours to try: give at least one pair.")
    bits = SeededBits(budget.seed)
    for climb in range(_CLIMBS):
        best, current = ranking.found[climb % len(ranking.found)]
        for _ in range(budget.steps):
            if clock.passed(ends[1]):
                return ranking
            proposal = family.changed(current, bits)
            if proposal is None:
                continue
            evidence = shows(proposal)
            ranking.add(evidence, proposal)
            if evidence.rank >= best.rank:
                best, current = evidence, proposal
    return ranking


def _chosen(
    pairs: list[Pair],
    choose: Callable[[Pair, int, float], EventChoice],
    clock: _Clock,
    sampler: Sampler,
    budget: Budget,
) -> tuple[Pair, EventChoice]:
    """The worst of the pairs, by more and more runs of fewer and fewer; and its event. Requires: at least one pair."""
    candidates: list[tuple[Pair, EventChoice]] = []
    for (draws, loose, kept), end in zip(_ROUNDS[1:], _CHOSEN, strict=True):
        wanted, candidates = min(draws, budget.samples), []
        each_run = max(sampler.speed, clock.used / max(1, sampler.draws))  # looking at outcomes included
        room = (end * clock.seconds - clock.used) / (2 * len(pairs) * each_run)
        draws_per_side = max(min(wanted, _FEW_DRAWS), min(wanted, int(room)))
        for pair in pairs:
            candidates.append((pair, choose(pair, draws_per_side, loose)))
            if clock.passed(end):
                break
        candidates.sort(key=lambda entry: entry[1].evidence.rank, reverse=True)
        pairs = [pair for pair, _ in candidates[:kept]]
    return candidates[0]


def _affordable(samples: int, clock: _Clock, sampler: Sampler) -> int:
    """How many runs a side fit into the time that is left; fixed before they start, or it could depend on outcomes."""
    room = _SAFETY * (clock.seconds - clock.used) / (2 * sampler.speed)
    return max(min(samples, _LEAST_DRAWS), min(samples, int(room)))


def _profile(claim: Claim, measured: Callable[[float], float]) -> tuple[tuple[float, float, float], ...]:
    """Up to an ε where the claim's profile has little left."""
    last = max(1.0, 2 * claim.scale)
    shown = [epsilon for epsilon in GRID.tolist() if epsilon <= last]
    return tuple((epsilon, measured(epsilon), claim.form.delta(epsilon)) for epsilon in shown)
