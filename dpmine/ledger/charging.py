"""What calls do with a ledger: charge before they read data, settle afterwards; nothing where none was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpmine.errors import BadLedger, BadParameter, DpmineError
from dpmine.ledger.dry_run import DryLedger
from dpmine.privacy import ExPostGuarantee

if TYPE_CHECKING:
    from dpmine.ledger.ledger import Ledger, Receipt
    from dpmine.privacy import Guarantee, SomeGuarantee

_UNSETTLED = "the ledger could not settle this run, so all of epsilon_max stays charged"


@dataclass(frozen=True, slots=True)
class Account:
    """A data set's budget in a ledger, or none; made by `Account.of`."""

    ledger: Ledger | None
    dataset: str

    @classmethod
    def of(cls, ledger: Ledger | str | None, dataset: str | None) -> Account:
        """`ledger` is a `Ledger` or its URL. Raises BadParameter for one of the two without the other, BadLedger."""
        if (ledger is None) is not (dataset is None):
            raise BadParameter("ledger and dataset belong together: give both (`ledger=URL` `dataset=NAME`) or none.")
        if ledger is None or dataset is None:
            return cls(None, "")
        if not isinstance(ledger, str):
            return cls(ledger, dataset)
        from dpmine.ledger.ledger import Ledger  # the database library is loaded where it is used

        return cls(Ledger(ledger), dataset)

    def charge(self, guarantee: Guarantee, *, job: str) -> Charge:
        """Charge the most that a run will need. Raises as `Ledger.charge`; then nothing may be run."""
        if self.ledger is None:
            return Charge(None, None, guarantee)
        return Charge(
            self.ledger, self.ledger.charge(self.dataset, guarantee, job=_in_words(job, guarantee)), guarantee
        )

    def require(self, guarantee: Guarantee, *, job: str) -> None:
        """Raise what `charge` would raise as far as a look at the ledger says it; a dry run ends here as there."""
        given: object = self.ledger  # which a dry run replaces
        if isinstance(given, DryLedger):
            given.charge(self.dataset, guarantee, job=_in_words(job, guarantee))
        if self.ledger is not None:
            self.ledger.after(self.dataset, guarantee)


def _in_words(job: str, guarantee: Guarantee) -> str:
    return f"{job} (asserted: {guarantee.assertion})" if guarantee.assertion else job


@dataclass(slots=True)
class Charge:
    """What was charged for one run; nothing where there is no ledger."""

    ledger: Ledger | None
    receipt: Receipt | None
    guarantee: Guarantee
    used: bool = False

    def use(self, guarantee: Guarantee) -> None:
        """Begin the run that was charged; BadParameter for a second one, or one with another guarantee."""
        if self.used or guarantee != self.guarantee:
            raise BadParameter("A charge covers one run, with the parameters that it was made for: charge again.")
        self.used = True

    def settled(self, guarantee: SomeGuarantee) -> SomeGuarantee:
        """Settle the charge: give back what was set aside and not needed. Returns the guarantee.

        Raises BadLedger for a guarantee that exceeds the charge, so that its result is not released.
        Where the ledger cannot be reached any more, or no longer knows the charge, everything stays charged. The
        guarantee then says so: the result was charged, and is not lost.
        """
        if self.ledger is None or self.receipt is None:
            return guarantee
        from dpmine.ledger.budget import Amount  # exact arithmetic is loaded where it is used

        if any(spent > charged for spent, charged in zip(Amount.of(guarantee), Amount.of(self.guarantee), strict=True)):
            raise BadLedger("This run would spend more than was charged, so its result is withheld: report this.")
        if not isinstance(guarantee, ExPostGuarantee):
            return guarantee
        try:
            self.ledger.settle(self.receipt, guarantee.ex_post_epsilon)
        except DpmineError:
            return guarantee.noting(_UNSETTLED)
        return guarantee
