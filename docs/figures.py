"""Draws the figures of the explanations, from dpmine's own laws and supports: `python docs/figures.py`.

The drawings are kept beside the pages, so that they are seen wherever the pages are read; a test draws them again.
"""  # noqa: INP001

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import groupby, product
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpmine
from dpmine.io.atomic import new_figure, write_picture
from dpmine.itemsets.ways.way import ListTerms, build_way
from dpmine.privacy import Neighbors
from dpmine.selection.recommend import Shape
from dpmine.selection.universes.protocol import MANY_DUMMIES
from dpmine.zcdp import rho_at

sys.path.insert(0, str(Path(__file__).parent))

from diagrams import DIAGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
SHOP = str(ROOT / "datasets" / "online_retail.parquet")
SHOWN = 25
"""Pairs in a picture of supports."""
PAIRS = 8_280_415
"""Of 4,070 products."""
SUPPORTED = 2**20
LEADS = (2, 4, 6, 8, 10, 12, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 80, 90, 100)
EPSILONS = (0.1, 0.5, 1, 3)
YEAR = Fraction(3), Fraction(1, 10**5)
"""The ε and δ of all runs together; half of δ converts ρ."""
PLACES = (1, 2, 5, 10, 20, 50, 100)
RUN = Fraction(1, 2), Fraction(1, 10**6)
"""ε and δ of the picture of what auto selects."""
KINDS = {"items": (1, 1), "pairs": (2, 2), "all sizes": (1, 4)}.items()
KNOWN = (("public, δ = 0", 1000, Fraction(0)), ("public", 1000, RUN[1]), ("unknown", None, RUN[1]))
WAYS = {
    "best_first": "#a9c4e0",
    "discover": "#f3c99a",
    "limited_domain": "#d9e8c5",
    "exponential": "#e6e6e6",
    "items_first": "#d9cbe6",
    "max_of_exponentials": "#f6f6f6",
}
MECHANISMS = {
    "exponential": "exponential, public catalogue",
    "limited_domain": "limited_domain",
    "stable_maximiser": "stable_maximiser",
    "large_margin_tight": "large_margin_tight",
    "large_margin": "large_margin",
}


def supports(axes: Any, title: str, least: int, **columns: Any) -> None:
    """The best pairs of the shop by rank; dark where the noise of ε = 1 can lift a pair over the best one."""
    frame = dpmine.itemset_supports(SHOP, size=2, min_support=least, item="Item", **columns)
    best = [int(support) for support in frame["support"][:SHOWN]]
    reach = best[0] - 11  # the lead that `dpmine plan` asks for, at ε = 1 and δ = 1e-6
    axes.bar(range(1, SHOWN + 1), best, color=["#1f5a99" if each > reach else "#a9c4e0" for each in best])
    axes.axhspan(reach, best[0], color="#d9822b", alpha=0.35, linewidth=0)
    axes.set_ylim(0.6 * best[0], 1.03 * best[0])
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("rank of the pair")
    axes.set_ylabel("support")


def draw_supports() -> Any:
    """Two questions to the same shop: a best pair with a lead, and one without."""
    figure = new_figure(8, 3)
    left, right = figure.subplots(1, 2)
    supports(left, "25,900 invoices: a lead of 49", 400, unit="InvoiceNo")
    supports(right, "4,372 customers: a lead of 0", 200, unit="CustomerID", basket="InvoiceNo")
    return figure


def power_law(lead: int, candidates: int) -> list[tuple[float, int]]:
    """Levels of supports of which the j-th best is j^(−1/4) times the best; a block of ranks has that of its first."""
    top = lead / (1 - 2**-0.25)
    levels, rank = [(top, 1)], 2
    while rank <= candidates:
        size = 1 if rank < 8 else min(3 * rank, candidates - rank + 1)
        levels.append((top * rank**-0.25, size))
        rank += size
    return levels


def alone(lead: int, candidates: int) -> list[tuple[float, int]]:
    """Levels where nobody has any other pair."""
    return [(lead, 1), (0, candidates)]


def success(shape: Callable[[int, int], list[tuple[float, int]]], lead: int, mechanism: str) -> float:
    """The probability that the best pair is chosen at ε = 1 and δ = 1e-6."""
    if mechanism == "exponential":
        universe = dpmine.Levels(shape(lead, PAIRS))
    else:
        supported = [level for level in shape(lead, SUPPORTED) if level[0]]
        universe = dpmine.Levels(supported, padding=MANY_DUMMIES)
    return float(dpmine.law(universe, mechanism=mechanism, epsilon=1, delta="1e-6").pmf[0])


def draw_success() -> Any:
    """How likely the best pair is found, by its lead over the second."""
    figure = new_figure(8, 3.4)
    for axes, shape, title in zip(
        figure.subplots(1, 2, sharey=True), (power_law, alone), ("others as in real shops", "no others"), strict=True
    ):
        for mechanism, label in MECHANISMS.items():
            axes.plot(LEADS, [success(shape, lead, mechanism) for lead in LEADS], label=label, linewidth=1.6)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("lead over the second, in units")
    figure.axes[0].set_ylabel("probability of the best pair")
    figure.axes[0].legend(fontsize=7, loc="center right")
    return figure


def draw_beliefs() -> Any:
    """What an attacker can believe at most after a result, by what the attacker believed before."""
    figure = new_figure(4.5, 3.2)
    axes = figure.subplots()
    before = [percent / 100 for percent in range(101)]
    for epsilon, color in zip(EPSILONS, ("#a9c4e0", "#1f5a99", "#d9822b", "#8c2d19"), strict=True):
        odds = exp(epsilon)
        after = [100 * belief * odds / (1 - belief + belief * odds) for belief in before]
        axes.plot([100 * belief for belief in before], after, color=color, label=f"ε = {epsilon:g}")
    axes.plot([0, 100], [0, 100], ":", color="grey", label="no result")
    axes.set_xlabel("belief before the result, %")
    axes.set_ylabel("at most after it, %")
    axes.legend(fontsize=8)
    return figure


def draw_leads() -> Any:
    """The lead that finds the best pair with probability 0.95, by ε."""
    figure = new_figure(5.5, 3.2)
    axes = figure.subplots()
    epsilons = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1, 1.5, 2, 3)
    for catalogue, label in ((4070, "public catalogue"), (None, "catalogue unknown")):
        plans = [dpmine.plan(catalogue_size=catalogue, epsilon=epsilon) for epsilon in epsilons]
        leads = [plan.row(plan.recommendation.mechanism).need(Shape.POWER_LAW).gap for plan in plans]
        axes.plot(epsilons, leads, marker=".", label=label)
    axes.set_xlabel("ε")
    axes.set_ylabel("lead needed, in units")
    axes.set_ylim(0, 130)
    axes.legend(fontsize=8)
    return figure


def draw_ways() -> Any:
    """What auto selects, by what is asked for and the number of places: one row each, one colour a mechanism."""
    figure = new_figure(8, 4.4)
    axes = figure.subplots()
    asked = list(product(KINDS, KNOWN, Neighbors))
    for row, ((kind, sizes), (known, catalogue, delta), relation) in enumerate(asked):
        names = [build_way(ListTerms(k, RUN[0], delta, relation, sizes, catalogue)).name for k in PLACES]
        left = 0
        for name, run in groupby(names):
            width = len(list(run))
            axes.barh(-row, width - 0.04, height=0.9, left=left, align="center", color=WAYS[name], lw=0)
            axes.text(left + width / 2, -row, name, ha="center", va="center", fontsize=7 if width > 1 else 4.5)
            left += width
        label = f"{kind}, {known}, {relation.value.replace('_', '-')}"
        axes.text(-0.1, -row, label, ha="right", va="center", fontsize=7.5)
    axes.set(xlim=(0, len(PLACES)), ylim=(-len(asked) + 0.4, 0.6), yticks=[])
    axes.set_xticks([column + 0.5 for column in range(len(PLACES))], [f"k = {k}" for k in PLACES])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


def draw_year() -> Any:
    """The ε of each run, by the number of runs in one total."""
    figure = new_figure(5.5, 3.2)
    axes = figure.subplots()
    runs = (*range(1, 12), *range(12, 53, 4), 104, 208, 365)
    total = rho_at(YEAR[0], YEAR[1] / 2)
    axes.plot(runs, [float(YEAR[0]) / count for count in runs], "k", label="basic accounting")
    for divisor, label in ((2, "zCDP, any mechanism"), (8, "zCDP, exponential mechanism, limited domain")):
        axes.plot(runs, [float(divisor * total / count) ** 0.5 for count in runs], label=label)
    axes.set_xscale("log")
    axes.set_xticks([1, 4, 12, 52, 365], ["1", "4", "12", "52", "365"])
    axes.set_ylim(0, 3)
    axes.set_xlabel("number of runs")
    axes.set_ylabel("ε of each run")
    axes.legend(fontsize=8)
    return figure


FIGURES = {
    **DIAGRAMS,
    "explanation/supports.svg": draw_supports,
    "explanation/success.svg": draw_success,
    "decide/beliefs.svg": draw_beliefs,
    "decide/leads.svg": draw_leads,
    "decide/which_way.svg": draw_ways,
    "decide/year.svg": draw_year,
}


def draw(folder: Path) -> None:
    """All figures, in folders of a folder; the first line of a function's docstring is its figure's title."""
    from matplotlib import rc_context

    for name, drawing in FIGURES.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with rc_context({"svg.fonttype": "none", "font.size": 9, "path.simplify": False}):
            write_picture(drawing(), target, (drawing.__doc__ or "").partition("\n")[0])


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
