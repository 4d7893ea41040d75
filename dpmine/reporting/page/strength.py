"""How strong a guarantee is, in numbers for readers: factors, and how sure one outcome makes an attacker."""

from __future__ import annotations

import re
from fractions import Fraction
from math import exp, log, sqrt
from operator import itemgetter
from typing import TYPE_CHECKING

from dpmine.exact.reals import decimal_above, decimal_below
from dpmine.privacy import Neighbors, short
from dpmine.reporting.page.body import PageTable

if TYPE_CHECKING:
    from dpmine.ledger.budget import Amount

_MOST_SAID = 20  # ε beyond which the factor is too large to be of use
_DIGITS = 3  # of a δ that is rounded up for readers
_ABOVE = 1 + Fraction(1, 10**9)  # more than the error of a product of floats
_POWER = re.compile(r"\b(\d+(?:\.\d+)?)e\+?(-?)0*(\d+)")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NO_LIMIT = Fraction(1000)
"""The loss where a limit would hold with no probability at all."""
_OTHERS = (Fraction(1, 10), Fraction(1), Fraction(3))
"""Values of ε that a page is compared with."""
_GUESSES = (1, 10, 50)  # per cent


def strength_of(guarantee: Amount, neighbors: Neighbors, tail: tuple[Fraction, Fraction] | None) -> dict[str, object]:
    """How strong it is, in numbers."""
    replaced = neighbors is Neighbors.REPLACE_ONE
    # A fact about a unit's data is another one with other data: one taken away, and one added.
    steps = 1 if replaced else 2
    by_rho = tail if replaced else None
    group_delta, group_delta_of_two = (_delta_apart(guarantee, times * steps) for times in (1, 2))
    failing, failing_of_two = (
        guarantee.delta if by_rho else min(Fraction(1), 2 * each) for each in (group_delta, group_delta_of_two)
    )
    loss, of_two = (
        loss_of_outcomes(guarantee, times * steps, by_rho) if chance < 1 else _NO_LIMIT
        for times, chance in ((1, failing), (2, failing_of_two))
    )
    return {
        "total": readable(guarantee.decimals),
        "replaced": replaced,
        "strength": _strength(guarantee, steps, loss),
        "factor": factor_text(guarantee.epsilon),
        "times_odds": factor_text(loss),
        "plain_odds": factor_text(steps * guarantee.epsilon),
        "odds": odds_text(loss),
        "odds_of_two": odds_text(of_two),
        "delta": readable(short(guarantee.delta)) if guarantee.delta else "",
        "delta_of_two": readable(short(_delta_apart(guarantee, 2))) if guarantee.delta else "",
        "failing": readable(short(failing)) if failing else "",
        "chance": _one_in(failing),
        "chance_of_two": _one_in(failing_of_two),
    }


def _one_in(chance: Fraction) -> str:
    """A probability as 1 in many, rounded up; "" for 0 and 1."""
    return f"1 in {int(decimal_below(1 / chance, 3)):,}" if 0 < chance < 1 else ""


def loss_of_outcomes(guarantee: Amount, steps: int, tail: tuple[Fraction, Fraction] | None = None) -> Fraction:
    """The privacy loss of one outcome that is exceeded with small probability alone, for data that are `steps` apart.

    By (ρ, β) = `tail`: with probability β. Else with twice the δ that those data have; never where δ is 0. Proof:
    docs/proofs/zcdp.md, section 5.
    """
    if not guarantee.delta:
        return steps * guarantee.epsilon
    if tail is None:
        return steps * guarantee.epsilon + Fraction(log(2))
    rho, beta = tail
    return steps**2 * rho + Fraction(2 * steps * sqrt(float(rho) * -log(float(beta))))


def _delta_apart(guarantee: Amount, steps: int) -> Fraction:
    """The δ of data that are `steps` units apart, for as many times the ε: rounded up, and at most 1."""
    factor = sum(Fraction(exp(min(100.0, step * float(guarantee.epsilon)))) for step in range(steps))
    exact = steps == 1 or not guarantee.delta
    return guarantee.delta if exact else min(Fraction(1), decimal_above(factor * guarantee.delta * _ABOVE, _DIGITS))


def _strength(guarantee: Amount, steps: int, loss_here: Fraction) -> PageTable:
    """How sure of a guess an attacker can become, beside other ε; `steps` apart are two data sets that differ in it."""
    named = {f"ε = {short(other)}": steps * other for other in _OTHERS}
    own = f"this page (ε = {readable(short(guarantee.epsilon))})"
    rows = sorted({**named, own: loss_here}.items(), key=itemgetter(1))
    columns = {"Guarantee": [name for name, _ in rows]}
    for before in _GUESSES:
        columns[f"{before} % sure before"] = [odds_text(loss, before) for _, loss in rows]
    return PageTable("How sure an attacker can become at most", columns)


def factor_text(epsilon: Fraction) -> str:
    """e^ε, never below it."""
    if epsilon > _MOST_SAID:
        return "more than 100 million"
    return f"{rounded_up_at(exp(float(epsilon)), 2):,.2f}"


def rounded_up_at(value: float, digits: int) -> float:
    """The value rounded up to `digits` decimals."""
    lower = round(value, digits)
    return lower if lower >= value else round(lower + 10.0**-digits, digits)


def odds_text(epsilon: Fraction, before: int = 50) -> str:
    """The most that an attacker who is `before` per cent sure of a fact about one unit can become sure of it."""
    if epsilon > _MOST_SAID:
        return "100 %"
    return f"{rounded_up_at(100 * before / (before + (100 - before) * exp(-float(epsilon))), 1):g} %"


def readable(text: str) -> str:
    """The text with powers of ten as people write them: 2.5·10⁻⁷ for 2.5e-07."""
    return _POWER.sub(lambda found: f"{_factor(found[1])}10{(found[2] + found[3]).translate(_RAISED)}", text)


def _factor(mantissa: str) -> str:
    return "" if mantissa == "1" else f"{mantissa}·"
