"""Dates and timestamps in text, as their form says that is given: null where a text is none, whatever others hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dpmine.io.arrow import integer_array, integers_or
from dpmine.later import pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PARTS = {
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
    "m": "[0-9]{1,2}",
    "d": "[0-9]{1,2}",
    "H": "[0-9]{1,2}",
    "M": "[0-9]{2}",
    "S": "[0-9]{2}",
}
_DIRECTIVE = re.compile(r"%(.)|([^%])", re.DOTALL)
_DAY = "(?P<Y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})"
_ANY_DATE = rf"^{_DAY}(?:[ T](?:.?|.*[^B].))?$"  # but "0044-03-15 BC", as PostgreSQL writes it
_ANY_TIME = (
    rf"^{_DAY}(?:[ T](?P<H>[0-9]{{2}}):(?P<M>[0-9]{{2}})(?::(?P<S>[0-9]{{2}})(?:\.(?P<f>[0-9]{{1,6}})[0-9]*)?)?)?$"
)
_FIRST_OF_CENTURY = 69  # two digits from here on are years of the last century, as in POSIX
_SECOND = 10**6  # microseconds
_DAY_LENGTH = 24 * 60 * 60 * _SECOND


def pattern_of(form: str) -> str | None:
    """The regular expression for a form such as "%d.%m.%Y %H:%M"; None for one that does not say which day it is.

    Known are %Y, %y, %m, %d, %H, %M and %S, each at most once; of numbers alone, because names depend on languages.
    """
    parts = [found.groups() for found in _DIRECTIVE.finditer(form)]
    used = [directive for directive, _ in parts if directive]
    years = {"Y", "y"} & {*used}
    has_day = len(years) == 1 and {"m", "d"} <= {*used}
    if not has_day or len({*used}) < len(used) or not {*used} <= {*_PARTS} or form.endswith("%"):
        return None
    return "^" + "".join(f"(?P<{part}>{_PARTS[part]})" if part else re.escape(text) for part, text in parts) + "$"


def moments(texts: pa.Array, kind: pa.DataType, written: str) -> pa.Array:
    """The texts as dates (date32) or timestamps in microseconds; null where one is written otherwise, or is no day.

    `written` is a pattern; "" for 2026-11-23 with whatever time behind it, or 2026-11-23 18:30:00 as a timestamp.
    """
    is_date = pa.types.is_date(kind)
    parts = pc.extract_regex(texts, written or (_ANY_DATE if is_date else _ANY_TIME))
    number = _Numbers(parts)
    years = number["Y"] if "Y" in number.names else _full_years(number["y"])
    months, of_month = number["m"] - 1, number["d"] - 1
    begin = ((years - 1970) * 12 + np.clip(months, 0, 11)).astype("datetime64[M]")
    days = begin.astype("datetime64[D]") + of_month
    is_day = (months >= 0) & (months < 12) & (of_month >= 0) & (days.astype("datetime64[M]") == begin)
    hours, minutes, seconds = number["H"], number["M"], number["S"]
    fits = is_day & (hours < 24) & (minutes < 60) & (seconds < 60)
    ticks = days.astype(np.int64)
    if not is_date:
        ticks = ticks * _DAY_LENGTH + (hours * 3600 + minutes * 60 + seconds) * _SECOND + number.fraction()
    keep = pc.and_(pc.is_valid(parts), pc.equal(integer_array(fits.astype(np.int64)), 1))
    found = pc.if_else(keep, integer_array(ticks), pa.scalar(None, pa.int64()))
    return (found.cast(pa.int32()) if is_date else found).cast(kind)


class _Numbers:
    """The parts of dates that were matched, by name, as numbers; 0 for a part that there is not."""

    def __init__(self, parts: pa.StructArray) -> None:
        self.names = [field.name for field in parts.type]
        self._parts = parts

    def __getitem__(self, name: str) -> NDArray[np.int64]:
        if name not in self.names:
            return np.zeros(len(self._parts), np.int64)
        return integers_or(0, self._digits(name))

    def fraction(self) -> NDArray[np.int64]:
        """Microseconds."""
        if "f" not in self.names:
            return np.zeros(len(self._parts), np.int64)
        return integers_or(0, pc.utf8_rpad(self._digits("f"), 6, "0"))

    def _digits(self, name: str) -> pa.Array:
        digits = pc.struct_field(self._parts, name)
        return pc.if_else(pc.equal(digits, ""), pa.scalar("0", digits.type), digits)


def _full_years(years: NDArray[np.int64]) -> NDArray[np.int64]:
    return years + np.where(years >= _FIRST_OF_CENTURY, 1900, 2000)
