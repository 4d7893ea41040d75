"""What every mechanism offers to the engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias

from dpmine.privacy import Guarantee, Neighbors, Zcdp

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.exact.bits import BitSource
    from dpmine.selection.distributions.profile import LevelDistribution, Profile
    from dpmine.selection.distributions.stopping import StoppingSearch
    from dpmine.selection.universes.protocol import C, Universe


@dataclass(frozen=True, slots=True)
class SearchStage:
    """The search for a cut: a stop at rank 1 uses at most `first_epsilon`, any other outcome `epsilon` (δ = 0)."""

    search: StoppingSearch
    first_epsilon: float
    epsilon: float


@dataclass(frozen=True, slots=True)
class EarlyStopStage:
    """Stopping too early: the search stops at some ℓ with q_ℓ ≤ margin(ℓ) with probability at most `delta`.

    q_ℓ = c(1) − c(ℓ+1) is the lead of the best candidate over those outside the top ℓ. Claimed of every profile.
    """

    search: StoppingSearch
    delta: float
    margin: Callable[[int], float]


@dataclass(frozen=True, slots=True)
class DrawStage:
    """The draw P(i) ∝ exp(`rate` · score) among the top ℓ: (`epsilon`, `delta`)-private for every fixed ℓ.

    Claimed in the direction of the profile with q_ℓ > margin(ℓ), whatever its neighbour's q_ℓ, and where ℓ is the
    number of all candidates. At ℓ = 1 one candidate is left, so that there it is (0, 0)-private.
    """

    rate: float
    epsilon: float
    delta: float
    margin: Callable[[int], float]


class ListWay(StrEnum):
    """How k candidates are chosen with a mechanism."""

    PEELING = "peeling"
    """In k rounds, each on what the rounds before left: possible with every mechanism."""
    ONE_SHOT = "one_shot"
    """At once, among all candidates."""
    ONE_SHOT_OF_KEPT = "one_shot_of_kept"
    """At once, among those that the mechanism keeps, and "nothing"."""


Stage: TypeAlias = SearchStage | EarlyStopStage | DrawStage


@dataclass(frozen=True)
class Mechanism(ABC):
    """A private choice of one candidate, for scores of sensitivity 1.

    Under `add_remove`, scores must move together: a unit more moves every score by 0 to +1 (counts do).
    """

    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors

    name: ClassVar[str]
    approximate: ClassVar[bool] = True
    """Whether it needs (and charges) a δ; a pure mechanism holds δ = 0."""
    needs_catalogue: ClassVar[bool] = False
    """Whether every candidate must be public, so that it is of no use where the universe is unknown."""
    private: ClassVar[bool] = True
    needs_counts: ClassVar[bool] = False
    """Whether scores must be at least 0 whatever the data, as counts are."""
    bounded_range: ClassVar[bool] = False
    """Whether the privacy loss, apart from δ, lies in an interval of length ε: then ρ = ε²/8 and not ε²/2."""
    only_by_name: ClassVar[bool] = False
    """Whether "auto" leaves it out, though it could be used: it may charge more than what it would replace."""
    list_way: ClassVar[ListWay] = ListWay.PEELING
    needs_bounded_units: ClassVar[bool] = False
    """Whether a unit must support few candidates whatever the data, so that units are truncated beforehand."""

    @cached_property
    def lead_sensitivity(self) -> Fraction:
        """u, that of one score's lead over another: 2, or 1 under `add_remove`."""
        return lead_sensitivity(self.neighbors)

    @cached_property
    def scale(self) -> Fraction:
        """u/ε, in units of the sensitivity: noise of this scale on one score, or on all, is ε-private."""
        return self.lead_sensitivity / self.epsilon

    @classmethod
    def options(cls) -> dict[str, str]:
        """Its own options by the name that users give them, and the field that each sets."""
        return {each.metadata["option"]: each.name for each in fields(cls) if "option" in each.metadata}

    @property
    def candidates_per_unit(self) -> int | None:
        """How many candidates one unit supports at most; None where this does not matter."""
        return None

    @classmethod
    def audit_variants(cls, epsilon: Fraction, delta: Fraction, neighbors: Neighbors) -> list[Self]:
        """The mechanism with every set of options that it is audited with."""
        return [cls(epsilon, delta, neighbors)]

    @property
    def zcdp(self) -> Zcdp:
        """What one run is charged under zCDP."""
        if self.bounded_range:
            return Zcdp.of_range(self.epsilon, self.delta)
        return Zcdp.implied(self.epsilon, self.delta)

    def guarantee(self) -> Guarantee:
        """That of one run."""
        concentrated = self.zcdp if self.bounded_range else None
        guarantee = Guarantee(self.epsilon, self.delta, self.neighbors, concentrated=concentrated)
        return guarantee if self.private else guarantee.without_privacy("the exact maximum was asked for")

    @abstractmethod
    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """One candidate, or None for nothing."""

    @abstractmethod
    def distribution(self, profile: Profile) -> LevelDistribution:
        """The exact probabilities of `choose`, by level, in float64."""

    def stages(self) -> tuple[Stage, ...]:
        """The stages whose guarantees add up to the mechanism's; none where it is of one piece."""
        return ()

    @abstractmethod
    def lead(self, candidates: int) -> float:
        """How far the best candidate must lead the others, in sensitivities, to be chosen with probability about 0.95.

        `candidates` is how many others there are, where the mechanism cares. For advice only.
        """

    def proved_lead(self, candidates: int, failure: float) -> float:
        """A lead that is proved to suffice for success with probability 1 − `failure`, whatever the rest looks like.

        `candidates` ≥ 1 is the number of public ones, where the mechanism cares. Only the planner asks, and only
        mechanisms that it can use; below 0 any lead suffices.
        """
        raise NotImplementedError

    def lead_over(self) -> str:
        """Whom the best candidate has to lead: what `lead` is measured against."""
        return "all others"


def lead_sensitivity(neighbors: Neighbors) -> Fraction:
    """How far one privacy unit can move two scores apart: 2, or 1 where all scores move together (`add_remove`)."""
    return Fraction(1 if neighbors is Neighbors.ADD_REMOVE else 2)
