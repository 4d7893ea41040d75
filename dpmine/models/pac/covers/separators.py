"""Linear separators through the origin, all of them, and their covers.

Proofs: docs/proofs/models/private_learners.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import inf, nextafter, pi
from typing import TYPE_CHECKING

from dpmine.models.pac.classes.separators import (
    MOST_WEIGHTS,
    Separators,
    SomeSeparators,
    finest_resolution,
    net_angle,
    net_resolution,
    net_size,
    require_dimension,
)
from dpmine.models.pac.covers.family import require_radius
from dpmine.models.pac.covers.greedy import TOLERANCE, cover_over_net, small_greedy_cover
from dpmine.models.pac.metrics import MOST_PREDICTIONS, AngleMetric, DisagreementMetric
from dpmine.models.pac.smoothness import separator_dimension, separator_packing
from dpmine.parameters import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.models.supervised import Floats
    from dpmine.parameters import Number

ROUNDED_FEATURES = Fraction(1, 2**18)
"""What rounding the features adds to distances under the uniform distribution on the sphere, d ≤ 6."""
_MOST_TO_THIN = 2**17  # directions of a net that is thinned out
_BASE_SIZE = 2**12  # at most as many separators make the base of sample covers, unless said otherwise
_MOST_COMPARED = 2**37  # predictions that are compared for a sample cover: some ten seconds
_ROUNDED = 1 + 2.0**-40


class NetMethod(StrEnum):
    """How separators are covered."""

    PLAIN = "plain"
    """All integer weights of one resolution: the size is known beforehand, and about as small for few features."""
    THINNED = "thinned"
    """Greedy centres of a net three times as fine: a packing as well; takes longer to make."""


@dataclass(frozen=True, slots=True)
class SeparatorFamily:
    """Σ w_i x_i/bound_i >= 0 for all directions w in d dimensions; made by `of`. VC dimension d.

    As a set of rules this is v·x >= 0 for all directions v, whatever the bounds; they make the reference: the features
    divided by their bounds are uniform on the unit sphere. So ρ_U is angle/π, the angle being that of the weights w.
    The doubling dimension is at least d − 1 and at most (d − 1) log2 5 (volumes of caps); 1 for d = 2.
    Covers: whole weights of one resolution (PLAIN), or greedy centres of finer ones (THINNED). THINNED covers are
    packings of two thirds of the radius; of PLAIN ones only that no two members are equal is promised.
    The hypotheses of a cover see features rounded, and cut at ±bound_i; radii allow for it (`ROUNDED_FEATURES`).

    `resolution` is that of the finite class which `sample_cover` covers, as no net covers all separators whatever the
    sample.
    """

    dimension: int
    method: NetMethod
    resolution: int
    bounds: tuple[Fraction, ...]
    features: tuple[str, ...]
    name = "separators"

    @classmethod
    def of(
        cls,
        dimension: int,
        *,
        method: str | NetMethod = NetMethod.PLAIN,
        resolution: int | None = None,
        bound: Number | Sequence[Number] = 1,
        features: Sequence[str] | None = None,
    ) -> SeparatorFamily:
        """`bound`: one for all features, or one a feature.

        Raises BadParameter unless 2 ≤ d ≤ 6 and `Separators` of that resolution exist.
        """
        require_dimension(dimension, 1)
        chosen = finest_resolution(dimension, _BASE_SIZE) if resolution is None else resolution
        base = Separators.of(dimension, chosen, bound=bound, features=features)
        return cls(dimension, named(NetMethod, "method", method), base.resolution, base.bounds, base.features)

    @property
    def columns(self) -> int:
        """The number of features, d."""
        return self.dimension

    @property
    def doubling(self) -> float:
        """(d − 1) log2 5, rounded up; 1 for d = 2, where directions are a circle."""
        return 1.0 if self.dimension == 2 else nextafter(float(separator_dimension(self.dimension)[1]), inf)

    @property
    def vc(self) -> int:
        """The number of features, d."""
        return self.dimension

    @property
    def finest(self) -> Fraction:
        """That of the finest net of 2^20 separators, or of 2^17 that are thinned out."""
        angle = net_angle(self.dimension, finest_resolution(self.dimension, self._most()))
        return _share(angle) * (3 if self.method is NetMethod.THINNED else 1) + ROUNDED_FEATURES + TOLERANCE

    @property
    def sampled(self) -> str:
        """The separators of one resolution."""
        return f"the {net_size(self.dimension, self.resolution)} separators of resolution {self.resolution}"

    def cover(self, radius: Fraction) -> Separators | SomeSeparators:
        """Separators with whole weights."""
        net = self._separators(self._net(radius))
        if self.method is NetMethod.PLAIN:
            return net
        metric = AngleMetric.of(net.weights())
        return SomeSeparators(net, cover_over_net(metric, self._net_radius(radius), self._free(radius)))

    def cover_size(self, radius: Fraction) -> int:
        """(2k + 1)^d − (2k − 1)^d, exact, for PLAIN covers; the most that a packing can have for THINNED ones."""
        if self.method is NetMethod.PLAIN:
            return net_size(self.dimension, self._net(radius))
        return separator_packing(self.dimension, self.separation(radius))

    def separation(self, radius: Fraction) -> Fraction:
        """Two thirds of the radius without the allowances, for THINNED covers; 0 for PLAIN ones."""
        if self.method is NetMethod.PLAIN:
            require_radius(self, radius)
            return Fraction(0)
        return self._free(radius) - self._net_radius(radius)

    def sample_cover(self, features: Floats, radius: Fraction) -> Separators | SomeSeparators:
        """Greedy centres of the finite class, a packing as well.

        All of it, a 0-cover, where the centres would be too many to find, or the class times the rows, public numbers,
        too many predictions to compare. Raises BadParameter for no rows.
        """
        base = self._separators(self.resolution)
        if base.size * len(features) > MOST_PREDICTIONS:
            return base
        metric = DisagreementMetric.of(base.predictions(features), hypotheses=base.size, records=len(features))
        centres = small_greedy_cover(metric, radius, _MOST_COMPARED // (base.size * len(features)))
        return base if centres is None else SomeSeparators(base, centres)

    def sample_cover_size(self, radius: Fraction) -> int:  # noqa: ARG002 - there may be as many as there are at all
        """The size of the finite class."""
        return net_size(self.dimension, self.resolution)

    def _separators(self, resolution: int) -> Separators:
        return Separators.of(self.dimension, resolution, bound=self.bounds, features=self.features)

    def _most(self) -> int:
        return MOST_WEIGHTS if self.method is NetMethod.PLAIN else _MOST_TO_THIN

    def _free(self, radius: Fraction) -> Fraction:
        """What is left of the radius for angles."""
        return require_radius(self, radius) - ROUNDED_FEATURES - TOLERANCE

    def _net_radius(self, radius: Fraction) -> Fraction:
        """The net that is thinned out takes a third."""
        return self._free(radius) / (3 if self.method is NetMethod.THINNED else 1)

    def _net(self, radius: Fraction) -> int:
        """The resolution of the net."""
        return net_resolution(self.dimension, float(self._net_radius(radius)) * pi / _ROUNDED)


def _share(angle: float) -> Fraction:
    """An angle as a share of π, rounded up."""
    return Fraction(angle / pi * _ROUNDED**3)
