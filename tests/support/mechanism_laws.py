"""The laws of the mechanisms as functions of float parameters, for tests that compare them with other formulas."""

from __future__ import annotations

from fractions import Fraction

from dpmine.privacy import Neighbors
from dpmine.selection.laws.profile import LevelLaw, Profile
from dpmine.selection.laws.stopping import (
    LaplacePair,
    NegativeExponential,
    StoppingSearch,
    draw_law,
    search_and_draw,
    stopping_law,
)
from dpmine.selection.mechanisms.bounded_growth import BoundedGrowth
from dpmine.selection.mechanisms.exact import Exact
from dpmine.selection.mechanisms.large_margin import LargeMargin, LargeMarginTight, StableMaximiser
from dpmine.selection.mechanisms.limited_domain import LimitedDomain, LimitedDomainPermuteAndFlip
from dpmine.selection.mechanisms.report_noisy_max import Exponential, MaxOfExponentials, MaxOfLaplaces

PURE = ("exponential", "max_of_laplaces", "max_of_exponentials")
UNKNOWN_UNIVERSE = (
    "large_margin",
    "large_margin_tight",
    "limited_domain",
    "limited_domain_permute_and_flip",
    "stable_maximiser",
)
APPROXIMATE = (*UNKNOWN_UNIVERSE, "bounded_growth")

__all__ = [
    "APPROXIMATE",
    "PURE",
    "UNKNOWN_UNIVERSE",
    "LaplacePair",
    "LevelLaw",
    "NegativeExponential",
    "Profile",
    "StoppingSearch",
    "bounded_growth",
    "draw_law",
    "exact",
    "exponential",
    "large_margin",
    "large_margin_search",
    "large_margin_tight",
    "large_margin_tight_even",
    "large_margin_tight_search",
    "limited_domain",
    "limited_domain_permute_and_flip",
    "max_of_exponentials",
    "max_of_laplaces",
    "search_and_draw",
    "stable_maximiser",
    "stopping_law",
]

SPLIT = 0.2, 0.4, 0.4
ADD = Neighbors.ADD_REMOVE


def exponential(profile: Profile, *, rate: float) -> LevelLaw:
    return Exponential(Fraction(rate), Fraction(0), ADD).law(profile)


def max_of_laplaces(profile: Profile, *, scale: float) -> LevelLaw:
    return MaxOfLaplaces(1 / Fraction(scale), Fraction(0), ADD).law(profile)


def max_of_exponentials(profile: Profile, *, scale: float) -> LevelLaw:
    return MaxOfExponentials(1 / Fraction(scale), Fraction(0), ADD).law(profile)


def exact(profile: Profile) -> LevelLaw:
    return Exact(Fraction(1), Fraction(0), ADD).law(profile)


def limited_domain(profile: Profile, *, epsilon: float, delta: float, kbar: int, neighbors: Neighbors) -> LevelLaw:
    return LimitedDomain(Fraction(epsilon), Fraction(delta), neighbors, kbar).law(profile)


def limited_domain_permute_and_flip(
    profile: Profile, *, epsilon: float, delta: float, kbar: int, neighbors: Neighbors
) -> LevelLaw:
    return LimitedDomainPermuteAndFlip(Fraction(epsilon), Fraction(delta), neighbors, kbar).law(profile)


def bounded_growth(profile: Profile, *, epsilon: float, delta: float, growth: int, neighbors: Neighbors) -> LevelLaw:
    return BoundedGrowth(Fraction(epsilon), Fraction(delta), neighbors, growth).law(profile)


def stable_maximiser(profile: Profile, *, epsilon: float, delta: float, neighbors: Neighbors) -> LevelLaw:
    return StableMaximiser(Fraction(epsilon), Fraction(delta), neighbors).law(profile)


def large_margin(profile: Profile, *, epsilon: float, delta: float) -> LevelLaw:
    return LargeMargin(Fraction(epsilon), Fraction(delta), ADD).law(profile)


def large_margin_search(*, epsilon: float, delta: float) -> StoppingSearch:
    return LargeMargin(Fraction(epsilon), Fraction(delta), ADD).search()


def large_margin_tight(
    profile: Profile,
    *,
    epsilon: float,
    delta: float,
    neighbors: Neighbors,
    split: tuple[float, float, float] = SPLIT,
    delta_share: float = 0.5,
) -> LevelLaw:
    return _tight(split, delta_share)(Fraction(epsilon), Fraction(delta), neighbors).law(profile)


def large_margin_tight_even(profile: Profile, *, epsilon: float, delta: float, neighbors: Neighbors) -> LevelLaw:
    """As `large_margin_tight`, with the same share of ε for the test at every rank."""

    class Even(LargeMarginTight):
        def trial_share(self, rank: int) -> Fraction:
            return self.shares[1]

    return Even(Fraction(epsilon), Fraction(delta), neighbors).law(profile)


def large_margin_tight_search(
    *, epsilon: float, delta: float, neighbors: Neighbors, split: tuple[float, float, float] = SPLIT
) -> StoppingSearch:
    return _tight(split, 0.5)(Fraction(epsilon), Fraction(delta), neighbors).search()


def _tight(shares: tuple[float, float, float], share_of_delta: float) -> type[LargeMarginTight]:
    """The mechanism with another split of its budget."""

    class Split(LargeMarginTight):
        split = (Fraction(shares[0]), Fraction(shares[1]), Fraction(shares[2]))
        delta_share = Fraction(share_of_delta)

    return Split
