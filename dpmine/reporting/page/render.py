"""A report as one HTML page: nothing to load, nothing to run. Its words stand in `templates/report.html.j2`."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpmine.exact.reals import decimal_above, decimal_below
from dpmine.io.files import shown_name
from dpmine.ledger.budget import Accounting, Amount, name_and_part
from dpmine.markup import printable
from dpmine.privacy import ROW, Neighbors, short
from dpmine.reporting.jobs.file import UnitWords
from dpmine.reporting.page.bodies import body_of
from dpmine.reporting.page.body import CERTAIN, Body, PageTable, percent
from dpmine.reporting.page.charts import stacked, templates
from dpmine.reporting.page.remaining import left_to_file, rest_of
from dpmine.reporting.page.strength import readable, strength_of
from dpmine.reporting.page.windows import windows_of
from dpmine.reporting.terms import guaranteed_together, is_by_rho
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from dpmine.ledger.budget import Budget
    from dpmine.privacy import Guarantee
    from dpmine.reporting.batch import JobOutcome, Report
    from dpmine.reporting.page.windows import WindowsSection


_MOST_ROWS = 200
_DIGITS = 4  # of an ε that is rounded up for readers
_SPENT = {"by this page": "bar", "otherwise": "other", "remaining": "soft"}
"""The parts of a budget, with their colours."""
_COUNTED = {Accounting.BASIC: ("ε", "δ"), Accounting.ZCDP: ("ρ", "δ for charges")}
"""What a budget counts."""
_FAILED = Body("This job has no result.", "The reason may depend on the data, so it is not shown here.")


def render(report: Report, *, today: datetime | None = None) -> str:
    """The page, in UTF-8. `today` replaces the day on which the run was started.

    See Also:
        dpmine.reporting.batch.run_batch: makes the report.
    """
    job_file, outcomes = report.job_file, report.outcomes
    terms = job_file.terms
    words = UnitWords.of(report.unit, terms.unit_label)
    page_charge = Amount.total([outcome.charge for outcome in outcomes])
    largest_charge = Amount.total([outcome.most for outcome in outcomes])
    if report.timeline is not None:  # all windows are on the page
        page_charge, largest_charge = report.timeline.charge, report.timeline.most
    guarantee, came_to = (
        _guaranteed(report, largest_charge, largest_charge),
        _guaranteed(report, page_charge, largest_charge),
    )
    whole = report.budget.granted if report.budget else page_charge
    sections = [_section(outcome, report, words, whole) for outcome in outcomes]
    page = templates().get_template("report.html.j2")
    return page.render(
        title=job_file.title,
        dataset=terms.dataset,
        unit=words,
        meaning=_meaning(report, words),
        has_key=_has_key(report),
        day=(today.date() if today else report.day).isoformat(),
        version=__version__,
        job_file=job_file,
        inputs=_inputs(report),
        came_to="" if came_to == guarantee else readable(came_to.decimals),
        sections=sections,
        results=sum(not section["failed"] for section in sections),
        units=_units(report),
        counted=_COUNTED[report.accounting],
        zcdp=report.accounting is Accounting.ZCDP,
        by_rho=is_by_rho(largest_charge, report.total, report.accounting),
        conversion_delta=readable(short(report.total.conversion_delta)),
        own_delta=readable(short(largest_charge.approximate_delta)) if largest_charge.approximate_delta else "",
        trained=any("coef" in outcome.result.document for outcome in outcomes if outcome.result),
        **_of_intervals([section["body"] for section in sections]),
        any_failed=any(section["failed"] for section in sections) or _any_window_failed(report),
        asserted=_asserted(report, outcomes, words),
        spending=_spending(report, report.budget, page_charge) if report.budget else None,
        spent=_spent(report, page_charge, whole),
        notes=_notes((each.job.name, each.result.guarantee) for each in outcomes if each.result),
        most_rows=_MOST_ROWS,
        windows=_windows(report, words),
        **strength_of(guarantee, terms.neighbors, _tail(report, largest_charge)),
    )


def _of_intervals(bodies: Sequence[Body]) -> dict[str, object]:
    """Whether there are intervals, whether some hold all at once, and with which probability."""
    together = any(body.together for body in bodies)
    return {"intervals": any(body.intervals for body in bodies), "joint": together, "certain": CERTAIN}


def _tail(report: Report, largest_charge: Amount) -> tuple[Fraction, Fraction] | None:
    """(ρ, β) where the page's ε and δ are those of its ρ alone, β what turns ρ into ε; else None."""
    by_rho = is_by_rho(largest_charge, report.total, report.accounting)
    if largest_charge.approximate_delta or not by_rho:
        return None
    return largest_charge.rho, report.total.conversion_delta


def _windows(report: Report, words: UnitWords) -> WindowsSection | None:
    kinds = [outcome.job.kind for outcome in report.outcomes if outcome.job.in_window]
    return windows_of(report.timeline, kinds, words) if report.timeline else None


def _any_window_failed(report: Report) -> bool:
    """Whether a window was charged without a result of every job."""
    windows = report.timeline.windows if report.timeline else ()
    return any(each.charged and None in each.documents.values() for each in windows)


def _asserted(report: Report, outcomes: Sequence[JobOutcome], words: UnitWords) -> list[str]:
    """What the guarantee takes from the job file, and nothing checks."""
    schedule = report.job_file.schedule
    asserted = {each.guarantee.assertion for each in outcomes} | {schedule.assertion(words.one) if schedule else ""}
    return sorted(asserted - {""})


def _meaning(report: Report, words: UnitWords) -> str:
    """What in the data is one unit, in a sentence."""
    if report.unit == ROW:
        return "Each row of the data is protected by itself." if words.one == ROW else f"One {words.one} is one row."
    if not _has_key(report):
        return f"One {words.one} is one row: the job file asserts this, and nothing checks it."
    return f"One {words.one} is one value of “{report.unit}”; rows without one are never used."


def _has_key(report: Report) -> bool:
    """Whether columns say which rows are of one unit: else each row is one, or is asserted to be."""
    asserted = any(outcome.guarantee.assertion and not outcome.job.partition for outcome in report.outcomes)
    return report.unit != ROW and not asserted


def _units(report: Report) -> str:
    """How many units there are by the job file; "" where it does not say one number, or the number is not public."""
    declared = {outcome.job.options["units"] for outcome in report.outcomes if "units" in outcome.job.options}
    public = report.job_file.terms.neighbors is Neighbors.REPLACE_ONE and report.timeline is None
    return f"{declared.pop():,}" if public and len(declared) == 1 else ""


def _inputs(report: Report) -> list[tuple[str, str]]:
    """What the jobs read, as the job file calls it, and what it says of owner and period."""
    inputs = report.job_file.inputs
    sources = dict.fromkeys(outcome.job.source for outcome in report.outcomes)
    described = [(source, inputs.get(source)) for source in sources]
    return [
        (shown_name(source), "; ".join(filter(None, [each.owner, each.period])) if each else "")
        for source, each in described
    ]


def _section(outcome: JobOutcome, report: Report, words: UnitWords, whole: Amount) -> dict[str, Any]:
    """One job on the page, with its share of the `whole` budget; `others` have models of one label of the same data."""
    job, result, label = outcome.job, outcome.result, _label(outcome)
    others = [each.job.name for each in report.outcomes if label and each is not outcome and _label(each) == label]
    return {
        "title": job.name,
        "kind": job.kind,
        "asked": [("input", shown_name(job.source)), *((name, _written(value)) for name, value in job.options.items())],
        "body": body_of(job.kind, result.document, words) if result else _FAILED,
        "failed": result is None,
        "share": _said_of_share(outcome, _part(outcome.charge, whole, report.accounting)) if report.budget else "",
        "charge": ", ".join(filter(None, _charge(outcome.charge, report.accounting))),
        "reused": result.day if outcome.reused and result else "",
        "converts": outcome.guarantee.delta > outcome.charge.compared(report.accounting)[1],
        "guarantee": readable(str(result.guarantee if result else outcome.guarantee)),
        "files": result.files if result else (),
        "label": label[1] if label else "",
        "others": ", ".join(map(printable, others)),
    }


def _said_of_share(outcome: JobOutcome, part: str) -> str:
    """What a job was charged of the budget; one without a result may have ended before its charge."""
    if outcome.result:
        return f"This result was charged {part} of the privacy budget."
    return f"It was charged at most {part} of the privacy budget." if outcome.charged else "Nothing was charged for it."


def _charge(amount: Amount, accounting: Accounting) -> tuple[str, str]:
    """The two numbers of a charge; of δ nothing where there is none."""
    loss, delta = _loss(amount, accounting, decimal_above), readable(short(amount.compared(accounting)[1]))
    if accounting is Accounting.BASIC:
        return f"ε = {loss}", f"δ = {delta}" if amount.delta else ""
    return f"ρ = {loss}", f"δ = {delta}" if amount.approximate_delta else ""


def _part(amount: Amount, whole: Amount, accounting: Accounting) -> str:
    """The share of a budget that a charge takes: of ε or ρ, or of δ if that is more."""
    pairs = zip(amount.compared(accounting), whole.compared(accounting), strict=True)
    return percent(max(_share(part, total) for part, total in pairs), 1)


def _spent(report: Report, page_charge: Amount, whole: Amount) -> PageTable:
    """What each job of the page was charged, and all together."""
    accounting, of = report.accounting, "the budget" if report.budget else "this page"
    amounts = [*(outcome.charge for outcome in report.outcomes), page_charge]
    alone = [Amount.of(each.result.guarantee if each.result else each.guarantee) for each in report.outcomes]
    together = _guaranteed(report, page_charge, page_charge)
    columns = {
        "Result": [
            *(outcome.job.name for outcome in report.outcomes),
            "all windows" if report.timeline else "all together",
        ],
        f"Share of {of}": [_part(amount, whole, accounting) for amount in amounts],
        "Guarantee": [readable(each.decimals) for each in (*alone, together)],
    }
    meaning = "The guarantee of one result holds if nothing else is published about the same people."
    return PageTable("What each result was charged", columns, meaning=meaning)


def _loss(amount: Amount, accounting: Accounting, rounded: Callable[[Fraction, int], Fraction]) -> str:
    """ε exactly, or ρ to few digits: charges are rounded up, and what is granted or left is rounded down."""
    loss = amount.compared(accounting)[0]
    if accounting is Accounting.ZCDP and loss > 0:
        loss = rounded(loss, _DIGITS)
    return readable(short(loss))


def _amount(amount: Amount, accounting: Accounting) -> str:
    """What is granted or left."""
    loss, delta = _loss(amount, accounting, decimal_below), readable(short(amount.compared(accounting)[1]))
    return f"ε = {loss}, δ = {delta}" if accounting is Accounting.BASIC else f"ρ = {loss}"


def _label(outcome: JobOutcome) -> tuple[Sequence[str], str] | None:
    """Of which data a result with a model predicts which column."""
    label = None if outcome.result is None else outcome.result.document.get("label")
    return (outcome.job.paths, label) if isinstance(label, str) else None


def _written(value: object) -> str:
    """A value as text, which the page puts on one line; of several, each by itself."""
    if isinstance(value, list):
        return ", ".join(
            printable(" + ".join(map(_written, each)) if isinstance(each, list) else _written(each)) for each in value
        )
    if isinstance(value, dict):
        return "; ".join(printable(f"{name}: {_written(each)}") for name, each in value.items())
    if isinstance(value, Decimal):
        return readable(str(value).lower())
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _spending(report: Report, budget: Budget, page_charge: Amount) -> dict[str, object]:
    granted, remaining = budget.granted, budget.remaining_of(name_and_part(report.job_file.terms.dataset)[1])
    rest = granted - remaining - page_charge
    elsewhere = Amount(*(max(number, Fraction(0)) for number in rest))
    spent, kind = (page_charge, elsewhere, remaining), budget.accounting
    losses, slacks = zip(*(each.compared(kind) for each in (granted, *spent)), strict=True)
    shares = {
        name: [_share(amount, total) for amount in amounts]
        for name, (total, *amounts) in zip(_COUNTED[kind], (losses, slacks), strict=True)
    }
    caption = "What of the budget is charged, and what remains"
    rounding = decimal_below, decimal_above, decimal_above, decimal_below
    named = zip(("granted", *_SPENT), (granted, *spent), rounding, strict=True)
    rows = [(name, _loss(each, kind, to), readable(short(each.compared(kind)[1]))) for name, each, to in named]
    pairs = zip(remaining.compared(kind), granted.compared(kind), strict=True)
    left = left_to_file(report, budget)
    buys = rest_of(left, kind, {each.job.name: Amount.of(each.guarantee) for each in report.outcomes})
    return {
        "chart": stacked(caption, _SPENT, shares),
        "rows": rows,
        "elsewhere": any(elsewhere.compared(kind)),
        "used": _part(page_charge, granted, kind),
        "unused": percent(min(_share(left, total) for left, total in pairs if total), 1),
        "left_to_file": "" if left == remaining else _amount(left, kind),
        "granted": readable(granted.decimals),
        "new": report.new,
        "conversion_delta": readable(short(granted.conversion_delta)),
        "own": readable(short(granted.approximate_delta)),
        "rest": buys,
        "most": readable(short(buys.epsilon)),
    }


def _guaranteed(report: Report, charged: Amount, largest_charge: Amount) -> Amount:
    return guaranteed_together(charged, largest_charge, report.total, report.accounting)


def _share(amount: Fraction, granted: Fraction) -> float:
    return min(1.0, float(amount / granted)) if granted else 0.0


def _notes(guarantees: Iterable[tuple[str, Guarantee]]) -> dict[str, str]:
    """What the guarantees rest on, with the names of the jobs for which it is said."""
    notes: dict[str, list[str]] = {}
    for name, guarantee in guarantees:
        for note in guarantee.notes:
            notes.setdefault(note, []).append(printable(name))
    return {note: ", ".join(names) for note, names in notes.items()}
