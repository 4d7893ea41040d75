"""Monotone conjunctions of a few boolean features: "married and educated".

Proof that levels and draws are exact: docs/proofs/models/hypothesis_classes.md, section "Conjunctions".
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import comb
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from dpmine.errors import BadData, BadParameter
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.transactions.interface import Baskets, starts_of
from dpmine.models.pac.hypothesis import Bools, Records, Renamed, candidate_number
from dpmine.parameters import whole
from dpmine.selection.universes.dense import Dense

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dpmine.models.entries import Floats
    from dpmine.selection.universes.protocol import Universe

MOST = 2**24
"""Conjunctions that are scored at most: they take about 1.5 GB if all of them hold somewhere."""

Positions: TypeAlias = "tuple[int, ...]"
"""Positions of the features of a conjunction, increasing."""


@dataclass(frozen=True, slots=True)
class Conjunction:
    """a and b and …: the second class is where all these features are true, that is greater than 0.

    Attributes:
        columns: positions of the features, increasing.
        features: their names.
    """

    columns: Positions
    features: tuple[str, ...]

    def predict(self, features: Floats) -> Bools:
        """Whether all features of the conjunction are true in each row of `features`, shape (n, d)."""
        return np.asarray((features[:, list(self.columns)] > 0).all(axis=1))

    def parameters(self) -> dict[str, Any]:
        """The names of the features."""
        return {"features": list(self.features)}

    def __str__(self) -> str:
        return " and ".join(self.features)


@dataclass(frozen=True, slots=True)
class Conjunctions:
    """All conjunctions of at least 1 and at most `width` of d boolean features.

    A value above 0 counts as true, any other as false: a rule for all numbers, so that no value is rejected.

    Attributes:
        features: the d names, all different.
        width: w, from 1 to d.

    Raises BadParameter for other names or widths, and where there are more than 2^24 conjunctions. All of them are
    scored, always. A limit on those that occur in the data would disclose something about the data.
    """

    features: tuple[str, ...]
    width: int

    def __post_init__(self) -> None:
        if not self.features or len(set(self.features)) < len(self.features):
            raise BadParameter("features must be one or more names, all different.")
        if whole("width", self.width) > len(self.features):
            raise BadParameter(f"width must be at most the number of features, {len(self.features)}.")
        for total in self._firsts():  # not taken further than it must be
            if total > MOST:
                raise BadParameter(
                    f"There are more than {MOST} conjunctions of at most {self.width} of {self.columns} features, too "
                    "many to score them all: choose a smaller width or fewer features."
                )

    @property
    def columns(self) -> int:
        """The number of features, d."""
        return len(self.features)

    @property
    def size(self) -> int:
        """Σ C(d, r) over r = 1 … w."""
        return max(self._firsts())

    def universe(self, records: Records) -> Universe[Positions]:
        """All conjunctions with their scores.

        Score: negatives + support among positives − support among negatives. A conjunction that holds for no record has
        the number of negatives as its score, like one that gains as much as it loses.
        Raises BadData unless the records have one column per feature.
        """
        if records.features.shape[1] != self.columns:
            raise BadData(f"The records must have one column a feature: {self.columns} columns.")
        return Renamed(Dense(self.correct(records)), self.positions)

    def correct(self, records: Records) -> NDArray[np.int64]:
        """How many records each conjunction classifies correctly: int64, one entry a number."""
        scores = np.full(self.size, np.count_nonzero(~records.positive), np.int64)
        for positive, weight in ((True, 1), (False, -1)):
            miner = Miner(_baskets(records.features[records.positive == positive] > 0))
            for size in range(1, self.width + 1):
                itemsets = miner.itemsets(size, 1, memory_limit=_memory_for_all(self.columns, size))
                scores[self.numbers(itemsets.items)] += weight * itemsets.supports
        return scores

    def numbers(self, subsets: NDArray[np.int32]) -> NDArray[np.int64]:
        """The numbers, from 0, of conjunctions of r features each, shape (k, r), positions increasing; shape (k,).

        Small ones come first, and those at c_1 < … < c_r are in the order of Σ C(c_i, i), the combinatorial number
        system.
        """
        numbers = np.full(len(subsets), list(self._firsts())[subsets.shape[1] - 1], np.int64)
        binomials = np.ones(self.columns, np.int64)  # C(c, i) of every position c, as running sums of those of i - 1
        for positions in subsets.T:
            binomials = np.cumsum(binomials) - binomials
            numbers += binomials[positions]
        return numbers

    def positions(self, number: int) -> Positions:
        """Those of the conjunction with that number."""
        firsts = list(self._firsts())
        size = bisect_right(firsts, number)
        left = number - firsts[size - 1]
        positions = []
        for rank in range(size, 0, -1):
            positions.append(bisect_right(range(self.columns), left, key=lambda place: comb(place, rank)) - 1)
            left -= comb(positions[-1], rank)
        return tuple(reversed(positions))

    def hypothesis(self, candidate: Positions) -> Conjunction:
        """The conjunction of the features at these positions.

        Raises TypeError, ValueError or LookupError unless they are increasing positions of at most `width` features.
        """
        columns = tuple(candidate_number(position, self.columns) for position in candidate)
        if not 0 < len(columns) <= self.width or any(one >= next_one for one, next_one in pairwise(columns)):
            raise ValueError("the class has no such conjunction")
        return Conjunction(columns, tuple(self.features[position] for position in columns))

    def _firsts(self) -> Iterator[int]:
        """The number of the first conjunction of each size, and in the end how many there are."""
        return accumulate((comb(self.columns, size) for size in range(1, self.width + 1)), initial=0)


def _memory_for_all(items: int, size: int) -> int:
    """Bytes with which the miner lists all itemsets of a size: its own limit would depend on the data."""
    return 64 * (size + 1) * (comb(items, size) + 1)


def _baskets(true: Bools) -> Baskets:
    """A basket for each row that has a true feature."""
    lengths = np.count_nonzero(true, axis=1)
    starts = starts_of(lengths[lengths > 0])
    codes = np.nonzero(true)[1].astype(np.int32)
    units = np.arange(len(starts), dtype=np.int64)
    return Baskets(pa.array(np.arange(true.shape[1], dtype=np.int64)), codes, starts, units, "record")
