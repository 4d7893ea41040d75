"""A report as one HTML page: nothing to load, nothing to run. Its words stand in `templates/report.html.j2`."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING, Any

from dpmine.io.paths import shown_name
from dpmine.itemsets.results import printable
from dpmine.ledger.budget import Amount, name_and_part
from dpmine.privacy import Neighbors, short
from dpmine.reporting.page.charts import stacked, templates
from dpmine.reporting.page.sections import Body, body_of
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpmine.ledger.budget import Budget
    from dpmine.privacy import Guarantee
    from dpmine.reporting.batch import JobOutcome, Report

_MOST_ROWS = 200
_MOST_SAID = 20  # ε beyond which the factor is a number that nobody reads
_SPENT = {"spent by this page": "bar", "spent by other runs": "other", "remaining": "soft"}
"""The parts of a budget, with their colours."""


def render(report: Report, *, today: datetime | None = None) -> str:
    """The page, in UTF-8.

    See Also:
        dpmine.reporting.batch.run_batch: makes the report.
    """
    terms, outcomes = report.job_file.terms, report.outcomes
    here = Amount.total([outcome.charge for outcome in outcomes])
    promised = Amount.total([outcome.most for outcome in outcomes])
    replaced = terms.neighbors is Neighbors.REPLACE_ONE
    return (
        templates()
        .get_template("report.html.j2")
        .render(
            title=report.job_file.title,
            dataset=terms.dataset,
            unit=report.unit,
            day=(today or datetime.now(UTC)).date().isoformat(),
            version=__version__,
            total=promised.decimals,
            paid="" if here == promised else here.decimals,
            sections=[_section(outcome, outcomes) for outcome in outcomes],
            spending=_spending(report.budget, name_and_part(terms.dataset)[1], here) if report.budget else None,
            replaced=replaced,
            factor=factor_text(promised.epsilon),
            # A fact about somebody's data is another one with other data: one taken away, and one added.
            odds=odds_text(promised.epsilon if replaced else 2 * promised.epsilon),
            delta=short(promised.delta) if promised.delta else "",
            notes=_notes((each.job.name, each.result.guarantee) for each in outcomes if each.result),
            most_rows=_MOST_ROWS,
        )
    )


def _section(outcome: JobOutcome, outcomes: Sequence[JobOutcome]) -> dict[str, Any]:
    """One job on the page; `others` are jobs with models of the same label of the same data."""
    job, result, label = outcome.job, outcome.result, _label(outcome)
    others = [each.job.name for each in outcomes if label and each is not outcome and _label(each) == label]
    return {
        "title": job.name,
        "kind": job.kind,
        "asked": [("input", shown_name(job.source)), *((name, _written(value)) for name, value in job.options.items())],
        "body": body_of(job.kind, result.document) if result else None,
        "guarantee": str(result.guarantee if result else outcome.guarantee),
        "files": result.files if result else (),
        "label": label[1] if label else "",
        "others": ", ".join(map(printable, others)),
    }


def _label(outcome: JobOutcome) -> tuple[Sequence[str], str] | None:
    """Of which data a result with a model predicts which column."""
    label = None if outcome.result is None else outcome.result.document.get("label")
    return (outcome.job.paths, label) if isinstance(label, str) else None


def _written(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else printable(value)


def _spending(budget: Budget, part: str, here: Amount) -> dict[str, Any]:
    """The ledger on the page."""
    granted, remaining = budget.granted, budget.remaining_of(part)
    rest = granted - remaining - here
    elsewhere = Amount(max(rest.epsilon, Fraction(0)), max(rest.delta, Fraction(0)))
    spent = (here, elsewhere, remaining)
    shares = {
        "ε": [_share(each.epsilon, granted.epsilon) for each in spent],
        "δ": [_share(each.delta, granted.delta) for each in spent],
    }
    caption = f"The budget: {granted.decimals} granted, {remaining.decimals} remaining."
    named = zip(("granted", *_SPENT), (granted, *spent), strict=True)
    rows = [(name, short(each.epsilon), short(each.delta)) for name, each in named]
    return {"chart": stacked(caption, _SPENT, shares), "rows": rows}


def _share(amount: Fraction, granted: Fraction) -> float:
    return min(1.0, float(amount / granted)) if granted else 0.0


def _notes(guarantees: Iterable[tuple[str, Guarantee]]) -> dict[str, str]:
    """What the guarantees rest on, with the names of the jobs for which it is said."""
    notes: dict[str, list[str]] = {}
    for name, guarantee in guarantees:
        for note in guarantee.notes:
            notes.setdefault(note, []).append(printable(name))
    return {note: ", ".join(names) for note, names in notes.items()}


def factor_text(epsilon: Fraction) -> str:
    """e^ε, never below it."""
    if epsilon > _MOST_SAID:
        return "more than 100 million"
    return f"{rounded_up_at(exp(float(epsilon)), 2):,.2f}"


def rounded_up_at(value: float, digits: int) -> float:
    """The value with so many decimals, never below it."""
    lower = round(value, digits)
    return lower if lower >= value else round(lower + 10.0**-digits, digits)


def odds_text(epsilon: Fraction) -> str:
    """The most that an attacker who is 50 % sure of a fact about one unit can become sure of it."""
    if epsilon > _MOST_SAID:
        return "100 %"
    return f"{rounded_up_at(100 / (1 + exp(-float(epsilon))), 1):g} %"
