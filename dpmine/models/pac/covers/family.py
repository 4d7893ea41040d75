"""What a learner knows of a class of hypotheses: its covers, and two measures of its size."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from dpmine.models.pac.hypothesis import HypothesisClass
    from dpmine.models.supervised import Floats

COARSEST = Fraction(1, 4)
"""No learner asks for a coarser cover: it takes radius a/4 or less."""


class Family(Protocol):
    """A class H, perhaps infinite, with a public reference distribution U; ρ_U is the share on which two differ."""

    @property
    def name(self) -> str:
        """What the class is called."""
        ...

    @property
    def columns(self) -> int:
        """How many features its hypotheses see."""
        ...

    @property
    def doubling(self) -> float:
        """An upper bound on the doubling dimension of (H, ρ_U); infinite where there is none."""
        ...

    @property
    def vc(self) -> int:
        """The VC dimension, or an upper bound on it."""
        ...

    @property
    def finest(self) -> Fraction:
        """The least radius of a cover that can be made."""
        ...

    @property
    def sampled(self) -> str:
        """The class that `sample_cover` covers, in words."""
        ...

    def cover(self, radius: Fraction) -> HypothesisClass[Any]:
        """An r-cover of (H, ρ_U). Raises BadParameter for radii outside [finest, 1/4]."""
        ...

    def cover_size(self, radius: Fraction) -> int:
        """What |cover(radius)| is at most, without making it; exact where the class says so. Same errors."""
        ...

    def separation(self, radius: Fraction) -> Fraction:
        """Two members of `cover(radius)` are always farther apart than this by ρ_U; −1 where some are equal."""
        ...

    def sample_cover(self, features: Floats, radius: Fraction) -> HypothesisClass[Any]:
        """An r-cover of the class `sampled` by the share of these rows, shape (m, columns), on which two differ."""
        ...

    def sample_cover_size(self, radius: Fraction) -> int:
        """What |sample_cover(features, radius)| is at most, whatever the rows."""
        ...


def require_radius(family: Family, radius: Fraction) -> Fraction:
    """The radius, if the family has such covers; BadParameter otherwise."""
    if radius > COARSEST:
        raise BadParameter("A cover needs a radius of at most 1/4.")
    if radius < family.finest:
        raise BadParameter(
            f"A cover of {family.name} needs a radius of at least {float(family.finest):.3g}: a finer one has too many "
            "hypotheses to score."
        )
    return radius
