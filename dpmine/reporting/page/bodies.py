"""What the page says of a job's result: the answer, how sure it is, and the charts and tables that show it.

`render.py` calls `body_of` with the stored document; the texts of all kinds of jobs stand here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, floor
from typing import TYPE_CHECKING

from dpmine.itemsets.release.noise import LEVEL
from dpmine.itemsets.release.results import printable
from dpmine.options.tables import as_keys
from dpmine.reporting.document import Altered, Document
from dpmine.reporting.jobs.file import UnitWords
from dpmine.reporting.page.charts import Bar, bars, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpmine.reporting.document import Label
    from dpmine.reporting.page.charts import Chart


_NOT_MEASURED = "How well it predicts was not measured: that needs a charge of its own."
_INTERVAL = "Interval"
_LONGEST = 400  # characters of an itemset
_UNNAMED = UnitWords("unit", "units")


def percent(share: float, digits: int = 0) -> str:
    """The share in per cent, as the pages write it: 95 %."""
    return f"{100 * share:.{digits}f} %"


CERTAIN = f"with probability {percent(float(LEVEL))}"


@dataclass(frozen=True, slots=True)
class PageTable:
    """Columns of texts, equally long, by their heads; those from `numbers` on are aligned as numbers.

    A `folded` one is shown when asked for. `meaning` says in plain words what the columns hold.
    """

    caption: str
    columns: Mapping[str, Sequence[str]]
    numbers: int = 1
    folded: bool = False
    meaning: str = ""

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The texts, row by row."""
        return tuple(zip(*self.columns.values(), strict=True))


@dataclass(frozen=True, slots=True)
class Body:
    """The answer of a job in a sentence, how sure it is, and what shows it."""

    answer: str
    sure: str = ""
    charts: tuple[Chart, ...] = ()
    tables: tuple[PageTable, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def intervals(self) -> bool:
        """Whether a table shows where the true numbers are."""
        return any(_INTERVAL in table.columns for table in self.tables)


def body_of(kind: str, document: Mapping[str, object], words: UnitWords = _UNNAMED) -> Body:
    """What is shown of a result; one that was changed by hand must not take the others with it.

    `words` is how sentences call the privacy unit.
    """
    try:
        return _BODIES[kind](Document(document), words)
    except Altered:
        return Body("The stored result cannot be shown: restore its file, or delete it to run the job again.")


def _top_itemsets(document: Document, words: UnitWords) -> Body:
    rows, advice = document.parts("itemsets"), as_keys(document.text("advice", ""))
    chosen_by = f"Mechanism of the choice: {_words(document['mechanism'])}."
    if not rows:
        sure = "No itemset led by enough. Whether that is so was decided with noise, too."
        return Body("Nothing stands out clearly enough to be shown.", sure, remarks=(advice, chosen_by))
    body = (
        _unnumbered(rows)
        if not rows[0].has("noisy_support")
        else _numbered(rows, words, together=document.has("subsets"))
    )
    return replace(
        body,
        sure=f"{body.sure} Others that are as frequent, or more frequent, may be missing.",
        tables=(*body.tables, *_rule_tables(document, words)),
        remarks=(*body.remarks, *([f"Nothing else stands out. {advice}"] if advice else []), chosen_by),
    )


def _unnumbered(rows: Sequence[Document]) -> Body:
    """Itemsets without supports, in the order of the choice."""
    names = [_names(row.labels("items")) for row in rows]
    ranks = [str(place) for place in range(1, len(rows) + 1)]
    table = PageTable("Itemsets, in the order of the choice", {"Rank": ranks, "Items": names}, numbers=2)
    first = f"{names[0]} was chosen first of {len(rows)} listed." if len(rows) > 1 else f"{names[0]} stands out."
    return Body(first, "No numbers were asked for.", tables=(table,))


def _numbered(rows: Sequence[Document], words: UnitWords, *, together: bool) -> Body:
    """Itemsets with noisy supports, in their order; the intervals hold `together`, or each by itself."""
    rows = sorted(rows, key=lambda row: -row.whole("noisy_support"))
    names = [_names(row.labels("items")) for row in rows]
    first, *others = (row.whole("noisy_support") for row in rows)
    leaders = names[: 1 + others.count(first)]
    size = len(rows[0].labels("items"))
    these = "each of them" if len(leaders) > 1 else "it" if size == 1 else "both" if size == 2 else "all of these"
    error = max(abs(row.whole("noisy_support") - end) for row in rows for end in row.pair("interval"))
    caption = (
        f"Noisy number of {words.many} that have these items in one basket; each {words.one} counts once. The thin "
        f"lines are the intervals of the table{', which hold all together' if together else ''}. Where two lines "
        "overlap, the true order may be the other way round."
    )
    order = (
        "Ranks and bars follow the noisy numbers. A separate choice, with noise of its own, decided what is listed. "
        "Its order may differ, and is in the result's files: the noisy numbers are the better guide to sizes."
    )
    return Body(
        f"{_leads(leaders, len(rows))}. About {first:,} {words.many} have {these} in a basket.",
        f"{'All numbers together are' if together else 'Each number is'} right within ±{error:,} {words.many}, "
        f"{CERTAIN}.",
        (bars(caption, [_support_bar(row, name) for row, name in zip(rows, names, strict=True)]),),
        (_support_table(rows, names, words),),
        (order,),
    )


def _leads(names: Sequence[str], listed: int) -> str:
    """The first of the list; several that are level lead it together."""
    if listed == 1:
        return f"{names[0]} stands out"
    if len(names) == 1:
        return f"{names[0]} has the largest noisy number of {listed} listed"
    return f"{' and '.join(names)} have the largest noisy number of {listed} listed"


def _support_bar(row: Document, name: str) -> Bar:
    low, high = row.pair("interval")
    value = row.whole("noisy_support")
    return Bar(name, max(0, value), f"{value:,}", (max(0.0, float(low)), max(0.0, float(high))))


def _support_table(rows: Sequence[Document], names: Sequence[str], words: UnitWords) -> PageTable:
    numbers = [row.whole("noisy_support") for row in rows]
    columns = {
        "Rank": [str(1 + numbers.index(number)) for number in numbers],  # equal numbers share a rank
        "Items": names,
        f"{words.many.capitalize()}, about": [f"{number:,}" for number in numbers],
        _INTERVAL: [f"{low:,} to {high:,}" for low, high in (row.pair("interval") for row in rows)],
    }
    meaning = (
        "Rank: the place by the noisy number; equal numbers share one. "
        f"{words.many.capitalize()}, about: how many {words.many} have all of these items in one basket, with noise."
    )
    if rows[0].has("support"):
        share = f"Share of all {words.many}"
        columns[share] = [percent(row.number("support"), 1) for row in rows]
        meaning = f"{meaning} {share}: the same number in per cent."
    return PageTable("Itemsets, by noisy number", columns, numbers=2, meaning=meaning)


def _rule_tables(document: Document, words: UnitWords) -> tuple[PageTable, ...]:
    rules = document.parts("rules", [])
    if not rules:
        return ()
    several = document.flag("several_baskets")
    left, right = (
        (f"{words.many.capitalize()} with, at least once", "also had in the same basket, at least once")
        if several
        else (f"Of {words.many} with", "also have")
    )
    columns = {
        left: [_names(rule.labels("antecedents")) for rule in rules],
        right: [_names(rule.labels("consequents")) for rule in rules],
        "about": [percent(rule.number("confidence")) for rule in rules],
        _INTERVAL: [
            f"{100 * rule.number('confidence_low'):.0f} to {percent(rule.number('confidence_high'))}" for rule in rules
        ],
    }
    meaning = _SEVERAL_BASKETS if several else _ONE_BASKET
    if any(rule.has("lift") for rule in rules):
        columns["lift"] = [f"{rule.number('lift'):.3g}" if rule.has("lift") else "" for rule in rules]
        lift = _LIFT_OF_UNIONS if several else _LIFT
        meaning = f"{meaning} {lift} It is 1 where the items on the left make no difference."
    meaning = meaning.format(many=words.many, one=words.one)
    return (PageTable("Association rules, by confidence", columns, numbers=2, meaning=meaning),)


_ONE_BASKET = (
    "About: of the {many} that have the items on the left, the share that also has those of the second column, with "
    "noise. This is the confidence of the rule. All intervals hold together."
)
_SEVERAL_BASKETS = (
    "About: a share of the {many} that have had the items on the left in one basket. It counts those that have had the "
    "items of both columns in one basket, with noise. This is the confidence of the rule. All intervals hold together. "
    "More {many} may have had both in different baskets: a job without basket counts all that a {one} has had."
)
_LIFT = "Lift: that share, divided by the share of all {many} that have the items of the second column."
_LIFT_OF_UNIONS = (
    "Lift is about all that a {one} has had, in whatever baskets. Take the {many} that have had the items on the left. "
    "The share of these that have also had the items of the second column is divided by the same share of all {many}."
)


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
        f"Share of the {counted} in each bin of {column}, with noise. The first and the last bin also hold everything "
        "beyond the bounds, and the first one missing values. Where the intervals of two bins overlap, the true order "
        "may be the other way round."
    )
    columns = {
        "Bin": names,
        "Share": [percent(share, 1) for share in shares],
        f"{counted.capitalize()}, about": [f"{count:,.0f}" for count in counts],
    }
    among = ", ".join(f"{bins:.0f}" for bins in document.numbers("candidates"))
    chosen = f", chosen by {_words(document['mechanism'])} among {among}" if document.has("mechanism") else ""
    meaning = (
        f"{counted.capitalize()}, about: how many {counted} have a value in the bin, with noise; 0 where noise brought "
        "it below 0. Share: that number in per cent of the sum of the column."
    )
    if rows_per_unit:
        kept = "1 row" if rows_per_unit == 1 else f"{rows_per_unit} rows"
        meaning = f"{meaning} Only rows that were kept count: of every {words.one} at most {kept}, drawn at random."
    sure = ""
    if document.has("count_error"):
        error = document.number("count_error")
        sure = f"Each number is right within ±{ceil(error):,} {counted}, {CERTAIN}."
        columns[_INTERVAL] = [f"{max(0, floor(n - error)):,} to {ceil(n + error):,}" for n in counts]
    return Body(
        f"The bin of {column} with the largest noisy number is {_peak(names, shares, counted)}.",
        sure or "Every bin has noise; its size is not in the stored result.",
        (steps(caption, edges, [100 * share for share in shares], column, "%"),),
        (PageTable("The bins in numbers", columns, folded=True, meaning=meaning),),
        (f"{len(shares)} bins of width {document.number('bin_width'):g}{chosen}.{_uneven(edges) if whole else ''}",),
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
    return Body(answer, _NOT_MEASURED, *_weights(document), (remark,))


def _regression(document: Document, _words: UnitWords) -> Body:
    answer = f"A weighted sum of {len(document.numbers('coef'))} features predicts {printable(document['label'])}."
    remark = f"Regulariser λ = {document.number('regularization'):g}."
    return Body(answer, _NOT_MEASURED, *_weights(document), (remark,))


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
    table = PageTable("The weights for each value", columns, folded=True)
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
        f"Mechanism of the choice: {_words(document['mechanism'])}, among {_words(document.part('class')['name'])}."
    )
    if not document.has("hypothesis"):
        return Body("No rule stands out clearly enough to be shown.", "No rule led by enough.", remarks=(chosen,))
    first, second = _two(document.labels("classes"))
    label, rule = printable(document["label"]), printable(document["hypothesis"])
    rule = rule.replace(" >= ", " ≥ ").replace(" <= ", " ≤ ")
    answer = f"The chosen rule: {label} is {_value(second)} where {rule}, and {_value(first)} elsewhere."
    guess = f"This is a rule of thumb for all {words.many} together. It does not hold for every {words.one}."
    sure = f"Noise was added to the choice, so another rule may fit better. {_NOT_MEASURED}"
    return Body(answer, sure, remarks=(guess, chosen))


def _value(name: str) -> str:
    """A class in a sentence: true and false as words."""
    return name.lower() if name in {"True", "False"} else f"“{name}”"


def _weights(document: Document) -> tuple[tuple[Chart, ...], tuple[PageTable, ...]]:
    """Chart and table of a linear model's weights, the largest first, and the intercept last."""
    features, coefficients = document.values("features"), document.numbers("coef")
    if len(features) != len(coefficients):
        raise Altered
    weights = [(printable(name), weight) for name, weight in zip(features, coefficients, strict=True)]
    weights.sort(key=lambda pair: -abs(pair[1]))
    caption = "Weights, the largest in absolute value first; they depend on the scales of the features"
    chart = bars(caption, [Bar(name, w, f"{w:.4g}") for name, w in weights])
    names, values = zip(*weights, ("(intercept)", document.number("intercept")), strict=True)
    columns = {"Feature": names, "Weight": [f"{value:.6g}" for value in values]}
    return (chart,), (PageTable("The weights in numbers", columns, folded=True),)


def _two(classes: Sequence[Label]) -> tuple[str, str]:
    if len(classes) != 2:
        raise Altered
    return printable(classes[0]), printable(classes[1])


def _names(items: Sequence[Label]) -> str:
    named = " + ".join(map(printable, items))
    return named if len(named) <= _LONGEST else f"{named[:_LONGEST]}…"


def _words(name: object) -> str:
    return printable(name).replace("_", " ")


_BODIES: dict[str, Callable[[Document, UnitWords], Body]] = {
    "top-itemset": _top_itemsets,
    "histogram": _histogram,
    "classify": _classifier,
    "regress": _regression,
    "accuracy-first": _accuracy_first,
    "hypothesis": _hypothesis,
}
