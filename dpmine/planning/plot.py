"""The picture of a plan: success probability against the lead of the best itemset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.io.figures import new_figure, picture_target, write_picture
from dpmine.selection.laws.profile import stylised
from dpmine.selection.mechanisms.registry import usable
from dpmine.selection.recommend import success_probability

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.planning.results import Plan
    from dpmine.selection.laws.profile import Shape
    from dpmine.selection.mechanisms.base import Mechanism

_POINTS = 50
_CERTAIN = 1 - 1e-4  # from here on a curve is drawn as 1 without asking its law


def plot_plan(plan: Plan, path: str | Path, shape: Shape) -> None:
    """Write the picture; see `Plan.plot`."""
    target = picture_target(path)
    figure = new_figure(8, 4.5)
    _draw(figure.subplots(), plan, shape)
    write_picture(figure, target)


def _draw(axes: Any, plan: Plan, shape: Shape) -> None:
    needed = [row.need(shape).gap for row in plan.rows]
    gaps = np.geomspace(max(0.5, min(needed) / 4), 1.3 * max(needed), _POINTS)
    for mechanism in usable(plan.epsilon, plan.delta, plan.neighbors, candidates=plan.candidates):
        style = "-" if mechanism.name == plan.recommendation.mechanism else "--"
        axes.plot(gaps, _curve(mechanism, shape, gaps.tolist(), plan.candidates), style, label=mechanism.name)
    if plan.gap is not None:
        axes.axvline(plan.gap, color="#999999", linewidth=1)
    axes.axhline(plan.success, color="#999999", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel(f"lead of the best itemset over the second, in units ({str(shape).replace('_', ' ')})")
    axes.set_ylabel("probability of finding the best")
    axes.set_title(f"ε = {plan.epsilon}, δ = {float(plan.delta):g}, {str(plan.neighbors).replace('_', '-')}")
    axes.legend()


def _curve(mechanism: Mechanism, shape: Shape, gaps: list[float], candidates: int | None) -> list[float]:
    """Success at increasing gaps: it increases, so once it is certain it stays so."""
    curve: list[float] = []
    for gap in gaps:
        certain = bool(curve) and curve[-1] >= _CERTAIN
        curve.append(1.0 if certain else success_probability(mechanism, stylised(shape, gap, candidates)))
    return curve
