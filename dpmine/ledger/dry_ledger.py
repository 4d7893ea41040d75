"""Dry runs: calls that are checked up to their charge, which is not made. `--dry-run` of the commands is one, too."""

from __future__ import annotations

from copy import copy
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, NoReturn

from dpmine.errors import BadParameter
from dpmine.ledger.charging import DryRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.ledger.ledger import Ledger
    from dpmine.privacy import Guarantee


def dry_run(call: Callable[..., object], /, *arguments: object, **options: Any) -> DryRun:
    """What a call would be charged, and what the ledger would have left. Nothing is charged or released.

    Columns and parameters are checked as for a run, by names and types. No file is read beyond that. A function that
    has the options, but does not charge by them, is run.

    Args:
        call: a function with the options `ledger` and `dataset`, such as `dpmine.top_itemsets`, or the method `fit`
            of an estimator. The estimator itself stays as it is.
        arguments: what the call gets by position.
        options: what the call gets by name; `ledger` and `dataset` only if there is a ledger.

    Returns a `DryRun`: its `guarantee` is the most that the run would charge, and its `left` what would be left.

    Raises BadParameter for a call that charges no ledger, and whatever the call raises before its charge.

    Example:
        >>> import dpmine
        >>> baskets = [["bread", "milk"]] * 1000
        >>> print(dpmine.dry_run(dpmine.top_itemset, baskets, epsilon="0.5", mechanism="limited_domain"))
        Dry run of top-itemset limited_domain: no value was read, nothing charged.
        It would charge ε = 0.5, δ = 1e-06 per row, neighbours replace-one.

    See Also:
        Ledger.after: the budget after a charge that is not made.
        plan: the lead that a run needs.
    """
    if isinstance(call, partial):
        bound: partial[object] = call
        call, arguments, options = bound.func, (*bound.args, *arguments), {**bound.keywords, **options}
    owner = getattr(call, "__self__", None)
    try:
        if hasattr(owner, "ledger"):
            checked: Any = copy(owner)
            checked.ledger, checked.dataset = in_place_of(checked.ledger, checked.dataset)
            getattr(checked, call.__name__)(*arguments, **options)
        elif "ledger" in signature(call).parameters:
            ledger, dataset = in_place_of(options.get("ledger"), options.get("dataset"))
            call(*arguments, **{**options, "ledger": ledger, "dataset": dataset})
    except DryRun as done:
        return done
    raise BadParameter(
        "dry_run is for calls that charge a ledger: give a function with the options ledger and dataset, such as "
        "dpmine.top_itemsets, or the fit of an estimator."
    )


def in_place_of(ledger: Ledger | str | None, dataset: str | None) -> tuple[Ledger | str | None, str | None]:
    """A ledger at which the run ends, and the data set; where one of the two is missing, both as they are."""
    if (ledger is None) is not (dataset is None):
        return ledger, dataset
    ending: Any = DryLedger(ledger)
    return ending, dataset or ""


class DryLedger:
    """A ledger at which a run ends in place of being charged; without another one, every run fits into it.

    It is no `Ledger`, as it has no database, whose library takes as long to load as a run of a small file.
    """

    def __init__(self, ledger: Ledger | str | None = None) -> None:
        if isinstance(ledger, str):
            from dpmine.ledger.ledger import Ledger

            ledger = Ledger(ledger)
        self._given = ledger

    def charge(self, dataset: str, guarantee: Guarantee, *, job: str) -> NoReturn:
        """Raises DryRun where the charge would be accepted, else as `Ledger.charge`."""
        if self._given is None:
            raise DryRun(job, guarantee)
        raise DryRun(job, guarantee, dataset, self._given.after(dataset, guarantee).left_of(dataset))
