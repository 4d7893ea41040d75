"""Hypotheses, finite classes of them, and the labelled records that score them."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.models.entries import Floats
    from dpmine.selection.universes.protocol import Level, Score, Universe

B = TypeVar("B", bound="Hashable")
C = TypeVar("C", bound="Hashable")

Bools: TypeAlias = "NDArray[np.bool_]"
"""Arrays of truth values."""


@dataclass(frozen=True, eq=False, slots=True)
class Records:
    """m records of d features and a label each; one record is one privacy unit.

    Attributes:
        features: float64, shape (m, d), finite.
        positive: bool, shape (m,): whether the label is the second of the two classes.
    """

    features: Floats
    positive: Bools

    def __len__(self) -> int:
        return len(self.positive)

    def correct(self, hypothesis: Hypothesis) -> int:
        """How many records a hypothesis classifies correctly: its score."""
        return int(np.count_nonzero(hypothesis.predict(self.features) == self.positive))


class Hypothesis(Protocol):
    """A classifier that can be read; `str` shows its rule, such as "age >= 41.5"."""

    def predict(self, features: Floats) -> Bools:
        """Whether each row of `features`, shape (n, d), is of the second class; a row's answer is its own alone."""

    def parameters(self) -> dict[str, Any]:
        """The same as plain JSON values."""


class HypothesisClass(Protocol[C]):
    """A finite set H of hypotheses, public.

    The score of a hypothesis is the number of records that it classifies correctly. One record replaced moves it by at
    most 1; one record added raises it by 0 or 1. So scores are counts, under either relation.
    """

    @property
    def columns(self) -> int | None:
        """How many features its hypotheses see; None for any number."""

    @property
    def size(self) -> int:
        """|H|."""

    def universe(self, records: Records) -> Universe[C]:
        """All hypotheses with their scores, exactly."""

    def hypothesis(self, candidate: C) -> Hypothesis:
        """The hypothesis that a candidate of the universe stands for."""


AnyClass: TypeAlias = "HypothesisClass[Any]"


class Renamed(Generic[B, C]):
    """`universe` with the same levels, whose candidates are called what `name` calls them."""

    def __init__(self, universe: Universe[B], name: Callable[[B], C]) -> None:
        self._inner, self._name = universe, name
        self.size, self.padding, self.least = universe.size, universe.padding, universe.least
        self.top, self.head, self.below, self.lower = universe.top, universe.head, universe.below, universe.lower

    def member(self, level: Level, *, bits: BitSource) -> C:
        """A uniform candidate of the level."""
        return self._name(self._inner.member(level, bits=bits))

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[C, Score]:
        """A uniform candidate with a score below `floor`, and its score."""
        candidate, score = self._inner.tail(floor, bits=bits)
        return self._name(candidate), score


def candidate_number(candidate: Any, size: int) -> int:
    """The candidate, which may come out of a file, as an integer.

    Raises TypeError for what is no whole number, IndexError outside 0 … `size` − 1.
    """
    if isinstance(candidate, bool):
        raise TypeError("a candidate is a whole number")
    number = index(candidate)
    if not 0 <= number < size:
        raise IndexError(f"the class has candidates 0 to {size - 1} only")
    return number
