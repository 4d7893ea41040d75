"""Values between public bounds, and which bin each falls into: a function of one record alone.

That is what makes the sensitivity of the counts exact in floating point: edges are float64 numbers that depend on
public parameters only, and a value is compared with them, never computed with.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import copysign, inf, nan
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpmine.errors import BadData, BadParameter
from dpmine.parameters import Number, exact_number, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

Floats: TypeAlias = NDArray[np.float64]

MOST_BINS = 100_000
_HUGE = Fraction(10**300)
CLIPPING = "values outside the bounds count as the nearest bound, missing values (NaN, null) as the lower one"
"""What a released histogram says of its data."""


@dataclass(frozen=True)
class Bounds:
    """A public interval that all data are put into; made by `Bounds.of`."""

    lower: Fraction
    upper: Fraction

    @classmethod
    def of(cls, lower: Number, upper: Number) -> Bounds:
        """The bounds, read exactly; BadParameter unless lower < upper, as float64 numbers too."""
        low, high = exact_number("lower", lower), exact_number("upper", upper)
        if low >= high:
            raise BadParameter("lower must be less than upper: these are the public bounds of the data.")
        if not (abs(low) < _HUGE and abs(high) < _HUGE):
            raise BadParameter("lower and upper must lie between -1e300 and 1e300.")
        if not float(low) < float(high):
            raise BadParameter("lower and upper are the same in float64: shift or scale the data first.")
        return cls(low, high)

    @property
    def width(self) -> Fraction:
        """Upper − lower."""
        return self.upper - self.lower

    def edges(self, bins: int) -> Floats:
        """The bins + 1 float64 numbers nearest to the edges of equal bins; BadParameter where two are the same."""
        edges = np.array([float(self.lower + self.width * i / bins) for i in range(bins + 1)])
        if not (edges[1:] > edges[:-1]).all():
            raise BadParameter(f"{bins} bins between these bounds are too narrow for float64: shift or scale the data.")
        return edges

    def clipped(self, values: Floats) -> Floats:
        """Every value put into the bounds, NaN at the lower one; total, and one record at a time."""
        low, high = float(self.lower), float(self.upper)
        return np.clip(np.nan_to_num(values, nan=low, posinf=high, neginf=low), low, high)


@dataclass(frozen=True, eq=False)
class Values:
    """Records of one number each, in order of their values, so that any number of bins is counted fast.

    Attributes:
        sorted: the numbers.
        places: the public number of records; above that of the numbers where some places are empty.
    """

    sorted: Floats
    places: int

    @classmethod
    def of(cls, clipped: Floats, places: int | None = None) -> Values:
        """The records with these clipped values."""
        return cls(np.sort(clipped), len(clipped) if places is None else places)

    def counts(self, edges: Floats) -> NDArray[np.int64]:
        """How many values are in [e_0, e_1), [e_1, e_2), …, and in the last bin, which is closed."""
        inner = np.searchsorted(self.sorted, edges[1:-1], side="left")
        return np.diff(inner, prepend=0, append=len(self.sorted)).astype(np.int64, copy=False)


@dataclass(frozen=True)
class BinGrid:
    """Equal bins between bounds.

    Attributes:
        bounds: public.
        bins: their number, at least 2; 1/h in the paper, where the data lie in [0, 1].
    """

    bounds: Bounds
    bins: int

    @cached_property
    def edges(self) -> Floats:
        """The bins + 1 edges."""
        return self.bounds.edges(self.bins)


def bin_counts(bins: Iterable[Any]) -> tuple[int, ...]:
    """The candidate numbers of bins; BadParameter unless each is a whole number from 2 to `MOST_BINS`, none twice."""
    if isinstance(bins, str | bytes) or not hasattr(bins, "__iter__"):
        raise BadParameter("bins must be a list of whole numbers, such as [4, 8, 16].")
    counts = tuple(whole("Every number of bins", value, least=2) for value in bins)
    if not counts:
        raise BadParameter("bins is empty: give at least one number of bins to choose from.")
    if max(counts) > MOST_BINS:
        raise BadParameter(f"A number of bins must not exceed {MOST_BINS}.")
    if len(set(counts)) < len(counts):
        raise BadParameter("The same number of bins is given twice: name every candidate once.")
    return counts


def as_values(x: Any) -> Floats:
    """One float64 number a record; missing ones are NaN.

    Raises BadData for what is not one-dimensional (a single column is) or not numbers.
    """
    try:
        plain = np.ma.filled(x.astype(np.float64), nan) if isinstance(x, np.ma.MaskedArray) else np.asarray(x)
        array = plain if plain.dtype.kind in "biuf" else _from_objects(plain)
    except (TypeError, ValueError):
        raise BadData("x must hold numbers in one dimension: convert it first.") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise BadData("x must have one dimension: one number a record.")
    return array.astype(np.float64)


def _from_objects(array: NDArray[Any]) -> Floats:
    """Numbers of any type, None and missing markers among them."""
    if array.dtype.kind != "O":
        raise TypeError
    return np.array([_as_float(value) for value in array.ravel()], np.float64).reshape(array.shape)


def _as_float(value: Any) -> float:
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return nan
    if isinstance(value, str | bytes):
        raise TypeError
    try:
        return float(value)
    except OverflowError:
        return copysign(inf, value > 0 or -1)
