"""Classes of infinitely many hypotheses, and their covers under a public reference distribution.

Whether the data's distribution is smooth to the reference is for the user to say: it cannot be verified privately.
Covers by the disagreements on an unlabelled sample are for features that are public only, as under label privacy.
Proofs: docs/proofs/models/private_learners.md; section 3 is on samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import ceil, floor, inf
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.pac.intervals import Intervals
from dpmine.models.pac.thresholds import MOST_POINTS, CutSide, PublicGrid, Stumps, Thresholds
from dpmine.selection.universes.dense import Dense

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.models.entries import Floats
    from dpmine.models.pac.hypothesis import AnyClass, Bools, Hypothesis, Records
    from dpmine.parameters import Number


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
        columns: how many features the class that they cover sees.
        hypotheses: at least one.
    """

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


COARSEST = Fraction(1, 4)
"""No learner asks for a coarser cover: it takes radius a/4 or less."""


class Family(ABC):
    """A class H, perhaps infinite, with a public reference distribution U; ρ_U is the share on which two differ.

    Attributes:
        name: what the class is called.
        columns: how many features its hypotheses see.
        vc: the VC dimension, or an upper bound on it.
        apart: two members of a cover are farther apart than its radius times this; below 0 where some may be equal.
        finest: the least radius of a cover that can be made.
        sampled: the class that `sample_cover` covers, in words.
    """

    __slots__ = ()
    name: Any
    columns: Any
    vc: Any
    apart: Any
    finest: Any
    sampled: Any

    @abstractmethod
    def cover(self, radius: Fraction) -> AnyClass:
        """An r-cover of (H, ρ_U). Raises BadParameter for radii outside [finest, 1/4]."""

    def cover_size(self, radius: Fraction) -> int:
        """|cover(radius)|, which is known without its members. Same errors."""
        return self.cover(radius).size

    def separation(self, radius: Fraction) -> Fraction:
        """Two members of `cover(radius)` are always farther apart than this by ρ_U; below 0 where some may be equal."""
        return Fraction(self.apart) * self.checked(radius)

    @abstractmethod
    def sample_cover(self, features: Floats, radius: Fraction) -> AnyClass:
        """An r-cover of the class `sampled` by the share of these rows, shape (m, columns), on which two differ."""

    @abstractmethod
    def sample_cover_size(self, radius: Fraction) -> int:
        """What |sample_cover(features, radius)| is at most, whatever the rows."""

    def checked(self, radius: Fraction) -> Fraction:
        """The radius, if there are such covers; BadParameter otherwise."""
        if radius > COARSEST:
            raise BadParameter("A cover needs a radius of at most 1/4.")
        if radius < self.finest:
            raise BadParameter(
                f"A cover of {self.name} needs a radius of at least {float(self.finest):.3g}: a finer one has too many "
                "hypotheses to score."
            )
        return radius


@dataclass(frozen=True, slots=True)
class _OnInterval(Family):
    """Rules of one feature, the reference uniform on [lower, upper]; made by `of`."""

    lower: Fraction
    upper: Fraction
    feature: str = "x"
    columns = 1

    @classmethod
    def of(cls, lower: Number, upper: Number, *, feature: str = "x") -> Self:
        """Raises BadParameter unless lower < upper."""
        return cls(*_bounds(lower, upper), feature)


class ThresholdFamily(_OnInterval):
    """x >= t for every t in [lower, upper], the reference uniform between them; made by `of`. VC dimension 1.

    The doubling dimension is 1: an interval is two intervals of half its length.
    Covers: N thresholds at distances 2/(2N − 1), the first at `lower`; a packing of the same radius.
    """

    __slots__ = ()
    name = "thresholds"
    vc = 1
    apart = 1
    finest = Fraction(1, 2 * MOST_POINTS - 1)
    sampled = "all real thresholds"

    def cover(self, radius: Fraction) -> Thresholds:
        """⌈(1 + r)/(2r)⌉ thresholds on a public grid; an r-cover has ⌈1/(2r)⌉ members at least."""
        points = ceil((1 + self.checked(radius)) / (2 * radius))
        last = self.lower + (self.upper - self.lower) * Fraction(2 * points - 2, 2 * points - 1)
        return Thresholds(PublicGrid.of(self.lower, last, points), self.feature)

    def sample_cover(self, features: Floats, radius: Fraction) -> SampleCover:
        """From the order statistics; a packing as well, and the smallest cover there is."""
        cuts = threshold_cuts(features[:, 0], radius)
        return SampleCover(1, tuple(RealThreshold(cut, feature=self.feature) for cut in cuts))

    def sample_cover_size(self, radius: Fraction) -> int:
        """⌈1/r⌉."""
        return ceil(1 / radius)


class IntervalFamily(_OnInterval):
    """a <= x < b for all a < b in [lower, upper], the reference uniform between them; made by `of`. VC dimension 2.

    The doubling dimension is infinite. Around a very short interval, the ball of radius r holds about 1/r disjoint
    intervals of length r. No ball of radius r/2 holds two of them. So no formula in the dimension applies; the size of
    the cover is used.
    Covers: the non-empty intervals between points at distances 1/N; a packing of half the radius.
    """

    __slots__ = ()
    name = "intervals"
    vc = 2
    apart = Fraction(1, 2)
    finest = Fraction(1, MOST_POINTS)
    sampled = "all real intervals"

    def cover(self, radius: Fraction) -> Intervals:
        """N(N + 1)/2 intervals of ⌈1/r⌉ = N points; the last end is open, as nothing lies beyond `upper`."""
        return Intervals(_equal_parts(self.lower, self.upper, ceil(1 / self.checked(radius))), self.feature)

    def sample_cover(self, features: Floats, radius: Fraction) -> SampleCover:
        """All a <= x < b between cuts of radius r/2, and the empty interval: not a packing."""
        ends = [(inf, inf), *combinations(threshold_cuts(features[:, 0], radius / 2), 2)]
        return SampleCover(1, tuple(RealInterval(a, b, self.feature) for a, b in ends))

    def sample_cover_size(self, radius: Fraction) -> int:
        """n(n − 1)/2 + 1 for n = ⌈2/r⌉."""
        cuts = ceil(2 / radius)
        return cuts * (cuts - 1) // 2 + 1


@dataclass(frozen=True, slots=True)
class StumpFamily(Family):
    """x_f >= t and x_f < t for every feature f and every t between its bounds, the reference uniform on the box.

    Made by `of`. The doubling dimension is at most log2(4d). A branch is a feature and a side. A ball meets each of the
    2d branches in a piece of length 2r at most, which two balls of radius r/2 cover. With one feature the branches are
    a circle, of dimension 1. VC dimension: m records have at most 2d(m − 1) + 2 labellings.
    Covers: N thresholds per branch at distances 1/N. The two constant stumps occur once for each feature. All others
    are farther apart than the radius, and with one feature all are.
    """

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    features: tuple[str, ...]
    name = "stumps"
    finest = Fraction(1, 2 * MOST_POINTS)
    sampled = "all real stumps"

    @classmethod
    def of(cls, lower: Sequence[Number], upper: Sequence[Number], *, features: Sequence[str] | None = None) -> Self:
        """Bounds of each feature, and names. Raises BadParameter unless they fit each other and lower < upper."""
        names = tuple(features) if features is not None else tuple(f"x{i + 1}" for i in range(len(lower)))
        if not 0 < len(lower) == len(upper) == len(names):
            raise BadParameter("lower, upper and features must be as many as there are features, at least one.")
        lows, highs = zip(*map(_bounds, lower, upper), strict=True)
        return cls(lows, highs, names)

    @property
    def columns(self) -> int:
        """The number of features, d."""
        return len(self.features)

    @property
    def vc(self) -> int:
        """The largest m with 2^m ≤ 2d(m − 1) + 2: an upper bound."""
        records = 1
        while 2 ** (records + 1) <= 2 * self.columns * records + 2:
            records += 1
        return records

    @property
    def apart(self) -> int:
        """With several features, the constants occur again."""
        return 1 if self.columns == 1 else -1

    def cover(self, radius: Fraction) -> Stumps:
        """2dN stumps on public grids, for N = ⌈1/(2r)⌉."""
        points = ceil(1 / (2 * self.checked(radius)))
        grids = [_equal_parts(low, high, points) for low, high in zip(self.lower, self.upper, strict=True)]
        return Stumps(tuple(grids), self.features)

    def sample_cover(self, features: Floats, radius: Fraction) -> SampleCover:
        """The cuts of every feature, on both sides: not a packing, as stumps of different features may agree."""
        cuts = [
            RealThreshold(cut, side, column, name)
            for column, name in enumerate(self.features)
            for cut in threshold_cuts(features[:, column], radius)
            for side in CutSide
        ]
        return SampleCover(self.columns, tuple(cuts))

    def sample_cover_size(self, radius: Fraction) -> int:
        """2d⌈1/r⌉."""
        return 2 * self.columns * ceil(1 / radius)


def _bounds(lower: Number, upper: Number) -> tuple[Fraction, Fraction]:
    grid = PublicGrid.of(lower, upper, 1)
    return grid.lower, grid.upper


def _equal_parts(lower: Fraction, upper: Fraction, parts: int) -> PublicGrid:
    """The left ends of that many equal parts."""
    return PublicGrid.of(lower, upper if parts == 1 else lower + (upper - lower) * Fraction(parts - 1, parts), parts)
