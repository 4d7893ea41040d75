"""dpmine histogram."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from dpmine_cli import options
from dpmine_cli.messages import Messages
from dpmine_cli.output import Destination, ledger_files

Column = Annotated[str, typer.Option("--column", metavar="C", help="Column of the numbers.")]
Lower = Annotated[str, typer.Option("--lower", metavar="A", help="Public lower bound; smaller values count as A.")]
Upper = Annotated[str, typer.Option("--upper", metavar="B", help="Public upper bound; larger values count as B.")]
Bins = Annotated[str, typer.Option("--bins", metavar="N,N,…", help="Numbers of bins to choose from, each 2 or more.")]
TrainShare = Annotated[
    str, typer.Option("--train-share", metavar="S", help="Share of the rows that trains; the rest validates.")
]
Mechanism = Annotated[
    str,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="What chooses the bins: auto, max-of-exponentials, exponential, max-of-laplaces, large-margin, "
        "large-margin-tight, stable-maximiser.",
    ),
]
Plot = Annotated[Optional[Path], typer.Option("--plot", metavar="FILE", help="Draw the density (.svg or .png).")]


_AS_GIVEN = (
    "lower",
    "upper",
    "epsilon",
    "delta",
    "train_share",
    "mechanism",
    "selection_share",
    "neighbors",
)
"""Options that the search has by the same names."""


def histogram(
    context: typer.Context,
    files: options.Files,
    column: Column,
    lower: Lower,
    upper: Upper,
    bins: Bins = "4,8,16",
    epsilon: options.Epsilon = "1",
    delta: options.Delta = "1e-6",
    neighbors: options.ReplaceOne = "replace-one",
    unit: options.RowUnit = None,
    rows_per_unit: options.RowsPerUnit = 1,
    one_row_per: options.OneRowPer = None,
    ledger: options.LedgerUrl = None,
    dataset: options.Dataset = None,
    mechanism: Mechanism = "max-of-exponentials",
    train_share: TrainShare = "0.5",
    selection_share: options.SelectionShare = "0.5",
    plot: Plot = None,
    output_format: options.OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Estimate the density of a column, privately, with a bin width chosen privately.

    Example: dpmine histogram people.parquet --column age --lower 0 --upper 120 --bins 12,24,40 --plot age.svg
    """
    destination = Destination.of(output_format, output)
    from dpmine.io.figures import new_figure, picture_target, write_picture
    from dpmine.ledger.charging import ROW, Account
    from dpmine.models.contribution import PrivacyUnit
    from dpmine.models.frames import unit_name
    from dpmine.models.histogram.search import BinSearch, density_of_column
    from dpmine.models.tables import require_apart
    from dpmine.parameters import whole_numbers

    picture = picture_target(plot) if plot else None
    require_apart({"--output": destination.path, "--plot": picture}, files, ledger_files(ledger))
    options.require_one_unit(unit, rows_per_unit, one_row_per)
    units = unit or []
    protected = PrivacyUnit.of(ROW if one_row_per is None else one_row_per, rows_per_unit, unit_name(units))
    search = BinSearch.of(
        bins=whole_numbers("--bins", bins),
        rows=protected.rows,
        **{name: context.params[name] for name in _AS_GIVEN},
    )
    account = Account.of(ledger, dataset)
    with Messages(quiet=quiet) as messages:
        density = density_of_column(
            search, protected, account, files, column=column, units=units, progress=messages.progress
        )
    if picture:
        figure = new_figure(8, 4.5)
        density.plot(figure.subplots()).set_xlabel(f"{column} (outside the bounds: counted at the nearest)")
        write_picture(figure, picture)
    destination.write_result(density)
