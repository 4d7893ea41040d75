"""Where results go: stdout, or a file that appears whole or not at all."""

from __future__ import annotations

import io
import os
import re
import shutil
import stat
import sys
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, BinaryIO, Protocol

from dpmine.markup import harmless, json_text
from dpmine_cli.messages import as_typed, output_begins, undoing
from dpmine_cli.options import Format

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    import pyarrow as pa

    from dpmine.itemsets.exact_supports import ListedSupports


_INDENT = 4
_LEAST_WIDTH = 20
_GAP = re.compile(r"\S(\s{2,}|\t)(?=\S)")


def fitted(text: str) -> str:
    """The text as it is, unless stdout is a terminal: then no line is longer than that is wide."""
    if sys.stdout is None or not sys.stdout.isatty():  # None where it was closed
        return text
    return folded(text, max(shutil.get_terminal_size().columns, _LEAST_WIDTH))


def folded(text: str, width: int) -> str:
    """The text in lines of at most `width` characters, except for words longer than that; nothing is left out."""
    blocks = groupby(text.split("\n"), key=bool)
    return "\n".join(line for _, block in blocks for line in _block(list(block), width))


def _block(lines: list[str], width: int) -> list[str]:
    """Lines without an empty one between them: a table, or prose."""
    if max(map(len, lines)) <= width:
        return lines
    pieces = [] if any("\t" in line for line in lines) else _pieces(lines, width)
    return pieces or [part for line in lines for part in _broken(line, width)]


def _pieces(lines: list[str], width: int) -> list[str]:
    """A table in pieces, one below the other, each with its first column; empty where that does not help."""
    columns = _columns(lines)
    if max(map(len, lines)) - len(columns) < width:  # one blank less between columns is enough
        columns = [columns[0], *([cell[1:] for cell in column] for column in columns[1:])]
    widths = [max(map(len, column)) for column in columns]
    if len(columns) < 3 or widths[0] + max(widths[1:]) > width:
        return []
    pieces: list[list[list[str]]] = [[]]
    for column, size in zip(columns[1:], widths[1:], strict=True):
        if widths[0] + sum(len(max(other, key=len)) for other in pieces[-1]) + size > width:
            pieces.append([])
        pieces[-1].append(column)
    rows = [["".join(cells).rstrip() for cells in zip(columns[0], *piece, strict=True)] for piece in pieces]
    return [line for piece in rows for line in ("", *piece)][1:]


def _columns(lines: list[str]) -> list[list[str]]:
    """The columns of a table, padded, with the blanks in front of each: cut where all lines have two blanks or more."""
    longest = max(map(len, lines))
    padded = [line.ljust(longest) for line in lines]
    blank = [all(line[place] == " " for line in padded) for place in range(longest)]
    starts = [place for place in range(1, longest) if blank[place] and not blank[place - 1]]
    edges = [0, *(place for place in starts if all(blank[place : place + 2])), longest]
    return [[line[start:end] for line in padded] for start, end in pairwise(edges)]


def _broken(line: str, width: int) -> list[str]:
    """One line in several. The later ones are indented to the text after the last run of blanks, or a little more."""
    whole = line.expandtabs()
    gaps = [gap.end() for gap in _GAP.finditer(whole) if gap.end() <= width // 2]
    indent = " " * (gaps[-1] if gaps else _INDENT)
    kept = whole.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")  # never apart: ε = 1
    parts = textwrap.wrap(
        kept, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, expand_tabs=False
    )
    return [part.replace("\N{NO-BREAK SPACE}", " ") for part in parts] or [line]


_SUFFIXES = {
    "": Format.TEXT,
    ".txt": Format.TEXT,
    ".json": Format.JSON,
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
}


_DESCRIPTOR = re.compile(r"/dev/(?:(stdout|stderr)|fd/([0-9]{1,9}))")
_STANDARD = {"stdout": 1, "stderr": 2}


class Document(Protocol):
    """A result that knows how to print itself."""

    def to_json(self) -> str:
        """One JSON object."""
        ...


class TableDocument(Document, Protocol):
    """A result that is a table, too."""

    def to_arrow(self) -> pa.Table:
        """An Arrow table."""
        ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """A result that was prepared in all forms: what JSON says, rows or an Arrow table, and text."""

    document: object
    rows: list[dict[str, object]] | pa.Table
    text: str

    def to_json(self) -> str:
        """The document."""
        return json_text(self.document)

    def to_arrow(self) -> pa.Table:
        """The table."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.rows) if isinstance(self.rows, list) else self.rows

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Destination:
    """A format, and a file or stdout."""

    format: Format
    path: Path | None

    @classmethod
    def of(cls, wanted: Format | str | None, path: Path | None) -> Destination:
        """Checked before any work is done. Raises BadParameter or UnreadableFile where nothing could be written."""
        from dpmine.errors import BadParameter, UnreadableFile

        chosen = Format(wanted) if wanted else _SUFFIXES.get(path.suffix.lower() if path else "")
        if chosen is None:
            raise BadParameter(
                "-o needs the suffix .txt, .json, .csv or .parquet, or a --format beside it, such as -o out.json."
            )
        if path is None and not _is_open_for_writing(1):
            raise UnreadableFile("The standard output is closed: open it, or write the result to a file (-o FILE).")
        if chosen is Format.PARQUET and path is None and sys.stdout.isatty():
            raise BadParameter("Parquet is not for a terminal: give -o FILE.parquet, or redirect the output.")
        return cls(chosen, path and target(path))

    def write_result(self, result: TableDocument) -> None:
        """A result, in any format."""
        if self._is_table:
            table = result.to_arrow()
            self._write_batches(table.schema, table.to_batches())
        else:
            self.write_document(result)

    def write_text(self, text: str) -> None:
        """A text as it is, and the end of its line."""
        self._write([f"{text}\n".encode()])

    def write_document(self, document: Document) -> None:
        """Anything that is read as text or JSON; BadParameter for other formats."""
        self.require_document()
        if self.format is Format.JSON:
            self.write_text(document.to_json())
        else:
            self._write([self._lines(_text(document))])

    def require_document(self, what: str = "This is") -> None:
        """BadParameter unless the format is text or JSON: to be asked before any work is done."""
        from dpmine.errors import BadParameter

        if self.format not in {Format.TEXT, Format.JSON}:
            raise BadParameter(f"{what} written as text or json only: give --format json, or -o FILE.json.")

    def write_supports(self, supports: ListedSupports) -> None:
        """Exact supports, block by block: no form of the whole list is ever held."""
        batches = supports.batches(as_objects=self.format is not Format.PARQUET)
        if self._is_table:
            self._write_batches(supports.schema.with_metadata({"dpmine": '{"private": false}'}), batches)
        elif self.format is Format.JSON:
            self._write(_json(batches))
        else:
            self._write(self._lines(block) for block in lines_of_supports(batches))

    @property
    def _is_table(self) -> bool:
        return self.format in {Format.PARQUET, Format.CSV}

    def _write_batches(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        if self.format is Format.CSV:
            self._write(_csv(schema.names, batches))
            return
        from tempfile import TemporaryFile

        import pyarrow.parquet as pq

        with self._opened() as stream, TemporaryFile(prefix="dpmine-") as file:
            with pq.ParquetWriter(file, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
            file.seek(0)
            shutil.copyfileobj(file, stream)  # a writer that is interrupted adds a footer: half a file looked whole

    def _lines(self, text: str) -> bytes:
        """Lines for people; on a terminal they fit it."""
        shown = fitted(text) if self.path is None else text
        return f"{shown}\n".encode() if shown else b""

    def _write(self, blocks: Iterable[bytes]) -> None:
        """On a terminal, nothing that it would obey; a file or a pipe gets CSV and catalogues exactly."""
        with self._opened() as stream:
            shown = stream.isatty()
            for block in blocks:
                stream.write(harmless(block.decode()).encode() if shown else block)

    def _opened(self) -> AbstractContextManager[BinaryIO]:
        return _stdout() if self.path is None else replaced(self.path)


def _text(document: Document) -> str:
    """The document as text, with options as they are typed in its cautions alone: items and labels stay as they are."""
    text = str(document)
    for caution in getattr(document, "cautions", ()):
        text = text.replace(f"({caution})", f"({as_typed(caution)})")
    return text


def _csv(names: list[str], batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Lists as JSON arrays in one field; missing values empty."""
    import csv

    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    yield buffer.getvalue().encode()
    for batch in batches:
        buffer.seek(0)
        buffer.truncate()
        for row in batch.to_pylist():
            writer.writerow({name: _field(value) for name, value in row.items()})
        yield buffer.getvalue().encode()


def _json(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """What `json_text` makes of the whole object, in blocks."""
    yield b'{"private": false, "itemsets": ['
    separator = ""
    for batch in batches:
        yield (separator + ", ".join(json_text(row) for row in batch.to_pylist())).encode()
        separator = ", "
    yield b"]}\n"


def lines_of_supports(batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """Blocks of lines for people, the last of which says that they are exact."""
    from dpmine.itemsets.release.results import listed_items

    for batch in batches:
        yield "\n".join(f"{row['support']}\t{listed_items(row['items'])}" for row in batch.to_pylist())
    yield "(exact supports; NOT private)"


def _field(value: object) -> object:
    return json_text(value) if isinstance(value, list) else value


def target(path: Path) -> Path:
    """The destination: a stream or a file. Raises UnreadableFile where it cannot be written."""
    from dpmine.io.atomic import unwritable, writable_target

    if not _is_stream(path):
        return writable_target(path, guard=guard)
    number = _descriptor(path)
    if _is_open_for_writing(number) if number is not None else os.access(path, os.W_OK):
        return path
    raise unwritable(path)


def guard(temporary: Path) -> AbstractContextManager[None]:
    """An interrupt leaves no temporary file."""
    return undoing(lambda: temporary.unlink(missing_ok=True))


def _is_stream(path: Path) -> bool:
    """Whether a path is written directly: a pipe, a terminal, or a descriptor of this process."""
    mode = path.stat().st_mode if os.path.exists(path) else 0  # noqa: PTH110 (never raises)
    return _descriptor(path) is not None or stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _descriptor(path: Path) -> int | None:
    """The number that /dev/stdout, /dev/stderr or /dev/fd/N stands for."""
    found = _DESCRIPTOR.fullmatch(str(path))
    if found is None:
        return None
    return _STANDARD[found[1]] if found[1] else int(found[2])


def _stream(path: Path) -> BinaryIO:
    number = _descriptor(path)
    return path.open("wb") if number is None else os.fdopen(os.dup(number), "wb")


def _is_open_for_writing(number: int) -> bool:
    """Whether a descriptor can be written; that of a stdout which was closed leads to the null device."""
    if number == 1 and sys.stdout is None:
        return False
    try:
        import fcntl

        return fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except ImportError:  # another system
        return True
    except OSError:
        return False


@contextmanager
def _stdout() -> Iterator[BinaryIO]:
    from dpmine.errors import UnreadableFile

    output_begins()
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError:
        raise UnreadableFile("Cannot write to the standard output: is the disk full? Give -o FILE.") from None


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A file that appears whole or not at all, or a pipe that is written directly.

    An interrupt leaves no temporary file. Raises UnreadableFile.
    """
    from dpmine.io.atomic import atomic_file, unwritable

    try:
        if _is_stream(path):
            output_begins()
            with _stream(path) as stream:
                yield stream
        else:
            with atomic_file(path, guard=guard, ready=output_begins) as file:
                yield file
    except OSError as error:
        raise unwritable(path, error) from None
