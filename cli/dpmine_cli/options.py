"""Options that several commands share, each described once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from dpmine.parameters import listed


class Format(StrEnum):
    """How a result is written."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


def _show_version(context: typer.Context, value: bool) -> None:
    if value and not context.resilient_parsing:  # not while a shell completes the line
        from dpmine import __version__

        typer.echo(f"dpmine {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
]
Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Parquet files, a directory, a glob or a URL.", show_default=False),
]
TrainingFiles = Annotated[
    Optional[list[str]],
    typer.Argument(metavar="[FILE...]", help="Training data: Parquet files, a directory, a glob or a URL."),
]
Label = Annotated[Optional[str], typer.Option("--label", metavar="COL", help="Column of the two classes.")]
Features = Annotated[
    Optional[str], typer.Option("--features", metavar="COL,COL", help="Columns of numbers, separated by commas.")
]
Classes = Annotated[
    Optional[str],
    typer.Option(
        "--classes",
        metavar="A,B",
        help="The two labels, public, spelled as in the data: predictions are about B, and any other label counts as "
        "A. Default: those found.",
        show_default=False,
    ),
]
Model = Annotated[
    Optional[Path],
    typer.Option("--model", metavar="FILE.json", help="Model file: training writes it, --predict reads it."),
]
Predict = Annotated[
    Optional[str], typer.Option("--predict", metavar="FILE", help="Score this Parquet file with the model.")
]

Item = Annotated[
    Optional[str],
    typer.Option("--item", "--items", metavar="COL", help="Column of the items (a list column: one row per basket)."),
]
Unit = Annotated[
    Optional[list[str]],
    typer.Option("--unit", metavar="COL", help="Column of the privacy unit, the person to protect; may repeat."),
]
RowUnit = Annotated[
    Optional[list[str]],
    typer.Option(
        "--unit", metavar="COL", help="Column of the privacy unit, such as CustomerID; may repeat. Default: each row."
    ),
]
RowsPerUnit = Annotated[
    int,
    typer.Option(
        "--rows-per-unit", metavar="M", help="Most rows that each --unit keeps, drawn at random; noise grows with M."
    ),
]
OneRowPer = Annotated[
    Optional[str],
    typer.Option(
        "--one-row-per",
        metavar="NAME",
        help="For data without a column of the unit: assert that each NAME has at most one row. Nothing checks this.",
    ),
]
Basket = Annotated[
    Optional[list[str]],
    typer.Option("--basket", metavar="COL", help="Column that tells the baskets of one unit apart; may repeat."),
]
OneHot = Annotated[bool, typer.Option("--one-hot", help="One item per column: booleans, or integers with 0 for none.")]
Size = Annotated[str, typer.Option("--size", metavar="R|R1-R2", help="Number of items in an itemset.")]
Epsilon = Annotated[str, typer.Option("--epsilon", metavar="E", help="Privacy loss, read exactly: 0.5, 1/3.")]
Delta = Annotated[str, typer.Option("--delta", metavar="D", help="Failure probability, read exactly: 1e-6.")]
Mechanism = Annotated[
    str,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="auto, large-margin, large-margin-tight, limited-domain, stable-maximiser, bounded-growth, exponential, "
        "max-of-exponentials, max-of-laplaces, items-first, exact.",
    ),
]
Relation = Annotated[
    str, typer.Option("--neighbors", metavar="RELATION", help="replace-one (public number of units) or add-remove.")
]
ReplaceOne = Annotated[
    str, typer.Option("--neighbors", metavar="RELATION", help="replace-one only: the number of units is public.")
]
Catalogue = Annotated[
    Optional[Path],
    typer.Option("--catalogue", metavar="FILE", help="Public list of all items: text, one a line, or Parquet."),
]
CatalogueFromData = Annotated[
    bool, typer.Option("--catalogue-from-data", help="Take the items seen as the catalogue. NOT private.")
]
Kbar = Annotated[
    Optional[int],
    typer.Option(
        "--kbar",
        metavar="N",
        help="limited-domain: candidates that it keeps; items-first: items (public).",
        show_default=False,
    ),
]
MaxItems = Annotated[
    Optional[int],
    typer.Option(
        "--max-items-per-unit",
        metavar="N",
        help="Cut every unit to so many items before counting; bounded-growth needs it.",
        show_default=False,
    ),
]
NotPrivate = Annotated[bool, typer.Option("--not-private", help="Confirm that the result will not be private.")]
Memory = Annotated[
    Optional[str],
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory for the data (4GB, 500MB; default: half of the machine); larger data are streamed.",
        show_default=False,
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine", metavar="local|spark", help="What counts: this machine, or Spark (FILE is then what Spark opens)."
    ),
]
SelectionShare = Annotated[
    str, typer.Option("--selection-share", metavar="F", help="Share of ε for the choice; the rest trains.")
]
LedgerUrl = Annotated[
    Optional[str],
    typer.Option(
        "--ledger", metavar="URL", help="Charge the budget in this ledger first: sqlite:///b.db or postgresql://…"
    ),
]
Dataset = Annotated[Optional[str], typer.Option("--dataset", metavar="NAME", help="The data set's name in the ledger.")]
OutputFormat = Annotated[
    Optional[Format],
    typer.Option("--format", help="Default: text, or what the suffix of -o says.", show_default=False),
]
Output = Annotated[
    Optional[Path],
    typer.Option("--output", "-o", metavar="FILE", help="Write the result here, whole or not at all."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No messages on stderr but errors.")]
Debug = Annotated[bool, typer.Option("--debug", help="Add code positions (never data) to an error.")]


def public_classes(files: list[str] | None, label: str | None, classes: str | None) -> dict[str, Any]:
    """The estimator's parameter for the labels that are named, as the files hold them; none where none are."""
    from dpmine.models.tables import typed_labels

    return {} if classes is None else {"classes": typed_labels(files, label or "", listed(classes))}


def protected(unit: list[str] | None, rows_per_unit: int, one_row_per: str | None) -> dict[str, Any]:
    """The estimator's parameters for the privacy unit. Raises BadParameter as `require_one_unit`."""
    require_one_unit(unit, rows_per_unit, one_row_per)
    return {"rows_per_unit": rows_per_unit, **({} if one_row_per is None else {"unit": one_row_per})}


def require_one_unit(unit: list[str] | None, rows_per_unit: int, one_row_per: str | None) -> None:
    """Raises BadParameter for options of the privacy unit that contradict each other."""
    from dpmine.errors import BadParameter

    if unit and one_row_per is not None:
        raise BadParameter("--one-row-per is for files without a column of the unit: leave it out, or --unit.")
    if rows_per_unit != 1 and not unit:
        raise BadParameter("--rows-per-unit needs --unit COL, the column of the privacy unit.")


def given_options(context: typer.Context) -> list[tuple[str, str]]:
    """Name and spelling of every argument that the command line has."""
    named = [(option.name, option.opts[0]) for option in context.command.params if option.name is not None]
    return [(name, spelled) for name, spelled in named if _is_given(context, name)]


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
