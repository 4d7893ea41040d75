"""Ridge regression: L(θ) = (1/2n) Σ (y_i − x_iᵀθ)² + (λ/2)‖θ‖², known through XᵀX and Xᵀy.

Proof of every bound: docs/proofs/models/excess_risk.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dpmine.errors import BadParameter
from dpmine.models.accuracy_first.objective import BLOCK, additions
from dpmine.models.accuracy_first.variants import Variant
from dpmine.models.linear.sensitivities import PADDING, ROUNDOFF, accumulated, up

if TYPE_CHECKING:
    from dpmine.models.supervised import Floats


@dataclass(frozen=True)
class RidgeBounds:
    """Public bounds of the risk of ridge regression. Raises BadParameter where λ is lost in rounding."""

    size: int
    dimension: int
    ridge: float
    ball: Variant = Variant.SHARP

    def __post_init__(self) -> None:
        """The matrix that is solved with must stay positive definite."""
        if self.ridge < 4.0 * self._perturbation:
            raise BadParameter(
                "regularization is lost in rounding: take a larger one, fewer features, or a smaller x_bound."
            )

    @cached_property
    def radius(self) -> float:
        """B = 1/(2√λ): λ‖θ*‖² = mean(r(y − r)) ≤ 1/4, where r = xᵀθ*. The paper has √(1/λ)."""
        return up((0.5 if self.ball is Variant.SHARP else 1.0) / math.sqrt(self.ridge))

    @property
    def trivial(self) -> float:
        """Of targets in [−1, 1]."""
        return 0.5

    @cached_property
    def rounding(self) -> float:
        """Two values of the quadratic, and what the solver leaves of the minimum."""
        chain = additions(self.size) + 4 * self.dimension + 16
        value = accumulated(chain) * 2.0 * (self.radius + 1.0) ** 2
        return up(2.0 * value + self.residual**2 / (2.0 * self.ridge))

    @cached_property
    def residual(self) -> float:
        """A bound on ‖∇L‖ where the solver ends. Source: Higham 2002, Theorems 10.3 and 10.4."""
        return up(self._perturbation * (self.radius + 1.0))

    @cached_property
    def distance(self) -> float:
        """(B + 2)/(nλ), and what the solver adds."""
        return up((self.radius + 2.0) / (self.size * self.ridge) + 2.0 * self.residual / self.ridge)

    @cached_property
    def moments(self) -> float:
        """L1 sensitivity of the computed (XᵀX, Xᵀy): 4, and what rounding adds to either data set."""
        return up(4.0 + 4.0 * self.size * accumulated(additions(self.size)))

    def sensitivities(self, norms: Floats) -> Floats:
        """((B + 1)²/2 + (‖θ‖ + 1)²/2)/n, and the rounding of two gaps."""
        ranges = ((self.radius + 1.0) ** 2 + (norms + 1.0) ** 2) / 2.0
        return np.asarray((ranges / self.size + 2.0 * self.rounding) * (1.0 + PADDING))

    @property
    def _perturbation(self) -> float:
        """What rounding moves the matrix by: the solver, and twice the sums over the rows."""
        return up(self._solver + 2.0 * accumulated(additions(self.size)))

    @property
    def _solver(self) -> float:
        """What rounding in the Cholesky solver moves ‖A‖₂ ≤ 1 + λ by, at most, four times over."""
        return 64.0 * math.pow(self.dimension, 2.5) * ROUNDOFF * (1.0 + self.ridge)


@dataclass(frozen=True)
class RidgeObjective:
    """The risk of ridge regression on n rows with exact ‖x‖₁ ≤ 1, |y| ≤ 1.

    Attributes:
        bounds: the public side.
        gram: XᵀX, shape (p, p).
        correlations: Xᵀy, shape (p,).
    """

    bounds: RidgeBounds
    gram: Floats
    correlations: Floats

    @classmethod
    def of(cls, bounds: RidgeBounds, rows: Floats, targets: Floats) -> RidgeObjective:
        """One pass over the rows, shape (n, p); targets have shape (n,)."""
        gram, correlations = np.zeros((bounds.dimension, bounds.dimension)), np.zeros(bounds.dimension)
        for start in range(0, bounds.size, BLOCK):
            block = rows[start : start + BLOCK]
            gram += block.T @ block
            correlations += targets[start : start + BLOCK] @ block
        return cls(bounds, gram, correlations)

    @cached_property
    def minimiser(self) -> Floats:
        """See `Objective`."""
        hessian = self.gram / self.bounds.size + self.bounds.ridge * np.eye(self.bounds.dimension)
        return np.asarray(cho_solve(cho_factor(hessian), self.correlations / self.bounds.size))

    def gaps(self, hypotheses: Floats) -> Floats:
        """See `Objective`."""
        return np.asarray(self._values(self.minimiser[np.newaxis])[0] - self._values(hypotheses))

    def _values(self, hypotheses: Floats) -> Floats:
        """L(θ) − (1/2n) Σ y²: what does not depend on θ cancels in a gap."""
        quadratic = np.einsum("ij,ij->i", hypotheses @ self.gram, hypotheses)
        linear = hypotheses @ self.correlations
        squares = np.einsum("ij,ij->i", hypotheses, hypotheses)
        return np.asarray((quadratic / 2.0 - linear) / self.bounds.size + self.bounds.ridge / 2.0 * squares)
