"""Objective perturbation: solve a randomly tilted problem. Proof: docs/proofs/models/objective_perturbation.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpmine.models.linear.examples import additions
from dpmine.models.linear.noise import NoiseVector, norm_quantile
from dpmine.models.linear.release import RADIUS_FAILURE, Release
from dpmine.models.linear.sensitivities import (
    determinant_loss,
    float_above,
    harmonic,
    minimiser_radius,
    project,
    sufficient_ridge,
    up,
)
from dpmine.models.linear.solver import Accuracy, Problem, minimise

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.models.linear.examples import Examples
    from dpmine.models.linear.losses import Loss
    from dpmine.models.supervised import Floats

_MOST_COVER = Fraction(1, 8)  # of the budget, at most, covers the solver's tolerance
_RELIEF = 8  # a relieved intercept costs at most half of this part of the budget
_LIGHTEST = 1e-5  # a relieved ridge is no lighter: the cover of the tolerance grows with 1/Λ²
_STEP = 2**40  # the share of the budget that covers the tolerance is a multiple of 1/_STEP


@dataclass(frozen=True, slots=True)
class Draw:
    """The randomness of one training: `tilt` goes into the objective, `cover` hides the solver's tolerance."""

    tilt: NoiseVector
    cover: NoiseVector


@dataclass(frozen=True, slots=True)
class Budget:
    """α = `tilt` + ln(1 + (c/n) xᵀD⁻¹x) + `cover`: what each part of the proof spends, at most.

    D holds the ridges: `ridge` Λ for every coordinate but the last, which has `last` ≤ Λ.
    """

    ridge: float
    last: float
    tilt: Fraction
    cover: Fraction

    @classmethod
    def split(
        cls, loss: Loss, *, size: int, parameter: Fraction, alpha: Fraction, cover: Fraction, relieved: bool
    ) -> Budget:
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


@dataclass(frozen=True, slots=True)
class ObjectivePerturbation:
    """The minimiser of J(w) + (Δ_x/2)‖w‖² + (2/(α'n)) Rᵀw; α-private for one example under replace_one.

    The determinant's slack is paid once, and by an extra ridge Δ_x where the user's λ is too small for it. The answer
    within τ/Λ of the minimiser is covered by noise of scale 2τ/(Λα_ξ), and α = α' + ln(1 + c/(nΛ)) + α_ξ.
    A training procedure in the sense of `dpmine.models.validation.procedure`; a parameter is λ > 0. `fit` reads more
    bits of the draw where it needs more digits of the noise, so it is for one thread (workers=1), as everything here
    calls it.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 2, with the sharper slack of the proof note. Algorithm 3 of
    Chaudhuri & Vinterbo 2013 leaves the slack out, so it is not α-private and not offered.
    """

    loss: Loss
    dimension: int
    relieved: bool = False
    """Whether the last coordinate, a constant column that takes half of the unit norm, has a smaller ridge: a matter of
    accuracy where λ is fixed. It makes the weights less stable, so a search for λ does without."""

    name: ClassVar[str] = "objective"
    usual: ClassVar[Fraction] = Fraction(1, 10)
    """λ nε/d of "auto": the best multiple on Adult and Magic (experiments/regulariser.py)."""

    def draw(self, _parameter: Fraction, _alpha: Fraction, *, bits: BitSource) -> Draw:
        """R and R'."""
        return Draw(NoiseVector(self.dimension, bits=bits), NoiseVector(self.dimension, bits=bits))

    def fit(self, data: Examples, parameter: Fraction, alpha: Fraction, draw: Draw) -> Floats:
        """The weights, shape (d,)."""
        terms = self.release(data.size, parameter, alpha)
        noise, _ = draw.tilt.floats()
        ridges = np.full(self.dimension, terms.accuracy.stiffness)
        ridges[-1] = terms.accuracy.ridge
        problem = Problem(data, self.loss, ridges, noise * float(terms.tilt_scale))
        solution = project(minimise(problem, terms.accuracy), terms.accuracy.radius)
        return terms.publish(solution, draw.cover)

    def release(self, size: int, parameter: Fraction, alpha: Fraction) -> Release:
        """The public numbers of a training on n = `size` examples."""
        return _release(self, size, parameter, alpha)


@lru_cache(maxsize=4096)
def _release(training: ObjectivePerturbation, size: int, parameter: Fraction, alpha: Fraction) -> Release:
    """The cover's share makes 1/α' + nτ/α_ξ, the size of both noises together, about as small as it can be."""

    def split(share: Fraction) -> Budget:
        return Budget.split(
            training.loss,
            size=size,
            parameter=parameter,
            alpha=alpha,
            cover=alpha * share,
            relieved=training.relieved,
        )

    needed = math.sqrt(size * _accuracy(training, size, split(_MOST_COVER)).tolerance)
    budget = split(min(_MOST_COVER, Fraction(math.ceil(needed * _STEP), _STEP)))
    accuracy = _accuracy(training, size, budget)
    scale = Fraction(2) * Fraction(accuracy.tolerance) / (Fraction(accuracy.ridge) * budget.cover)
    radius = up(accuracy.radius + float(scale) * norm_quantile(training.dimension, RADIUS_FAILURE))
    return Release(size, training.dimension, accuracy, scale, radius, _tilt_scale(size, budget))


def _accuracy(training: ObjectivePerturbation, size: int, budget: Budget) -> Accuracy:
    tilt = float_above(_tilt_scale(size, budget)) * norm_quantile(training.dimension, RADIUS_FAILURE)
    return Accuracy.of(
        training.loss,
        dimension=training.dimension,
        additions=additions(size),
        ridge=budget.last,
        radius=minimiser_radius(budget.last, tilt),
        stiffness=budget.ridge,
    )


def _tilt_scale(size: int, budget: Budget) -> Fraction:
    """2/(α'n)."""
    return 2 / (budget.tilt * size)


def _below(value: Fraction) -> float:
    return float(value) * (1.0 - 2.0**-50)
