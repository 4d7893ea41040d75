"""dpmine ledger: grant, show, history, verify and export budgets."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import typer

from dpmine_cli.line import Group, add
from dpmine_cli.options import Format
from dpmine_cli.output import Destination, Prepared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.ledger.budget import Budget
    from dpmine.ledger.ledger import Ledger
    from dpmine.ledger.records import Entry
    from dpmine_cli.line import CommandLine

_OPTIONAL = ("part", "unit", "reservation")
"""Columns of a history that are shown where any entry has something in them."""


def grant(line: CommandLine) -> None:
    """Set the total of a data set; makes the ledger if there is none.

    Example: dpmine ledger grant --ledger sqlite:///budget.db --dataset shop --epsilon 3 --delta 1e-6
    """
    destination = line.destination
    line.require_apart()
    ledger, dataset, epsilon = _ledger(line), _given(line, "dataset"), _given(line, "epsilon")
    is_new = not ledger.exists()
    budget = ledger.grant(dataset, epsilon=epsilon, **line.values("ledger", "dataset", "epsilon"))
    destination.write_result(_shown([budget]))
    if is_new:
        from dpmine.ledger.budget import first_grant

        line.messages.notice(first_grant("ledger", dataset, budget.granted))
    if budget.granted.delta == 0 and budget.entries == 1 and line.delta is None:
        from dpmine.selection.recommend import MECHANISMS

        pure = [name.replace("_", "-") for name, kind in MECHANISMS.items() if kind.private and not kind.approximate]
        line.messages.notice(
            f"{budget.dataset!r} is granted δ = 0, so runs that spend δ will be rejected, such as itemsets without "
            f"--catalogue. With it {', '.join(pure)} can run (with --top also --delta 0), and so can histogram, "
            "hypothesis, accuracy-first without --method brownian, and classify or regress with --noise gamma. To "
            f"allow all mechanisms, grant again with --epsilon {epsilon} --delta 1e-6."
        )


def show(line: CommandLine) -> None:
    """Print the total, the charges and the remainder of data sets.

    Example: dpmine ledger show --ledger sqlite:///budget.db --format json
    """
    destination, ledger = line.destination, _ledger(line)
    destination.write_result(_shown(ledger.budgets() if line.dataset is None else [ledger.budget(line.dataset)]))


def history(line: CommandLine) -> None:
    """Print every grant, charge and settlement of the data sets.

    Example: dpmine ledger history --ledger sqlite:///budget.db --dataset shop
    """
    destination = line.destination
    entries = _ledger(line).history(line.dataset)
    rows = list(map(asdict, entries))
    shown = [name for name in _OPTIONAL if any(getattr(entry, name) for entry in entries)]
    shown = shown if line.dataset else ["dataset", *shown]
    text = "\n".join("\t".join(_fields(entry, shown)) for entry in entries)
    destination.write_result(Prepared({"history": rows}, rows, text))


def verify(line: CommandLine) -> None:
    """Check that no entry or total was changed by hand.

    Example: dpmine ledger verify --ledger sqlite:///budget.db
    """
    destination = line.destination
    found = {"entries": _ledger(line).verify()}
    from dpmine.ledger.budget import entries_as_written

    destination.write_result(Prepared(found, [found], entries_as_written(found["entries"])))


def export(line: CommandLine) -> None:
    """Write budgets and histories as JSON, or as dp-accounting events.

    Example: dpmine ledger export --ledger sqlite:///budget.db -o budget.json
    """
    destination = Destination.of(Format.JSON, line.output)
    destination.write_text(_ledger(line).export(line.options["format"]))


def commands() -> typer.Typer:
    """The commands of budgets."""
    app = typer.Typer(
        help="Privacy budgets that many runs share: totals, charges and remainders.\n\n"
        "Example: dpmine ledger show --ledger sqlite:///budget.db",
        cls=Group,
        rich_markup_mode=None,
    )
    for command in (grant, show, history, verify, export):
        add(app, command.__name__, command)
    return app


_EXAMPLES = {"ledger": "sqlite:///budget.db", "dataset": "shop", "epsilon": "1"}


def _ledger(line: CommandLine) -> Ledger:
    from dpmine.ledger.ledger import Ledger

    return Ledger(_given(line, "ledger"))


def _given(line: CommandLine, name: str) -> str:
    from dpmine.errors import BadParameter

    if line.options[name] is None:
        raise BadParameter(f"--{name} is missing: this command needs it, such as --{name} {_EXAMPLES[name]}.")
    return str(line.options[name])


def _shown(budgets: Sequence[Budget]) -> Prepared:
    """One line, and one row, a data set: amounts as exact texts."""
    rows: list[dict[str, Any]] = []
    lines = []
    for budget in budgets:
        amounts = {"granted": budget.granted, "spent": budget.spent, "remaining": budget.remaining}
        exact = {
            f"{name}_{field.name}": str(getattr(each, field.name))
            for name, each in amounts.items()
            for field in fields(each)
        }
        terms = {"unit": budget.unit or None, "neighbors": str(budget.neighbors), "accounting": str(budget.accounting)}
        rows.append({"dataset": budget.dataset, **terms, **exact})
        shown = "; ".join(f"{name} {each.shown(budget.accounting)}" for name, each in amounts.items())
        lines.append(f"{budget.dataset}\t{shown}; {_other_total(budget)}; {budget.scope}")
    return Prepared({"datasets": [budget.to_dict() for budget in budgets]}, rows, "\n".join(lines))


def _other_total(budget: Budget) -> str:
    """What the charges come to under the other kind of accounting, and together."""
    from dpmine.ledger.budget import Accounting

    if budget.accounting is Accounting.BASIC:
        return f"basic accounting (ρ adds up to {float(budget.spent.rho):.4g})"
    both = budget.guarantee
    together = f"together ε = {float(both.epsilon):.6g}, δ = {float(both.delta):g}"
    granted = f"granted ε = {budget.granted.epsilon}, δ = {float(budget.granted.delta):g}"
    return f"zcdp accounting ({granted}; {together}; ε adds up to {float(budget.spent.epsilon):.6g})"


def _fields(entry: Entry, shown: Sequence[str]) -> list[str]:
    """The fields of a line of history; "-" for nothing."""
    more = [f"{name} {getattr(entry, name) or '-'}" for name in shown]
    start = [str(entry.number), entry.time, entry.kind]
    rho = f" (ρ = {float(entry.amount.rho):.6g})" if entry.accounting == "zcdp" else ""
    return [*start, f"ε = {entry.epsilon}, δ = {entry.delta}{rho}", *more, entry.job]
