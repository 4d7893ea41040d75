"""The picture of a private density."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dpmine.io.figures import new_figure
from dpmine.privacy import rounded_up

if TYPE_CHECKING:
    from dpmine.models.histogram.density import Density

_COLOUR = "#2a6f97"
_GRID = "#d9d9d9"
_FEW_BINS = 64  # more are drawn without lines between them


def draw_density(density: Density, ax: Any = None) -> Any:
    """The density as filled steps, titled with what it promises; on new axes where none are given."""
    axes = new_figure(8, 4.5).subplots() if ax is None else ax
    axes.stairs(density.heights, density.edges, fill=True, color=_COLOUR, alpha=0.35)
    axes.stairs(density.heights, density.edges, color=_COLOUR, linewidth=1.6)
    if density.bins <= _FEW_BINS:
        axes.vlines(density.edges[1:-1], 0, _lower_neighbours(density), color=_COLOUR, linewidth=0.5, alpha=0.6)
    axes.set_xlim(density.edges[0], density.edges[-1])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("value (outside the bounds: counted at the nearest)")
    axes.set_ylabel("density")
    axes.set_title(_title(density))
    axes.set_axisbelow(True)
    axes.grid(visible=True, color=_GRID, linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return axes


def _lower_neighbours(density: Density) -> list[float]:
    return [min(pair) for pair in pairwise(density.heights.tolist())]


def _title(density: Density) -> str:
    promise = density.guarantee
    delta = f", δ = {rounded_up(promise.delta):g}" if promise.delta else ""
    return f"Private density, {density.bins} bins (ε = {rounded_up(promise.epsilon):g}{delta})"
