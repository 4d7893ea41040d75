"""Runs that are checked up to their charge, which is not made; `--dry-run` of the commands is one, too."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from dpmine.errors import BadParameter
from dpmine.markup import json_text
from dpmine.privacy import Guarantee

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.ledger.ledger import Ledger
    from dpmine.markup import Document

_LOSSES = ("epsilon", "delta", "epsilon_exact", "delta_exact")


class Foreseen(Protocol):
    """What can be expected of a run, by public parameters; `str` gives sentences."""

    def to_dict(self) -> Document:
        """A plain form for JSON."""
        ...


@dataclass
class DryRun(Exception):
    """How a run ends that is checked up to its charge, and not charged.

    Attributes:
        job: what would be charged, in the words of a ledger's history.
        guarantee: the most that the run would be charged.
        dataset: what would be charged; "" without a ledger.
        left: what the data set would have left; "" without a ledger.
        forecast: what can be expected of the run, where that is foreseen.
    """

    job: str
    guarantee: Guarantee
    dataset: str = ""
    left: str = ""
    forecast: Foreseen | None = None

    def to_json(self) -> str:
        """As one JSON object."""
        guarantee = self.guarantee.to_dict()
        if not self.guarantee.private:
            guarantee |= dict.fromkeys(_LOSSES)  # null: an ε of 0 would be perfect privacy
        asked = {"dry_run": True, "job": self.job, "guarantee": guarantee}
        foreseen = {} if self.forecast is None else {"forecast": self.forecast.to_dict()}
        return json_text({**asked, "left_afterwards": self.left or None, **foreseen})

    def __str__(self) -> str:
        foreseen = [] if self.forecast is None else [str(self.forecast)]
        return "\n".join([f"Dry run of {self.job}: no value was read, nothing charged.", self._charge, *foreseen])

    @property
    def _charge(self) -> str:
        if not self.guarantee.private:
            return "Its result would not be private."
        left = f" {self.dataset} would have {self.left} left." if self.left else ""
        return f"It would charge {Guarantee.__str__(self.guarantee)}.{left}"  # of a search for a target, too


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
