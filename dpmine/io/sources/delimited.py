"""CSV and TSV files, and text that is piped in: their header is read first, their rows when they are needed.

Text is split into records here, before Arrow parses it: a row decides about itself alone, whatever bytes it holds.
"""

from __future__ import annotations

import csv
import io
import shlex
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from dpmine.errors import UnreadableFile, require_memory
from dpmine.io.files import READ_ERRORS, STDIN, reason
from dpmine.io.input import numbered_columns
from dpmine.io.source import share_of
from dpmine.io.sources.text_columns import TextSource, require_declared
from dpmine.io.unfit import UNSEEN, NoneUnfit, Unfit
from dpmine.later import pc
from dpmine.options.names import COMPRESSED, ENCODINGS, QUOTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from dpmine.io.files import DataFile
    from dpmine.io.input import Input

_PIECE = 2**20  # characters that are parsed at once
LONGEST_ROW = 2**20
"""Bytes of a row of text, without the line end; longer ones are left out."""
_LONGEST_HEADER = 2**26  # characters
_OTHER_DELIMITERS = ";\t|"
_LF, _CR, _MARK = b'\n\r"'
_CODECS = {"utf-8": "utf-8-sig"}  # without a mark of byte order at the beginning of the file
_NOT_TEXT = (
    "it is not text in UTF-8 with the columns' names in its first line; write it again so, or say what it is "
    "(`encoding='latin-1'`)."
)
_EMPTY = "is empty: give a file with the columns' names in its first line."
_UTF_16 = "is text in UTF-16: convert it (iconv -f utf-16 -t utf-8)."
_NO_ROWS = "its rows are no such text; write it again."
_RAGGED = (
    "some of its rows do not have a field for each column, as one-hot columns need; a line that lists items is no such "
    "row."
)
_LEFT_OUT = "a row of more than 1 MiB, or with another number of fields than there are columns, is left out"
_CAUTIONS = {
    "double": f"each line of text is a row; one with an open quotation mark is left out (see `quotes=…`); {_LEFT_OUT}",
    "multiline": f"a quotation mark that is not closed hides the rows up to the next (see `quotes=…`); {_LEFT_OUT}",
    "none": f"each line of text is a row; {_LEFT_OUT}",
}
"""The notice on rows, for each `_Dialect.quotes`: the same sentence whatever the rows hold."""
_NUMBER = (
    "how many columns there are is public, and the first line says it: `columns=…` says it without a look at a row"
)


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How rows of text are written: see `Input`."""

    delimiter: str
    quotes: str
    decimal: str
    encoding: str


def open_csv(given: Input, files: Iterable[DataFile]) -> TextSource:
    """The columns of CSV files: see `_open_delimited`."""
    return _open_delimited(given, list(files), ",")


def open_tsv(given: Input, files: Iterable[DataFile]) -> TextSource:
    """The columns of TSV files: see `_open_delimited`."""
    return _open_delimited(given, list(files), "\t")


def _open_delimited(given: Input, files: Sequence[DataFile], delimiter: str) -> TextSource:
    """The columns of delimited text: only headers are read here.

    A row that does not fit, as `_CAUTIONS` says, is left out, like a row with a null key. One person's rows decide
    whether there is one, so it must not stop the run, and must not change what the others are.

    Raises UnreadableFile where a header cannot be read, BadData for types of columns that do not exist.
    """
    dialect = _Dialect(
        given.separator or delimiter, given.quotes or QUOTES[0], given.decimal or ".", given.encoding or ENCODINGS[0]
    )
    headers = [_columns(file, given, dialect) for file in files]
    has_header = given.header is None and not given.no_header
    hint = _hint(files[0], headers[0], dialect) if has_header else None
    require_declared(headers[0], given.kinds, hint or "among the columns")
    sizes = [file.size() for file in files]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    place = 0

    def texts(names: Sequence[str], *, unfit: Unfit = UNSEEN) -> Iterator[pa.RecordBatch]:
        nonlocal place
        before = 0
        unfit.begin()
        for file, header, size in zip(files, headers, sizes, strict=True):
            tables = _tables(file, header, names, dialect, unfit, has_header=has_header)
            for table, inside in tables:
                place = before + inside
                yield from table.to_batches()
            before += size or 0

    return TextSource(
        headers[0],
        given.kinds,
        texts,
        hint,
        all(file.repeatable for file in files),
        decimal=dialect.decimal,
        formats=given.formats,
        notices=(_CAUTIONS[dialect.quotes], *([_NUMBER] if given.no_header else [])),
        texts_handling=lambda unfit: partial(texts, unfit=unfit),
        missing={name for header in headers for name in {*headers[0]}.difference(header)},
        read_share=lambda: share_of(place, total) if total else None,
    )


def _hint(file: DataFile, header: Sequence[str], dialect: _Dialect) -> str:
    """See `Source.header_hint`."""
    split = "split at commas unless `delimiter=…` says otherwise" if dialect.delimiter == "," else ""
    if other := likely_delimiter(header):
        split = f"it has one column; if others follow, say what separates them: `delimiter={other!r}`"
    seen = "" if file.shown == STDIN else f"to see it: head -n 1 {shlex.quote(file.shown)}"
    hints = "; ".join(filter(None, (split, seen)))
    return f"in the header ({hints})" if hints else "in the header"


def likely_delimiter(header: Sequence[str]) -> str | None:
    """The delimiter that is in the name of the only column, of those that files of several columns often have."""
    return next((mark for mark in _OTHER_DELIMITERS if len(header) == 1 and mark in header[0]), None)


def text_of(file: DataFile, stream: pa.NativeFile, encoding: str) -> io.TextIOWrapper:
    """The stream's text, unpacked; bytes that are no characters are replaced."""
    content = _unpacked(file, stream)
    return io.TextIOWrapper(content, encoding=_CODECS.get(encoding, encoding), errors="replace", newline="")


def _unpacked(file: DataFile, stream: pa.NativeFile) -> pa.NativeFile:
    """The stream, unpacked where the file's name says so."""
    packed = next((codec for ending, codec in COMPRESSED.items() if file.path.lower().endswith(ending)), None)
    return pa.CompressedInputStream(stream, packed) if packed else stream


def _columns(file: DataFile, given: Input, dialect: _Dialect) -> tuple[str, ...]:
    """The names of a file's columns. Of what its first line holds, nothing matters where they are given."""
    if given.header is not None:
        if file.path:
            _first_line(file, dialect)  # raises where a file cannot be read
        return given.header
    if given.no_header:
        return numbered_columns(max(1, len(_fields(_first_line(file, dialect), dialect))))
    names = _fields(_first_line(file, dialect), dialect)
    if not names or any({*name} & {*"\ufffd\0\r\n"} for name in names):
        raise UnreadableFile(f"{file.shown} {_why_no_header(file)}")
    return tuple(names)


def _why_no_header(file: DataFile) -> str:
    """By what says how the file was written, and nothing of its rows: whether it is empty, and a mark of byte order."""
    with file.open() as stream:
        first = _unpacked(file, stream).read(len(BOM_UTF16_LE))
    if not first:
        return _EMPTY
    return _UTF_16 if first in {BOM_UTF16_LE, BOM_UTF16_BE} else f"cannot be read: {_NOT_TEXT}"


def _fields(line: str, dialect: _Dialect) -> list[str]:
    """The fields of a header; none where it is no such text."""
    quote = None if dialect.quotes == "none" else '"'
    try:
        return next(csv.reader([line], delimiter=dialect.delimiter, quotechar=quote), [])
    except csv.Error:
        return []


def _first_line(file: DataFile, dialect: _Dialect) -> str:
    try:
        with file.open() as stream:
            return text_of(file, stream, dialect.encoding).readline(_LONGEST_HEADER)
    except READ_ERRORS as error:
        raise UnreadableFile(f"{file.shown} cannot be read: {why_unreadable(error, _NOT_TEXT)}") from None


def _tables(
    file: DataFile, header: Sequence[str], names: Sequence[str], dialect: _Dialect, unfit: Unfit, *, has_header: bool
) -> Iterator[tuple[pa.Table, int]]:
    """The named columns, piece by piece, and how many of the file's bytes are read by then."""
    options: Any = _options(header, names, dialect, unfit)
    try:
        with file.open() as stream:
            text = text_of(file, stream, dialect.encoding)
            if has_header:
                text.readline(_LONGEST_HEADER)
            for rows in records(text, across_lines=dialect.quotes == "multiline"):
                fit = _well_formed(rows, dialect)
                unfit.leave_out(len(rows) - len(fit))
                if len(fit):
                    kept = _without_last_delimiter(fit, len(header), dialect)
                    yield pacsv.read_csv(_parsed(kept), *options), stream.tell() if file.path else 0
    except READ_ERRORS as error:
        otherwise = _RAGGED if isinstance(unfit, NoneUnfit) else _NO_ROWS
        raise UnreadableFile(f"{file.shown} cannot be read: {why_unreadable(error, otherwise)}") from None


def records(text: io.TextIOBase, *, across_lines: bool) -> Iterator[pa.Array]:
    """Records with their line ends, in UTF-8: lines, or `across_lines` those between which all quotation is closed.

    Of a record that is too long its beginning is kept, with one byte too much, so that its length shows it.
    """
    rest, is_open = b"", 0
    while piece := (text.read(_PIECE) + text.readline(LONGEST_ROW)).encode():  # no CRLF is torn apart
        codes = np.frombuffer(piece, np.uint8)
        is_end = codes == _LF
        if b"\r" in piece:
            is_end |= (codes == _CR) & (np.append(codes[1:], 0) != _LF)
        ends = np.flatnonzero(is_end)
        if across_lines:
            marks = np.cumsum(codes == _MARK) + is_open
            ends, is_open = ends[marks[ends] % 2 == 0], marks[-1] % 2
        content = rest + piece
        offsets = np.concatenate([[0], ends + (len(rest) + 1)]).astype(np.int32)
        yield _binary(offsets, content)
        rest = content[offsets[-1] :][: LONGEST_ROW + 1]
    yield _binary(np.array([0, len(rest) + 1], np.int32), rest + b"\n")


def _binary(offsets: NDArray[np.int32], content: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(content)])


def _content(records: pa.Array) -> pa.Buffer:
    """The bytes of records, one after the other."""
    bounds = _bounds(records)
    return records.buffers()[2].slice(bounds[0], bounds[-1] - bounds[0])


def _bounds(records: pa.Array) -> NDArray[np.int32]:
    """Where each begins, and the last ends, in the buffer of their bytes."""
    return np.frombuffer(records.buffers()[1], np.int32)[records.offset : records.offset + len(records) + 1]


def _parsed(records: pa.Array) -> pa.BufferReader:
    """Records for Arrow, which leaves out a mark of byte order where what it parses begins."""
    content = _content(records)
    return pa.BufferReader(BOM_UTF8 + content.to_pybytes() if content[:3].to_pybytes() == BOM_UTF8 else content)


def _well_formed(records: pa.Array, dialect: _Dialect) -> pa.Array:
    """Those that are short enough, and leave no quotation open: Arrow would go on with the next record."""
    lengths = pc.binary_length(records)
    if (pc.max(lengths).as_py() or 0) > LONGEST_ROW:  # the last row may have no line end, which must not matter
        lengths = pc.binary_length(pc.replace_substring_regex(records, r"[\r\n]+$", ""))
    keep = pc.less_equal(lengths, LONGEST_ROW)
    if dialect.quotes != "none" and _MARK in _content(records).to_pybytes():
        end = rf"\x{ord(dialect.delimiter):02x}"
        closed = r'"(?:[^"]|"")*"'
        if dialect.quotes == "multiline":
            field = rf'(?:{closed}|[^{end}"]*)'
            keep = pc.and_(keep, pc.match_substring_regex(records, rf"^{field}(?:{end}{field})*[\r\n]+$"))
        else:
            field = rf'(?:(?:{closed})?(?:[^{end}"][^{end}]*)?)'
            is_open = pc.match_substring_regex(records, rf'^(?:{field}{end})*"(?:[^"]|"")*$')
            keep = pc.and_not(keep, is_open)
    return records if pc.all(keep).as_py() else records.filter(keep)


def _without_last_delimiter(records: pa.Array, columns: int, dialect: _Dialect) -> pa.Array:
    """The records; of those with one field too much, which is empty and the last, without it."""
    codes, ends = np.frombuffer(records.buffers()[2], np.uint8), _bounds(records)[1:]
    last = codes[np.maximum(ends - 2, 0)]
    last = np.where(last == _CR, codes[np.maximum(ends - 3, 0)], last)  # of CRLF
    if not (last == ord(dialect.delimiter)).any():
        return records
    bare = pc.replace_substring_regex(records, r'"(?:[^"]|"")*"', "") if dialect.quotes != "none" else records
    at_end = rf"\x{ord(dialect.delimiter):02x}([\r\n]+)$"
    is_longer = pc.and_(
        pc.equal(pc.count_substring(bare, dialect.delimiter), columns), pc.match_substring_regex(records, at_end)
    )
    return pc.if_else(is_longer, pc.replace_substring_regex(records, at_end, r"\1"), records)


def _options(header: Sequence[str], names: Sequence[str], dialect: _Dialect, unfit: Unfit) -> tuple[Any, Any, Any]:
    return (
        # Its threads drop the last reference to the handler, and abort a program that ends before they have.
        pacsv.ReadOptions(use_threads=False, block_size=2 * LONGEST_ROW, column_names=list(header)),
        pacsv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=False if dialect.quotes == "none" else '"',
            newlines_in_values=dialect.quotes == "multiline",
            invalid_row_handler=unfit,
        ),
        pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=list(names),
            strings_can_be_null=True,
            null_values=[""],
        ),
    )


def why_unreadable(error: BaseException, otherwise: str) -> str:
    """The reason, where it is the file system's, and `otherwise` where it is the content's."""
    require_memory(error)
    return reason(error) if isinstance(error, FileNotFoundError | PermissionError) else otherwise
