"""The canonical Lipschitz mechanism: k candidates at once, as one set out of all sets of k candidates.

Source: Shekelyan & Loukides 2022. Proof: docs/proofs/selection/lipschitz.md.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from math import comb, lgamma, log, pi
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpmine.exact.reals import uniform_below, uniform_subset
from dpmine.selection.mechanisms.at_once import AtOnce
from dpmine.selection.shortfall import Outcomes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.selection.shortfall import Floats
    from dpmine.selection.universes.protocol import C, Universe

_LISTED = 64  # arguments from 0 of the remainder of Stirling's formula that are listed


class Subsets(Outcomes):
    """All sets S of k candidates: g(S) = max(0, the best score outside − the least score inside).

    The best rank outside leads all places. All better ranks are inside, so it is one of the first k + 1.
    """

    def __init__(self, places: int) -> None:
        """Requires: there are as many candidates."""
        super().__init__(places)
        self._counted: dict[tuple[int, ...], list[int]] = {}

    @property
    def leaders(self) -> int:
        """One rank more than there are places."""
        return self.places + 1

    def count(self, bounds: Sequence[int]) -> int:
        """The sum over all that may be the best rank outside."""
        return self._counts(bounds)[-1]

    def log_count(self, bounds: Floats, beyond: Floats | float = 0.0) -> Floats:
        """The logarithm of the sum, in which the last leader has a set for certain."""
        logs = self._logs_led(bounds) + self._chosen * beyond
        top = logs.max(axis=1)
        return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))

    def draw(self, bounds: Sequence[int], *, bits: BitSource) -> list[tuple[int, int]]:
        """All better ones than a leader, and a subset of the others within its bound."""
        counts = self._counts(bounds)
        leader = bisect_right(counts, uniform_below(counts[-1], bits=bits))
        others = uniform_subset(max(0, bounds[leader] - leader - 1), self.places - leader, bits=bits)
        return [*((rank, leader) for rank in range(leader)), *((leader + 1 + other, leader) for other in others)]

    def right(self, bounds: Floats) -> Floats:
        """Those better than the leader, and of the others as large a share as of all that are within its bound."""
        logs, better = self._logs_led(bounds), np.arange(self.leaders)
        shares = np.exp(logs - self.log_count(bounds)[:, None])
        share_of_others = np.maximum(self._chosen - 1, 0) / np.maximum(bounds - better - 1, 1)
        return np.asarray((shares * (better + self._chosen * share_of_others)).sum(axis=1))

    @property
    def _chosen(self) -> Floats:
        """For each leader, how many are chosen of the ranks behind it."""
        return np.arange(self.places, -1, -1, dtype=np.float64)

    def _counts(self, bounds: Sequence[int]) -> list[int]:
        """How many sets the leaders up to each one have; kept, for the same bounds come again."""
        if (key := tuple(bounds)) not in self._counted:
            led = (comb(max(0, bound - rank - 1), self.places - rank) for rank, bound in enumerate(bounds))
            self._counted[key] = list(accumulate(led))
        return self._counted[key]

    def _logs_led(self, bounds: Floats) -> Floats:
        """The logarithm of how many sets each leader has; −∞ where there is none."""
        return _log_choose(np.maximum(bounds - np.arange(1, self.leaders + 1), 0), self._chosen)


@dataclass(frozen=True)
class CanonicalLipschitz(AtOnce):
    """P(S) ∝ exp(−r g(S)) over all sets S of k candidates, in uniform order.

    g(S) = max(0, the best score outside − the least score inside), 0 for the k best.
    """

    outcomes: ClassVar[type[Outcomes]] = Subsets

    def choose(self, universe: Universe[C], *, bits: BitSource) -> tuple[C, ...]:
        """The members of a set in uniform order, so that their order is independent of the scores."""
        chosen = list(super().choose(universe, bits=bits))
        for last in range(len(chosen) - 1, 0, -1):
            place = uniform_below(last + 1, bits=bits)
            chosen[last], chosen[place] = chosen[place], chosen[last]
        return tuple(chosen)


def _log_choose(total: Floats, chosen: Floats) -> Floats:
    """Ln C(n, r) of whole numbers, elementwise; −∞ where n < r."""
    above = np.maximum(total, chosen) + 1
    left = above - chosen
    falling = chosen * np.log(above) - (left - 0.5) * np.log1p(-chosen / above) - chosen
    found = falling + _remainder(above) - _remainder(left) - np.array([lgamma(each + 1) for each in chosen])
    return np.where(total < chosen, -np.inf, found)


_REMAINDERS = np.array([0.0, *(lgamma(x) - (x - 0.5) * log(x) + x - log(2 * pi) / 2 for x in range(1, _LISTED))])


def _remainder(x: Floats) -> Floats:
    """What Stirling's formula leaves of ln Γ(x), x ≥ 1 whole."""
    inverse = 1 / x
    found = np.asarray(inverse * (1 / 12 - inverse * inverse / 360))
    is_listed = x < _LISTED
    found[is_listed] = _REMAINDERS[x[is_listed].astype(np.intp)]
    return found
