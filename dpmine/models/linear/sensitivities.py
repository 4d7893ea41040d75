"""Every bound of the two perturbations that one example, or rounding, enters: tiny pure functions.

Notation: n examples of norm ≤ 1, ridge Λ, loss with |ℓ'| ≤ 1 and c-Lipschitz ℓ', training budget α.
Bounds are floats, rounded up (budgets down) by `PADDING`, which covers the rounding of the few operations behind them.
Source: Chaudhuri & Vinterbo 2013, Theorem 4, with the corrections that docs/proofs/models/objective_perturbation.md
proves.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpmine.models.entries import Floats

PADDING = 2.0**-40
"""Relative margin on float formulas of a few operations, each right to a few 2^−53."""
ROUNDOFF = 2.0**-53
RELATIVE_ERROR = 2.0**-50
"""Bound on ‖floats − R‖/‖floats‖ of the floats of a noise vector R."""


def up(value: float) -> float:
    """A little more than `value` ≥ 0."""
    return value * (1.0 + PADDING)


def accumulated(operations: int) -> float:
    """γ_k = ku/(1 − ku): relative error of a sum of products, in any order, with k rounded operations in a chain.

    Source: Higham 2002, Accuracy and Stability of Numerical Algorithms, Lemma 3.1 and section 3.1.
    """
    return up(operations * ROUNDOFF / (1.0 - operations * ROUNDOFF))


def norm_above(vector: Floats) -> float:
    """A bound on the exact ‖vector‖₂, whatever the order in which the computed norm was summed."""
    return up(float(np.linalg.norm(vector)) * (1.0 + accumulated(len(vector) + 4)))


def projection_rounding(dimension: int, radius: float) -> float:
    """How far the computed `project` is from the exact one: γ for the computed norm, and three more operations."""
    return up(accumulated(dimension + 8) * radius)


def solution_sensitivity(size: int, ridge: float, tolerance: float) -> float:
    """2/(nΛ) + 2τ/Λ: how far one example moves a point where the gradient is at most τ long.

    2/(nΛ) is what it moves the minimiser of a Λ-strongly convex mean of 1-Lipschitz losses by.
    """
    return up(up(2.0 / (size * ridge)) + 2.0 * tolerance / ridge)


def determinant_loss(size: int, ridge: float, bend: float, rank: int = 1) -> float:
    """The slack r ln(1 + c/(rnΛ)) that objective perturbation charges for the change of the Hessian's determinant.

    One record adds a matrix of rank r and trace c; r = 1 where the loss has one margin.
    """
    return up(rank * math.log1p(bend / (rank * size * ridge)))


def sufficient_ridge(size: int, bend: float, alpha: float, rank: int = 1) -> float:
    """c/(rn(e^{α/(2r)} − 1)): a ridge at which the determinant takes at most α/2."""
    if alpha > 1000.0 * rank:
        return 0.0
    return up(bend / (rank * size * math.expm1(alpha / (2.0 * rank))))


def harmonic(ridge: float, last: float) -> float:
    """The Λ with 1/Λ = (1/ridge + 1/last)/2, rounded down: xᵀD⁻¹x ≤ 1/Λ where the last entry has half the norm of x.

    With one ridge for all, that ridge.
    """
    return ridge if last == ridge else 2.0 / up(1.0 / ridge + 1.0 / last)


def minimiser_radius(ridge: float, tilt: float) -> float:
    """(1 + ‖b‖)/Λ: the minimiser of the mean loss + (Λ/2)‖w‖² + bᵀw is no longer than this."""
    return up((1.0 + tilt) / ridge)


def beta1(size: int, moved: float, rounding: float) -> Fraction:
    """n·(L‖w − w'‖ + rounding), L = 1: another training example, the same noise, moves a ramp score by ≤ β1/n."""
    return Fraction(up(size * (moved + rounding)))


def beta2(radius: float, rounding: float) -> Fraction:
    """Another validation example moves a ramp score by ≤ β2/m: on ‖w‖ ≤ W its terms lie in [max(0, 1 − W), 1]."""
    return Fraction(min(1.0, up(radius + rounding)))


def score_rounding(dimension: int, radius: float) -> float:
    """How far rounding moves one computed term of the ramp score, for ‖w‖ ≤ W and ‖x‖ ≤ 1."""
    return up((accumulated(dimension) + 4.0 * ROUNDOFF) * (1.0 + radius))


def project(weights: Floats, radius: float) -> Floats:
    """The nearest point of the ball of that public radius, up to `projection_rounding`: non-expansive."""
    largest = float(np.abs(weights).max(initial=0.0))
    scaled = weights / largest if largest > 0.0 else weights  # whose norm does not overflow
    norm = float(np.linalg.norm(scaled))
    return weights if largest * norm <= radius else scaled * (radius / norm)
