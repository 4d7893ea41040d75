"""Smoothness and sizes, against scipy's special functions, quadrature, simulation and brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import acos, asin, ceil, exp, log, log2, pi, sin, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import integrate, special
from support.cases import every

from dpmine import BadParameter
from dpmine.models.pac.theory.sample_complexity import Target
from experiments.learning_bounds import (
    THRESHOLD_DIMENSION,
    band_smoothness,
    band_smoothness_as_published,
    caps_smoothness,
    caps_smoothness_as_published,
    needle_smoothness,
    records_for_dimension,
    separator_dimension,
    separator_packing,
    threshold_grid_dimension,
)

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = [(n, g) for n in (2, 3, 4, 10, 50) for g in (0.05, 0.3, 0.6, 0.95)]


@every(("n", "gamma"), SHAPES)
def test_the_examples_by_scipy(n: int, gamma: float) -> None:
    band = special.betainc(0.5, (n - 1) / 2, gamma**2)
    caps = special.betainc((n - 1) / 2, 0.5, 1 - gamma**2)
    assert float(band_smoothness(n, gamma)) == pytest.approx(1 / band, rel=1e-10)
    assert float(caps_smoothness(n, gamma)) == pytest.approx(1 / caps, rel=1e-9)


@every(("n", "gamma"), SHAPES)
def test_band_and_caps_share_the_sphere(n: int, gamma: float) -> None:
    """1/κ of the two examples add up to 1, and both κ are rounded up, so to no more than 1."""
    total = 1 / band_smoothness(n, gamma) + 1 / caps_smoothness(n, gamma)
    assert 1 - Fraction(1, 2**200) <= total <= 1


@every(("n", "gamma"), SHAPES)
def test_the_band_by_quadrature(n: int, gamma: float) -> None:
    """The share with |u·x| ≤ γ is that of the angles within asin γ of the equator, with density ∝ cos^{n−2}."""
    part, _ = integrate.quad(lambda t: np.cos(t) ** (n - 2), 0, asin(gamma))
    whole, _ = integrate.quad(lambda t: np.cos(t) ** (n - 2), 0, pi / 2)
    assert float(band_smoothness(n, gamma)) == pytest.approx(whole / part, rel=1e-7)


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "gamma"), [(2, 0.4), (3, 0.3), (8, 0.3), (20, 0.2)])
def test_the_examples_by_simulation(n: int, gamma: float) -> None:
    """200,000 points of the sphere: within five standard deviations, one false alarm in two million; seed fixed."""
    points = np.random.default_rng(3).normal(size=(200_000, n))
    heights = np.abs(points[:, 0]) / np.linalg.norm(points, axis=1)
    share = float((heights <= gamma).mean())
    noise = 5 * sqrt(share * (1 - share) / len(points))
    assert abs(share - 1 / float(band_smoothness(n, gamma))) <= noise
    assert abs(1 - share - 1 / float(caps_smoothness(n, gamma))) <= noise


def test_two_and_three_dimensions_by_hand() -> None:
    assert float(band_smoothness(2, 0.5)) == pytest.approx(pi / 2 / asin(0.5))
    assert float(band_smoothness(3, 0.25)) == pytest.approx(4)  # Archimedes: heights on the sphere are uniform
    assert float(caps_smoothness(3, 0.25)) == pytest.approx(4 / 3)


@every(("n", "gamma"), SHAPES)
def test_the_published_bounds_are_bounds(n: int, gamma: float) -> None:
    assert caps_smoothness(n, gamma) <= caps_smoothness_as_published(n, gamma)
    written = (2 / (1 - gamma)) ** ((n - 1) / 2)
    assert float(caps_smoothness_as_published(n, gamma)) == pytest.approx(written)
    if gamma**2 > 2 * log(2) / n:
        assert band_smoothness(n, gamma) <= band_smoothness_as_published(n, gamma)
        written = 1 / (1 - 2 * exp(-n * gamma**2 / 2))
        assert float(band_smoothness_as_published(n, gamma)) == pytest.approx(written)
    else:
        with pytest.raises(BadParameter, match="half_width must be greater"):
            band_smoothness_as_published(n, gamma)


def test_how_far_the_published_bound_on_caps_is_off() -> None:
    assert float(caps_smoothness(50, 0.3)) == pytest.approx(30.8, abs=0.05)
    assert float(caps_smoothness_as_published(50, 0.3)) == pytest.approx(1.5e11, rel=0.02)


@pytest.mark.parametrize("n", [2, 7, 300])
def test_smoothness_moves_with_the_width(n: int) -> None:
    widths = [Fraction(k, 20) for k in range(1, 20)]
    bands, caps = [band_smoothness(n, w) for w in widths], [caps_smoothness(n, w) for w in widths]
    assert all(wider < narrower for narrower, wider in pairwise(bands))
    assert all(wider > narrower for narrower, wider in pairwise(caps))
    assert min(*bands, *caps) >= 1


@every(("n", "gamma"), [(10**6, "0.9"), (10**6, "1e-9"), (10**5, "1e-90"), (3, "1e-90")])
def test_extreme_shapes_have_finite_smoothness(n: int, gamma: str) -> None:
    target = Target.of(epsilon=1, accuracy=0.1, failure=0.1)
    for kappa in (band_smoothness(n, gamma), caps_smoothness(n, gamma)):
        assert kappa >= 1
        assert records_for_dimension(target, 1, kappa) > 0


@pytest.mark.parametrize(("records", "epsilon"), [(1, 0.1), (40, 0.25), (1000, 0.1)])
def test_needle_smoothness_is_the_density_in_the_window(records: int, epsilon: float) -> None:
    width = 1 / (6 + 4 * exp(records * epsilon))
    density = 0.5 + 0.5 / (2 * width / 3)
    assert float(needle_smoothness(records, epsilon)) == pytest.approx(density, rel=1e-12)


def test_needle_smoothness_has_an_end() -> None:
    assert needle_smoothness(10**6, 1) > 10**400_000
    with pytest.raises(BadParameter, match="at most 1000000"):
        needle_smoothness(10**12, 1)


# --- sizes


def _balls_needed(points: int, radius: Fraction) -> int:
    """The most balls of half the radius that a ball of the grid 0, 1, … takes: greedy from the left is optimal."""
    worst = 0
    for centre in range(points):
        ball = [p for p in range(points) if abs(p - centre) <= radius]
        count = 0
        while ball:
            best = max(range(points), key=lambda c, first=ball[0]: c if abs(c - first) <= radius / 2 else -1)  # type: ignore[misc]
            ball = [p for p in ball if abs(p - best) > radius / 2]
            count += 1
        worst = max(worst, count)
    return worst


@every("points", [1, 2, 3, 4, 9, 16])
def test_the_dimension_of_a_grid_by_brute_force(points: int) -> None:
    radii = [Fraction(k, 4) for k in range(1, 4 * points + 8)]
    needed = max(_balls_needed(points, radius) for radius in radii)
    assert float(threshold_grid_dimension(points)) == pytest.approx(log2(needed))
    assert 2 ** float(threshold_grid_dimension(points)) >= needed - 1e-12


@pytest.mark.parametrize("radius", [0.01, 0.3, 1.0])
def test_thresholds_on_an_interval_have_dimension_one(radius: float) -> None:
    """Two balls of half the radius cover any ball; one does not."""
    for centre in np.linspace(0, 1, 21):
        low, high = max(0.0, centre - radius), min(1.0, centre + radius)
        halves = [(low + centre) / 2, (high + centre) / 2]
        assert all(0 <= half <= 1 for half in halves)
        assert all(min(abs(t - half) for half in halves) <= radius / 2 + 1e-12 for t in np.linspace(low, high, 101))
    assert THRESHOLD_DIMENSION == 1


@pytest.mark.parametrize("kappa", [1, 3, 20])
def test_packings_of_thresholds_are_as_small_as_their_dimension_says(kappa: int) -> None:
    """The largest packing, found from left to right, has at most (16κ/a)^1 members: the size in theorem 8."""
    target, last = Target.of(epsilon=1, accuracy="0.3", failure=0.1), -1.0
    radius, count = float(target.radius(kappa)), 0
    for place in np.linspace(0, 1, 20_001):
        if place - last > radius:
            last, count = float(place), count + 1
    assert count <= 16 * kappa / 0.3
    assert count >= 4 * kappa / 0.3 * 0.9


def _cap(n: int, angle: float) -> float:
    part, _ = integrate.quad(lambda t: sin(t) ** (n - 2), 0, min(angle, pi))
    whole, _ = integrate.quad(lambda t: sin(t) ** (n - 2), 0, pi)
    return float(part / whole)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_the_dimension_of_separators_lies_between_volumes(n: int) -> None:
    lower, upper = separator_dimension(n)
    assert lower == n - 1
    assert float(upper) == pytest.approx((n - 1) * log2(5))
    for angle in (0.01, 0.5, 2, pi):
        assert _cap(n, 1.25 * angle) / _cap(n, angle / 4) <= 2 ** float(upper) * (1 + 1e-9)
    assert ceil(_cap(n, 0.001) / _cap(n, 0.0005)) >= 2 ** int(lower)


@every("n", [2, 3, 4, 9])
@every("radius", [0.02, 0.25, 0.5, 0.9])
def test_the_size_of_a_packing_is_one_over_a_cap(n: int, radius: float) -> None:
    assert separator_packing(n, radius) == pytest.approx(1 / _cap(n, pi * radius / 2), rel=1e-6, abs=1)


@every(("n", "radius"), [(2, 0.21), (2, 0.05), (3, 0.2), (4, 0.35)])
def test_no_greedy_packing_is_larger(n: int, radius: float) -> None:
    """Random points of the sphere, kept when they disagree with all kept ones by more than the radius."""
    kept: list[Any] = []
    for point in np.random.default_rng(5).normal(size=(3000, n)):
        unit = point / np.linalg.norm(point)
        if all(acos(max(-1.0, min(1.0, float(unit @ other)))) / pi > radius for other in kept):
            kept.append(unit)
    bound = separator_packing(n, radius)
    assert len(kept) <= bound
    assert len(kept) >= bound / 3**n  # and the bound is of the right size


def test_the_circle_by_hand() -> None:
    """2/r arcs of length πr: 20 points can be 2π/20 apart, but not further."""
    assert separator_packing(2, "0.1") in {19, 20}
    assert separator_packing(2, "0.09") == 22


@every(
    ("call", "name"),
    [
        (lambda: band_smoothness(1, 0.5), "dimension"),
        (lambda: caps_smoothness(1, 0.5), "dimension"),
        (lambda: band_smoothness(3, 0), "half_width"),
        (lambda: caps_smoothness(3, 1), "half_width"),
        (lambda: caps_smoothness_as_published(3, 1), "half_width"),
        (lambda: band_smoothness_as_published(3, 0.1), "half_width"),
        (lambda: needle_smoothness(0, 1), "records"),
        (lambda: needle_smoothness(1, 0), "epsilon"),
        (lambda: threshold_grid_dimension(0), "points"),
        (lambda: separator_dimension(1), "dimension"),
        (lambda: separator_packing(3, 1), "radius"),
        (lambda: separator_packing(3, 0), "radius"),
    ],
)
def test_bad_parameters_are_rejected_by_name(call: Callable[[], object], name: str) -> None:
    with pytest.raises(BadParameter, match=name):
        call()
