"""Amounts of (ε, δ), in exact rationals, and how amounts add up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpmine.parameters import named
from dpmine.privacy import rounded_up

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 2600  # bits of a numerator or denominator: sums of five such numbers are still written and read as text
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
        return all(max(n.numerator.bit_length(), n.denominator.bit_length()) <= _LONGEST for n in numbers)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: floats for reading, exact texts beside them."""
        return {
            "epsilon": _readable(self.epsilon),
            "delta": _readable(self.delta),
            "epsilon_exact": str(self.epsilon),
            "delta_exact": str(self.delta),
        }

    @classmethod
    def read(cls, epsilon: object, delta: object) -> Amount:
        """As a ledger writes them: "1/3", "0". Raises ValueError for any other value or spelling."""
        return cls(_read(epsilon), _read(delta))

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
