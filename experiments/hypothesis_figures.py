"""Figures of hypotheses.py."""

from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from dpmine.io.atomic import new_figure, write_picture

COLOURS = ("#2a6f97", "#bc4749", "#6a994e", "#7b2d8b", "#e09f3e")
Rows = list[tuple[str, Fraction | None, int, np.ndarray, float]]
"""Method, ε, m, excess errors of all runs, bound."""


def save(figure: Any, folder: Path, name: str) -> None:
    for suffix in ("svg", "png"):
        write_picture(figure, folder / f"hypotheses_{name}.{suffix}", f"Private hypotheses: {name}")


def lines_at(axes: Any) -> None:
    axes.grid(visible=True, color="#d9d9d9", linewidth=0.6)


def legend_under(axes: Any, columns: int) -> None:
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, fontsize="small")


def plot_excess(results: dict[str, Rows], epsilons: tuple[Fraction, ...], folder: Path) -> None:
    figure = new_figure(12, 7)
    grid = figure.subplots(len(epsilons), len(results), sharex=True, sharey=True)
    styles = {
        "exponential": ("o-", "exponential and max_of_exponentials: bound"),
        "max_of_exponentials": ("x-", None),
        "learner": ("s-", "learner: guaranteed a"),
        "not private": (".-", "not private: bound"),
    }
    for line, epsilon in zip(grid, epsilons, strict=True):
        for axes, (name, rows) in zip(line, results.items(), strict=True):
            for colour, (method, (style, bound_label)) in zip(COLOURS, styles.items(), strict=False):
                points = [
                    (m, v.mean(), bound) for label, e, m, v, bound in rows if label == method and e in {epsilon, None}
                ]
                x, means, bounds = zip(*points, strict=True) if points else ((), (), ())
                axes.plot(x, means, style, color=colour, markersize=4, label=method)
                if bound_label:
                    axes.plot(x, bounds, "--", color=colour, linewidth=1, label=bound_label)
            axes.set(xscale="log", yscale="log", title=f"{name}, ε = {float(epsilon):g}")
            lines_at(axes)
    for axes in grid[-1]:
        axes.set_xlabel("records m")
    for axes in grid[:, 0]:
        axes.set_ylabel("excess true error")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")
    save(figure, folder, "excess")


def plot_margin(curves: dict[tuple[str, int], Any], guarantees: tuple[Any, int], grids: Any, folder: Path) -> None:
    """`curves`: (log2 |H|, expected errors) by mechanism and gap; `grids`: by data and mechanism."""
    figure = new_figure(13, 5.5)
    left, right = figure.subplots(1, 2)
    wide, narrow = sorted({gap for _, gap in curves}, reverse=True)
    shown = {
        ("exponential", wide): ("o-", COLOURS[0], 1.5, 1.0),
        ("exponential", narrow): ("s:", COLOURS[0], 1.5, 1.0),
        ("large_margin", wide): ("-", COLOURS[2], 7.0, 0.45),
        ("large_margin_tight", narrow): ("s:", COLOURS[3], 1.5, 1.0),
    }
    for (mechanism, gap), (style, colour, width, alpha) in shown.items():
        label = f"{mechanism}, gap {gap}"
        left.plot(*curves[mechanism, gap], style, color=colour, linewidth=width, alpha=alpha, markersize=4, label=label)
    bits = curves["exponential", wide][0]
    left.plot(bits, guarantees[0], "--", color=COLOURS[0], linewidth=1, label="exponential: guarantee, any data")
    left.axhline(
        guarantees[1], linestyle="--", color=COLOURS[2], linewidth=1, label=f"large_margin: guarantee, gap {wide}"
    )
    left.axvline(64, color="#555555", linewidth=0.8, label="|H| = 2^64")
    left.set(xlabel="log2 |H|", title="3 near-best hypotheses, ε = 1, m = 10,000")
    colours = dict(
        zip(("exponential", "max_of_exponentials", "large_margin", "large_margin_tight"), COLOURS, strict=False)
    )
    for (name, mechanism), (x, values) in grids.items():
        style = "s:" if "worst" in name else "o-"
        width = 5 if mechanism == "exponential" else 1.5
        alpha = 0.4 if mechanism == "exponential" else 1.0
        label = f"{mechanism}, {name}"
        right.plot(x, values, style, color=colours[mechanism], linewidth=width, alpha=alpha, markersize=4, label=label)
    right.set(xlabel="log2 of the grid's points", title="thresholds on a finer and finer grid, ε = 1")
    for axes in (left, right):
        axes.set_ylabel("expected errors beyond the best")
        lines_at(axes)
        legend_under(axes, 2)
    save(figure, folder, "margin")


def plot_adult(below: dict[str, np.ndarray], folder: Path) -> None:
    """`below`: percentage points of every run."""
    figure = new_figure(8, 3.5)
    axes = figure.subplots()
    for place, values in enumerate(below.values()):
        axes.plot(values, np.full(len(values), place), "o", color=COLOURS[0], alpha=0.4, markersize=5)
        axes.plot(values.mean(), place, "|", color="black", markersize=18, label=None if place else "mean of 20 runs")
    axes.axvline(1, color=COLOURS[1], linestyle="--", label="target: 1 point")
    axes.set_yticks(range(len(below)), list(below))
    axes.set(xlabel="test accuracy below that of the best on the training part, percentage points", title="Adult")
    lines_at(axes)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
    save(figure, folder, "adult")


def plot_labels(
    by_smoothness: Any, by_accuracy: Any, measured: dict[float, dict[str, np.ndarray]], folder: Path
) -> None:
    """By ε: (κ, fully private records, label-private ones) and (a, both); by κ and learner: excess errors."""
    figure = new_figure(13, 4.8)
    panels = figure.subplots(1, 3)
    for axes, curves in zip(panels, (by_smoothness, by_accuracy), strict=False):
        for place, (epsilon, (x, fully, labels)) in enumerate(curves.items()):
            look = {"color": COLOURS[place], "linewidth": 1.5 if place else 4, "alpha": 1 if place else 0.5}
            axes.plot(x, fully, **look, label=f"fully private, ε = {epsilon:g}")
            axes.plot(x, labels, "--", **look, label=f"labels only, ε = {epsilon:g}")
        axes.set(xscale="log", yscale="log", ylabel="records that are enough")
    for place, name in enumerate(next(iter(measured.values()))):
        cells = np.array([(v[name].mean(), v[name].std(ddof=1) / sqrt(len(v[name]))) for v in measured.values()])
        panels[2].errorbar(list(measured), *cells.T, marker="o", markersize=3, color=COLOURS[place + 2], label=name)
    panels[0].set(xlabel="smoothness κ", title="thresholds, a = 0.3, b = 0.1")
    panels[1].set(xlabel="accuracy a", title="thresholds, κ = 10^6, b = 0.1")
    panels[1].set_xticks((ticks := next(iter(by_accuracy.values()))[0]), [f"{tick:g}" for tick in ticks])
    panels[1].minorticks_off()
    panels[2].set(xscale="log", xlabel="smoothness κ of the data", ylabel="mean excess true error, ± s.e.")
    panels[2].set_title("measured, m = 2,000, ε = 0.1")
    for axes in panels:
        lines_at(axes)
        legend_under(axes, 1 if axes is panels[2] else 2)
    save(figure, folder, "labels")


def plot_time(seconds: dict[str, float], folder: Path) -> None:
    figure = new_figure(8, 2.8)
    axes = figure.subplots()
    axes.bar_label(axes.barh(list(seconds), list(seconds.values()), color=COLOURS[0]), fmt="%.1f s", padding=3)
    axes.margins(x=0.12)
    axes.set(xlabel="seconds", title="10^6 records, grid of 2^64 points")
    save(figure, folder, "time")


def plot_shells(found: list[Any], folder: Path) -> None:
    figure = new_figure(12, 4.8)
    for axes, one in zip(figure.subplots(1, len(found)), found, strict=True):
        one.plot(axes)
        axes.set_xscale("symlog", linthresh=10)
        axes.set_xlim(0, 1.2 * max(one.excesses[-1], one.margin))
        axes.set_title(f"{one.hypotheses}, {one.records:,} records; better guarantee: {one.better}")
        axes.get_legend().remove()
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    save(figure, folder, "shells")
