"""The user's units and the unit ball: rows of L1 norm at most 1 and targets in [−1, 1], and weights on the way back."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpmine.models.supervised import Floats

_INSIDE = 1 - Fraction(1, 2**30)
"""Keeps the exact L1 norm of every computed row at most 1: rounding is far smaller, for up to millions of columns."""


@dataclass(frozen=True, slots=True)
class Units:
    """x ↦ x/c and y ↦ y/h after clipping, or (x, r)/c with a constant column for an intercept; both public.

    Attributes:
        x_bound: r > 0, bound on ‖x‖₁; longer rows are shortened to it.
        y_bound: bound on |y|; None for classes, which have no unit.
        intercept: whether there is a constant column, of value r, in the user's units.
    """

    x_bound: Fraction
    y_bound: Fraction | None
    intercept: bool

    @property
    def x_unit(self) -> Fraction:
        """c: what x is divided by."""
        return self.x_bound * (1 + self.intercept) / _INSIDE

    @property
    def y_unit(self) -> Fraction:
        """h: what y is divided by."""
        return Fraction(1) if self.y_bound is None else self.y_bound / _INSIDE

    def regularization(self, given: Fraction) -> Fraction:
        """λ/c², so that (λ/2)‖w‖² means what the user meant."""
        return given / self.x_unit**2

    def risk(self, given: Fraction) -> Fraction:
        """A risk in the user's units, divided by h²."""
        return given / self.y_unit**2

    def rows(self, features: Floats, signs: Floats | None = None) -> Floats:
        """Rows of exact L1 norm at most 1, shape (n, p) or (n, p + 1), each times its sign where signs are given.

        Total: a row beyond the bound is shortened to it; one whose norm is too large for a float becomes 0. A row
        depends on that row alone.
        """
        signs = np.ones(len(features)) if signs is None else signs
        share = signs * float(_INSIDE / (1 + self.intercept))
        rows = np.empty((len(features), features.shape[1] + self.intercept))
        with np.errstate(over="ignore", under="ignore"):
            norms = np.abs(features).sum(axis=1)
            factors = share / np.maximum(float(self.x_bound), norms)
            np.multiply(features, factors[:, np.newaxis], out=rows[:, : features.shape[1]])
        rows[:, features.shape[1] :] = share[:, np.newaxis]
        return rows

    def inside(self, features: Floats) -> Floats:
        """Rows shortened to the bound as `rows` does, in the user's units: a model decides on these."""
        bound = float(self.x_bound)
        with np.errstate(over="ignore", under="ignore"):
            norms = np.abs(features).sum(axis=1)
            return np.asarray(features * (bound / np.maximum(bound, norms))[:, np.newaxis])

    def targets(self, y: Floats) -> Floats:
        """Targets clipped to the bound, in [−1, 1]."""
        bound = float(self.y_unit * _INSIDE)
        return np.clip(y, -bound, bound) * float(_INSIDE) / bound

    def split(self, weights: Floats) -> tuple[Floats, float]:
        """Coefficients and intercept that give rows within the bound, in the user's units, the same prediction."""
        inner = weights * float(self.y_unit / self.x_unit)
        return (inner[:-1], float(inner[-1] * float(self.x_bound))) if self.intercept else (inner, 0.0)
