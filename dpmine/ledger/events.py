"""Histories as events of dp_accounting, a library that other tools do their privacy accounting with.

`Ledger.export` writes them. Nothing here needs that library.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from fractions import Fraction
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

from dpmine.ledger.budget import WHOLE, Amount
from dpmine.ledger.records import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpmine.ledger.records import Entry


class Form(StrEnum):
    """What `Ledger.export` writes."""

    JSON = "json"
    """Budgets and histories, with all that a ledger holds."""
    DP_EVENT = "dp_event"
    """What was charged, as events of dp_accounting."""


def dp_event(history: Iterable[Entry]) -> list[dict[str, Any]]:
    """What was charged to a data set: one composition for the whole, and one for each part.

    A composition is a ComposedDpEvent of ZCDpEvents in the form of their named tuples, with equal ρ joined. Each ρ is
    the nearest float above. Reservations count at their most, settled or not. The settled amount depends on the
    outcome, so it bounds no Rényi divergence. dp_accounting has no event for runs that are approximately concentrated.
    The sum of their δ stands beside the event: add it to the δ at which you ask for the event's ε. The whole and a
    unit's own part together bound the unit's privacy loss. An ε computed from events holds for runs that were planned
    beforehand. Raises BadLedger for an entry that no ledger wrote.
    """
    charged_amounts: dict[str, list[Amount]] = {WHOLE: []}
    common: dict[str, object] = {}
    for entry in history:
        common = {"dataset": entry.dataset, "unit": entry.unit or None, "neighbors": entry.neighbors}
        if entry.kind in {Kind.CHARGE, Kind.RESERVE}:
            charged_amounts.setdefault(entry.part, []).append(entry.amount)
    return [
        {
            **common,
            "part": part,
            "event": _composed(amount.rho for amount in amounts),
            "approximate_delta": _float_above(Amount.total(amounts).approximate_delta),
        }
        for part, amounts in sorted(charged_amounts.items())
    ]


def _composed(rhos: Iterable[Fraction]) -> dict[str, object]:
    events = [
        _event("SelfComposedDpEvent", event=_event("ZCDpEvent", rho=_float_above(rho), xi=0.0), count=count)
        for rho, count in Counter(rhos).items()
    ]
    return _event("ComposedDpEvent", events=events)


def _event(name: str, **fields: object) -> dict[str, object]:
    return {"module_name": "dp_accounting.dp_event", "class_name": name, **fields}


def _float_above(value: Fraction) -> float:
    """The least float that is not below the value."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else nextafter(nearest, inf)
