"""The two private trainings of a linear classifier: noise in the objective, or on the solution.

Both release a vector that was rounded to a public grid, in a ball of public radius; everything about them but the
weights is a function of public numbers (`Release`).
Proofs: docs/proofs/models/objective_perturbation.md, docs/proofs/models/output_perturbation.md.

The noise vector of both has a density proportional to e^{−‖r‖₂}. Its norm is Gamma(d, 1), a sum of d standard
exponentials; its direction is uniform, that of d normal variables. Every coordinate is an exact real, known as closely
as asked for. So floating point enters in one place only, `NoiseVector.floats`, which says by how much; that bound goes
into the solver's tolerance, which the guarantee covers. What is released is `NoiseVector.rounded_sum`: the exact real
sum, rounded to a public grid, which is post-processing of the continuous mechanism.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial, reduce
from operator import add, mul
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from flint import arb

from dpmine.exact.noise import standard_normals
from dpmine.exact.reals import (
    GUARD_BITS,
    Ball,
    Formula,
    Real,
    StandardExponential,
    exact_ball,
    floor,
    working_precision,
)
from dpmine.models.linear.losses import additions
from dpmine.models.linear.sensitivities import (
    RELATIVE_ERROR,
    beta1,
    beta2,
    determinant_loss,
    float_above,
    harmonic,
    minimiser_radius,
    project,
    projection_rounding,
    score_rounding,
    solution_sensitivity,
    sufficient_ridge,
    up,
)
from dpmine.models.linear.solver import Accuracy, Problem, minimise
from dpmine.models.validation.terms import UNIT, Stability

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.models.linear.losses import Examples, Loss
    from dpmine.models.supervised import Floats


class NoiseVector:
    """One draw of R ∈ ℝ^d with density proportional to e^{−‖R‖₂}: the same numbers however often they are asked for.

    Source: Chaudhuri, Monteleoni & Sarwate 2011, Algorithms 1 and 2.
    """

    def __init__(self, dimension: int, *, bits: BitSource) -> None:
        """Requires: dimension ≥ 1. Bits are read here and, where more digits are needed, later."""
        self._bits = bits
        self.norm: Real = Formula(_sum, *[StandardExponential(bits=bits) for _ in range(dimension)])
        normals = standard_normals(dimension, bits=bits)
        stretch = Formula(_stretch, self.norm, *normals)
        self.coordinates: tuple[Real, ...] = tuple(Formula(mul, normal, stretch) for normal in normals)

    def floats(self) -> tuple[Floats, float]:
        """The coordinates as float64, and a bound on the distance to the exact R: at most `RELATIVE_ERROR` ‖floats‖."""
        widths = self._bits.widths()
        while True:
            width = next(widths)
            with working_precision(width + GUARD_BITS):
                balls = [coordinate.ball(width) for coordinate in self.coordinates]
            middles = np.array([float(ball.mid()) for ball in balls])
            norm = float(np.linalg.norm(middles))
            error = 2.0 * sum(float(ball.rad()) for ball in balls) + 2.0**-52 * norm
            if error <= RELATIVE_ERROR * norm:
                return middles, error

    def rounded_sum(self, origin: Floats, scale: Fraction, grid: Fraction) -> Floats:
        """`origin` + `scale`·R, each coordinate rounded exactly to the nearest multiple of `grid` (a power of two)."""
        half = Fraction(1, 2)  # the floor of a number plus 1/2 is the nearest whole number
        sums = [
            floor(Formula(partial(_affine, Fraction(float(start)) / grid + half, scale / grid), noise), bits=self._bits)
            for start, noise in zip(origin, self.coordinates, strict=True)
        ]
        return np.array([float(whole * grid) for whole in sums])


def _affine(shift: Fraction, factor: Fraction, noise: Ball) -> Ball:
    return exact_ball(shift) + exact_ball(factor) * noise


def _sum(*parts: Ball) -> Ball:
    return reduce(add, parts)


def _stretch(norm: Ball, *normals: Ball) -> Ball:
    """What the normals are multiplied by to have that norm."""
    return norm / _sum(*[normal * normal for normal in normals]).sqrt()


@lru_cache(maxsize=1024)
def norm_quantile(dimension: int, failure: Fraction) -> float:
    """The quantile r of Gamma(dimension, 1), rounded up: P(‖R‖ > r) ≤ `failure`.

    Requires: 0 < failure < 1. By bisection on the regularised upper incomplete gamma function in ball arithmetic.
    """
    with working_precision(192):
        target, shape = exact_ball(failure), exact_ball(dimension)

        def suffices(radius: float) -> bool:
            return bool(arb(radius).gamma_upper(shape, regularized=True) < target)

        low, high = 0.0, 1.0
        while not suffices(high):
            high *= 2.0
        while high - low > high * 2.0**-20:
            middle = (low + high) / 2.0
            low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


RADIUS_FAILURE = Fraction(1, 2**40)
"""How rarely the noise leaves the ball that weights are projected on: a matter of accuracy, not of privacy."""
_GRID_BITS = 40  # of the radius: far below the noise, and far above the rounding of floats


@dataclass(frozen=True, slots=True)
class Release:
    """The public numbers of one training: functions of n, d, the loss, λ and the budget.

    Attributes:
        size: n.
        dimension: d.
        accuracy: of the solver: Λ, and τ on the ball of its radius.
        scale: κ of the noise vector that is added to the solution.
        radius: W, the ball that released weights are projected on.
        tilt_scale: factor of the noise vector in the objective; 0 for output perturbation.
    """

    size: int
    dimension: int
    accuracy: Accuracy
    scale: Fraction
    radius: float
    tilt_scale: Fraction = Fraction(0)

    @property
    def grid(self) -> Fraction:
        """The power of two that weights are rounded to a multiple of."""
        return Fraction(2) ** (math.frexp(self.radius)[1] - _GRID_BITS)

    def publish(self, solution: Floats, noise: NoiseVector) -> Floats:
        """The solution + κ·noise, rounded exactly to the grid, then projected on the ball of radius W."""
        return project(noise.rounded_sum(solution, self.scale, self.grid), self.radius)

    @property
    def moved(self) -> float:
        """How far one training example moves what is published, with the same noise."""
        moved = solution_sensitivity(self.size, self.accuracy.ridge, self.accuracy.tolerance)
        rounding = 2.0 * projection_rounding(self.dimension, self.radius)
        return up(moved + math.sqrt(self.dimension) * float(self.grid) + rounding)

    @property
    def stability(self) -> Stability:
        """β1 and β2 of the ramp score; they hold for every draw of the noise, so δ_s = 0.

        Source: Chaudhuri & Vinterbo 2013, Theorem 4, for one candidate, with its corrections.
        """
        rounding = score_rounding(self.dimension, self.radius)
        return Stability(
            beta1(self.size, self.moved, 2.0 * rounding + float(UNIT)),
            beta2(self.radius, 2.0 * rounding + float(UNIT)),
        )


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A training procedure of `dpmine.models.validation.procedure` for a linear classifier; a parameter is λ > 0.

    `fit` reads more bits of the draw where it needs more digits of the noise.
    """

    loss: Loss
    dimension: int

    name: ClassVar[str]
    usual: ClassVar[Fraction]
    """λ nε/d of "auto": the best multiple on Adult and Magic (experiments/regulariser.py)."""

    @abstractmethod
    def draw(self, _parameter: Fraction, _alpha: Fraction, *, bits: BitSource) -> Any:
        """All randomness of one training."""

    def fit(self, data: Examples, parameter: Fraction, alpha: Fraction, draw: Any) -> Floats:
        """The weights, shape (d,); alpha-private for one example under replace_one."""
        release = self.release(data.size, parameter, alpha)
        accuracy = release.accuracy
        problem, noise = self._problem(data, release, draw)
        return release.publish(project(minimise(problem, accuracy), accuracy.radius), noise)

    def release(self, size: int, parameter: Fraction, alpha: Fraction) -> Release:
        """The public numbers of a training on n = `size` examples."""
        return _cached_release(self, size, parameter, alpha)

    @abstractmethod
    def _problem(self, data: Examples, release: Release, draw: Any) -> tuple[Problem, NoiseVector]:
        """What is minimised, and the noise that the solution gets."""

    @abstractmethod
    def _release(self, size: int, parameter: Fraction, alpha: Fraction) -> Release:
        """`release`, computed."""


@lru_cache(maxsize=4096)
def _cached_release(training: Perturbation, size: int, parameter: Fraction, alpha: Fraction) -> Release:
    return training._release(size, parameter, alpha)  # noqa: SLF001 - its own class, which caches by value


_MOST_COVER = Fraction(1, 8)  # of the budget, at most, covers the solver's tolerance
_RELIEF = 8  # a relieved intercept costs at most half of this part of the budget
_LIGHTEST = 1e-5  # a relieved ridge is no lighter: the cover of the tolerance grows with 1/Λ²
_STEP = 2**40  # the share of the budget that covers the tolerance is a multiple of 1/_STEP


class Draw(NamedTuple):
    """The randomness of one training: `tilt` goes into the objective, `cover` hides the solver's tolerance."""

    tilt: NoiseVector
    cover: NoiseVector


@dataclass(frozen=True, slots=True)
class AlphaSplit:
    """α = `tilt` + ln(1 + (c/n) xᵀD⁻¹x) + `cover`: what each part of the proof spends, at most.

    D holds the ridges: `ridge` Λ for every coordinate but the last, which has `last` ≤ Λ.
    """

    ridge: float
    last: float
    tilt: Fraction
    cover: Fraction

    @classmethod
    def of(
        cls, loss: Loss, *, size: int, parameter: Fraction, alpha: Fraction, cover: Fraction, relieved: bool
    ) -> AlphaSplit:
        """With a = α − cover: Λ = max(λ, c/(n(e^{a/2} − 1))) and α' = a − ln(1 + c/(nΛ)), which is at least a/2.

        Relieved, the last ridge is as small as costs another a/16 at most, and no larger than Λ.
        """
        rest = alpha - cover
        c = float_above(loss.smoothness)
        ridge = max(float_above(parameter), sufficient_ridge(size, c, _below(rest)))
        needed = max(sufficient_ridge(2 * size, c, _below(rest / _RELIEF)), ridge / 16, _LIGHTEST)
        last = min(ridge, needed) if relieved else ridge
        spent = determinant_loss(size, harmonic(ridge, last), c)
        return cls(ridge, last, rest - Fraction(spent), cover)

    def tilt_scale(self, size: int) -> Fraction:
        """2/(α'n)."""
        return 2 / (self.tilt * size)


def _below(value: Fraction) -> float:
    return float(value) * (1.0 - 2.0**-50)


@dataclass(frozen=True, slots=True)
class ObjectivePerturbation(Perturbation):
    """The minimiser of J(w) + (Δ_x/2)‖w‖² + (2/(α'n)) Rᵀw; α-private for one example under replace_one.

    The determinant's slack is charged once, and by an extra ridge Δ_x where the user's λ is too small for it. The
    answer within τ/Λ of the minimiser is covered by noise of scale 2τ/(Λα_ξ), and α = α' + ln(1 + c/(nΛ)) + α_ξ.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 2, with the sharper slack of the proof note. Algorithm 3 of
    Chaudhuri & Vinterbo 2013 leaves the slack out, so it is not α-private and not offered.
    """

    relieved: bool = False
    """Whether the last coordinate, a constant column that takes half of the unit norm, has a smaller ridge: a matter of
    accuracy where λ is fixed. It makes the weights less stable, so a search for λ does without."""

    name: ClassVar[str] = "objective"
    usual: ClassVar[Fraction] = Fraction(1, 10)

    def draw(self, _parameter: Fraction, _alpha: Fraction, *, bits: BitSource) -> Draw:
        """R and R'."""
        return Draw(NoiseVector(self.dimension, bits=bits), NoiseVector(self.dimension, bits=bits))

    def _problem(self, data: Examples, release: Release, draw: Draw) -> tuple[Problem, NoiseVector]:
        noise, _ = draw.tilt.floats()
        ridges = np.full(self.dimension, release.accuracy.stiffness)
        ridges[-1] = release.accuracy.ridge
        return Problem(data, self.loss, ridges, noise * float(release.tilt_scale)), draw.cover

    def _release(self, size: int, parameter: Fraction, alpha: Fraction) -> Release:
        """The cover's share makes 1/α' + nτ/α_ξ, the size of both noises together, about as small as it can be."""

        def split(share: Fraction) -> AlphaSplit:
            cover, relieved = alpha * share, self.relieved
            return AlphaSplit.of(self.loss, size=size, parameter=parameter, alpha=alpha, cover=cover, relieved=relieved)

        needed = math.sqrt(size * self._accuracy(size, split(_MOST_COVER)).tolerance)
        budget = split(min(_MOST_COVER, Fraction(math.ceil(needed * _STEP), _STEP)))
        accuracy = self._accuracy(size, budget)
        scale = Fraction(2) * Fraction(accuracy.tolerance) / (Fraction(accuracy.ridge) * budget.cover)
        radius = up(accuracy.radius + float(scale) * norm_quantile(self.dimension, RADIUS_FAILURE))
        return Release(size, self.dimension, accuracy, scale, radius, budget.tilt_scale(size))

    def _accuracy(self, size: int, budget: AlphaSplit) -> Accuracy:
        tilt = float_above(budget.tilt_scale(size)) * norm_quantile(self.dimension, RADIUS_FAILURE)
        return Accuracy.of(
            self.loss,
            dimension=self.dimension,
            additions=additions(size),
            ridge=budget.last,
            radius=minimiser_radius(budget.last, tilt),
            stiffness=budget.ridge,
        )


@dataclass(frozen=True, slots=True)
class OutputPerturbation(Perturbation):
    """w̃ + ((2/(nλ) + 2τ/λ)/α) R, density of R proportional to e^{−‖R‖}; α-private for one example under replace_one.

    w̃ is within τ/λ of the minimiser, so the solver's tolerance is part of the charge.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 1; Chaudhuri & Vinterbo 2013, Algorithm 4.
    """

    name: ClassVar[str] = "output"
    usual: ClassVar[Fraction] = Fraction(1)

    def draw(self, _parameter: Fraction, _alpha: Fraction, *, bits: BitSource) -> NoiseVector:
        """R."""
        return NoiseVector(self.dimension, bits=bits)

    def _problem(self, data: Examples, release: Release, draw: NoiseVector) -> tuple[Problem, NoiseVector]:
        ridges, no_tilt = np.full(self.dimension, release.accuracy.ridge), np.zeros(self.dimension)
        return Problem(data, self.loss, ridges, no_tilt), draw

    def _release(self, size: int, parameter: Fraction, alpha: Fraction) -> Release:
        ridge, chain = float_above(parameter), additions(size)
        around = minimiser_radius(ridge, 0.0)
        accuracy = Accuracy.of(self.loss, dimension=self.dimension, additions=chain, ridge=ridge, radius=around)
        scale = Fraction(solution_sensitivity(size, ridge, accuracy.tolerance)) / alpha
        radius = up(around + float(scale) * norm_quantile(self.dimension, RADIUS_FAILURE))
        return Release(size, self.dimension, accuracy, scale, radius)
