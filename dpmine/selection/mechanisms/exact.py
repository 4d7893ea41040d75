"""The best candidate itself, for comparisons. No privacy whatsoever."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpmine.selection.mechanisms.mechanism import Mechanism

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.selection.laws.profile import LevelLaw, Profile
    from dpmine.selection.universes.protocol import C, Universe


class Exact(Mechanism):
    """A uniform candidate among those with the best score. No privacy whatsoever."""

    name: ClassVar[str] = "exact"
    approximate: ClassVar[bool] = False
    private: ClassVar[bool] = False

    def choose(self, universe: Universe[C], *, bits: BitSource) -> C | None:
        """The best candidate; None when a dummy is as good."""
        best = universe.head(universe.top())
        if not best or (universe.padding and best[0].score <= 0):
            return None
        return universe.member(best[0], bits=bits)

    def law(self, profile: Profile) -> LevelLaw:
        """All mass on the best level, on nothing where dummies are as good."""
        ladder = profile.ladder()
        return ladder.law(np.eye(1, len(ladder.scores))[0])

    def lead(self, candidates: int) -> float:  # noqa: ARG002 - the protocol's signature
        """No lead is needed."""
        return 0.0
