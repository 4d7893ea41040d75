"""Intervals on a public grid: a <= x < b."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isqrt
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpmine.exact.reals import uniform_below
from dpmine.kernels import kernel
from dpmine.models.pac.hypothesis import Bools, Records, candidate_number
from dpmine.models.pac.thresholds import PublicGrid, Runs, located
from dpmine.selection.universes.protocol import Level, Score

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.models.entries import Floats

PlacePair: TypeAlias = tuple[int, int]
"""First place inside, first place after; the place after the last point stands for no upper end."""

_PRIMES = (2147483647, 2147483629, 2147483587, 2147483579, 2147483563)  # the largest below 2^31
_FIRST_DEPTH = 64  # errors more than the best one's that are counted at first


@dataclass(frozen=True, slots=True)
class Interval:
    """a <= x < b for one feature; values outside the grid's bounds count as the nearest bound.

    Attributes:
        grid: public.
        ends: places of a and b; b may be the place after the last point: then there is no upper end.
        feature: the feature's name.
    """

    grid: PublicGrid
    ends: PlacePair
    feature: str = "x"

    def __post_init__(self) -> None:
        """Raises IndexError for places that the grid does not have in that order."""
        if not 0 <= self.ends[0] < self.ends[1] <= self.grid.points:
            raise IndexError("the grid has no such interval")

    @property
    def lower(self) -> Fraction:
        """The a of the rule."""
        return self.grid.cut(self.ends[0])

    @property
    def upper(self) -> Fraction | None:
        """The b of the rule, None for no upper end."""
        return self.grid.cut(self.ends[1]) if self.ends[1] < self.grid.points else None

    def predict(self, features: Floats) -> Bools:
        """Whether each row of `features`, shape (n, 1), is inside."""
        places = self.grid.places(features[:, 0])
        inside: Bools = (places >= np.uint64(self.ends[0])) & (places <= np.uint64(self.ends[1] - 1))
        return inside

    def parameters(self) -> dict[str, Any]:
        """Feature and both ends, as floats and exactly."""
        upper = self.upper
        return {
            "feature": self.feature,
            "lower": float(self.lower),
            "upper": None if upper is None else float(upper),
            "lower_exact": str(self.lower),
            "upper_exact": None if upper is None else str(upper),
        }

    def __str__(self) -> str:
        first, after = self.ends
        if self.upper is None:
            return f"{self.feature} >= {self.grid.written(first)}"
        return f"{self.grid.written(first)} <= {self.feature} < {self.grid.written(after)}"


@dataclass(frozen=True, slots=True)
class Intervals:
    """a <= x < b for all points a < b of a public grid of up to 2^64, and a <= x without an upper end.

    Attributes:
        grid: the points.
        feature: what the one feature is called.
    """

    grid: PublicGrid
    feature: str = "x"
    columns = 1

    @property
    def size(self) -> int:
        """N(N + 1)/2 for N points."""
        return self.grid.points * (self.grid.points + 1) // 2

    def universe(self, records: Records) -> IntervalUniverse:
        """Counted as deep as the mechanism asks."""
        runs = Runs.of(self.grid, records.features[:, 0], records.positive, self.grid.points)
        return IntervalUniverse(runs, negatives=len(records) - int(records.positive.sum()))

    def hypothesis(self, candidate: PlacePair) -> Interval:
        """The interval between those places. Raises LookupError, ValueError or TypeError for what is no candidate."""
        first, after = candidate
        ends = candidate_number(first, self.grid.points), candidate_number(after, self.grid.points + 1)
        return Interval(self.grid, ends, self.feature)


class IntervalUniverse:
    """All pairs of places; the score of a pair is the negatives and what the gain rises by between its ends.

    A record takes as many operations as there are scores within its reach. So the best intervals are found in one pass,
    and deeper ones in longer passes.
    """

    padding = 0
    least = 0

    def __init__(self, runs: Runs, *, negatives: int) -> None:
        self._runs = runs
        self._negatives = negatives
        places = sum(runs.sizes)
        self.size = places * (places - 1) // 2
        rises = runs.gains[1:] - np.minimum.accumulate(runs.gains)[:-1]
        self._best = int(rises.max(initial=0 if places > len(runs) else rises[0]))  # 0: within a run
        self._floor = self._best + 1
        self._levels: list[Level] = []

    def top(self) -> int:
        """The most records that an interval classifies correctly."""
        return self._negatives + self._best

    def head(self, floor: Score) -> Sequence[Level]:
        """All levels with score ≥ `floor`."""
        wanted = max(-self._negatives, ceil(floor) - self._negatives)
        if wanted < self._floor:
            self._levels += [
                Level(self._negatives + rise, count)
                for rise, count in reversed(list(enumerate(self._counts(wanted, self._floor - 1), start=wanted)))
                if count
            ]
            self._floor = wanted
        return [level for level in self._levels if level.score >= floor]

    def below(self, floor: Score) -> int:
        """One less than the floor: scores are whole."""
        return ceil(floor) - 1

    def lower(self, floor: Score) -> int:
        """Twice as deep below the best score."""
        return max(self.least, self.top() - max(_FIRST_DEPTH, 2 * (self.top() - ceil(floor))))

    def member(self, level: Level, *, bits: BitSource) -> PlacePair:
        """A uniform interval of the level: its later run by rank, then its earlier one, then the places in both."""
        return self._pair(int(level.score) - self._negatives, uniform_below(level.count, bits=bits))

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[PlacePair, int]:
        """A uniform interval with a score below `floor`, by rejection from all intervals."""
        while True:
            ends = _two_of(0, uniform_below(self.size, bits=bits))
            first, last = map(self._runs.run_of, ends)
            score = self._negatives + int(self._runs.gains[last] - self._runs.gains[first])
            if score < floor:
                return ends, score

    def _counts(self, least: int, most: int) -> list[int]:
        """How many intervals raise the gain by each of `least` … `most`.

        Counted modulo primes, and put together by the Chinese remainder theorem in Garner's form.
        """
        gains, sizes = self._runs.gains, self._runs.sizes
        counts, product = np.zeros(most - least + 1, object), 1
        for prime in _PRIMES:
            if product > self.size:
                break
            residues = np.array([size % prime for size in sizes], np.uint64)
            residues_found = pairs_by_difference(gains, residues, least, most, prime).astype(object)
            counts += product * ((residues_found - counts) * pow(product, -1, prime) % prime)
            product *= prime
        if least <= 0 <= most:
            counts[-least] += sum(size * (size - 1) // 2 for size in sizes)
        return list(counts)

    def _pair(self, rise: int, number: int) -> PlacePair:
        """Interval `number` of those that raise the gain by `rise`."""
        seen: dict[int, int] = {}
        runs = self._runs
        for start, size, gain in zip(runs.starts, runs.sizes, runs.gains.tolist(), strict=True):
            earlier = seen.get(gain - rise, 0)
            inside = size * (size - 1) // 2 if not rise else 0
            if number < size * earlier:
                offset, rank = divmod(number, earlier)
                return self._place_with(gain - rise, rank), start + offset
            number -= size * earlier
            if number < inside:
                return _two_of(start, number)
            number -= inside
            seen[gain] = seen.get(gain, 0) + size
        raise LookupError("the level has fewer intervals")

    def _place_with(self, gain: int, rank: int) -> int:
        """Place number `rank` among those with this gain."""
        of_gain = np.flatnonzero(self._runs.gains == gain).tolist()
        position, offset = located(rank, (self._runs.sizes[run] for run in of_gain))
        return self._runs.starts[of_gain[position]] + offset


def _two_of(start: int, number: int) -> PlacePair:
    """Pair `number` of the places from `start` on: pairs ordered by their later place, then by the earlier one."""
    later = (1 + isqrt(8 * number + 1)) // 2
    return start + number - later * (later - 1) // 2, start + later


_pairs_by_difference = kernel("pairs_by_difference")
_DIFFERENCES = 50_000_000  # that are looked at, some tenths of a second, before an interrupt is served


def pairs_by_difference(
    gains: NDArray[np.int64], sizes: NDArray[np.uint64], least: int, most: int, prime: int
) -> NDArray[np.uint64]:
    """Residues modulo `prime` < 2^31: at v − `least`, Σ sizes_i · sizes_j over i < j with gains_j − gains_i = v.

    `sizes` are residues themselves. Only v of `least` … `most` are counted.
    """
    lowest, highest = int(gains.min()), int(gains.max())
    seen, found = np.zeros(highest - lowest + 1, np.uint64), np.zeros(most - least + 1, np.uint64)
    records = max(1, _DIFFERENCES // len(found))
    for start in range(0, len(gains), records):
        part = slice(start, start + records)
        _pairs_by_difference(gains[part], sizes[part], least, most, lowest, highest, prime, seen, found)
    return found
