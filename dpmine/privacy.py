"""The guarantee of a result: the neighbour relation and the guarantee, in exact rationals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, Self, TypeVar

from dpmine.markup import printable
from dpmine.options.explained import explained_by
from dpmine.parameters import named

ROW = "row"
"""The privacy unit of estimators, where the caller names none."""


class Neighbors(StrEnum):
    """Which data sets must be hard to distinguish."""

    REPLACE_ONE = "replace_one"
    """One privacy unit's data are replaced by another's; the number of units is public."""
    ADD_REMOVE = "add_remove"
    """One privacy unit is added or removed; the number of units is private."""

    @classmethod
    def parse(cls, value: str | Neighbors) -> Neighbors:
        """The relation named `value`, dashes or underscores; BadParameter otherwise."""
        return value if isinstance(value, cls) else named(cls, "neighbors", value)


@dataclass(frozen=True, slots=True)
class Zcdp:
    """δ-approximate ρ-zero-concentrated differential privacy: what a run is charged under zCDP accounting.

    A part of the output distribution, of mass 1 - δ at least, has a Rényi divergence between neighbours of at most ρα.
    That holds for every order α > 1. Source: Bun & Steinke 2016. Proof: docs/proofs/zcdp.md.
    """

    rho: Fraction
    delta: Fraction = Fraction(0)

    def __add__(self, other: Zcdp) -> Zcdp:
        return Zcdp(self.rho + other.rho, self.delta + other.delta)

    def times(self, count: int) -> Zcdp:
        """That of `count` runs."""
        return Zcdp(self.rho * count, self.delta * count)

    @classmethod
    def implied(cls, epsilon: Fraction, delta: Fraction) -> Zcdp:
        """What privacy at `epsilon` and `delta` implies: ρ = ε²/2, and the same δ."""
        return cls(epsilon**2 / 2, delta)

    @classmethod
    def of_range(cls, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Zcdp:
        """What a privacy loss in an interval of length `epsilon` implies, apart from `delta`: ρ = ε²/8, and this δ."""
        return cls(epsilon**2 / 8, delta)


@dataclass(frozen=True, slots=True)
class Guarantee:
    """(ε, δ)-differential privacy for one privacy unit under a neighbour relation.

    Attributes:
        epsilon: ε, exactly.
        delta: δ, exactly.
        neighbors: which data sets are hard to distinguish.
        unit: the name of the privacy unit.
        private: False when nothing is guaranteed; `epsilon` and `delta` are then what was asked for.
        notes: remarks for readers; without a guarantee they say why there is none.
        assertion: what the caller asserts, such as "one row each", and nothing checks; "" for nothing.
        concentrated: what is proved of the run under zCDP beyond what (ε, δ) implies; None for no more than that.

    Example:
        >>> print(Guarantee(Fraction(1), Fraction(1, 10**6), Neighbors.REPLACE_ONE, unit="customer"))
        ε = 1, δ = 1e-06 per customer, neighbours replace-one
        >>> Guarantee(Fraction(1), Fraction(0), Neighbors.REPLACE_ONE).rho
        Fraction(1, 2)

    See Also:
        ExPostGuarantee: where the charge depends on the outcome.
    """

    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors
    unit: str = "unit"
    private: bool = True
    notes: tuple[str, ...] = ()
    assertion: str = ""
    concentrated: Zcdp | None = None

    @property
    def zcdp(self) -> Zcdp:
        """What the run is charged under zCDP accounting."""
        return self.concentrated or Zcdp.implied(self.epsilon, self.delta)

    @property
    def rho(self) -> Fraction | None:
        """ρ of the run, beside `zcdp.delta`; None where nothing is guaranteed."""
        return self.zcdp.rho if self.private else None

    def for_unit(self, unit: str) -> Self:
        """The same guarantee for the named privacy unit; what is asserted stays asserted."""
        return replace(self, unit=unit)

    def asserting(self, unit: str, assertion: str) -> Self:
        """The same guarantee for the named privacy unit, valid if the assertion is true, and any earlier one."""
        noted = self.noting(f"asserted, not checked: {assertion} ({unit})")
        return replace(noted, unit=unit, assertion=f"{self.assertion}; {assertion}" if self.assertion else assertion)

    def noting(self, *notes: str) -> Self:
        """The same guarantee with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def grouped(self, rows: int, delta: Fraction) -> Self:
        """The guarantee for `rows` records together: `rows` times the ε of one, and δ = `delta`."""
        return replace(self, epsilon=self.epsilon * rows, delta=delta, concentrated=None)

    def without_privacy(self, reason: str) -> Self:
        """No guarantee at all, with the reason."""
        return replace(self, private=False, notes=(*self.notes, reason))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; the floats are never below the exact values."""
        return {
            "epsilon": rounded_up(self.epsilon),
            "delta": rounded_up(self.delta),
            "epsilon_exact": str(self.epsilon),
            "delta_exact": str(self.delta),
            "neighbors": str(self.neighbors),
            "unit": self.unit,
            "private": self.private,
            "rho": None if self.rho is None else rounded_up(self.rho),
            "rho_exact": None if self.rho is None else str(self.rho),
            "approximate_delta_exact": None if self.rho is None else str(self.zcdp.delta),
            "notes": list(self.notes),
            **({"asserted": self.assertion} if self.assertion else {}),
        }

    def __str__(self) -> str:
        if not self.private:
            return f"not private: {'; '.join(self.notes)}"
        terms = f"ε = {decimal(self.epsilon)}, δ = {decimal(self.delta)}"
        unit = printable(f"{self.unit} (asserted: {self.assertion})" if self.assertion else self.unit)
        return f"{terms} per {unit}, neighbours {str(self.neighbors).replace('_', '-')}"


@explained_by(Guarantee.__doc__)
@dataclass(frozen=True, slots=True, kw_only=True)
class ExPostGuarantee(Guarantee):
    """The privacy loss of a run whose loss depends on its outcome, so that it is known only when the run has ended.

    For every event S of outcomes o with their charges, and neighbours D and D':
    Pr[A(D) ∈ S] ≤ E[e^{ex_post_epsilon(o)}; o = A(D') ∈ S] + δ.
    Before the run only (`epsilon`, `delta`) could be guaranteed, and a budget must reserve that. Afterwards it settles
    `ex_post_epsilon`, and sums of settled charges hold for all runs together.

    Attributes:
        ex_post_epsilon: ε of the outcome that the run had.

    Source: Ligett et al. 2017, Definitions 2.2 and 2.3. Proof: docs/proofs/models/above_threshold.md.
    """

    ex_post_epsilon: Fraction

    @property
    def epsilon_max(self) -> Fraction:
        """What was reserved: the largest charge of any outcome is at most this."""
        return self.epsilon

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, with the charge and what was reserved."""
        return {
            **Guarantee.to_dict(self),
            "ex_post_epsilon": rounded_up(self.ex_post_epsilon),
            "ex_post_epsilon_exact": str(self.ex_post_epsilon),
            "epsilon_max": rounded_up(self.epsilon),
        }

    def __str__(self) -> str:
        charged = f"ex-post ε = {decimal(self.ex_post_epsilon)} of at most {Guarantee.__str__(self)}"
        return charged if self.private else Guarantee.__str__(self)


SomeGuarantee = TypeVar("SomeGuarantee", bound=Guarantee)


def of_asserted_unit(guarantee: SomeGuarantee, unit: str, assertion: str) -> SomeGuarantee:
    """The guarantee for rows as one for `unit`, given what the caller asserts about it; "row" asserts nothing."""
    return guarantee if unit == ROW else guarantee.asserting(unit, assertion)


_FIRST_DIGITS = Context(prec=6, rounding=ROUND_CEILING)


def rounded_up(value: Fraction) -> float:
    """The nearest float for reading; JSON carries the exact fraction beside it.

    Rounded against the user: never below `value` except where `value` is the float's own decimal (0.1, 1e-6).
    """
    number = float(value)
    if Fraction(repr(number)) >= value:
        return number
    return math.nextafter(number, math.inf)


def float_above(value: Fraction) -> float:
    """The least float that is not below the value."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def float_below(value: Fraction) -> float:
    """The largest float that is not above the value."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def short(value: Fraction) -> str:
    """The value as a decimal where that is exact, else as a fraction."""
    number = rounded_up(value)
    return repr(number).removesuffix(".0") if Fraction(repr(number)) == value else str(value)


def decimal(value: Fraction) -> str:
    """The value for people: as a decimal where that is exact, else its first digits, rounded up; JSON is exact."""
    text = short(value)
    if "/" not in text:
        return text
    digits = _FIRST_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{float(digits):.{_FIRST_DIGITS.prec}g}"
