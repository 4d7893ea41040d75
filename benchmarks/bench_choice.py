"""Which way "auto" should be: every way by name beside it, on lists of any length, and how much of the best is missing.

    python benchmarks/bench_choice.py [--out benchmarks/results | --read benchmarks/results] [--data NAME …]
        [--columns TEXT …] [--lists N]

A column is all that "auto" may look at: k, sizes, δ, a public catalogue or none, the relation, ε. For each it prints
the mean missing share over the data sets, of `auto` and of the best single way; then all cells where `auto` misses more
than 0.10 more than the best. Ways were chosen on some of the data sets, `utility.columns.CHOSEN_ON`, and not on others.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from utility.bound import least_epsilon, least_missing
from utility.columns import CHOSEN_ON, REPORTED_ON, Cell, MinedData, columns, with_auto
from utility.data import case_of

from dpmine.options.names import AUTO

if TYPE_CHECKING:
    from collections.abc import Sequence

CLOSE, FAR = 0.02, 0.10
NUMBERS = "choice.json"
"""Of all ways by name."""
Means = dict[str, dict[str, dict[str, float]]]
"""The mean missing share by column, data set and way."""


def measured(name: str, wanted: Sequence[str] = ("",), lists: int | None = None) -> list[Cell]:
    """All cells of a data set in the columns that begin with one of the texts; none where it is missing."""
    data = MinedData(name, lists)
    mine = [column for column in columns() if str(column).startswith(tuple(wanted))]
    return [] if data.baskets is None else [cell for column in mine for cell in data.cells(column)]


def means(cells: Sequence[Cell], names: Sequence[str]) -> Means:
    found: Means = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        if cell.data in names:
            found[cell.column][cell.data][cell.way] = fmean(cell.missing)
    return found


def best_of(by_data: dict[str, dict[str, float]]) -> dict[str, float]:
    """The mean of each way that can answer on all data sets, the best first."""
    ways = set.intersection(*(set(ways) for ways in by_data.values()))
    average = {way: fmean(found[way] for found in by_data.values()) for way in ways}
    return dict(sorted(average.items(), key=lambda each: each[1]))


def report(cells: Sequence[Cell], names: Sequence[str]) -> str:
    """A line a column; then how many are close, and the cells that are far."""
    found, lines, behind = means(cells, names), [], []
    for column, by_data in found.items():
        average = best_of(by_data)
        mine = average.pop(AUTO)
        best = next(iter(average))
        behind.append(mine - average[best])
        lines.append(f"| {column} | {mine:.2f} | {average[best]:.2f} | {best} | {mine - average[best]:.2f} |")
    close = sum(gap <= CLOSE for gap in behind)
    head = "| sizes | k | items | δ | relation | ε | auto | best | by | difference |\n" + "|---" * 10 + "|"
    said = f"{close} of {len(behind)} columns within {CLOSE}; the worst is {max(behind):.2f} behind"
    return "\n".join([head, *lines, "", f"{', '.join(names)}: {said}", "", *far(found)])


def far(found: Means) -> list[str]:
    lines = []
    for column, by_data in found.items():
        for data, ways in by_data.items():
            best = min(ways, key=ways.__getitem__)
            if ways[AUTO] > ways[best] + FAR:
                lines.append(f"- {column}, {data}: {ways[AUTO]:.2f}, {best} {ways[best]:.2f}")
    cells = sum(map(len, found.values()))
    return [f"auto more than {FAR} behind the best: {len(lines)} of {cells} cells", *lines]


def bounds() -> str:
    """What no mechanism can reach for pairs of customers under replace-one, by exchange and by packing."""
    case = case_of("customers")
    if case is None:
        return ""
    lines = [
        f"- k = {k}, ε = {epsilon:g}: at least {least_missing(case.best, k, epsilon):.3f} missing; nothing below "
        f"ε = {least_epsilon(case.candidates, k, case.cut_off(k)):.3f}"
        for k, epsilon in product((5, 10, 20), (0.25, 1.0))
    ]
    return "\n".join(["Pairs of customers, δ = 0, replace-one, any mechanism:", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=[*CHOSEN_ON, *REPORTED_ON])
    parser.add_argument("--columns", nargs="+", default=[""], help='those that begin so, such as "items | 20 | public"')
    parser.add_argument("--lists", type=int, help="of each cell; by default more where k is small")
    parser.add_argument("--out", type=Path, help="a folder for all numbers")
    parser.add_argument("--read", type=Path, help="the folder of a run: nothing is measured, only auto is asked again")
    arguments = parser.parse_args()
    if arguments.read:
        cells = [Cell(*cell) for cell in json.loads((arguments.read / NUMBERS).read_text())]
    else:
        with ProcessPoolExecutor(cpu_count(), mp_context=get_context("spawn")) as pool:
            each = partial(measured, wanted=arguments.columns, lists=arguments.lists)
            cells = [cell for found in pool.map(each, arguments.data) for cell in found]
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / NUMBERS).write_text(json.dumps(cells))
    cells = with_auto([cell for cell in cells if cell.data in arguments.data])
    measured_on = {cell.data for cell in cells}
    for names in (CHOSEN_ON, REPORTED_ON, (*CHOSEN_ON, *REPORTED_ON)):
        if here := [name for name in names if name in measured_on]:
            print(report(cells, here))
    print(bounds())


if __name__ == "__main__":
    main()
