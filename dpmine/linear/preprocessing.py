"""Rows of the user's features, clipped and scaled into the unit ball, and weights on the way back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpmine.supervised import row_norms

if TYPE_CHECKING:
    from dpmine.supervised import Floats

_INSIDE = 1.0 - 2.0**-30
"""Keeps the exact norm of every computed row at most 1: rounding is far smaller, for up to millions of columns."""


@dataclass(frozen=True, slots=True)
class UnitBall:
    """x ↦ x/r for a public norm bound r, or [x/r, 1]/√2 with an intercept, after x was clipped to norm r.

    With the intercept inside the unit ball it is regularised, and protected, as every other weight.

    Attributes:
        norm_bound: r > 0, public.
        intercept: whether a constant column comes last.
    """

    norm_bound: float
    intercept: bool

    @property
    def _share(self) -> float:
        """What is left of the unit norm for x/r; the constant column, when there is one, has the same."""
        return _INSIDE * math.sqrt(0.5) if self.intercept else _INSIDE

    def rows(self, features: Floats, signs: Floats | None = None) -> Floats:
        """The rows as the solvers need them: exact norms ≤ 1, shape (n, d) or (n, d + 1), each times its sign if given.

        Total: a row beyond the bound is shortened to it, an infinite entry counts as the largest float, NaN as 0.
        A row depends on that row alone.
        """
        norms = row_norms(features)
        if not np.isfinite(norms).all():
            features = np.nan_to_num(features)
            norms = row_norms(features)
        signs = np.ones(len(features)) if signs is None else signs
        columns = features.shape[1]
        rows = np.empty((len(features), columns + self.intercept))
        np.multiply(
            features, (signs * self._share / np.maximum(self.norm_bound, norms))[:, np.newaxis], rows[:, :columns]
        )
        rows[:, columns:] = (signs * self._share)[:, np.newaxis]
        return rows

    def split(self, weights: Floats) -> tuple[Floats, float]:
        """Coefficients and intercept that give rows within the bound the same decision wᵀx."""
        if not self.intercept:
            return weights * (self._share / self.norm_bound), 0.0
        return weights[:-1] * (self._share / self.norm_bound), float(weights[-1] * self._share)
