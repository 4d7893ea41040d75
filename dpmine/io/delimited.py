"""CSV and TSV files, and what is piped in: their header is read first, their rows when they are needed."""

from __future__ import annotations

import csv
import io
import shlex
import sys
import tempfile
from codecs import getincrementaldecoder
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any
from weakref import finalize

import pyarrow as pa
import pyarrow.csv as pacsv

from dpmine.errors import BadData, UnreadableFile, require_memory
from dpmine.io.paths import READ_ERRORS, STDIN, Form, reason
from dpmine.io.text_columns import TextSource, require_declared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dpmine.io.paths import FileSet

DELIMITERS = {Form.CSV: ",", Form.TSV: "\t"}
_LONGEST_WAIT = 1.0  # seconds
_BLOCK = 2**20  # bytes that are parsed at once, the most that a row may take; Arrow reads 32 of them ahead
_BEGINNING = 2**16  # bytes of standard input that are looked at before the rest
_MAGIC = {b"PAR1": Form.PARQUET, b"ARRO": Form.ARROW, b"\xff\xff\xff\xff": Form.ARROW}
_CODECS = {"utf-8": "utf-8-sig"}  # Python's, of a header; Arrow leaves out a mark at the beginning by itself
_NOT_TEXT = (
    "it is empty, or not text in UTF-8 with the columns' names in its first line; write it again so, or say what it "
    "is (--encoding latin-1)."
)
_NO_ROWS = "its rows are no such text; write it again."


@dataclass(frozen=True, slots=True)
class Dialect:
    """How rows of text are written.

    Attributes:
        delimiter: what separates fields.
        quoted: whether quotation marks may enclose fields. An unclosed one then hides what follows it.
        decimal: the decimal point of numbers.
        encoding: of the text; bytes that it has no character for are replaced by U+FFFD.
    """

    delimiter: str
    quoted: bool = True
    decimal: str = "."
    encoding: str = "utf-8"


@dataclass(frozen=True)
class TextFile:
    """A file, or standard input, that holds delimited text.

    Attributes:
        shown: its name in messages.
        open: gives a stream from its beginning, unpacked.
    """

    shown: str
    open: Callable[[], Any]


def text_files(found: FileSet) -> Iterator[TextFile]:
    """The files found behind one argument; those packed by gzip, bzip2 or Zstandard are unpacked."""
    for path in found.paths:
        yield TextFile(found.shown(path), lambda path=path: found.system.open_input_stream(path))  # type: ignore[misc]


def open_delimited(
    files: Sequence[TextFile], dialect: Dialect, declared: Mapping[str, pa.DataType], *, repeatable: bool = True
) -> TextSource:
    """The columns of delimited text: only headers are read here.

    An empty field is null. A row with another number of fields than the header is left out, like a row with a null key.
    One person's rows decide whether there is one, so it must not stop the run.

    Raises UnreadableFile where a header cannot be read, BadData for types of columns that do not exist.
    """
    headers = [_header(file, dialect) for file in files]
    split = "split at commas unless --delimiter says otherwise" if dialect.delimiter == "," else ""
    seen = "" if files[0].shown == STDIN else f"to see it: head -n 1 {shlex.quote(files[0].shown)}"
    hints = "; ".join(filter(None, (split, seen)))
    look = f"in the header ({hints})" if hints else "in the header"
    require_declared(headers[0], declared, look)

    def texts(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for file, header in zip(files, headers, strict=True):
            if missing := [name for name in names if name not in header]:
                raise BadData(f"Column {missing[0]!r} is missing in some of the files: leave out those without it.")
            yield from _rows(file, names, dialect)

    return TextSource(headers[0], declared, texts, look, repeatable, decimal=dialect.decimal)


def piped() -> tuple[Form, TextFile]:
    """Standard input, which can be read once, and the form that its first bytes say."""
    stdin = sys.stdin.buffer
    beginning = stdin.read(_BEGINNING)
    opened = iter([io.BytesIO(beginning), io.BufferedReader(_Joined(beginning, stdin))])  # the header, and all
    return _MAGIC.get(beginning[:4], Form.CSV), TextFile(STDIN, lambda: next(opened))


class Kept:
    """A temporary file with the content of a stream: formats with a footer are not read from their beginning.

    It vanishes with the object. Raises UnreadableFile where the disk is full.
    """

    def __init__(self, stream: Any) -> None:
        from shutil import copyfileobj

        try:
            file = tempfile.NamedTemporaryFile(prefix="dpmine-")  # noqa: SIM115 - lives as long as its owner
            finalize(self, file.close)
            self.name = file.name
            copyfileobj(stream, file)
            file.flush()
        except OSError:
            raise UnreadableFile(
                "The disk for temporary files is full, or cannot be written: set TMPDIR to a folder with room."
            ) from None


class _Joined(io.RawIOBase):
    """The beginning of a stream that was read already, and the rest of it."""

    def __init__(self, beginning: bytes, rest: Any) -> None:
        self._beginning, self._rest = io.BytesIO(beginning), rest

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        """As of any raw stream."""
        return self._beginning.readinto(target) or int(self._rest.readinto(target))


def _header(file: TextFile, dialect: Dialect) -> tuple[str, ...]:
    try:
        with file.open() as stream:
            lines = io.TextIOWrapper(
                stream, encoding=_CODECS.get(dialect.encoding, dialect.encoding), errors="replace", newline=""
            )
            quote = '"' if dialect.quoted else None
            names = next(csv.reader(lines, delimiter=dialect.delimiter, quotechar=quote), [])
    except csv.Error:
        names = []
    except READ_ERRORS as error:
        raise UnreadableFile(f"{file.shown} cannot be read: {_why(error, _NOT_TEXT)}") from None
    if not names or any("\ufffd" in name or "\0" in name for name in names):
        raise UnreadableFile(f"{file.shown} cannot be read: {_NOT_TEXT}")
    return tuple(names)


def _rows(file: TextFile, names: Sequence[str], dialect: Dialect) -> Iterator[pa.RecordBatch]:
    options: Any = _options(names, dialect)
    reader, let_go = None, Event()
    finalize(options[1].invalid_row_handler, let_go.set)
    try:
        with file.open() as stream, pacsv.open_csv(_Utf8(stream, dialect.encoding), *options) as reader:
            yield from reader
    except READ_ERRORS as error:
        raise UnreadableFile(f"{file.shown} cannot be read: {_why(error, _NO_ROWS)}") from None
    finally:
        reader = options = None
        # A thread of Arrow's drops the last reference, and aborts a program that ends before it has.
        let_go.wait(_LONGEST_WAIT)


class _Utf8(io.RawIOBase):
    """A stream as UTF-8, whose bytes that are no characters are replaced.

    Arrow says on stderr where it finds any in a bad row, and fails at some in other encodings.
    """

    def __init__(self, stream: Any, encoding: str) -> None:
        self._stream, self._decoder = stream, getincrementaldecoder(encoding)(errors="replace")

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """At least a byte where there is one; not always `size`, which Arrow does not ask for."""
        while content := self._stream.read(size):
            if valid := self._decoder.decode(content).encode():
                return valid
        return self._decoder.decode(b"", final=True).encode()


class _Skip:
    """What is done about a row with another number of fields than the header."""

    def __call__(self, _row: object) -> str:
        return "skip"


def _options(names: Sequence[str], dialect: Dialect) -> tuple[Any, Any, Any]:
    return (
        pacsv.ReadOptions(block_size=_BLOCK),
        pacsv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char='"' if dialect.quoted else False,
            newlines_in_values=dialect.quoted,
            invalid_row_handler=_Skip(),
        ),
        pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=list(names),
            strings_can_be_null=True,
            null_values=[""],
        ),
    )


def _why(error: BaseException, otherwise: str) -> str:
    """The reason, where it is the file system's, and `otherwise` where it is the content's."""
    require_memory(error)
    return reason(error) if isinstance(error, FileNotFoundError | PermissionError) else otherwise
