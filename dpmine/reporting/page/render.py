"""A report as one HTML page: nothing to load, nothing to run."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from math import exp
from typing import TYPE_CHECKING, Any

from dpmine.io.paths import shown_name
from dpmine.itemsets.results import printable
from dpmine.ledger.budget import Amount, name_and_part
from dpmine.privacy import Neighbors, short
from dpmine.reporting.page.charts import BAR, OTHER, SOFT, Share, stacked
from dpmine.reporting.page.sections import Body, body_of
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jinja2 import Environment

    from dpmine.ledger.budget import Budget
    from dpmine.privacy import Guarantee
    from dpmine.reporting.batch import JobOutcome, Report
    from dpmine.reporting.page.charts import Chart

_MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Section:
    """One job on the page."""

    anchor: str
    title: str
    kind: str
    asked: tuple[tuple[str, str], ...]
    body: Body | None
    guarantee: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spending:
    """The ledger on the page."""

    chart: Chart
    rows: tuple[tuple[str, str, str], ...]


def render(report: Report, *, today: datetime | None = None) -> str:
    """The page, in UTF-8.

    See Also:
        dpmine.reporting.batch.run_batch: makes the report.
    """
    terms, outcomes = report.job_file.terms, report.outcomes
    here = Amount.total([outcome.charge for outcome in outcomes])
    promised = Amount.total([outcome.most for outcome in outcomes])
    guarantees = [(outcome.job.name, outcome.result.guarantee) for outcome in outcomes if outcome.result]
    content = {
        "title": report.job_file.title,
        "dataset": terms.dataset,
        "unit": report.unit,
        "day": (today or datetime.now(UTC)).date().isoformat(),
        "version": __version__,
        "total": promised.decimals,
        "paid": "" if here == promised else here.decimals,
        "sections": [_section(number, outcome, outcomes) for number, outcome in enumerate(outcomes, 1)],
        "spending": _spending(report.budget, name_and_part(terms.dataset)[1], here) if report.budget else None,
        "words": plain_words(promised, terms.neighbors, report.unit),
        "change": change_text(terms.neighbors, report.unit),
        "unprotected": unprotected(terms.neighbors, report.unit, guarantees),
        "most_rows": _MOST_ROWS,
    }
    return _environment().get_template("report.html.j2").render(_on_one_line(content))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("dpmine.reporting.page")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def _on_one_line(value: Any) -> Any:
    """All texts in a value on one line, whatever letters they have; markup is ours."""
    if isinstance(value, str):
        return value if value.isprintable() or hasattr(value, "__html__") else printable(value)
    if isinstance(value, dict):
        return {name: _on_one_line(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_on_one_line(entry) for entry in value]
    if is_dataclass(value):
        return {each.name: _on_one_line(getattr(value, each.name)) for each in fields(value)}
    return value


def _section(number: int, outcome: JobOutcome, outcomes: Sequence[JobOutcome]) -> Section:
    job, result, anchor = outcome.job, outcome.result, f"job-{number}"
    body = None if result is None else _body(job.kind, result.document, anchor)
    if body is not None and (remark := _beside(outcome, outcomes)):
        body = replace(body, remarks=(*body.remarks, remark))
    asked = (("input", shown_name(job.source)), *((name, _written(value)) for name, value in job.options.items()))
    guarantee = str(result.guarantee if result else outcome.guarantee)
    return Section(anchor, job.name, job.kind, asked, body, guarantee, result.files if result else ())


def _beside(outcome: JobOutcome, outcomes: Sequence[JobOutcome]) -> str:
    """A remark on other models of the same label of the same data."""
    label = _label(outcome)
    if label is None:
        return ""
    others = [each.job.name for each in outcomes if each is not outcome and _label(each) == label]
    return beside_text(printable(label[1]), list(map(printable, others)))


def _label(outcome: JobOutcome) -> tuple[Sequence[str], str] | None:
    """Of which data a result with a model predicts which column."""
    label = None if outcome.result is None else outcome.result.document.get("label")
    return (outcome.job.paths, label) if isinstance(label, str) else None


def _written(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else _on_one_line(str(value))


def _body(kind: str, document: dict[str, Any], anchor: str) -> Body:
    """What is shown of a result; one that was changed by hand must not take the others with it."""
    try:
        return body_of(kind, document, anchor)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
        return Body("The stored result cannot be shown: restore its file, or delete it to run the job again.")


def _spending(budget: Budget, part: str, here: Amount) -> Spending:
    granted, remaining = budget.granted, budget.remaining_of(part)
    rest = granted - remaining - here
    elsewhere = Amount(max(rest.epsilon, Fraction(0)), max(rest.delta, Fraction(0)))
    spent = {"spent by this page": here, "spent by other runs": elsewhere, "remaining": remaining}
    rows = [(name, short(each.epsilon), short(each.delta)) for name, each in [("granted", granted), *spent.items()]]
    shares = [
        ("ε", [_share(each.epsilon, granted.epsilon, name) for name, each in spent.items()]),
        ("δ", [_share(each.delta, granted.delta, name) for name, each in spent.items()]),
    ]
    caption = f"The budget: {granted.decimals} granted, {remaining.decimals} remaining."
    return Spending(stacked("ledger", caption, shares), tuple(rows))


def _share(amount: Fraction, granted: Fraction, name: str) -> Share:
    colours = {"spent by this page": BAR, "spent by other runs": OTHER, "remaining": SOFT}
    return Share(min(1.0, float(amount / granted)) if granted else 0.0, colours[name], name)


_ALWAYS = (
    (
        "What holds for people in general. A pattern that is true of nearly everybody may show here, and it is then "
        "true of most single persons, whether or not their data were used."
    ),
    "Groups: k units (each {unit}) together are protected by k·ε only, and by a δ that is more than k times as large.",
    "What was given as public: names of columns and inputs, options, bounds, catalogues, classes, candidates.",
    "Whether a job could be carried out at all, how long it ran and how much memory it took.",
    "Anything else that is released from the same data: other pages, and what other runs cost, add up with this one.",
)
_MOST_SAID = 20  # ε beyond which the factor is a number that nobody reads


def change_text(neighbors: Neighbors, unit: str) -> str:
    """What the two data sets that a guarantee compares differ in."""
    if neighbors is Neighbors.REPLACE_ONE:
        return f"the data of any one {unit} replaced by any other data"
    return f"any one {unit} and all its data added or taken away"


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


def plain_words(total: Amount, neighbors: Neighbors, unit: str) -> list[str]:
    """What the sum of all results on a page promises at most, a sentence each."""
    more = f", plus at most {short(total.delta)}" if total.delta else ""
    aside = " (except with probability about δ)" if total.delta else ""
    # A fact about somebody's data is another one with other data: one taken away, and one added.
    twice = 1 if neighbors is Neighbors.REPLACE_ONE else 2
    odds = odds_text(twice * total.epsilon)
    fact = f"an attacker who knows all other data and is 50 % sure of a fact about one {unit}"
    return [
        f"The results on this page would have come out about as likely with {change_text(neighbors, unit)}.",
        f"About as likely: no set of results becomes more than {factor_text(total.epsilon)} times as likely{more}.",
        f"Worst case: {fact} can become at most {odds} sure{aside}.",
    ]


def beside_text(label: str, others: Sequence[str]) -> str:
    """Why a model may disagree with other jobs' models of the same label; "" where there are none."""
    if not others:
        return ""
    return (
        f"Also about {label}: {', '.join(others)}. These are different models, each chosen with noise of its own. "
        "A weight says what a feature adds while the other features stay as they are; a rule sees its own features "
        "only. So they may point in opposite directions."
    )


def unprotected(neighbors: Neighbors, unit: str, guarantees: Iterable[tuple[str, Guarantee]]) -> list[str]:
    """Everything that is not protected, and what the guarantees, by the names of their jobs, rest on."""
    number = f"The number of units (each {unit}), which counts as public."
    notes: dict[str, list[str]] = {}
    for name, guarantee in guarantees:
        for note in guarantee.notes:
            notes.setdefault(note, []).append(name)
    return [
        *([number] if neighbors is Neighbors.REPLACE_ONE else []),
        *(text.replace("{unit}", unit) for text in _ALWAYS),
        *(f"{', '.join(names)}: {note}." for note, names in notes.items()),
    ]
