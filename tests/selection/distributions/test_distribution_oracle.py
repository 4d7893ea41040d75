"""The laws agree with adaptive quadrature over single candidates and explicit tie-breaks."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats
from support.cases import every
from support.mechanisms import made, tight_by
from support.oracles import laws as law_oracle
from support.oracles.laws import DUMMY, Candidate, Margin

from dpmine.privacy import Neighbors
from dpmine.selection.distributions.profile import LevelDistribution, Profile
from dpmine.selection.distributions.stopping import LaplacePair
from dpmine.selection.mechanisms.large_margin import LargeMargin
from dpmine.selection.mechanisms.limited_domain import LimitedDomainPermuteAndFlip
from dpmine.selection.mechanisms.report_noisy_max import MaxOfExponentials, MaxOfLaplaces
from dpmine.selection.recommend import MECHANISMS

KNOWN: list[list[Candidate]] = [
    [9.0, 3.0, 2.0],
    [40.0, 40.0, 12.0, 12.0, 12.0, 0.0],
    [7.0, 7.0],
    [5.0, 4.5, -3.0, -3.0],
]
PADDED: list[list[Candidate]] = [
    [60.0, 58.0, DUMMY, DUMMY, DUMMY, DUMMY],
    [60.0, 20.0, 20.0, 0.0, DUMMY, DUMMY, DUMMY],
    [3.0, 2.0, 2.0, 1.0, DUMMY, DUMMY],
    [DUMMY, DUMMY, DUMMY],
]
SETTINGS = [(1.0, 0.3), (8.0, 1e-3)]


def profile_of(candidates: list[Candidate]) -> Profile:
    """The same universe as levels."""
    scores = [candidate for candidate in candidates if candidate is not DUMMY]
    return Profile.of(scores, candidates.count(DUMMY))


def agree(candidates: list[Candidate], law: LevelDistribution, margin: Margin) -> None:
    """Compare with the oracle's law of a margin mechanism."""
    compare(candidates, law, law_oracle.margin_law(candidates, margin))


def compare(candidates: list[Candidate], law: LevelDistribution, expected: tuple[list[float], float]) -> None:
    """Compare level masses, and nothing, with the oracle's."""
    masses, nothing = expected
    scores = [candidate for candidate in candidates if candidate is not DUMMY]
    levels = [
        sum(mass for mass, score in zip(masses, scores, strict=True) if score == level)
        for level in sorted(set(scores), reverse=True)
    ]
    assert law.masses.tolist() == pytest.approx(levels, rel=0, abs=1e-9)
    assert law.nothing == pytest.approx(nothing, rel=0, abs=1e-9)


@every("name", MECHANISMS, quick=16)
@every("neighbors", Neighbors)
@every("candidates", [[9.0, 3.0, 2.0], [4.0, 4.0, 1.0, 0.0], [40.0, 20.0, 20.0, 1.0, DUMMY, DUMMY, DUMMY]])
def test_every_mechanism_has_the_distribution_of_its_oracle(
    name: str, neighbors: Neighbors, candidates: list[Candidate]
) -> None:
    """A mechanism that is registered without an oracle fails here."""
    delta = Fraction(1, 10) if MECHANISMS[name].approximate else Fraction(0)
    mechanism = MECHANISMS[name].audit_variants(Fraction(2), delta, neighbors)[0]
    compare(
        candidates,
        mechanism.distribution(profile_of(candidates)),
        law_oracle.OF_MECHANISMS[name](candidates, mechanism),
    )


@every("candidates", KNOWN + PADDED, quick=2)
@every(("epsilon", "delta"), SETTINGS)
def test_large_margin(candidates: list[Candidate], epsilon: float, delta: float) -> None:
    law = made(LargeMargin, epsilon, delta).distribution(profile_of(candidates))
    agree(candidates, law, law_oracle.large_margin(epsilon, delta))


@every("candidates", KNOWN + PADDED, quick=2)
@every("neighbors", Neighbors)
@pytest.mark.parametrize("split", [(0.2, 0.4, 0.4), pytest.param((0.6, 0.1, 0.3), marks=pytest.mark.slow)])
def test_large_margin_tight(
    candidates: list[Candidate], neighbors: Neighbors, split: tuple[float, float, float]
) -> None:
    law = made(tight_by(split, 0.25), 2, 0.1, neighbors).distribution(profile_of(candidates))
    u = 1 if neighbors is Neighbors.ADD_REMOVE else 2
    agree(candidates, law, law_oracle.large_margin_tight(2, 0.1, u, split, 0.25))


STAIRS: list[list[Candidate]] = [
    [90.0, 80.0, 80.0, 80.0, 30.0, 30.0, 2.0],
    [60.0, 59.0, 20.0, 20.0, 20.0, 20.0, 1.0],
    [200.0, 150.0, 149.0, 60.0, 60.0, 60.0, 1.0],
    [40.0, 39.0, 3.0, DUMMY, DUMMY, DUMMY],
    [75.0, 20.0, 19.0, 19.0, DUMMY, DUMMY],
]


@every("candidates", STAIRS, quick=6)
@every("neighbors", Neighbors)
@every("delta", [1e-6, 0.1])
def test_large_margin_tight_as_it_is_used(candidates: list[Candidate], neighbors: Neighbors, delta: float) -> None:
    """With the split of the mechanism itself: ε for the test at rank 1, 0.4 ε beyond."""
    law = MECHANISMS["large_margin_tight"](Fraction(1), Fraction(repr(delta)), neighbors).distribution(
        profile_of(candidates)
    )
    u = 1 if neighbors is Neighbors.ADD_REMOVE else 2
    agree(candidates, law, law_oracle.large_margin_tight(1, delta, u))


@every("candidates", [*KNOWN[:3], *PADDED, *STAIRS, [30.0, 29.0, 4.0, 4.0, 4.0, 4.0, 0.0]], quick=40)
@every("neighbors", Neighbors)
@every("kbar", [1, 3, 4])
@every(("epsilon", "delta"), [(0.5, 1e-6), (1.0, 0.05), (3.0, 0.7)])
def test_limited_domain_permute_and_flip(
    candidates: list[Candidate], neighbors: Neighbors, kbar: int, epsilon: float, delta: float
) -> None:
    """δ = 0.7 with k̄ = 1: there "nothing" stands below the score of a candidate that may leave."""
    law = made(LimitedDomainPermuteAndFlip, epsilon, delta, neighbors, kbar=kbar).distribution(profile_of(candidates))
    u = 1 if neighbors is Neighbors.ADD_REMOVE else 2
    compare(candidates, law, law_oracle.limited_domain_permute_and_flip(candidates, epsilon, delta, u, kbar))


@pytest.mark.parametrize("scores", [[3.0, 2.0, 2.0, 0.0], [10.0, 9.0, 7.0, -4.0], [1.0], [50.0, 0.0, 0.0]])
@pytest.mark.parametrize("scale", [2.0, *(pytest.param(other, marks=pytest.mark.slow) for other in (0.3, 40.0))])
def test_noisy_maxima(scores: list[float], scale: float) -> None:
    profile = Profile.of(scores)
    for law, noise in (
        (made(MaxOfLaplaces, 1 / scale).distribution(profile), stats.laplace(scale=scale)),
        (made(MaxOfExponentials, 1 / scale).distribution(profile), stats.expon(scale=scale)),
    ):
        expected = law_oracle.winner_law(scores, noise)
        if noise.dist.name == "expon":
            assert expected == pytest.approx(law_oracle.permute_and_flip_law(scores, scale), abs=1e-10)
        levels = [sum(np.array(expected)[np.array(scores) == score]) for score in profile.scores]
        assert law.masses.tolist() == pytest.approx(levels, rel=0, abs=1e-10)


def test_a_distant_level_keeps_its_relative_accuracy() -> None:
    scores = [100.0] * 3 + [90.0] * 5 + [0.0]
    noise = stats.laplace(scale=2)
    expected = sum(
        integrate.quad(
            lambda x: noise.pdf(x) * noise.cdf(x - 100) ** 3 * noise.cdf(x - 90) ** 5, *ends, epsabs=0, epsrel=1e-9
        )[0]
        for ends in ((0, 90), (90, 100), (100, 130), (130, 200))
    )
    assert made(MaxOfLaplaces, 0.5).distribution(Profile.of(scores)).masses[-1] == pytest.approx(expected, rel=1e-8)


def test_the_conditioning_density_is_that_of_two_laplace_draws() -> None:
    inner, outer = stats.laplace(scale=3), stats.laplace(scale=6)
    for x in (-30.0, -1.0, 0.0, 0.5, 12.0):
        cuts = sorted({-300.0, min(0.0, -x), max(0.0, -x), 300.0})
        expected = sum(
            integrate.quad(lambda g, x=x: inner.pdf(x + g) * outer.pdf(g), *ends)[0] for ends in pairwise(cuts)
        )
        assert LaplacePair(3.0).density(np.array([x]))[0] == pytest.approx(expected, rel=1e-8)
