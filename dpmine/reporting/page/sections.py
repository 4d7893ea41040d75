"""What a page shows of one job: its answer in words, charts and tables, from the document that was stored."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dpmine.itemsets.noisy_supports import LEVEL
from dpmine.itemsets.results import printable
from dpmine.reporting.page.charts import Bar, bars, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpmine.reporting.page.charts import Chart


_NOT_MEASURED = "How well it predicts was not measured here: that would cost budget, too."
_LONGEST = 400  # characters of an itemset


@dataclass(frozen=True, slots=True)
class PageTable:
    """Texts in rows; the columns from `numbers` on are aligned as numbers. A folded one is shown when asked for."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int = 1
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """The answer of a job in a sentence, and what shows it."""

    answer: str
    charts: tuple[Chart, ...] = ()
    tables: tuple[PageTable, ...] = ()
    remarks: tuple[str, ...] = ()


def body_of(kind: str, document: dict[str, Any], anchor: str) -> Body:
    """The body for a result; `anchor` is the section's own name on the page.

    Raises LookupError, TypeError or ValueError for documents that a job of the kind did not write.
    """
    return _BODIES[kind](document, anchor)


def _top_itemsets(document: dict[str, Any], anchor: str) -> Body:
    rows, advice = _by_support(document["itemsets"]), str(document.get("advice", ""))
    chosen_by = f"Chosen by {_words(document['mechanism'])}."
    if not rows:
        return Body("Nothing stands out clearly enough to be shown.", remarks=(advice, chosen_by))
    names = [_names(row["items"]) for row in rows]
    answer = f"{names[0]} stands out." if len(rows) == 1 else f"{names[0]} leads a list of {len(rows)}."
    remarks = (*([f"Nothing else stands out. {advice}"] if advice else []), chosen_by)
    rules = document.get("rules", [])
    tables = [_itemset_table(rows, names), *([_rule_table(rules)] if rules else [])]
    if rows[0]["noisy_support"] is None:
        return Body(answer, tables=tuple(tables), remarks=remarks)
    unit, together = document["guarantee"]["unit"], "all of them together" if "subsets" in document else "each of them"
    caption = (
        f"Number of units with these items in one basket, with noise; each {unit} counts once. The lines hold the true "
        f"numbers, {together} with probability {float(LEVEL):g}. Which itemsets are listed was decided by a selection "
        "with noise of its own; the files keep the order of that selection."
    )
    chart = bars(anchor, caption, [_support_bar(row, name) for row, name in zip(rows, names, strict=True)])
    return Body(answer, (chart,), tuple(tables), remarks)


def _by_support(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As bars and tables show them; in the order of the choice where no supports were released."""
    if not rows or rows[0]["noisy_support"] is None:
        return rows
    return sorted(rows, key=lambda row: -int(row["noisy_support"]))


def _support_bar(row: dict[str, Any], name: str) -> Bar:
    low, high = row["interval"]
    value = int(row["noisy_support"])
    return Bar(name, max(0, value), f"{value:,}", (max(0.0, float(low)), max(0.0, float(high))))


def _itemset_table(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> PageTable:
    known, shares = rows[0]["noisy_support"] is not None, "support" in rows[0]
    head = ["Rank", "Items", *(["About", "Interval"] if known else []), *(["Share of all"] if known and shares else [])]
    lines = []
    for place, (row, name) in enumerate(zip(rows, names, strict=True), 1):
        line = [str(place), name]
        if known:
            low, high = row["interval"]
            line += [f"{row['noisy_support']:,}", f"{low:,} to {high:,}"]
            line += [f"{float(row['support']):.2%}"] if shares else []
        lines.append(tuple(line))
    order = "by noisy number" if known else "in the order of the choice"
    return PageTable(f"Itemsets, {order}", tuple(head), tuple(lines), numbers=2)


def _rule_table(rules: Sequence[dict[str, Any]]) -> PageTable:
    lift = any(rule.get("lift") is not None for rule in rules)
    head = ("Those with", "also have", "in about", "interval", *(["lift"] if lift else []))
    rows = [
        (
            _names(rule["antecedents"]),
            _names(rule["consequents"]),
            f"{float(rule['confidence']):.1%}",
            f"{float(rule['confidence_low']):.1%} to {float(rule['confidence_high']):.1%}",
            *(["" if rule.get("lift") is None else f"{float(rule['lift']):.3g}"] if lift else []),
        )
        for rule in rules
    ]
    return PageTable("Association rules, by confidence", head, tuple(rows), numbers=2)


def _histogram(document: dict[str, Any], anchor: str) -> Body:
    edges, heights = [float(x) for x in document["edges"]], [float(x) for x in document["density"]]
    column, counts = printable(document["column"]), [float(x) for x in document["counts"]]
    names = _bin_names(edges)
    answer = f"The released density of {column} is {_peak(names, heights)}."
    caption = (
        f"Density of {column}, with noise. The first and the last bin also hold everything beyond the bounds, and the "
        "first one missing values."
    )
    rows = [
        (name, f"{height:.4g}", f"{count:,.0f}") for name, height, count in zip(names, heights, counts, strict=True)
    ]
    among = ", ".join(str(int(bins)) for bins in document["candidates"])
    chosen = f", chosen by {_words(document['mechanism'])} among {among}" if document["mechanism"] else ""
    return Body(
        answer,
        (steps(anchor, caption, edges, heights, column),),
        (PageTable("The bins in numbers", ("From – to", "Density", "Counted rows, about"), tuple(rows), folded=True),),
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


def _classifier(document: dict[str, Any], anchor: str) -> Body:
    second = printable(document["classes"][1])
    label = printable(document["label"])
    answer = f"A weighted sum of {len(document['coef'])} features predicts {label}: {second}, or {_first(document)}."
    remark = f"Regulariser λ = {float(document['lambda']):g}. A positive weight speaks for {second}. {_NOT_MEASURED}"
    return Body(answer, *_weights(document, anchor), (remark,))


def _accuracy_first(document: dict[str, Any], anchor: str) -> Body:
    label = printable(document["label"])
    asked = document["requested"]
    remarks = (f"Asked for: excess risk of at most {_decimal(asked['excess_risk'])}.",)
    if document["coef"] is None:
        return Body(f"No model for {label} reached the target within the budget.", remarks=remarks)
    answer = f"A model for {label} " + ("that reached the target." if document["reached"] else "MISSED the target.")
    return Body(answer, *_weights(document, anchor), remarks)


def _hypothesis(document: dict[str, Any], _anchor: str) -> Body:
    chosen = f"Chosen by {_words(document['mechanism'])} among {_words(document['class']['name'])}. {_NOT_MEASURED}"
    if document["hypothesis"] is None:
        return Body("No rule stands out clearly enough to be shown.", remarks=(chosen,))
    label, second = printable(document["label"]), printable(document["classes"][1])
    return Body(f"{label} = {second} where {printable(document['hypothesis'])}.", remarks=(chosen,))


def _weights(document: dict[str, Any], anchor: str) -> tuple[tuple[Chart, ...], tuple[PageTable, ...]]:
    """Chart and table of a linear model's weights, the largest first, and the intercept last."""
    weights = [(printable(name), float(w)) for name, w in zip(document["features"], document["coef"], strict=True)]
    weights.sort(key=lambda pair: -abs(pair[1]))
    chart = bars(
        anchor,
        "Weights, the largest in absolute value first; they depend on the scales of the features",
        [Bar(name, w, f"{w:.4g}") for name, w in weights],
    )
    listed = [*weights, ("(intercept)", float(document["intercept"]))]
    rows = tuple((name, f"{weight:.6g}") for name, weight in listed)
    return (chart,), (PageTable("The weights in numbers", ("Feature", "Weight"), rows, folded=True),)


def _names(items: Sequence[Any]) -> str:
    named = ", ".join(map(printable, items))
    return named if len(named) <= _LONGEST else f"{named[:_LONGEST]}…"


def _first(document: dict[str, Any]) -> str:
    return printable(document["classes"][0])


def _words(name: object) -> str:
    return printable(name).replace("_", " ")


def _decimal(exact: str) -> str:
    from fractions import Fraction

    return f"{float(Fraction(exact)):g}"


_BODIES: dict[str, Callable[[dict[str, Any], str], Body]] = {
    "top-itemset": _top_itemsets,
    "histogram": _histogram,
    "classify": _classifier,
    "accuracy-first": _accuracy_first,
    "hypothesis": _hypothesis,
}
