"""The history of a data set's budget: entries that are only ever added, each sealing all before it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass
from enum import StrEnum

START = "0" * 64
"""What the first entry seals."""


class Kind(StrEnum):
    """What an entry records."""

    GRANT = "grant"
    """A new total; also the unit, the relation and the parts."""
    CHARGE = "charge"
    """Spent for good, before the data were touched."""
    RESERVE = "reserve"
    """Set aside at most; stays spent unless it is settled."""
    SETTLE = "settle"
    """What a reservation came to."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the history; numbers and amounts as exact texts.

    Attributes:
        dataset: whose budget.
        number: from 1, without gaps.
        kind: what it records.
        part: the part that was charged, "" for the whole.
        epsilon, delta: the amount; of a settlement what is finally charged.
        reservation: the number of the entry that a settlement settles; else 0.
        unit, neighbors, parts: as they were then.
        job: what was run, in words of the tool; never anything read from the data.
        time: the day of the charge or grant in UTC, ISO 8601; of a settlement, the time of its reservation. Nothing
            finer: the time between two entries would show how long a run took on the data. Version 0.1.0 wrote
            microseconds, and seals cover the text, so earlier entries keep theirs.
    """

    dataset: str
    number: int
    kind: str
    part: str
    epsilon: str
    delta: str
    reservation: int
    unit: str
    neighbors: str
    parts: str
    job: str
    time: str

    def seal(self, previous: str) -> str:
        """SHA-256 of this entry and of the seal before it, so that no earlier entry can change unseen."""
        content = json.dumps([previous, *astuple(self)], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()
