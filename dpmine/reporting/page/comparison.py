"""What the page says of a comparison: the share of each group that has an itemset, and how far apart groups are."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING

from dpmine.markup import printable
from dpmine.reporting.document import Altered
from dpmine.reporting.page.body import CERTAIN, INTERVAL, Body, PageTable, names_of, spaced
from dpmine.reporting.page.charts import Bar, first_and_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.reporting.document import Document
    from dpmine.reporting.jobs.file import UnitWords
    from dpmine.reporting.page.charts import Chart


_NOTHING = "Nothing stands out in any of the groups clearly enough to be compared."


def comparison(document: Document, words: UnitWords) -> Body:
    """The itemsets that differ first, by the size of the difference; tables of every two groups."""
    groups = [printable(group["name"]) for group in document.parts("groups")]
    rows = document.parts("itemsets")
    sizes = _sizes(document, words)
    disjoint = (
        f"Each {words.one} is in one group only: the job file asserts this, and nothing checks it. One in k groups "
        "would be protected by k times the budget of this result."
    )
    mechanism = document["mechanism"]
    by = (
        "The job file names the itemsets"
        if mechanism == "given"
        else f"Each group chose itemsets by {spaced(mechanism)}"
    )
    chosen = f"{by}. Every group then counted all of them, with noise of its own."
    remarks = (disjoint, chosen)
    if not rows:
        return Body(_NOTHING, "Whether that is so was decided with noise, too.", tables=(sizes,), remarks=remarks)
    if len(groups) < 2 or any(len(row.parts("shares")) != len(groups) for row in rows):
        raise Altered
    pairs = [(first, second) for place, first in enumerate(groups) for second in groups[place + 1 :]]
    if any(len(row.parts("differences")) != len(pairs) for row in rows):
        raise Altered
    tables = tuple(_table(rows, groups, pair, place, words) for place, pair in enumerate(pairs))
    sure = f"All shares and differences are in their intervals, all of them together, {CERTAIN}."
    return Body(_answer(rows, groups, pairs), sure, *_charts(rows, *pairs[0]), (*tables, sizes), remarks, together=True)


def _answer(rows: Sequence[Document], groups: Sequence[str], pairs: Sequence[tuple[str, str]]) -> str:
    """How many itemsets clearly differ, and the one that differs most."""
    clear = [row for row in rows if any(map(_is_clear, row.parts("differences")))]
    between = f"between {groups[0]} and {groups[1]}" if len(pairs) == 1 else f"between {len(groups)} groups"
    if not clear:
        itemsets = "1 itemset" if len(rows) == 1 else f"{len(rows)} itemsets"
        return f"No share of {itemsets} clearly differs {between}."
    apart = [
        (abs(each.number("difference")), row, place)
        for row in clear
        for place, each in enumerate(row.parts("differences"))
        if _is_clear(each)
    ]
    _, row, place = max(apart, key=lambda each: each[0])
    shares = {group: share.number("share") for group, share in zip(groups, row.parts("shares"), strict=True)}
    said = " and ".join(f"{_percent(shares[group])} % in {group}" for group in pairs[place])
    differ = "1 itemset has" if len(clear) == 1 else f"{len(clear)} itemsets have"
    return f"{differ} clearly different shares {between}. The most: {names_of(row.labels('items'))}, {said}."


def _table(
    rows: Sequence[Document], groups: Sequence[str], pair: tuple[str, str], place: int, words: UnitWords
) -> PageTable:
    """Two groups, the clear differences first."""
    ranked = _ranked(rows, place)
    first, second = map(groups.index, pair)
    differences = [row.parts("differences")[place] for row in ranked]
    columns = {
        "Items": [names_of(row.labels("items")) for row in ranked],
        f"Share in {pair[0]}": [_share(row.parts("shares")[first]) for row in ranked],  # no name may be another head
        f"Share in {pair[1]}": [_share(row.parts("shares")[second]) for row in ranked],
        "Difference": [_points(100 * each.number("difference")) for each in differences],
        INTERVAL: [" to ".join(map(_points, _outwards(each))) for each in differences],
        "Differs": ["yes" if _is_clear(each) else "not clear" for each in differences],
    }
    meaning = (
        f"Shares are of the {words.many} of each group, in per cent, with their intervals. Difference: {pair[0]} minus "
        f"{pair[1]}, in percentage points. The groups differ where the interval has no 0."
    )
    return PageTable(f"{pair[0]} and {pair[1]}", columns, folded=place > 0, meaning=meaning)


def _charts(rows: Sequence[Document], first: str, second: str) -> tuple[Chart, tuple[Chart, ...]]:
    caption = (
        f"Share in {first} minus share in {second}, in percentage points. The thin lines are the intervals of the "
        "table, which hold all together. Where a line does not cross 0, the groups differ."
    )
    drawn = []
    for row in _ranked(rows, 0):
        difference = row.parts("differences")[0]
        points = 100 * difference.number("difference")
        drawn.append(Bar(names_of(row.labels("items")), points, _points(points), _ends(difference)))
    return first_and_all(caption, drawn)


def _ranked(rows: Sequence[Document], place: int) -> list[Document]:
    """Clear differences first, then by their size."""

    def rank(row: Document) -> tuple[bool, float]:
        difference = row.parts("differences")[place]
        return not _is_clear(difference), -abs(difference.number("difference"))

    return sorted(rows, key=rank)


def _sizes(document: Document, words: UnitWords) -> PageTable:
    groups = document.parts("groups")
    columns = {
        "Group": [printable(group["name"]) for group in groups],
        f"{words.many.capitalize()}, about": [f"{group.whole('units'):,}" for group in groups],
        INTERVAL: ["{:,} to {:,}".format(*group.pair("interval")) for group in groups],
    }
    return PageTable("The groups", columns)


def _share(share: Document) -> str:
    low, high = _outwards(share)
    return f"{_percent(share.number('share'))} ({max(0.0, low):.1f} to {high:.1f})"


def _points(number: float) -> str:
    """With a sign; no negative zero."""
    return f"{round(number, 1) + 0.0:+.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _ends(estimate: Document) -> tuple[float, float]:
    """The interval in per cent."""
    ends = estimate.numbers("interval")
    if len(ends) != 2:
        raise Altered
    return 100 * ends[0], 100 * ends[1]


def _outwards(estimate: Document) -> tuple[float, float]:
    """The interval in per cent with one digit, none of it lost."""
    low, high = _ends(estimate)
    return max(-100.0, floor(10 * low) / 10), min(100.0, ceil(10 * high) / 10)  # floats end just beyond 100 %


def _is_clear(difference: Document) -> bool:
    """Whether the interval has no 0."""
    low, high = _ends(difference)
    return low > 0 or high < 0
