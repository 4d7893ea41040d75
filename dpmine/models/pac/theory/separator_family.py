"""Linear separators through the origin, all of them, and their covers; those of samples are greedy.

An r-cover of a set has a member within distance r of every element; an r-packing has members farther than r apart.
Proofs: docs/proofs/models/private_learners.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from math import floor, pi
from typing import TYPE_CHECKING

import numpy as np

from dpmine.models.pac.separators import Separators, finest_resolution, net_angle, net_resolution, require_dimension
from dpmine.models.pac.theory.families import Family, SampleCover

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from dpmine.models.entries import Floats
    from dpmine.models.pac.hypothesis import Bools
    from dpmine.parameters import Number


MOST_PREDICTIONS = 2**32
"""The most predictions (hypotheses times records) that are kept, one bit each: half a gigabyte."""
_AT_A_TIME = 2**22  # words of predictions that are compared at a time


def packed_answers(predictions: Iterable[Bools], *, hypotheses: int, records: int) -> NDArray[np.uint64]:
    """The predictions, a bit each: shape (K, w).

    `predictions`: blocks of bool rows (b, m), a row a hypothesis, `hypotheses` rows together. Requires: at least one
    record, and at most `MOST_PREDICTIONS` predictions.
    """
    words = np.zeros((hypotheses, -(-records // 64)), np.uint64)
    row = 0
    for block in predictions:
        packed = np.packbits(block, axis=1)
        words[row : row + len(block)].view(np.uint8)[:, : packed.shape[1]] = packed
        row += len(block)
    return words


def disagreements(words: NDArray[np.uint64], index: int, among: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of records on which each of some hypotheses differs from one: int64, shape (len(among),)."""
    counts = np.empty(len(among), np.int64)
    step = max(1, _AT_A_TIME // words.shape[1])
    for start in range(0, len(among), step):
        differing = words[among[start : start + step]] ^ words[index]
        np.bitwise_count(differing).sum(axis=1, out=counts[start : start + step])
    return counts


def greedy_centres(size: int, near: Callable[[int, NDArray[np.int64]], Bools]) -> Iterator[int]:
    """The hypotheses of 0 … `size` − 1 that no earlier centre is near, in order: a cover and a packing at once.

    `near(centre, among)` says which of some hypotheses are within distance r of one of them.
    Law: an r-packing exactly, and an r-cover by what `near` says. K·|G| distances at most, O(K) memory.
    Source: Kolmogorov & Tikhomirov 1961 (Lemma 13 of Chaudhuri & Hsu 2011): a maximal packing is a cover.
    """
    left = np.arange(size)
    while len(left):
        centre = int(left[0])
        yield centre
        left = left[~near(centre, left)]


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

    As a set of rules this is v·x >= 0 for all directions v, whatever the bounds. The bounds make the reference: the
    features divided by them are uniform on the unit sphere. So ρ_U is angle/π, for the angle of the weights w.
    The doubling dimension is at least d − 1 and at most (d − 1) log2 5 (volumes of caps); 1 for d = 2.
    Covers: all whole weights of one resolution. That no two members are equal is all that is known of their distances.
    The hypotheses of a cover see features rounded, and cut at ±bound_i; radii allow for it (`ROUNDED_FEATURES`).

    Attributes:
        base: the finite class that `sample_cover` covers, as no net covers all separators whatever the sample.
    """

    base: Separators
    name = "separators"
    apart = 0

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
        """Separators with whole weights, of the resolution that what is left of the radius for angles takes."""
        angle = float(self.checked(radius) - ALLOWANCE) * pi / _ROUNDED
        return replace(self.base, resolution=net_resolution(self.columns, angle))

    def sample_cover(self, features: Floats, radius: Fraction) -> Separators | SampleCover:
        """Greedy centres of the finite class, a packing as well.

        It returns the whole class, a 0-cover, where the centres would be too many to find. It does so too where the
        class times the rows, public numbers, are too many predictions to compare. Requires: at least one row.
        """
        compared = self.base.size * len(features)
        if compared > MOST_PREDICTIONS:
            return self.base
        predictions = self.base.predictions(features)
        words = packed_answers(predictions, hypotheses=self.base.size, records=len(features))
        allowed = _MOST_COMPARED // compared
        reach = floor(radius * len(features))
        all_centres = greedy_centres(self.base.size, lambda centre, among: disagreements(words, centre, among) <= reach)
        centres = list(islice(all_centres, allowed + 1))
        if len(centres) > allowed:
            return self.base
        return SampleCover(self.columns, tuple(map(self.base.hypothesis, centres)))

    def sample_cover_size(self, radius: Fraction) -> int:  # noqa: ARG002 - there may be as many as there are at all
        """The size of the finite class."""
        return self.base.size
