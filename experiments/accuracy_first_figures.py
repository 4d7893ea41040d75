"""The figure of accuracy_first.py."""

from pathlib import Path
from typing import Any

import numpy as np

from dpmine.io.atomic import new_figure, write_picture

Losses = dict[str, dict[float, np.ndarray]]
"""Privacy losses of all runs, by method and target."""
LOOKS = {
    "noise reduction": ("o-", "#2a6f97"),
    "noise reduction, paper's test": ("s-", "#6a994e"),
    "noise reduction, output": ("v-", "#7fb2d1"),
    "Brownian": ("D-", "#e09f3e"),
    "doubling": ("^-", "#bc4749"),
    "theory": ("x--", "#7b2d8b"),
    "theory, sharp": ("+--", "#555555"),
    "theory, output": ("x:", "#b98cc4"),
    "theory, output, sharp": ("+:", "#999999"),
    "theory, output, sharp, γ": ("1:", "#333333"),
}


def plot_losses(results: dict[str, Losses], folder: Path) -> None:
    """Mean loss against the target, with bars from the 10 % to the 90 % quantile of the runs."""
    figure = new_figure(5 * len(results), 5)
    shown: dict[str, Any] = {}
    for axes, (name, found) in zip(figure.subplots(1, len(results), squeeze=False)[0], results.items(), strict=True):
        for method, by_target in found.items():
            style, colour = LOOKS[method]
            shown[method] = axes.errorbar(*_points(by_target), fmt=style, color=colour, markersize=4, linewidth=1.2)
        axes.set(xscale="log", yscale="log", title=name, xlabel="target excess risk α")
        axes.set_xticks((ticks := list(next(iter(found.values())))), [f"{tick:g}" for tick in ticks], fontsize="small")
        axes.minorticks_off()
        axes.grid(visible=True, color="#d9d9d9", linewidth=0.6)
        axes.set_ylabel("privacy loss ε: mean, 10 % to 90 %")
    columns = min(5, 2 * len(results))
    figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=columns, fontsize="small")
    for suffix in ("svg", "png"):
        write_picture(figure, folder / f"accuracy_first_loss.{suffix}")


def _points(by_target: dict[float, np.ndarray]) -> tuple[list[float], np.ndarray, np.ndarray]:
    means = np.array([values.mean() for values in by_target.values()])
    ends = np.array([np.quantile(values, [0.1, 0.9]) for values in by_target.values()]).T
    return list(by_target), means, np.maximum([means - ends[0], ends[1] - means], 0)
