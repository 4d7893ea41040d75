"""The k best candidates, chosen privately: three ways, and which of them a mechanism's name or "auto" stands for.

At the end: how large counts must be for a list of the best to be expected right, from public parameters alone.

Proof: docs/proofs/selection/composition.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, exp, expm1, log
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from dpmine.errors import BadParameter
from dpmine.options.names import AUTO
from dpmine.parameters import probability
from dpmine.privacy import Guarantee, Neighbors, Zcdp, decimal
from dpmine.selection.composition import approximate_rounds, bounded_range_rounds, pure_rounds
from dpmine.selection.draws import noisy_order
from dpmine.selection.mechanisms.limited_domain import DEFAULT_KBAR, LimitedDomain
from dpmine.selection.mechanisms.mechanism import ListWay
from dpmine.selection.mechanisms.report_noisy_max import Exponential
from dpmine.selection.recommend import (
    DECAY,
    MECHANISMS,
    Shape,
    kind_of,
    least,
    no_option,
    own_options,
    recommended,
    stylised,
)
from dpmine.selection.universes.protocol import Remaining

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dpmine.exact.bits import BitSource
    from dpmine.selection.distributions.profile import Profile
    from dpmine.selection.mechanisms.mechanism import Mechanism
    from dpmine.selection.universes.protocol import C, Universe

_KEPT_A_PLACE = 100
HALF = 0.5
"""The share below which a list is mostly noise."""
_HALVINGS = 60
_FARTHEST = 700.0  # beyond it, an exponential leaves float64
NO_DELTA = "delta must be above 0 where there is no public list of candidates: give it, or a catalogue."


@dataclass(frozen=True, slots=True)
class TopK(ABC):
    """A private choice of at most `count` different candidates, best first, for scores of sensitivity 1.

    `epsilon` and `delta` are those of the whole list; `reason` is why "auto" took it, "" where it was named. Under
    `add_remove`, scores must move together: a unit more moves every score by 0 to +1 (counts do).
    """

    count: int
    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors
    reason: str = field(default="", kw_only=True, compare=False)

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism:
        """The mechanism that one round runs, with a round's budget."""

    @property
    @abstractmethod
    def zcdp(self) -> Zcdp:
        """What the whole list is charged under zCDP."""

    @property
    def name(self) -> str:
        """The mechanism's."""
        return self.mechanism.name

    @property
    def needs_catalogue(self) -> bool:
        """Whether every candidate must be public, so that it is of no use where the universe is unknown."""
        return self.mechanism.needs_catalogue

    @property
    def lists_what_stands_out(self) -> bool:
        """Whether places stay empty where no candidate leads, in place of being filled by noise."""
        return not self.needs_catalogue

    @abstractmethod
    def choose(self, universe: Universe[C], *, bits: BitSource) -> tuple[C, ...]:
        """The chosen candidates: fewer than `count` where nothing stands out."""

    def lead(self, candidates: int) -> float:
        """How far the k best must lead the others, in sensitivities, to be the ones chosen with probability about 0.95.

        `candidates` is how many others there are, where the mechanism cares. For advice only. In one shot: the
        mechanism's and b ln k, as in each of k rounds the others' weights sum to e^{−lead/b} times as much.
        """
        return self.mechanism.lead(candidates) + float(self.mechanism.scale) * log(self.count)

    def right_from(self, candidates: int) -> int:
        """The least support of the best candidate at which half of the list is expected to be right; 0 if unknown.

        `candidates` is the number of public ones, 0 where there is no public list. Supports are assumed to fall off by
        a power law.
        """
        if self.lists_what_stands_out or not candidates:
            return 0
        return support_needed(self.count, float(self.mechanism.scale), max(candidates, self.count))

    def lead_over(self) -> str:
        """Whom the best candidates have to lead: what `lead` is measured against."""
        return self.mechanism.lead_over()

    @abstractmethod
    def rounds(self) -> str:
        """How the budget is spent, in one phrase: facts of the parameters."""

    def guarantee(self) -> Guarantee:
        """The guarantee of one run."""
        return replace(self.mechanism.guarantee(), epsilon=self.epsilon, delta=self.delta, concentrated=self.zcdp)


@dataclass(frozen=True, slots=True)
class Peeling(TopK):
    """k rounds of `once`, each on the candidates that the rounds before did not choose.

    A round in which nothing stands out is lost, and the next one is still run: all are charged.
    """

    once: Mechanism

    @classmethod
    def of(cls, count: int, mechanism: Mechanism, delta: Fraction) -> Self:
        """`mechanism` holds the ε of the whole list; each round gets the most that is certified to add up to (ε, δ).

        A pure mechanism charges δ only where that buys more than basic composition does.
        """
        compose = approximate_rounds if mechanism.approximate else pure_rounds
        rounds = compose(count, mechanism.epsilon, delta)
        once = replace(mechanism, epsilon=rounds.round_epsilon, delta=rounds.round_delta)
        return cls(count, rounds.epsilon, rounds.delta, mechanism.neighbors, once)

    @property
    def mechanism(self) -> Mechanism:
        """The one that is peeled."""
        return self.once

    @property
    def zcdp(self) -> Zcdp:
        """That of all rounds."""
        return self.once.zcdp.times(self.count)

    def choose(self, universe: Universe[C], *, bits: BitSource) -> tuple[C, ...]:
        """At most `count` candidates."""
        left = Remaining(universe)
        chosen: list[C] = []
        for _ in range(self.count):
            if left.is_empty:
                break
            candidate = self.once.choose(left, bits=bits)
            if candidate is not None:
                left.take(candidate)
                chosen.append(candidate)
        return tuple(chosen)

    def lead(self, candidates: int) -> float:
        """The mechanism's at a round's budget."""
        return self.once.lead(candidates)

    def rounds(self) -> str:
        """One mechanism a place."""
        once = self.once
        if not once.private:
            return f"{rounds_of(self.count, once.name)}, which is not private"
        delta = f", δ = {decimal(once.delta)}" if once.delta else ""
        return f"{rounds_of(self.count, once.name)} at ε = {decimal(once.epsilon)}{delta}"


@dataclass(frozen=True, slots=True)
class OneShot(TopK):
    """The k largest of c_i + Gumbel(u/ε_0), in order; u = 2, or 1 under add_remove.

    The output distribution is that of k rounds of the exponential mechanism at ε_0, each on what the earlier ones left.
    Only Gumbel noise has that property. Each round is ε_0-private and ε_0-bounded-range.
    Source: Durfee & Rogers 2019, Lemma 4.2.
    """

    round_epsilon: Fraction

    @classmethod
    def of(cls, count: int, epsilon: Fraction, delta: Fraction, neighbors: Neighbors) -> Self:
        """The largest ε_0 for the whole (ε, δ); no δ is charged where basic composition is as good."""
        rounds = bounded_range_rounds(count, epsilon, delta)
        return cls(count, rounds.epsilon, rounds.delta, neighbors, rounds.round_epsilon)

    @classmethod
    def of_rounds(cls, count: int, round_epsilon: Fraction, neighbors: Neighbors) -> Self:
        """At this ε_0, which all add up; no δ is charged."""
        return cls(count, count * round_epsilon, Fraction(0), neighbors, round_epsilon)

    @property
    def mechanism(self) -> Exponential:
        """At ε_0."""
        return Exponential(self.round_epsilon, Fraction(0), self.neighbors)

    @property
    def zcdp(self) -> Zcdp:
        """kε_0²/8."""
        return self.mechanism.zcdp.times(self.count)

    def choose(self, universe: Universe[C], *, bits: BitSource) -> tuple[C, ...]:
        """`count` candidates, or all where there are fewer; a place that a dummy takes is left out."""
        order = noisy_order(universe, self.mechanism.noise(), count=self.count, bits=bits)
        return tuple(candidate for candidate in order if candidate is not None)

    def rounds(self) -> str:
        """As one mechanism for each place."""
        return f"{rounds_of(self.count)} at ε = {decimal(self.round_epsilon)}"


@dataclass(frozen=True, slots=True)
class LimitedDomainTopK(TopK):
    """The k largest of c_i + Gumbel(u/ε_0) over the k̄ best candidates, up to where "nothing" comes.

    "Nothing" has the score c(k̄+1) + u + (u/ε_0) ln(k̄/δ_1), u = 2, or 1 under add_remove, and noise like the others. A
    dummy that comes takes its place, and is left out. δ_1 is charged once for all places.
    Source: Durfee & Rogers 2019, Algorithm 1, with dummies.
    """

    round_epsilon: Fraction
    leaving_delta: Fraction
    kbar: int

    @classmethod
    def of(cls, count: int, epsilon: Fraction, delta: Fraction, neighbors: Neighbors, kbar: int | None = None) -> Self:
        """δ_1 is all of δ where the rounds add up without any, else half of it; one round has exactly (ε, δ).

        k̄ is 100k unless given, for k > 1: docs/explanation/measured/itemset_lists.md compares.
        Raises BadParameter where fewer candidates are kept than wanted.
        """
        if count == 1:
            return cls(1, epsilon, delta, neighbors, epsilon, delta, kbar or DEFAULT_KBAR)
        kept = kbar or _KEPT_A_PLACE * count
        if kept < count:
            raise BadParameter("kbar must be at least the number of candidates wanted: they come out of those kept.")
        rounds = bounded_range_rounds(count, epsilon, delta / 2)
        return cls(count, epsilon, delta, neighbors, rounds.round_epsilon, delta - rounds.delta, kept)

    @property
    def mechanism(self) -> LimitedDomain:
        """At ε_0 and δ_1."""
        return LimitedDomain(self.round_epsilon, self.leaving_delta, self.neighbors, self.kbar)

    @property
    def zcdp(self) -> Zcdp:
        """kε_0²/8, and δ_1 once."""
        return Zcdp(self.count * self.mechanism.zcdp.rho, self.leaving_delta)

    def right_from(self, candidates: int) -> int:  # noqa: ARG002 - only those that are kept are rivals
        """Where the middle of the list exceeds the best one that is not kept by what "nothing" has beside it."""
        mechanism = self.mechanism
        lift = float(mechanism.scale) * (float(mechanism.epsilon) + log(mechanism.kbar / mechanism.delta))
        return ceil(lift / (share_of_best(self.count / 2) - share_of_best(mechanism.kbar + 1)))

    def choose(self, universe: Universe[C], *, bits: BitSource) -> tuple[C, ...]:
        """At most `count` candidates."""
        draws = self.mechanism.draws(universe, self.count, bits=bits)
        return tuple(candidate for candidate in draws if candidate is not None)

    def rounds(self) -> str:
        """As one mechanism for each place, and δ_1 once."""
        return (
            f"{rounds_of(self.count)} at ε = {decimal(self.round_epsilon)} among the "
            f"{self.kbar:,} best, and δ = {decimal(self.leaving_delta)} once for leaving out the others"
        )


def build_top_k(
    name: str,
    *,
    count: int,
    epsilon: Fraction,
    delta: Fraction,
    neighbors: Neighbors,
    candidates: int | None,
    not_private: bool = False,
    options: Mapping[str, int] = MappingProxyType({}),
) -> TopK:
    """The choice of `count` ≥ 1 candidates by the mechanism of that name, within (ε, δ) in all, ε > 0, δ in [0, 1).

    The mechanism's `list_way` says how. With more than one candidate a pure mechanism may use δ too; 0 forbids it.
    `candidates` is the number of public candidates, None where there is no public list.
    Raises BadParameter for unusable parameters, NotPrivate for "exact" without `not_private`.
    """

    def made(mechanism: str) -> TopK:
        kind = kind_of(mechanism, not_private=not_private)
        own_delta = probability("delta", delta) if kind.approximate else Fraction(0)
        return _of(kind(epsilon, own_delta, neighbors, **own_options(kind, options)), count, delta, options.get("kbar"))

    if name != AUTO:
        return made(name)
    if count == 1:
        chosen = recommended(epsilon, delta, neighbors, candidates)
        return replace(made(chosen.mechanism), reason=chosen.reason)
    rivals = [made(each) for each in in_one_shot(delta, candidates, options)]
    best = min(rivals, key=lambda rival: rival.lead(candidates or 1))
    lead = f"about {ceil(best.lead(candidates or 1)):,} over {best.lead_over()}"
    reason = f"auto uses {best.name}, which needs the smallest lead to choose {count} at once: {lead}."
    return replace(best, reason=reason)


def in_one_shot(delta: Fraction, candidates: int | None, options: Iterable[str] = ()) -> list[str]:
    """The mechanisms that choose k candidates at once and can be used here; peeling divides the budget without a gain.

    Only those that have all of these options. Raises BadParameter where none is left.
    """
    found = [
        kind
        for kind in MECHANISMS.values()
        if kind.list_way is not ListWay.PEELING
        if (delta or not kind.approximate) and (candidates is not None or not kind.needs_catalogue)
    ]
    if not found:
        raise BadParameter(NO_DELTA)
    for option in options:
        if not any(option in kind.options() for kind in found):
            raise no_option(AUTO, option)
    return [kind.name for kind in found if kind.options().keys() >= set(options)]


def _of(mechanism: Mechanism, count: int, delta: Fraction, kbar: int | None) -> TopK:
    """As the mechanism's trait says; a single pure choice needs no δ."""
    usable_delta = mechanism.delta if mechanism.approximate or count == 1 else delta
    if mechanism.list_way is ListWay.ONE_SHOT:
        return OneShot.of(count, mechanism.epsilon, usable_delta, mechanism.neighbors)
    if mechanism.list_way is ListWay.ONE_SHOT_OF_KEPT:
        return LimitedDomainTopK.of(count, mechanism.epsilon, usable_delta, mechanism.neighbors, kbar)
    return Peeling.of(count, mechanism, usable_delta)


def rounds_of(count: int, mechanism: str = "the exponential mechanism") -> str:
    """That number of rounds of a mechanism, in words."""
    return f"{count} {'round' if count == 1 else 'rounds'} of {mechanism}"


def support_needed(k: int, scale: float, candidates: int) -> int:
    """The least support of the best candidate at which half of the list is expected to be right.

    `scale` is the noise scale of one place, in units; there are `candidates` ≥ k. Supports fall off by a power law.
    """
    return least(lambda support: share_right(k, scale, candidates, support) >= HALF, start=1)


def share_right(k: int, scale: float, candidates: int, best: float) -> float:
    """The expected share of the k largest noisy supports that is among the k largest supports; `best` is the largest.

    For Gumbel noise, with the k-th largest noisy support replaced by its mean.
    """
    profile = stylised(Shape.POWER_LAW, best / Shape.POWER_LAW.top, candidates)
    low, high = -_FARTHEST * scale, best + _FARTHEST * scale
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _above(profile, scale, middle, candidates) > k else (low, middle)
    return _above(profile, scale, low, k) / k


def _above(profile: Profile, scale: float, bound: float, ranks: int) -> float:
    """How many of the first `ranks` candidates are expected to have a noisy support above the bound."""
    expected = 0.0
    for score, count in zip(profile.scores, profile.counts, strict=True):
        distance = (score - bound) / scale
        certain = distance > _FARTHEST
        expected += min(count, ranks) * (1.0 if certain else -expm1(-exp(distance)))
        ranks -= min(count, ranks)
        if not ranks:
            break
    return expected


def share_of_best(rank: float) -> float:
    """The score of the candidate of that rank, as a share of the best."""
    share: float = max(1.0, rank) ** -DECAY
    return share
