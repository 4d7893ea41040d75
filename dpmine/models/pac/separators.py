"""Linear separators through the origin with integer weights: Σ w_i x_i/bound_i >= 0.

Proof: docs/proofs/models/private_learners.md.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import asin, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.errors import BadParameter
from dpmine.itemsets.counting.rows import in_parallel
from dpmine.kernels import INSTRUCTIONS, kernel
from dpmine.models.pac.hypothesis import Bools, Records, candidate_number
from dpmine.parameters import Number, positive, whole
from dpmine.selection.universes.dense import Dense

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from dpmine.models.entries import Floats

MOST_DIMENSIONS = 6
"""The loop over signs has six coordinates; fewer are filled up with zeros."""
MOST_WEIGHTS = 2**20
"""The most weight vectors of a class; with 50,000 records, this many take about ten seconds."""
GRID_STEPS = 2**20
"""A feature is rounded to whole multiples of its bound/2^20, between −bound and bound."""
_BLOCK = 256  # candidates whose predictions are made at a time
_PRODUCTS = 20_000_000  # that a thread takes at a time, some hundredths of a second: then an interrupt is served


@dataclass(frozen=True, slots=True)
class Separator:
    """Σ w_i x_i/bound_i >= 0 for integer weights; features are rounded to the public grid first.

    Attributes:
        weights: one a feature, not all 0.
        bounds: the features' public bounds, one each.
        features: their names.
    """

    weights: tuple[int, ...]
    bounds: tuple[Fraction, ...]
    features: tuple[str, ...]

    def predict(self, features: Floats) -> Bools:
        """Whether the rule holds for each row of `features`, shape (n, d); exact on the rounded features.

        Raises BadParameter for another number of columns.
        """
        products = rounded(features, self.bounds) @ np.array(self.weights, np.float64)
        inside: Bools = products >= 0
        return inside

    def parameters(self) -> dict[str, Any]:
        """Weights by feature, and the features' bounds, as floats and exactly."""
        return {
            "features": list(self.features),
            "weights": list(self.weights),
            "bounds": [float(bound) for bound in self.bounds],
            "bounds_exact": [str(bound) for bound in self.bounds],
        }

    def __str__(self) -> str:
        """Bounds that are all equal are left out: a common factor changes no sign."""
        terms = [term for term in zip(self.weights, self.features, self.bounds, strict=True) if term[0]]
        common = len({bound for *_, bound in terms}) == 1
        text = " ".join(
            f"{'-' if weight < 0 else '+'} {_factor(abs(weight))}{name}{'' if common else _divisor(bound)}"
            for weight, name, bound in terms
        )
        return f"{text.removeprefix('+ ')} >= 0"


@dataclass(frozen=True, slots=True)
class Separators:
    """All w in {−k, …, k}^d with max |w_i| = k, no two of them in the same direction; made by `Separators.of`.

    Every direction lies within the angle asin(√(d − 1)/(2k)) of one of them (`net_angle`).

    Attributes:
        columns: the number of features, d.
        resolution: k.
        bounds: public bounds of the features' absolute values, one each; what lies beyond ±bound counts as ±bound.
        features: the features' names.
    """

    columns: int
    resolution: int
    bounds: tuple[Fraction, ...]
    features: tuple[str, ...]

    @classmethod
    def of(
        cls,
        dimension: int,
        resolution: int,
        *,
        bound: Number | Sequence[Number] = 1,
        features: Sequence[str] | None = None,
    ) -> Separators:
        """`bound`: one for all features, or one a feature.

        Raises BadParameter unless 2 ≤ d ≤ 6, k ≥ 1, there are at most 2^20 weights, and a name and a bound for each
        feature.
        """
        require_dimension(dimension, resolution)
        if net_size(dimension, resolution) > MOST_WEIGHTS:
            raise BadParameter(
                f"resolution {resolution} of {dimension} features makes {net_size(dimension, resolution)} separators: "
                f"at most {MOST_WEIGHTS} can be scored, so take resolution {finest_resolution(dimension)} or less."
            )
        names = tuple(features) if features is not None else tuple(f"x{i + 1}" for i in range(dimension))
        if len(names) != dimension:
            raise BadParameter(f"features must be {dimension} names, one a dimension.")
        return cls(dimension, resolution, _bounds(bound, dimension), names)

    @property
    def size(self) -> int:
        """(2k + 1)^d − (2k − 1)^d."""
        return net_size(self.columns, self.resolution)

    def weights(self) -> NDArray[np.int32]:
        """All weight vectors, int32, shape (K, d); the second half are the first with the opposite sign, in order."""
        half = _positive_faces(self.columns, self.resolution)
        return np.concatenate([half, -half])

    def universe(self, records: Records) -> Dense:
        """Candidates 0 … K − 1 in the order of `weights`, with exact scores."""
        return Dense(self.correct(records))

    def correct(self, records: Records) -> NDArray[np.int64]:
        """How many records each candidate classifies correctly: int64, shape (K,).

        w: the positives with w·x ≥ 0 and the negatives with w·x < 0. −w: those with w·x ≤ 0, and with w·x > 0.
        Opposite weights share their inner products: m·K/2 of them are looked at, in O(m + K) memory.
        """
        points = rounded(records.features, self.bounds)
        half = _positive_faces(self.columns, self.resolution).astype(np.float64)
        positives, negatives = points[records.positive], points[~records.positive]
        above, below = sign_counts(half, positives)
        above_wrong, below_right = sign_counts(half, negatives)
        return np.concatenate([len(positives) - below + below_right, len(positives) - above + above_wrong])

    def hypothesis(self, candidate: int) -> Separator:
        """The separator with those weights; TypeError or IndexError where there is none."""
        weights = self.weights()[candidate_number(candidate, self.size)].tolist()
        return Separator(tuple(weights), self.bounds, self.features)

    def predictions(self, features: Floats) -> Iterator[Bools]:
        """Predictions of all candidates for rows (m, d), in blocks of bool rows (b, m), a row a candidate."""
        points, weights = rounded(features, self.bounds).T, self.weights().astype(np.float64)
        for start in range(0, len(weights), _BLOCK):
            yield weights[start : start + _BLOCK] @ points >= 0


def net_size(dimension: int, resolution: int) -> int:
    """(2k + 1)^d − (2k − 1)^d: the integer vectors on the surface of the cube [−k, k]^d."""
    return int((2 * resolution + 1) ** dimension - (2 * resolution - 1) ** dimension)


def net_angle(dimension: int, resolution: int) -> float:
    """asin(√(d − 1)/(2k)), rounded up; π/2 where that is no sine: no direction is farther from the net, in radians.

    Source: docs/proofs/models/private_learners.md, section 2.
    """
    sine = sqrt(dimension - 1) / (2 * resolution)
    return pi / 2 if sine >= 1 else asin(sine) * (1 + 2.0**-48)


def net_resolution(dimension: int, angle: float) -> int:
    """The least resolution k whose net angle is at most `angle` > 0, in radians."""
    return 1 + bisect_left(range(1, 2**62), True, key=lambda resolution: net_angle(dimension, resolution) <= angle)


def finest_resolution(dimension: int, most: int = MOST_WEIGHTS) -> int:
    """The largest resolution whose net has at most `most` ≥ K(1) vectors."""
    return bisect_right(range(1, most + 1), most, key=lambda resolution: net_size(dimension, resolution))


def require_dimension(dimension: int, resolution: int) -> None:
    """Raises BadParameter unless 2 ≤ d ≤ 6 and k ≥ 1."""
    whole("resolution", resolution)
    if whole("dimension", dimension, least=2) > MOST_DIMENSIONS:
        raise BadParameter(
            f"dimension {dimension} needs {net_size(dimension, resolution)} separators at resolution {resolution}: "
            f"covers of separators are practical for at most {MOST_DIMENSIONS} features."
        )


def rounded(features: Floats, bounds: tuple[Fraction, ...]) -> Floats:
    """Features as whole numbers of steps of their bound/2^20, cut at ±2^20; float64, same shape (n, d).

    Inner products with weights up to 2^30 are exact then: |w·x| ≤ 6·2^30·2^20 < 2^53. Raises BadParameter unless there
    are as many features as bounds.
    """
    if features.shape[1:] != (len(bounds),):
        raise BadParameter(f"The separators have {len(bounds)} weights: give as many features.")
    with np.errstate(over="ignore"):
        steps: Floats = np.rint(features * np.array([float(GRID_STEPS / bound) for bound in bounds]))
    return np.clip(steps, -GRID_STEPS, GRID_STEPS)


def _bounds(bound: Number | Sequence[Number], dimension: int) -> tuple[Fraction, ...]:
    """One a feature. Raises BadParameter unless all are positive."""
    if isinstance(bound, str) or not isinstance(bound, Sequence | np.ndarray):
        return (positive("bound", bound),) * dimension
    if len(bound) != dimension:
        raise BadParameter(f"bound must be one number, or {dimension}, one a feature.")
    return tuple(positive("bound", each) for each in bound)


def _factor(weight: int) -> str:
    return "" if weight == 1 else f"{weight}*"


def _divisor(bound: Fraction) -> str:
    return "" if bound == 1 else f"/{float(bound):.6g}"


def _positive_faces(dimension: int, resolution: int) -> NDArray[np.int32]:
    """The vectors whose first coordinate of absolute value k is +k: one of each opposite pair."""
    free, inner = 2 * resolution + 1, 2 * resolution - 1
    faces = []
    for axis in range(dimension):
        shape = (inner,) * axis + (1,) + (free,) * (dimension - axis - 1)
        face = np.indices(shape, dtype=np.int32).reshape(dimension, -1).T
        offsets = [1 - resolution] * axis + [resolution] + [-resolution] * (dimension - axis - 1)
        faces.append(face + np.array(offsets, np.int32))
    return np.concatenate(faces)


_signs = kernel("signs")


def sign_counts(weights: Floats, points: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many points have w·x > 0, and how many w·x < 0, for every w: two int64 arrays of shape (k,).

    `weights`: (k, d), `points`: (n, d), d ≤ 6, whole numbers so small that every w·x is exact in float64.
    Memory: O(k + n), whatever k·n is.
    """
    columns = np.zeros((MOST_DIMENSIONS, len(points)))
    columns[: points.shape[1]] = points.T
    filled = np.zeros((len(weights), MOST_DIMENSIONS))
    filled[:, : weights.shape[1]] = weights
    above, below = np.zeros(len(weights), np.int64), np.zeros(len(weights), np.int64)

    vectors = max(1, _PRODUCTS // max(1, len(points)))

    def count(start: int) -> None:
        part = slice(start, start + vectors)
        _signs(filled[part], columns, above[part], below[part], INSTRUCTIONS)

    in_parallel(count, range(0, len(weights), vectors))
    return above, below
