"""Linear separators through the origin, all of them, and their covers.

Proofs: docs/proofs/models/private_learners.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from math import pi
from typing import TYPE_CHECKING

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
from dpmine.models.pac.covers.greedy import MOST_PREDICTIONS, DisagreementMetric, greedy_centres

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.models.supervised import Floats
    from dpmine.parameters import Number

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
