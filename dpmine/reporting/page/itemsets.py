"""What the page says of itemsets: the top ones and the frequent ones, with their supports and rules."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from dpmine.itemsets.release.picture import MOST_RULES
from dpmine.options.tables import as_keys
from dpmine.reporting.document import Altered
from dpmine.reporting.page.body import CERTAIN, INTERVAL, Body, PageTable, names_of, percent, possibly_larger, quoted
from dpmine.reporting.page.charts import FIRST_BARS, Bar, Spot, first_and_all, scatter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.reporting.document import Document
    from dpmine.reporting.jobs.file import UnitWords
    from dpmine.reporting.page.charts import Chart


_LARGEST_ALONE = "What one of these contains is left out. "
_FEWER = "Fewer are listed than were asked for: others may be as frequent, but do not stand out from the noise."
_NEEDED = "The result's file says what it would have taken."


def top_itemsets(document: Document, words: UnitWords) -> Body:
    """The chosen itemsets: with supports by these, else in the order of the choice."""
    rows = document.parts("itemsets")
    chosen_by = f"The list was chosen with noise, by the mechanism {quoted(document['mechanism'])}."
    if not rows:
        sure = "No itemset led by enough. Whether that is so was decided with noise, too."
        return Body("Nothing stands out clearly enough to be shown.", sure, remarks=(_NEEDED, chosen_by))
    body = (
        _unnumbered(rows)
        if not rows[0].has("noisy_support")
        else _numbered(rows, words, together=document.has("subsets"))
    )
    return replace(
        body,
        sure=f"{body.sure} One that is not listed may be first, too: the list was chosen with noise.",
        charts=(*body.charts, *_rule_charts(document, words)),
        tables=(*body.tables, *_rule_tables(document, words)),
        remarks=(*body.remarks, *([_FEWER] if document.text("advice", "") else []), chosen_by),
    )


def _unnumbered(rows: Sequence[Document]) -> Body:
    """Itemsets without supports, in the order of the choice."""
    names = [names_of(row.labels("items")) for row in rows]
    ranks = [str(place) for place in range(1, len(rows) + 1)]
    table = PageTable("Itemsets, in the order of the choice", {"Rank": ranks, "Items": names}, numbers=2)
    first = f"{names[0]} was chosen first of {len(rows)} listed." if len(rows) > 1 else f"{names[0]} stands out."
    return Body(first, "No numbers were asked for.", tables=(table,))


def _numbered(rows: Sequence[Document], words: UnitWords, *, together: bool) -> Body:
    """Itemsets with noisy supports, in their order; the intervals hold `together`, or each by itself."""
    rows = sorted(rows, key=lambda row: -row.whole("noisy_support"))
    names = [names_of(row.labels("items")) for row in rows]
    first, *others = (row.whole("noisy_support") for row in rows)
    leaders = names[: 1 + others.count(first)]
    size = len(rows[0].labels("items"))
    these = "each of them" if len(leaders) > 1 else "it" if size == 1 else "both" if size == 2 else "all of these"
    error = max(abs(row.whole("noisy_support") - end) for row in rows for end in row.pair("interval"))
    share = around = ""
    if first > 0 and rows[0].has("support"):
        part = rows[0].number("support")
        share = f" ({percent(part, 1)} of all)"
        around = f" (±{percent(ceil(1000 * error * part / first) / 1000, 1)} of all)"
    order = (
        "Ranks and bars follow the noisy numbers. The list was chosen first, perhaps in another order, which the "
        "result's files keep."
    )
    return Body(
        f"{_leads(leaders, len(rows))}. About {first:,} ±{error:,} {words.many}{share} have {these} in a basket.",
        f"{'All numbers together are' if together else 'Each number is'} right within ±{error:,} {words.many}"
        f"{around}, {CERTAIN}.{_rivals(rows)}",
        *_support_charts(rows, names, words, together=together),
        (_support_table(rows, names, words),),
        (order,),
        together,
    )


def frequent_itemsets(document: Document, words: UnitWords) -> Body:
    """All itemsets of some support, or the best k, with what the list may lack."""
    rows, advice = document.parts("itemsets"), as_keys(document.text("advice", ""))
    listed_from = document.whole("threshold") if document.has("threshold") else None
    if not rows:
        least = "" if listed_from is None else f" of {listed_from:,} {words.many} or more"
        lacking = f"{CERTAIN.capitalize()}, {_lacking(document, words)}"
        return Body(f"No itemset has a noisy number{least}.", lacking, remarks=(advice,))
    names = [names_of(row.labels("items")) for row in rows]
    table = _support_table(rows, names, words)
    certain = ""
    if listed_from is not None:
        sure = [row.flag("certain") for row in rows]
        certain = f"{sum(sure):,} of them surely have {listed_from:,} or more. "
        table = replace(
            table,
            columns={**table.columns, "Surely": ["yes" if each else "likely" for each in sure]},
            meaning=f"{table.meaning} Surely: whether the whole interval reaches {listed_from:,}.",
        )
    alone = document.flag("maximal_only", default=False)
    largest = f"{names[0]} has the largest number, about {rows[0].whole('noisy_support'):,}."
    picture, charts = _support_charts(rows, names, words, together=True)
    return Body(
        f"{_how_many(len(rows), listed_from, words)} {_LARGEST_ALONE if alone else ''}{largest}",
        f"{certain}{CERTAIN.capitalize()}, all true numbers are in their intervals, and {_lacking(document, words)}"
        f"{_rivals(rows)}",
        picture,
        (*charts, *_rule_charts(document, words)),
        (table, *_rule_tables(document, words)),
        (advice,) if advice else (),
        together=True,
    )


def _rivals(rows: Sequence[Document]) -> str:
    """Which others may be above the first row."""
    (low, _), *others = (row.pair("interval") for row in rows)
    return possibly_larger(low, [upper for _, upper in others], ("other of the list", "others of the list"))


def _how_many(listed: int, threshold: int | None, words: UnitWords) -> str:
    sets = "1 itemset has" if listed == 1 else f"{listed:,} itemsets have"
    if threshold is None:
        return f"{sets} the largest noisy numbers of {words.many}."
    return f"{sets} a noisy number of {threshold:,} {words.many} or more."


def _lacking(document: Document, words: UnitWords) -> str:
    """What the list may lack."""
    if not document.has("complete_above"):
        return "nothing is said of what is not listed, as no item was found."
    items = document.whole("counted_items")
    size = min(document.whole("max_size"), items)
    return (
        f"no itemset of up to {size} of the {items:,} counted items has more than "
        f"{document.whole('complete_above'):,} {words.many}, beside these and their subsets. Nothing is said of items "
        "that were not counted."
    )


def _support_charts(
    rows: Sequence[Document], names: Sequence[str], words: UnitWords, *, together: bool
) -> tuple[Chart, tuple[Chart, ...]]:
    caption = (
        f"Noisy number of {words.many} that have these items in one basket; each {words.one} counts once. The thin "
        f"lines of the picture are the intervals of the table{', which hold all together' if together else ''}. Where "
        "two lines overlap, the true order may be the other way round."
    )
    return first_and_all(caption, [_support_bar(row, name) for row, name in zip(rows, names, strict=True)])


def _leads(names: Sequence[str], listed: int) -> str:
    """The first of the list; several that are level lead it together."""
    if listed == 1:
        return f"{names[0]} stands out"
    drawn = f" ({FIRST_BARS} are drawn here)" if listed > FIRST_BARS else ""
    if len(names) == 1:
        return f"{names[0]} leads the {listed} listed{drawn}"
    return f"{' and '.join(names)} lead the {listed} listed{drawn}"


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
        INTERVAL: [f"{low:,} to {high:,}" for low, high in (row.pair("interval") for row in rows)],
    }
    meaning = (
        "Rank is the place by the noisy number; equal numbers share one. "
        f"{words.many.capitalize()}, about: how many {words.many} have all of these items in one basket, with noise."
    )
    if rows[0].has("support"):
        columns["Share"] = [percent(row.number("support"), 1) for row in rows]
        meaning = f"{meaning} Share: the same number in per cent of all {words.many}."
    return PageTable("Itemsets, by noisy number", columns, numbers=2, meaning=meaning)


def _rule_charts(document: Document, words: UnitWords) -> tuple[Chart, ...]:
    """The surest rules by support and confidence, each in the rectangle of its intervals."""
    rules = document.parts("rules", [])[:MOST_RULES]
    if not rules:
        return ()
    rows = [*document.parts("itemsets"), *document.parts("subsets", [])]
    known = {frozenset(row.labels("items")): row for row in rows}
    spots = []
    for rule in rules:
        both = known.get(frozenset((*rule.labels("antecedents"), *rule.labels("consequents"))))
        if both is None:
            raise Altered
        left, right = both.pair("interval")
        low, value, high = (100 * rule.number(f"confidence{end}") for end in ("_low", "", "_high"))
        spots.append(Spot((float(left), both.number("noisy_support"), float(right)), (low, value, high)))
    caption = (
        f"Rules by the noisy number of {words.many} with all their items (across) and by confidence (up). The numbers "
        f"at the points are those of the table of rules, of which at most {MOST_RULES} are drawn. Each rectangle holds "
        f"the true values of its rule, all of them together {CERTAIN}. The smaller a rectangle, the surer its rule."
    )
    return (scatter(caption, spots, (f"{words.many} with all items of the rule", "confidence, %")),)


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
        "No.": [str(number) for number in range(1, len(rules) + 1)],
        left: [names_of(rule.labels("antecedents")) for rule in rules],
        right: [names_of(rule.labels("consequents")) for rule in rules],
        "about": [percent(rule.number("confidence")) for rule in rules],
        INTERVAL: [
            f"{100 * rule.number('confidence_low'):.0f} to {percent(rule.number('confidence_high'))}" for rule in rules
        ],
    }
    meaning = _SEVERAL_BASKETS if several else _ONE_BASKET
    if any(rule.has("lift") for rule in rules):
        columns["lift"] = [f"{rule.number('lift'):.3g}" if rule.has("lift") else "" for rule in rules]
        lift = _LIFT_OF_UNIONS if several else _LIFT
        meaning = f"{meaning} {lift} It is 1 where the items on the left make no difference."
    meaning = meaning.format(many=words.many, one=words.one)
    many = len(rules) > MOST_RULES  # they are shown when asked for
    return (PageTable("Association rules, the surest first", columns, numbers=3, folded=many, meaning=meaning),)


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
