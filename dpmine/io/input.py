"""What to read, as a user says it: paths, the form of files, the types of columns of text, or a query."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa

from dpmine.errors import BadParameter
from dpmine.io.dates import pattern_of
from dpmine.io.files import STDIN, PathName, is_glob
from dpmine.options.names import CSV, ENCODINGS, FORMS, PARQUET, QUOTES
from dpmine.parameters import one_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpmine.options.names import Form

ENDINGS = tuple(chain.from_iterable(form.endings for form in FORMS))
"""Of the names of all files that can be read."""
_TABLES_OF_OTHERS = (".xlsx", ".xls", ".ods", ".sas7bdat", ".sav", ".dta", ".orc", ".avro")
_TEXTS_OF_OTHERS = (".json", ".jsonl", ".ndjson", ".xml")
_FOREIGN = tuple(each for each in (*_TABLES_OF_OTHERS, *_TEXTS_OF_OTHERS) if each not in ENDINGS)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://")
_DELIMITER = re.compile(r"[\t\x20-\x7e](?<![A-Za-z0-9\"])")
_TYPES = {
    "text": pa.string(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
"""What a column of text may be declared to hold."""
_DATED = ("date", "timestamp")
_TEXT_ONLY = "text"
_LONG, _MOST_COLUMNS = 19, 100_000
_TAB = r"\t"
"""How a tab may be typed as a delimiter."""
_CHOICES = {
    "delimiter": (),
    "quotes": QUOTES,
    "decimal": (".", ","),
    "encoding": ENCODINGS,
    "columns": (),
    "no_header": (),
}
"""The options on how text is written, and their values where there are few."""


@dataclass(frozen=True)
class Input:
    """Data to read, for every call that takes `data`; needed only where a path does not say everything.

    Columns of CSV files, and of queries, are text where keys, items and labels are asked for, and float64 where numbers
    are. A type is never found from the values: one person's value could change it for all others. `types` declares
    other types.

    Args:
        files: a path or several; "-" is standard input.
        input_format: one of the forms that `dpmine top-itemset --help` lists, such as "csv". Default: by
            the endings of the names; else Parquet, and for standard input what its first bytes say.
        types: of columns of text, as a mapping or a text such as "age=int64,amount=float64". Also "text", "timestamp",
            and "date" for days as 2026-11-23, whatever time follows. "date:%d.%m.%Y" and "timestamp:%d.%m.%Y %H:%M"
            say how they are written, in %Y, %y, %m, %d, %H, %M and %S. Columns of bytes that hold text in UTF-8, as in
            files of Impala, are "text", too.
        delimiter: what separates the fields of CSV files: one character, such as ";" or a tab; default: a comma. With
            this, or `columns` or `no_header`, files of no known ending are CSV files.
        quotes: of CSV files. "double" (the default): quotation marks may enclose a field with delimiters in it, and
            each line is a row, whatever the others hold. "none": each line is a row, and marks are like other
            characters. "multiline": fields may hold line breaks, too; an open mark then hides rows up to the next.
        decimal: the decimal point of numbers in CSV files, "." (the default) or ",".
        query: a statement in SQL, in place of files. Without a database it chooses and renames columns of one file,
            and filters its rows: "SELECT customer, product FROM 'sales.csv' WHERE status != 'C'". All other arguments
            then say what the file is.
        database: where the query runs: "duckdb:///FILE", "sqlite:///FILE" or "postgresql://…"; "duckdb:///:memory:" for
            statements on several files.
        encoding: of text files: "utf-8" (the default), "latin-1", "windows-1252", "iso-8859-15", "windows-1250" or
            "windows-1251". Bytes that are none of its characters become U+FFFD: an error would depend on single rows.
        columns: of CSV files without a header. The names of the columns, as a list or a text such as "id,item"; or how
            many there are, which are then called c1, c2, ….
        no_header: whether CSV files have no header, and as many columns as their first line has fields. This number is
            then public; `columns` says it without a look at a row.
        where: a condition on each row, in SQL, such as "status != 'C'". Rows where it does not hold are left out, and
            those where a value that it needs is missing or does not fit. It is public, and chosen without a look at the
            data. It names columns of the files alone. Needs DuckDB (`pip install 'dpmine[sql]'`).

    Raises BadParameter for combinations that contradict each other, and unknown formats and types.

    Example:
        >>> import dpmine
        >>> data = dpmine.Input("sales.txt", input_format="csv", types="price=float64")
        >>> data.form.name
        'csv'
    """

    files: PathName | Sequence[PathName] = ()
    input_format: str | None = None
    types: Mapping[str, str] | str | None = None
    delimiter: str | None = None
    quotes: str | None = None
    decimal: str | None = None
    query: str | None = None
    database: str | None = None
    encoding: str | None = None
    columns: Sequence[str] | str | int | None = None
    no_header: bool = False
    where: str | None = None

    def __post_init__(self) -> None:
        if self.query is None and self.database is not None:
            raise BadParameter("`database` needs `query`: give the statement that is to run there.")
        if self.query is not None and (self.paths or (self.database is not None and self.input_format is not None)):
            raise BadParameter("A query takes the place of files and `input_format`: leave them out.")
        if self.query is not None and self.where is not None:
            raise BadParameter("A query has its own WHERE: leave out `where`.")
        if self.where is not None and not (isinstance(self.where, str) and self.where.strip()):
            raise BadParameter("`where` must be a condition on the columns, such as `where=\"status != 'C'\"`.")
        if self.query is None and not self.paths:
            raise BadParameter("There is nothing to read: give FILE (a path or several), or query and database.")
        if self.form is not None and self.form.is_typed:
            self.require_text_types(self.form)
        if self.no_header and self.columns is not None:
            raise BadParameter("`columns` say that there is no header, too: leave out `no_header=True`.")
        for name, choices in _CHOICES.items():
            self._require_text(name, choices)
        self.header, self.kinds  # noqa: B018 - they must be some
        if self.delimiter not in {None, _TAB} and not _DELIMITER.fullmatch(str(self.delimiter)):
            raise BadParameter(
                "`delimiter` must be one character of ASCII, no letter, digit, quotation mark or line "
                "break, such as ';', or \\t for a tab (as in files ending in .tsv)."
            )

    def _require_text(self, name: str, choices: tuple[str, ...]) -> None:
        """BadParameter for an option on how text is written, where it has another value, or what is read is no text."""
        value = getattr(self, name)
        if value is None or value is False:
            return
        if choices and value not in choices:
            raise BadParameter(f"`{name}` must be {' or '.join(map(repr, choices))}.")
        if self.database is not None or (self.form is not None and name not in self.form.options):
            raise BadParameter(f"`{name}` is for {_having(name)} files: leave it out, or say `input_format='csv'`.")

    def require_text_types(self, form: Form) -> None:
        """BadParameter for types of columns that have types in this `form`; "text" may be declared for bytes."""
        if other := [kind for kind, _ in self._declared.values() if kind != _TEXT_ONLY]:
            raise BadParameter(
                f"`types` are for columns of text, and {form.name} has types: leave out {other[0]}, or say "
                "`input_format='csv'`; `types='COL=text'` is for columns of bytes."
            )

    def of_file(self, name: str) -> Input:
        """The same of the file `name` in place of a query."""
        return replace(self, files=name, query=None)

    @property
    def separator(self) -> str | None:
        """The delimiter that is given, a tab as the character."""
        return "\t" if self.delimiter == _TAB else self.delimiter

    @cached_property
    def header(self) -> tuple[str, ...] | None:
        """The names of the columns, where the files do not hold them; BadParameter where they are none."""
        given = self.columns
        if given is None:
            return None
        text = str(given).strip() if isinstance(given, int | str) else ""
        if text.isascii() and text.isdecimal():
            return numbered_columns(int(text[:_LONG]))
        names = [name.strip() for name in given.split(",")] if isinstance(given, str) else given
        if (
            not isinstance(names, list | tuple)
            or not names
            or not all(isinstance(name, str) and name for name in names)
        ):
            raise BadParameter("`columns` must be names, such as `columns=('customer', 'item')`, or their number.")
        if len(set(names)) < len(names):
            raise BadParameter("`columns` must be different names.")
        return tuple(names)

    @cached_property
    def paths(self) -> tuple[PathName, ...]:
        """The files; none for a query."""
        return tuple(paths_of(self.files) or ())

    @cached_property
    def form(self) -> Form | None:
        """Of the files, as far as it is known before they are opened."""
        if self.input_format is not None:
            return named_form(self.input_format)
        is_text = self.delimiter is not None or self.columns is not None or self.no_header
        unknown = CSV if is_text else PARQUET
        forms = {form_of(os.fspath(path), unknown) for path in self.paths if path != STDIN or is_text}
        self._require_readable()
        if len(forms) > 1:
            several = ", ".join(sorted(form.name for form in forms))
            raise BadParameter(
                f"The files are of several forms ({several}): give those of one form at a time, or say `input_format`."
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
                "commas (`features=['age', 'hours']`)."
            )

    @cached_property
    def kinds(self) -> dict[str, pa.DataType]:
        """The declared types, as Arrow's."""
        return {name: _TYPES[kind] for name, (kind, _) in self._declared.items()}

    @cached_property
    def formats(self) -> dict[str, str]:
        """How declared dates and timestamps are written, as patterns, where it is said."""
        return {name: written for name, (_, written) in self._declared.items() if written}

    @cached_property
    def _declared(self) -> dict[str, tuple[str, str]]:
        given = self.types or {}
        if isinstance(given, str):
            pairs = [part.partition("=") for part in given.split(",") if part.strip()]
            given = {name.strip(): kind.strip() for name, _, kind in pairs}
        if not isinstance(given, Mapping) or not all(isinstance(name, str) and name for name in given):
            raise BadParameter("`types` must name columns, such as age=int64,amount=float64.")
        return {name: _declared_type(kind) for name, kind in given.items()}


def _declared_type(given: object) -> tuple[str, str]:
    """The name of a type, and the pattern of dates; "" for none."""
    kind, has_form, form = str(given).partition(":")
    if kind not in _TYPES or (has_form and kind not in _DATED):
        raise BadParameter(f"`types` must be {', '.join(_TYPES)}, not {given!r}: such as age=int64.")
    written = pattern_of(form) if has_form else ""
    if written is None:
        raise BadParameter(
            f"{form!r} does not say how a date is written: use %Y or %y, %m and %d, and %H, %M, %S for a time, as in "
            "`types='day=date:%d.%m.%Y'`."
        )
    return kind, written


def numbered_columns(number: int) -> tuple[str, ...]:
    """The names of that many columns without names; BadParameter for no number of columns."""
    if not 0 < number <= _MOST_COLUMNS:
        raise BadParameter(f"`columns` must be 1 to {_MOST_COLUMNS:,}, or names.")
    return tuple(f"c{place}" for place in range(1, number + 1))


def named_form(name: str) -> Form:
    """The form that an option names; BadParameter for another name."""
    chosen = one_of("input_format", name, [form.name for form in FORMS])
    return next(form for form in FORMS if form.name == chosen)


def form_of(path: str, unknown: Form = PARQUET) -> Form:
    """The form that the ending of a name says; `unknown` where it says none."""
    name = (path.partition("?")[0] if "://" in path else path).lower()
    return next((form for form in FORMS if name.endswith(form.endings)), unknown)


def form_beginning(content: bytes) -> Form | None:
    """The form whose files begin so; None for text."""
    return next((form for form in FORMS if content.startswith(form.magic)), None)


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


def paths_of(data: object) -> list[PathName] | None:
    """The paths that data are, one or a list or tuple of them; None for anything else."""
    if isinstance(data, str | PathLike):
        return [data]
    if not isinstance(data, list | tuple) or not data:
        return None
    return list(data) if all(isinstance(path, str | PathLike) for path in data) else None


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
    ends = path.lower().endswith((*ENDINGS, *_FOREIGN))
    return ends or (is_glob(path) and bool(glob.glob(path, recursive=True)))  # noqa: PTH207 - as below


class ArrowStream(Protocol):
    """What hands out Arrow's batches: a table of pyarrow, polars or duckdb, a reader, a frame of pandas."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule of Arrow's C stream interface."""
        ...


class LazyRows(Protocol):
    """A DataFrame of Spark, or a LazyFrame of polars."""

    def collect(self, *args: Any, **kwargs: Any) -> Any:
        """All rows."""
        ...


Data: TypeAlias = "str | PathLike[str] | Input | ArrowStream | LazyRows | Iterable[object]"
"""What calls on transactions read: paths, frames and streams, or baskets. The arguments say which of them are used."""


def _having(option: str) -> str:
    """The forms of files that have an option."""
    titles = [form.title for form in FORMS if option in form.options]
    return " and ".join([", ".join(titles[:-1]), titles[-1]])
