"""Keys that are days, weeks or months of a column, as day(at) of a column at; and rows of some days only.

A period is a public function of its own row's value, so a column that holds it could as well have been in the data.
So is whether a row lies in a window of days. Neighbouring data sets stay neighbours within it, or differ in a unit that
only one of them has there. Recurring jobs have such windows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dpmine.errors import BadData
from dpmine.io.arrow import integer_array, integers, type_name
from dpmine.io.source import WrappedSource, quoted
from dpmine.io.sources.rows import SomeRows, filtered
from dpmine.io.sources.text_columns import TextSource
from dpmine.later import pc
from dpmine.parameters import resembling

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from dpmine.io.input import Days
    from dpmine.io.source import Source

_PERIODS = ("day", "week", "month")
_NAMED = re.compile(rf"({'|'.join(_PERIODS)})\((.+)\)", re.DOTALL)
_CALLED = re.compile(r"\w+\((.+)\)", re.DOTALL)
_DAY = 24 * 60 * 60  # seconds
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MONDAY = 3  # days from the Monday before 1 January 1970, a Thursday
_FARTHEST = 10**8  # days: numpy's calendar goes so far
_NONE = pa.scalar(None, pa.int64())

_CHECK_NAMES = (
    " Check the option that names it, and what the file is (`input_format=…`). If a text file has no header, name its "
    "columns (`columns=…`)."
)
_OTHER_CASE = " A column has this name in other letters: check upper and lower case."


def with_periods(source: Source, keys: Iterable[str]) -> Source:
    """The source, with a column for each key that names a period of one of its columns. Raises BadData."""
    found = _named(source.names, keys)
    if not found:
        return source
    for key, (_, column) in found.items():
        require_calendar(repr(key), column, source)
    return PeriodSource(source, found, frozenset(column for _, column in found.values()) - {*keys})


def needed_of(keys: Iterable[str]) -> set[str]:
    """The keys, and the columns that those of them that may name periods are of."""
    matches = [(key, _NAMED.fullmatch(key)) for key in keys]
    return {name for key, match in matches for name in (key, match[2] if match else key)}


def require_none(names: Sequence[str], keys: Iterable[str]) -> None:
    """BadData for a key that names a period: for sources that have no such columns."""
    for key, (period, column) in _named(names, keys).items():
        raise BadData(
            f"{key!r} is not for Spark: make a column of it first, in Spark with date_trunc('{period}', {column}), and "
            "name that column."
        )


def _named(names: Sequence[str], keys: Iterable[str]) -> dict[str, tuple[str, str]]:
    """By the keys that are no columns: the period that they name, and its column."""
    named = {key: _NAMED.fullmatch(key) for key in keys if key not in names}
    return {key: (match[1], match[2]) for key, match in named.items() if match and match[2] in names}


def unlike_header(name: str, names: Iterable[str]) -> str:
    """What to add to a message about a column that is not there, where names may be data: none of them is quoted."""
    return _OTHER_CASE if name.casefold() in map(str.casefold, names) else _CHECK_NAMES


def like_column(name: str, names: Iterable[str]) -> str:
    """What to add to a message about a column that is not there: one that is called alike, or one to choose."""
    known = list(names)
    if name.lower() in _PERIODS:
        return f" A calendar period is of a column: {name.lower()}(COL), with one of these as COL."
    if len(parts := name.split(",")) > 1 and {*parts} <= {*known}:
        return f" For several columns repeat the option, as in {' '.join(f'`unit={part!r}`' for part in parts)}."
    if _CALLED.fullmatch(name) is None:
        return resembling(name, known) or " Give one of these."
    periods = [f"{period}({column})" for column in known for period in _PERIODS]
    like = resembling(name, periods) or resembling(name.lower(), periods)
    return like or " A period is day(COL), week(COL) or month(COL) of one of these."


@dataclass(frozen=True, eq=False)
class PeriodSource(WrappedSource):
    """Columns of another source, and periods of some.

    Attributes:
        periods: by name the period, day, week or month, and the column that it is of.
        hidden: columns that nothing but periods is needed of.
    """

    periods: Mapping[str, tuple[str, str]]
    hidden: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order, the periods last."""
        return (*(name for name in self.inner.names if name not in self.hidden), *self.periods)

    @property
    def calendar(self) -> frozenset[str]:
        """See `Source.calendar`."""
        return frozenset(self.periods)

    def type_of(self, name: str) -> pa.DataType:
        """Arrow type of a column; periods are numbers from the first of January 1970 on."""
        return pa.int64() if name in self.periods else super().type_of(name)

    def as_flags(self, names: Sequence[str]) -> Self:
        """See `Source.as_flags`; periods stay what they are."""
        return super().as_flags([name for name in names if name not in self.periods])

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:
        """The named columns; null where the period's column is."""
        for batch in self.inner.batches(self._needed(names), whole=whole):
            columns = [
                _period(batch.column(self.periods[name][1]), self.periods[name][0])
                if name in self.periods
                else batch.column(name)
                for name in names
            ]
            yield pa.RecordBatch.from_arrays(columns, names=list(names))

    def _needed(self, names: Sequence[str]) -> list[str]:
        return list(dict.fromkeys(self.periods[name][1] if name in self.periods else name for name in names))


def require_calendar(what: str, column: str, source: Source) -> None:
    """BadData where a column that `what` needs holds neither dates nor timestamps."""
    kind = source.type_of(column)
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        way = (
            f"declare it with types (`types={f'{column}=date'!r}`, or `types={f'{column}=date:%d.%m.%Y'!r}`)"
            if isinstance(_innermost(source), TextSource)
            else "cast it first"
        )
        raise BadData(
            f"{what} needs a column of dates or timestamps, and {column!r} has the type {type_name(kind)}: {way}."
        )


def _innermost(source: Source) -> Source:
    return _innermost(source.inner) if isinstance(source, WrappedSource) else source


def _period(column: pa.Array, period: str) -> pa.Array:
    """Numbers of days, weeks or months, equal where the periods are. Total: no value causes an error."""
    days = days_of(column)
    if period == "week":
        days = (days + _MONDAY) // 7
    elif period == "month":
        near = np.clip(days, -_FARTHEST, _FARTHEST)
        days = near.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return pc.if_else(pc.is_null(column), _NONE, integer_array(days))


def days_of(column: pa.Array) -> NDArray[np.int64]:
    """Days from 1 January 1970 of dates, or of timestamps in their own zone; 0 for null. Total: see `_period`."""
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = pc.local_timestamp(column)
    zero = pa.scalar(0, pa.int32() if pa.types.is_date32(column.type) else pa.int64()).cast(column.type)
    numbers: NDArray[np.int64] = integers(pa.chunked_array([pc.fill_null(column, zero)]))
    if pa.types.is_date32(column.type):
        return numbers
    ticks = _TICKS["ms" if pa.types.is_date64(column.type) else column.type.unit]
    return numbers // (ticks * _DAY)


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
    return WindowSource(source, frozenset({name}.difference(needed_of(keys))), days)


@dataclass(frozen=True, eq=False)
class WindowSource(SomeRows):
    """The rows of a window of days.

    Attributes:
        days: which rows.
    """

    days: Days

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:
        """The named columns of the rows of the window; rows without a day are in none."""
        for batch in self.inner.batches(self._needed(names), whole=whole):
            inside = _inside(batch.column(self.days.column), self.days)
            yield filtered(batch.select(list(names)), inside)

    def _needed(self, names: Sequence[str]) -> list[str]:
        return list(dict.fromkeys([*names, self.days.column]))


def _inside(column: pa.Array, days: Days) -> pa.Array:
    """Which values are days of the window; null is none. Total: no value causes an error."""
    numbers = integer_array(days_of(column))
    first, end = (pa.scalar(bound, pa.int64()) for bound in (days.first, days.end))
    in_time = pc.and_(pc.greater_equal(numbers, first), pc.less(numbers, end))
    return pc.and_(pc.is_valid(column), in_time)
