"""Amounts of (ε, δ), the budget of one data set at one moment, and who is called when something is charged to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpmine.errors import BadParameter, BudgetExceeded
from dpmine.parameters import named
from dpmine.privacy import ExPostGuarantee, rounded_up, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dpmine.privacy import Guarantee, Neighbors


_LONGEST_NUMBER = 2600  # bits of a numerator or denominator: sums of five such numbers can still be written as text
_WRITTEN = re.compile(r"-?[0-9]{1,800}(/[0-9]{1,800})?")


@dataclass(frozen=True, slots=True, order=False)
class Amount:
    """ε ≥ 0 and δ ≥ 0."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.epsilon + other.epsilon, self.delta + other.delta)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.epsilon - other.epsilon, self.delta - other.delta)

    def fits(self, other: Amount) -> bool:
        """Whether `other` is at most this, in both numbers."""
        return other.epsilon <= self.epsilon and other.delta <= self.delta

    @property
    def is_short(self) -> bool:
        """Whether it can be kept: at most 780 digits above and below each line."""
        numbers = (self.epsilon, self.delta)
        return all(max(n.numerator.bit_length(), n.denominator.bit_length()) <= _LONGEST_NUMBER for n in numbers)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: floats for reading, exact texts beside them."""
        return {
            "epsilon": _readable(self.epsilon),
            "delta": _readable(self.delta),
            "epsilon_exact": str(self.epsilon),
            "delta_exact": str(self.delta),
        }

    @classmethod
    def of(cls, guarantee: Guarantee) -> Amount:
        """What a guarantee costs at most."""
        return cls(guarantee.epsilon, guarantee.delta)

    @classmethod
    def settled(cls, guarantee: Guarantee) -> Amount:
        """What a run came to; of an ex-post guarantee, the ε that is charged in the end."""
        epsilon = guarantee.ex_post_epsilon if isinstance(guarantee, ExPostGuarantee) else guarantee.epsilon
        return cls(epsilon, guarantee.delta)

    @classmethod
    def total(cls, amounts: Iterable[Amount]) -> Amount:
        """The sum."""
        return sum(amounts, cls())

    @classmethod
    def read(cls, epsilon: object, delta: object) -> Amount:
        """As a ledger writes them: "1/3", "0". Raises ValueError for any other value or spelling."""
        return cls(_read(epsilon), _read(delta))

    @property
    def decimals(self) -> str:
        """ε and δ, as decimals where those are exact."""
        return f"ε = {short(self.epsilon)}, δ = {short(self.delta)}"

    def __str__(self) -> str:
        return f"ε = {self.epsilon}, δ = {self.delta}"


class Parts(StrEnum):
    """How a data set may be cut into disjoint parts that are charged apart."""

    NONE = "none"
    """Not at all."""
    BY_UNIT = "by_unit"
    """A unit's part depends on that unit's own data alone, such as the country that it lives in; for add_remove only.

    A replaced unit may leave its part, whose number of units is then not public: docs/proofs/ledger.md, section 4.
    """
    BY_INDEX = "by_index"
    """Parts are fixed whatever the data, such as by a number that a unit was given; for replace_one only."""

    @classmethod
    def parse(cls, value: str | Parts) -> Parts:
        """The value of that name, dashes or underscores; BadParameter otherwise."""
        return named(cls, "parts", value)


def composed(whole: Amount, parts: Iterable[Amount]) -> Amount:
    """What charges on the whole and on disjoint parts come to for one unit: it is in one part, the costliest at worst.

    ε and δ are bounded separately.
    """
    amounts = list(parts)
    epsilon = max((amount.epsilon for amount in amounts), default=Fraction(0))
    return whole + Amount(epsilon, max((amount.delta for amount in amounts), default=Fraction(0)))


def _read(text: object) -> Fraction:
    if not isinstance(text, str) or not _WRITTEN.fullmatch(text) or text.endswith("/0"):
        raise ValueError
    value = Fraction(text)
    if str(value) != text:
        raise ValueError
    return value


def _readable(value: Fraction) -> float:
    return rounded_up(value) if value >= 0 else float(value)


WHOLE = ""
"""The part that is all of a data set."""
START = "0" * 64
"""What the first entry of a history seals."""
_LONGEST_NAME = 200  # characters


def checked_name(what: str, value: object) -> str:
    """The name, if it has 1 to 200 characters and no control characters; else BadParameter."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME or not value.isprintable():
        raise BadParameter(f"{what} must be a printable name of 1 to {_LONGEST_NAME} characters.")
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

    def left_of(self, dataset: str) -> str:
        """What may still be charged to "shop" or "shop/north", in decimals."""
        return self.remaining_of(name_and_part(dataset)[1]).decimals

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


_LISTENERS: list[Callable[[], object]] = []


def on_charge(listener: Callable[[], object]) -> None:
    """Call `listener`, which must not raise, whenever a charge in this process is about to be on the disk."""
    if listener not in _LISTENERS:
        _LISTENERS.append(listener)


def charge_committing() -> None:
    """Call all listeners; called inside the transaction, so that they know of a charge before it is on the disk."""
    for listener in _LISTENERS:
        listener()
