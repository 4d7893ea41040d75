"""dpmine histogram."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmine_cli.options import Format

if TYPE_CHECKING:
    from dpmine_cli.line import CommandLine

_NOT_SEARCHED = ("column", "bins", "unit", "rows_per_unit", "one_row_per", "ledger", "dataset", "plot")


def histogram(line: CommandLine) -> None:
    """Estimate the density of a column, privately, with a bin width chosen privately.

    Example: dpmine histogram people.parquet --column age --lower 0 --upper 120 --bins 12,24,40 --plot age.svg
    """
    destination = line.destination
    from dpmine.io.atomic import new_figure, picture_target, write_picture
    from dpmine.ledger.charging import ROW, Account
    from dpmine.models.contribution import PrivacyUnit
    from dpmine.models.histogram.bin_search import BinSearch, density_of_column
    from dpmine.models.tables import unit_name
    from dpmine.parameters import whole_numbers

    picture = picture_target(line.plot) if line.plot else None
    line.require_apart(plot=picture)
    line.require_one_unit()
    column, units = line.column, line.unit or []
    unit = PrivacyUnit.of(ROW if line.one_row_per is None else line.one_row_per, line.rows_per_unit, unit_name(units))
    search = BinSearch.of(bins=whole_numbers("--bins", line.bins), rows=unit.rows, **line.values(*_NOT_SEARCHED))
    account = Account.of(line.ledger, line.dataset)
    with line.messages as messages:
        density = density_of_column(
            search, unit, account, line.data, column=column, units=units, progress=messages.progress
        )
    if picture:
        figure = new_figure(8, 4.5)
        density.plot(figure.subplots()).set_xlabel(f"{column} (outside the bounds: counted at the nearest)")
        write_picture(figure, picture)
    destination.write_result(density)
    line.caution(density.guarantee)
    if destination.path is not None or destination.format is not Format.TEXT:
        messages.notice(str(density.guarantee))
