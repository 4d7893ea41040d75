"""Small training sets, and excess risks that are computed another way."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import minimize

SLOPES = np.array([0.9, -0.5, 0.3])


def noisy_line(size: int = 2000, seed: int = 0, *, scale: float = 1.0) -> tuple[Any, Any]:
    """Rows of L1 norm up to 1.4, so that some are clipped, and targets, a few of them beyond 1."""
    generator = np.random.default_rng(seed)
    features = generator.uniform(-1.0, 1.0, (size, 3)) * np.array([0.7, 0.4, 0.3])
    targets = 1.5 * features @ SLOPES + 0.2 * generator.normal(size=size)
    return scale * features, targets


def two_classes(size: int = 2000, seed: int = 0) -> tuple[Any, Any]:
    """The same rows, with the sign of the target."""
    features, targets = noisy_line(size, seed)
    return features, (targets > 0).astype(int)


def clipped_rows(features: Any, bound: float) -> Any:
    """Rows of L1 norm at most the bound, one by one."""
    return np.array([row * min(1.0, bound / sum(abs(x) for x in row)) if any(row) else row for row in features])


def exact_norm(row: Any) -> Fraction:
    """The exact L1 norm of a row of floats."""
    return sum((abs(Fraction(float(x))) for x in row), Fraction(0))


def ridge_risk(rows: Any, targets: Any, ridge: float, weights: Any) -> float:
    """(1/2n) Σ (y − xᵀw)² + (λ/2)‖w‖²."""
    return float(np.mean((targets - rows @ weights) ** 2) / 2 + ridge / 2 * weights @ weights)


def logistic_risk(rows: Any, signs: Any, ridge: float, weights: Any) -> float:
    """(1/n) Σ ln(1 + e^{−y xᵀw}) + (λ/2)‖w‖²."""
    return float(np.mean(np.logaddexp(0.0, -signs * (rows @ weights))) + ridge / 2 * weights @ weights)


def least(risk: Any, rows: Any, answers: Any, ridge: float) -> Any:
    """The minimiser by a general-purpose method."""
    start = np.zeros(rows.shape[1])
    return minimize(lambda weights: risk(rows, answers, ridge, weights), start, method="BFGS", tol=1e-10).x
