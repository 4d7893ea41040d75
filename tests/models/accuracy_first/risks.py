"""Risks written down once more, in whatever precision: the oracle of several tests, and data for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest

from dpmine.models.accuracy_first.objectives import (
    LogisticBounds,
    LogisticObjective,
    Objective,
    RidgeBounds,
    RidgeObjective,
    RiskBounds,
)
from dpmine.models.linear.losses import Examples

if TYPE_CHECKING:
    from collections.abc import Callable


Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

RIDGE, LOGISTIC = "ridge", "logistic"
BOUNDS: dict[str, Callable[..., RiskBounds]] = {RIDGE: RidgeBounds, LOGISTIC: LogisticBounds}
kinds = pytest.mark.parametrize("kind", [RIDGE, LOGISTIC])


@dataclass(frozen=True)
class Records:
    """Weighted records, and their risk in whatever precision the rows have: the oracle."""

    kind: str
    rows: Array
    targets: Array
    counts: Array
    ridge: float

    def risk(self, theta: Array) -> Any:
        margins = self.rows @ theta
        if self.kind == RIDGE:
            losses = (self.targets - margins) ** 2 / 2
        else:
            losses = np.logaddexp(margins * 0, -self.targets * margins)
        return (self.counts * losses).sum() / self.counts.sum() + theta @ theta * self.ridge / 2

    def minimiser(self, steps: int = 60) -> Array:
        """Newton's method with halved steps."""
        theta = np.zeros(self.rows.shape[1], dtype=self.rows.dtype)
        for _ in range(steps):
            step = self._newton(theta)
            while self.risk(theta - step) > self.risk(theta) and np.abs(step).max() > 1e-12:
                step = step / 2
            theta = theta - step
            if self.kind == RIDGE or np.abs(step).max() < 1e-13:
                break
        return theta

    def refined(self, theta: Array) -> Array:
        for _ in range(6):
            theta = theta - self._newton(theta)
        return theta

    def _newton(self, theta: Array) -> Array:
        margins, weights = self.rows @ theta, self.counts / self.counts.sum()
        if self.kind == RIDGE:
            slopes, bends = margins - self.targets, np.ones_like(margins)
        else:
            share = 1 / (1 + np.exp(self.targets * margins))
            slopes, bends = -self.targets * share, share * (1 - share)
        gradient = (weights * slopes) @ self.rows + self.ridge * theta
        hessian = (self.rows * (weights * bends)[:, np.newaxis]).T @ self.rows + self.ridge * np.eye(len(theta))
        return np.asarray(np.linalg.solve(hessian.astype(np.float64), gradient.astype(np.float64)))

    def gap(self, theta: Array) -> float:
        return float(self.risk(self.minimiser()) - self.risk(theta))


def data(kind: str, size: int, dimension: int, seed: int = 0) -> tuple[Array, Array]:
    """Rows of exact L1 norm below 1, and targets; signal as well as noise."""
    generator = np.random.default_rng([size, dimension, seed])
    rows = generator.normal(size=(size, dimension))
    rows *= (1 - 1e-9) * generator.uniform(0.2, 1, size=(size, 1)) / np.abs(rows).sum(axis=1, keepdims=True)
    targets = np.clip(rows @ generator.normal(size=dimension) * 3 + generator.normal(size=size) / 3, -1, 1)
    return rows, targets if kind == RIDGE else np.where(targets > 0, 1.0, -1.0)


def objective(kind: str, rows: Array, targets: Array, ridge: float) -> Objective:
    size, dimension = rows.shape
    if kind == RIDGE:
        return RidgeObjective.of(RidgeBounds(size, dimension, ridge), rows, targets)
    return LogisticObjective(LogisticBounds(size, dimension, ridge), Examples(rows * targets[:, np.newaxis]))
