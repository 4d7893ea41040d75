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
from dpmine.itemsets.transactions.base import Baskets, starts_of
from dpmine.models.pac.hypothesis import Renamed, candidate_number
from dpmine.parameters import whole
from dpmine.selection.universes.dense import Dense

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmine.models.pac.hypothesis import Bools, Records
    from dpmine.models.supervised import Floats
    from dpmine.selection.universes.base import Universe

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
        _require_few(len(self.features), self.width)

    @property
    def columns(self) -> int:
        """The number of features, d."""
        return len(self.features)

    @property
    def size(self) -> int:
        """Σ C(d, r) over r = 1 … w."""
        return self._numbering.size

    def universe(self, records: Records) -> Universe[Positions]:
        """All conjunctions with their scores.

        Score: negatives + support among positives − support among negatives. Whatever holds for no record at all has
        the score of the class that is never predicted, like a conjunction that gains as much as it loses.
        Raises BadData unless the records have one column a feature.
        """
        if records.features.shape[1] != len(self.features):
            raise BadData(f"The records must have one column a feature: {len(self.features)} columns.")
        numbering = self._numbering
        return Renamed(Dense(_correct(records, numbering)), numbering.subset)

    def hypothesis(self, candidate: Positions) -> Conjunction:
        """The conjunction of the features at these positions.

        Raises TypeError, ValueError or LookupError unless they are increasing positions of at most `width` features.
        """
        columns = tuple(candidate_number(position, self.columns) for position in candidate)
        if not 0 < len(columns) <= self.width or any(one >= next_one for one, next_one in pairwise(columns)):
            raise ValueError("the class has no such conjunction")
        return Conjunction(columns, tuple(self.features[position] for position in columns))

    @property
    def _numbering(self) -> Subsets:
        return Subsets(len(self.features), int(self.width))


class Subsets:
    """The subsets of at least 1 and at most `width` of `items` items, numbered from 0, small ones first.

    Subsets of r items c_1 < … < c_r are in the order of Σ C(c_i, i), the combinatorial number system.

    Attributes:
        items: N ≥ width.
        width: the largest size, at least 1.
        size: how many subsets there are.
    """

    def __init__(self, items: int, width: int) -> None:
        """Requires: fewer than 2^63 subsets."""
        self.items = items
        self.width = width
        *self._firsts, self.size = accumulate((comb(items, size) for size in range(1, width + 1)), initial=0)

    def numbers(self, subsets: NDArray[np.int32]) -> NDArray[np.int64]:
        """The numbers of subsets of r items each, shape (k, r), items increasing in a row; shape (k,)."""
        numbers = np.full(len(subsets), self._firsts[subsets.shape[1] - 1], np.int64)
        binomials = np.ones(self.items, np.int64)  # C(c, i) of every item c, as running sums of those of i - 1
        for items in subsets.T:
            binomials = np.cumsum(binomials) - binomials
            numbers += binomials[items]
        return numbers

    def subset(self, number: int) -> Positions:
        """The subset with that number."""
        size = bisect_right(self._firsts, number)
        left = number - self._firsts[size - 1]
        found = []
        for rank in range(size, 0, -1):
            found.append(bisect_right(range(self.items), left, key=lambda item: comb(item, rank)) - 1)
            left -= comb(found[-1], rank)
        return tuple(reversed(found))


def _require_few(features: int, width: int) -> None:
    """Public numbers decide, and the sum is not taken further than it must be."""
    for total in accumulate(comb(features, size) for size in range(1, width + 1)):
        if total > MOST:
            raise BadParameter(
                f"There are more than {MOST} conjunctions of at most {width} of {features} features, too many to score "
                "them all: choose a smaller width or fewer features."
            )


def _correct(records: Records, numbering: Subsets) -> NDArray[np.int64]:
    """int64, one entry a conjunction: how many records it classifies correctly."""
    true = records.features > 0
    scores = np.full(numbering.size, np.count_nonzero(~records.positive), np.int64)
    _add_supports(scores, true[records.positive], numbering, weight=1)
    _add_supports(scores, true[~records.positive], numbering, weight=-1)
    return scores


def _add_supports(scores: NDArray[np.int64], true: Bools, numbering: Subsets, *, weight: int) -> None:
    """Add `weight` for every row of `true`, shape (k, d), in which a conjunction holds."""
    if not true.any():
        return
    miner = Miner(_baskets(true))
    for size in range(1, numbering.width + 1):
        found = miner.itemsets(size, 1, memory_limit=_memory_for_all(numbering.items, size))
        scores[numbering.numbers(found.items)] += weight * found.supports


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
