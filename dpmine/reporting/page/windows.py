"""The windows of recurring jobs on a page: which have results, what changed since the one before, and small charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpmine.itemsets.release.results import printable
from dpmine.reporting.changes import changes
from dpmine.reporting.page.bodies import PageTable
from dpmine.reporting.page.charts import Panel, multiples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpmine.reporting.page.charts import Chart
    from dpmine.reporting.timeline import Passed, Timeline

_MOST_PANELS = 12
_UNREADABLE = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError)
"""What a stored result raises that was changed by hand."""


@dataclass(frozen=True, slots=True)
class JobInWindows:
    """What is shown of one job."""

    title: str
    tables: tuple[PageTable, ...]
    remarks: tuple[str, ...]
    charts: tuple[Chart, ...]


@dataclass(frozen=True, slots=True)
class WindowsSection:
    """What is shown of all windows."""

    summary: str
    jobs: tuple[JobInWindows, ...]
    tables: tuple[PageTable, ...]


def windows_of(timeline: Timeline) -> WindowsSection:
    """The section of a page."""
    windows = timeline.windows
    names = list(windows[-1].documents)
    without = [window for window in windows if None in window.documents.values()]
    summary = (
        f"{len(windows)} windows from {windows[0].window} to {windows[-1].window}, {len(without)} without a result."
    )
    states = {"Window": [window.window for window in without], "Result": [_state(window) for window in without]}
    tables = (PageTable.of("Windows without a result", states, numbers=2),) if without else ()
    return WindowsSection(summary, tuple(_shown(name, windows) for name in names), tables)


def _state(window: Passed) -> str:
    if any(window.documents.values()):
        return "not of every job"
    return "charged, without a result here" if window.charged else "not run, and not charged"


def _shown(name: str, windows: Sequence[Passed]) -> JobInWindows:
    found = [(window.window, document) for window in windows if (document := window.documents[name]) is not None]
    try:
        if found and "hypothesis" in found[-1][1]:
            return JobInWindows(name, (_rules(name, found),), (), ())
        return JobInWindows(name, *_compared(name, found), _charts(name, windows, found))
    except _UNREADABLE:
        return JobInWindows(name, (), (f"{name}: a stored result cannot be shown; restore its file.",), ())


def _rules(name: str, found: Sequence[tuple[str, Mapping[str, Any]]]) -> PageTable:
    """The rule of each window: two of them differ by noise, too, so no change is claimed."""
    rules = [document["hypothesis"] or "none stood out" for _, document in found]
    columns = {"Window": [window for window, _ in found], "Rule": [printable(rule) for rule in rules]}
    return PageTable.of(f"{name}: the rule of each window", columns, numbers=2)


def _compared(
    name: str, found: Sequence[tuple[str, Mapping[str, Any]]]
) -> tuple[tuple[PageTable, ...], tuple[str, ...]]:
    """What changed between the last two results."""
    if len(found) < 2:
        return (), (f"{name}: there is no earlier result to compare with yet.",)
    (earlier, before), (later, now) = found[-2:]
    rows = changes(before, now)
    if not rows:
        return (), (f"{name}: no itemset has a noisy support both in {earlier} and in {later}.",)
    columns = {
        "Items": [_items(row.items) for row in rows],
        earlier: [f"{row.before:,}" for row in rows],
        later: [f"{row.now:,}" for row in rows],
        "Change": [f"{row.now - row.before:+,}" for row in rows],
        "Interval": ["{:+,} to {:+,}".format(*row.interval) for row in rows],
        "Direction": [row.verdict for row in rows],
    }
    remark = (
        "The intervals hold the changes of the true numbers, all of them together with probability 95 %: both windows "
        "have noise. An itemset that is listed in one window only may have been left out by noise in the other."
    )
    return (PageTable.of(f"{name}: what changed from {earlier} to {later}", columns),), (remark,)


def _charts(name: str, windows: Sequence[Passed], found: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[Chart, ...]:
    """One small chart for each itemset of the last result."""
    series = {window: _intervals(document) for window, document in found}
    shown = list(series[found[-1][0]])[:_MOST_PANELS] if len(found) > 1 else []
    if not shown:
        return ()
    panels = [Panel(_items(items), [series.get(window.window, {}).get(items) for window in windows]) for items in shown]
    caption = (
        f"{name}: noisy supports by window, on one scale. A line holds the true number with probability 95 %; there is "
        "none where the itemset was not listed."
    )
    return (multiples(caption, panels, windows[0].window, windows[-1].window),)


def _intervals(document: Mapping[str, Any]) -> dict[tuple[Any, ...], tuple[float, float, float]]:
    rows = [row for row in document["itemsets"] if row["noisy_support"] is not None]
    return {
        tuple(row["items"]): (float(row["interval"][0]), float(row["noisy_support"]), float(row["interval"][1]))
        for row in rows
    }


def _items(items: Sequence[Any]) -> str:
    return " + ".join(map(printable, items))
