"""What is chosen, and what it is chosen from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpmine.models.pac.records import Bools, Records
    from dpmine.models.supervised import Floats
    from dpmine.selection.universes.base import Universe

C = TypeVar("C", bound="Hashable")


class Hypothesis(Protocol):
    """A classifier that can be read; `str` shows its rule, such as "age >= 41.5"."""

    def predict(self, features: Floats) -> Bools:
        """Whether each row of `features`, shape (n, d), is of the second class; a row's answer is its own alone."""
        ...

    def parameters(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        ...


class HypothesisClass(Protocol[C]):
    """A finite set H of hypotheses, public.

    The score of a hypothesis is the number of records that it classifies correctly. One record replaced moves it by at
    most 1; one record added raises it by 0 or 1. So scores are counts, under either relation.
    """

    @property
    def name(self) -> str:
        """What the class is called on the command line."""
        ...

    @property
    def columns(self) -> int | None:
        """How many features its hypotheses see; None for any number."""
        ...

    @property
    def size(self) -> int:
        """|H|."""
        ...

    def universe(self, records: Records) -> Universe[C]:
        """All hypotheses with their scores, exactly."""
        ...

    def hypothesis(self, candidate: C) -> Hypothesis:
        """The hypothesis that a candidate of the universe stands for."""
        ...
