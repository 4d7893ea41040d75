"""The charts of a page as inline SVG: bars of supports and of weights, the steps of a density, and a budget.

A figure is drawn with placeholders for its labels and its colours, which follow the theme of the page. Labels may come
from data: they are put in afterwards, escaped, so that the plotting library never looks at markup, formulas or rare
letters in them.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from dataclasses import dataclass, field
from io import StringIO
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


NARROW, WIDE = 340, 720
"""Widths that every chart is drawn in, in pixels: for telephones, and for everything else."""
FONT = 12.5  # pixels

INK, MUTED, LINE, BAR, SOFT, OTHER = "#010203", "#020304", "#030405", "#040506", "#050607", "#060708"
"""Stand-ins for the colours of the page."""
_COLOURS = {INK: "ink", MUTED: "muted", LINE: "line", BAR: "bar", SOFT: "soft", OTHER: "other"}
_DROPPED = [r"(?s)^.*?(?=<svg)", r"(?s)<metadata>.*?</metadata>", r"(?s)<style[^>]*>.*?</style>", r"(?s)<!--.*?-->"]


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture in both widths, and what it shows in words."""

    narrow: Markup
    wide: Markup
    caption: str


@dataclass(slots=True)
class Canvas:
    """A figure in pixels, y downwards, that remembers the labels put on it.

    Attributes:
        figure: matplotlib's.
        axes: over all of it.
        labels: texts in the order of their placeholders.
    """

    width: int
    height: int
    figure: Any = field(init=False)
    axes: Any = field(init=False)
    labels: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        from dpmine.io.atomic import new_figure

        self.figure = new_figure(self.width / 72, self.height / 72)
        self.figure.set_layout_engine("none")
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, self.width), ylim=(self.height, 0))
        self.axes.axis("off")

    def box(self, left: float, top: float, width: float, height: float, colour: str) -> None:
        """A filled rectangle."""
        from matplotlib.patches import Rectangle

        self.axes.add_patch(Rectangle((left, top), width, height, facecolor=colour, linewidth=0))

    def line(self, start: tuple[float, float], end: tuple[float, float], colour: str, width: float = 1.4) -> None:
        """A straight line."""
        self.axes.plot((start[0], end[0]), (start[1], end[1]), color=colour, linewidth=width, solid_capstyle="butt")

    def text(self, x: float, y: float, text: str, colour: str = INK, align: str = "left") -> None:
        """A text on the base line y."""
        self.axes.text(x, y, self.label(text), color=colour, ha=align, va="baseline", fontsize=FONT, parse_math=False)

    def label(self, text: str) -> str:
        """The placeholder of a text."""
        self.labels.append(text)
        return f"@{len(self.labels) - 1}@"

    def markup(self, name: str, description: str) -> Markup:
        """The SVG element; `name` is one of its own on the page, and tells its parts apart from those of others."""
        from matplotlib import rc_context

        sink = StringIO()
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.figure.savefig(sink, format="svg", transparent=True, metadata={"Date": None})
        svg = sink.getvalue()
        for pattern in _DROPPED:
            svg = re.sub(pattern, "", svg)
        for stand_in, variable in _COLOURS.items():
            svg = svg.replace(stand_in, f"var(--{variable})")
        svg = re.sub(r'\bid="', f'id="{name}-', svg)
        svg = re.sub(r"url\(#", f"url(#{name}-", svg)
        svg = re.sub(r'href="#', f'href="#{name}-', svg)
        head = f'<svg viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{escape(description)}">'
        inside = re.sub(r"(?s)^<svg.*?>", "", svg, count=1)
        return Markup(head + re.sub(r"@(\d+)@", self._escaped, inside))  # noqa: S704

    def _escaped(self, found: re.Match[str]) -> str:
        return str(escape(self.labels[int(found[1])]))


def shortened(text: str, pixels: float) -> str:
    """The text, cut so that it takes about so many pixels at most."""
    room = pixels / FONT
    if sum(map(_width, text)) <= room:
        return text
    kept = 0
    room -= 1.0  # for the dots
    while kept < len(text) and (room := room - _width(text[kept])) >= 0:
        kept += 1
    return f"{text[:kept].rstrip()}…"


def _width(letter: str) -> float:
    """Of a letter, in font sizes, in the wider of common fonts."""
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.74 if letter.isupper() else 0.6


_ROW = 44  # pixels
_THICK = 12
_MOST_BARS = 40
_MOST_STEPS = 1000


@dataclass(frozen=True, slots=True)
class Bar:
    """A value with its name, how it is written, and where it may lie, if that is known."""

    name: str
    value: float
    written: str
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a budget: its exact share of the whole, from 0 to 1, and what it is called."""

    share: float
    colour: str
    name: str


def bars(name: str, caption: str, values: Sequence[Bar]) -> Chart:
    """Bars to the right of zero, to the left where values are negative; at most 40."""
    shown = values[:_MOST_BARS]

    def draw(width: int) -> Canvas:
        canvas = Canvas(width, _ROW * len(shown) + 6)
        scale = _Scale.of(shown, width)
        room = width - 7.5 * max((len(bar.written) for bar in shown), default=0) - 12
        labels = told_apart([bar.name for bar in shown], room)
        for place, (bar, label) in enumerate(zip(shown, labels, strict=True)):
            _draw_bar(canvas, scale, bar, label, _ROW * place)
        return canvas

    return _both(name, caption, draw)


def steps(name: str, caption: str, edges: Sequence[float], heights: Sequence[float], column: str) -> Chart:
    """A density: its height between edges; a thousand of them at most, else neighbours are drawn as their mean."""
    together = -(-len(heights) // _MOST_STEPS)
    heights = [
        sum(part) / len(part)
        for start in range(0, len(heights), together)
        if (part := heights[start : start + together])
    ]
    edges = [*edges[:-1:together], edges[-1]]

    def draw(width: int) -> Canvas:
        canvas = Canvas(width, round(120 + width * 0.25))
        axes = canvas.figure.add_axes((56 / width, 0.2, 1 - 68 / width, 0.74))
        axes.stairs(heights, edges, fill=True, color=SOFT)
        axes.stairs(heights, edges, color=BAR, linewidth=1.6)
        axes.set(xlim=(edges[0], edges[-1]), ylim=(0, None))
        axes.set_facecolor("none")
        axes.locator_params(axis="x", nbins=4 if width == NARROW else 8)
        axes.locator_params(axis="y", nbins=4)
        axes.tick_params(colors=MUTED, labelcolor=INK, labelsize=12)
        axes.grid(axis="y", color=LINE, linewidth=0.7)
        axes.set_axisbelow(True)
        for side, spine in axes.spines.items():
            spine.set_visible(side == "bottom")
            spine.set_color(MUTED)
        canvas.text(width / 2, canvas.height - 6, shortened(column, width), MUTED, "center")
        return canvas

    return _both(name, caption, draw)


def stacked(name: str, caption: str, rows: Sequence[tuple[str, Sequence[Share]]]) -> Chart:
    """One bar a row, which its shares fill up."""

    def draw(width: int) -> Canvas:
        legend = [share for _, shares in rows[:1] for share in shares]
        canvas = Canvas(width, _ROW * len(rows) + 24 * len(legend) + 10)
        for place, (title, shares) in enumerate(rows):
            _draw_shares(canvas, title, shares, _ROW * place)
        for place, share in enumerate(legend):
            top = _ROW * len(rows) + 24 * place + 8
            canvas.box(0, top, _THICK, _THICK, share.colour)
            canvas.text(20, top + 11, share.name)
        return canvas

    return _both(name, caption, draw)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where values lie on a line."""

    zero: float
    unit: float

    @classmethod
    def of(cls, values: Sequence[Bar], width: int) -> _Scale:
        ends = [0.0, *(bar.value for bar in values)]
        ends += [end for bar in values if bar.interval for end in bar.interval]
        low, high = min(ends), max(ends)
        unit = (width - 8) / ((high - low) or 1.0)
        return cls(4 - low * unit, unit)

    def at(self, value: float) -> float:
        """In pixels."""
        return self.zero + value * self.unit


def told_apart(names: Sequence[str], room: float, start: int = 0) -> list[str]:
    """The names, each shortened to `room` pixels; different names with a common start are cut where they differ."""
    labels = [_cut(name, room, start) for name in names]
    for label in {label for label in labels if labels.count(label) > 1}:
        places = [place for place, each in enumerate(labels) if each == label]
        alike = [names[place] for place in places]
        further = _difference(alike, start)
        if len(set(alike)) > 1 and further > start:
            for place, other in zip(places, told_apart(alike, room, further), strict=True):
                labels[place] = other
    return labels


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


def _draw_bar(canvas: Canvas, scale: _Scale, bar: Bar, label: str, top: float) -> None:
    canvas.text(4, top + 15, label)
    canvas.text(canvas.width - 4, top + 15, bar.written, MUTED, "right")
    start, end = sorted((scale.zero, scale.at(bar.value)))
    canvas.box(start, top + 22, max(end - start, 0.5), _THICK, BAR if bar.value >= 0 else OTHER)
    canvas.line((scale.zero, top + 20), (scale.zero, top + 36), MUTED, 1)
    if bar.interval:
        low, high = map(scale.at, bar.interval)
        canvas.line((low, top + 28), (high, top + 28), INK)
        for x in (low, high):
            canvas.line((x, top + 24), (x, top + 32), INK)


def _draw_shares(canvas: Canvas, title: str, shares: Sequence[Share], top: float) -> None:
    canvas.text(0, top + 15, title)
    left = 0.0
    for share in shares:
        canvas.box(left, top + 22, share.share * canvas.width, _THICK, share.colour)
        left += share.share * canvas.width


def _both(name: str, caption: str, draw: Callable[[int], Canvas]) -> Chart:
    narrow, wide = (draw(width).markup(f"{name}-{width}", caption) for width in (NARROW, WIDE))
    return Chart(narrow, wide, caption)
