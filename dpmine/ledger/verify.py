"""Reading a history again, from the first entry to the last: what it adds up to, and whether it was changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpmine.errors import BadLedger, DpmineError
from dpmine.ledger.amounts import Amount, Parts
from dpmine.ledger.budget import WHOLE, Budget
from dpmine.ledger.history import START, Entry, Kind
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Iterable


def replayed(history: Iterable[tuple[Entry, str]]) -> Budget:
    """The budget that the entries lead to, by the rules that charges are held to.

    Raises BadLedger, with the number of the entry, for a seal that does not fit, a gap, or what no ledger would write.
    """
    budget: Budget | None = None
    seal, reserved = START, dict[int, tuple[str, Amount]]()
    for number, (entry, written) in enumerate(history, start=1):
        seal = entry.seal(seal)
        if entry.number != number or seal != written:
            raise BadLedger(f"The history of {entry.dataset!r} was changed at entry {number}: restore a copy.")
        try:
            budget = _after(budget, entry, reserved)
        except (DpmineError, ValueError, KeyError):
            raise BadLedger(f"Entry {number} of {entry.dataset!r} is none that a ledger would write.") from None
        budget = replace(budget, entries=number, seal=seal)
    if budget is None:
        raise BadLedger("A data set of the ledger has no history: restore a copy.")
    return budget


def _after(budget: Budget | None, entry: Entry, reserved: dict[int, tuple[str, Amount]]) -> Budget:
    """One step; `reserved` holds the open reservations."""
    amount, kind = Amount.read(entry.epsilon, entry.delta), Kind(entry.kind)
    _require_form(entry, kind)
    if budget is None:
        if kind is not Kind.GRANT:
            raise ValueError
        return Budget(entry.dataset, Neighbors(entry.neighbors), Parts(entry.parts), amount, entry.unit)
    if (entry.neighbors, entry.parts) != (budget.neighbors, budget.parts) or budget.unit not in {"", entry.unit}:
        raise ValueError
    budget = replace(budget, unit=entry.unit)
    if kind is Kind.GRANT:
        return budget.granting(amount)
    if kind is Kind.SETTLE:
        part, was = reserved.pop(entry.reservation)
        if part != entry.part or not was.fits(amount) or amount.delta != was.delta or amount.epsilon <= 0:
            raise ValueError
        return budget.charging(entry.part, amount - was)
    if min(amount.epsilon, amount.delta) < 0:
        raise ValueError
    if kind is Kind.RESERVE:
        reserved[entry.number] = entry.part, amount
    return budget.charging(entry.part, amount)


def _require_form(entry: Entry, kind: Kind) -> None:
    """ValueError for a reservation in anything but a settlement, a part in a grant, a job where nothing is run."""
    if (entry.reservation > 0) is not (kind is Kind.SETTLE) or entry.reservation < 0:
        raise ValueError
    if kind is Kind.GRANT and entry.part != WHOLE:
        raise ValueError
    if kind in {Kind.GRANT, Kind.SETTLE} and entry.job:
        raise ValueError
