"""A report as one HTML page: nothing to load, nothing to run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from dpmine.io.paths import shown_name
from dpmine.itemsets.results import printable
from dpmine.ledger.budget import Amount, name_and_part
from dpmine.privacy import short
from dpmine.reporting.charts import REMAINING, SPENT_ELSEWHERE, SPENT_HERE, Share, stacked
from dpmine.reporting.checks import total
from dpmine.reporting.sections import Body, body_of
from dpmine.reporting.wording import amount_text, beside_text, change_text, plain_words, unprotected
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment

    from dpmine.ledger.budget import Budget
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
    """The page, in UTF-8."""
    from markupsafe import Markup

    terms = report.job_file.terms
    here = total(outcome.price for outcome in report.outcomes)
    promised = total(_most(outcome) for outcome in report.outcomes)
    guarantees = [(outcome.job.name, outcome.result.guarantee) for outcome in report.outcomes if outcome.result]
    template = _environment().get_template("report.html.j2")
    return template.render(
        title=printable(report.job_file.title),
        dataset=printable(terms.dataset),
        unit=printable(report.unit),
        day=(today or datetime.now(UTC)).date().isoformat(),
        version=__version__,
        total=amount_text(promised),
        paid="" if here == promised else amount_text(here),
        sections=[
            _section(number, outcome, _beside(outcome, report.outcomes))
            for number, outcome in enumerate(report.outcomes, 1)
        ],
        spending=_spending(report.budget, name_and_part(terms.dataset)[1], here) if report.budget else None,
        words=plain_words(promised, terms.neighbors, report.unit),
        change=change_text(terms.neighbors, report.unit),
        unprotected=unprotected(terms.neighbors, report.unit, guarantees),
        style=Markup(_environment().get_template("report.css").render()),  # noqa: S704 - a file of ours
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("dpmine.reporting")
    return Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )


def _beside(outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """A remark on other models of the same label of the same data."""
    label = _label(outcome)
    if label is None:
        return ""
    others = [other.job.name for other in outcomes if other is not outcome and _label(other) == label]
    return beside_text(printable(label[1]), [printable(name) for name in others])


def _label(outcome: Outcome) -> tuple[Sequence[str], str] | None:
    """Of which data a result with a model predicts which column."""
    label = None if outcome.result is None else outcome.result.document.get("label")
    return (outcome.job.paths, label) if isinstance(label, str) else None


def _section(number: int, outcome: Outcome, remark: str) -> Section:
    job, result, anchor = outcome.job, outcome.result, f"job-{number}"
    body = None if result is None else _body(job.kind, result.document, anchor)
    if body is not None and remark:
        body = replace(body, remarks=(*body.remarks, remark))
    return Section(
        anchor,
        printable(job.name),
        job.kind,
        (
            ("input", printable(shown_name(job.source))),
            *((name, _written(value)) for name, value in job.options.items()),
        ),
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


def _body(kind: str, document: dict[str, Any], anchor: str) -> Body:
    """What is shown of a result; one that was changed by hand must not take the others with it."""
    try:
        return body_of(kind, document, anchor)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
        return Body("The stored result cannot be shown: restore its file, or delete it to run the job again.")


def _most(outcome: Outcome) -> Amount:
    """What an outcome was promised to cost at most, whatever it came to."""
    return Amount(outcome.promise.epsilon, outcome.promise.delta) if outcome.charged else Amount()


def _shown(value: Any) -> Any:
    """Texts on one line, whatever letters they have; markup is ours."""
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _spending(budget: Budget, part: str, here: Amount) -> Spending:
    remaining = budget.remaining_of(part)
    rest = budget.granted - remaining - here
    elsewhere = Amount(max(rest.epsilon, Fraction(0)), max(rest.delta, Fraction(0)))
    parts = [
        ("granted", budget.granted),
        ("spent by this page", here),
        ("spent by other runs", elsewhere),
        ("remaining", remaining),
    ]
    rows = tuple((name, short(amount.epsilon), short(amount.delta)) for name, amount in parts)
    chart = stacked(
        "ledger",
        f"The budget: {amount_text(budget.granted)} granted, {amount_text(remaining)} remaining.",
        [(symbol, _shares([getattr(amount, field) for _, amount in parts])) for symbol, field in _NUMBERS],
    )
    return Spending(chart, rows)


_NUMBERS = (("ε", "epsilon"), ("δ", "delta"))


def _shares(amounts: list[Any]) -> list[Share]:
    """Of this page, of others, and what remains, as shares of the grant."""
    granted, *parts = amounts
    looks = ((SPENT_HERE, "spent by this page"), (SPENT_ELSEWHERE, "spent by other runs"), (REMAINING, "remaining"))
    return [
        Share(min(1.0, float(part / granted)) if granted else 0.0, colour, name)
        for part, (colour, name) in zip(parts, looks, strict=True)
    ]
