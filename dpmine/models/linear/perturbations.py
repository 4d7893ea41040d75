"""The two private trainings of a linear classifier: noise in the objective, or on the solution.

Both release a vector that was rounded to a public grid, in a ball of public radius. All else about them is a function
of public numbers (`Release`). The noise vectors are those of `dpmine.models.linear.noise`.
Proofs: docs/proofs/models/objective_perturbation.md, docs/proofs/models/output_perturbation.md,
docs/proofs/models/gaussian_perturbation.md.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dpmine.models.linear.multinomial import problem_of
from dpmine.models.linear.noise import RADIUS_FAILURE, GammaNoise, NoiseVector, VectorNoise
from dpmine.models.linear.sensitivities import (
    beta1,
    beta2,
    determinant_loss,
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
from dpmine.privacy import float_above

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.models.entries import Floats
    from dpmine.models.linear.losses import Examples, Loss

_GRID_BITS = 40  # of the radius: far below the noise, and far above the rounding of floats
_GAMMA = GammaNoise()
"""What noise is where none is named, and what hides the solver's tolerance whatever it is: it needs no δ."""


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
        rounding = score_rounding(self.accuracy.dimension, self.radius)
        return Stability(
            beta1(self.size, self.moved, 2.0 * rounding + float(UNIT)),
            beta2(self.radius, 2.0 * rounding + float(UNIT)),
        )


@dataclass(frozen=True, slots=True)
class Spread:
    """How far noise moves a unit combination of released weights; public.

    Attributes:
        noise: the distribution of R.
        dimension: the number of weights.
        scale: κ.
        error: what the grid and the solver's tolerance add at most.
    """

    noise: VectorNoise
    dimension: int
    scale: float
    error: float

    def half_width(self, level: float) -> float:
        """A w with P(|⟨a, released − minimiser⟩| ≤ w) ≥ `level`, for every ‖a‖ = 1 and data set; 0 < level < 1."""
        failure = 1.0 - level - float(RADIUS_FAILURE)
        if failure <= float(RADIUS_FAILURE):  # no radius is known for less
            return float("inf")
        return up(self.scale * self.noise.coordinate_quantile(self.dimension, failure) + self.error)


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A training procedure of `dpmine.models.validation.procedure` for a linear classifier; a parameter is λ > 0.

    `fit` reads more bits of the draw where it needs more digits of the noise.
    """

    loss: Loss
    dimension: int
    noise: VectorNoise = _GAMMA

    name: ClassVar[str]
    usual: ClassVar[Fraction]
    """nλ of "auto" over `length`: the best multiple on Adult and Magic (experiments/regulariser.py)."""

    @abstractmethod
    def draw(self, _parameter: Fraction, _alpha: Fraction, *, bits: BitSource) -> Any:
        """All randomness of one training."""

    def fit(self, data: Examples, parameter: Fraction, alpha: Fraction, draw: Any) -> Floats:
        """The weights, shape (d,); (alpha, δ of the noise)-private for one example under replace_one."""
        release = self.release(data.size, parameter, alpha)
        accuracy = release.accuracy
        problem, noise = self._problem(data, release, draw)
        return release.publish(project(minimise(problem, accuracy), accuracy.radius), noise)

    @abstractmethod
    def rate(self, alpha: Fraction) -> Fraction:
        """A of the noise where all of `alpha` covers it: what one example moves, in units of its scale."""

    def length(self, alpha: Fraction) -> float:
        """E‖R‖/A, in floats: the mean length of the noise for a change of length 1."""
        return self.noise.length(self.dimension) / float(self.rate(alpha))

    def rho(self, _alpha: Fraction) -> Fraction | None:
        """The ρ of a training under zCDP, where more is proved than (ε, δ) implies."""
        return None

    def spread(self, _release: Release) -> Spread | None:
        """The distribution of the noise on the weights; None where that depends on the data."""
        return None

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
_RELIEF = 8  # a relieved intercept uses at most half of this part of the budget
_LIGHTEST = 1e-5  # a relieved ridge is no lighter: the cover of the tolerance grows with 1/Λ²
_STEP = 2**40  # the share of the budget that covers the tolerance is a multiple of 1/_STEP


class Draw(NamedTuple):
    """The randomness of one training: `tilt` goes into the objective, `cover` hides the solver's tolerance."""

    tilt: NoiseVector
    cover: NoiseVector


@dataclass(frozen=True, slots=True)
class AlphaSplit:
    """α = `tilt` + the determinant's share + `cover`: what each part of the proof spends of ε, at most.

    D holds the ridges: `ridge` Λ for every coordinate but the last, which has `last` ≤ Λ. The determinant takes
    ln(1 + (c/n) xᵀD⁻¹x), or less where Gaussian noise can do with less.
    """

    ridge: float
    last: float
    tilt: Fraction
    rate: Fraction
    cover: Fraction

    def tilt_scale(self, size: int) -> Fraction:
        """2/(nA)."""
        return 2 / (self.rate * size)


def _below(value: Fraction) -> float:
    return float(value) * (1.0 - 2.0**-50)


@dataclass(frozen=True, slots=True)
class ObjectivePerturbation(Perturbation):
    """The minimiser of J(w) + (Δ_x/2)‖w‖² + (2/(nA)) Rᵀw; (α, δ)-private for one example under replace_one.

    A is the rate of the noise at (α', δ): α' for gamma noise, which has δ = 0. The determinant's slack is charged once,
    with an extra ridge Δ_x where the user's λ is too small for it. The answer within τ/Λ of the minimiser is covered
    by gamma noise of scale 2τ/(Λα_ξ), and α ≤ α' + ln(1 + c/(nΛ)) + α_ξ.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 2, with the sharper slack of the proof note; Gaussian noise:
    Kifer, Smith & Thakurta 2012. Algorithm 3 of Chaudhuri & Vinterbo 2013 leaves the slack out, so it is not α-private
    and not offered.
    """

    relieved: bool = False
    """Whether the last coordinate, a constant column that takes half of the unit norm, has a smaller ridge.

    It improves accuracy where λ is fixed. It makes the weights less stable, so a search for λ does without.
    """

    name: ClassVar[str] = "objective"
    usual: ClassVar[Fraction] = Fraction(1, 10)

    def rate(self, alpha: Fraction) -> Fraction:
        """Of the tilt."""
        return self.noise.tilt(alpha, Fraction(0)).rate

    def split(self, size: int, parameter: Fraction, alpha: Fraction, cover: Fraction) -> AlphaSplit:
        """With a = α − cover: Λ = max(λ, c/(n(e^{a/2} − 1))) and α' ≥ a − ln(1 + c/(nΛ)), which is at least a/2.

        With a smaller intercept penalty, the last ridge is as small as another a/16 allows, and no larger than Λ.
        """
        rest = alpha - cover
        c, rank = float_above(self.loss.bend), self.loss.columns
        ridge = max(float_above(parameter), sufficient_ridge(size, c, _below(rest), rank))
        needed = max(sufficient_ridge(2 * size, c, _below(rest / _RELIEF), rank), ridge / 16, _LIGHTEST)
        last = min(ridge, needed) if self.relieved else ridge
        weakest = harmonic(ridge, last)
        leverage = Fraction(up(1.0 / (size * weakest))) if self.loss.fading else None
        tilt, rate = self.noise.tilt(rest, Fraction(determinant_loss(size, weakest, c, rank)), leverage)
        return AlphaSplit(ridge, last, tilt, rate, cover)

    def draw(self, _parameter: Fraction, _alpha: Fraction, *, bits: BitSource) -> Draw:
        """R and R'."""
        return Draw(self.noise.draw(self.dimension, bits=bits), _GAMMA.draw(self.dimension, bits=bits))

    def _problem(self, data: Examples, release: Release, draw: Draw) -> tuple[Problem, NoiseVector]:
        noise, _ = draw.tilt.floats()
        ridges = np.full(self.dimension, release.accuracy.stiffness)
        ridges[-self.loss.columns :] = release.accuracy.ridge
        return problem_of(data, self.loss, ridges, noise * float(release.tilt_scale)), draw.cover

    def _release(self, size: int, parameter: Fraction, alpha: Fraction) -> Release:
        """The cover's share makes 1/α' + nτ/α_ξ, the size of both noises together, about as small as it can be."""
        widest = self.split(size, parameter, alpha, alpha * _MOST_COVER)
        needed = math.sqrt(size * self._accuracy(size, widest).tolerance)
        share = min(_MOST_COVER, Fraction(math.ceil(needed * _STEP), _STEP))
        budget = self.split(size, parameter, alpha, alpha * share)
        accuracy = self._accuracy(size, budget)
        scale = Fraction(2) * Fraction(accuracy.tolerance) / (Fraction(accuracy.ridge) * budget.cover)
        radius = up(accuracy.radius + float(scale) * _GAMMA.quantile(self.dimension, RADIUS_FAILURE))
        return Release(size, self.dimension, accuracy, scale, radius, budget.tilt_scale(size))

    def _accuracy(self, size: int, budget: AlphaSplit) -> Accuracy:
        longest = self.noise.quantile(self.dimension, RADIUS_FAILURE)
        tilt = float_above(budget.tilt_scale(size)) * longest
        return Accuracy.of(
            self.loss,
            size=size,
            dimension=self.dimension,
            ridge=budget.last,
            radius=minimiser_radius(budget.last, tilt),
            stiffness=budget.ridge,
        )


@dataclass(frozen=True, slots=True)
class OutputPerturbation(Perturbation):
    """w̃ + ((2/(nλ) + 2τ/λ)/A) R, with the noise's rate A at (α, δ); (α, δ)-private for one example under replace_one.

    A = α for gamma noise, which has δ = 0. w̃ is within τ/λ of the minimiser: the solver's tolerance is charged, too.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 1; Chaudhuri & Vinterbo 2013, Algorithm 4; Gaussian
    noise: Balle & Wang 2018.
    """

    name: ClassVar[str] = "output"
    usual: ClassVar[Fraction] = Fraction(1)

    def rate(self, alpha: Fraction) -> Fraction:
        """Of the noise on the solution."""
        return self.noise.output_rate(alpha)

    def rho(self, alpha: Fraction) -> Fraction | None:
        """Of the noise on the solution: rounding and projection are post-processing."""
        return self.noise.rho(alpha)

    def spread(self, release: Release) -> Spread:
        """w̃ is within τ/Λ of the minimiser, and κ, the grid, τ/Λ and the distribution of R are public."""
        accuracy = release.accuracy
        grid = float(release.grid) / 2.0 * self.dimension**0.5
        rounding = projection_rounding(self.dimension, release.radius)
        error = up(grid + accuracy.tolerance / accuracy.ridge + rounding)
        return Spread(self.noise, self.dimension, float(release.scale), error)

    def draw(self, _parameter: Fraction, _alpha: Fraction, *, bits: BitSource) -> NoiseVector:
        """R."""
        return self.noise.draw(self.dimension, bits=bits)

    def _problem(self, data: Examples, release: Release, draw: NoiseVector) -> tuple[Problem, NoiseVector]:
        ridges, no_tilt = np.full(self.dimension, release.accuracy.ridge), np.zeros(self.dimension)
        return problem_of(data, self.loss, ridges, no_tilt), draw

    def _release(self, size: int, parameter: Fraction, alpha: Fraction) -> Release:
        ridge = float_above(parameter)
        around = minimiser_radius(ridge, 0.0)
        accuracy = Accuracy.of(self.loss, size=size, dimension=self.dimension, ridge=ridge, radius=around)
        scale = Fraction(solution_sensitivity(size, ridge, accuracy.tolerance)) / self.noise.output_rate(alpha)
        radius = up(around + float(scale) * self.noise.quantile(self.dimension, RADIUS_FAILURE))
        return Release(size, self.dimension, accuracy, scale, radius)
