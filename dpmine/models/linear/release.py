"""What both perturbations share: the public numbers of a release, and the rounding to a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from dpmine.models.linear.sensitivities import (
    beta1,
    beta2,
    project,
    projection_rounding,
    score_rounding,
    solution_sensitivity,
    up,
)
from dpmine.models.validation.scores import UNIT
from dpmine.models.validation.sensitivities import Stability

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.models.linear.examples import Examples
    from dpmine.models.linear.noise import NoiseVector
    from dpmine.models.linear.solver import Accuracy
    from dpmine.models.supervised import Floats

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


class Perturbation(Protocol):
    """A training procedure of `dpmine.models.validation.procedure` for a linear classifier; a parameter is λ > 0."""

    def draw(self, parameter: Fraction, alpha: Fraction, *, bits: BitSource) -> Any:
        """All randomness of one training."""
        ...

    def fit(self, data: Examples, parameter: Fraction, alpha: Fraction, draw: Any) -> Floats:
        """The weights, shape (d,); alpha-private for one example under replace_one."""
        ...

    def release(self, size: int, parameter: Fraction, alpha: Fraction) -> Release:
        """The public numbers of a training on n = `size` examples."""
        ...
