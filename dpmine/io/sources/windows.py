"""Rows of some days only: an input with a column of dates or timestamps, and the days that are read of it.

Whether a row is read is a public function of its own value. So neighbouring data sets stay neighbours within a window,
or differ in a unit that only one of them has there. Used for the windows of recurring jobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from dpmine.errors import BadData
from dpmine.io.arrow import integer_array
from dpmine.io.source import quoted
from dpmine.io.sources.periods import days_of, like_column, require_calendar
from dpmine.io.sources.wrapped import WrappedSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dpmine.io.input import Days
    from dpmine.io.source import Source

_PERIODS = ("day", "week", "month")


def with_days(source: Source, days: Days, keys: Iterable[str]) -> Source:
    """The source with the rows of these days; the column itself is there only where a key is made of it.

    Raises BadData where there is no such column of dates or timestamps.
    """
    name = days.column
    if name not in source.names:
        known = f"The columns are: {quoted(source.names)}.{like_column(name, source.names)}"
        raise BadData(f"There is no column {name!r}, which [schedule] names as column. {source.header_hint or known}")
    if source.names.count(name) > 1:
        raise BadData(f"The data hold several columns called {name!r}: rename them.")
    require_calendar("column of [schedule]", name, source)
    needed = {name, *(f"{period}({name})" for period in _PERIODS)}
    return WindowSource(source, days, hidden=needed.isdisjoint(keys))


@dataclass(frozen=True, eq=False)
class WindowSource(WrappedSource):
    """Some rows of another source.

    Attributes:
        days: which rows.
        hidden: whether the column of days is left out: it is no item, and no key.
    """

    days: Days
    hidden: bool
    rows = None
    """Not known: the share of them that is read would show how many there are."""

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(name for name in self.inner.names if not (self.hidden and name == self.days.column))

    def share(self, done: int) -> float | None:
        """Not by rows: see `rows`."""
        return super().share(done) if self.inner.rows is None else None

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:
        """The named columns of the rows of the window; rows without a day are in none."""
        for batch in self.inner.batches(self._needed(names), whole=whole):
            inside = _inside(batch.column(self.days.column), self.days)
            yield batch.select(list(names)).filter(inside)

    def _needed(self, names: Sequence[str]) -> list[str]:
        return list(dict.fromkeys([*names, self.days.column]))


def _inside(column: pa.Array, days: Days) -> pa.Array:
    """Which values are days of the window; null is none. Total: no value causes an error."""
    numbers = integer_array(days_of(column))
    first, end = (pa.scalar(bound, pa.int64()) for bound in (days.first, days.end))
    in_time = pc.and_(pc.greater_equal(numbers, first), pc.less(numbers, end))
    return pc.and_(pc.is_valid(column), in_time)
