"""The pictures of what goes in and comes out, for the start page and the how-to pages; docs/figures.py draws them.

Numbers come from pages that hold them, from laws of mechanisms, or are an invented example, and the picture says so.
"""  # noqa: INP001

from __future__ import annotations

import re
from math import exp, log
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drawing import DARK, LIGHT, ORANGE, PALE, arrow, box, canvas, dots, intervals, short, steps, table

import dpmine
from dpmine.io.atomic import new_figure
from dpmine.planning.accounting import plan_noise
from dpmine.planning.lists import plan_list

if TYPE_CHECKING:
    from collections.abc import Sequence

DOCS = Path(__file__).resolve().parent
SHOP = DOCS.parent / "datasets" / "online_retail.parquet"


def released() -> list[tuple[str, int, int, int]]:
    """The pairs of the tutorial's run: items, noisy support, and the ends of its interval."""
    page = (DOCS / "tutorial" / "index.md").read_text(encoding="utf-8")
    lines = re.findall(r"^(.+): about (\d+) \((\d+) to (\d+)\)", page, flags=re.MULTILINE)
    return [(items, int(value), int(low), int(high)) for items, value, low, high in lines]


def draw_start() -> Any:
    """Rows about customers go in; pairs with intervals come out, and no single customer shows."""
    import pyarrow.parquet as pq

    figure = new_figure(8, 3)
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    left.set(xlim=(0, 46), ylim=(0, 26))
    left.set_axis_off()
    columns = ["CustomerID", "InvoiceNo", "Item"]
    rows = pq.read_table(SHOP, columns=columns).slice(0, 5).to_pylist()
    shown = [[str(row["CustomerID"]), row["InvoiceNo"], short(row["Item"])] for row in rows]
    table(left, 0, 24, [["customer", "invoice", "product"], *shown, ["…", "…", "…"]], (8.5, 8, 17))
    left.text(0, 4.5, "541,909 lines about 4,372 customers", fontsize=8)
    arrow(left, (36.5, 14), (45.5, 14), "dpmine")
    left.text(41, 12.6, "each customer\nprotected", ha="center", va="top", fontsize=7.5)
    named = [("\n".join(short(item) for item in items.split(", ")), *numbers) for items, *numbers in released()]
    intervals(right, [(name, value, low, high) for name, value, low, high in named])
    right.set_xlabel("customers with this pair: noisy support, interval", fontsize=8)
    return figure


def draw_interest() -> Any:
    """Of 100 customers, 40 have bread and 50 have milk; 30 have both: support, confidence and lift of the rule."""
    figure = new_figure(8, 3)
    support, confidence, lift = figure.subplots(1, 3)
    dots(support, "support: 30 of 100\nhave bread and milk", lambda one: DARK if one < 30 else PALE)
    within = "confidence: of the 40 with bread,\n30 have milk: 30 / 40 = 75 %"
    dots(confidence, within, lambda one: DARK if one < 30 else ORANGE if one < 40 else PALE)
    bars = lift.bar(["of all", "of those\nwith bread"], [50, 75], color=[PALE, DARK], width=0.6)
    lift.bar_label(bars, fmt="%d %%", fontsize=9)
    lift.set(ylim=(0, 100), title="lift: milk is 75 % / 50 %\n= 1.5 times as frequent with bread")
    lift.title.set_fontsize(9)
    lift.set_ylabel("share with milk, %")
    return figure


def draw_inputs() -> Any:
    """The same three baskets in four layouts: long, lists, one column per item, and text."""
    figure, axes = canvas(8, 2.2)
    layouts = (
        ("one row per item", [["unit", "item"], ["1", "bread"], ["1", "milk"], ["2", "milk"], ["3", "tea"]], (5, 8)),
        ("one list per basket", [["unit", "items"], ["1", "[bread, milk]"], ["2", "[milk]"], ["3", "[tea]"]], (5, 13)),
        (
            "one column per item",
            [["bread", "milk", "tea"], ["1", "1", "0"], ["0", "1", "0"], ["0", "0", "1"]],
            (6, 5, 5),
        ),
        ("basket file", [["items"], ["bread milk"], ["milk"], ["tea"]], (12,)),
    )
    for x, (title, rows, widths) in zip((1, 20, 43, 65), layouts, strict=True):
        axes.text(x, 20, title, fontsize=9, color=DARK)
        table(axes, x, 16.5, rows, widths)
    return figure


def draw_units() -> Any:
    """Two customers with two baskets each: the pair of bread and milk has support 1, as only one basket holds both."""
    figure, axes = canvas(8, 2.6)
    people = (
        ("customer 1 (unit)", ("bread, milk", "bread, milk, tea"), "bread and milk in one basket: counts once"),
        ("customer 2 (unit)", ("bread, tea", "milk"), "in two baskets: does not count"),
    )
    for x, (name, baskets, note) in zip((20, 60), people, strict=True):
        box(axes, x, 14, "", width=37, height=15, colour="#eeeeee")
        axes.text(x, 19.2, name, ha="center", fontsize=9)
        for place, basket in zip((x - 9, x + 9), baskets, strict=True):
            box(axes, place, 12.5, basket, width=16.5, height=8, colour=ORANGE if "bread, milk" in basket else LIGHT)
        axes.text(x, 3.5, note, ha="center", fontsize=8)
    axes.text(40, 23.6, "support of {bread, milk} = 1", ha="center", fontsize=10, weight="bold")
    return figure


def draw_certain() -> Any:
    """An invented list: intervals above the threshold are certain, those that cross it are likely."""
    figure = new_figure(7, 2.4)
    axes = figure.subplots()
    rows = [("milk: certain", 920, 860, 980), ("bread: certain", 760, 700, 820), ("bread, milk: likely", 640, 550, 730)]
    intervals(axes, [*rows, ("tea: not listed", 560, 490, 650)])
    axes.axvline(600, color=ORANGE)
    axes.text(606, 4.45, "threshold", color=ORANGE, fontsize=8)
    axes.set(xlim=(0, 1050), ylim=(0.5, 4.8), xlabel="noisy support with its interval, in units (example)")
    return figure


def draw_first_list() -> Any:
    """From purchases to a list: items are found with noise, pairs of these are chosen, and their supports get noise."""
    return steps(
        [
            "your purchases,\nno catalogue",
            "dpmine finds items\nthat many have",
            "dpmine chooses\n20 pairs of these",
            "pairs with\nintervals",
        ],
        ["", "up to 3/5 of the\nchoice's budget", "the rest of it", "supports: a third of ε"],
    )


def draw_list_length() -> Any:
    """Longer lists need more people per itemset, and each support gets more noise."""
    figure = new_figure(8, 2.8)
    left, right = figure.subplots(1, 2)
    lengths = (2, 5, 10, 20, 50, 100)
    for catalogue, label in ((4070, "public catalogue"), (None, "catalogue unknown")):
        plans = [plan_list(k, catalogue_size=catalogue) for k in lengths]
        left.plot(lengths, [min(row.right_from for row in plan.rows) for plan in plans], marker=".", label=label)
    left.set(xlabel="k", ylabel="support of the best pair\nfor half of the list to be right", ylim=(0, None))
    left.legend(fontsize=8)
    widths = [plan_noise(k, epsilon="1/3") for k in lengths]
    right.plot(lengths, [plan.taken.half_width(plan.numbers) for plan in widths], marker=".", color=DARK)
    right.set(xlabel="k", ylabel="± of each noisy support,\nin units, at ε = 1/3", ylim=(0, None))
    return figure


def numbers_of(page: str, row: str) -> list[float]:
    """The numbers in the row of a how-to page's table that begins with this name."""
    text = (DOCS / "how-to" / page).read_text(encoding="utf-8")
    cells = text.partition(f"| {row} |")[2].partition("\n")[0]
    return [float(number.replace(",", "")) for number in re.findall(r"\d[\d,.]*", cells)]


def draw_compare() -> Any:
    """The shares of customers with bread and milk in two groups, and their difference, as one run released."""
    numbers = numbers_of("compare.md", "bread + milk")
    figure = new_figure(7, 1.9)
    shares, difference = figure.subplots(1, 2)
    intervals(shares, [("north", *numbers[:3]), ("south", *numbers[3:6])])
    shares.set(xlim=(0, 100), xlabel="share with bread and milk, %")
    intervals(difference, [("north − south", *numbers[6:])])
    difference.set(xlim=(0, 40), ylim=(0.2, 1.8), xlabel="difference, percentage points")
    return figure


def draw_recurring() -> Any:
    """Customers with bread and milk in three weeks, as three runs released: only the third week differs clearly."""
    windows = ("2026-W02", "2026-W03", "2026-W04")
    figure = new_figure(6, 2)
    axes = figure.subplots()
    intervals(axes, [(window, *numbers_of("recurring.md", window)) for window in windows])
    axes.set(xlim=(0, 5200), xlabel="customers with bread and milk: noisy support, interval")
    return figure


def draw_histogram() -> Any:
    """The same 2,000 invented ages in 4, 12 and 48 bins: few hide the shape, of many the noise is as large as a bin."""
    figure = new_figure(8, 2.3)
    reach = 2 / 0.25 * log(1 / 0.05)  # of Laplace noise at ε = 1/4, which 95 % stay within: one person moves two bins
    for axes, bins in zip(figure.subplots(1, 3), (4, 12, 48), strict=True):
        width = 120 / bins
        middles = [width * (number + 0.5) for number in range(bins)]
        weights = [0.7 * exp(-(((age - 30) / 12) ** 2)) + exp(-(((age - 65) / 14) ** 2)) for age in middles]
        counts = [2000 * weight / sum(weights) for weight in weights]
        axes.bar(middles, counts, width=0.94 * width, color=LIGHT)
        axes.errorbar(middles, counts, yerr=reach, fmt="none", ecolor=DARK, linewidth=0.8)
        axes.set(title=f"{bins} bins", xlabel="age", ylim=(0, None))
        axes.title.set_fontsize(9)
    figure.axes[0].set_ylabel("people, ± noise at ε = 1/4")
    return figure


def measured(page: str, head: str) -> list[list[str]]:
    """The rows of the first table of a measured page whose head begins with these words, cells without emphasis."""
    text = (DOCS / "explanation" / "measured" / page).read_text(encoding="utf-8")
    start = text.index(f"\n| {head}") + 1
    lines = text[start : text.index("\n\n", start)].splitlines()
    return [[cell.strip().strip("*") for cell in line.strip("|").split("|")] for line in lines if "---" not in line]


def by_budget(places: dict[int, str], names: Sequence[str]) -> Any:
    """AUC by ε with standard errors, from the page on searches: a panel per data set, a line per column."""
    rows = measured("search.md", "| ε | search")[1:]
    figure = new_figure(8, 2.6)
    for axes, name in zip(figure.subplots(1, len(names), sharey=True), names, strict=True):
        start = next(number for number, row in enumerate(rows) if row[0] == name)
        for column, label in places.items():
            cells = [row[column].split(" ± ") for row in rows[start : start + 3]]
            epsilons = [float(row[1]) for row in rows[start : start + 3]]
            means, errors = [float(mean) for mean, _ in cells], [float(error) for _, error in cells]
            axes.errorbar(epsilons, means, yerr=errors, marker=".", capsize=2, label=label)
        axes.set(title=name, xscale="log", xlabel="ε")
        axes.title.set_fontsize(9)
        axes.set_xticks([0.3, 1, 3], ["0.3", "1", "3"])
        axes.minorticks_off()
    figure.axes[0].set_ylabel("AUC on other rows")
    if len(places) > 1:
        figure.axes[-1].legend(fontsize=7, loc="lower right")
    return figure


def draw_classifiers() -> Any:
    """The accuracy of the default classifier rises with ε and with the number of rows."""
    return by_budget({6: "default"}, ["Adult", "Magic", "breast cancer", "digits, odd"])


def draw_search() -> Any:
    """A private search beside other ways to tune, and beside none."""
    return by_budget({2: "search", 3: "half of ε", 5: "stability", 6: "untuned"}, ["Adult", "Magic", "breast cancer"])


def draw_rules() -> Any:
    """The error of a private threshold falls like that of the best one, with the number of records."""
    rows = measured("hypotheses.md", "data, ε")[1:4]
    figure = new_figure(5, 2.6)
    axes = figure.subplots()
    records = [int(row[1].replace(",", "")) for row in rows]
    for column, label in ((2, "private, ε = 1"), (5, "not private")):
        axes.plot(records, [float(row[column].split()[0]) for row in rows], marker="o", markersize=4, label=label)
    axes.set(xscale="log", yscale="log", xlabel="records", ylabel="error above the best rule's")
    axes.legend(fontsize=8)
    return figure


def draw_target() -> Any:
    """The stricter the target, the larger the privacy loss; noise reduction needs less than doubling ε."""
    head, *rows = measured("accuracy_first.md", "week of counts")
    targets, losses = [float(cell) for cell in head[1:]], {row[0]: [float(cell) for cell in row[1:]] for row in rows}
    figure = new_figure(5, 2.6)
    axes = figure.subplots()
    for name in ("noise reduction", "doubling"):
        axes.plot(targets, losses[name], marker=".", label=name)
    axes.set(xscale="log", yscale="log", xlabel="target excess risk", ylabel="mean realised ε")
    axes.set_xticks([0.005, 0.02, 0.05, 0.2], ["0.005", "0.02", "0.05", "0.2"])
    axes.set_yticks([0.3, 1, 3, 10], ["0.3", "1", "3", "10"])
    axes.minorticks_off()
    axes.legend(fontsize=8)
    return figure


def draw_etl() -> Any:
    """A job reads rows, charges the ledger, runs dpmine and writes a small table."""
    return steps(
        [
            "DuckDB, polars,\nfiles, Spark",
            "the ledger\nis charged",
            "dpmine counts\nand chooses",
            "Parquet, JSON,\na frame",
        ],
        ["private rows", "before a value is read", "in one process", "may be published\nunder its guarantee"],
    )


def draw_spark() -> Any:
    """Executors count, dpmine in your process chooses: only it draws random bits."""
    return steps(
        [
            "tables and files\nof the cluster",
            "executors count\nblocks of units",
            "exact supports",
            "dpmine\nchooses",
            "the result",
        ],
        ["private rows", "private", "private", "in your process", "may be published\nunder its guarantee"],
    )


def draw_unattended() -> Any:
    """The steps of an unattended run, and what to do if it ends at each of them."""
    return steps(
        [
            "are the data\nthere?",
            "the ledger\nis charged",
            "dpmine counts\nand chooses",
            "the result\nis stored",
            "the page\nis written",
        ],
        [
            "no: status 4, nothing\nis charged; run later",
            "ends before:\nrun it again",
            "ends here: the charge\nis lost; --retry",
            "ends after: run it\nagain, no new charge",
            "status 0",
        ],
    )


def draw_audit() -> Any:
    """Probabilities of each outcome on two neighbours: nowhere do they differ by more than the factor e^ε."""
    figure = new_figure(6, 2.5)
    axes = figure.subplots()
    before, after = ({"a": 4, "b": 3, "c": 1}, {"a": 3, "b": 4, "c": 2})
    laws = [dpmine.law(scores, mechanism="exponential", epsilon=1).pmf for scores in (before, after)]
    axes.bar([0, 1, 2], laws[0], width=0.38, color=DARK, label="P, on the data")
    axes.bar([0.4, 1.4, 2.4], laws[1], width=0.38, color=LIGHT, label="P', with one unit changed")
    limits = [exp(1) * float(each) for each in laws[1]]
    axes.hlines(limits, [-0.2, 0.8, 1.8], [0.6, 1.6, 2.6], color=ORANGE, label="e^ε P', the limit of P")
    axes.set_xticks([0.2, 1.2, 2.2], ["a is chosen", "b is chosen", "c is chosen"])
    axes.set_ylabel("probability")
    axes.legend(fontsize=8)
    return figure


def draw_claim() -> Any:
    """The privacy loss of the noisy maximum below, by the lead of the first score: it exceeds the claim of 1."""
    figure = new_figure(5, 2.5)
    axes = figure.subplots()

    def first_wins(lead: float) -> float:
        """Of two scores with exponential noise of scale 1 each."""
        return exp(lead) / 2 if lead < 0 else 1 - exp(-lead) / 2

    leads = [place / 10 for place in range(-40, 41)]
    losses = [log(first_wins(lead) / first_wins(lead - 2)) for lead in leads]
    axes.plot(leads, losses, color=DARK, label="privacy loss: one person moves the lead by 2")
    axes.axhline(1, color=ORANGE, label="claimed ε")
    axes.set(xlabel="lead of the first score", ylabel="ln (P / P')", ylim=(0, 2.6))
    axes.legend(fontsize=7.5, loc="upper right")
    return figure


DIAGRAMS = {
    "start.svg": draw_start,
    "explanation/interest.svg": draw_interest,
    "decide/list_length.svg": draw_list_length,
    "how-to/pictures/inputs.svg": draw_inputs,
    "how-to/pictures/units.svg": draw_units,
    "how-to/pictures/certain.svg": draw_certain,
    "how-to/pictures/first_list.svg": draw_first_list,
    "how-to/pictures/compare.svg": draw_compare,
    "how-to/pictures/recurring.svg": draw_recurring,
    "how-to/pictures/histogram.svg": draw_histogram,
    "how-to/pictures/classifiers.svg": draw_classifiers,
    "how-to/pictures/search.svg": draw_search,
    "how-to/pictures/hypotheses.svg": draw_rules,
    "how-to/pictures/target.svg": draw_target,
    "how-to/pictures/etl.svg": draw_etl,
    "how-to/pictures/spark.svg": draw_spark,
    "how-to/pictures/unattended.svg": draw_unattended,
    "how-to/pictures/audit.svg": draw_audit,
    "how-to/pictures/claim.svg": draw_claim,
}
