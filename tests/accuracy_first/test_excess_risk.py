"""The bounds on a risk: radius, sensitivities, distances, rounding; hunted with numpy, checked in exact numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from support.numpy_bits import NumpyBits

from dpmine.accuracy_first import hypotheses as module
from dpmine.accuracy_first.hypotheses import covariance_hypotheses, output_hypotheses
from dpmine.accuracy_first.logistic import LARGEST_PULL, LogisticBounds, LogisticObjective
from dpmine.accuracy_first.ridge import RidgeBounds, RidgeObjective
from dpmine.accuracy_first.trust_region import minimise_over_ball
from dpmine.errors import BadParameter
from dpmine.linear.examples import Examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.accuracy_first.objective import Bounds, Objective

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

RIDGE, LOGISTIC = "ridge", "logistic"
BOUNDS: dict[str, Callable[..., Bounds]] = {RIDGE: RidgeBounds, LOGISTIC: LogisticBounds}
kinds = pytest.mark.parametrize("kind", [RIDGE, LOGISTIC])


@dataclass(frozen=True)
class Records:
    """Weighted records, and their risk in whatever precision the rows have: the oracle."""

    kind: str
    rows: Array
    targets: Array
    counts: Array
    ridge: float

    def risk(self, theta: Array) -> Any:
        margins = self.rows @ theta
        if self.kind == RIDGE:
            losses = (self.targets - margins) ** 2 / 2
        else:
            losses = np.logaddexp(margins * 0, -self.targets * margins)
        return (self.counts * losses).sum() / self.counts.sum() + theta @ theta * self.ridge / 2

    def minimiser(self, steps: int = 60) -> Array:
        """Newton's method with halved steps."""
        theta = np.zeros(self.rows.shape[1], dtype=self.rows.dtype)
        for _ in range(steps):
            step = self._newton(theta)
            while self.risk(theta - step) > self.risk(theta) and np.abs(step).max() > 1e-12:
                step = step / 2
            theta = theta - step
            if self.kind == RIDGE or np.abs(step).max() < 1e-13:
                break
        return theta

    def refined(self, theta: Array) -> Array:
        for _ in range(6):
            theta = theta - self._newton(theta)
        return theta

    def _newton(self, theta: Array) -> Array:
        margins, weights = self.rows @ theta, self.counts / self.counts.sum()
        if self.kind == RIDGE:
            slopes, bends = margins - self.targets, np.ones_like(margins)
        else:
            share = 1 / (1 + np.exp(self.targets * margins))
            slopes, bends = -self.targets * share, share * (1 - share)
        gradient = (weights * slopes) @ self.rows + self.ridge * theta
        hessian = (self.rows * (weights * bends)[:, np.newaxis]).T @ self.rows + self.ridge * np.eye(len(theta))
        return np.asarray(np.linalg.solve(hessian.astype(np.float64), gradient.astype(np.float64)))

    def gap(self, theta: Array) -> float:
        return float(self.risk(self.minimiser()) - self.risk(theta))


@dataclass(frozen=True)
class Pair:
    """Neighbours, a hypothesis as a share of the ball's radius, and what they are measured against."""

    first: Records
    second: Records
    bounds: Bounds
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


@pytest.mark.parametrize(
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
@pytest.mark.parametrize("ridge", [1e-3, 0.1, 10.0])
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


def data(kind: str, size: int, dimension: int, seed: int = 0) -> tuple[Array, Array]:
    """Rows of exact L1 norm below 1, and targets; signal as well as noise."""
    generator = np.random.default_rng([size, dimension, seed])
    rows = generator.normal(size=(size, dimension))
    rows *= (1 - 1e-9) * generator.uniform(0.2, 1, size=(size, 1)) / np.abs(rows).sum(axis=1, keepdims=True)
    targets = np.clip(rows @ generator.normal(size=dimension) * 3 + generator.normal(size=size) / 3, -1, 1)
    return rows, targets if kind == RIDGE else np.where(targets > 0, 1.0, -1.0)


def objective(kind: str, rows: Array, targets: Array, ridge: float) -> Objective:
    size, dimension = rows.shape
    if kind == RIDGE:
        return RidgeObjective.of(RidgeBounds(size, dimension, ridge), rows, targets)
    return LogisticObjective(LogisticBounds(size, dimension, ridge), Examples(rows * targets[:, np.newaxis]))


@kinds
@pytest.mark.parametrize("ridge", [1e-6, 1e-3, 0.1, 10.0])
@pytest.mark.parametrize(("size", "dimension"), [(1, 1), (7, 3), (300, 20), (9001, 5)])
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
    computed = found.gaps(places)
    exact = np.array([least - oracle.risk(place.astype(long)) for place in places])
    assert np.abs(computed - exact).max() <= bounds.rounding
    assert computed.max() <= bounds.rounding
    assert np.linalg.norm(best.astype(long) - oracle.refined(best.astype(long))) <= solver_share(bounds)


def solver_share(bounds: Bounds) -> float:
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


@pytest.mark.parametrize(("size", "dimension"), [(5, 1), (40, 3), (4100, 2)])
def test_moments_are_right_up_to_rounding(size: int, dimension: int) -> None:
    """In exact rationals."""
    rows, targets = data(RIDGE, size, dimension)
    found = RidgeObjective.of(RidgeBounds(size, dimension, 0.1), rows, targets)
    whole, answers = [[Fraction(x) for x in row] for row in rows.tolist()], [Fraction(y) for y in targets.tolist()]
    error = Fraction(0)
    for i in range(dimension):
        error += abs(
            Fraction(float(found.correlations[i])) - sum(r[i] * y for r, y in zip(whole, answers, strict=True))
        )
        for j in range(dimension):
            error += abs(Fraction(float(found.gram[i, j])) - sum(r[i] * r[j] for r in whole))
    chain = min(size, 4096) + math.ceil(size / 4096)  # γ_chain ≥ chain·2⁻⁵³, of entries that sum to 2n, twice
    assert 4 + max(2 * error, Fraction(4 * size * chain, 2**53)) <= Fraction(found.bounds.moments)
    assert np.array_equal(found.gram, found.gram.T)


def test_moments_of_neighbours() -> None:
    """At most 4 apart in L1, the upper triangle doubled; e_1 → −e_2 reaches it."""
    generator = np.random.default_rng(4)

    def moments(row: Array, target: float) -> Array:
        upper = np.triu_indices(3)
        doubled = np.where(upper[0] == upper[1], 1.0, 2.0)
        return np.concatenate([np.outer(row, row)[upper] * doubled, row * target])

    for _ in range(500):
        rows = generator.dirichlet([0.3, 0.3, 0.3], size=2) * generator.choice([-1, 1], size=(2, 3))
        y = generator.uniform(-1, 1, size=2)
        assert np.abs(moments(rows[0], y[0]) - moments(rows[1], y[1])).sum() <= 4 + 1e-12
    unit = np.eye(3)
    assert np.abs(moments(unit[0], 1.0) - moments(-unit[1], 1.0)).sum() == 4.0


@pytest.mark.parametrize(("size", "dimension", "ridge"), [(10, 1, 1e-15), (10**6, 2, 1e-12), (10, 1000, 1e-8)])
def test_ridge_refuses_a_regularization_that_rounding_hides(size: int, dimension: int, ridge: float) -> None:
    with pytest.raises(BadParameter, match="larger"):
        RidgeBounds(size, dimension, ridge)


def test_logistic_refuses_a_regularization_that_rounding_hides() -> None:
    with pytest.raises(BadParameter, match="larger"):
        _ = LogisticBounds(10, 3, 1e-15).accuracy


def test_covariances_with_hardly_any_noise_give_the_minimiser() -> None:
    rows, targets = data(RIDGE, 500, 4)
    found = RidgeObjective.of(RidgeBounds(500, 4, 0.01), rows, targets)
    levels = [Fraction(10**9), Fraction(10**11)]
    first, last = covariance_hypotheses(found, levels, bits=NumpyBits(3))
    assert np.abs(last - found.minimiser).max() < 1e-6
    assert np.abs(first - found.minimiser).max() < 1e-6


@pytest.mark.statistical
def test_variance_of_the_noise_on_covariances(monkeypatch: pytest.MonkeyPatch) -> None:
    """32/ε² on the diagonal and on Xᵀy, 8/ε² off it; six standard errors: one false alarm in 10⁷ or fewer."""
    rows, targets = data(RIDGE, 50, 3)
    found = RidgeObjective.of(RidgeBounds(50, 3, 0.1), rows, targets)
    seen: list[tuple[Array, Array]] = []

    def spy(matrix: Array, vector: Array, radius: float, *, start: float) -> Any:
        seen.append((matrix.copy(), vector.copy()))
        return minimise_over_ball(matrix, vector, radius, start=start)

    monkeypatch.setattr(module, "minimise_over_ball", spy)
    bits = NumpyBits(11)
    for _ in range(800):
        list(covariance_hypotheses(found, [Fraction(1, 2)], bits=bits))
    matrices = np.array([matrix for matrix, _ in seen]) * 50 - found.gram - 50 * 0.1 * np.eye(3)
    vectors = np.array([vector for _, vector in seen]) * 50 - found.correlations
    assert np.array_equal(matrices, matrices.transpose(0, 2, 1))
    upper = matrices[:, [0, 0, 1], [1, 2, 2]]
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    tolerance = 6 * math.sqrt(5 / (3 * 800))  # a Laplace variance has the relative standard error √(5/N)
    for noise, wanted in ((upper, 8.0), (diagonal, 32.0), (vectors, 32.0)):
        assert float((noise**2).mean()) / 4 == pytest.approx(wanted, rel=tolerance)
    assert tolerance < 0.5


def expected_excess(kind: str, method: str, bounds: Bounds, epsilon: float) -> float:
    """The bounds on the mean that docs/proofs/excess_risk.md proves."""
    n, p, ridge = bounds.size, bounds.dimension, bounds.ridge
    if method == "covariance":
        return 4 * math.sqrt(2) / (n * epsilon) * (math.sqrt(p / ridge) / 2 + math.sqrt(p * (p + 3)) / (16 * ridge))
    smooth = (1.0 if kind == RIDGE else 0.25) + ridge
    return smooth * p * (math.sqrt(p) * bounds.distance / epsilon) ** 2


@pytest.mark.statistical
@pytest.mark.parametrize(("kind", "method"), [(RIDGE, "covariance"), (RIDGE, "output"), (LOGISTIC, "output")])
def test_mean_excess_is_below_what_theory_says(kind: str, method: str) -> None:
    """Far below, so that no draw decides; excess risk is at most a few times its mean bound."""
    rows, targets = data(kind, 2000, 3)
    found = objective(kind, rows, targets, 0.05)
    epsilon, bits = Fraction(2), NumpyBits(6)
    draws = []
    for _ in range(100):
        if isinstance(found, RidgeObjective) and method == "covariance":
            draws += list(covariance_hypotheses(found, [epsilon], bits=bits))
        else:
            draws += list(output_hypotheses(found, [epsilon], bits=bits))
    mean = -float(found.gaps(np.array(draws)).mean())
    assert 0.0 < mean <= expected_excess(kind, method, found.bounds, float(epsilon))


@kinds
def test_users_units(kind: str) -> None:
    """Dividing x by x_b and y by y_b divides risks by y_b², when λ is divided by x_b²; 1 stands for y_b in classes."""
    rows, targets = data(kind, 60, 3)
    x_bound, y_bound = 5.0, 3.0 if kind == RIDGE else 1.0
    inner = Records(kind, rows, targets, np.ones(60), 0.3 / x_bound**2)
    outer = replace(inner, rows=rows * x_bound, targets=targets * y_bound, ridge=0.3)
    theta = np.array([0.4, -0.2, 0.7])
    weights = theta * y_bound / x_bound
    assert outer.gap(weights) == pytest.approx(inner.gap(theta) * y_bound**2, rel=1e-9)
