"""Pictures of itemsets: bars with intervals, or ranks; a network or a matrix of pairs; rules by support and confidence.

Names are never read as formulas, whatever characters they hold. A letter that the fonts lack is drawn as a square:
matplotlib would warn of each, and the warning quotes it.
"""

from __future__ import annotations

from enum import StrEnum
from math import cos, pi, sin
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from dpmine.io.atomic import new_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

_RED_GREEN_BLUE = (0.298, 0.471, 0.659)
_COLOUR, _GRID, _ENDS = "#4c78a8", "#dddddd", "#333333"
_LONGEST, _SHORT, _SIDE, _WRAPPED = 60, 24, 42, 32
"""Characters of a name that are shown: of an itemset, an item, and one side of a rule; and of a line beside a bar."""
_FULL, _PALE = 0.6, 0.3
"""Opacity of bars, and of what is not certain."""
_SQUARE = "□"
_INCHES, _LINE_INCHES = 0.35, 0.17
"""Of a bar, and of a line of text."""
_WIDEST = 6
"""Points of the line of the largest support."""
_MOST_ITEMS = 40
"""That a network or a matrix can show, those of the largest supports."""
MOST_RULES = 20
"""That a picture shows, the surest ones."""
Pairs: TypeAlias = "Mapping[tuple[str, ...], tuple[int, bool]]"
"""Noisy supports by the names of the two items, and whether they are certain to be as large as was asked."""


class Picture(StrEnum):
    """What is drawn of a list."""

    BARS = "bars"
    NETWORK = "network"
    MATRIX = "matrix"
    RULES = "rules"


class DrawnRule(NamedTuple):
    """Names of both sides of a rule, and its support and confidence: released value, lower end and upper end."""

    sides: tuple[str, str]
    support: tuple[int, int, int]
    confidence: tuple[float, float, float]


def draw_itemsets(
    axes: Axes | None,
    names: Sequence[str],
    supports: Sequence[int] | None,
    intervals: Sequence[tuple[int, int]] | None,
    title: str,
    *,
    certain: Sequence[bool] | None = None,
) -> Axes:
    """The itemsets from top to bottom, best first, on these matplotlib axes; returns them. None: new ones."""
    if axes is None:
        axes = new_figure(8, 1.5 + _INCHES * max(3, len(names))).subplots()
    places = range(len(names))
    if supports is None or intervals is None:
        axes.plot([place + 1 for place in places], places, "o", color=_COLOUR)
        axes.set_xlabel("rank in the private selection")
        axes.set_xlim(0, len(names) + 1)
    else:
        depths = [_FULL if sure else _PALE for sure in certain or [True] * len(names)]
        axes.barh(places, supports, color=[(*_RED_GREEN_BLUE, depth) for depth in depths])
        axes.hlines(places, [low for low, _ in intervals], [high for _, high in intervals], color=_ENDS, linewidth=1.6)
        axes.set_xlabel("noisy support in units, and its interval")
        axes.set_xlim(left=0)
    axes.set_yticks(places, ["\n".join(wrap(_short(name), _WRAPPED)) for name in names])
    _finish(axes, title)
    axes.invert_yaxis()
    axes.set_axisbelow(True)
    axes.grid(visible=True, axis="x", color=_GRID, linewidth=0.6)
    return axes


def draw_network(axes: Axes | None, items: Sequence[str], pairs: Pairs, title: str) -> Axes:
    """The items on a circle, a line for each pair: the wider, the larger its support; pale if not certain."""
    axes = new_figure(8, 8).subplots() if axes is None else axes
    shown = items[:_MOST_ITEMS]
    turns = {item: 2 * pi * place / max(1, len(shown)) for place, item in enumerate(shown)}
    largest = max((value for value, _ in pairs.values()), default=1)
    for (one, other), (value, certain) in pairs.items():
        if one in turns and other in turns:
            ends = turns[one], turns[other]
            width, depth = max(0.3, _WIDEST * value / max(1, largest)), 1 if certain else _PALE
            places = [[f(end) for end in ends] for f in (cos, sin)]
            axes.plot(*places, color=_COLOUR, alpha=depth, linewidth=width, zorder=1)
    for item, turn in turns.items():
        side = "left" if cos(turn) >= 0 else "right"
        degrees = turn * 180 / pi - (0 if side == "left" else 180)
        axes.plot(cos(turn), sin(turn), "o", color=_ENDS, markersize=4, zorder=2)
        axes.text(
            1.05 * cos(turn),
            1.05 * sin(turn),
            _short(item, _SHORT),
            ha=side,
            va="center",
            rotation=degrees,
            rotation_mode="anchor",
            fontsize=8,
            parse_math=False,
        )
    axes.set_xlim(-1.5, 1.5)
    axes.set_ylim(-1.5, 1.5)
    axes.set_aspect("equal")
    axes.set_axis_off()
    _finish(axes, title)
    return axes


def draw_matrix(axes: Axes | None, items: Sequence[str], pairs: Pairs, title: str) -> Axes:
    """A cell for each pair: the darker, the larger its support; hatched if not certain, empty if not listed."""
    shown = items[:_MOST_ITEMS]
    side = 3 + _INCHES * max(4, len(shown))
    axes = new_figure(side, side).subplots() if axes is None else axes
    places = {item: place for place, item in enumerate(shown)}
    largest = max((value for value, _ in pairs.values()), default=1)
    for (one, other), (value, certain) in pairs.items():
        if one in places and other in places:
            ends = (places[one], places[other]), (places[other], places[one])
            for x, y in ends:
                depth = min(1.0, 0.1 + 0.9 * max(0, value) / max(1, largest))
                hatch = None if certain else "///"
                axes.bar(x, 1, 1, y - 0.5, facecolor=(*_RED_GREEN_BLUE, depth), edgecolor=_GRID, hatch=hatch)
    names = [_short(item, _SHORT) for item in shown]
    axes.set_xticks(list(places.values()), names, rotation=90, fontsize=8)
    axes.set_yticks(list(places.values()), names, fontsize=8)
    axes.set_xlim(-0.5, max(1, len(shown)) - 0.5)
    axes.set_ylim(max(1, len(shown)) - 0.5, -0.5)
    axes.set_aspect("equal")
    _finish(axes, title)
    return axes


def draw_rules(axes: Axes | None, rules: Sequence[DrawnRule], title: str) -> Axes:
    """A numbered point for each rule, in a rectangle that holds its true support and confidence; names at the right."""
    shown = rules[:MOST_RULES]
    labels = [f"{number}  {_on_lines(rule.sides)}" for number, rule in enumerate(shown, 1)]
    lines = sum(label.count("\n") + 1 for label in labels)
    axes = new_figure(10, max(5, 0.5 + _LINE_INCHES * lines)).subplots() if axes is None else axes
    for number, (_, (x, left, right), (y, low, high)) in enumerate(shown, 1):
        size = right - left, high - low
        axes.bar(left, size[1], size[0], low, align="edge", facecolor=(*_RED_GREEN_BLUE, 0.12), edgecolor=_COLOUR)
        axes.plot(x, y, "o", color=_ENDS, markersize=3)
        axes.annotate(str(number), (x, y), (3, 3), textcoords="offset points", fontsize=8)
    axes.set_xlim(0, 1.05 * max([1, *(rule.support[2] for rule in shown)]))
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("noisy support in units, and its interval")
    axes.set_ylabel("confidence, and its interval")
    axes.text(
        1.02, 1, "\n".join(labels), transform=axes.transAxes, va="top", fontsize=8, linespacing=1.5, parse_math=False
    )
    _finish(axes, title)
    return axes


def _short(name: str, longest: int = _LONGEST) -> str:
    return _drawable(name if len(name) <= longest else f"{name[: longest - 1]}…")


def _on_lines(sides: tuple[str, str]) -> str:
    """A rule on one line, or each side on a line of its own, so that the picture keeps its room."""
    both = " → ".join(sides)
    return _drawable(both) if len(both) <= _SIDE else "\n      → ".join(_short(side, _SIDE) for side in sides)


def _drawable(text: str) -> str:
    """The text, with a square for each letter that the fonts lack."""
    if text.isascii():
        return text
    from matplotlib.font_manager import FontProperties, findfont, get_font

    families = FontProperties().get_family()
    known = {code for name in families for code in get_font(findfont(FontProperties(family=[name]))).get_charmap()}
    return "".join(letter if ord(letter) in known else _SQUARE for letter in text)


def _finish(axes: Axes, title: str) -> None:
    """The title, and labels as they are."""
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_parse_math(False)
    axes.set_title(_drawable(title), parse_math=False, fontsize=9, wrap=True)
