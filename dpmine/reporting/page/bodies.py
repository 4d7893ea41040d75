"""What the page says of a job's result: the answer, how sure it is, and the charts and tables that show it.

`render.py` calls `body_of` with the stored document.
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil
from re import sub
from typing import TYPE_CHECKING

from dpmine.markup import printable
from dpmine.reporting.document import Altered, Document
from dpmine.reporting.jobs.file import UnitWords
from dpmine.reporting.page.body import CERTAIN, INTERVAL, Body, PageTable, percent, possibly_larger, quoted, spaced
from dpmine.reporting.page.charts import Bar, decision, first_and_all, steps
from dpmine.reporting.page.comparison import comparison
from dpmine.reporting.page.itemsets import frequent_itemsets, top_itemsets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpmine.reporting.document import Label
    from dpmine.reporting.page.charts import Chart

_NOT_MEASURED = "How well it predicts was not measured: that would take more of the budget."
_UNNAMED = UnitWords("unit", "units")
_UNQUOTED = str.maketrans("", "", "“”")


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
    column, names = quoted(document["column"]), _bin_names(edges, whole=whole)
    width, rows_per_unit = document.number("bin_width"), document.whole("rows_per_unit", 0)
    counted = words.many if rows_per_unit == 1 else "rows"
    caption = (
        f"Number of {counted} in each range of {column}, with noise. Missing values are in the first range. Where "
        "the intervals of two ranges overlap, the true order may be the other way round."
    )
    columns = {
        "Range": names,
        "Share": [percent(share, 1) for share in shares],
        f"{counted.capitalize()}, about": [f"{count:,.0f}" for count in counts],
    }
    among = ", ".join(f"{bins:.0f}" for bins in document.numbers("candidates"))
    chosen = f", chosen by {spaced(document['mechanism'])} among {among}" if document.has("mechanism") else ""
    meaning = (
        f"{counted.capitalize()}, about: how many {counted} have a value in the range, with noise; 0 where noise "
        f"brought it below 0. Share: of this column’s sum before rounding, not of all {counted}."
    )
    if rows_per_unit:
        kept = "one of them, drawn at random, counts" if rows_per_unit == 1 else f"{rows_per_unit} random ones count"
        meaning = f"{meaning} Should a {words.one} have several rows in this input, {kept}. All are protected."
    sure, margin, error = "", "", 0.0
    if document.has("count_error"):
        error = document.number("count_error")
        first, *others = sorted(counts, reverse=True)
        rivals = possibly_larger(first - error, [other + error for other in others], ("other bar", "other bars"))
        beyond = f"The first bar is “{names[0]}”, the last “{names[-1]}”."
        around = ceil(error + max(abs(n - round(n)) for n in counts))  # the numbers are shown rounded
        empty = " A bar at 0 does not mean that there are none." if round(min(counts)) <= 0 else ""
        sure = f"Each number is right within ±{around:,} {counted}, {CERTAIN}.{rivals}{empty} {beyond}"
        margin = f"±{around:,} "
        columns[INTERVAL] = [f"{max(0, round(n) - around):,} to {round(n) + around:,}" for n in counts]
    return Body(
        f"The most frequent range of {column}: {_peak(names, counts, shares, f'{margin}{counted}')}",
        sure or "Every number has noise; its size is not in the stored result.",
        steps(caption, edges, counts, (spaced(document["column"]), f"{counted}, with noise"), error),
        tables=(PageTable("The ranges in numbers", columns, meaning=meaning),),
        remarks=(f"{len(shares)} ranges (bins) of width {width:g}{chosen}.{_uneven(edges) if whole else ''}",),
    )


def _peak(names: Sequence[str], counts: Sequence[float], shares: Sequence[float], counted: str) -> str:
    """The highest bin. The first and the last also hold values beyond the bounds: then the highest between follows."""
    inner = range(1, len(shares) - 1)
    peak = max(range(len(shares)), key=shares.__getitem__)
    answer = f"{names[peak]}, about {counts[peak]:,.0f} {counted}."
    if peak in inner or not inner:
        return answer
    best = max(inner, key=shares.__getitem__)
    return f"{answer} Of the inner ranges, “{names[best]}” is the most frequent, with about {counts[best]:,.0f}."


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
    return " Some ranges hold more whole numbers than others, and so look fuller: take bins that divide upper - lower."


def _classifier(document: Document, _words: UnitWords) -> Body:
    classes = document.labels("classes")
    if len(classes) > 2:
        return _several_classes(document, classes)
    first, second = _two(classes)
    label = quoted(document["label"])
    question = f"whether {label} is {_value(second)} or {_value(first)}"
    answer = f"A weighted sum of {len(document.numbers('coef'))} features predicts {question}."
    remark = f"Regulariser λ = {document.number('lambda'):g}. A positive weight speaks for {_value(second)}."
    return Body(answer, _NOT_MEASURED, *_weights(document), remarks=(remark,))


def _regression(document: Document, _words: UnitWords) -> Body:
    answer = f"A weighted sum of {len(document.numbers('coef'))} features predicts {quoted(document['label'])}."
    remark = f"Regulariser λ = {document.number('regularization'):g}."
    return Body(answer, _NOT_MEASURED, *_weights(document), remarks=(remark,))


def _several_classes(document: Document, classes: Sequence[Label]) -> Body:
    label = quoted(document["label"])
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
    label, requested = quoted(document["label"]), document.part("requested")
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
        f"The rule was chosen among {spaced(document.part('class')['name'])}, with noise, by the mechanism "
        f"{quoted(document['mechanism'])}."
    )
    if not document.has("hypothesis"):
        return Body("No rule stands out clearly enough to be shown.", "No rule led by enough.", remarks=(chosen,))
    first, second = _two(document.labels("classes"))
    label, rule = quoted(document["label"]), _in_words(document["hypothesis"])
    answer = (
        f"Rule of thumb, not tested: where {rule}, guess that {label} is {_value(second)}, elsewhere {_value(first)}."
    )
    sure = (
        f"Do not rely on it for a single {words.one}. Another rule may fit better, because this one was chosen with "
        f"noise. {_NOT_MEASURED}"
    )
    holds = [f"{spaced(document['label'])} is {_value(each)}" for each in (second, first)]
    return Body(answer, sure, decision("The chosen rule", rule.translate(_UNQUOTED), holds), remarks=(chosen,))


def _in_words(rule: object) -> str:
    """A rule without signs: “age” is 50 or more."""
    words = sub(r"^(\S+) <= (.+) < (\S+)$", r"“\2” is at least \1 and below \3", spaced(rule))
    for sign, meaning in {">=": r"\2 or more", "<=": r"\2 or less", "<": r"below \2", ">": r"above \2"}.items():
        words = sub(rf"^(.+) {sign} (\S+)$", rf"“\1” is {meaning}", words)
    return words


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
