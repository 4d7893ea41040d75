"""What calls do with a ledger: charge before they touch data, settle afterwards; nothing where none was given."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dpmine.errors import BadParameter, DpmineError
from dpmine.privacy import ExPostGuarantee, Guarantee

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.ledger.ledger import Ledger, Receipt


Promise = TypeVar("Promise", bound=Guarantee)
ROW = "row"
"""The privacy unit of estimators, where the caller names none."""
_UNSETTLED = "the ledger could not settle this run, so all of epsilon_max stays charged"
_PASSWORD = re.compile(r"(://[^/@:\s]*:)[^@\s]*(?=@)|(password=)[^&\s'\"]*", re.IGNORECASE)


def of_asserted_unit(guarantee: Promise, unit: str, assertion: str) -> Promise:
    """The guarantee for rows as one for `unit`, given what the caller asserts about it; "row" asserts nothing."""
    return guarantee if unit == ROW else guarantee.asserting(unit, assertion)


def without_passwords(text: str) -> str:
    """The text, with the passwords of URLs in it left out."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}***", text)


@dataclass(frozen=True, slots=True)
class Account:
    """A data set's budget in a ledger, or none; made by `Account.of`."""

    ledger: Ledger | None
    dataset: str

    @classmethod
    def of(cls, ledger: Ledger | str | None, dataset: str | None) -> Account:
        """`ledger` is a `Ledger` or its URL. Raises BadParameter for one of the two without the other, BadLedger."""
        if (ledger is None) is not (dataset is None):
            raise BadParameter("ledger and dataset belong together: give both (--ledger URL --dataset NAME) or none.")
        if ledger is None or dataset is None:
            return cls(None, "")
        from dpmine.ledger.ledger import Ledger  # the database library is loaded where it is used

        return cls(ledger if isinstance(ledger, Ledger) else Ledger(ledger), dataset)

    def charge(self, promise: Guarantee, *, job: str) -> Charge:
        """Pay for what a run will promise at most. Raises as `Ledger.charge`; then nothing may be run."""
        if self.ledger is None:
            return Charge(None, None, promise)
        if promise.assertion:
            job = f"{job} (asserted: {promise.assertion})"
        return Charge(self.ledger, self.ledger.charge(self.dataset, promise, job=job), promise)


@dataclass(slots=True)
class Charge:
    """What was paid for one run, or that nothing had to be paid."""

    ledger: Ledger | None
    receipt: Receipt | None
    promise: Guarantee
    used: bool = False

    def use(self, promise: Guarantee) -> None:
        """Begin the run that was paid for; BadParameter for a second one, or one that promises something else."""
        if self.used or promise != self.promise:
            raise BadParameter("A charge pays for one run, with the parameters that it was made for: pay again.")
        self.used = True

    def settled(self, guarantee: Promise) -> Promise:
        """What the run came to: the rest of what was set aside goes back. Returns the guarantee.

        Where the ledger cannot be reached any more, or no longer knows the charge, everything stays charged and the
        guarantee says so: the result is paid for, and not lost.
        """
        if self.ledger is None or self.receipt is None or not isinstance(guarantee, ExPostGuarantee):
            return guarantee
        try:
            self.ledger.settle(self.receipt, guarantee.ex_post_epsilon)
        except DpmineError:
            return guarantee.noting(_UNSETTLED)
        return guarantee


_LISTENERS: list[Callable[[], object]] = []


def hear_charges(listener: Callable[[], object]) -> None:
    """Call `listener`, which must not raise, whenever a charge in this process is about to be on the disk."""
    if listener not in _LISTENERS:
        _LISTENERS.append(listener)


def charge_begins() -> None:
    """Tell all listeners; called inside the transaction, so that no charge is on the disk untold."""
    for listener in _LISTENERS:
        listener()
