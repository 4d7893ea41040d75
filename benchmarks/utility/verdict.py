"""What bench_utility.py says at its end: whether `auto` is a good default, and whether the targets are met."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from utility.intervals import betting_interval, hoeffding
from utility.methods import AUTO, DISCOVER, LAPLACE, OLD

from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from utility.methods import Measured

BEHIND = 0.1
OLD_NAMES = [method.name for method in OLD]
PEERS = ("OpenDP", LAPLACE)
TARGETS = {
    ("retail", 50, 0.3): 0.80,
    ("retail", 100, 1.0): 0.84,
    ("T10I4D100K", 10, 0.3): 0.80,
    ("Online Retail, invoices", 50, 1.0): 0.68,
    ("Online Retail, customers", 50, 2.0): 0.60,
    ("Online Retail, customers", 10, 3.0): 0.81,
}
"""Precision of `auto` under replace_one, by data set, k and ε."""
MOST_NOISE = 0.05
Cell = tuple[str, int, float, str]


def verdict(found: list[Measured]) -> str:
    rows = [row for row in found if row.section == "unknown"]
    cells: dict[Cell, dict[str, Measured]] = {}
    for row in rows:
        cells.setdefault((row.title, row.k, row.epsilon, row.neighbors), {})[row.method] = row
    parts = [
        *behind(cells, OLD_NAMES),
        *behind(cells, PEERS),
        *ratios(rows),
        *targets(found),
        *noise(found),
        *opendp(found),
    ]
    return "\n## Verdict\n\n" + "\n".join(parts)


def behind(cells: dict[Cell, dict[str, Measured]], others: list[str] | tuple[str, ...]) -> list[str]:
    """The cells where `auto` is more than 0.1 below the best of the others."""
    lines = []
    for (title, k, epsilon, neighbors), methods in cells.items():
        rivals = {name: float(np.mean(methods[name].precision)) for name in others if name in methods}
        mine = float(np.mean(methods[AUTO].precision))
        best = max(rivals, key=rivals.__getitem__, default="")
        if best and mine < rivals[best] - BEHIND:
            lines.append(f"- {title}, k = {k}, ε = {epsilon:g}, {neighbors}: {mine:.2f}, {best} {rivals[best]:.2f}")
    return [
        f"{AUTO} more than {BEHIND} below the best of {', '.join(others)}: {len(lines)} of {len(cells)} cells",
        *lines,
    ]


def pooled(rows: list[Measured], method: str, neighbors: str) -> list[float]:
    """The precision of all runs with ε ≤ 1 and k ≥ 50."""
    here = (row for row in rows if (row.method, row.neighbors) == (method, neighbors))
    return [value for row in here if row.epsilon <= 1 and row.k >= 50 for value in row.precision]


def ratios(rows: list[Measured]) -> list[str]:
    """Means over the cells with ε ≤ 1 and k ≥ 50: auto divided by the others."""
    values = {
        name: [value for relation in Neighbors for value in pooled(rows, name, relation.value)]
        for name in dict.fromkeys(row.method for row in rows)
    }
    average = {name: float(np.mean(value)) for name, value in values.items() if value}
    lines = [
        f"- {name}: {average[AUTO]:.3f} / {average[name]:.3f}{quotient(average[AUTO], average[name])}"
        for name in average
        if name not in {AUTO, DISCOVER}
    ]
    for names in (OLD_NAMES, OLD_NAMES[:2]):
        if best := best_of(names, rows):
            label = f"the best of {', '.join(names)} in each cell"
            lines.insert(0, f"- {label}: {average[AUTO]:.3f} / {best:.3f}{quotient(average[AUTO], best)}")
    width = hoeffding(len(values[AUTO])) if values.get(AUTO) else 1.0
    return [f"Mean precision over the cells with ε ≤ 1 and k ≥ 50, each ± {width:.3f} (Hoeffding, 95 %):", *lines]


def quotient(mine: float, other: float) -> str:
    return f" = {mine / other:.2f}" if other else ""


def best_of(names: list[str], rows: list[Measured]) -> float:
    """The mean, over the same cells, of the best of these methods in each."""
    best: dict[Cell, float] = {}
    for row in rows:
        if row.method in names and row.epsilon <= 1 and row.k >= 50:
            cell = (row.title, row.k, row.epsilon, row.neighbors)
            best[cell] = max(best.get(cell, 0.0), float(np.mean(row.precision)))
    return float(np.mean(list(best.values()))) if best else 0.0


def targets(found: list[Measured]) -> list[str]:
    """By runs of `auto` beside those of the main table."""
    lines = ["Targets, by runs of their own:"]
    rows = {(row.title, row.k, row.epsilon): row for row in found if row.section == "targets"}
    for cell, least in TARGETS.items():
        row = rows.get(cell)
        if row is None:
            continue
        low, high = betting_interval(row.precision)
        reached = float(np.mean(row.precision))
        word = "met" if reached >= least else "MISSED"
        title, k, epsilon = cell
        lines.append(
            f"- {title}, k = {k}, ε = {epsilon:g}: {reached:.3f} [{low:.2f}, {high:.2f}] in {len(row.precision)} runs, "
            f"at least {least}: {word}"
        )
    return lines if rows else []


def noise(found: list[Measured]) -> list[str]:
    lines = []
    for row in (row for row in found if row.section == "noise" and row.precision):
        low, high = betting_interval(row.precision)
        share = float(np.mean(row.precision))
        word = "met" if share <= MOST_NOISE else "MISSED"
        lines.append(
            f"Listed pairs that fewer than 20 have, {row.title}, top {row.k}, ε = {row.epsilon:g}, "
            f"{len(row.precision)} runs: {share:.3f} [{low:.3f}, {high:.3f}], at most {MOST_NOISE}: {word}"
        )
    return lines


def opendp(found: list[Measured]) -> list[str]:
    if any(row.method.startswith("OpenDP") for row in found):
        return []
    return ["OpenDP was not measured: run make bench-utility, which installs it."]
