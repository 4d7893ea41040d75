"""Targets: files of baskets, tables of attributes, dates, and conditions on rows."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING
from unittest.mock import patch

import pyarrow as pa
from duckdb import DuckDBPyConnection  # noqa: TC002 - without it each condition would be rejected, and nothing tested

import dpmine
from dpmine.io.attributes import Attributes
from dpmine.io.dates import moments
from dpmine.io.files import DataFile
from dpmine.io.source import ATTRIBUTES_COLUMN, BASKETS_COLUMN, ArrowSource
from dpmine.io.sources import row_expressions
from dpmine.io.sources.baskets import open_baskets
from dpmine.io.sources.delimited import open_csv
from dpmine.io.sources.row_expressions import RowExpressions, connected, parsed_condition
from dpmine.itemsets.ingest.attributes import AttributeLists
from fuzz.choices import Choices
from fuzz.oracle import CANARY, ask, require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpmine.io.source import Source

_BLANKS = b" \t\x0b\x0c"
_DAYS = ("%d.%m.%Y", "%Y-%m-%d", "%m/%d/%y", "%d%m%Y", "%d.%m.")
_PIECES = ("%H", "%M", "%S", "%Y", "%", " ", ":", "T", ".", "\\", "(", "[", "0", "%q")
_WORDS = (
    *("a", "b", "n", "f", "'x'", "'9'", "9", "0", "-1", "9223372036854775807", "1.5", "NULL", "TRUE", "'%'", "''"),
    *("=", "<>", "<", ">=", "+", "-", "*", "/", "%", "||", "AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "IS NULL"),
    *("(", ")", ",", "CASE WHEN", "THEN", "ELSE", "END", "CAST(", "TRY_CAST(", "AS INTEGER)", "AS DATE)", "AS DOUBLE)"),
    *("lower(", "length(", "abs(", "substr(", "year(", "coalesce(", "nullif(", "count(*)", "(SELECT 1)", "random()"),
    *("read_text('/etc/passwd')", "FROM rows", ";", "--", f"'{CANARY}'", '"a"', "::INTEGER", "x.a"),
)
_TEXTS = ("x", "9", "9.5", "", None, "2026-01-01", "1e400", "99999999999999999999", "é", CANARY)
_NUMBERS = (None, 0, 1, -1, 7, 2**63 - 1, -(2**63))
_REALS = (None, 0.0, float("nan"), float("inf"), 1e300, 2.5)


def baskets(data: bytes) -> None:
    """A file with a basket a line: supports as a plain split has them. The first byte is the separator."""
    mark = b"" if data[:1] < b"\b" else b"," if data[:1] > b"\x7f" else data[:1]
    body = data[1:]
    given = ask(lambda: dpmine.Input("data", input_format="baskets", delimiter=mark.decode() or None))
    supports = ask(lambda: _supports(open_baskets(given, [_file(body)]), BASKETS_COLUMN))
    if not body.isascii() or {*body} & {*b"\r\0\x1c\x1d\x1e\x1f\x85"}:
        return
    expected: Counter[str] = Counter()
    for line in body.split(b"\n"):
        if line[:1] not in {b"#", b"%", b"@"}:
            parts = line.split(mark) if mark else re.split(rb"[ \t\x0b\x0c]+", line)
            expected.update({part.strip(_BLANKS).decode() for part in parts} - {""})
    require(supports == expected, "The baskets hold other supports.")


def _file(content: bytes) -> DataFile:
    """A file in memory: making one on a disk takes longer than reading it."""
    return DataFile("data", partial(pa.BufferReader, content))


def _supports(source: Source, column: str) -> Counter[str]:
    """In how many lists of a column each item is; what counts lists has targets of its own."""
    lists = (basket for batch in source.batches([column]) for basket in batch.column(column).to_pylist())
    return Counter(item for basket in lists for item in {*basket})


def attribute_table(data: bytes) -> None:
    """A CSV file of two attributes, one of them cut: each value is the item that it alone would be."""
    least, body = next(iter(data), 0) % 16, data[1:].replace(b"\r", b"\n")  # from 10 on, cuts are out of order
    options = ask(lambda: Attributes.of(attributes=True, missing="?", cut={"n": [least, 10]})) or Attributes((), (), ())
    rows = open_csv(dpmine.Input("data", input_format="csv", columns=("c", "n")), [_file(body)]).as_numbers(["n"])
    supports = ask(lambda: _supports(AttributeLists(rows, (), rows.names, options), ATTRIBUTES_COLUMN))
    if not body.isascii() or {*body} & {*b'"\0'}:
        return
    expected: Counter[str] = Counter()
    for line in body.split(b"\n"):
        fields = (line[:-1] if line.count(b",") == 2 and line.endswith(b",") else line).split(b",")
        if len(fields) == 2:
            text, number = fields[0].strip(b" \t\x0b\x0c\x1c\x1d\x1e\x1f").decode(), fields[1].strip(_BLANKS).decode()
            expected[f"c={text}"] += text not in {"", "?"}
            if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,5})?", number):
                value = float(number)
                expected[f"n<{least}" if value < least else f"{least}<=n<10" if value < 10 else "n>=10"] += 1
    require(supports == +expected, "The attributes have other supports.")


def dates(data: bytes) -> None:
    """Lines as dates of a form: as Python reads them, or none."""
    choices = Choices(data)
    form = choices.one(("%d.%m.%Y", "%d.%m.%Y", "%d.%m.%Y", "%d.%m.", "%d.%m.%Y%"))
    written = ask(lambda: _pattern(form))
    texts = choices.take(len(data)).decode(errors="replace").split("\n")
    found = moments(pa.array(texts), pa.date32(), written).to_pylist()
    for text, day in zip(texts, found, strict=True):
        parts = re.fullmatch(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})", text)
        try:
            expected = dt.date(int(parts[3]), int(parts[2]), int(parts[1])) if parts else None
        except ValueError:
            expected = None
        if parts is None or int(parts[3]):  # Python has no year 0
            require(day == expected, "A date is read as another.")


def form_of_dates(data: bytes) -> None:
    """A form says which day it is, or is rejected; its pattern reads what it writes."""
    choices = Choices(data)
    pieces = [*choices.one(_DAYS), *(choices.one(_PIECES) for _ in range(choices.byte() % 5))]
    form = "".join(pieces) + choices.take(choices.byte() % 3).decode(errors="replace")
    written = ask(lambda: _pattern(form))
    if not {*form} & {*"\ufffd\0"}:
        day = dt.datetime(2026, 11, 23, 18, 30, 1, tzinfo=dt.UTC)
        values = {"%Y": "2026", "%y": "26", "%m": "11", "%d": "23", "%H": "18", "%M": "30", "%S": "01"}
        text = re.sub(r"%.", lambda directive: values[directive[0]], form, flags=re.DOTALL)
        read = moments(pa.array([text]), pa.timestamp("us"), written)[0].as_py()
        digits = re.search(r"%[YymdHMS](?=[0-9]|%)|[0-9]", form)  # without a mark between, there may be two ways
        require(digits is not None or (read is not None and read.date() == day.date()), "A form does not read itself.")


def _pattern(form: str) -> str:
    """What reads dates of a form. Raises BadParameter."""
    return dpmine.Input("x.csv", types={"day": f"timestamp:{form}"}).formats["day"]


def condition(data: bytes) -> None:
    """Any condition is rejected in one line, or decides each row as it would alone, and fails at none."""
    choices = Choices(data)
    columns = {
        "a": pa.array([choices.one(_TEXTS) for _ in range(6)], pa.string()),
        "b": pa.array([choices.one(_TEXTS) for _ in range(6)], pa.string()),
        "n": pa.array([choices.one(_NUMBERS) for _ in range(6)], pa.int64()),
        "f": pa.array([choices.one(_REALS) for _ in range(6)], pa.float64()),
    }
    text = " ".join(choices.one(_WORDS) for _ in range(1 + choices.byte() % 9))
    table = pa.table(columns)
    source = ArrowSource(table.schema, lambda _names: ())
    place = choices.byte() % table.num_rows
    with patch.object(row_expressions, "connected", _reused):
        checked = ask(lambda: RowExpressions.of([parsed_condition(text)], source))
        whole = next(found for _, found in checked.values(iter(table.to_batches()))).column(0)
        alone = next(found for _, found in checked.values(iter(table.slice(place, 1).to_batches()))).column(0)
    require(repr(alone[0].as_py()) == repr(whole[place].as_py()), "A row is decided by others.")


_OPENED = ExitStack()
_KEPT: list[DuckDBPyConnection] = []


@contextmanager
def _reused() -> Iterator[DuckDBPyConnection]:
    """One DuckDB for all inputs, as opening it takes most of the time; a new one after a failure that it keeps."""
    try:
        _KEPT[0].execute("SELECT 1")
    except Exception:  # noqa: BLE001 - there is none, or it rejects every statement from now on
        _OPENED.close()
        _KEPT[:] = [_OPENED.enter_context(connected())]
    yield _KEPT[0]
