"""What a page shows of one job: its answer in words, charts and tables, from the document that was stored."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dpmine.itemsets.noisy_supports import LEVEL
from dpmine.itemsets.results import printable
from dpmine.reporting.page.charts import Bar, bars, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpmine.reporting.page.charts import Chart


_NOT_MEASURED = "How well it predicts was not measured here: that would cost budget, too."
_LONGEST = 400  # characters of an itemset


@dataclass(frozen=True, slots=True)
class PageTable:
    """Columns of texts by their heads; those from `numbers` on are aligned as numbers. Folded: shown on demand."""

    caption: str
    columns: Mapping[str, Sequence[str]]
    numbers: int = 1
    folded: bool = False

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The texts of each row."""
        return list(zip(*self.columns.values(), strict=True))


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
    return PageTable(f"Itemsets, {'by noisy number' if known else 'in the order of the choice'}", columns, numbers=2)


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
    return PageTable("Association rules, by confidence", columns, numbers=2)


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
        (PageTable("The bins in numbers", columns, folded=True),),
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
    first, second, label = map(printable, (*document["classes"], document["label"]))
    answer = f"A weighted sum of {len(document['coef'])} features predicts {label}: {second}, or {first}."
    remark = f"Regulariser λ = {float(document['lambda']):g}. A positive weight speaks for {second}. {_NOT_MEASURED}"
    return Body(answer, *_weights(document), (remark,))


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
    return (chart,), (PageTable("The weights in numbers", columns, folded=True),)


def _names(items: Sequence[Any]) -> str:
    named = ", ".join(map(printable, items))
    return named if len(named) <= _LONGEST else f"{named[:_LONGEST]}…"


def _words(name: object) -> str:
    return printable(name).replace("_", " ")


_BODIES: dict[str, Callable[[dict[str, Any]], Body]] = {
    "top-itemset": _top_itemsets,
    "histogram": _histogram,
    "classify": _classifier,
    "accuracy-first": _accuracy_first,
    "hypothesis": _hypothesis,
}
