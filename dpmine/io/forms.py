"""What to read, where a path alone does not say it: the form of files, the types of columns of text, or a query."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dpmine.errors import BadParameter
from dpmine.io.atomic import SUFFIXES
from dpmine.io.paths import PathName, paths_of
from dpmine.parameters import named

if TYPE_CHECKING:
    from collections.abc import Sequence

STDIN = "-"
"""The path that stands for standard input."""
_COMPRESSED = (".gz", ".bz2", ".zst")


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
TYPES = {"text": pa.string(), "int64": pa.int64(), "float64": pa.float64(), "date": pa.date32()}
"""What a column of text may be declared to hold."""


@dataclass(frozen=True)
class Input:
    """Data to read, for every call that takes `data`; needed only where a path does not say everything.

    Columns of CSV files, and of queries, are text where keys, items and labels are asked for, and float64 where numbers
    are. A type is never found from the values: one person's value could change it for everybody. `types` declares
    others.

    Args:
        files: a path or several; "-" is standard input.
        input_format: "parquet", "csv", "tsv" or "arrow". Default: by the endings of the names; else Parquet, and for
            standard input what its first bytes say.
        types: of columns of text, as a mapping or a text such as "age=int64,amount=float64"; also "text", and "date"
            for days as 2026-11-23, whatever time follows.
        query: a statement in SQL, in place of files.
        database: where the query runs: "duckdb:///FILE", "sqlite:///FILE" or "postgresql://…".

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
    query: str | None = None
    database: str | None = None

    def __post_init__(self) -> None:
        if (self.query is None) != (self.database is None):
            raise BadParameter("query (--query) and database (--database) belong together: give both, or neither.")
        if self.query is not None and (self.paths or self.input_format is not None):
            raise BadParameter("A query takes the place of files and input_format (--input-format): leave them out.")
        if self.query is None and not self.paths:
            raise BadParameter("There is nothing to read: give FILE (a path or several), or query and database.")
        if self.kinds and self.form not in {None, Form.CSV, Form.TSV}:
            raise BadParameter(f"types (--types) are for columns of text, and {self.form} has types: leave it out.")

    @cached_property
    def paths(self) -> tuple[PathName, ...]:
        """The files; none for a query."""
        return tuple(paths_of(self.files) or ())

    @cached_property
    def form(self) -> Form | None:
        """Of the files, as far as it is known before they are opened."""
        if self.input_format is not None:
            return named(Form, "input_format", self.input_format)
        forms = {form_of(os.fspath(path)) for path in self.paths if path != STDIN}
        if len(forms) > 1:
            several = ", ".join(sorted(forms))
            raise BadParameter(
                f"The files are of several forms ({several}): give those of one form at a time, or say input_format "
                "(--input-format)."
            )
        return forms.pop() if forms else None

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


def form_of(path: str) -> Form:
    """The form that the ending of a name says; Parquet where it says none."""
    name = (path.partition("?")[0] if "://" in path else path).lower()
    return next((form for form, endings in ENDINGS.items() if name.endswith(endings)), Form.PARQUET)
