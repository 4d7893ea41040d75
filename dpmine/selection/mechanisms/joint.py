"""The joint exponential mechanism: k candidates at once, as one sequence out of all sequences of k candidates.

Source: Gillenwater, Joseph, Munoz & Ribero 2022; the bound on what is counted is in the spirit of Wu & Zhang 2024.
Proof: docs/proofs/selection/joint.md.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpmine.exact.reals import uniform_below
from dpmine.selection.mechanisms.at_once import AtOnce
from dpmine.selection.shortfall import Outcomes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.selection.shortfall import Floats


class Sequences(Outcomes):
    """All sequences s of k different candidates: g(s) = max_i (c_(i) − c(s_i)). Each place leads itself."""

    @property
    def leaders(self) -> int:
        """One for each place."""
        return self.places

    def count(self, bounds: Sequence[int]) -> int:
        """Place i has what the places before it leave, which are all within its bound."""
        return prod(bound - place for place, bound in enumerate(bounds))

    def log_count(self, bounds: Floats, beyond: Floats | float = 0.0) -> Floats:
        """The logarithm of the product."""
        return np.asarray((np.log(np.maximum(bounds - np.arange(self.places), 1)) + beyond).sum(axis=1))

    def draw(self, bounds: Sequence[int], *, bits: BitSource) -> list[tuple[int, int]]:
        """Place by place."""
        chosen: list[tuple[int, int]] = []
        taken: list[int] = []
        for place, bound in enumerate(bounds):
            rank = uniform_below(bound - place, bits=bits)
            for other in taken:
                if other > rank:
                    break
                rank += 1
            insort(taken, rank)
            chosen.append((rank, place))
        return chosen

    def right(self, bounds: Floats) -> Floats:
        """Place by place: what the places before have taken is within the bound, and some of it is right."""
        right = np.zeros(len(bounds))
        for place in range(self.places):
            bound = bounds[:, place]
            right += np.where(bound <= self.places, 1.0, (self.places - right) / (bound - place))
        return right


@dataclass(frozen=True)
class JointExponential(AtOnce):
    """P(s) ∝ exp(−r g(s)) over all sequences s of k different candidates, g(s) = max_i (c_(i) − c(s_i)).

    c_(1) ≥ c_(2) ≥ … are the scores in order.
    """

    outcomes: ClassVar[type[Outcomes]] = Sequences
