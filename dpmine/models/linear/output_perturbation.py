"""Output perturbation: solve, then add noise to the solution. Proof: docs/proofs/models/output_perturbation.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpmine.models.linear.examples import additions
from dpmine.models.linear.noise import NoiseVector, norm_quantile
from dpmine.models.linear.release import RADIUS_FAILURE, Release
from dpmine.models.linear.sensitivities import float_above, minimiser_radius, project, solution_sensitivity, up
from dpmine.models.linear.solver import Accuracy, Problem, minimise

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.models.linear.examples import Examples
    from dpmine.models.linear.losses import Loss
    from dpmine.models.supervised import Floats


@dataclass(frozen=True, slots=True)
class OutputPerturbation:
    """w̃ + ((2/(nλ) + 2τ/λ)/α) R, density of R proportional to e^{−‖R‖}; α-private for one example under replace_one.

    w̃ is within τ/λ of the minimiser, so the solver's tolerance is paid for. A training procedure in the sense of
    `dpmine.models.validation.procedure`; a parameter is λ > 0. `fit` reads more bits of the
    draw where it needs more digits of the noise, so it is for one thread (workers=1), as everything here calls it.
    Source: Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 1; Chaudhuri & Vinterbo 2013, Algorithm 4.
    """

    loss: Loss
    dimension: int

    name: ClassVar[str] = "output"
    usual: ClassVar[Fraction] = Fraction(1)
    """λ nε/d of "auto": the best multiple on Adult and Magic (experiments/regulariser.py)."""

    def draw(self, _parameter: Fraction, _alpha: Fraction, *, bits: BitSource) -> NoiseVector:
        """R."""
        return NoiseVector(self.dimension, bits=bits)

    def fit(self, data: Examples, parameter: Fraction, alpha: Fraction, draw: NoiseVector) -> Floats:
        """The weights, shape (d,)."""
        terms = self.release(data.size, parameter, alpha)
        problem = Problem(data, self.loss, np.full(self.dimension, terms.accuracy.ridge), np.zeros(self.dimension))
        solution = project(minimise(problem, terms.accuracy), terms.accuracy.radius)
        return terms.publish(solution, draw)

    def release(self, size: int, parameter: Fraction, alpha: Fraction) -> Release:
        """The public numbers of a training on n = `size` examples."""
        return _release(self.loss, self.dimension, size, parameter, alpha)


@lru_cache(maxsize=4096)
def _release(loss: Loss, dimension: int, size: int, parameter: Fraction, alpha: Fraction) -> Release:
    ridge = float_above(parameter)
    around = minimiser_radius(ridge, 0.0)
    accuracy = Accuracy.of(loss, dimension=dimension, additions=additions(size), ridge=ridge, radius=around)
    scale = Fraction(solution_sensitivity(size, ridge, accuracy.tolerance)) / alpha
    radius = up(around + float(scale) * norm_quantile(dimension, RADIUS_FAILURE))
    return Release(size, dimension, accuracy, scale, radius)
