"""A day for the clock of a machine, as its schedule, its ledger and its report see it."""

from __future__ import annotations

from datetime import date, datetime, tzinfo
from typing import TYPE_CHECKING

from dpmine.ledger import records
from dpmine.reporting import batch, windows

if TYPE_CHECKING:
    from collections.abc import Callable

CLOCKS = (records, batch, windows)


def set_clock(day: date, write: Callable[[object, str, object], None] = setattr) -> None:
    """It is noon in UTC, so that the day is the same in nearly every zone; `write` may undo it later."""

    class Stopped(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Stopped:
            return cls(day.year, day.month, day.day, 12, tzinfo=tz)

    for module in CLOCKS:
        write(module, "datetime", Stopped)
