"""Labelled records, as hypothesis classes see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpmine.models.supervised import Floats

Bools: TypeAlias = "NDArray[np.bool_]"
"""Arrays of truth values."""


@dataclass(frozen=True, eq=False, slots=True)
class Records:
    """m records of d features and a label each; one record is one privacy unit.

    Attributes:
        features: float64, shape (m, d), finite.
        positive: bool, shape (m,): whether the label is the second of the two classes.
    """

    features: Floats
    positive: Bools

    def __len__(self) -> int:
        return len(self.positive)
