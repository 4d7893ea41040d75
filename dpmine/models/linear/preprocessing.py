"""Rows of the user's features on the way into the unit ball, and weights on the way back.

All of it is public and looks at one row at a time, so a neighbouring data set still differs in one row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.model_file import Document, finite_row
from dpmine.models.supervised import MISSING_NOTE, finite
from dpmine.parameters import Number, exact_number, positive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.models.entries import Floats

_INSIDE = 1.0 - 2.0**-30
"""Keeps the exact norm of every computed row at most 1: rounding is far smaller, for up to millions of columns."""
_NARROWEST = 2.0**-20
"""Width of bounds relative to their size: digits that floats have left for what lies between them."""
_LARGEST_BOUND = 1e100


@dataclass(frozen=True, eq=False, slots=True)
class FeatureBounds:
    """x ↦ (x − middle)/half-width per feature: from public bounds to [−1, 1].

    Attributes:
        lower: the lower bounds, shape (1,) for one for all features, or (d,).
        upper: the upper bounds, alike.
    """

    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, bounds: Any) -> FeatureBounds:
        """Out of (lower, upper), each a number or one for each feature. Raises BadParameter for anything else."""
        pair = [] if isinstance(bounds, str) or not np.iterable(bounds) else list(bounds)
        if len(pair) != 2:
            raise BadParameter(f"feature_bounds must be {_PAIR}.")
        lower, upper = map(_numbers, pair)
        if len(lower) != len(upper) and 1 not in {len(lower), len(upper)}:
            raise BadParameter("`feature_bounds` must have as many lower bounds as upper ones.")
        lower, upper = np.broadcast_arrays(lower, upper)
        if not lower.size or not (lower < upper).all():
            raise BadParameter("`feature_bounds` must have every lower bound below its upper one, as 0 and 1.")
        size = np.maximum(np.abs(lower), np.abs(upper))
        if (size > _LARGEST_BOUND).any() or (size < 1.0 / _LARGEST_BOUND).any():
            raise BadParameter("feature_bounds must lie between 1e-100 and 1e100 in absolute value.")
        if (upper - lower < _NARROWEST * size).any():
            raise BadParameter(
                "feature_bounds are too close together for their size: subtract a public number from the feature first."
            )
        return cls(lower, upper)

    @classmethod
    def read(cls, entry: Document, columns: int) -> FeatureBounds:
        """Those of a model file, one pair a feature; an error, see `model_file.reading`, for other entries."""
        lower, upper = (finite_row(entry[name]) for name in ("lower", "upper"))
        if not len(lower) == len(upper) == columns:
            raise ValueError
        return cls.of((lower, upper))

    def to_dict(self) -> dict[str, list[float]]:
        """The bounds for JSON."""
        return {"lower": self.lower.tolist(), "upper": self.upper.tolist()}

    def for_columns(self, columns: int) -> FeatureBounds:
        """One pair for each feature. Raises BadParameter where there are bounds of another number of features."""
        if len(self.lower) not in {1, columns}:
            raise BadParameter(f"`feature_bounds` must be one pair, or one for each of the {columns} features.")
        return FeatureBounds(*(np.broadcast_to(bound, columns) for bound in (self.lower, self.upper)))

    @property
    def _middle(self) -> Floats:
        return np.asarray((self.lower + self.upper) / 2.0)

    @property
    def _half(self) -> Floats:
        return np.asarray((self.upper - self.lower) / 2.0)

    def rows(self, features: Floats) -> Floats:
        """In [−1, 1]: every value moved to the nearest bound, a missing one at 0."""
        filled = np.where(np.isnan(features), self._middle, features)
        return (np.clip(filled, self.lower, self.upper) - self._middle) / self._half

    def back(self, rows: Floats) -> Floats:
        """Rows in [−1, 1] in the units of the features."""
        return self._middle + rows * self._half

    def split(self, weights: Floats, intercept: float) -> tuple[Floats, float]:
        """Coefficients and intercept that give `back(x)` the decision that the weights give x."""
        coefficients = weights / self._half
        return coefficients, float(intercept - (coefficients * self._middle).sum())


_PAIR = "a lower and an upper bound, such as (0, 100), each one number or one for each feature"


def _numbers(bound: Any) -> Floats:
    if isinstance(bound, str) or not np.iterable(bound):
        bound = [bound]
    return np.array([float(exact_number("feature_bounds", number)) for number in bound])


def within(features: Floats, bounds: FeatureBounds | None, norm_bound: float) -> Floats:
    """The rows clipped as in training, in their own units: a model decides on these, or it would extrapolate."""
    if bounds is None:
        return _shortened(finite(features), norm_bound)
    return bounds.back(_shortened(bounds.rows(features), norm_bound))


def _shortened(rows: Floats, norm_bound: float) -> Floats:
    return rows * (norm_bound / np.maximum(norm_bound, row_norms(rows)))[:, np.newaxis]


def row_norms(features: Floats) -> Floats:
    """Euclidean norms of the rows, not finite where an entry is not; rows of extreme entries are scaled first."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", features, features))
        odd = ~((norms > 1e-140) & (norms < 1e150))
        if odd.any():
            largest = np.abs(features[odd]).max(axis=1, initial=0.0)
            part = features[odd] / np.maximum(largest, np.finfo(np.float64).tiny)[:, np.newaxis]
            norms[odd] = largest * np.sqrt(np.einsum("ij,ij->i", part, part))
    return np.asarray(norms)


def shortened(
    features: Floats, norms: Floats, bound: float, share: float, signs: Floats | None, *, constant: bool
) -> Floats:
    """Rows whose norm is at most `share`: x/`bound`, longer ones shortened first; each times its sign where given.

    With a `constant` column, of value `share`, last. A row depends on that row alone.
    """
    shares = share if signs is None else signs * share
    rows = np.empty((len(features), features.shape[1] + constant))
    factors = shares / np.maximum(bound, norms)
    np.multiply(features, factors[:, np.newaxis], out=rows[:, : features.shape[1]])
    rows[:, features.shape[1] :] = share if signs is None else (signs * share)[:, np.newaxis]
    return rows


@dataclass(frozen=True, slots=True)
class UnitBall:
    """x ↦ x/r for a public norm bound r, or [x/r, 1]/√2 with an intercept, after x was clipped to norm r.

    Where there are bounds of the features, x is first mapped to [−1, 1] by them.
    With the intercept inside the unit ball it is regularised, and protected, as every other weight.

    Attributes:
        norm_bound: r > 0, public.
        intercept: whether a constant column comes last.
        bounds: of the features, one pair for each, or before their number is known one for all; None: x as it is.
    """

    norm_bound: float
    intercept: bool
    bounds: FeatureBounds | None = None

    @classmethod
    def of(cls, norm_bound: Number, *, intercept: bool, feature_bounds: Sequence[object] | None) -> UnitBall:
        """Of the parameters of an estimator. Raises BadParameter."""
        bounds = None if feature_bounds is None else FeatureBounds.of(feature_bounds)
        return cls(float(positive("norm_bound", norm_bound)), intercept, bounds)

    def for_columns(self, columns: int) -> UnitBall:
        """That of rows with `columns` features. Raises BadParameter where there are bounds of another number."""
        return self if self.bounds is None else replace(self, bounds=self.bounds.for_columns(columns))

    @property
    def note(self) -> str:
        """The guarantee's note on clipping."""
        shortened = f"rows are clipped to the public norm bound {self.norm_bound:g}"
        if self.bounds is None:
            return f"{shortened}; {MISSING_NOTE}"
        return (
            "features are clipped to their public bounds and mapped to [-1, 1], a missing value counts as the middle "
            f"of its bounds; {shortened}"
        )

    @property
    def _share(self) -> float:
        """What is left of the unit norm for x/r; the constant column, when there is one, has the same."""
        return _INSIDE * math.sqrt(0.5) if self.intercept else _INSIDE

    def rows(self, features: Floats, signs: Floats | None = None) -> Floats:
        """The rows as the solvers need them: exact norms ≤ 1, shape (n, d) or (n, d + 1), each times its sign if given.

        Total: a row beyond the bound is shortened to it; without bounds of the features an infinite entry counts as the
        largest float, NaN as 0. A row depends on that row alone.
        """
        features = finite(features) if self.bounds is None else self.bounds.rows(features)
        return shortened(features, row_norms(features), self.norm_bound, self._share, signs, constant=self.intercept)

    def split(self, weights: Floats) -> tuple[Floats, float]:
        """Coefficients and intercept, in the user's units, that give rows within the bounds the same decision wᵀx."""
        count = len(weights) - self.intercept
        coefficients = weights[:count] * (self._share / self.norm_bound)
        intercept = float(weights[-1] * self._share) if self.intercept else 0.0
        return (coefficients, intercept) if self.bounds is None else self.bounds.split(coefficients, intercept)
