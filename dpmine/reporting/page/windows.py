"""The windows of recurring jobs on a page: the result of each, which itemsets are in which, and what changed.

Everything is made of what was released, so it charges nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor
from typing import TYPE_CHECKING

from dpmine.itemsets.release.noise import LEVEL
from dpmine.markup import printable
from dpmine.reporting.document import Altered, Document
from dpmine.reporting.page.bodies import body_of
from dpmine.reporting.page.body import PageTable, names_of, percent
from dpmine.reporting.page.changes import KnownSupports, changes
from dpmine.reporting.page.charts import Outline, Panel, multiples, outlines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpmine.reporting.document import Label
    from dpmine.reporting.history import PastWindow, Timeline
    from dpmine.reporting.jobs.file import UnitWords
    from dpmine.reporting.page.body import Body
    from dpmine.reporting.page.changes import Change
    from dpmine.reporting.page.charts import Chart

_MOST_PANELS = 12


@dataclass(frozen=True, slots=True)
class Cell:
    """An itemset in one window.

    Attributes:
        text: what is written: the noisy support, or that the itemset is listed.
        margin: how far off it is at most, written; "" where it has no number.
        part: the support as a share of the largest one of the matrix, from 0 to 1.
    """

    text: str
    margin: str
    part: float


@dataclass(frozen=True, slots=True)
class Matrix:
    """Itemsets by windows.

    Attributes:
        caption: its title.
        windows: the names of the columns.
        rows: an itemset each, with a cell a window; None where the itemset is not listed.
        meaning: what the cells hold.
    """

    caption: str
    windows: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]
    meaning: str


@dataclass(frozen=True, slots=True)
class OneWindow:
    """The result of one window; the newest one is shown without being asked for."""

    window: str
    body: Body
    newest: bool


@dataclass(frozen=True, slots=True)
class JobInWindows:
    """What is shown of one job."""

    title: str
    windows: tuple[OneWindow, ...] = ()
    matrix: Matrix | None = None
    charts: tuple[Chart, ...] = ()
    tables: tuple[PageTable, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WindowsSection:
    """What is shown of all windows."""

    summary: str
    jobs: tuple[JobInWindows, ...]
    tables: tuple[PageTable, ...]


def windows_of(timeline: Timeline, kinds: Sequence[str], words: UnitWords) -> WindowsSection:
    """The section of a page.

    Args:
        timeline: the windows, in order.
        kinds: of the jobs, in their order.
        words: how sentences call the privacy unit.
    """
    windows = timeline.windows
    without = [window for window in windows if None in window.documents.values()]
    summary = (
        f"{len(windows)} windows from {windows[0].window} to {windows[-1].window}, {len(without)} without a result."
    )
    states = {"Window": [window.window for window in without], "Result": [_state(window) for window in without]}
    tables = (PageTable("Windows without a result", states, numbers=2),) if without else ()
    names = zip(windows[-1].documents, kinds, strict=True)
    return WindowsSection(summary, tuple(_shown(name, kind, windows, words) for name, kind in names), tables)


def _state(window: PastWindow) -> str:
    if any(window.documents.values()):
        return "not of every job"
    return "charged, without a result here" if window.charged else "not run, and not charged"


def _shown(name: str, kind: str, windows: Sequence[PastWindow], words: UnitWords) -> JobInWindows:
    stored = ((window.window, window.documents[name]) for window in windows)
    results = {window: Document(document) for window, document in stored if document is not None}
    if not results:
        return JobInWindows(name, remarks=("No window has a result.",))
    *_, newest = results
    try:
        shown = _OVER_TIME.get(kind, _side_by_side)(name, [window.window for window in windows], results)
    except Altered:
        return JobInWindows(name, remarks=("A stored result cannot be shown; restore its file.",))
    bodies = {window: body_of(kind, document.entries, words) for window, document in reversed(results.items())}
    return replace(shown, windows=tuple(OneWindow(each, body, each == newest) for each, body in bodies.items()))


def _rules(name: str, _windows: Sequence[str], results: Mapping[str, Document]) -> JobInWindows:
    """The rule of each window: two of them differ by noise, too, so no change is claimed."""
    rules = [document["hypothesis"] or "none stood out" for document in results.values()]
    columns = {"Window": list(results), "Rule": [printable(rule) for rule in rules]}
    remark = "Each rule was chosen with noise of its own. Two windows with different rules need not differ in truth."
    return JobInWindows(name, tables=(PageTable("The rule of each window", columns, numbers=2),), remarks=(remark,))


def _side_by_side(name: str, _windows: Sequence[str], _results: Mapping[str, Document]) -> JobInWindows:
    """Results that are shown, and not compared."""
    return JobInWindows(name, remarks=("Results of this kind are not compared.",))


def _densities(name: str, windows: Sequence[str], results: Mapping[str, Document]) -> JobInWindows:
    """One small histogram a window, on one scale."""
    drawn = [
        Outline(window, *_outline(results[window])) if window in results else Outline(window, [], [])
        for window in windows
    ]
    column = printable(next(iter(results.values()))["column"])
    caption = f"{column} by window, on one scale: the noisy number in each bin."
    remark = "Bins of two windows differ by noise, too. How exact the numbers of a window are is said with its result."
    return JobInWindows(name, charts=(outlines(caption, drawn),), remarks=(remark,))


def _outline(document: Document) -> tuple[list[float], list[float]]:
    edges, counts = document.numbers("edges"), document.numbers("counts")
    if not len(edges) == len(counts) + 1 > 1 or sorted(set(edges)) != edges:
        raise Altered
    return edges, counts


def _itemsets(name: str, windows: Sequence[str], results: Mapping[str, Document]) -> JobInWindows:
    """Which itemsets are in which window, with what numbers, and what changed."""
    known = {window: KnownSupports.of(document, len(results)) for window, document in results.items()}
    tables, remarks = _compared(known)
    matrix = _matrix(windows, results, known)
    return JobInWindows(name, matrix=matrix, charts=_charts(windows, results), tables=tables, remarks=remarks)


def _matrix(
    windows: Sequence[str], results: Mapping[str, Document], known: Mapping[str, KnownSupports]
) -> Matrix | None:
    listed = {
        window: [row.labels("items") for row in document.parts("itemsets")] for window, document in results.items()
    }
    itemsets = dict.fromkeys(items for window in reversed(listed) for items in listed[window])
    if not itemsets:
        return None
    largest = max([1, *(value for each in known.values() for value in each.values.values())])

    def cell(items: tuple[Label, ...], window: str) -> Cell | None:
        if window not in results:
            return Cell("no result", "", 0.0)
        value = known[window].values.get(items)
        if value is None:
            return Cell("listed", "", 0.0) if items in listed[window] else None
        return Cell(f"{value:,}", f"±{known[window].margin(items):,}", max(0, value) / largest)

    rows = tuple((names_of(items), tuple(cell(items, window) for window in windows)) for items in itemsets)
    return Matrix("Itemsets by window", tuple(windows), rows, _meaning(known))


def _meaning(known: Mapping[str, KnownSupports]) -> str:
    """What the cells hold, and how sure two of them can be compared."""
    hatched = "A hatched cell: the itemset is not listed in that window."
    if not any(each.values for each in known.values()):
        return hatched
    shade = "The stronger the colour, the larger the noisy number."
    difference = "The difference of two numbers of a row is right within the sum of their ±."
    return f"{shade} {hatched} {_how_sure(known, '±')} {difference}"


def _how_sure(known: Mapping[str, KnownSupports], these: str) -> str:
    """How probable it is that `these` all hold: of all windows, or of two."""
    level = min(each.level for each in known.values())
    if level ** len(known) >= LEVEL:
        return f"All {these} hold together, in all windows, with probability {percent(float(LEVEL))}."
    return (
        f"All {these} of one window hold together with probability {percent(float(level))}, and those of two windows "
        f"that are chosen beforehand with probability {floor(100 * level**2)} %."
    )


def _compared(known: Mapping[str, KnownSupports]) -> tuple[tuple[PageTable, ...], tuple[str, ...]]:
    """What changed from each earlier window to the newest; the table of the last one before it is not folded."""
    *earlier, newest = known
    if not earlier:
        return (), ("There is no earlier result to compare with yet.",)
    found = {window: changes(known[window], known[newest]) for window in reversed(earlier)}
    if not any(found.values()):
        return (), (f"No changes are shown: no itemset has a noisy support in {newest} and in an earlier window.",)
    tables = tuple(
        _changes_table(window, newest, rows, folded=window != earlier[-1]) for window, rows in found.items() if rows
    )
    remark = (
        f"{_how_sure(known, 'intervals')} The interval of a change has the noise of both windows, and holds the true "
        "change. An itemset that is listed in one window only may have been left out by noise in the other."
    )
    return tables, (remark,)


def _changes_table(earlier: str, later: str, rows: Sequence[Change], *, folded: bool) -> PageTable:
    columns = {
        "Items": [names_of(row.items) for row in rows],
        earlier: [f"{row.before:,}" for row in rows],
        later: [f"{row.now:,}" for row in rows],
        "Change": [f"{row.now - row.before:+,}" for row in rows],
        "Interval": ["{:+,} to {:+,}".format(*row.interval) for row in rows],
        "Direction": [row.verdict for row in rows],
    }
    return PageTable(f"What changed from {earlier} to {later}", columns, folded=folded)


def _charts(windows: Sequence[str], results: Mapping[str, Document]) -> tuple[Chart, ...]:
    """One small chart for each itemset of the newest result."""
    series = {window: _intervals(document) for window, document in results.items()}
    *_, newest = series.values()
    itemsets = list(newest)[:_MOST_PANELS] if len(results) > 1 else []
    if not itemsets:
        return ()
    panels = [Panel(names_of(each), [series.get(window, {}).get(each) for window in windows]) for each in itemsets]
    caption = (
        "Noisy supports by window, on one scale. A line holds the true number with probability 95 %; there is none "
        "where no number was released."
    )
    return (multiples(caption, panels, windows[0], windows[-1]),)


def _intervals(document: Document) -> dict[tuple[Label, ...], tuple[float, float, float]]:
    rows = [row for row in document.parts("itemsets") if row.has("noisy_support")]
    intervals = ((row, *row.pair("interval")) for row in rows)
    return {row.labels("items"): (float(low), row.number("noisy_support"), float(high)) for row, low, high in intervals}


_OVER_TIME: dict[str, Callable[[str, Sequence[str], Mapping[str, Document]], JobInWindows]] = {
    "top-itemset": _itemsets,
    "frequent-itemsets": _itemsets,
    "histogram": _densities,
    "hypothesis": _rules,
}
