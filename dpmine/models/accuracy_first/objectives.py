"""What is minimised: a regularised empirical risk, and everything about it that is public.

Notation: n records with ‖x‖₁ ≤ 1 and |y| ≤ 1, risk L(θ) = (1/n) Σ ℓ(θ, x_i, y_i) + (λ/2)‖θ‖², minimiser θ*.
Bounds are floats, rounded up. Proof: docs/proofs/models/excess_risk.md.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dpmine.errors import BadParameter
from dpmine.models.linear.losses import Examples, LogisticLoss
from dpmine.models.linear.sensitivities import PADDING, ROUNDOFF, accumulated, project, solution_sensitivity, up
from dpmine.models.linear.solver import Accuracy, Problem, minimise, require_short, solver_note

if TYPE_CHECKING:
    from dpmine.models.entries import Floats


BLOCK = 16_384
"""Rows that are summed at a time: rounding grows with the length of the longest chain of additions."""


@dataclass(frozen=True)
class RiskBounds:
    """What one record, and rounding, can do to a risk: functions of n, p and λ alone.

    Attributes:
        size: n, the number of records.
        dimension: p, the number of weights.
        ridge: λ, the regulariser.
    """

    size: int
    dimension: int
    ridge: float

    trivial: ClassVar[float]
    """The excess risk of weights of 0 is at most this, whatever the data."""

    @property
    @abstractmethod
    def radius(self) -> float:
        """B: θ* lies in the ball of this radius, and hypotheses must, before their risk is looked at."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """A bound on |computed − exact| of an excess risk, for hypotheses in the ball."""

    @property
    @abstractmethod
    def distance(self) -> float:
        """How far one record moves the computed θ*, in ‖·‖₂."""

    @abstractmethod
    def sensitivities(self, norms: Floats) -> Floats:
        """How far one record moves the computed excess risk of a hypothesis of each norm, at most B."""


@dataclass(frozen=True)
class Objective:
    """The risk on private data, with its public side."""

    bounds: RiskBounds

    @property
    @abstractmethod
    def minimiser(self) -> Floats:
        """θ*, shape (p,), as `RiskBounds.distance` allows for. Private."""

    @abstractmethod
    def values(self, hypotheses: Floats) -> Floats:
        """L(θ) for every row θ, up to a constant. Private."""

    def excess_risks(self, hypotheses: Floats) -> Floats:
        """L(θ) − L(θ*) for every row θ, shape (k,). Private."""
        return np.asarray(self.values(hypotheses) - self._least)

    @cached_property
    def _least(self) -> float:
        return float(self.values(self.minimiser[np.newaxis])[0])


def additions(size: int) -> int:
    """The longest chain of rounded additions in a sum over n rows, taken block by block."""
    return min(size, BLOCK) + size // BLOCK + 3


@dataclass(frozen=True)
class RidgeBounds(RiskBounds):
    """Public bounds of the risk of ridge regression. Raises BadParameter where λ is lost in rounding."""

    trivial: ClassVar[float] = 0.5  # of targets in [−1, 1]

    def __post_init__(self) -> None:
        """The matrix that is solved with must stay positive definite."""
        if self.ridge < 4.0 * self._perturbation:
            raise BadParameter(
                "regularization is lost in rounding: take a larger one, fewer features, or a smaller x_bound."
            )

    @cached_property
    def radius(self) -> float:
        """B = 1/(2√λ): λ‖θ*‖² = mean(r(y − r)) ≤ 1/4, where r = xᵀθ*. The paper has √(1/λ)."""
        return up(0.5 / math.sqrt(self.ridge))

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
    def statistics(self) -> float:
        """L1 sensitivity of the computed sufficient statistics (XᵀX, Xᵀy): 4, and the rounding in either data set."""
        return up(4.0 + 4.0 * self.size * accumulated(additions(self.size)))

    def sensitivities(self, norms: Floats) -> Floats:
        """((B + 1)²/2 + (‖θ‖ + 1)²/2)/n, and the rounding of two excess risks."""
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
class RidgeObjective(Objective):
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

    def values(self, hypotheses: Floats) -> Floats:
        """L(θ) − (1/2n) Σ y²: what does not depend on θ cancels in an excess risk."""
        quadratic = np.einsum("ij,ij->i", hypotheses @ self.gram, hypotheses)
        linear = hypotheses @ self.correlations
        squares = np.einsum("ij,ij->i", hypotheses, hypotheses)
        return np.asarray((quadratic / 2.0 - linear) / self.bounds.size + self.bounds.ridge / 2.0 * squares)


LARGEST_PULL = 0.2784645427610738
"""max over z of −z ℓ'(z) = z/(1 + e^z), the Lambert function W(1/e); λ‖θ*‖² is a mean of such terms."""

_LAMBDA = "this λ is regularization/x_bound² (with an intercept, a quarter of it):"


@dataclass(frozen=True)
class LogisticBounds(RiskBounds):
    """Public bounds of the risk of logistic regression. `accuracy` raises BadParameter where λ is lost in rounding."""

    trivial: ClassVar[float] = math.log(2.0)  # that of a coin

    @cached_property
    def radius(self) -> float:
        """B = √(0.278465/λ). The paper has √(2 ln 2/λ)."""
        return up(math.sqrt(LARGEST_PULL / self.ridge))

    @cached_property
    def accuracy(self) -> Accuracy:
        """The solver's public goal τ: what it finds is within τ/λ of θ*."""
        return Accuracy.of(
            LogisticLoss(),
            size=self.size,
            dimension=self.dimension,
            ridge=self.ridge,
            radius=self.radius,
            advice=f"{_LAMBDA} take a larger one, or fewer features",
        )

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
        """(B + ‖θ‖)/n, and the rounding of two excess risks."""
        return np.asarray(((self.radius + norms) / self.size + 2.0 * self.rounding) * (1.0 + PADDING))


@dataclass(frozen=True)
class LogisticObjective(Objective):
    """The risk of logistic regression on n examples y·x with exact ‖x‖₁ ≤ 1."""

    bounds: LogisticBounds
    examples: Examples

    @cached_property
    def minimiser(self) -> Floats:
        """See `Objective`."""
        ridges, no_tilt = np.full(self.bounds.dimension, self.bounds.ridge), np.zeros(self.bounds.dimension)
        weights = minimise(Problem(self.examples, LogisticLoss(), ridges, no_tilt), self.bounds.accuracy)
        return project(weights, self.bounds.radius)

    def values(self, hypotheses: Floats) -> Floats:
        """L(θ) for every row θ: products of blocks of examples with all of them."""
        signed, totals = self.examples.signed, np.zeros(len(hypotheses))
        for start in range(0, self.bounds.size, BLOCK):
            totals += LogisticLoss().value(signed[start : start + BLOCK] @ hypotheses.T).sum(axis=0)
        squares = np.einsum("ij,ij->i", hypotheses, hypotheses)
        return np.asarray(totals / self.bounds.size + self.bounds.ridge / 2.0 * squares)
