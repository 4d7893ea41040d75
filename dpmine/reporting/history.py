"""All windows of recurring jobs so far: what a ledger's history says they were charged, and what they released."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from dpmine.ledger.budget import Amount, composed, name_and_part
from dpmine.ledger.records import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from dpmine.ledger.ledger import Ledger
    from dpmine.ledger.records import Entry
    from dpmine.reporting.jobs.job import Job

_MARK = re.compile(r"\[(\S+) ([0-9a-f]{16})\]$")
"""How the job of an entry ends: the window, and what is asked of every window."""


@dataclass(frozen=True, slots=True)
class Charges:
    """The charges of some recurring jobs, over all windows.

    Attributes:
        amounts: by the keys of the jobs, retries included.
        replaced: windows and names of these jobs that were charged with other options, before the file was changed.
    """

    amounts: Mapping[str, Amount] = field(default_factory=dict)
    replaced: Collection[tuple[str, str]] = frozenset()

    @classmethod
    def of(
        cls, ledger: Ledger, dataset: str, jobs: Iterable[Job], *, all_parts: bool = False, settled: bool = True
    ) -> Charges:
        """Those on the data set, or its part, that is named, or on all of its parts; as `among`. Raises BadLedger."""
        recurring = [job for job in jobs if job.key]
        name, part = name_and_part(dataset)
        history = ledger.history(name) if recurring and ledger.known(name) else ()
        return cls.among(history, recurring, None if all_parts else part, settled=settled)

    @classmethod
    def among(cls, history: Iterable[Entry], jobs: Collection[Job], part: str | None, *, settled: bool = True) -> Self:
        """Those among the entries of the part (None: any); of a reservation what it came to, unless `settled` all."""
        digests = {job.key.rpartition(" ")[2] for job in jobs}
        titles = {job.scheduled.title for job in jobs if job.scheduled and job.in_window}
        charges, replaced = dict[int, tuple[str, Amount]](), set[tuple[str, str]]()
        for entry in history:
            mark = _MARK.search(entry.job) if entry.kind in {Kind.CHARGE, Kind.RESERVE} else None
            if mark and part in {None, entry.part}:
                if mark[2] in digests:
                    charges[entry.number] = f"{mark[1]} {mark[2]}", entry.amount
                else:
                    words = entry.job[: mark.start()]
                    replaced |= {(mark[1], title) for title in titles if words.endswith(f" {title!r} ")}
            elif settled and entry.kind == Kind.SETTLE and entry.reservation in charges:
                charges[entry.reservation] = charges[entry.reservation][0], entry.amount
        amounts: dict[str, Amount] = {}
        for key, amount in charges.values():
            amounts[key] = amounts.get(key, Amount()) + amount
        return cls(amounts, replaced)

    def plus(self, charges: Iterable[tuple[str, Amount]]) -> Charges:
        """These, and further ones, each with the key of its job."""
        amounts = dict(self.amounts)
        for key, amount in charges:
            amounts[key] = amounts.get(key, Amount()) + amount
        return replace(self, amounts=amounts)

    def for_one_unit(self, *, disjoint: bool) -> Amount:
        """What all windows come to for one unit, which is in one of them alone if they are disjoint."""
        return composed(Amount(), self.by_window.values()) if disjoint else self.total

    @property
    def by_window(self) -> dict[str, Amount]:
        """What each window was charged, by its name."""
        windows: dict[str, Amount] = {}
        for key, amount in self.amounts.items():
            window = key.partition(" ")[0]
            windows[window] = windows.get(window, Amount()) + amount
        return windows

    @property
    def total(self) -> Amount:
        """Of all windows together."""
        return Amount.total(self.amounts.values())


@dataclass(frozen=True, slots=True)
class PastWindow:
    """A window of recurring jobs.

    Attributes:
        window: its name.
        documents: what its jobs released, by the names of the jobs; None where there is no result.
        charged: whether anything was charged for it.
    """

    window: str
    documents: Mapping[str, dict[str, Any] | None]
    charged: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """All windows so far, in order; what all came to together for each unit, and the most that it could have."""

    windows: tuple[PastWindow, ...]
    charge: Amount
    most: Amount
