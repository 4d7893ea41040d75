"""Tables and the figure of bench_utility.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from utility.intervals import betting_interval, hoeffding
from utility.methods import AUTO
from utility.verdict import pooled, verdict

from dpmine.io.atomic import new_figure, write_picture
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from utility.methods import Measured

COLOURS = {
    AUTO: "#bc4749",
    "limited domain": "#6a994e",
    "items first": "#7b2d8b",
    "OpenDP": "#2a6f97",
    "Laplace keys": "#e09f3e",
}
SHOWN = 50  # k of the figure
UTILITY = f"Precision of {SHOWN} pairs by ε, for each data set and method"


def report(found: list[Measured]) -> str:
    """All sections, one after the other, and the verdict."""
    parts = []
    for section in dict.fromkeys(row.section for row in found):
        rows = [row for row in found if row.section == section]
        parts.append(f"\n## {section}\n\n{SECTIONS.get(section, plain)(rows)}")
    return "\n".join([*parts, verdict(found)])


def plain(rows: list[Measured]) -> str:
    return table(rows, mean)


def without_catalogue(rows: list[Measured]) -> str:
    """The main table by relation: auto with its interval, the others as means."""
    parts = []
    for neighbors in dict.fromkeys(row.neighbors for row in rows):
        here = [row for row in rows if row.neighbors == neighbors]
        parts.append(f"{neighbors}\n\n" + table(here, lambda row: mean(row, interval=row.method == AUTO)) + "\n")
    parts.append(f"Means over all cells with ε ≤ 1 and k ≥ 50\n\n{means(rows)}")
    return "\n".join(parts)


def means(rows: list[Measured]) -> str:
    """A line for each relation, a column for each method, with Hoeffding's interval for all runs together."""
    methods = list(dict.fromkeys(row.method for row in rows))
    lines = ["| | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for neighbors in dict.fromkeys(row.neighbors for row in rows):
        values = [pooled(rows, method, neighbors) for method in methods]
        cells = " | ".join(f"{np.mean(value):.2f} ± {hoeffding(len(value)):.2f}" if value else "" for value in values)
        lines.append(f"| {neighbors} | {cells} |")
    return "\n".join(lines)


def beside(rows: list[Measured]) -> str:
    parts = [table(rows, mean)]
    parts += ["\nε of a round\n", table(rows, lambda row: f"{row.round_epsilon:.7f}")]
    parts += ["\nSeconds a choice\n", table(rows, lambda row: f"{row.seconds:.2f}")]
    return "\n".join(parts)


def over_cells(rows: list[Measured]) -> str:
    """The mean over the cells of each data set."""
    methods, titles = (list(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("method", "title"))
    lines = ["| | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for title in titles:
        here = {
            method: [row.precision for row in rows if (row.title, row.method) == (title, method)] for method in methods
        }
        lines.append(f"| {title} | " + " | ".join(f"{np.mean(here[method]):.2f}" for method in methods) + " |")
    return "\n".join(lines)


def timed(rows: list[Measured]) -> str:
    return "\n".join(f"{row.title}, {row.method}: {1000 * row.seconds:.0f} ms (median)" for row in rows)


def mean(row: Measured, *, interval: bool = False) -> str:
    if not interval:
        return f"{np.mean(row.precision):.2f}"
    low, high = betting_interval(row.precision)
    return f"{np.mean(row.precision):.2f} [{low:.2f}, {high:.2f}]"


def table(rows: list[Measured], cell: Callable[[Measured], str]) -> str:
    """A line for each title, k and ε; a column for each method."""
    methods = list(dict.fromkeys(row.method for row in rows))
    cells = {(row.title, row.k, row.epsilon, row.method): cell(row) for row in rows}
    lines = ["| | k | ε | " + " | ".join(methods) + " |", "|---" * (len(methods) + 3) + "|"]
    for title, k, epsilon in dict.fromkeys((row.title, row.k, row.epsilon) for row in rows):
        values = " | ".join(cells.get((title, k, epsilon, method), "") for method in methods)
        lines.append(f"| {title} | {k} | {epsilon:g} | {values} |")
    return "\n".join(lines)


def certain(rows: list[Measured]) -> str:
    return table(rows, lambda row: mean(row, interval=True))


SECTIONS: dict[str, Callable[[list[Measured]], str]] = {
    "unknown": without_catalogue,
    "beside OpenDP": beside,
    "looks": over_cells,
    "targets": certain,
    "noise": certain,
    "time": timed,
}


def plot(found: list[Measured], folder: Path) -> None:
    """Precision by ε where the catalogue is unknown: a panel for each data set."""
    from matplotlib import rc_context

    usual = (SHOWN, Neighbors.REPLACE_ONE.value)
    rows = [
        row for row in found if row.section == "unknown" and (row.k, row.neighbors) == usual and row.method in COLOURS
    ]
    titles = list(dict.fromkeys(row.title for row in rows))
    if not titles:
        return
    across = min(3, len(titles))
    figure = new_figure(2.6 * across + 0.6, 2.1 * -(-len(titles) // across) + 0.7)
    grid = figure.subplots(-(-len(titles) // across), across, sharex=True, sharey=True, squeeze=False)
    for title, axes in zip(titles, grid.flat, strict=False):
        panel(axes, [row for row in rows if row.title == title])
        axes.set_title(title, fontsize="small")
    for axes in grid[-1]:
        axes.set_xlabel("ε")
    for axes in grid[:, 0]:
        axes.set_ylabel(f"precision, k = {SHOWN}")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize="small")
    with rc_context({"svg.fonttype": "none"}):  # text as text: half the size
        write_picture(figure, folder / "utility.svg", UTILITY)


def panel(axes: Any, rows: list[Measured]) -> None:
    for method, colour in COLOURS.items():
        mine = sorted((row for row in rows if row.method == method), key=lambda row: row.epsilon)
        heights = [np.mean(row.precision) for row in mine]
        axes.plot([row.epsilon for row in mine], heights, color=colour, marker="o", markersize=3, label=method)
    axes.set(xscale="log", ylim=(-0.03, 1.03), xticks=[0.3, 1, 3], xticklabels=["0.3", "1", "3"])
    axes.set(yticks=[0, 0.5, 1])
    axes.minorticks_off()
    axes.tick_params(length=0)
    axes.grid(visible=True, color="#d9d9d9", linewidth=0.6)
