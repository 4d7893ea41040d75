"""Amounts of privacy loss, and the state of a data set's budget."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpmine.errors import BadParameter, BudgetExceeded
from dpmine.exact.reals import below, decimal_above, decimal_below, exact_ball
from dpmine.privacy import ExPostGuarantee, rounded_up, short
from dpmine.zcdp import epsilon_at, rho_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dpmine.privacy import Guarantee, Neighbors


_LONGEST_NUMBER = 2600  # bits of a numerator or denominator: sums of five such numbers can still be written as text
_DIGITS = 15  # of ρ
_LEAST_RHO = Fraction(1, 10**100)  # of a charge: smaller numbers would have more digits than can be kept
_ROUNDING = 1 + Fraction(1, 10**9)  # of an ε that was computed from ρ, at most
_BITS = 128  # of balls
_WRITTEN = re.compile(r"-?[0-9]{1,800}(/[0-9]{1,800})?")


class Accounting(StrEnum):
    """What of the runs on a data set is added up, and compared with what was granted."""

    BASIC = "basic"
    """ε and δ."""
    ZCDP = "zcdp"
    """ρ, and the δ of approximate parts: many small runs come to less. Proof: docs/proofs/zcdp.md."""


@dataclass(frozen=True, slots=True, order=False)
class Amount:
    """The privacy loss of runs under both accountings: (ε, δ), and ρ with the δ of approximate parts; all ≥ 0."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    approximate_delta: Fraction = Fraction(0)

    def __add__(self, other: Amount) -> Amount:
        return Amount(*(one + two for one, two in zip(self, other, strict=True)))

    def __sub__(self, other: Amount) -> Amount:
        return Amount(*(one - two for one, two in zip(self, other, strict=True)))

    def __iter__(self) -> Iterator[Fraction]:
        return iter((self.epsilon, self.delta, self.rho, self.approximate_delta))

    def compared(self, accounting: Accounting) -> tuple[Fraction, Fraction]:
        """The two numbers that this kind of accounting adds up."""
        basic = accounting is Accounting.BASIC
        return (self.epsilon, self.delta) if basic else (self.rho, self.approximate_delta)

    def fits(self, other: Amount, accounting: Accounting = Accounting.BASIC) -> bool:
        """Whether `other` is at most this, in both numbers of the `accounting`."""
        pairs = zip(self.compared(accounting), other.compared(accounting), strict=True)
        return all(theirs <= ours for ours, theirs in pairs)

    @property
    def conversion_delta(self) -> Fraction:
        """Of a total: the δ at which ρ is converted."""
        return self.delta - self.approximate_delta

    @property
    def is_short(self) -> bool:
        """Whether it can be kept: at most 780 digits above and below each line."""
        return all(max(n.numerator.bit_length(), n.denominator.bit_length()) <= _LONGEST_NUMBER for n in self)

    def to_dict(self, *names: str) -> dict[str, float | str]:
        """JSON-ready: floats for reading, exact texts beside them; of all numbers, or of these `names`."""
        chosen = names or tuple(field.name for field in fields(self))
        numbers = {name: getattr(self, name) for name in chosen}
        readable = {name: rounded_up(value) if value >= 0 else float(value) for name, value in numbers.items()}
        return {**readable, **{f"{name}_exact": str(value) for name, value in numbers.items()}}

    @classmethod
    def of(cls, guarantee: Guarantee) -> Amount:
        """The most that a run with this guarantee can be charged."""
        concentrated = guarantee.zcdp
        return cls(guarantee.epsilon, guarantee.delta, kept_rho(concentrated.rho), concentrated.delta)

    @classmethod
    def settled(cls, guarantee: Guarantee) -> Amount:
        """What a run came to; of an ex-post guarantee, the ε that is charged in the end, and all of ρ."""
        most = cls.of(guarantee)
        return replace(most, epsilon=guarantee.ex_post_epsilon) if isinstance(guarantee, ExPostGuarantee) else most

    @classmethod
    def granted(cls, epsilon: Fraction, delta: Fraction, approximate: Fraction | None = None) -> Amount:
        """A total of (`epsilon`, `delta`) under zCDP: ρ for δ less that of `approximate` parts, by default a half."""
        share = delta / 2 if approximate is None else approximate
        if not 0 <= share < delta:
            raise BadParameter("zcdp accounting needs a delta above 0, and approximate_delta must be less than it.")
        rho = rho_at(epsilon, delta - share)
        if not rho:
            raise BadParameter("No ρ is left under zcdp accounting with so small an epsilon and delta: grant more.")
        return cls(epsilon, delta, decimal_below(rho, _DIGITS), share)

    def is_total(self, accounting: Accounting) -> bool:
        """Whether it can be a grant: no ρ under basic accounting; under zCDP as much as (ε, δ) bears out, at most."""
        if accounting is Accounting.BASIC:
            return not (self.rho or self.approximate_delta)
        if not (0 <= self.approximate_delta < self.delta and self.rho > 0):
            return False
        return epsilon_at(self.rho, self.conversion_delta) <= self.epsilon * _ROUNDING

    @classmethod
    def total(cls, amounts: Iterable[Amount]) -> Amount:
        """The sum of the amounts."""
        return sum(amounts, cls())

    @classmethod
    def read(cls, *numbers: object) -> Amount:
        """The four numbers, as a ledger writes them: "1/3", "0". Raises ValueError for any other value or spelling."""
        return cls(*map(_read, numbers))

    @property
    def decimals(self) -> str:
        """ε and δ, as decimals where those are exact."""
        return self.shown(Accounting.BASIC, short)

    def shown(self, accounting: Accounting, write: Callable[[Fraction], str] = str) -> str:
        """The two numbers that this kind of accounting adds up, ε and δ as `write` has them; ρ to six digits."""
        loss, delta = self.compared(accounting)
        if accounting is Accounting.BASIC:
            return f"ε = {write(loss)}, δ = {write(delta)}"
        return f"ρ = {float(loss):.6g}, δ = {short(delta)}"

    def __str__(self) -> str:
        return self.shown(Accounting.BASIC)


def kept_rho(rho: Fraction) -> Fraction:
    """ρ as a ledger keeps it: rounded up to 30 digits, so that sums of them stay short; 1/800 stays as it is."""
    return decimal_above(max(rho, _LEAST_RHO), 2 * _DIGITS) if rho > 0 else rho


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


def first_grant(new: str, dataset: str, total: Amount) -> str:
    """That a grant made the ledger, or the data set in it, in words: where one was lost, its budget starts afresh."""
    granted = f"granted {total.decimals} to {dataset!r}"
    return f"new {new}: {granted}; if there was one before, restore it, because its charges are not counted"


def entries_as_written(number: int) -> str:
    """What `Ledger.verify` found, in words."""
    return f"{number} {'entry' if number == 1 else 'entries'}, all as they were written"


def composed(whole: Amount, parts: Iterable[Amount]) -> Amount:
    """The charges on the whole and on disjoint parts, added up for one unit: it is in one part, at worst the largest.

    ε, δ, ρ and the δ of approximate parts are bounded separately.
    """
    return whole + Amount(*map(max, zip(*parts, Amount(), strict=True)))


def guaranteed(spent: Amount, accounting: Accounting, conversion_delta: Fraction) -> Amount:
    """The (ε, δ) of runs with these charges together; under zCDP accounting, ρ is converted at `conversion_delta`."""
    if accounting is Accounting.BASIC or not spent.rho:
        return Amount(spent.epsilon, spent.delta)
    epsilon = epsilon_at(spent.rho, conversion_delta)
    return Amount(decimal_above(epsilon, _DIGITS) if epsilon else epsilon, conversion_delta + spent.approximate_delta)


def _read(text: object) -> Fraction:
    if isinstance(text, str) and _WRITTEN.fullmatch(text) and not text.endswith("/0"):
        value = Fraction(text)
        if str(value) == text:
            return value
    raise ValueError


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


def in_part(dataset: str) -> str:
    """Which part of the data set is meant, in words that follow others; "" for the whole."""
    part = name_and_part(dataset)[1]
    return f" in {part!r}" if part else ""


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
        granted: the total; ρ is in it under zCDP accounting only.
        accounting: what is added up; fixed by the first charge.
        charged: sums of charges and of what is set aside, by part, `WHOLE` for the whole.
        entries: length of the history.
        seal: of its last entry.
    """

    dataset: str
    neighbors: Neighbors
    parts: Parts
    granted: Amount
    unit: str = ""
    accounting: Accounting = Accounting.BASIC
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
        return self.remaining_of(WHOLE)

    def remaining_of(self, part: str) -> Amount:
        """The most that one more run on a part, or on the whole, may be charged.

        Under zCDP accounting, ε is that of a pure run.
        """
        left = self.granted - (self.spent if part == WHOLE else self._of(WHOLE) + self._of(part))
        if self.accounting is Accounting.BASIC:
            return Amount(left.epsilon, left.delta)
        root = decimal_below(below(exact_ball(2 * left.rho).sqrt, _BITS), _DIGITS) if left.rho > 0 else Fraction(0)
        return replace(left, epsilon=root, delta=left.approximate_delta)

    @property
    def end(self) -> str:
        """How the history ends, in words: to be kept elsewhere, and compared with restored copies."""
        return f"{self.dataset!r} ends at entry {self.entries} with the seal {self.seal[:16]}…"

    def left_of(self, dataset: str) -> str:
        """What may still be charged to `dataset`, such as "shop" or "shop/north", in decimals."""
        return self.remaining_of(name_and_part(dataset)[1]).shown(self.accounting, short)

    @property
    def guarantee(self) -> Amount:
        """The ε and δ that all charges so far keep together, had they been fixed beforehand; ε rounded up.

        Where the number of runs depended on results, only the granted ε and δ are proved under zCDP accounting.
        """
        return guaranteed(self.spent, self.accounting, self.granted.conversion_delta)

    def charging(self, part: str, amount: Amount) -> Budget:
        """The budget after `amount` is charged to `part`; the amount may be negative, in settlements.

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
        if not self.granted.fits(after.spent, self.accounting):
            raise BudgetExceeded(self._rejection(part, amount, after))
        return after

    def granting(self, granted: Amount) -> Budget:
        """The budget with the total `granted`.

        Raises BudgetExceeded where one of its numbers falls once anything is charged.

        So the last total is the largest of all that were in force. Otherwise results could decide to give up one number
        for the other, in several grants, and no total would be guaranteed (docs/proofs/ledger.md, section 1).
        """
        if self.charged and not granted.fits(self.granted, self.accounting):
            numbers = "ε nor δ" if self.accounting is Accounting.BASIC else "ρ nor the δ for approximate parts"
            raise BudgetExceeded(
                f"{self.dataset!r} has been charged, and neither {numbers} of its total may fall then: grant at least "
                f"{self.granted.shown(self.accounting, short)}, with a larger `epsilon=…` or `delta=…`."
            )
        return replace(self, granted=granted)

    @property
    def scope(self) -> str:
        """The unit and the relation, in words."""
        unit = f"per {self.unit}" if self.unit else "unit not fixed yet"
        return f"{unit}, neighbours {str(self.neighbors).replace('_', '-')}"

    def __str__(self) -> str:
        granted, spent = (each.shown(self.accounting, short) for each in (self.granted, self.spent))
        said = f"granted {granted}; spent {spent}; remaining {self.left_of(self.dataset)}; {self.accounting} accounting"
        return f"{self.dataset}: {said}; {self.scope}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "dataset": self.dataset,
            "unit": self.unit or None,
            "neighbors": str(self.neighbors),
            "parts": str(self.parts),
            "accounting": str(self.accounting),
            "granted": self.granted.to_dict(*self._shown),
            "spent": self.spent.to_dict(),
            "remaining": self.remaining.to_dict(*self._shown),
            "guarantee": self.guarantee.to_dict("epsilon", "delta"),
            "parts_spent": {part: amount.to_dict() for part, amount in sorted(self._parts().items())},
            "entries": self.entries,
            "seal": self.seal,
        }

    @property
    def _shown(self) -> tuple[str, ...]:
        """Names of the numbers that a total has; none for all."""
        return ("epsilon", "delta") if self.accounting is Accounting.BASIC else ()

    def _of(self, part: str) -> Amount:
        return self.charged.get(part, Amount())

    def _parts(self) -> dict[str, Amount]:
        return {part: amount for part, amount in self.charged.items() if part != WHOLE}

    def _rejection(self, part: str, amount: Amount, after: Budget) -> str:
        over = after.spent - self.granted
        missing = Amount(*(max(number, Fraction(0)) for number in over))
        name = f"{self.dataset}/{part}" if part else self.dataset
        requested, left, short_by = (each.shown(self.accounting) for each in (amount, amount - over, missing))
        return (
            f"The budget of {name!r} does not allow this: requested {requested}; remaining {left}; "
            f"short by {short_by}. {self._advice(amount, over)}"
        )

    def _advice(self, amount: Amount, over: Amount) -> str:
        if self.accounting is Accounting.ZCDP and over.approximate_delta > 0 >= over.rho:
            return (
                "ρ is left, but not enough of the δ for approximate parts: run a mechanism with δ = 0 (for itemsets: "
                "give `catalogue=…`), or grant a larger `delta=…` and `approximate_delta=…` (dpmine ledger grant)."
            )
        if self.accounting is Accounting.BASIC and amount.delta > self.granted.delta == 0:
            options = f"`epsilon={self.granted.epsilon}` `delta={short(amount.delta)}`"
            return (
                f"The grant has δ = 0: grant again with {options} or more (dpmine ledger grant), or run a mechanism "
                "with δ = 0 (for itemsets: give `catalogue=…`)."
            )
        return "Ask for less (`epsilon=…`, `delta=…`), or have a larger total granted (dpmine ledger grant)."
