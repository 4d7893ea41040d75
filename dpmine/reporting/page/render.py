"""A report as one HTML page: nothing to load, nothing to run. Its words stand in `templates/report.html.j2`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise
from math import exp
from typing import TYPE_CHECKING, Any

from dpmine.io.paths import shown_name
from dpmine.itemsets.results import printable
from dpmine.itemsets.support_noise import LEVEL
from dpmine.ledger.budget import Accounting, Amount, guaranteed, name_and_part
from dpmine.privacy import Neighbors, short
from dpmine.reporting.page.charts import Bar, bars, stacked, steps, templates
from dpmine.reporting.page.tables import PageTable
from dpmine.reporting.page.windows import windows_of
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dpmine.ledger.budget import Budget
    from dpmine.privacy import Guarantee
    from dpmine.reporting.batch import JobOutcome, Report
    from dpmine.reporting.page.charts import Chart


_MOST_ROWS = 200
_MOST_SAID = 20  # ε beyond which the factor is too large to be of use
_SPENT = {"spent by this page": "bar", "spent by other runs": "other", "remaining": "soft"}
"""The parts of a budget, with their colours."""


def render(report: Report, *, today: datetime | None = None) -> str:
    """The page, in UTF-8.

    See Also:
        dpmine.reporting.batch.run_batch: makes the report.
    """
    terms, outcomes = report.job_file.terms, report.outcomes
    here = Amount.total([outcome.charge for outcome in outcomes])
    most = Amount.total([outcome.most for outcome in outcomes])
    if report.timeline is not None:  # all windows are on the page
        here = most = report.timeline.cost
    promised, came_to = _guaranteed(report, most, most), _guaranteed(report, here, most)
    replaced = terms.neighbors is Neighbors.REPLACE_ONE
    page = templates().get_template("report.html.j2")
    return page.render(
        title=report.job_file.title,
        dataset=terms.dataset,
        unit=report.unit,
        day=(today or datetime.now(UTC)).date().isoformat(),
        version=__version__,
        total=promised.decimals,
        paid="" if came_to == promised else came_to.decimals,
        sections=[_section(outcome, outcomes) for outcome in outcomes],
        loss="ε" if report.accounting is Accounting.BASIC else "ρ",
        spending=_spending(report.budget, name_and_part(terms.dataset)[1], here) if report.budget else None,
        replaced=replaced,
        factor=factor_text(promised.epsilon),
        # A fact about somebody's data is another one with other data: one taken away, and one added.
        odds=odds_text(promised.epsilon if replaced else 2 * promised.epsilon),
        delta=short(promised.delta) if promised.delta else "",
        notes=_notes((each.job.name, each.result.guarantee) for each in outcomes if each.result),
        most_rows=_MOST_ROWS,
        windows=windows_of(report.timeline) if report.timeline else None,
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
    """A value as text, which the page puts on one line; of several, each by itself."""
    if isinstance(value, list):
        return ", ".join(printable(_written(each)) for each in value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _spending(budget: Budget, part: str, here: Amount) -> dict[str, Any]:
    """The ledger on the page."""
    granted, remaining = budget.granted, budget.remaining_of(part)
    rest = granted - remaining - here
    elsewhere = Amount(*(max(number, Fraction(0)) for number in rest))
    spent, kind = (here, elsewhere, remaining), budget.accounting
    losses, slacks = zip(*(each.compared(kind) for each in (granted, *spent)), strict=True)
    shares = {
        name: [_share(amount, total) for amount in amounts]
        for name, (total, *amounts) in (("ε" if kind is Accounting.BASIC else "ρ", losses), ("δ", slacks))
    }
    caption = f"The budget: {granted.shown(kind, short)} granted, {remaining.shown(kind, short)} remaining."
    named = zip(("granted", *_SPENT), (granted, *spent), strict=True)
    rows = [(name, *each.readable(kind)) for name, each in named]
    return {"chart": stacked(caption, _SPENT, shares), "rows": rows}


def _guaranteed(report: Report, cost: Amount, most: Amount) -> Amount:
    """The (ε, δ) of results of that cost: by ρ where the ledger adds that up, unless the ε add up to less.

    Which of the two it is depends on the most that they may cost alone: chosen by outcomes, both δ would have to count.
    """
    slack = report.total.delta - report.total.approximate_delta
    if guaranteed(most, report.accounting, slack).epsilon < most.epsilon:
        return guaranteed(cost, report.accounting, slack)
    return Amount(cost.epsilon, cost.delta)


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


_NOT_MEASURED = "How well it predicts was not measured here: that would cost budget, too."
_LONGEST = 400  # characters of an itemset


@dataclass(frozen=True, slots=True)
class Body:
    """The answer of a job in a sentence, and what shows it."""

    answer: str
    charts: tuple[Chart, ...] = ()
    tables: tuple[PageTable, ...] = ()
    remarks: tuple[str, ...] = ()


def body_of(kind: str, document: dict[str, Any]) -> Body:
    """What is shown of a result; one that was changed by hand must not take the others with it."""
    try:
        return _BODIES[kind](document)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
        return Body("The stored result cannot be shown: restore its file, or delete it to run the job again.")


def _top_itemsets(document: dict[str, Any]) -> Body:
    rows, advice = document["itemsets"], str(document.get("advice", ""))
    chosen_by = f"Chosen by {_words(document['mechanism'])}."
    if not rows:
        return Body("Nothing stands out clearly enough to be shown.", remarks=(advice, chosen_by))
    known = rows[0]["noisy_support"] is not None
    if known:  # else in the order of the choice
        rows = sorted(rows, key=lambda row: -int(row["noisy_support"]))
    names = [_names(row["items"]) for row in rows]
    answer = f"{names[0]} stands out." if len(rows) == 1 else f"{names[0]} leads a list of {len(rows)}."
    remarks = (*([f"Nothing else stands out. {advice}"] if advice else []), chosen_by)
    rules = document.get("rules", [])
    tables = (_itemset_table(rows, names, known=known), *([_rule_table(rules)] if rules else []))
    if not known:
        return Body(answer, tables=tables, remarks=remarks)
    unit, together = document["guarantee"]["unit"], "all of them together" if "subsets" in document else "each of them"
    caption = (
        f"Number of units with these items in one basket, with noise; each {unit} counts once. The lines hold the true "
        f"numbers, {together} with probability {float(LEVEL):g}. Which itemsets are listed was decided by a selection "
        "with noise of its own; the files keep the order of that selection."
    )
    chart = bars(caption, [_support_bar(row, name) for row, name in zip(rows, names, strict=True)])
    return Body(answer, (chart,), tables, remarks)


def _support_bar(row: dict[str, Any], name: str) -> Bar:
    low, high = row["interval"]
    value = int(row["noisy_support"])
    return Bar(name, max(0, value), f"{value:,}", (max(0.0, float(low)), max(0.0, float(high))))


def _itemset_table(rows: Sequence[dict[str, Any]], names: Sequence[str], *, known: bool) -> PageTable:
    columns = {"Rank": [str(place) for place in range(1, len(rows) + 1)], "Items": names}
    if known:
        columns["About"] = [f"{row['noisy_support']:,}" for row in rows]
        columns["Interval"] = [f"{low:,} to {high:,}" for low, high in (row["interval"] for row in rows)]
    if known and "support" in rows[0]:
        columns["Share of all"] = [f"{float(row['support']):.2%}" for row in rows]
    return PageTable.of(f"Itemsets, {'by noisy number' if known else 'in the order of the choice'}", columns, numbers=2)


def _rule_table(rules: Sequence[dict[str, Any]]) -> PageTable:
    columns = {
        "Those with": [_names(rule["antecedents"]) for rule in rules],
        "also have": [_names(rule["consequents"]) for rule in rules],
        "in about": [f"{float(rule['confidence']):.1%}" for rule in rules],
        "interval": [f"{float(rule['confidence_low']):.1%} to {float(rule['confidence_high']):.1%}" for rule in rules],
    }
    lifts = [rule.get("lift") for rule in rules]
    if any(lift is not None for lift in lifts):
        columns["lift"] = ["" if lift is None else f"{float(lift):.3g}" for lift in lifts]
    return PageTable.of("Association rules, by confidence", columns, numbers=2)


def _histogram(document: dict[str, Any]) -> Body:
    edges, heights, counts = ([float(x) for x in document[name]] for name in ("edges", "density", "counts"))
    column, names = printable(document["column"]), _bin_names(edges)
    caption = (
        f"Density of {column}, with noise. The first and the last bin also hold everything beyond the bounds, and the "
        "first one missing values."
    )
    columns = {
        "From – to": names,
        "Density": [f"{height:.4g}" for height in heights],
        "Counted rows, about": [f"{count:,.0f}" for count in counts],
    }
    among = ", ".join(str(int(bins)) for bins in document["candidates"])
    chosen = f", chosen by {_words(document['mechanism'])} among {among}" if document["mechanism"] else ""
    return Body(
        f"The released density of {column} is {_peak(names, heights)}.",
        (steps(caption, edges, heights, column),),
        (PageTable.of("The bins in numbers", columns, folded=True),),
        (f"{len(heights)} bins of width {float(document['bin_width']):g}{chosen}.",),
    )


def _peak(names: Sequence[str], heights: Sequence[float]) -> str:
    """The highest bin. The first and the last also hold values beyond the bounds: then the highest between follows."""
    inner = range(1, len(heights) - 1)
    peak = max(range(len(heights)), key=heights.__getitem__)
    if peak in inner:
        return f"highest from {names[peak]}"
    between = f"; between the ends, from {names[max(inner, key=heights.__getitem__)]}" if inner else ""
    return f"highest in the bin “{names[peak]}”, which also holds everything beyond that end{between}"


def _bin_names(edges: Sequence[float]) -> list[str]:
    """The first and the last bin hold what is beyond the bounds, too."""
    named = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
    if len(named) > 1:
        named[0], named[-1] = f"less than {edges[1]:g}", f"{edges[-2]:g} and more"
    return named


def _classifier(document: dict[str, Any]) -> Body:
    if len(document["classes"]) > 2:
        return _several_classes(document)
    first, second, label = map(printable, (*document["classes"], document["label"]))
    answer = f"A weighted sum of {len(document['coef'])} features predicts {label}: {second}, or {first}."
    remark = f"Regulariser λ = {float(document['lambda']):g}. A positive weight speaks for {second}. {_NOT_MEASURED}"
    return Body(answer, *_weights(document), (remark,))


def _regression(document: dict[str, Any]) -> Body:
    label = printable(document["label"])
    remark = f"Regulariser λ = {float(document['regularization']):g}. {_NOT_MEASURED}"
    return Body(f"A weighted sum of {len(document['coef'])} features predicts {label}.", *_weights(document), (remark,))


def _several_classes(document: dict[str, Any]) -> Body:
    label = printable(document["label"])
    answer = f"For each value of {label} a weighted sum of {len(document['features'])} features: the largest predicts."
    remark = f"Regulariser λ = {float(document['lambda']):g}. {_NOT_MEASURED}"
    names = [*map(printable, document["features"]), "(intercept)"]
    columns: dict[str, list[str]] = {"Feature": names}
    for value, weights, intercept in zip(document["classes"], document["coef"], document["intercept"], strict=True):
        columns[printable(value)] = [f"{float(weight):.6g}" for weight in (*weights, intercept)]
    return Body(answer, tables=(PageTable.of("The weights for each value", columns, folded=True),), remarks=(remark,))


def _accuracy_first(document: dict[str, Any]) -> Body:
    label = printable(document["label"])
    remarks = (f"Asked for: excess risk of at most {float(Fraction(document['requested']['excess_risk'])):g}.",)
    if document["coef"] is None:
        return Body(f"No model for {label} reached the target within the budget.", remarks=remarks)
    answer = f"A model for {label} " + ("that reached the target." if document["reached"] else "MISSED the target.")
    return Body(answer, *_weights(document), remarks)


def _hypothesis(document: dict[str, Any]) -> Body:
    chosen = f"Chosen by {_words(document['mechanism'])} among {_words(document['class']['name'])}. {_NOT_MEASURED}"
    if document["hypothesis"] is None:
        return Body("No rule stands out clearly enough to be shown.", remarks=(chosen,))
    label, second, rule = map(printable, (document["label"], document["classes"][1], document["hypothesis"]))
    return Body(f"{label} = {second} where {rule}.", remarks=(chosen,))


def _weights(document: dict[str, Any]) -> tuple[tuple[Chart, ...], tuple[PageTable, ...]]:
    """Chart and table of a linear model's weights, the largest first, and the intercept last."""
    weights = [(printable(name), float(w)) for name, w in zip(document["features"], document["coef"], strict=True)]
    weights.sort(key=lambda pair: -abs(pair[1]))
    caption = "Weights, the largest in absolute value first; they depend on the scales of the features"
    chart = bars(caption, [Bar(name, w, f"{w:.4g}") for name, w in weights])
    names, values = zip(*weights, ("(intercept)", float(document["intercept"])), strict=True)
    columns = {"Feature": names, "Weight": [f"{value:.6g}" for value in values]}
    return (chart,), (PageTable.of("The weights in numbers", columns, folded=True),)


def _names(items: Sequence[Any]) -> str:
    named = ", ".join(map(printable, items))
    return named if len(named) <= _LONGEST else f"{named[:_LONGEST]}…"


def _words(name: object) -> str:
    return printable(name).replace("_", " ")


_BODIES: dict[str, Callable[[dict[str, Any]], Body]] = {
    "top-itemset": _top_itemsets,
    "histogram": _histogram,
    "classify": _classifier,
    "regress": _regression,
    "accuracy-first": _accuracy_first,
    "hypothesis": _hypothesis,
}
