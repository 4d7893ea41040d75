"""The guarantee in words and symbols, and what no guarantee covers."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

from dpmine.privacy import Neighbors, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from dpmine.ledger.budget import Amount
    from dpmine.privacy import Guarantee

_ALWAYS = (
    (
        "What holds for people in general. A pattern that is true of nearly everybody may show here, and it is then "
        "true of most single persons, whether or not their data were used."
    ),
    "Groups: k units (each {unit}) together are protected by k·ε only, and by a δ that is more than k times as large.",
    "What was given as public: names of columns and inputs, options, bounds, catalogues, classes, candidates.",
    "Whether a job could be carried out at all, how long it ran and how much memory it took.",
    "Anything else that is released from the same data: other pages, and what other runs cost, add up with this one.",
)
_MOST_SAID = 20  # ε beyond which the factor is a number that nobody reads


def amount_text(amount: Amount) -> str:
    """ε and δ, as decimals where those are exact."""
    return f"ε = {short(amount.epsilon)}, δ = {short(amount.delta)}"


def change_text(neighbors: Neighbors, unit: str) -> str:
    """What the two data sets that a guarantee compares differ in."""
    if neighbors is Neighbors.REPLACE_ONE:
        return f"the data of any one {unit} replaced by any other data"
    return f"any one {unit} and all its data added or taken away"


def factor_text(epsilon: Fraction) -> str:
    """e^ε, never below it."""
    if epsilon > _MOST_SAID:
        return "more than 100 million"
    return f"{rounded_up_at(exp(float(epsilon)), 2):,.2f}"


def rounded_up_at(value: float, digits: int) -> float:
    """The value with so many decimals, never below it."""
    lower = round(value, digits)
    return lower if lower >= value else round(lower + 10.0**-digits, digits)


def odds_text(epsilon: Fraction) -> str:
    """The most that an attacker who is 50 % sure of a fact about one unit can become sure of it."""
    if epsilon > _MOST_SAID:
        return "100 %"
    return f"{rounded_up_at(100 / (1 + exp(-float(epsilon))), 1):g} %"


def plain_words(total: Amount, neighbors: Neighbors, unit: str) -> list[str]:
    """What the sum of all results on a page promises at most, a sentence each."""
    more = f", plus at most {short(total.delta)}" if total.delta else ""
    aside = " (except with probability about δ)" if total.delta else ""
    # A fact about somebody's data is another one with other data: one taken away, and one added.
    twice = 1 if neighbors is Neighbors.REPLACE_ONE else 2
    odds = odds_text(twice * total.epsilon)
    fact = f"an attacker who knows all other data and is 50 % sure of a fact about one {unit}"
    return [
        f"The results on this page would have come out about as likely with {change_text(neighbors, unit)}.",
        f"About as likely: no set of results becomes more than {factor_text(total.epsilon)} times as likely{more}.",
        f"Worst case: {fact} can become at most {odds} sure{aside}.",
    ]


def beside_text(label: str, others: Sequence[str]) -> str:
    """Why a model may disagree with other jobs' models of the same label; "" where there are none."""
    if not others:
        return ""
    return (
        f"Also about {label}: {', '.join(others)}. These are different models, each chosen with noise of its own. "
        "A weight says what a feature adds while the other features stay as they are; a rule sees its own features "
        "only. So they may point in opposite directions."
    )


def unprotected(neighbors: Neighbors, unit: str, guarantees: Iterable[tuple[str, Guarantee]]) -> list[str]:
    """Everything that is not protected, and what the guarantees, by the names of their jobs, rest on."""
    number = f"The number of units (each {unit}), which counts as public."
    notes: dict[str, list[str]] = {}
    for name, guarantee in guarantees:
        for note in guarantee.notes:
            notes.setdefault(note, []).append(name)
    return [
        *([number] if neighbors is Neighbors.REPLACE_ONE else []),
        *(text.replace("{unit}", unit) for text in _ALWAYS),
        *(f"{', '.join(names)}: {note}." for note, names in notes.items()),
    ]
