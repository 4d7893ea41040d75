"""What the page says of a job's result: the answer, how sure it is, and the charts and tables that show it.

`render.py` calls `body_of` with the stored document.
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil, floor
from typing import TYPE_CHECKING

from dpmine.itemsets.release.results import printable
from dpmine.reporting.document import Altered, Document
from dpmine.reporting.jobs.file import UnitWords
from dpmine.reporting.page.body import CERTAIN, INTERVAL, Body, PageTable, percent, possibly_larger, spaced
from dpmine.reporting.page.charts import Bar, decision, first_and_all, steps
from dpmine.reporting.page.comparison import comparison
from dpmine.reporting.page.itemsets import frequent_itemsets, top_itemsets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpmine.reporting.document import Label
    from dpmine.reporting.page.charts import Chart

_NOT_MEASURED = "How well it predicts was not measured: that needs a charge of its own."
_UNNAMED = UnitWords("unit", "units")


def body_of(kind: str, document: Mapping[str, object], words: UnitWords = _UNNAMED) -> Body:
    """What is shown of a result; one that was changed by hand must not take the others with it.

    `words` is how sentences call the privacy unit.
    """
    try:
        return _BODIES[kind](Document(document), words)
    except Altered:
        return Body("The stored result cannot be shown: restore its file, or delete it to run the job again.")


def _histogram(document: Document, words: UnitWords) -> Body:
    edges, counts, density = (document.numbers(name) for name in ("edges", "counts", "density"))
    if not len(edges) == len(counts) + 1 == len(density) + 1 > 1 or sorted(set(edges)) != edges:
        raise Altered
    shares = [height * (high - low) for height, (low, high) in zip(density, pairwise(edges), strict=True)]
    whole = document.flag("whole", default=False)
    column, names = printable(document["column"]), _bin_names(edges, whole=whole)
    rows_per_unit = document.whole("rows_per_unit", 0)
    counted = words.many if rows_per_unit == 1 else "rows"
    caption = (
        f"Number of {counted} in each bin of {column}, with noise. The first and the last bin also hold everything "
        "beyond the bounds, and the first one missing values. Where the intervals of two bins overlap, the true order "
        "may be the other way round."
    )
    columns = {
        "Bin": names,
        "Share": [percent(share, 1) for share in shares],
        f"{counted.capitalize()}, about": [f"{count:,.0f}" for count in counts],
    }
    among = ", ".join(f"{bins:.0f}" for bins in document.numbers("candidates"))
    chosen = f", chosen by {spaced(document['mechanism'])} among {among}" if document.has("mechanism") else ""
    meaning = (
        f"{counted.capitalize()}, about: how many {counted} have a value in the bin, with noise; 0 where noise brought "
        "it below 0. Share: that number in per cent of the sum of the column."
    )
    if rows_per_unit:
        kept = "1 row counts" if rows_per_unit == 1 else f"{rows_per_unit} rows count"
        meaning = f"{meaning} Of every {words.one}, at most {kept}, drawn at random."
    sure, error = "", 0.0
    if document.has("count_error"):
        error = document.number("count_error")
        first, *others = sorted(counts, reverse=True)
        rivals = possibly_larger(first - error, [other + error for other in others], ("other bin", "other bins"))
        sure = f"Each number is right within ±{ceil(error):,} {counted}, {CERTAIN}.{rivals}"
        columns[INTERVAL] = [f"{max(0, floor(n - error)):,} to {ceil(n + error):,}" for n in counts]
    return Body(
        f"The bin of {column} with the largest noisy number is {_peak(names, shares, counted)}.",
        sure or "Every bin has noise; its size is not in the stored result.",
        steps(caption, edges, counts, (column, f"{counted}, with noise"), error),
        tables=(PageTable("The bins in numbers", columns, meaning=meaning),),
        remarks=(
            f"{len(shares)} bins of width {document.number('bin_width'):g}{chosen}.{_uneven(edges) if whole else ''}",
        ),
    )


def _peak(names: Sequence[str], shares: Sequence[float], counted: str) -> str:
    """The highest bin. The first and the last also hold values beyond the bounds: then the highest between follows."""
    inner = range(1, len(shares) - 1)
    peak = max(range(len(shares)), key=shares.__getitem__)
    answer = f"“{names[peak]}”, with about {percent(shares[peak])} of the {counted}"
    if peak in inner:
        return answer
    best = max(inner, key=shares.__getitem__, default=peak)
    between = f"; between the ends, “{names[best]}”, with about {percent(shares[best])}" if inner else ""
    return f"{answer}. It also holds everything beyond that end{between}"


def _bin_names(edges: Sequence[float], *, whole: bool) -> list[str]:
    """The first and the last bin hold what is beyond the bounds, too. Bins of whole numbers are named by those."""
    if whole and all(ceil(high) > ceil(low) for low, high in pairwise(edges)):
        ranges = [(ceil(low), ceil(high) - 1) for low, high in pairwise(edges)]
        named = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in ranges]
        ends = f"{ceil(edges[1]) - 1:,} or less", f"{ceil(edges[-2]):,} or more"
    else:
        named = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
        ends = f"less than {edges[1]:g}", f"{edges[-2]:g} or more"
    if len(named) > 1:
        named[0], named[-1] = ends
    return named


def _uneven(edges: Sequence[float]) -> str:
    """A caution where bins of one width hold different numbers of whole numbers."""
    sizes = {ceil(high) - ceil(low) for low, high in pairwise(edges)}
    if len(sizes) == 1:
        return ""
    return " Some bins hold more whole numbers than others, and so look fuller: take bins that divide upper - lower."


def _classifier(document: Document, _words: UnitWords) -> Body:
    classes = document.labels("classes")
    if len(classes) > 2:
        return _several_classes(document, classes)
    first, second = _two(classes)
    label = printable(document["label"])
    question = f"whether {label} is {_value(second)} or {_value(first)}"
    answer = f"A weighted sum of {len(document.numbers('coef'))} features predicts {question}."
    remark = f"Regulariser λ = {document.number('lambda'):g}. A positive weight speaks for {_value(second)}."
    return Body(answer, _NOT_MEASURED, *_weights(document), remarks=(remark,))


def _regression(document: Document, _words: UnitWords) -> Body:
    answer = f"A weighted sum of {len(document.numbers('coef'))} features predicts {printable(document['label'])}."
    remark = f"Regulariser λ = {document.number('regularization'):g}."
    return Body(answer, _NOT_MEASURED, *_weights(document), remarks=(remark,))


def _several_classes(document: Document, classes: Sequence[Label]) -> Body:
    label = printable(document["label"])
    features = document.values("features")
    answer = f"For each value of {label} a weighted sum of {len(features)} features: the largest predicts."
    remark = f"Regulariser λ = {document.number('lambda'):g}."
    names = [*map(printable, features), "(intercept)"]
    columns: dict[str, list[str]] = {"Feature": names}
    weights, intercepts = document.rows_of_numbers("coef"), document.numbers("intercept")
    if not len(weights) == len(intercepts) == len(classes) or {len(row) for row in weights} != {len(names) - 1}:
        raise Altered
    for value, row, intercept in zip(classes, weights, intercepts, strict=True):
        columns[printable(value)] = [f"{weight:.6g}" for weight in (*row, intercept)]
    table = PageTable("The weights for each value", columns)
    return Body(answer, _NOT_MEASURED, tables=(table,), remarks=(remark,))


def _accuracy_first(document: Document, _words: UnitWords) -> Body:
    label, requested = printable(document["label"]), document.part("requested")
    target, failure = (float(requested.fraction(name)) for name in ("excess_risk", "failure_probability"))
    goal = f"Its excess risk is at most {target:g}, except with probability {failure:g}."
    if not document.has("coef"):
        sure = f"The target was an excess risk of at most {target:g}."
        return Body(f"No model for {label} reached the target within the budget.", sure)
    if not document.flag("reached"):
        sure = f"Its excess risk is not known to be below the target, {target:g}."
        return Body(f"A model for {label} that MISSED the target.", sure, *_weights(document))
    return Body(f"A model for {label} that reached the target.", goal, *_weights(document))


def _hypothesis(document: Document, words: UnitWords) -> Body:
    chosen = (
        f"Mechanism of the choice: {spaced(document['mechanism'])}, among {spaced(document.part('class')['name'])}."
    )
    if not document.has("hypothesis"):
        return Body("No rule stands out clearly enough to be shown.", "No rule led by enough.", remarks=(chosen,))
    first, second = _two(document.labels("classes"))
    label, rule = printable(document["label"]), printable(document["hypothesis"])
    rule = rule.replace(" >= ", " ≥ ").replace(" <= ", " ≤ ")
    answer = f"The chosen rule: {label} is {_value(second)} where {rule}, and {_value(first)} elsewhere."
    guess = f"This is a rule of thumb for all {words.many} together. It does not hold for every {words.one}."
    sure = f"Noise was added to the choice, so another rule may fit better. {_NOT_MEASURED}"
    holds = f"{label} is {_value(second)}", f"{label} is {_value(first)}"
    return Body(answer, sure, decision("The chosen rule", rule, holds), remarks=(guess, chosen))


def _value(name: str) -> str:
    """A class in a sentence: true and false as words."""
    return name.lower() if name in {"True", "False"} else f"“{name}”"


def _weights(document: Document) -> tuple[Chart, tuple[Chart, ...], tuple[PageTable, ...]]:
    """Charts and table of a linear model's weights, the largest first, and the intercept last."""
    features, coefficients = document.values("features"), document.numbers("coef")
    if len(features) != len(coefficients):
        raise Altered
    weights = [(printable(name), weight) for name, weight in zip(features, coefficients, strict=True)]
    weights.sort(key=lambda pair: -abs(pair[1]))
    caption = "Weights, the largest in absolute value first; they depend on the scales of the features"
    charts = first_and_all(caption, [Bar(name, w, f"{w:.4g}") for name, w in weights])
    names, values = zip(*weights, ("(intercept)", document.number("intercept")), strict=True)
    columns = {"Feature": names, "Weight": [f"{value:.6g}" for value in values]}
    return *charts, (PageTable("The weights in numbers", columns),)


def _two(classes: Sequence[Label]) -> tuple[str, str]:
    if len(classes) != 2:
        raise Altered
    return printable(classes[0]), printable(classes[1])


_BODIES: dict[str, Callable[[Document, UnitWords], Body]] = {
    "top-itemset": top_itemsets,
    "frequent-itemsets": frequent_itemsets,
    "compare": comparison,
    "histogram": _histogram,
    "classify": _classifier,
    "regress": _regression,
    "accuracy-first": _accuracy_first,
    "hypothesis": _hypothesis,
}
