"""The true maximum. NOT private: for tests, comparisons and public data."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

from dpmine.selection.mechanism import Mechanism

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpmine.exact.bits import BitSource
    from dpmine.selection.laws import LevelLaw, Profile
    from dpmine.selection.universe import Universe

C = TypeVar("C", bound="Hashable")


class Exact(Mechanism):
    """A uniform candidate among those with the best score. No privacy whatsoever."""

    name: ClassVar[str] = "exact"
    approximate: ClassVar[bool] = False
    needs_catalogue: ClassVar[bool] = False
    private: ClassVar[bool] = False

    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """The best candidate; None when a dummy is as good."""
        best = universe.head(universe.top())
        if not best or (universe.padding and best[0].score <= 0):
            return None
        return universe.member(best[0], bits=bits)

    def law(self, profile: Profile) -> LevelLaw:
        """All mass on the top level."""
        from dpmine.selection import laws

        return laws.exact(profile)

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - the protocol's signature
        """No lead is needed."""
        return 0.0
