"""The windows of recurring jobs on a page: which have results, what changed since the one before, and small charts.

Changes are made of what was released, so they charge nothing. Both windows have noise, so a change is known within the
noise of both. Proof: docs/proofs/noisy_supports.md, section 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace
from dpmine.itemsets.release.results import printable
from dpmine.itemsets.release.supports import MOST_ITEMS, most_counts
from dpmine.reporting.document import Altered, Document
from dpmine.reporting.page.body import PageTable
from dpmine.reporting.page.charts import Panel, multiples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.reporting.document import Label
    from dpmine.reporting.page.charts import Chart
    from dpmine.reporting.terms import PastWindow, Timeline

_MOST_PANELS = 12


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
    tables = (PageTable("Windows without a result", states, numbers=2),) if without else ()
    return WindowsSection(summary, tuple(_shown(name, windows) for name in names), tables)


def _state(window: PastWindow) -> str:
    if any(window.documents.values()):
        return "not of every job"
    return "charged, without a result here" if window.charged else "not run, and not charged"


def _shown(name: str, windows: Sequence[PastWindow]) -> JobInWindows:
    stored = ((window.window, window.documents[name]) for window in windows)
    results = [(window, Document(document)) for window, document in stored if document is not None]
    try:
        if results and "hypothesis" in results[-1][1].entries:
            return JobInWindows(name, (_rules(name, results),), (), ())
        if results and "itemsets" not in results[-1][1].entries:
            what = "densities" if "counts" in results[-1][1].entries else "models"
            return JobInWindows(name, (), (f"{name}: {what} of windows are not compared.",), ())
        return JobInWindows(name, *_compared(name, results), _charts(name, windows, results))
    except Altered:
        return JobInWindows(name, (), (f"{name}: a stored result cannot be shown; restore its file.",), ())


def _rules(name: str, results: Sequence[tuple[str, Document]]) -> PageTable:
    """The rule of each window: two of them differ by noise, too, so no change is claimed."""
    rules = [document["hypothesis"] or "none stood out" for _, document in results]
    columns = {"Window": [window for window, _ in results], "Rule": [printable(rule) for rule in rules]}
    return PageTable(f"{name}: the rule of each window", columns, numbers=2)


def _compared(name: str, results: Sequence[tuple[str, Document]]) -> tuple[tuple[PageTable, ...], tuple[str, ...]]:
    if len(results) < 2:
        return (), (f"{name}: there is no earlier result to compare with yet.",)
    (earlier, before), (later, now) = results[-2:]
    rows = changes(before, now)
    if not rows:
        return (), (f"{name}: {_no_changes(before, now, f'both in {earlier} and in {later}')}.",)
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
    return (PageTable(f"{name}: what changed from {earlier} to {later}", columns),), (remark,)


def _no_changes(before: Document, now: Document, both: str) -> str:
    """Why there is no table of changes: without one noise for all supports of a window, no width is known."""
    if supports(before).keys().isdisjoint(supports(now)):
        return f"no itemset has a noisy support {both}"
    return f"itemsets have noisy supports {both}, but no changes are listed of supports counted one after the other"


def _charts(name: str, windows: Sequence[PastWindow], results: Sequence[tuple[str, Document]]) -> tuple[Chart, ...]:
    """One small chart for each itemset of the last result."""
    series = {window: _intervals(document) for window, document in results}
    itemsets = list(series[results[-1][0]])[:_MOST_PANELS] if len(results) > 1 else []
    if not itemsets:
        return ()
    panels = [
        Panel(_items(items), [series.get(window.window, {}).get(items) for window in windows]) for items in itemsets
    ]
    caption = (
        f"{name}: noisy supports by window, on one scale. A line holds the true number with probability 95 %; there is "
        "none where the itemset was not listed."
    )
    return (multiples(caption, panels, windows[0].window, windows[-1].window),)


def _intervals(document: Document) -> dict[tuple[Label, ...], tuple[float, float, float]]:
    rows = [row for row in document.parts("itemsets") if row.has("noisy_support")]
    intervals = ((row, *row.pair("interval")) for row in rows)
    return {row.labels("items"): (float(low), row.number("noisy_support"), float(high)) for row, low, high in intervals}


def _items(items: Sequence[Label]) -> str:
    return " + ".join(map(printable, items))


EACH = Fraction(39, 40)
"""How probable it is, at least, that all noises of one window are within its width: of both, (39/40)² > 0.95."""


@dataclass(frozen=True, slots=True)
class Change:
    """One itemset in two windows, in units.

    Attributes:
        items: the itemset.
        before, now: its noisy supports.
        interval: holds the change of the true support, for all itemsets together with probability 0.95 at least.
    """

    items: tuple[Label, ...]
    before: int
    now: int
    interval: tuple[int, int]

    @property
    def verdict(self) -> str:
        """What is certain at that level."""
        low, high = self.interval
        return "more" if low > 0 else "fewer" if high < 0 else "not clear"


def changes(before: Document, now: Document) -> tuple[Change, ...]:
    """The itemsets listed in the later of two results whose supports both released, in its order.

    Raises Altered for a result that was changed by hand.
    """
    widths = _width(before), _width(now)
    if None in widths:
        return ()
    width = sum(each for each in widths if each is not None)
    earlier = supports(before)
    compared = []
    for row in now.parts("itemsets"):
        items = row.labels("items")
        if items in earlier:
            support = row.whole("noisy_support")
            difference = support - earlier[items]
            compared.append(Change(items, earlier[items], support, (difference - width, difference + width)))
    return tuple(compared)


def supports(document: Document) -> dict[tuple[Label, ...], int]:
    """The noisy supports of a result by itemset, those of subsets too."""
    rows = document.parts("itemsets") + document.parts("subsets", [])
    return {row.labels("items"): row.whole("noisy_support") for row in rows if row.has("noisy_support")}


def _width(document: Document) -> int | None:
    """How far all noises of a result go at most, with probability 39/40; None for a result without supports."""
    noise = _noise(document)
    count = len(supports(document)) + len(document.parts("unions", []))
    if noise is None or not count:
        return None
    # Those left out had noise, too. Of subsets these are at least as many as were released: the width only grows.
    left_out, size, subsets = document.whole("left_out", 0), document.pair("sizes")[1], document.has("subsets")
    if left_out < 0 or size < 1 or (subsets and size > MOST_ITEMS):
        raise Altered
    more = most_counts(left_out, size, subsets=subsets, unions=subsets and document.has("unions"))
    return noise.simultaneous_half_width(count + more, EACH)


def _noise(document: Document) -> SupportNoise | None:
    if not (document.has("budget") and document.part("budget").has("supports")):
        return None
    noise = document.part("budget").part("supports")
    if noise.text("noise") == "gaussian":
        return DiscreteGaussian(noise.fraction("rho_exact"))
    return DiscreteLaplace(noise.fraction("epsilon_exact"))
