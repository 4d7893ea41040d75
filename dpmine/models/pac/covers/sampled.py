"""Thresholds and intervals at the values of an unlabelled sample: covers by its own disagreement metric.

Proof: docs/proofs/models/private_learners.md, section 3. Only for features that are public, as under label privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, inf
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.models.pac.classes.thresholds import CutSide
from dpmine.selection.universes.dense import Dense

if TYPE_CHECKING:
    from fractions import Fraction

    from dpmine.models.pac.hypothesis import Bools, Hypothesis, Records
    from dpmine.models.supervised import Floats

_NEVER = "never"
_ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class RealThreshold:
    """x >= t, or x < t, for one feature and any number t.

    Attributes:
        threshold: t, a value of the sample, or infinity.
        side: which side is the second class.
        column: position of the feature.
        feature: its name.
    """

    threshold: float
    side: CutSide = CutSide.AT_LEAST
    column: int = 0
    feature: str = "x"

    def predict(self, features: Floats) -> Bools:
        """Whether each row of `features`, shape (n, d), is on the side."""
        reached: Bools = features[:, self.column] >= self.threshold
        return reached if self.side is CutSide.AT_LEAST else ~reached

    def parameters(self) -> dict[str, Any]:
        """Feature, side and t; None for infinity."""
        return {"feature": self.feature, "side": str(self.side), "threshold": _plain(self.threshold)}

    def __str__(self) -> str:
        if self.threshold == inf:
            return _NEVER if self.side is CutSide.AT_LEAST else _ALWAYS
        return f"{self.feature} {self.side} {self.threshold:.6g}"


@dataclass(frozen=True, slots=True)
class RealInterval:
    """a <= x < b for the first feature and any numbers a ≤ b.

    Attributes:
        lower: a, a value of the sample, or infinity.
        upper: b, alike.
        feature: the feature's name.
    """

    lower: float
    upper: float
    feature: str = "x"

    def predict(self, features: Floats) -> Bools:
        """Whether each row of `features`, shape (n, d), is inside."""
        inside: Bools = (features[:, 0] >= self.lower) & (features[:, 0] < self.upper)
        return inside

    def parameters(self) -> dict[str, Any]:
        """Feature and both ends; None for infinity."""
        return {"feature": self.feature, "lower": _plain(self.lower), "upper": _plain(self.upper)}

    def __str__(self) -> str:
        if self.lower == self.upper:
            return _NEVER
        above = f"{self.feature} < {self.upper:.6g}" if self.upper < inf else ""
        return f"{self.lower:.6g} <= {above}" if above else f"{self.feature} >= {self.lower:.6g}"


@dataclass(frozen=True, slots=True)
class SampleCover:
    """A few hypotheses, scored one by one.

    Attributes:
        name: that of the class they cover.
        columns: how many features that class sees.
        hypotheses: at least one.
    """

    name: str
    columns: int
    hypotheses: tuple[Hypothesis, ...]

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.hypotheses)

    def universe(self, records: Records) -> Dense:
        """Candidates 0 … K − 1 with exact scores."""
        return Dense([records.correct(hypothesis) for hypothesis in self.hypotheses])

    def hypothesis(self, candidate: int) -> Hypothesis:
        """The one with that number."""
        return self.hypotheses[candidate]


def threshold_cuts(values: Floats, radius: Fraction) -> tuple[float, ...]:
    """Thresholds x >= t at values of a sample, shape (m,), m ≥ 1, one of them infinity perhaps.

    Law: an r-cover of all real thresholds by the share of the sample on which they differ, an r-packing, and no r-cover
    has fewer members. There are at most ⌈1/r⌉.
    """
    cuts, counts = np.unique(values, return_counts=True)
    below = np.concatenate([[0], np.cumsum(counts)])  # records below each value, and below infinity
    reach = floor(radius * len(values))
    chosen, first = [], 0
    while first < len(below):
        centre = int(np.searchsorted(below, below[first] + reach, side="right")) - 1
        chosen.append(centre)
        first = int(np.searchsorted(below, below[centre] + reach, side="right"))
    thresholds = np.append(cuts, inf)[chosen].tolist()
    return tuple(thresholds)


def _plain(number: float) -> float | None:
    return number if number < inf else None
