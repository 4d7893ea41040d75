"""Greedy covers of finite sets of hypotheses, and the share of a sample on which two of them differ.

`SeparatorFamily` finds the covers of samples with them. Proofs: docs/proofs/models/private_learners.md.

An r-cover of a set has a member within distance r of every element; an r-packing has members farther than r apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from fractions import Fraction

    from numpy.typing import NDArray

    from dpmine.models.pac.hypothesis import Bools

MOST_PREDICTIONS = 2**32
"""The most predictions (hypotheses times records) that are kept, one bit each: half a gigabyte."""
_AT_A_TIME = 2**22  # words of predictions that are compared at a time


class Metric(Protocol):
    """Distances within a finite set of hypotheses, numbered from 0."""

    @property
    def size(self) -> int:
        """K, the number of hypotheses."""
        ...

    def within(self, index: int, radius: Fraction) -> Bools:
        """Which hypotheses are near one, at distance ≤ radius."""
        ...

    def restrict(self, members: NDArray[np.int64]) -> Self:
        """The same distances for these hypotheses only, in this order."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class DisagreementMetric:
    """ρ_X: the share of the records of a sample X on which two hypotheses differ. Exact.

    Attributes:
        words: uint64, shape (K, w): the predictions, a bit each; made by `DisagreementMetric.of`.
        records: m ≥ 1.
    """

    words: NDArray[np.uint64]
    records: int

    @classmethod
    def of(cls, predictions: Iterable[Bools], *, hypotheses: int, records: int) -> Self:
        """`predictions`: blocks of bool rows (b, m), a row a hypothesis, `hypotheses` rows together.

        Requires: at least one record, and at most `MOST_PREDICTIONS` predictions.
        """
        words = np.zeros((hypotheses, -(-records // 64)), np.uint64)
        row = 0
        for block in predictions:
            packed = np.packbits(block, axis=1)
            words[row : row + len(block)].view(np.uint8)[:, : packed.shape[1]] = packed
            row += len(block)
        return cls(words, records)

    @property
    def size(self) -> int:
        """K."""
        return len(self.words)

    def disagreements(self, index: int) -> NDArray[np.int64]:
        """The number of records on which each hypothesis differs from one: int64, shape (K,)."""
        step = max(1, _AT_A_TIME // self.words.shape[1])
        parts = [
            np.bitwise_count(self.words[start : start + step] ^ self.words[index]).sum(axis=1, dtype=np.int64)
            for start in range(0, self.size, step)
        ]
        return np.concatenate(parts)

    def within(self, index: int, radius: Fraction) -> Bools:
        """Which hypotheses differ on at most r·m records."""
        near: Bools = self.disagreements(index) <= floor(radius * self.records)
        return near

    def restrict(self, members: NDArray[np.int64]) -> Self:
        """These hypotheses only."""
        return replace(self, words=self.words[members])


def greedy_centres(metric: Metric, radius: Fraction) -> Iterator[int]:
    """The hypotheses that no earlier centre is near, in order: a cover and a packing at once.

    Law: an r-packing exactly, and an r-cover by what `Metric.within` calls near. K·|G| distances at most, O(K) memory.
    Source: Kolmogorov & Tikhomirov 1961 (Lemma 13 of Chaudhuri & Hsu 2011): a maximal packing is a cover.
    """
    names = np.arange(metric.size)
    uncovered = np.ones(metric.size, dtype=bool)
    first = 0
    while len(names):
        if 2 * np.count_nonzero(uncovered) < len(names):  # the rest are half as many: go on with them alone
            left = np.flatnonzero(uncovered)
            metric, names, uncovered, first = metric.restrict(left), names[left], np.ones(len(left), dtype=bool), 0
            continue
        first += int(np.argmax(uncovered[first:]))
        yield int(names[first])
        uncovered &= ~metric.within(first, radius)
