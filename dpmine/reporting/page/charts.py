"""The charts of a page as inline SVG: bars, the steps of a density, points in rectangles, and a budget.

Here is computed where things lie; `templates/charts.svg.j2` draws them, with labels escaped and in the colours of the
page.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from dpmine.markup import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jinja2 import Environment
    from markupsafe import Markup


NARROW, WIDE = 340, 720
"""Widths that every chart is drawn in, in pixels: for telephones, and for everything else."""
FONT = 12.5  # pixels, as in templates/report.css
FIRST_BARS = 6
_MOST_BARS = 40
_MOST_STEPS = 1000
_MOST_INTERVALS = 40
_PERCENT = re.compile(r"(?<=\d) %")


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture in both widths, and what it shows in words."""

    narrow: Markup
    wide: Markup
    caption: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A value with its name, how it is written, and where it may lie, if that is known."""

    name: str
    value: float
    written: str
    interval: tuple[float, float] | None = None


def bars(caption: str, values: Sequence[Bar]) -> Chart:
    """Bars to the right of zero, to the left where values are negative; at most 40."""
    drawn = values[:_MOST_BARS]
    ends = [0.0, *(end for bar in drawn for end in (bar.value, *(bar.interval or ())))]
    low, high = min(ends), max(ends)
    figures = 7.5 * max((len(bar.written) for bar in drawn), default=0)

    def layout(width: int) -> dict[str, object]:
        unit = (width - 8) / ((high - low) or 1.0)
        labels = two_lines([bar.name for bar in drawn], width - figures - 12)
        lines = max(map(len, labels), default=1)
        return {"rows": list(zip(labels, drawn, strict=True)), "zero": 4 - low * unit, "unit": unit, "lines": lines}

    return _drawn("bars", caption, layout)


def first_and_all(caption: str, values: Sequence[Bar]) -> tuple[Chart, tuple[Chart, ...]]:
    """The first few bars, and all of them if there are more."""
    first = bars(caption, values[:FIRST_BARS])
    return first, (bars(caption, values),) if len(values) > FIRST_BARS else ()


def steps(
    caption: str, edges: Sequence[float], heights: Sequence[float], names: tuple[str, str], error: float
) -> Chart:
    """A histogram: its height between edges; a thousand of them at most, else neighbours are drawn as their mean.

    `names` are those of the axes, across and up. Of few bins the intervals, ± `error`, are drawn.
    """
    together = -(-len(heights) // _MOST_STEPS)
    parts = [heights[start : start + together] for start in range(0, len(heights), together)]
    means = [sum(part) / len(part) for part in parts]
    first, *ends = [*edges[:-1:together], edges[-1]]
    error = error if len(means) <= _MOST_INTERVALS else 0.0
    top = 1.05 * (max(means) + error) or 1.0

    def layout(width: int) -> dict[str, object]:
        height = 120 + width // 4
        return {
            "height": height,
            "bins": list(zip(means, ends, strict=True)),
            "error": error,
            "first": first,
            "across": (width - 68) / (ends[-1] - first),
            "up": 0.74 * height / top,
            "marks": (_ticks(first, ends[-1], 4 if width == NARROW else 8), _ticks(0, top, 4)),
            "names": [shortened(name, width - _LEFT) for name in names],
        }

    return _drawn("steps", caption, layout)


@dataclass(frozen=True, slots=True)
class Spot:
    """A point in the rectangle where it may lie: lower end, value and upper end, across and up."""

    across: tuple[float, float, float]
    up: tuple[float, float, float]


def scatter(caption: str, spots: Sequence[Spot], names: tuple[str, str]) -> Chart:
    """Numbered points in their rectangles, up from 0 to 100 %; `names` are those of the axes, across and up."""
    end = max([1.0, *(spot.across[2] for spot in spots)])

    def layout(width: int) -> dict[str, object]:
        height = 180 + width // 4
        return {
            "height": height,
            "spots": spots,
            "across": (width - 68) / end,
            "up": 0.7 * height / 100,
            "marks": (_ticks(0, end, 4 if width == NARROW else 8), _ticks(0, 100, 4)),
            "names": [shortened(name, width - _LEFT) for name in names],
        }

    return _drawn("scatter", caption, layout)


@dataclass(frozen=True, slots=True)
class Panel:
    """One of several small charts: values in order, each with an interval; None where there is none."""

    title: str
    points: Sequence[tuple[float, float, float] | None]
    """Lower end, value and upper end."""


def multiples(caption: str, panels: Sequence[Panel], first: str, last: str) -> Chart:
    """Small charts side by side on one scale from 0, each over the same places, which go from `first` to `last`."""
    places = max(len(panel.points) for panel in panels)
    top = max([1.0, *(point[2] for panel in panels for point in panel.points if point)])

    def layout(width: int) -> dict[str, object]:
        columns = 1 if width == NARROW else 2
        across = width / columns - _LEFT - _RIGHT
        step, up = across / places, _HEIGHT / top
        titles = distinct_labels([panel.title for panel in panels], across)
        drawn = [
            (title, [_place(number, point, step, up) for number, point in enumerate(panel.points) if point])
            for title, panel in zip(titles, panels, strict=True)
        ]
        marks = [(value * up, text) for value, text in _ticks(0, top, 2)]
        return {"columns": columns, "across": across, "panels": drawn, "marks": marks, "ends": (first, last)}

    return _drawn("multiples", caption, layout)


@dataclass(frozen=True, slots=True)
class Outline:
    """One of several small histograms: its heights between edges; none of either where there is no result."""

    title: str
    edges: Sequence[float]
    heights: Sequence[float]


def outlines(caption: str, panels: Sequence[Outline]) -> Chart:
    """Small histograms side by side on one scale, in both directions."""
    drawn = [panel for panel in panels if panel.heights]
    first, last = min(panel.edges[0] for panel in drawn), max(panel.edges[-1] for panel in drawn)
    top = max([1.0, *(height for panel in drawn for height in panel.heights)])

    def layout(width: int) -> dict[str, object]:
        columns = 2 if width == NARROW else 4
        across = width / columns - _LEFT - _RIGHT
        unit = across / (last - first)
        bins = [
            [(_HEIGHT * max(0.0, height) / top, (edge - first) * unit) for height, edge in zip(*each, strict=True)]
            for each in ((panel.heights, panel.edges[1:]) for panel in panels)
        ]
        starts = [(panel.edges[0] - first) * unit if panel.heights else 0.0 for panel in panels]
        marks = [(value * _HEIGHT / top, text) for value, text in _ticks(0, top, 2)]
        ends = f"{first:g}", f"{last:g}"
        titles = [panel.title for panel in panels]
        rows = list(zip(titles, starts, bins, strict=True))
        return {"columns": columns, "across": across, "panels": rows, "marks": marks, "ends": ends}

    return _drawn("outlines", caption, layout)


_LEFT, _RIGHT, _HEIGHT = 52, 12, 70
"""Room beside and in a panel, in pixels; as in templates/charts.svg.j2."""


def _place(number: int, point: tuple[float, float, float], step: float, up: float) -> tuple[float, float, float, float]:
    low, value, high = (max(0.0, end) * up for end in point)
    return (number + 0.5) * step, low, value, high


def decision(caption: str, condition: str, answers: Sequence[str]) -> Chart:
    """A rule: what holds where the condition is met, and elsewhere."""

    def layout(width: int) -> dict[str, object]:
        room = width / 2 - 24
        return {"condition": shortened(condition, width - 24), "answers": [shortened(each, room) for each in answers]}

    return _drawn("decision", caption, layout)


def stacked(caption: str, parts: Mapping[str, str], rows: Mapping[str, Sequence[float]]) -> Chart:
    """One bar a row, filled by its shares, from 0 to 1, of the `parts`: their names, with their colours."""
    return _drawn("stacked", caption, lambda _: {"parts": parts, "rows": rows})


def _drawn(kind: str, caption: str, layout: Callable[[int], dict[str, object]]) -> Chart:
    """The chart, by the macro of that name, which gets the layout for each width."""
    draw = getattr(templates().get_template("charts.svg.j2").module, kind)
    narrow, wide = (draw(caption, width, **layout(width)) for width in (NARROW, WIDE))
    return Chart(narrow, wide, caption)


def _ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Round numbers from `low` to `high`, in `most` steps at most, as they are written."""
    from matplotlib.ticker import MaxNLocator

    places = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [(place, f"{place:,.10g}") for place in map(float, places) if low <= place <= high]


@cache
def templates() -> Environment:
    """The templates of the page. What they print is escaped, and on one line; coordinates have two decimals."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("dpmine.reporting.page"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: object) -> object:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return _PERCENT.sub("\u00a0%", printable(value))  # no line begins with the sign
    return value


def shortened(text: str, pixels: float) -> str:
    """The text, cut to about that many pixels."""
    if _pixels(text) <= pixels:
        return text
    length = 0
    room = pixels / FONT - 1.0  # for the dots
    while length < len(text) and (room := room - _width(text[length])) >= 0:
        length += 1
    return f"{text[:length].rstrip()}…"


def _pixels(text: str) -> float:
    return FONT * sum(map(_width, text))


def _width(letter: str) -> float:
    """Of a letter, in font sizes, in the wider of common fonts."""
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.74 if letter.isupper() else 0.6


def distinct_labels(names: Sequence[str], room: float, start: int = 0) -> list[str]:
    """The names, each shortened to `room` pixels; different names with a common start are cut where they differ."""
    labels = [_cut(name, room, start) for name in names]
    for label in {label for label in labels if labels.count(label) > 1}:
        places = [place for place, each in enumerate(labels) if each == label]
        alike = [names[place] for place in places]
        further = _difference(alike, start)
        if len(set(alike)) > 1 and further > start:
            for place, other in zip(places, distinct_labels(alike, room, further), strict=True):
                labels[place] = other
    return labels


def two_lines(names: Sequence[str], room: float) -> list[list[str]]:
    """The names, each on a line of `room` pixels, or on two that end with a word; what does not fit is shortened."""
    whole = [_in_two(name, room) for name in names]
    cut = [_in_two(name, room) for name in distinct_labels(names, 1.8 * room)]
    return [
        lines if max(map(_pixels, lines)) <= room else [shortened(line, room) for line in others]
        for lines, others in zip(whole, cut, strict=True)
    ]


def _in_two(name: str, room: float) -> list[str]:
    """On one line, or the first as full as it can be."""
    if _pixels(name) <= room:
        return [name]
    spaces = [place for place, letter in enumerate(name) if letter == " " and _pixels(name[:place]) <= room]
    start = spaces[-1] if spaces else len(shortened(name, room)) - 1
    return [name[:start].strip(), name[start:].strip()]


def _cut(name: str, room: float, start: int) -> str:
    """The name cut to `room` pixels; the text before `start` gets at most a third of them."""
    if not start:
        return shortened(name, room)
    return f"{shortened(name[:start], room / 3)} {shortened(name[start:], room * 0.6)}"


def _difference(names: Sequence[str], start: int) -> int:
    """The start of the first word in which the names differ; if that is not after `start`, their first difference."""
    letters = zip(*names, strict=False)
    end = next((place for place, found in enumerate(letters) if len(set(found)) > 1), min(map(len, names)))
    word = names[0].rfind(" ", 0, end) + 1
    return word if start < word else end
