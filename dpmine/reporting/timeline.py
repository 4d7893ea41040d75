"""The windows of recurring jobs so far: what a ledger's history says was charged for them, and what they released."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from dpmine.ledger.budget import Amount, name_and_part
from dpmine.ledger.records import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
    """

    amounts: Mapping[str, Amount] = field(default_factory=dict)

    @classmethod
    def of(cls, ledger: Ledger, dataset: str, jobs: Iterable[Job], *, all_parts: bool = False) -> Charges:
        """Those on the data set, or its part, that is named, or on all of its parts. Raises BadLedger."""
        recurring = [job for job in jobs if job.key]
        name, part = name_and_part(dataset)
        if not recurring or ledger.known(name) is None:
            return cls()
        return cls.among(ledger.history(name), recurring, None if all_parts else part)

    @classmethod
    def among(cls, history: Iterable[Entry], jobs: Iterable[Job], part: str | None) -> Self:
        """Those among the entries of a data set that are on the part; None for any part."""
        digests = {job.key.rpartition(" ")[2] for job in jobs}
        amounts: dict[str, Amount] = {}
        for entry in history:
            mark = _MARK.search(entry.job) if entry.kind == Kind.CHARGE else None
            if mark and mark[2] in digests and part in {None, entry.part}:
                key = f"{mark[1]} {mark[2]}"
                amounts[key] = amounts.get(key, Amount()) + entry.amount
        return cls(amounts)

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
    """All windows so far, in order, and what they were charged together for each unit."""

    windows: tuple[PastWindow, ...]
    charge: Amount
