"""The mean of a target, privately.

Targets between public bounds are put on a grid of whole numbers, and discrete Laplace noise is added to their sum.
Proof: docs/proofs/models/toy.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpmine.exact.noise import discrete_laplace_of_scale
from dpmine.models.contribution import require_any
from dpmine.models.supervised import PrivateRegressor, checked_features, checked_targets
from dpmine.parameters import Number, positive
from dpmine.privacy import ROW, Guarantee, Neighbors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.models.contribution import Bounding
    from dpmine.models.entries import Entries

_STEPS = 1000


@dataclass(frozen=True)
class ToySettings:
    """ε of a unit, and how many rows it has."""

    epsilon: Fraction
    rows: int

    def guarantee(self) -> Guarantee:
        """ε for all rows of a unit together."""
        return Guarantee(self.epsilon, Fraction(0), Neighbors.REPLACE_ONE, ROW)


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateToy(PrivateRegressor[ToySettings]):
    """Predicts the mean of y, whose values are put between −1 and 1.

    Args:
        epsilon: ε > 0, read exactly.
    """

    epsilon: Number = 1

    def _settings(self, rows: int, features: Sequence[str] | None = None) -> ToySettings:
        return ToySettings(positive("epsilon", self.epsilon), rows)

    def _learn(self, X: Entries, y: Entries, settings: ToySettings, bounding: Bounding, *, bits: BitSource) -> None:
        rows = checked_features(self, X, reset=True)
        places = require_any(bounding.places(len(rows), bits=bits))
        steps = np.rint(_STEPS * np.clip(checked_targets(self, y, len(rows)), -1, 1)).astype(np.int64)
        noise = discrete_laplace_of_scale(2 * _STEPS * settings.rows / settings.epsilon, bits=bits)
        self.mean_ = (int(places.of(steps).sum()) + noise) / (_STEPS * places.size)
        self.guarantee_ = settings.guarantee()

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """The mean for every row, shape (n,)."""
        return np.full(len(checked_features(self, X, reset=False)), self.mean_)
