"""Linear separators through the origin, all of them, and their covers; those of samples are greedy.

An r-cover of a set has a member within distance r of every element; an r-packing has members farther than r apart.
Proofs: docs/proofs/models/private_learners.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from math import floor, pi
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from dpmine.models.pac.classes.separators import (
    Separators,
    SomeSeparators,
    finest_resolution,
    net_angle,
    net_resolution,
    net_size,
    require_dimension,
)
from dpmine.models.pac.covers.families import Family

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from dpmine.models.pac.hypothesis import Bools
    from dpmine.models.supervised import Floats
    from dpmine.parameters import Number


MOST_PREDICTIONS = 2**32
"""The most predictions (hypotheses times records) that are kept, one bit each: half a gigabyte."""
_AT_A_TIME = 2**22  # words of predictions that are compared at a time


class Metric(Protocol):
    """Distances within a finite set of hypotheses, numbered from 0."""

    @property
    def size(self) -> int:
        """K, the number of hypotheses."""

    def within(self, index: int, radius: Fraction) -> Bools:
        """Which hypotheses are near one, at distance ≤ radius."""

    def restrict(self, members: NDArray[np.int64]) -> Self:
        """The same distances for these hypotheses only, in this order."""


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


ROUNDED_FEATURES = Fraction(1, 2**18)
"""What rounding the features adds to distances under the uniform distribution on the sphere, d ≤ 6."""
ALLOWANCE = ROUNDED_FEATURES + Fraction(1, 2**40)
"""What is taken from the radius of a cover: for rounded features, and for rounded angles."""
_BASE_SIZE = 2**12  # at most as many separators make the base of sample covers, unless said otherwise
_MOST_COMPARED = 2**37  # predictions that are compared for a sample cover: some ten seconds
_ROUNDED = 1 + 2.0**-40


@dataclass(frozen=True, slots=True)
class SeparatorFamily(Family):
    """Σ w_i x_i/bound_i >= 0 for all directions w in d dimensions; made by `of`. VC dimension d.

    As a set of rules this is v·x >= 0 for all directions v, whatever the bounds; they make the reference: the features
    divided by their bounds are uniform on the unit sphere. So ρ_U is angle/π, the angle being that of the weights w.
    The doubling dimension is at least d − 1 and at most (d − 1) log2 5 (volumes of caps); 1 for d = 2.
    Covers: all whole weights of one resolution. That no two members are equal is all that is known of their distances.
    The hypotheses of a cover see features rounded, and cut at ±bound_i; radii allow for it (`ROUNDED_FEATURES`).

    Attributes:
        base: the finite class that `sample_cover` covers, as no net covers all separators whatever the sample.
    """

    base: Separators
    name = "separators"

    @classmethod
    def of(
        cls,
        dimension: int,
        *,
        resolution: int | None = None,
        bound: Number | Sequence[Number] = 1,
        features: Sequence[str] | None = None,
    ) -> SeparatorFamily:
        """`bound`: one for all features, or one a feature; `resolution` is that of the base.

        Raises BadParameter unless 2 ≤ d ≤ 6 and `Separators` of that resolution exist.
        """
        require_dimension(dimension, 1)
        chosen = finest_resolution(dimension, _BASE_SIZE) if resolution is None else resolution
        return cls(Separators.of(dimension, chosen, bound=bound, features=features))

    @property
    def columns(self) -> int:
        """The number of features, d."""
        return self.base.columns

    @property
    def vc(self) -> int:
        """The number of features, d."""
        return self.columns

    @property
    def finest(self) -> Fraction:
        """That of the finest net of 2^20 separators."""
        angle = net_angle(self.columns, finest_resolution(self.columns))
        return Fraction(angle / pi * _ROUNDED**3) + ALLOWANCE

    @property
    def sampled(self) -> str:
        """The separators of one resolution."""
        return f"the {self.base.size} separators of resolution {self.base.resolution}"

    def cover(self, radius: Fraction) -> Separators:
        """Separators with whole weights."""
        return replace(self.base, resolution=self._resolution(radius))

    def cover_size(self, radius: Fraction) -> int:
        """(2k + 1)^d − (2k − 1)^d, exact."""
        return net_size(self.columns, self._resolution(radius))

    def separation(self, radius: Fraction) -> Fraction:
        """0."""
        self.checked(radius)
        return Fraction(0)

    def sample_cover(self, features: Floats, radius: Fraction) -> Separators | SomeSeparators:
        """Greedy centres of the finite class, a packing as well.

        All of it, a 0-cover, where the centres would be too many to find, or the class times the rows, public numbers,
        too many predictions to compare. Requires: at least one row.
        """
        compared = self.base.size * len(features)
        if compared > MOST_PREDICTIONS:
            return self.base
        metric = DisagreementMetric.of(
            self.base.predictions(features), hypotheses=self.base.size, records=len(features)
        )
        most = _MOST_COMPARED // compared
        centres = np.fromiter(islice(greedy_centres(metric, radius), most + 1), np.int64)
        return SomeSeparators(self.base, centres) if len(centres) <= most else self.base

    def sample_cover_size(self, radius: Fraction) -> int:  # noqa: ARG002 - there may be as many as there are at all
        """The size of the finite class."""
        return self.base.size

    def _resolution(self, radius: Fraction) -> int:
        """That of the net, by what is left of the radius for angles."""
        return net_resolution(self.columns, float(self.checked(radius) - ALLOWANCE) * pi / _ROUNDED)
