"""The minimiser over a ball against a general solver, an eigenvalue problem, and exact weak duality."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.linalg import eig
from scipy.optimize import minimize
from support.cases import every
from support.effort import examples

from dpmine.errors import BadParameter
from dpmine.models.accuracy_first.trust_region import minimise_over_ball

if TYPE_CHECKING:
    from dpmine.models.entries import Floats

CLOSE = 1e-8  # of the objective, relative to R(R‖A‖₂ + ‖b‖₂), the unit in which rounding moves it


class Kind(Enum):
    """Where the bottom of the spectrum, and b along it, lie."""

    DEFINITE = "definite"
    INDEFINITE = "indefinite"
    SINGULAR = "singular"
    HARD = "hard"
    NEARLY_HARD = "nearly hard"


@dataclass(frozen=True)
class Instance:
    matrix: Floats
    vector: Floats
    radius: float

    def objective(self, point: Floats) -> float:
        return float(point @ self.matrix @ point / 2 - self.vector @ point)

    @property
    def steepness(self) -> float:
        """R‖A‖₂ + ‖b‖₂, no less than any gradient's norm."""
        return float(self.radius * np.linalg.norm(self.matrix, 2) + np.linalg.norm(self.vector))

    @property
    def bottom(self) -> float:
        return float(np.linalg.eigvalsh(self.matrix)[0])


def instance(kind: Kind, seed: int, largest: int = 6) -> Instance:
    generator = np.random.default_rng([seed, list(Kind).index(kind)])
    size = int(generator.integers(2 if kind is Kind.SINGULAR else 1, largest + 1))
    values = np.sort(generator.normal(size=size))
    basis = np.linalg.qr(generator.normal(size=(size, size)))[0]
    entries = generator.normal(size=size)
    if kind is Kind.DEFINITE:
        values += 0.05 - values[0]
    elif kind is Kind.SINGULAR:
        values -= values[0]
        entries[0] = 0.0
    elif kind is not Kind.INDEFINITE:
        multiplicity = int(generator.integers(1, size + 1))
        values[:multiplicity] = values[0] = -abs(values[0]) - 0.1
        entries[:multiplicity] *= 0.0 if kind is Kind.HARD else 10.0 ** generator.uniform(-15, -2)
        entries /= 4.0
    matrix = basis @ (values[:, np.newaxis] * basis.T) * 10.0 ** generator.uniform(-3, 3)
    vector = basis @ entries * np.linalg.norm(matrix) * 10.0 ** generator.uniform(-1, 1)
    return Instance((matrix + matrix.T) / 2, vector, 10.0 ** generator.uniform(-1, 1))


def certified_gap(problem: Instance, point: Floats, multiplier: float) -> float:
    """How far, at most, the objective is above the least, in rational arithmetic, over R(R‖A‖ + ‖b‖).

    Weak duality: with M = A + νI positive definite, no θ of norm ≤ R is below −½ bᵀM⁻¹b − ½ νR².
    """
    size, radius = len(point), Fraction(problem.radius)
    shift = Fraction(multiplier + CLOSE / 4 * problem.steepness / problem.radius)
    rows = [[Fraction(x) for x in row] + [Fraction(y)] for row, y in zip(problem.matrix, problem.vector, strict=True)]
    theta = [Fraction(x) for x in point]
    pull = sum(row[-1] * x for row, x in zip(rows, theta, strict=True))
    bend = sum(x * row[j] * theta[j] for row, x in zip(rows, theta, strict=True) for j in range(size))
    dual = -shift * radius**2 / 2
    for k in range(size):
        rows[k][k] += shift
    for k in range(size):  # Gauss: the pivots, and b along the way
        pivot = rows[k][k]
        if pivot <= 0:
            return math.inf
        dual -= rows[k][-1] ** 2 / pivot / 2
        for row in rows[k + 1 :]:
            factor = row[k] / pivot
            for j in range(k, size + 1):
                row[j] -= factor * rows[k][j]
    return float(bend / 2 - pull - dual) / (problem.radius * problem.steepness or 1.0)


def general_solution(problem: Instance, seed: int) -> Floats:
    """The best of a general solver's local minimisers from several starts, on both sides of every plane."""
    generator = np.random.default_rng(seed)
    unit = problem.radius * problem.steepness
    ends = [
        minimize(
            lambda u: problem.objective(u * problem.radius) / unit,
            start * side * 0.7 / np.linalg.norm(start),
            jac=lambda u: (problem.matrix @ u * problem.radius - problem.vector) * problem.radius / unit,
            constraints={"type": "ineq", "fun": lambda u: 1.0 - u @ u, "jac": lambda u: -2.0 * u},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 300},
        ).x
        for start in generator.normal(size=(3, len(problem.vector)))
        for side in (-1.0, 1.0)
    ]
    points = [end * problem.radius / max(1.0, float(np.linalg.norm(end))) for end in ends]
    return min(points, key=problem.objective)


def agrees_with_general_solver(kind: Kind, seed: int) -> bool:
    """Compares objectives, and points where the minimiser is unique and well conditioned; whether it was."""
    problem = instance(kind, seed)
    found = minimise_over_ball(problem.matrix, problem.vector, problem.radius)
    general = general_solution(problem, seed)
    difference = problem.objective(found.point) - problem.objective(general)
    assert difference <= CLOSE * problem.radius * problem.steepness
    assert -difference <= 10 * CLOSE * problem.radius * problem.steepness  # the general solver's accuracy
    regular = problem.bottom + found.multiplier > 0.05 * problem.steepness / problem.radius
    if regular:
        assert np.linalg.norm(found.point - general) <= 1e-5 * problem.radius  # the general solver's accuracy
    return regular


@pytest.mark.parametrize("kind", Kind)
def test_agrees_with_a_general_solver(kind: Kind) -> None:
    for seed in range(20):
        agrees_with_general_solver(kind, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", Kind)
def test_agrees_with_a_general_solver_on_a_thousand_instances(kind: Kind) -> None:
    regular = sum(agrees_with_general_solver(kind, seed) for seed in range(1000, 1200))
    assert regular >= 50 or kind is not Kind.DEFINITE


@pytest.mark.parametrize("kind", Kind)
def test_least_by_exact_weak_duality(kind: Kind) -> None:
    for seed in range(200):
        problem = instance(kind, seed, largest=5)
        found = minimise_over_ball(problem.matrix, problem.vector, problem.radius)
        assert float(np.linalg.norm(found.point)) <= problem.radius
        assert certified_gap(problem, found.point, found.multiplier) <= CLOSE


def test_weak_duality_sees_a_wrong_point() -> None:
    """An inverse, shortened to the ball, as a shortcut would do it, is far from the least."""
    gaps = []
    for seed in range(20):
        problem = instance(Kind.INDEFINITE, seed, largest=5)
        found = minimise_over_ball(problem.matrix, problem.vector, problem.radius)
        inverse = np.linalg.solve(problem.matrix, problem.vector).astype(np.float64)
        wrong = inverse * min(1.0, problem.radius / float(np.linalg.norm(inverse)))
        gaps.append(certified_gap(problem, wrong, found.multiplier))
    assert np.median(gaps) > 1e-2


def by_eigenvalue(problem: Instance) -> tuple[Floats, float]:
    """θ and μ on the sphere: the rightmost eigenvalue of a matrix of twice the size.

    Source: Adachi, Iwata, Nakatsukasa & Takeda 2017, Theorem 3.2.
    """
    size = len(problem.vector)
    pull = np.outer(problem.vector, problem.vector) / problem.radius**2
    values, vectors = eig(np.block([[-problem.matrix, pull], [np.eye(size), -problem.matrix]]))
    rightmost = int(np.argmax(values.real))
    upper, lower = vectors[:size, rightmost].real, vectors[size:, rightmost].real
    return problem.radius**2 * upper / (problem.vector @ lower), float(values[rightmost].real)


def test_points_agree_with_the_rightmost_eigenvalue() -> None:
    compared = 0
    for kind in (Kind.DEFINITE, Kind.INDEFINITE):
        for seed in range(150):
            problem = instance(kind, seed, largest=20)
            found = minimise_over_ball(problem.matrix, problem.vector, problem.radius)
            unit = problem.steepness / problem.radius
            if found.multiplier > 1e-3 * unit and problem.bottom + found.multiplier > 1e-2 * unit:
                point, multiplier = by_eigenvalue(problem)
                assert np.linalg.norm(found.point - point) <= CLOSE * problem.radius
                assert abs(found.multiplier - multiplier) <= CLOSE * unit
                compared += 1
    assert compared > 100


entries = st.one_of(st.integers(-3, 3).map(float), st.floats(-4, 4))


@st.composite
def problems(draw: st.DrawFn) -> Instance:
    size = draw(st.integers(1, 6))
    cells = np.array(draw(st.lists(entries, min_size=size * size, max_size=size * size))).reshape(size, size)
    vector = np.array(draw(st.lists(entries, min_size=size, max_size=size)))
    return Instance((cells + cells.T) / 2, vector, draw(st.floats(0.01, 100.0)))


def assert_optimal(problem: Instance, point: Floats, multiplier: float) -> None:
    """The conditions that characterise a minimiser, within rounding."""
    norm, unit = float(np.linalg.norm(point)), 1e-11 * problem.steepness
    assert norm <= problem.radius
    assert multiplier >= 0.0
    assert np.linalg.norm(problem.matrix @ point + multiplier * point - problem.vector) <= unit
    assert problem.bottom + multiplier >= -unit / problem.radius
    assert multiplier * (problem.radius - norm) <= unit


@settings(max_examples=examples(300))
@given(problem=problems())
@example(problem=Instance(np.diag([2.0, 0.0]), np.array([0.0, 2.5e-307]), 20.0))
@example(problem=Instance(np.array([[0.0, 0.5], [0.5, 1.0]]), np.array([0.0, 5e-324]), 0.01))
def test_optimal_for_small_problems(problem: Instance) -> None:
    found = minimise_over_ball(problem.matrix, problem.vector, problem.radius)
    assert_optimal(problem, found.point, found.multiplier)


@pytest.mark.parametrize("kind", Kind)
def test_the_same_problem_has_the_same_answer(kind: Kind) -> None:
    for seed in range(25):
        problem = instance(kind, seed, largest=30)
        found, again = (minimise_over_ball(problem.matrix, problem.vector, problem.radius) for _ in range(2))
        assert_optimal(problem, found.point, found.multiplier)
        assert again.point.tolist() == found.point.tolist()


def test_hard_case_by_hand() -> None:
    """A = diag(−1, 1), b = (0, 1), R = 1: μ = 1, θ₂ = ½, θ₁ = ±√¾, of which the positive one is chosen."""
    found = minimise_over_ball(np.diag([-1.0, 1.0]), np.array([0.0, 1.0]), 1.0)
    assert found.point == pytest.approx([0.75**0.5, 0.5], abs=1e-15)
    assert found.multiplier == pytest.approx(1.0, abs=1e-15)


@every(
    ("matrix", "vector", "radius", "point", "multiplier"),
    [
        ([[2.0]], [1.0], 1.0, [0.5], 0.0),
        ([[2.0]], [3.0], 1.0, [1.0], 1.0),
        ([[-2.0]], [-1.0], 4.0, [-4.0], 2.25),
        ([[-2.0]], [0.0], 3.0, [3.0], 2.0),
        ([[0.0]], [0.0], 3.0, [0.0], 0.0),
        ([[0.0, 0.0], [0.0, 0.0]], [3.0, 4.0], 10.0, [6.0, 8.0], 0.5),
        ([[1.0, 0.0], [0.0, 0.0]], [1.0, 0.0], 1e6, [1.0, 0.0], 0.0),
        ([[1.0, 1.0], [1.0, 1.0]], [1.0, 1.0], 1e6, [0.5, 0.5], 0.0),
        ([[1.0, 0.0], [0.0, 3.0]], [0.0, 0.0], 1.0, [0.0, 0.0], 0.0),
        ([[-3.0, 0.0], [0.0, -3.0]], [3.0, 4.0], 1.0, [0.6, 0.8], 8.0),
    ],
)
def test_known_answers(
    matrix: list[list[float]], vector: list[float], radius: float, point: list[float], multiplier: float
) -> None:
    found = minimise_over_ball(np.array(matrix), np.array(vector), radius)
    assert found.point == pytest.approx(point, rel=1e-13, abs=1e-13)
    assert found.multiplier == pytest.approx(multiplier, rel=1e-13, abs=1e-13)


@every("forces", [(-60, 0), (0, -40), (400, 400), (-450, -450), (450, -480), (-480, 450), (0, 300)])
def test_units_do_not_matter(forces: tuple[int, int]) -> None:
    """θ/R and μR/g depend on A·R/g and b/g only; powers of two change no digit."""
    radius_force, force = forces
    for kind in Kind:
        problem = instance(kind, 3)
        plain = minimise_over_ball(problem.matrix, problem.vector, problem.radius)
        unit = 2.0 ** max(-480, min(480, force - radius_force))
        moved = minimise_over_ball(
            problem.matrix * unit, problem.vector * (unit * 2.0**radius_force), problem.radius * 2.0**radius_force
        )
        assert (moved.point / 2.0**radius_force).tolist() == plain.point.tolist()
        assert moved.multiplier / unit == plain.multiplier


@every("matrix_size", [1e-150, 1.0, 1e149])
@every("vector_size", [0.0, 1e-150, 1.0, 1e149])
@every("radius", [1e-150, 1.0, 1e150])
def test_extreme_sizes_stay_finite(matrix_size: float, vector_size: float, radius: float) -> None:
    for diagonal in ([1.0, 2.0], [-1.0, 2.0], [1.0, 1e-200], [0.0, 1.0], [0.0, 1e-150]):
        matrix = np.diag(diagonal) * matrix_size
        found = minimise_over_ball(matrix, np.array([0.5, -0.5]) * vector_size, radius)
        assert np.isfinite(found.point).all()
        assert math.isfinite(found.multiplier)
        assert math.hypot(*found.point) <= radius * (1 + 1e-15)
        if diagonal[0] < 0.0 or vector_size > 10.0 * matrix_size * radius:
            assert math.hypot(*found.point) >= radius * (1 - 1e-15)


@every(
    ("matrix", "vector", "radius"),
    [
        (np.eye(2), np.ones(3), 1.0),
        (np.ones((2, 3)), np.ones(2), 1.0),
        (np.eye(2), np.ones((2, 1)), 1.0),
        (np.empty((0, 0)), np.empty(0), 1.0),
        (np.eye(2), np.ones(2), 0.0),
        (np.eye(2), np.ones(2), -1.0),
        (np.eye(2), np.ones(2), math.nan),
        (np.eye(2), np.ones(2), math.inf),
        (np.eye(2), np.array([1.0, math.nan]), 1.0),
        (np.diag([math.inf, 1.0]), np.ones(2), 1.0),
        (np.diag([1e200, 1.0]), np.ones(2), 1.0),
    ],
)
def test_rejects_what_it_cannot_scale(matrix: Floats, vector: Floats, radius: float) -> None:
    with pytest.raises(BadParameter):
        minimise_over_ball(matrix, vector, radius)
