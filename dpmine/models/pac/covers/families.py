"""Classes of infinitely many hypotheses, and their covers under a public reference distribution.

Proofs: docs/proofs/models/private_learners.md. Whether the data's distribution is smooth to the reference is for the
user to say: it cannot be verified privately.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, log2
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter
from dpmine.models.pac.classes.grid import MOST_POINTS, Grid
from dpmine.models.pac.classes.intervals import Intervals
from dpmine.models.pac.classes.stumps import Stumps
from dpmine.models.pac.classes.thresholds import Thresholds
from dpmine.models.pac.covers.family import Family, require_radius
from dpmine.models.pac.covers.sampled import SampleCover, interval_cover, stump_cover, threshold_cover
from dpmine.models.pac.covers.separators import NetMethod, SeparatorFamily
from dpmine.models.pac.smoothness import THRESHOLD_DIMENSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.models.supervised import Floats
    from dpmine.parameters import Number

__all__ = ["Family", "IntervalFamily", "NetMethod", "SeparatorFamily", "StumpFamily", "ThresholdFamily"]


@dataclass(frozen=True, slots=True)
class ThresholdFamily:
    """x >= t for every t in [lower, upper], the reference uniform between them; made by `of`. VC dimension 1.

    The doubling dimension is 1: an interval is two intervals of half its length.
    Covers: N thresholds at distances 2/(2N − 1), the first at `lower`; a packing of the same radius.
    """

    lower: Fraction
    upper: Fraction
    feature: str = "x"
    name = "thresholds"
    columns = 1
    doubling = float(THRESHOLD_DIMENSION)
    vc = 1
    finest = Fraction(1, 2 * MOST_POINTS - 1)
    sampled = "all real thresholds"

    @classmethod
    def of(cls, lower: Number, upper: Number, *, feature: str = "x") -> ThresholdFamily:
        """Raises BadParameter unless lower < upper."""
        return cls(*_bounds(lower, upper), feature)

    def cover(self, radius: Fraction) -> Thresholds:
        """Thresholds on a public grid."""
        points = self.cover_size(radius)
        last = self.lower + (self.upper - self.lower) * Fraction(2 * points - 2, 2 * points - 1)
        return Thresholds(Grid.of(self.lower, last, points), self.feature)

    def cover_size(self, radius: Fraction) -> int:
        """⌈(1 + r)/(2r)⌉, exact; an r-cover has ⌈1/(2r)⌉ members at least."""
        return ceil((1 + require_radius(self, radius)) / (2 * radius))

    def separation(self, radius: Fraction) -> Fraction:
        """The radius."""
        return require_radius(self, radius)

    def sample_cover(self, features: Floats, radius: Fraction) -> SampleCover:
        """From the order statistics; a packing as well, and the smallest cover there is."""
        return threshold_cover(features[:, 0], radius, self.feature)

    def sample_cover_size(self, radius: Fraction) -> int:
        """⌈1/r⌉."""
        return ceil(1 / radius)


@dataclass(frozen=True, slots=True)
class IntervalFamily:
    """a <= x < b for all a < b in [lower, upper], the reference uniform between them; made by `of`. VC dimension 2.

    The doubling dimension is infinite: around a very short interval, the ball of radius r holds about 1/r disjoint
    intervals of length r, and no ball of radius r/2 holds two of them. No formula in the dimension applies; the size of
    the cover does.
    Covers: the non-empty intervals between points at distances 1/N; a packing of half the radius.
    """

    lower: Fraction
    upper: Fraction
    feature: str = "x"
    name = "intervals"
    columns = 1
    doubling = inf
    vc = 2
    finest = Fraction(1, MOST_POINTS)
    sampled = "all real intervals"

    @classmethod
    def of(cls, lower: Number, upper: Number, *, feature: str = "x") -> IntervalFamily:
        """Raises BadParameter unless lower < upper."""
        return cls(*_bounds(lower, upper), feature)

    def cover(self, radius: Fraction) -> Intervals:
        """Intervals on a public grid; the last end is open, as nothing lies beyond `upper`."""
        return Intervals(_equal_parts(self.lower, self.upper, ceil(1 / require_radius(self, radius))), self.feature)

    def cover_size(self, radius: Fraction) -> int:
        """N(N + 1)/2 for N = ⌈1/r⌉, exact."""
        points = ceil(1 / require_radius(self, radius))
        return points * (points + 1) // 2

    def separation(self, radius: Fraction) -> Fraction:
        """Half the radius."""
        return require_radius(self, radius) / 2

    def sample_cover(self, features: Floats, radius: Fraction) -> SampleCover:
        """From the order statistics."""
        return interval_cover(features[:, 0], radius, self.feature)

    def sample_cover_size(self, radius: Fraction) -> int:
        """n(n − 1)/2 + 1 for n = ⌈2/r⌉."""
        cuts = ceil(2 / radius)
        return cuts * (cuts - 1) // 2 + 1


@dataclass(frozen=True, slots=True)
class StumpFamily:
    """x_f >= t and x_f < t for every feature f and every t between its bounds, the reference uniform on the box.

    Made by `of`. The doubling dimension is at most log2(4d): a ball meets each of the 2d branches (a feature and a
    side) in a piece of length 2r at most, which two balls of radius r/2 cover. With one feature the branches are a
    circle, of dimension 1. VC dimension: m records have at most 2d(m − 1) + 2 labellings.
    Covers: N thresholds a branch at distances 1/N. The two constant stumps occur once for each feature; all others are
    farther apart than the radius, and with one feature all are.
    """

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    features: tuple[str, ...]
    name = "stumps"
    finest = Fraction(1, 2 * MOST_POINTS)
    sampled = "all real stumps"

    @classmethod
    def of(
        cls, lower: Sequence[Number], upper: Sequence[Number], *, features: Sequence[str] | None = None
    ) -> StumpFamily:
        """Bounds of each feature, and names. Raises BadParameter unless they fit each other and lower < upper."""
        names = tuple(features) if features is not None else tuple(f"x{i + 1}" for i in range(len(lower)))
        if not 0 < len(lower) == len(upper) == len(names):
            raise BadParameter("lower, upper and features must be as many as there are features, at least one.")
        pairs = [_bounds(low, high) for low, high in zip(lower, upper, strict=True)]
        return cls(tuple(low for low, _ in pairs), tuple(high for _, high in pairs), names)

    @property
    def columns(self) -> int:
        """The number of features, d."""
        return len(self.features)

    @property
    def doubling(self) -> float:
        """log2(4d); 1 for one feature."""
        return 1.0 if self.columns == 1 else 2 + log2(self.columns)

    @property
    def vc(self) -> int:
        """The largest m with 2^m ≤ 2d(m − 1) + 2: an upper bound."""
        records = 1
        while 2 ** (records + 1) <= 2 * self.columns * records + 2:
            records += 1
        return records

    def cover(self, radius: Fraction) -> Stumps:
        """Stumps on public grids."""
        points = self._points(radius)
        grids = [_equal_parts(low, high, points) for low, high in zip(self.lower, self.upper, strict=True)]
        return Stumps(tuple(grids), self.features)

    def cover_size(self, radius: Fraction) -> int:
        """2dN for N = ⌈1/(2r)⌉, exact."""
        return 2 * self.columns * self._points(radius)

    def separation(self, radius: Fraction) -> Fraction:
        """The radius with one feature; −1 with several, as the constants occur again."""
        own = require_radius(self, radius)
        return own if self.columns == 1 else Fraction(-1)

    def sample_cover(self, features: Floats, radius: Fraction) -> SampleCover:
        """From the order statistics of each feature."""
        return stump_cover(features, radius, self.features)

    def sample_cover_size(self, radius: Fraction) -> int:
        """2d⌈1/r⌉."""
        return 2 * self.columns * ceil(1 / radius)

    def _points(self, radius: Fraction) -> int:
        return ceil(1 / (2 * require_radius(self, radius)))


def _bounds(lower: Number, upper: Number) -> tuple[Fraction, Fraction]:
    grid = Grid.of(lower, upper, 1)
    return grid.lower, grid.upper


def _equal_parts(lower: Fraction, upper: Fraction, parts: int) -> Grid:
    """The left ends of that many equal parts."""
    return Grid.of(lower, upper if parts == 1 else lower + (upper - lower) * Fraction(parts - 1, parts), parts)
