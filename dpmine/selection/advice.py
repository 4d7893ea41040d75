"""What to do when a selection chose nothing: facts of the parameters, never of the data."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpmine.selection.recommend import recommend

if TYPE_CHECKING:
    from dpmine.selection.mechanisms.mechanism import Mechanism


def advice(
    mechanism: Mechanism, candidates: int | None, sensitivity: Fraction = Fraction(1), *, charged: bool = False
) -> str:
    """What the mechanism would have needed, whether a ledger was charged, and what is most likely to help.

    Facts of the parameters, never of the data. `candidates` is the number of public candidates, None for an unknown
    list. Leads are in units of the scores; one privacy unit moves each score by at most `sensitivity`.
    """
    said = with_charge(f"{needed(mechanism, candidates, sensitivity)}.", charged=charged)
    if mechanism.delta and not (mechanism.only_by_name or mechanism.needs_bounded_units):
        better = recommend(
            epsilon=mechanism.epsilon,
            delta=mechanism.delta,
            neighbors=mechanism.neighbors,
            candidates=None if candidates is None else max(1, candidates),
            are_counts=candidates is None,
        ).mechanism
        if better != mechanism.name:
            step = (
                f"{said} Try `mechanism={better!r}`, which needs a smaller lead where scores fall off by a power law."
            )
            return f"{step} {another_run(mechanism.epsilon, mechanism.epsilon)}"
    twice = replace(mechanism, epsilon=2 * mechanism.epsilon)
    enough = twice.lead(candidates or 1) * float(sensitivity)
    shown = f"{float(twice.epsilon):g}"
    step = f"{said} Try `epsilon={shown}`, with which about {enough:.0f} is enough."
    return f"{step} {another_run(mechanism.epsilon, twice.epsilon)}"


def needed(
    mechanism: Mechanism, candidates: int | None, sensitivity: Fraction = Fraction(1), *, noun: str = "candidate"
) -> str:
    """The lead that the mechanism needs, in words without a full stop; `noun` says what it chooses."""
    lead = mechanism.lead(candidates or 1) * float(sensitivity)
    return f"{mechanism.name} needs the best {noun} to lead {mechanism.lead_over()} by about {lead:.0f}"


def another_run(first: Fraction, second: Fraction) -> str:
    """What follows an advised run: that its ε adds to that of the run that advises it, and that none is needed."""
    return f"Another run adds to the charge: ε = {float(first + second):g} for both. Stopping is an answer, too."


def with_charge(text: str, *, charged: bool) -> str:
    """A text on a run without a result, and that a ledger was charged for it where one was."""
    return f"{text} The run was still charged." if charged else text
