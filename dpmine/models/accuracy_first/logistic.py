"""Logistic regression: L(θ) = (1/n) Σ ln(1 + e^{−y_i x_iᵀθ}) + (λ/2)‖θ‖².

Proof of every bound: docs/proofs/models/excess_risk.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpmine.models.accuracy_first.objective import BLOCK, additions
from dpmine.models.accuracy_first.variants import Variant
from dpmine.models.linear.examples import additions as solver_additions
from dpmine.models.linear.losses import LogisticLoss
from dpmine.models.linear.sensitivities import PADDING, ROUNDOFF, accumulated, project, solution_sensitivity, up
from dpmine.models.linear.solver import Accuracy, Problem, minimise, require_short, solver_note

if TYPE_CHECKING:
    from dpmine.models.linear.examples import Examples
    from dpmine.models.supervised import Floats

LARGEST_PULL = 0.2784645427610738
"""max over z of −z ℓ'(z) = z/(1 + e^z), the Lambert function W(1/e); λ‖θ*‖² is a mean of such terms."""

_LAMBDA = "this λ is regularization/x_bound² (with an intercept, a quarter of it):"


@dataclass(frozen=True)
class LogisticBounds:
    """Public bounds of the risk of logistic regression. `accuracy` raises BadParameter where λ is lost in rounding."""

    size: int
    dimension: int
    ridge: float
    ball: Variant = Variant.SHARP

    @cached_property
    def radius(self) -> float:
        """B = √(0.278465/λ). The paper has √(2 ln 2/λ)."""
        return up(math.sqrt((LARGEST_PULL if self.ball is Variant.SHARP else 2.0 * math.log(2.0)) / self.ridge))

    @cached_property
    def accuracy(self) -> Accuracy:
        """The solver's public goal τ: what it finds is within τ/λ of θ*."""
        return Accuracy.of(
            LogisticLoss(),
            dimension=self.dimension,
            additions=solver_additions(self.size),
            ridge=self.ridge,
            radius=self.radius,
            advice=f"{_LAMBDA} take a larger one, or fewer features",
        )

    @property
    def trivial(self) -> float:
        """That of a coin."""
        return math.log(2.0)

    @cached_property
    def rounding(self) -> float:
        """Two risks, and the minimum missed by at most (1/4 + λ)(τ/λ)²/2."""
        chain = accumulated(additions(self.size) + 2 * self.dimension + 16) + 64.0 * ROUNDOFF
        missed = (0.25 + self.ridge) * (self.accuracy.tolerance / self.ridge) ** 2 / 2.0
        return up(4.0 * chain * (self.radius + 2.0) + missed)

    @cached_property
    def distance(self) -> float:
        """2/(nλ) + 2τ/λ."""
        return solution_sensitivity(self.size, self.ridge, self.accuracy.tolerance)

    def require_short(self) -> None:
        """BadParameter where the solver may run too long, by public numbers only."""
        advice = f"{_LAMBDA[0].upper()}{_LAMBDA[1:]} take a larger one, a smaller x_bound, or fewer columns."
        require_short(LogisticLoss(), self.accuracy, self.size, parameter=Fraction(self.ridge), advice=advice)

    @property
    def solver_note(self) -> str:
        """What the guarantee says of the solver."""
        return solver_note(LogisticLoss(), self.accuracy)

    def sensitivities(self, norms: Floats) -> Floats:
        """(B + ‖θ‖)/n, and the rounding of two gaps."""
        return np.asarray(((self.radius + norms) / self.size + 2.0 * self.rounding) * (1.0 + PADDING))


@dataclass(frozen=True)
class LogisticObjective:
    """The risk of logistic regression on n examples y·x with exact ‖x‖₁ ≤ 1."""

    bounds: LogisticBounds
    examples: Examples

    @cached_property
    def minimiser(self) -> Floats:
        """See `Objective`."""
        ridges, no_tilt = np.full(self.bounds.dimension, self.bounds.ridge), np.zeros(self.bounds.dimension)
        found = minimise(Problem(self.examples, LogisticLoss(), ridges, no_tilt), self.bounds.accuracy)
        return project(found, self.bounds.radius)

    def gaps(self, hypotheses: Floats) -> Floats:
        """See `Objective`."""
        return self._least - self._values(hypotheses)

    @cached_property
    def _least(self) -> float:
        return float(self._values(self.minimiser[np.newaxis])[0])

    def _values(self, hypotheses: Floats) -> Floats:
        """L(θ) for every row θ: products of blocks of examples with all of them."""
        signed, totals = self.examples.signed, np.zeros(len(hypotheses))
        for start in range(0, self.bounds.size, BLOCK):
            totals += _losses(signed[start : start + BLOCK] @ hypotheses.T).sum(axis=0)
        squares = np.einsum("ij,ij->i", hypotheses, hypotheses)
        return np.asarray(totals / self.bounds.size + self.bounds.ridge / 2.0 * squares)


def _losses(margins: Floats) -> Floats:
    """ln(1 + e^{−z}), right to a few roundings of numbers up to 1 + |z|; several times faster than logaddexp."""
    return np.asarray(np.log(1.0 + np.exp(-np.abs(margins))) + np.maximum(-margins, 0.0))
