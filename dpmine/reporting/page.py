"""A report as one HTML page: nothing to load, nothing to run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from dpmine.accounting.amounts import Amount
from dpmine.errors import BadData
from dpmine.itemsets.results import printable
from dpmine.reporting.charts import REMAINING, SPENT_ELSEWHERE, SPENT_HERE, Share, stacked
from dpmine.reporting.checks import total
from dpmine.reporting.sections import Body, body_of
from dpmine.reporting.wording import amount_text, change_text, plain_words, unprotected
from dpmine.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

    from dpmine.reporting.batch import Outcome, Report
    from dpmine.reporting.svg import Chart


@dataclass(frozen=True, slots=True)
class Section:
    """One job on the page."""

    anchor: str
    title: str
    kind: str
    asked: tuple[tuple[str, str], ...]
    body: Body | None
    promise: str
    reused: bool
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spending:
    """The ledger on the page."""

    chart: Chart
    rows: tuple[tuple[str, str, str], ...]


def render(report: Report, *, today: datetime | None = None) -> str:
    """The page, in UTF-8. Raises BadData for a stored result that cannot be shown."""
    from markupsafe import Markup

    terms = report.job_file.terms
    here = total(outcome.price for outcome in report.outcomes)
    guarantees = [outcome.result.guarantee for outcome in report.outcomes if outcome.result]
    template = _environment().get_template("report.html.j2")
    return template.render(
        title=printable(report.job_file.title),
        dataset=printable(terms.dataset),
        unit=printable(report.unit),
        day=(today or datetime.now(UTC)).date().isoformat(),
        version=__version__,
        total=amount_text(here),
        sections=[_section(number, outcome) for number, outcome in enumerate(report.outcomes, 1)],
        spending=_spending(report, here),
        words=plain_words(here, terms.neighbors, report.unit),
        change=change_text(terms.neighbors, report.unit),
        unprotected=unprotected(terms.neighbors, report.unit, guarantees),
        style=Markup(_environment().get_template("report.css").render()),  # noqa: S704 - a file of ours
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("dpmine.reporting")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def _section(number: int, outcome: Outcome) -> Section:
    job, result, anchor = outcome.job, outcome.result, f"job-{number}"
    body = None
    if result is not None:
        try:
            body = body_of(job.kind, result.document, anchor)
        except (LookupError, TypeError, ValueError, ArithmeticError):
            raise BadData(
                f"The stored result of job {job.name!r} cannot be shown: restore it, or delete it from the results "
                "folder to run the job again, which is charged again."
            ) from None
    return Section(
        anchor,
        printable(job.name),
        job.kind,
        (("input", printable(job.source)), *((name, _written(value)) for name, value in job.options.items())),
        body,
        str(result.guarantee if result else outcome.promise),
        outcome.reused,
        result.files if result else (),
    )


def _written(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(value)


def _spending(report: Report, here: Amount) -> Spending:
    budget = report.budget
    elsewhere = budget.spent - here if budget.spent.fits(here) else Amount()
    parts = [
        ("granted", budget.granted),
        ("spent by this page", here),
        ("spent otherwise", elsewhere),
        ("remaining", budget.remaining),
    ]
    rows = tuple((name, str(amount.epsilon), str(amount.delta)) for name, amount in parts)
    chart = stacked(
        "ledger",
        f"The budget: {amount_text(budget.granted)} granted, {amount_text(budget.remaining)} remaining.",
        [(symbol, _shares([getattr(amount, field) for _, amount in parts])) for symbol, field in _NUMBERS],
    )
    return Spending(chart, rows)


_NUMBERS = (("ε", "epsilon"), ("δ", "delta"))


def _shares(amounts: list[Any]) -> list[Share]:
    """Of this page, of others, and what remains, as shares of the grant."""
    granted, *parts = amounts
    looks = ((SPENT_HERE, "spent by this page"), (SPENT_ELSEWHERE, "spent otherwise"), (REMAINING, "remaining"))
    return [
        Share(float(part / granted) if granted else 0.0, colour, name)
        for part, (colour, name) in zip(parts, looks, strict=True)
    ]
