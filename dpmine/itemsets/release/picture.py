"""A picture of a list of itemsets: bars with intervals, or ranks where no supports were released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmine.io.atomic import new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

_COLOUR, _GRID, _ENDS = "#4c78a8", "#dddddd", "#333333"
_LONGEST = 60
"""Characters of a name that are shown."""
_INCHES = 0.35


def draw_itemsets(
    axes: Axes | None,
    names: Sequence[str],
    supports: Sequence[int] | None,
    intervals: Sequence[tuple[int, int]] | None,
    title: str,
) -> Axes:
    """The itemsets from top to bottom, best first, on these matplotlib axes or on new ones for None; returns the axes.

    Names are never read as formulas, whatever characters they hold.
    """
    if axes is None:
        axes = new_figure(8, 1.5 + _INCHES * max(3, len(names))).subplots()
    places = range(len(names))
    if supports is None or intervals is None:
        axes.plot([place + 1 for place in places], places, "o", color=_COLOUR)
        axes.set_xlabel("rank in the private selection")
        axes.set_xlim(0, len(names) + 1)
    else:
        axes.barh(places, supports, color=_COLOUR, alpha=0.6)
        axes.hlines(places, [low for low, _ in intervals], [high for _, high in intervals], color=_ENDS, linewidth=1.6)
        axes.set_xlabel("noisy support in units, and its interval")
        axes.set_xlim(left=0)
    axes.set_yticks(places, [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.invert_yaxis()
    axes.set_title(title, parse_math=False, fontsize=9, wrap=True)
    axes.set_axisbelow(True)
    axes.grid(visible=True, axis="x", color=_GRID, linewidth=0.6)
    return axes
