"""The bounds on a risk: radius, sensitivities, distances, rounding; hunted with numpy, checked in exact numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from models.accuracy_first.risks import BOUNDS, LOGISTIC, RIDGE, Array, Records, data, kinds, objective
from support.cases import every

from dpmine.errors import BadParameter
from dpmine.models.accuracy_first.objectives import LARGEST_PULL, LogisticBounds, RidgeBounds, RiskBounds

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Pair:
    """Neighbours, a hypothesis as a share of the ball's radius, and what they are measured against."""

    first: Records
    second: Records
    bounds: RiskBounds
    place: Array

    @classmethod
    def of(cls, kind: str, numbers: Array, *, size: int, ridge: float) -> Pair:
        """Any numbers make a pair: common records, the one that is replaced twice, and a hypothesis; p = 2."""
        table = numbers[:12].reshape(4, 3)
        rows = table[:, :2] / np.maximum(1.0, np.abs(table[:, :2]).sum(axis=1, keepdims=True))
        targets = np.clip(table[:, 2], -1, 1) if kind == RIDGE else np.where(table[:, 2] > 0, 1.0, -1.0)
        half = (size - 1) // 2
        counts = np.array([half, size - 1 - half, 1.0])
        place = numbers[12:14] / max(1.0, float(np.hypot(*numbers[12:14])))
        first, second = (Records(kind, rows[pick], targets[pick], counts, ridge) for pick in ([0, 1, 2], [0, 1, 3]))
        return cls(first, second, BOUNDS[kind](size=size, dimension=2, ridge=ridge), place)

    def gap_share(self) -> float:
        """Change of the gap over its bound."""
        theta = self.place * self.bounds.radius
        bound = self.bounds.sensitivities(np.array([np.linalg.norm(theta)]))[0]
        return abs(self.first.gap(theta) - self.second.gap(theta)) / float(bound)

    def distance_share(self) -> float:
        """Distance of the minimisers over its bound."""
        return float(np.linalg.norm(self.first.minimiser() - self.second.minimiser())) / self.bounds.distance

    def radius_share(self) -> float:
        """The longer minimiser over the radius."""
        return max(float(np.linalg.norm(one.minimiser())) for one in (self.first, self.second)) / self.bounds.radius


def hunted(share: Callable[[Array], float], start: Array, *, steps: int, seed: int) -> float:
    """Random hill climbing, steps long and short."""
    generator = np.random.default_rng(seed)
    best, value = start, share(start)
    for _ in range(steps):
        move = generator.normal(size=len(best)) * 10.0 ** generator.uniform(-3, 0)
        found = share(best + move)
        assert found <= 1.0 + 1e-9
        if found > value:
            best, value = best + move, found
    return value


def far_apart(kind: str, ridge: float) -> list[Array]:
    """A long minimiser along an axis, and records that say opposite things at it and at the hypothesis.

    The hypothesis is opposite to the minimiser, or orthogonal to it.
    """
    radius = BOUNDS[kind](size=2, dimension=2, ridge=ridge).radius
    pull = 0.5 if kind == RIDGE else 1 + LARGEST_PULL
    common = [pull / radius, 0.0, 1.0] * 2
    opposite, orthogonal = [1.0, 0.0, -1.0, 1.0, 0.0, 1.0, -1.0, 0.0], [1.0, 0.0, -1.0, 0.0, 1.0, -1.0, 0.0, 1.0]
    return [np.array([*common, *rest]) for rest in (opposite, orthogonal)]


@pytest.mark.parametrize(
    ("kind", "size", "ridge", "reached"),
    [(RIDGE, 3, 0.25, 0.7), (RIDGE, 3, 4.0, 0.4), (LOGISTIC, 3, 0.3, 0.7), (LOGISTIC, 3, 3.0, 0.6)],
)
def test_no_small_pair_changes_a_gap_by_more(kind: str, size: int, ridge: float, reached: float) -> None:
    def share(numbers: Array) -> float:
        return Pair.of(kind, numbers, size=size, ridge=ridge).gap_share()

    starts = np.random.default_rng(7).normal(size=(3, 14)) * 2
    found = [hunted(share, start, steps=110, seed=place) for place, start in enumerate(starts)]
    assert max(found) >= reached


@every(
    ("kind", "size", "ridge", "reached"),
    [
        (RIDGE, 10**6, 0.25, 0.99),
        (RIDGE, 10**6, 0.01, 0.97),
        (LOGISTIC, 10**6, 0.1, 0.99),
        (LOGISTIC, 10**6, 0.001, 0.99),
    ],
)
def test_some_large_pair_changes_a_gap_by_nearly_the_bound(kind: str, size: int, ridge: float, reached: float) -> None:
    def share(numbers: Array) -> float:
        return Pair.of(kind, numbers, size=size, ridge=ridge).gap_share()

    assert max(hunted(share, start, steps=25, seed=3) for start in far_apart(kind, ridge)) >= reached


@pytest.mark.parametrize(
    ("kind", "size", "ridge", "reached"),
    [(RIDGE, 1000, 100.0, 0.9), (RIDGE, 1000, 0.1, 0.45), (LOGISTIC, 1000, 100.0, 0.45), (LOGISTIC, 1000, 0.1, 0.45)],
)
def test_minimisers_are_no_farther_apart(kind: str, size: int, ridge: float, reached: float) -> None:
    def share(numbers: Array) -> float:
        return Pair.of(kind, numbers, size=size, ridge=ridge).distance_share()

    starts = [np.random.default_rng(9).normal(size=14), *far_apart(kind, ridge)]
    found = [hunted(share, start, steps=110, seed=place) for place, start in enumerate(starts)]
    assert max(found) >= reached


def test_logistic_minimisers_can_be_nearly_as_far_apart() -> None:
    """Two records that both oppose a long minimiser, and are nearly opposite to each other."""
    common = far_apart(LOGISTIC, 1e-4)[0][:6]
    numbers = np.array([*common, -0.1, 0.9, 1.0, -0.1, -0.9, 1.0, 0.0, 0.0])
    assert 0.88 <= Pair.of(LOGISTIC, numbers, size=10**7, ridge=1e-4).distance_share() <= 1.0


@kinds
@every("ridge", [1e-3, 0.1, 10.0])
def test_minimisers_lie_in_the_ball(kind: str, ridge: float) -> None:
    def share(numbers: Array) -> float:
        return Pair.of(kind, numbers, size=3, ridge=ridge).radius_share()

    start = np.random.default_rng(8).normal(size=14)
    assert hunted(share, start, steps=60, seed=1) <= 1.0
    if ridge < 0.1:
        common = np.tile(far_apart(kind, ridge)[0][:3], 4)
        assert share(np.concatenate([common, [0.0, 0.0]])) == pytest.approx(1.0, abs=1e-6)


def test_slopes_of_ridge_records_differ_by_less_than_twice_the_largest() -> None:
    """‖g_u − g_v‖ ≤ B + 2, where either is at most B + 1: see the proof."""
    generator, largest = np.random.default_rng(12), 0.0
    for radius in (0.1, 1.0, 10.0):
        rows = generator.dirichlet([0.2, 0.2, 0.2], size=(20000, 2)) * generator.choice([-1, 1], size=(20000, 2, 3))
        theta = generator.normal(size=(20000, 3))
        theta *= radius / np.linalg.norm(theta, axis=1, keepdims=True)
        targets = generator.choice([-1.0, 1.0], size=(20000, 2))
        slopes = (np.einsum("ijk,ik->ij", rows, theta) - targets)[:, :, np.newaxis] * rows
        apart = np.linalg.norm(slopes[:, 0] - slopes[:, 1], axis=1) / (radius + 2)
        assert apart.max() <= 1 + 1e-12
        largest = max(largest, float(apart.max()))
    assert largest > 0.8


def test_the_largest_pull() -> None:
    z = np.linspace(1.27, 1.29, 20001)
    assert float((z / (1 + np.exp(z))).max()) == pytest.approx(LARGEST_PULL, abs=1e-9)


@kinds
@every("ridge", [1e-6, 1e-3, 0.1, 10.0])
@every(("size", "dimension"), [(1, 1), (7, 3), (300, 20), (9001, 5)])
def test_gaps_are_right_up_to_rounding(kind: str, size: int, dimension: int, ridge: float) -> None:
    """Against 64-bit mantissas: the oracle's own errors are some thousand times smaller."""
    rows, targets = data(kind, size, dimension)
    found = objective(kind, rows, targets, ridge)
    bounds, best = found.bounds, found.minimiser
    generator = np.random.default_rng(1)
    far = generator.normal(size=(6, dimension))
    far *= bounds.radius * generator.uniform(0, 1, size=(6, 1)) / np.linalg.norm(far, axis=1, keepdims=True)
    near = best + 1e-7 * generator.normal(size=(3, dimension))
    places = np.vstack([best, near, far])
    places = places[np.linalg.norm(places, axis=1) <= bounds.radius]
    long = np.longdouble
    oracle = Records(kind, rows.astype(long), targets.astype(long), np.ones(size, long), ridge)
    least = oracle.risk(oracle.refined(best.astype(long)))
    computed = found.excess_risks(places)
    exact = np.array([oracle.risk(place.astype(long)) - least for place in places])
    assert np.abs(computed - exact).max() <= bounds.rounding
    assert computed.min() >= -bounds.rounding
    assert np.linalg.norm(best.astype(long) - oracle.refined(best.astype(long))) <= solver_share(bounds)


def solver_share(bounds: RiskBounds) -> float:
    """How far the computed minimiser may be from the exact one."""
    if isinstance(bounds, RidgeBounds):
        return bounds.residual / bounds.ridge
    assert isinstance(bounds, LogisticBounds)
    return bounds.accuracy.tolerance / bounds.ridge


@kinds
def test_rounding_is_small_enough_to_be_of_no_concern(kind: str) -> None:
    bounds = BOUNDS[kind](size=10**5, dimension=50, ridge=0.005)
    assert bounds.rounding < 1e-8
    assert float(bounds.sensitivities(np.array([0.0]))[0]) * 1e-3 > 2 * bounds.rounding


@pytest.mark.parametrize(("size", "dimension", "ridge"), [(10, 1, 1e-15), (10**6, 2, 1e-12), (10, 1000, 1e-8)])
def test_ridge_rejects_a_regularization_that_rounding_hides(size: int, dimension: int, ridge: float) -> None:
    with pytest.raises(BadParameter, match="larger"):
        RidgeBounds(size, dimension, ridge)


def test_logistic_rejects_a_regularization_that_rounding_hides() -> None:
    with pytest.raises(BadParameter, match="larger"):
        _ = LogisticBounds(10, 3, 1e-15).accuracy
