"""What to read, as a user says it: paths, the form of files, the types of columns of text, a query; and the files."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from pyarrow import fs

from dpmine.errors import BadParameter, UnreadableFile, require_memory
from dpmine.io.atomic import SUFFIXES
from dpmine.parameters import named

if TYPE_CHECKING:
    from collections.abc import Sequence

PathName: TypeAlias = str | PathLike[str]
STDIN = "-"
"""The path that stands for standard input."""
_COMPRESSED = (".gz", ".bz2", ".zst")
_FOREIGN = (".xlsx", ".xls", ".ods", ".json", ".jsonl", ".ndjson", ".xml", ".sas7bdat", ".sav", ".dta", ".orc", ".avro")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://")
_DELIMITER = re.compile(r"[\t\x20-\x7e](?<![A-Za-z0-9\"])")


class Form(StrEnum):
    """How columns are written in a file."""

    PARQUET = "parquet"
    CSV = "csv"
    TSV = "tsv"
    ARROW = "arrow"
    """Arrow IPC, as a file (Feather) or a stream."""


ENDINGS = {
    Form.PARQUET: SUFFIXES,
    Form.CSV: tuple(f".csv{packed}" for packed in ("", *_COMPRESSED)),
    Form.TSV: tuple(f".tsv{packed}" for packed in ("", *_COMPRESSED)),
    Form.ARROW: (".arrow", ".feather", ".ipc"),
}
"""How the names of files of each form end."""
ENCODINGS = ("utf-8", "latin-1", "windows-1252")
"""Of CSV files."""
QUOTES = ("double", "multiline", "none")
"""How CSV files use quotation marks."""
TAB = r"\t"
"""How a tab may be typed as a delimiter."""
TYPES = {"text": pa.string(), "int64": pa.int64(), "float64": pa.float64(), "date": pa.date32()}
"""What a column of text may be declared to hold."""


@dataclass(frozen=True)
class Input:
    """Data to read, for every call that takes `data`; needed only where a path does not say everything.

    Columns of CSV files, and of queries, are text where keys, items and labels are asked for, and float64 where numbers
    are. A type is never found from the values: one person's value could change it for all others. `types` declares
    other types.

    Args:
        files: a path or several; "-" is standard input.
        input_format: "parquet", "csv", "tsv" or "arrow". Default: by the endings of the names; else Parquet, and for
            standard input what its first bytes say.
        types: of columns of text, as a mapping or a text such as "age=int64,amount=float64". Also "text", and "date"
            for days as 2026-11-23, whatever time follows.
        delimiter: what separates the fields of CSV files: one character, such as ";" or a tab; default: a comma. Files
            of no known ending are CSV files then.
        quotes: of CSV files. "double" (the default): quotation marks may enclose a field with delimiters in it, and
            each line is a row, whatever the others hold. "none": each line is a row, and marks are like other
            characters. "multiline": fields may hold line breaks, too; an open mark then hides rows up to the next.
        decimal: the decimal point of numbers in CSV files, "." (the default) or ",".
        query: a statement in SQL, in place of files.
        database: where the query runs: "duckdb:///FILE", "sqlite:///FILE" or "postgresql://…"; "duckdb:///:memory:" for
            one that names files as tables (FROM 'sales.parquet').
        encoding: of CSV files: "utf-8" (the default), "latin-1" or "windows-1252". Bytes that are none of its
            characters become U+FFFD: an error would depend on single rows.

    Raises BadParameter for combinations that contradict each other, and unknown formats and types.

    Example:
        >>> import dpmine
        >>> data = dpmine.Input("sales.txt", input_format="csv", types="price=float64")
        >>> data.form
        <Form.CSV: 'csv'>
    """

    files: PathName | Sequence[PathName] = ()
    input_format: str | Form | None = None
    types: Mapping[str, str] | str | None = None
    delimiter: str | None = None
    quotes: str | None = None
    decimal: str | None = None
    query: str | None = None
    database: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if (self.query is None) != (self.database is None):
            raise BadParameter("query (--query) and database (--database) belong together: give both, or neither.")
        if self.query is not None and (self.paths or self.input_format is not None):
            raise BadParameter("A query takes the place of files and input_format (--input-format): leave them out.")
        if self.query is None and not self.paths:
            raise BadParameter("There is nothing to read: give FILE (a path or several), or query and database.")
        if self.kinds and self.form not in {None, Form.CSV, Form.TSV}:
            raise BadParameter(
                f"types (--types) are for columns of text, and {self.form} has types: leave it out, or say "
                "--input-format csv."
            )
        if self.delimiter is not None and (self.query is not None or self.form is not Form.CSV):
            raise BadParameter("delimiter (--delimiter) is for CSV files: leave it out, or say --input-format csv.")
        for name, value, choices in (
            ("quotes", self.quotes, QUOTES),
            ("decimal", self.decimal, (".", ",")),
            ("encoding", self.encoding, ENCODINGS),
        ):
            if value not in {None, *choices}:
                raise BadParameter(f"{name} (--{name}) must be {' or '.join(map(repr, choices))}.")
            if value is not None and (self.query is not None or self.form not in {None, Form.CSV, Form.TSV}):
                raise BadParameter(f"{name} (--{name}) is for CSV files: leave it out, or say --input-format csv.")
        if self.delimiter not in {None, TAB} and not _DELIMITER.fullmatch(str(self.delimiter)):
            raise BadParameter(
                "delimiter (--delimiter) must be one character of ASCII, no letter, digit, quotation mark or line "
                "break, such as ';', or \\t for a tab (as in files ending in .tsv)."
            )

    @cached_property
    def paths(self) -> tuple[PathName, ...]:
        """The files; none for a query."""
        return tuple(paths_of(self.files) or ())

    @cached_property
    def form(self) -> Form | None:
        """Of the files, as far as it is known before they are opened."""
        if self.input_format is not None:
            return named(Form, "input_format", self.input_format)
        unknown = Form.PARQUET if self.delimiter is None else Form.CSV
        forms = {
            form_of(os.fspath(path), unknown) for path in self.paths if path != STDIN or self.delimiter is not None
        }
        self._require_readable()
        if len(forms) > 1:
            several = ", ".join(sorted(forms))
            raise BadParameter(
                f"The files are of several forms ({several}): give those of one form at a time, or say input_format "
                "(--input-format)."
            )
        return forms.pop() if forms else None

    def _require_readable(self) -> None:
        """Raises BadParameter, by their names, for files of other programs and for words that are read as files."""
        names = [os.fspath(path) for path in self.paths if path != STDIN]
        if foreign := [name for name in names if name.lower().endswith(_FOREIGN)]:
            raise BadParameter(
                f"{foreign[0]} is of a form that dpmine does not read: save it as CSV or Parquet, such as with "
                "pandas.read_excel or pandas.read_json and to_parquet."
            )
        if len(names) > 1 and (stray := [name for name in names if not Path(name).suffix and _is_missing(name)]):
            raise BadParameter(
                f"{stray[0]!r} is read as a FILE, and there is none: names with spaces need quotes, and lists of names "
                "commas (--features age,hours)."
            )

    @cached_property
    def kinds(self) -> dict[str, pa.DataType]:
        """The declared types, as Arrow's."""
        given: Any = self.types or {}
        if isinstance(given, str):
            pairs = [part.rpartition("=") for part in given.split(",") if part.strip()]
            given = {name.strip(): kind.strip() for name, _, kind in pairs}
        if not isinstance(given, Mapping) or not all(isinstance(name, str) and name for name in given):
            raise BadParameter("types (--types) must name columns, such as age=int64,amount=float64.")
        if unknown := [kind for kind in given.values() if kind not in TYPES]:
            raise BadParameter(f"types (--types) must be {', '.join(TYPES)}, not {unknown[0]!r}: such as age=int64.")
        return {name: TYPES[kind] for name, kind in given.items()}


@dataclass(frozen=True)
class Days:
    """The rows whose value in `column` is a day from `first` on and before `end`, counted from 1 January 1970."""

    column: str
    first: int
    end: int


@dataclass(frozen=True)
class WindowedInput(Input):
    """An input of which the rows of some days are read."""

    days: Days | None = None


def _is_missing(name: str) -> bool:
    return "://" not in name and not glob.has_magic(name) and not os.path.lexists(name)


def form_of(path: str, unknown: Form = Form.PARQUET) -> Form:
    """The form that the ending of a name says; `unknown` where it says none."""
    name = (path.partition("?")[0] if "://" in path else path).lower()
    return next((form for form, endings in ENDINGS.items() if name.endswith(endings)), unknown)


def paths_of(data: Any) -> list[PathName] | None:
    """The paths that data are, one or a list or tuple of them; None for anything else."""
    if isinstance(data, str | PathLike):
        return [data]
    is_list = isinstance(data, list | tuple)
    return list(data) if is_list and data and all(isinstance(path, str | PathLike) for path in data) else None


def require_names(paths: Sequence[PathName]) -> None:
    """BadParameter where a text names no file: it is not quoted, because it may be a line of someone's data."""
    if not all(_is_name(path) for path in paths):
        raise BadParameter(
            "data holds texts, which are read as paths, and one is no file: give paths, or lists of items, [[…], …]."
        )


def _is_name(path: PathName) -> bool:
    """Whether a text can only be a path: by its ending, as a URL, or because the file is there."""
    if not isinstance(path, str) or path in {"", STDIN} or _URL.match(path) or os.path.lexists(path):
        return True
    ends = path.lower().endswith((*chain.from_iterable(ENDINGS.values()), *_FOREIGN))
    return ends or (_is_glob(path) and bool(glob.glob(path, recursive=True)))  # noqa: PTH207 - as below


READ_ERRORS = (pa.ArrowException, OSError, ValueError)
"""What Arrow raises for a file; damaged names are a ValueError of the codec."""


class Encrypted(ValueError):
    """What is raised for an encrypted Parquet file."""


ROWS_MISSING = "not all rows that its footer counts can be read; write it again, with larger pages and row groups."
NO_FILE = "is a pipe, a device or a socket: write its content to a file, and give the file's path."
_DAMAGED = (
    "it is damaged, incomplete or not a Parquet file; write it again, or say what it is: names of CSV files end in "
    ".csv, or take input_format (--input-format csv); a database takes query and database (--query, --database)."
)


@dataclass(frozen=True)
class FileSet:
    """Files found behind one argument.

    Attributes:
        system: the Arrow file system that holds them.
        paths: theirs inside it, sorted.
        base: the folder below which folders called key=value are partitions.
        argument: what the user gave, without secrets.
    """

    system: Any
    paths: tuple[str, ...]
    base: str
    argument: str

    def shown(self, path: str) -> str:
        """A file's name for a message: values in the names of partition folders are data and left out."""
        inside = path.removeprefix(self.base).strip("/")
        if self.argument.endswith(inside):
            return self.argument
        return f"{self.argument}: {re.sub(r'=[^/]*', '=…', inside)}"


def found_files(argument: PathName, endings: tuple[str, ...] = SUFFIXES) -> list[FileSet]:
    """The files behind a path, a folder, a glob or a URL; in a folder, those whose names end so.

    Raises UnreadableFile where there are none, or where they cannot be listed.
    """
    name = os.fspath(argument)
    if not name:
        raise UnreadableFile("A file's name is empty: give the path of a file.")
    if _is_glob(name):
        return _glob_files(name, endings)
    return [_files_at(*locate(name), shown_name(name), endings)]


def locate(name: str) -> tuple[Any, str]:
    """The Arrow file system of a path or URL, and the path inside it; UnreadableFile for an unknown kind of URL."""
    if "://" not in name:
        path = str(Path(name).absolute())
        _require_utf8(path)
        return fs.LocalFileSystem(), path
    try:
        system, path = fs.FileSystem.from_uri(name)
    except (pa.ArrowException, OSError, ValueError):
        raise UnreadableFile(
            f"{shown_name(name)} is no URL that pyarrow opens here: use file://, s3:// or gs://, or download the file."
        ) from None
    return system, path


def _require_utf8(name: str) -> None:
    """UnreadableFile where a path has bytes that are not UTF-8, which Arrow cannot open."""
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = name.encode(errors="replace").decode()
        raise UnreadableFile(f"The name '{shown}' is not valid UTF-8: rename the file or folder.") from None


def shown_name(name: str) -> str:
    """A path as given; a URL without user names, passwords and parameters."""
    if "://" not in name:
        return name
    return re.sub(r"://[^/]*@", "://", name).partition("?")[0]


def reason(error: BaseException) -> str:
    """Why a file cannot be read, in words that contain nothing of its content; MemoryError where memory is short."""
    require_memory(error)
    if isinstance(error, FileNotFoundError):
        return "it does not exist; check its name."
    if isinstance(error, PermissionError):
        return "permission denied; ask for the right to read it."
    if isinstance(error, Encrypted):
        return "it is encrypted; write it again without encryption."
    return _DAMAGED


def _is_glob(name: str) -> bool:
    return "://" not in name and glob.has_magic(name) and not os.path.lexists(name)


def _glob_files(pattern: str, endings: tuple[str, ...]) -> list[FileSet]:
    matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - Path.glob rejects absolute patterns
    if not matches:
        raise UnreadableFile(f"{pattern} matches no file; check the pattern.")
    base = _fixed_folder(pattern)
    return [replace(_files_at(*locate(match), pattern, endings), base=base) for match in matches]


def _fixed_folder(pattern: str) -> str:
    """The folder in front of the first wildcard, absolute."""
    before = re.split(r"[*?[]", pattern, maxsplit=1)[0]
    return str(Path(before + "name").absolute().parent)


def _files_at(system: Any, path: str, argument: str, endings: tuple[str, ...]) -> FileSet:
    kind = _info(system, path, argument).type
    if kind == fs.FileType.NotFound:
        raise UnreadableFile(f"{argument} does not exist; check its name.")
    if kind == fs.FileType.Unknown:
        raise UnreadableFile(f"{argument} {NO_FILE}")
    if kind == fs.FileType.Directory:
        return FileSet(system, _folder_files(system, path, argument, endings), path, argument)
    return FileSet(system, (path,), str(PurePosixPath(path).parent), argument)


def _info(system: Any, path: str, argument: str) -> Any:
    try:
        return system.get_file_info(path)
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFile(f"{argument} cannot be reached: {_listing_reason(error)}") from None


def _folder_files(system: Any, folder: str, argument: str, endings: tuple[str, ...]) -> tuple[str, ...]:
    try:
        entries = system.get_file_info(fs.FileSelector(folder, recursive=True))
        names = sorted(entry.path for entry in entries if entry.is_file)
    except UnicodeDecodeError:
        raise UnreadableFile(f"{argument} holds a name that is not valid UTF-8: rename that file or folder.") from None
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFile(f"{argument} cannot be listed: {_listing_reason(error)}") from None
    paths = tuple(name for name in names if _is_data(name, folder, endings))
    if not paths:
        raise UnreadableFile(
            f"{argument} holds no file that ends in {endings[0]}: give a folder with such "
            "files, or say what they are (--input-format csv)."
        )
    return paths


def _is_data(path: str, folder: str, endings: tuple[str, ...]) -> bool:
    """Whether a file is one of a data set's, not a writer's bookkeeping (names that begin with _ or .)."""
    parts = path[len(folder) :].strip("/").split("/")
    return path.lower().endswith(endings) and not any(part.startswith(("_", ".")) for part in parts)


def _listing_reason(error: BaseException) -> str:
    require_memory(error)
    return reason(error) if isinstance(error, PermissionError) else "check the address and the connection."
