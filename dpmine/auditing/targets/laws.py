"""Exact output distributions of a mechanism on two neighbours, and the outcomes that show most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from dpmine.auditing.targets.events import frozen
from dpmine.errors import BadParameter
from dpmine.selection.select import Law

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpmine.auditing.targets.claims import Claim, Evidence
    from dpmine.auditing.targets.neighbours import Pair
    from dpmine.selection.laws.profile import FloatArray

_OFF = 1e-6  # how far the sum of probabilities may be from 1
_NAMED = 5  # outcomes of an event


@runtime_checkable
class HasLaw(Protocol):
    """A mechanism that knows its output distribution."""

    def law(self, data: Any, /) -> object:
        """A mapping from outcomes to probabilities, or a `dpmine.Law`."""
        ...


@dataclass(frozen=True)
class TwoLaws:
    """The outcomes on both sides of a pair, and their probabilities on each side, shape (outcomes,)."""

    outcomes: tuple[Hashable, ...]
    left: FloatArray
    right: FloatArray

    @classmethod
    def of(cls, mechanism: HasLaw, pair: Pair) -> TwoLaws:
        """As `mechanism.law` gives them. Raises BadParameter for what is no distribution."""
        sides = [_masses(mechanism.law(data)) for data in pair.sides()]
        outcomes = tuple(dict.fromkeys([*sides[0], *sides[1]]))
        return cls(outcomes, *(np.array([side.get(outcome, 0.0) for outcome in outcomes]) for side in sides))

    def reversed(self) -> TwoLaws:
        """The other direction."""
        return TwoLaws(self.outcomes, self.right, self.left)

    def worst(self, claim: Claim) -> tuple[Evidence, bool]:
        """What the two show in the direction that shows more, and whether that is backwards."""
        forth, back = claim.of_laws(self.left, self.right), claim.of_laws(self.right, self.left)
        return (back, True) if back.rank > forth.rank else (forth, False)

    def event(self, epsilon: float) -> str:
        """The outcomes that are more than e^ε times likelier on the left, those with the largest excess first."""
        with np.errstate(over="ignore"):
            excess = self.left - np.exp(epsilon) * self.right
        ranked = [place for place in np.argsort(-excess, kind="stable").tolist() if excess[place] > 0]
        if not ranked:
            return "none: no outcome is that much likelier"
        named = ", ".join(repr(self.outcomes[place]) for place in ranked[:_NAMED])
        more = f" and {len(ranked) - _NAMED} more" if len(ranked) > _NAMED else ""
        return f"the outcome is {named}{more}" if len(ranked) == 1 else f"the outcome is one of: {named}{more}"


def _masses(law: object) -> dict[Hashable, float]:
    """The probability of every outcome; of a `Law` by position, and None for nothing."""
    if isinstance(law, Law):
        masses: dict[Hashable, float] = dict(enumerate(law.pmf.tolist()))
        masses[None] = law.nothing
    elif isinstance(law, Mapping):
        masses = {frozen(outcome): float(mass) for outcome, mass in law.items()}
    else:
        raise BadParameter("`law(data)` must return a mapping from outcomes to probabilities, or a dpmine.Law.")
    if not all(mass >= 0 for mass in masses.values()) or abs(sum(masses.values()) - 1) > _OFF:
        raise BadParameter("The probabilities that `law(data)` returns must be at least 0, and their sum must be 1.")
    return masses
