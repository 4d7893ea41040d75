"""Targets: files of baskets, tables of attributes, and dates."""

from __future__ import annotations

import datetime as dt
import re
import tempfile
from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import pyarrow as pa

import dpmine
from dpmine.io.attributes import Attributes
from dpmine.io.dates import moments
from dpmine.io.files import DataFile
from dpmine.io.source import ATTRIBUTES_COLUMN, BASKETS_COLUMN
from dpmine.io.sources import delimited as reader
from dpmine.io.sources.baskets import open_baskets
from dpmine.io.sources.delimited import open_csv, open_tsv
from dpmine.itemsets.ingest.attributes import AttributeLists
from fuzz.choices import Choices
from fuzz.oracle import ask, require

if TYPE_CHECKING:
    from dpmine.io.source import Source

_PIECE = reader._PIECE  # noqa: SLF001 - smaller pieces have more ends
_BLANKS = b" \t\x0b\x0c"
_DAYS = ("%d.%m.%Y", "%Y-%m-%d", "%m/%d/%y", "%d%m%Y", "%d.%m.")
_PIECES = ("%H", "%M", "%S", "%Y", "%", " ", ":", "T", ".", "\\", "(", "[", "0", "%q")


def baskets(data: bytes) -> None:
    """A file with a basket a line: supports as a plain split has them. The first byte is the separator."""
    mark = b"" if data[:1] < b"\b" else b"," if data[:1] > b"\x7f" else data[:1]
    body = data[1:]
    piece = len(body) % 32 if len(body) % 4 == 3 else 0
    given = ask(lambda: dpmine.Input("data", input_format="baskets", delimiter=mark.decode() or None))
    supports = ask(lambda: _supports(open_baskets(given, [_file(body)]), BASKETS_COLUMN, piece))
    if not body.isascii() or {*body} & {*b"\r\0\x1c\x1d\x1e\x1f\x85"}:
        return
    expected: Counter[str] = Counter()
    for line in body.split(b"\n"):
        if line[:1] not in {b"#", b"%", b"@"}:
            parts = line.split(mark) if mark else re.split(rb"[ \t\x0b\x0c]+", line)
            expected.update({part.strip(_BLANKS).decode() for part in parts} - {""})
    require(supports == expected, "The baskets hold other supports.")


def delimited(data: bytes) -> None:
    """Rows of two columns, behind their header or instead of it: supports as a plain split of plain lines has them.

    A quarter of the inputs are files that are counted as `dpmine supports` does it; of the others only rows are read.
    """
    form, mark, headed = ("csv", b",", True) if not data or data[0] % 2 else ("tsv", b"\t", data[0] % 16 > 0)
    body = data[1:].replace(b";", mark)
    content = mark.join([b"u", b"i"]) + b"\n" + body if headed else body
    read = _counted if len(body) % 4 == 3 else _rows
    supports = ask(lambda: read(content, form, len(body) % 32 if len(body) % 8 == 5 else 0))
    if not headed or {*body} & {*b'"\r\xef'} or not body.isascii():
        return
    lines = [line[:-1] if line.count(mark) == 2 and line.endswith(mark) else line for line in body.split(b"\n")]
    pairs = {tuple(line.split(mark)) for line in lines if line.count(mark) == 1}
    expected = Counter(item.decode() for unit, item in pairs if unit and item)
    require(supports == expected, "The rows hold other supports.")


def _counted(content: bytes, form: str, _piece: int) -> Counter[str]:
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(content)
        given = dpmine.Input(file.name, input_format=form)
        found = dpmine.itemset_supports(given, size=1, unit="u", item="i")
    return Counter({next(iter(items)): int(n) for items, n in zip(found.itemsets, found.support, strict=True)})


def _rows(content: bytes, form: str, piece: int) -> Counter[str]:
    source = (open_csv if form == "csv" else open_tsv)(dpmine.Input("data", input_format=form), [_file(content)])
    with patch.object(reader, "_PIECE", piece or _PIECE):
        columns = [batch.to_pydict() for batch in source.batches(["u", "i"])]
    pairs = {pair for each in columns for pair in zip(each["u"], each["i"], strict=True)}
    return Counter(item for unit, item in pairs if unit is not None and item is not None)


def _file(content: bytes) -> DataFile:
    """A file in memory: making one on a disk takes longer than reading it."""
    return DataFile("data", partial(pa.BufferReader, content))


def _supports(source: Source, column: str, piece: int) -> Counter[str]:
    """In how many lists of a column each item is, of pieces of so many characters; 0 for the usual ones.

    What counts lists has targets of its own.
    """
    with patch.object(reader, "_PIECE", piece or _PIECE):
        lists = (basket for batch in source.batches([column]) for basket in batch.column(column).to_pylist())
        return Counter(item for basket in lists for item in {*basket})


def attribute_table(data: bytes) -> None:
    """A CSV file of two attributes, one of them cut: each value is the item that it alone would be."""
    least, body = next(iter(data), 0) % 16, data[1:].replace(b"\r", b"\n")  # from 10 on, cuts are out of order
    options = ask(lambda: Attributes.of(attributes=True, missing="?", cut={"n": [least, 10]})) or Attributes((), (), ())
    rows = open_csv(dpmine.Input("data", input_format="csv", columns=("c", "n")), [_file(body)]).as_numbers(["n"])
    lists = AttributeLists(rows, (), rows.names, options)
    supports = ask(lambda: _supports(lists, ATTRIBUTES_COLUMN, len(body) % 32 if len(body) % 8 == 3 else 0))
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
    """Lines as dates of a form: as Python reads them, or none. Half of them nearly are dates."""
    choices = Choices(data)
    form = choices.one(("%d.%m.%Y", "%d.%m.%Y", "%d.%m.%Y", "%d.%m.", "%d.%m.%Y%"))
    written = ask(lambda: _known_pattern(form))
    texts = [_nearly_a_date(choices) for _ in range(choices.byte() % 16)]
    texts += choices.rest().decode(errors="replace").split("\n")
    found = moments(pa.array(texts), pa.date32(), written).cast(pa.int32()).to_pylist()
    for text, number in zip(texts, found, strict=True):
        parts = re.fullmatch(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})", text)
        try:
            day = dt.date(int(parts[3]), int(parts[2]), int(parts[1])) if parts else None
            expected = day and (day - dt.date(1970, 1, 1)).days
        except ValueError:
            expected = None
        if parts is None or int(parts[3]):  # Python has no year 0
            require(number == expected, "A date is read as another.")


def _nearly_a_date(choices: Choices) -> str:
    """A day, a month and a year, some of them beyond the calendar, and sometimes a character in between."""
    day, month, year = choices.byte() % 34, choices.byte() % 14, choices.whole() % 10_001
    text = f"{day:02}.{month:02}.{year:04}" if day % 2 else f"{day}.{month}.{year}"
    place = choices.byte()
    return (
        text if place > 2 * len(text) else text[:place] + choices.take(place % 2).decode("latin-1") + text[place + 1 :]
    )


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


@cache
def _known_pattern(form: str) -> str:
    """As `_pattern`, which has a target of its own."""
    return _pattern(form)


def _pattern(form: str) -> str:
    """What reads dates of a form. Raises BadParameter."""
    return dpmine.Input("x.csv", types={"day": f"timestamp:{form}"}).formats["day"]
