"""Figures as inline SVG whose colours follow the page's theme.

A figure is drawn with placeholders for its labels and its colours. Labels may come from data: they are put in
afterwards, escaped, so that the plotting library never looks at markup, formulas or rare letters in them.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from markupsafe import Markup, escape

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
        from dpmine.io.figures import new_figure

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
