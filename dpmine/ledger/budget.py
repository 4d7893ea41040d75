"""The budget of one data set at one moment, and what may still be charged to it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpmine.errors import BadParameter, BudgetExceeded
from dpmine.ledger.amounts import Amount, Parts, composed
from dpmine.ledger.history import START
from dpmine.privacy import short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpmine.privacy import Neighbors


WHOLE = ""
"""The part that is all of a data set."""
_LONGEST = 200  # characters


def checked_name(what: str, value: object) -> str:
    """The name, if it has 1 to 200 characters and no control characters; else BadParameter."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST or not value.isprintable():
        raise BadParameter(f"{what} must be a printable name of 1 to {_LONGEST} characters.")
    return value


def name_and_part(dataset: object) -> tuple[str, str]:
    """Name and part of "shop" or "shop/north". Raises BadParameter."""
    name, slash, part = dataset.partition("/") if isinstance(dataset, str) else (dataset, "", "")
    return checked_name("dataset", name), checked_name("the part after / in dataset", part) if slash else WHOLE


def whole_name(dataset: object) -> str:
    """A name without a part. Raises BadParameter."""
    name, part = name_and_part(dataset)
    if part != WHOLE:
        raise BadParameter("A budget is granted to a whole data set, whose name has no '/'; its parts are charged.")
    return name


@dataclass(frozen=True, slots=True)
class Budget:
    """What was granted for a data set, and what its charges come to.

    Attributes:
        dataset: its name.
        neighbors: the relation that all of its charges are for.
        parts: how it may be cut into parts.
        unit: the privacy unit; "" until the first charge names one.
        granted: the total.
        charged: sums of charges and of what is set aside, by part, `WHOLE` for the whole.
        entries: length of the history.
        seal: of its last entry.
    """

    dataset: str
    neighbors: Neighbors
    parts: Parts
    granted: Amount
    unit: str = ""
    charged: Mapping[str, Amount] = field(default_factory=dict)
    entries: int = 0
    seal: str = START

    @property
    def spent(self) -> Amount:
        """What all charges come to for one unit."""
        return composed(self._of(WHOLE), self._parts().values())

    @property
    def remaining(self) -> Amount:
        """What is left for the whole data set; a part may have more."""
        return self.granted - self.spent

    def remaining_of(self, part: str) -> Amount:
        """What may still be charged to a part, or to the whole."""
        return self.remaining if part == WHOLE else self.granted - self._of(WHOLE) - self._of(part)

    def charging(self, part: str, amount: Amount) -> Budget:
        """The budget after a charge, which may be negative, in settlements.

        Raises BudgetExceeded, with what is missing, where it would be overspent; BadParameter for parts where the data
        set has none.
        """
        if part != WHOLE and self.parts is Parts.NONE:
            raise BadParameter(
                f"{self.dataset!r} has no parts: charge the whole, or grant a data set with parts by_unit or by_index."
            )
        total = self._of(part) + amount
        if not total.is_short:
            raise BadParameter(
                f"The charges to {self.dataset!r} would add up to a fraction of more than 780 digits: "
                "charge numbers of few digits, such as 0.1 or 1/3."
            )
        after = replace(self, charged={**self.charged, part: total})
        if not self.granted.fits(after.spent):
            raise BudgetExceeded(self._refusal(part, amount, after))
        return after

    def granting(self, granted: Amount) -> Budget:
        """The budget with another total. Raises BudgetExceeded below what is spent."""
        if not granted.fits(self.spent):
            raise BudgetExceeded(
                f"{self.dataset!r} has spent {self.spent}, which is more than the {granted} to be granted: "
                "grant at least what is spent."
            )
        return replace(self, granted=granted)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "dataset": self.dataset,
            "unit": self.unit or None,
            "neighbors": str(self.neighbors),
            "parts": str(self.parts),
            "granted": self.granted.to_dict(),
            "spent": self.spent.to_dict(),
            "remaining": self.remaining.to_dict(),
            "parts_spent": {part: amount.to_dict() for part, amount in sorted(self._parts().items())},
            "entries": self.entries,
            "seal": self.seal,
        }

    def _of(self, part: str) -> Amount:
        return self.charged.get(part, Amount())

    def _parts(self) -> dict[str, Amount]:
        return {part: amount for part, amount in self.charged.items() if part != WHOLE}

    def _refusal(self, part: str, amount: Amount, after: Budget) -> str:
        over = after.spent - self.granted
        missing = Amount(max(over.epsilon, Fraction(0)), max(over.delta, Fraction(0)))
        name = f"{self.dataset}/{part}" if part else self.dataset
        return (
            f"The budget of {name!r} does not allow this: requested {amount}; remaining {amount - over}; short by "
            f"{missing}. {self._advice(amount)}"
        )

    def _advice(self, amount: Amount) -> str:
        if amount.delta > self.granted.delta == 0:
            options = f"--epsilon {self.granted.epsilon} --delta {short(amount.delta)}"
            return (
                f"The grant has δ = 0: grant again with {options} or more (dpmine ledger grant), or run a mechanism "
                "with δ = 0 (for itemsets: give --catalogue)."
            )
        return "Ask for less, or have a larger total granted (dpmine ledger grant)."
