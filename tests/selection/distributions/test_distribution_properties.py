"""What holds for every law: total mass, limits, ties, padding, privacy, extreme parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples
from support.mechanisms import made

from dpmine.errors import BadParameter
from dpmine.privacy import Neighbors
from dpmine.selection.distributions.profile import LevelDistribution, Profile
from dpmine.selection.mechanisms.bounded_growth import BoundedGrowth
from dpmine.selection.mechanisms.large_margin import LargeMargin, LargeMarginTight, StableMaximiser
from dpmine.selection.mechanisms.limited_domain import LimitedDomain, LimitedDomainPermuteAndFlip
from dpmine.selection.mechanisms.report_noisy_max import Exact, Exponential, MaxOfExponentials, MaxOfLaplaces

if TYPE_CHECKING:
    from collections.abc import Callable

Mechanism: TypeAlias = "Callable[[Profile, float, float], LevelDistribution]"
UNKNOWN = 2**128
ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE

PURE: dict[str, Mechanism] = {
    "exponential": lambda p, e, _: made(Exponential, e / 2).distribution(p),
    "max_of_laplaces": lambda p, e, _: made(MaxOfLaplaces, e / 2).distribution(p),
    "max_of_exponentials": lambda p, e, _: made(MaxOfExponentials, e / 2).distribution(p),
}
APPROXIMATE: dict[str, Mechanism] = {
    "large_margin": lambda p, e, d: made(LargeMargin, e, d).distribution(p),
    "tight, add": lambda p, e, d: made(LargeMarginTight, e, d, ADD).distribution(p),
    "tight, replace": lambda p, e, d: made(LargeMarginTight, e, d, REPLACE).distribution(p),
    "stable, add": lambda p, e, d: made(StableMaximiser, e, d, ADD).distribution(p),
    "stable, replace": lambda p, e, d: made(StableMaximiser, e, d, REPLACE).distribution(p),
}
FOR_COUNTS: dict[str, Mechanism] = {
    "limited, add": lambda p, e, d: made(LimitedDomain, e, d, ADD, kbar=3).distribution(p),
    "limited, replace": lambda p, e, d: made(LimitedDomain, e, d, REPLACE).distribution(p),
    "flip, add": lambda p, e, d: made(LimitedDomainPermuteAndFlip, e, d, ADD, kbar=3).distribution(p),
    "flip, replace": lambda p, e, d: made(LimitedDomainPermuteAndFlip, e, d, REPLACE).distribution(p),
    "growth, add": lambda p, e, d: made(BoundedGrowth, e, d, ADD, growth=6).distribution(p),
    "growth, replace": lambda p, e, d: made(BoundedGrowth, e, d, REPLACE, growth=6).distribution(p),
}
ALL = PURE | APPROXIMATE | FOR_COUNTS

PROFILES = [
    Profile.of(range(1000, 800, -10)),
    Profile((5.0, 1.0), (1, 10**30)),
    Profile((1e9, 1e9 - 1, 3.0, 0.0), (1, 10**30, 5, 10**18), UNKNOWN),
    Profile((700.0, 690.0, 40.0), (1, 3, 5000), UNKNOWN),
    Profile((), (), UNKNOWN),
    Profile((0.0,), (10**300,)),
    Profile((4.0,), (1,)),
    Profile((4.0,), (1,), 1),
]

profiles = st.builds(
    Profile.of, st.lists(st.integers(0, 40), min_size=1, max_size=9), st.sampled_from([0, 2, 50, UNKNOWN])
)
epsilons = st.floats(0.05, 20)
deltas = st.sampled_from([1e-9, 1e-3, 0.3])


def total(law: LevelDistribution) -> float:
    return float(law.masses.sum()) + law.nothing


@every("name", ALL)
@every("epsilon", [1e-6, 1.0, 1e3])
@every("delta", [1e-30, 0.999])
def test_extreme_parameters(name: str, epsilon: float, delta: float) -> None:
    for profile in PROFILES:
        law = ALL[name](profile, epsilon, delta)
        assert law.masses.shape == (len(profile.scores),)
        assert (law.masses >= 0).all()
        assert law.nothing >= 0
        assert total(law) == pytest.approx(1, rel=0, abs=1e-9)


@settings(max_examples=examples(25))
@given(profile=profiles, epsilon=epsilons, delta=deltas)
def test_total_mass_and_order(profile: Profile, epsilon: float, delta: float) -> None:
    """A better candidate is never less likely."""
    for name, mechanism in ALL.items():
        law = mechanism(profile, epsilon, delta)
        assert total(law) == pytest.approx(1, rel=0, abs=1e-9), name
        each = law.masses / np.array(profile.counts)
        assert (np.diff(each) <= 1e-12).all(), name


@settings(max_examples=examples(15))
@given(scores=st.lists(st.integers(0, 25), min_size=1, max_size=7), epsilon=epsilons, delta=deltas)
def test_nearly_equal_scores_are_a_level(scores: list[int], epsilon: float, delta: float) -> None:
    """Listing candidates a hair apart gives each level the mass it has when they are merged."""
    profile = Profile.of(scores, UNKNOWN)
    apart = Profile.of([score + 1e-10 * i for i, score in enumerate(sorted(scores))], UNKNOWN)
    for name, mechanism in (PURE | APPROXIMATE).items():
        if profile.scores[-1] == 0 or name.startswith("stable"):
            continue  # a hair above 0 is before the dummies; a tie has no maximiser
        merged = mechanism(profile, epsilon, delta).masses
        split = mechanism(apart, epsilon, delta).masses
        sums = np.add.reduceat(split, np.cumsum((0, *profile.counts[:-1])))
        assert sums.tolist() == pytest.approx(merged.tolist(), rel=0, abs=1e-7), name


@settings(max_examples=examples(15))
@given(
    scores=st.lists(st.integers(0, 30), min_size=2, max_size=7),
    moves=st.lists(st.integers(-1, 1), min_size=7, max_size=7),
    dummies=st.sampled_from([0, 40, UNKNOWN]),
    epsilon=st.sampled_from([0.3, 1.0, 6.0]),
)
def test_neighbours_are_close(scores: list[int], moves: list[int], dummies: int, epsilon: float) -> None:
    """δ(ε) = Σ max(0, P − e^ε P') stays below δ, for both relations, in both directions."""
    delta = 0.05
    for name, mechanism in ALL.items():
        steps = [abs(move) for move in moves] if name.endswith("add") else moves
        needs_padding = name.startswith("stable") and not dummies
        dummies_used = 2 if needs_padding else dummies
        moved = [max(0, score + step) for score, step in zip(scores, steps, strict=False)]
        one, other = (by_candidate(mechanism, each, dummies_used, epsilon, delta) for each in (scores, moved))
        allowed = delta if name not in PURE else 0
        for left, right in ((one, other), (other, one)):
            assert np.maximum(0, left - np.exp(epsilon) * right).sum() <= allowed + 1e-9, name


def by_candidate(
    mechanism: Mechanism, scores: list[int], dummies: int, epsilon: float, delta: float
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The mass of each candidate and of nothing."""
    profile = Profile.of(scores, dummies)
    law = mechanism(profile, epsilon, delta)
    each = dict(zip(profile.scores, law.masses / np.array(profile.counts), strict=True))
    return np.array([*(each[float(score)] for score in scores), law.nothing])


@pytest.mark.parametrize("name", PURE)
def test_limits_of_the_pure_mechanisms(name: str) -> None:
    profile = Profile((7.0, 6.0, 1.0), (1, 4, 15))
    assert PURE[name](profile, 1e-9, 0.1).masses.tolist() == pytest.approx([1 / 20, 4 / 20, 15 / 20], abs=1e-6)
    assert PURE[name](profile, 1e3, 0.1).masses.tolist() == pytest.approx([1, 0, 0], abs=1e-12)


@every("name", [*APPROXIMATE, *FOR_COUNTS])
@every("dummies", [0, UNKNOWN])
def test_a_clear_winner_wins(name: str, dummies: int) -> None:
    law = ALL[name](Profile((900.0, 300.0, 299.0), (1, 1, 20), dummies), 20.0, 1e-6)
    assert law.masses.tolist() == pytest.approx([1, 0, 0], abs=1e-9)


def test_nothing_stands_out_among_zeros() -> None:
    for mechanism in ALL.values():
        law = mechanism(Profile((0.0,), (3,), UNKNOWN), 1.0, 1e-6)
        assert law.nothing == pytest.approx(1, abs=1e-12)
    assert made(Exact, 1).distribution(Profile((0.0,), (3,), 2)).nothing == 1


def test_the_amount_of_padding_hardly_matters_to_a_margin() -> None:
    for name in ("large_margin", "tight, add"):
        one, other = (APPROXIMATE[name](Profile.of([300, 299, 5], dummies), 1.0, 0.01) for dummies in (2**100, 2**128))
        assert one.masses.tolist() == pytest.approx(other.masses.tolist(), rel=1e-9)


def test_limited_domain_and_bounded_growth_bring_their_own_padding() -> None:
    for name, mechanism in FOR_COUNTS.items():
        one, other = (mechanism(Profile.of([30, 29, 0], dummies), 1.0, 1e-3) for dummies in (0, 7))
        assert one.masses.tolist() == other.masses.tolist(), name
        assert one.masses[-1] == 0, name


def test_padding_of_the_pure_mechanisms_is_more_candidates() -> None:
    for mechanism in PURE.values():
        padded = mechanism(Profile((4.0, 1.0), (1, 2), 5), 0.7, 0.1)
        listed = mechanism(Profile((4.0, 1.0, 0.0), (1, 2, 5)), 0.7, 0.1)
        assert [*padded.masses, padded.nothing] == pytest.approx(listed.masses.tolist(), rel=1e-12)


def test_exact_takes_the_best_level() -> None:
    assert made(Exact, 1).distribution(Profile.of([3, 3, 1])).masses.tolist() == [1, 0]


@every(
    ("scores", "counts", "dummies"),
    [
        ((1.0, 1.0), (1, 1), 0),
        ((1.0,), (0,), 0),
        ((1.0,), (1, 2), 0),
        ((-1.0,), (1,), 2),
        ((np.inf,), (1,), 0),
        ((), (), -1),
    ],
)
def test_improper_profiles_are_refused(scores: tuple[float, ...], counts: tuple[int, ...], dummies: int) -> None:
    with pytest.raises(BadParameter):
        Profile(scores, counts, dummies)


def test_there_must_be_something_to_choose_from() -> None:
    with pytest.raises(BadParameter, match="no candidate"):
        made(LargeMargin, 1, 0.1).distribution(Profile((), ()))
