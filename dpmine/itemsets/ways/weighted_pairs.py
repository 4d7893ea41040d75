"""The best pairs of a few public items by weighted counts with Gaussian noise: noise that does not grow with k.

Proof: docs/proofs/discovery.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt, log, pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.noise import LARGEST_SCALE, discrete_gaussian_array, whole_scale
from dpmine.privacy import Neighbors, Zcdp
from dpmine.selection.top_k import support_needed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.transactions.interface import Transactions
    from dpmine.itemsets.transactions.lists import CodedItemset

PAIRS_IN_FULL = 10
"""A unit that supports no more of the pairs counts in full: docs/explanation/measured/itemset_lists.md compares."""
MOST_WEIGHTED_ITEMS = 512
"""All pairs of this many items get noise within a fraction of a second."""
_WEIGHT = 1 << 20  # S: what a unit gives to a pair in full


@dataclass(frozen=True)
class WeightedPairs:
    """The k pairs of the largest noisy weights.

    A unit that supports n of the pairs gives each the weight min(S, ⌊S √(c/n)⌋), where c = `PAIRS_IN_FULL`. Its weights
    have length √c·S at most, however many pairs it supports. The sums get discrete Gaussian noise. All pairs
    of the items are candidates, those without any unit included. ρ-zCDP.

    Attributes:
        count: k.
        rho: ρ > 0.
        neighbors: the relation.

    Raises BadParameter where ρ is so small that a unit could give nothing.
    Source: this project, after the weights of Gopi et al. 2020.
    """

    count: int
    rho: Fraction
    neighbors: Neighbors

    def __post_init__(self) -> None:
        if not self.weight:
            raise BadParameter("epsilon is too small to weigh pairs: give a larger one, or a catalogue.")

    @property
    def zcdp(self) -> Zcdp:
        """(ρ, 0)."""
        return Zcdp(self.rho, Fraction(0))

    @cached_property
    def weight(self) -> int:
        """S: 2^20, or less where the noise would be too large for 64 bits."""
        return min(_WEIGHT, isqrt(int(LARGEST_SCALE**2 / self._variance)))

    @cached_property
    def scale(self) -> int:
        """σ, a whole number."""
        return whole_scale(self.weight**2 * self._variance)

    @property
    def noise(self) -> float:
        """σ/S: the standard deviation of the noise, in units that count in full."""
        return sqrt(self._variance)

    @property
    def _variance(self) -> Fraction:
        """(σ/S)². The sums of neighbours are √c·S apart at most, or √2·√c·S where one unit takes another's place."""
        return PAIRS_IN_FULL / (self.rho if self.neighbors is Neighbors.REPLACE_ONE else 2 * self.rho)

    def right_from(self, pairs: int) -> int:
        """The least support of the best at which half of the list is expected to be right, if all units count in full.

        As of Gumbel noise with the same standard deviation.
        """
        return support_needed(self.count, self.noise * sqrt(6) / pi, max(pairs, self.count))

    def weights(self, pairs: int) -> NDArray[np.int64]:
        """int64[pairs]: what each pair gets of a unit that supports 1, 2, … of them. Rounded down."""
        square = PAIRS_IN_FULL * self.weight**2
        return np.array([min(self.weight, isqrt(square // number)) for number in range(1, pairs + 1)], np.int64)

    def choose(self, transactions: Transactions, codes: Sequence[int], *, bits: BitSource) -> tuple[CodedItemset, ...]:
        """The pairs, best first, out of all pairs of the items `codes`, increasing; takes a pass over the data."""
        if len(codes) < 2:
            return ()
        first, second = np.triu_indices(len(codes), 1)
        sums = transactions.pair_weights(codes, self.weights(len(first)))[first, second]
        noisy = sums + discrete_gaussian_array(len(sums), self.scale, bits=bits)
        best = np.argsort(-noisy, kind="stable")[: self.count]
        return tuple((codes[i], codes[j]) for i, j in zip(first[best].tolist(), second[best].tolist(), strict=True))

    def lead(self, pairs: int) -> float:
        """How far the k best must lead, in weights of units that count in full, to be chosen with probability 0.95.

        It says nothing of supports where units with many of the pairs have some pairs more than others.
        """
        others = max(1, pairs - self.count)
        return self.noise * (sqrt(2 * log(20 * self.count)) + sqrt(2 * log(20 * others)))
