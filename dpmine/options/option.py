"""What an option is, and the options that several kinds of jobs share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dpmine.options.names import ENCODINGS, FORMS, QUOTES, TITLES

_NUMBERS = {
    *("A", "B", "D", "E", "F", "H", "K", "L", "M", "N", "P", "R", "S", "T", "W"),
    *("A[,A]", "B[,B]", "MIN,MAX", "N,N,…", "N[,N]", "N|F", "R|R1-R2", "E|auto", "L|auto", "L,L|auto"),
}
"""What `Option.metavar` calls numbers; all else is a text, also where it looks like one."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command, and a key of a job.

    Attributes:
        help: what it is, as `--help` says it.
        metavar: how `--help` calls its value, by which it is also read: as a number (`_NUMBERS`), or as a list.
        default: where it is not given; None for none.
        kind: of the value on the command line: str, int, bool, list (may repeat), or another type that Typer knows.
        choices: the names that it may have, if there are few.
        flags: how the command line spells it, where that is more than its name.
        parameter: what the library calls it, where that is another name.
        needed: whether a job must have it.
        only_with: an option, and the value that it must have for this one to be given, and why.
        bare: the value where the command line has its name alone.
        in_jobs: whether job files have it.
        shown: what `--help` shows as the default, where `default` is None.
        asks: whether another value asks for another result, and not for the same one in another way.
    """

    help: str
    metavar: str | None = None
    default: Any = None
    kind: Any = str
    choices: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    parameter: str = ""
    needed: bool = False
    only_with: tuple[str, Any, str] | None = None
    bare: str = ""
    in_jobs: bool = True
    shown: str | None = None
    asks: bool = True

    @property
    def has_list(self) -> bool:
        """Whether its value may be a list."""
        return bool(self.bare) or self.kind is list or "," in (self.metavar or "")

    @property
    def has_numbers(self) -> bool:
        """Whether its value, or each entry of it, is a number, or a word that stands for one."""
        return self.kind is int or (self.kind is not bool and self.metavar in _NUMBERS)


EPSILON = Option("Privacy loss, read exactly: 0.5, 1/3.", "E", "1")
DELTA = Option("δ of the guarantee, read exactly: 1e-6.", "D", "1e-6")
RELATION = Option(
    "replace-one (public number of units) or add-remove.",
    "RELATION",
    "replace-one",
    flags=("--neighbors", "--neighbours"),
)
_FILES = Option(
    f"{TITLES} files, a directory, a glob, a URL, or - for standard input.",
    "[FILE...]",
    kind=list,
    in_jobs=False,
)
OF_SOURCE = {
    "input_format": Option(
        "What the files are. Default: what their names end in, else Parquet; of standard input, its first bytes.",
        choices=tuple(form.name for form in FORMS),
        shown="by the name",
    ),
    "types": Option(
        "Types of columns of text files and queries: int64, float64, text or date. Default: text, and numbers where "
        "numbers are needed.",
        "COL=TYPE,…",
    ),
    "delimiter": Option(
        "What separates the fields of CSV files, such as ';' or '\\t', or the items of basket files.",
        "CHAR",
        flags=("--delimiter", "--separator"),
        shown="a comma; of basket files blanks",
    ),
    "quotes": Option(
        "Quotation marks in CSV files: double (they may enclose a field), multiline (with line breaks in it), or none.",
        "|".join(QUOTES),
        shown=QUOTES[0],
    ),
    "decimal": Option("Decimal point of numbers in CSV files, a point or a comma.", "CHAR", shown="."),
    "encoding": Option(
        "Encoding of text files; bytes that are none of its characters become U+FFFD.",
        choices=ENCODINGS,
        shown=ENCODINGS[0],
    ),
    "columns": Option(
        "CSV files have no header: the names of their columns, or how many there are, then called c1, c2, ….",
        "COL,COL|N",
    ),
    "no_header": Option(
        "The same, with as many columns as the first line has fields; this number is then public.",
        kind=bool,
        default=False,
    ),
    "where": Option(
        "A public condition in SQL; rows where it does not hold are left out: \"status != 'C'\".", "CONDITION"
    ),
    "query": Option(
        "An SQL statement in place of FILE; it may choose, rename and filter rows one by one. Without --database it "
        "names one file: \"SELECT a, b FROM 'sales.csv' WHERE …\".",
        "SQL",
    ),
    "database": Option(
        "Where the query runs: duckdb:///FILE, duckdb:///:memory: for several files that it names, sqlite:///FILE or "
        "postgresql://….",
        "URL",
    ),
}
"""Options that say what is read, where the names of files do not."""
SOURCE: dict[str, Option] = {"files": _FILES, **OF_SOURCE}
TRAINING = {**SOURCE, "files": replace(_FILES, help=f"Training data: {_FILES.help}")}
UNIT = Option(
    "Column of the privacy unit, the person to protect; may repeat. Of dates and timestamps also day(COL), week(COL), "
    "month(COL).",
    "COL",
    kind=list,
)
NOT_PRIVATE = Option("Confirm that the result will not be private.", kind=bool, default=False, in_jobs=False)
LEDGER = {
    "ledger": Option("Charge the budget in this ledger first: sqlite:///b.db or postgresql://…", "URL", in_jobs=False),
    "dataset": Option("The data set's name in the ledger.", "NAME", in_jobs=False),
}
OF_UNIT = {
    "unit": Option("Column of the privacy unit, such as CustomerID; may repeat. Default: each row.", "COL", kind=list),
    "rows_per_unit": Option(
        "Most rows that each --unit keeps, drawn at random; noise grows with M.", "M", default=1, kind=int
    ),
    "one_row_per": Option(
        "For data without a column of the unit: assert that each NAME has at most one row. Nothing checks this.", "NAME"
    ),
}
"""Options of jobs on tables that state the privacy unit."""
DECLARED_UNITS = Option(
    "A public number of units, about as many as there are; how many there are is then private.", "N", kind=int
)
"""A key of jobs that learn or choose, which no command has."""
OF_TABLES = {
    "neighbors": replace(RELATION, help="replace-one only: the number of units is public."),
    **OF_UNIT,
    **LEDGER,
}
