"""dpmine ledger: grant, show, history, verify and export budgets."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from dpmine.io.atomic import require_apart
from dpmine_cli import options
from dpmine_cli.messages import Messages
from dpmine_cli.output import Destination, ledger_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.ledger.budget import Budget
    from dpmine.ledger.ledger import Ledger
    from dpmine.ledger.records import Entry

app = typer.Typer(
    help="Budgets that outlive runs: what was granted, spent and is left.\n\n"
    "Example: dpmine ledger show --ledger sqlite:///budget.db",
    rich_markup_mode=None,
)


class PartsRule(StrEnum):
    """How disjoint parts come about."""

    NONE = "none"
    BY_UNIT = "by-unit"
    BY_INDEX = "by-index"


Url = Annotated[
    Optional[str],
    typer.Option("--ledger", metavar="URL", help="sqlite:///budget.db or postgresql://user@host/database."),
]
Name = Annotated[Optional[str], typer.Option("--dataset", metavar="NAME", help="Name of the data set.")]
Total = Annotated[Optional[str], typer.Option("--epsilon", metavar="E", help="Total privacy loss, read exactly.")]
TotalDelta = Annotated[
    Optional[str],
    typer.Option(
        "--delta", metavar="D", help="Total failure probability, read exactly.", show_default="as granted before, or 0"
    ),
]
UnitName = Annotated[
    Optional[str],
    typer.Option("--unit", metavar="NAME", help="The privacy unit; otherwise the first charge fixes it."),
]
PartsOption = Annotated[
    PartsRule,
    typer.Option("--parts", help="How parts (charged as NAME/PART) come about: from a unit's own data, or by number."),
]


@app.command()
def grant(
    ledger: Url = None,
    dataset: Name = None,
    epsilon: Total = None,
    delta: TotalDelta = None,
    neighbors: options.Relation = "replace-one",
    unit: UnitName = None,
    parts: PartsOption = PartsRule.NONE,
    output_format: options.OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Set the total of a data set; makes the ledger if there is none.

    Example: dpmine ledger grant --ledger sqlite:///budget.db --dataset shop --epsilon 3 --delta 1e-6
    """
    destination = Destination.of(output_format, output)
    require_apart({"--output": destination.path}, (), ledger_files(ledger))
    book = _ledger(ledger)
    budget = book.grant(
        _given("--dataset", dataset),
        epsilon=_given("--epsilon", epsilon),
        delta=delta,
        neighbors=neighbors,
        unit=unit,
        parts=parts.value,
    )
    destination.write_result(_Budgets([budget]))
    if delta is None and budget.entries == 1:
        Messages(quiet=quiet).notice(
            f"{budget.dataset!r} is granted δ = 0, so approximate mechanisms will be rejected; "
            f"grant again with --epsilon {epsilon} --delta 1e-6 to allow them."
        )


@app.command()
def show(
    ledger: Url = None,
    dataset: Name = None,
    output_format: options.OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Print what was granted, spent and is left.

    Example: dpmine ledger show --ledger sqlite:///budget.db --format json
    """
    destination = Destination.of(output_format, output)
    book = _ledger(ledger)
    destination.write_result(_Budgets(book.budgets() if dataset is None else [book.budget(dataset)]))


@app.command()
def history(
    ledger: Url = None,
    dataset: Name = None,
    output_format: options.OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Print every grant, charge and settlement of a data set.

    Example: dpmine ledger history --ledger sqlite:///budget.db --dataset shop
    """
    destination = Destination.of(output_format, output)
    destination.write_result(_History(_ledger(ledger).history(_given("--dataset", dataset))))


@app.command()
def verify(
    ledger: Url = None,
    output_format: options.OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Check that no entry or total was changed by hand.

    Example: dpmine ledger verify --ledger sqlite:///budget.db
    """
    destination = Destination.of(output_format, output)
    destination.write_result(_Verified(_ledger(ledger).verify()))


@app.command()
def export(
    ledger: Url = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Write budgets and histories as one JSON object.

    Example: dpmine ledger export --ledger sqlite:///budget.db -o budget.json
    """
    destination = Destination.of(options.Format.JSON, output)
    destination.write_document(_Export(_ledger(ledger).export()))


def _ledger(url: str | None) -> Ledger:
    from dpmine.ledger.ledger import Ledger

    return Ledger(_given("--ledger", url))


def _given(option: str, value: str | None) -> str:
    from dpmine.errors import BadParameter

    if value is None:
        raise BadParameter(f"{option} is missing: this command needs it.")
    return value


class _Budgets:
    """One line a data set."""

    def __init__(self, budgets: Sequence[Budget]) -> None:
        self._budgets = budgets

    def to_json(self) -> str:
        """One object a data set."""
        return json.dumps({"datasets": [budget.to_dict() for budget in self._budgets]}, ensure_ascii=False)

    def to_arrow(self) -> Any:
        """One row a data set, amounts as exact texts."""
        import pyarrow as pa

        rows = [
            {
                "dataset": budget.dataset,
                "unit": budget.unit or None,
                "neighbors": str(budget.neighbors),
                **{
                    f"{name}_{number}": str(getattr(amount, number))
                    for name, amount in _amounts(budget)
                    for number in ("epsilon", "delta")
                },
            }
            for budget in self._budgets
        ]
        return pa.Table.from_pylist(rows)

    def __str__(self) -> str:
        return "\n".join(
            f"{budget.dataset}\t{'; '.join(f'{name} {amount}' for name, amount in _amounts(budget))}; {_scope(budget)}"
            for budget in self._budgets
        )


def _amounts(budget: Budget) -> list[tuple[str, Any]]:
    return [("granted", budget.granted), ("spent", budget.spent), ("remaining", budget.remaining)]


def _scope(budget: Budget) -> str:
    """For whom the budget is."""
    unit = f"per {budget.unit}" if budget.unit else "unit not fixed yet"
    return f"{unit}, neighbours {str(budget.neighbors).replace('_', '-')}"


class _History:
    """One line an entry."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries

    def to_json(self) -> str:
        """A list of entries."""
        return json.dumps({"history": [asdict(entry) for entry in self._entries]}, ensure_ascii=False)

    def to_arrow(self) -> Any:
        """One row an entry."""
        import pyarrow as pa

        return pa.Table.from_pylist([asdict(entry) for entry in self._entries])

    def __str__(self) -> str:
        shown = [name for name in _OPTIONAL if any(getattr(entry, name) for entry in self._entries)]
        return "\n".join("\t".join(_line(entry, shown)) for entry in self._entries)


_OPTIONAL = ("part", "unit", "reservation")
"""Columns that are shown where any entry has something in them."""


def _line(entry: Entry, shown: Sequence[str]) -> list[str]:
    """The fields of a line; "-" for nothing."""
    more = [f"{name} {getattr(entry, name) or '-'}" for name in shown]
    start = [str(entry.number), entry.time, entry.kind]
    return [*start, f"ε = {entry.epsilon}, δ = {entry.delta}", *more, entry.job]


class _Verified:
    """How many entries were found to be as they were written."""

    def __init__(self, entries: int) -> None:
        self._entries = entries

    def to_json(self) -> str:
        """One object."""
        return json.dumps({"entries": self._entries})

    def to_arrow(self) -> Any:
        """One row."""
        import pyarrow as pa

        return pa.table({"entries": [self._entries]})

    def __str__(self) -> str:
        return f"{self._entries} entries, all as they were written"


class _Export:
    """What a ledger exports."""

    def __init__(self, text: str) -> None:
        self._text = text

    def to_json(self) -> str:
        """As it is."""
        return self._text
