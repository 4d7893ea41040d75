"""What the pictures of docs/diagrams.py are made of: boxes, arrows, steps, tables, intervals and dots."""  # noqa: INP001

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dpmine.io.atomic import new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

DARK, LIGHT, ORANGE, PALE = "#1f5a99", "#a9c4e0", "#d9822b", "#dddddd"


def canvas(width: float, height: float) -> tuple[Any, Any]:
    """A figure without axes, whose unit is a tenth of an inch."""
    figure = new_figure(width, height)
    axes = figure.subplots()
    axes.set(xlim=(0, 10 * width), ylim=(0, 10 * height))
    axes.set_axis_off()
    return figure, axes


def box(
    axes: Any, x: float, y: float, text: str, *, width: float = 17, height: float = 10, colour: str = LIGHT
) -> None:
    """A box with a text; x and y are those of its middle."""
    from matplotlib.patches import FancyBboxPatch

    corner = x - width / 2, y - height / 2
    axes.add_patch(FancyBboxPatch(corner, width, height, boxstyle="round,pad=0,rounding_size=1", fc=colour, lw=0))
    axes.text(x, y, text, ha="center", va="center", color="white" if colour == DARK else "black", fontsize=8.5)


def arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], text: str = "") -> None:
    """An arrow with a text above its middle."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "#555555", "linewidth": 1.2})
    axes.text((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + 0.8, text, ha="center", fontsize=7.5)


def steps(texts: Sequence[str], below: Sequence[str] = ()) -> Any:
    """Boxes from left to right, the private step dark; `below` says more of each."""
    figure, axes = canvas(8, 1.9)
    middles = [80 / len(texts) * (place + 0.5) for place in range(len(texts))]
    width = 80 / len(texts) - 5
    for x, text in zip(middles, texts, strict=True):
        box(axes, x, 12, text, width=width, colour=DARK if "dpmine" in text else LIGHT)
    for left, right in pairwise(middles):
        arrow(axes, (left + width / 2 + 0.3, 12), (right - width / 2 - 0.3, 12))
    for x, text in zip(middles, below, strict=False):
        axes.text(x, 5.6, text, ha="center", va="top", fontsize=7.5)
    return figure


def table(axes: Any, x: float, y: float, rows: Sequence[Sequence[str]], widths: Sequence[float]) -> None:
    """Rows of text below each other, the first one as a head; x and y are the upper left corner."""
    for line, row in enumerate(rows):
        left = x
        for text, width in zip(row, widths, strict=True):
            weight = "normal" if line else "bold"
            axes.text(left, y - 2.4 * line, text, fontsize=7.5, va="top", weight=weight)
            left += width
    axes.plot([x, x + sum(widths) - 1], [y - 2, y - 2], color="#888888", linewidth=0.8)


def intervals(axes: Any, rows: Sequence[tuple[str, float, float, float]]) -> None:
    """Bars with the intervals of their values, the first one on top."""
    places = range(len(rows), 0, -1)
    values = [value for _, value, _, _ in rows]
    errors = [[value - low for _, value, low, _ in rows], [high - value for _, value, _, high in rows]]
    axes.barh(places, values, color=LIGHT, height=0.6)
    axes.errorbar(values, places, xerr=errors, fmt="o", color=DARK, markersize=3, capsize=3, linewidth=1.2)
    axes.set_yticks(list(places), [name for name, *_ in rows], fontsize=7)
    axes.tick_params(axis="x", labelsize=7)


def dots(axes: Any, title: str, colour: Any) -> None:
    """A hundred customers as dots; `colour` is asked for that of each number 0 … 99."""
    everyone = range(100)
    axes.scatter(
        [one % 10 for one in everyone], [-(one // 10) for one in everyone], c=[colour(one) for one in everyone]
    )
    axes.set_title(title, fontsize=9)
    axes.set_axis_off()
    axes.set_aspect("equal")


def short(text: str, most: int = 24) -> str:
    """In title case, cut to that many letters."""
    words = text.title().replace("'S", "'s")
    return words if len(words) <= most else f"{words[: most - 1]}…"
