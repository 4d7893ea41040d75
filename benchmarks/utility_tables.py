"""Tables and the figure of bench_utility.py."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import beta
from utility_methods import BEFORE, DEFAULT

from dpmine.io.atomic import new_figure, write_picture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from utility_methods import Measured

COLOURS = {
    "default": "#bc4749",
    "limited domain, 100 k": "#6a994e",
    "items first, unknown": "#7b2d8b",
    "Laplace threshold": "#e09f3e",
}
BESIDE = "beside OpenDP"
WHOLE = "whole catalogue"
UNPUBLISHED = "unknown catalogue"
LEVEL = 0.95


def markdown(found: list[Measured]) -> str:
    """All sections, one after the other."""
    parts = []
    for section in dict.fromkeys(row.section for row in found):
        rows = [row for row in found if row.section == section]
        if section == "time":
            parts.append(f"\n## {section}\n\n" + "\n".join(map(timed, rows)))
            continue
        parts.append(f"\n## {section}\n\n" + table(rows, precise))
        if section in {UNPUBLISHED, "default, many runs"}:
            parts += ["\nRuns with half of the list right: exact intervals of 0.95\n", table(rows, at_least_half)]
        if section == WHOLE:
            parts += ["\nMean relative error, ε/2 / ε for the supports\n", table(rows, erroneous)]
        if section == "split":
            parts += ["\nPrecision / mean relative error\n", table(rows, erroneous)]
        if section == BESIDE:
            parts += ["\nε of a round\n", table(rows, lambda row: f"{row.round_epsilon:.7f}")]
            parts += ["\nSeconds a choice\n", table(rows, lambda row: f"{row.seconds:.2f}")]
    return "\n".join(parts)


def timed(row: Measured) -> str:
    return f"{row.title}: {row.k} by {row.method} in {1000 * row.seconds:.0f} ms (median)"


def precise(row: Measured) -> str:
    return f"{np.mean(row.precision):.2f} ± {standard_error(row.precision):.2f}"


def erroneous(row: Measured) -> str:
    if not row.errors:
        return ""
    first, second = np.mean(row.errors, axis=0)
    return f"{first:.3f} / {second:.3f}"


def table(rows: list[Measured], cell: Callable[[Measured], str]) -> str:
    """A line for each title, k and ε; a column for each method."""
    methods = list(dict.fromkeys(row.method for row in rows))
    cells = {(row.title, row.k, row.epsilon, row.method): cell(row) for row in rows}
    lines = ["| | k | ε | " + " | ".join(methods) + " |", "|---" * (len(methods) + 3) + "|"]
    for title, k, epsilon in dict.fromkeys((row.title, row.k, row.epsilon) for row in rows):
        values = " | ".join(cells.get((title, k, epsilon, method), "") for method in methods)
        lines.append(f"| {title} | {k} | {epsilon:g} | {values} |")
    return "\n".join(lines)


def standard_error(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) / sqrt(len(values)) if len(values) > 1 else 0.0


def beside_before(found: list[Measured]) -> str:
    """The default beside the better of the ways that there were before items were discovered, and in many runs."""
    rows = [row for row in found if row.section.startswith(UNPUBLISHED)]
    cells = dict.fromkeys((row.section, row.title, row.k, row.epsilon) for row in rows)
    behind, before, now = [], [], []
    for cell in cells:
        means = {row.method: np.mean(row.precision) for row in rows if row[:2] + row[3:5] == cell}
        best = max(means[method] for method in BEFORE)
        if means[DEFAULT] < best - 0.1:
            behind.append(f"{', '.join(map(str, cell))}: {means[DEFAULT]:.2f} beside {best:.2f}")
        if cell[2] >= 50 and cell[3] <= 1:
            now.append(means[DEFAULT])
            before.append(best)
    lines = [
        "\n## The default beside what there was before\n",
        f"More than 0.1 below: {len(behind)} of {len(cells)}.",
        *behind,
    ]
    lines.append(
        f"Mean of the {len(now)} cells with k ≥ 50 and ε ≤ 1: {np.mean(now):.3f} beside {np.mean(before):.3f}."
    )
    return "\n".join(lines)


def at_least_half(row: Measured) -> str:
    """How many runs have half of the list right, and an exact interval (Clopper & Pearson) for how probable that is."""
    good, runs = sum(value >= 0.5 for value in row.precision), len(row.precision)
    low = beta.ppf((1 - LEVEL) / 2, good, runs - good + 1) if good else 0.0
    high = beta.ppf((1 + LEVEL) / 2, good + 1, runs - good) if good < runs else 1.0
    return f"{good} of {runs}: {low:.2f} to {high:.2f}"


def verdict(found: list[Measured]) -> str:
    """Whether the best method is ever below OpenDP's best by more than two standard errors, with δ and without."""
    rows = [row for row in found if row.section == BESIDE]
    if not any(row.method.startswith("OpenDP") for row in rows):
        return "\nOpenDP was not measured: run make bench-utility, which installs it."
    lines = ["\n## Best here minus OpenDP\n", "| | k | ε | δ = 0 | δ = 10^-6 |", "|---|---|---|---|---|"]
    behind = 0
    for title, k, epsilon in dict.fromkeys((row.title, row.k, row.epsilon) for row in rows):
        here = [row for row in rows if (row.title, row.k, row.epsilon) == (title, k, epsilon)]
        pure = [row for row in here if row.method.endswith(("δ = 0", "pure"))]
        gaps = [gap(pure), gap([row for row in here if row not in pure])]
        behind += sum(difference < -2 * error for difference, error in gaps)
        cells = " | ".join(f"{difference:+.3f} ± {error:.3f}" for difference, error in gaps)
        lines.append(f"| {title} | {k} | {epsilon:g} | {cells} |")
    return "\n".join([*lines, f"\nBelow OpenDP by more than two standard errors: {behind} cells."])


def gap(rows: Iterable[Measured]) -> tuple[float, float]:
    """The best of ours minus OpenDP, and the standard error of that difference."""
    listed = list(rows)
    theirs = next(row for row in listed if row.method.startswith("OpenDP"))
    ours = max((row for row in listed if row is not theirs), key=lambda row: np.mean(row.precision))
    errors = standard_error(ours.precision), standard_error(theirs.precision)
    return float(np.mean(ours.precision) - np.mean(theirs.precision)), sqrt(errors[0] ** 2 + errors[1] ** 2)


def plot(found: list[Measured], folder: Path) -> None:
    """Precision by ε: a line of panels for each k, a column for each data set."""
    from matplotlib import rc_context

    rows = [row for row in found if row.section == UNPUBLISHED and row.method in COLOURS]
    titles, counts = list(dict.fromkeys(row.title for row in rows)), sorted({row.k for row in rows})
    figure = new_figure(2.6 * len(titles) + 1, 2.3 * len(counts) + 0.8)
    grid = figure.subplots(len(counts), len(titles), sharex=True, sharey=True, squeeze=False)
    for k, line in zip(counts, grid, strict=True):
        for title, axes in zip(titles, line, strict=True):
            panel(axes, [row for row in rows if (row.k, row.title) == (k, title)])
            axes.set_title(f"{title}, k = {k}", fontsize="small")
    for axes in grid[-1]:
        axes.set_xlabel("ε")
    for axes in grid[:, 0]:
        axes.set_ylabel("precision")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    with rc_context({"svg.fonttype": "none"}):  # text as text: half the size
        write_picture(figure, folder / "utility.svg")


def panel(axes: Any, rows: list[Measured]) -> None:
    for method, colour in COLOURS.items():
        mine = sorted((row for row in rows if row.method == method), key=lambda row: row.epsilon)
        means, errors = [np.mean(row.precision) for row in mine], [standard_error(row.precision) for row in mine]
        axes.errorbar(
            [row.epsilon for row in mine], means, errors, color=colour, marker="o", markersize=3, label=method
        )
    axes.set(xscale="log", ylim=(-0.03, 1.03), xticks=[0.3, 1, 3], xticklabels=["0.3", "1", "3"])
    axes.minorticks_off()
    axes.grid(visible=True, color="#d9d9d9", linewidth=0.6)
