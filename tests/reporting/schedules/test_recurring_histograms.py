"""Histograms recur with one number of bins: the number of units of a window changes counts, and nothing else."""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reporting.schedules.weeks import MONDAY, PAIRS, Shop, sales
from reporting.test_page import Page
from support.effort import examples

from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.models.contribution import Bounding, Units
from dpmine.models.histogram.estimator import PrivateHistogram
from dpmine.models.histogram.training import Records
from dpmine.reporting.page.render import render

if TYPE_CHECKING:
    from pathlib import Path

AGES: dict[str, Any] = {
    "kind": "histogram",
    "name": "Ages",
    "input": "sales",
    "unit": "customer",
    "column": "age",
    "lower": 0,
    "upper": 100,
    "bins": 4,
}


def ages(path: Path, weeks: int, *, without: int) -> None:
    """In the week of number w, 10 customers of age 10 and w of age 60; each has two rows."""
    rows: list[tuple[int, datetime, int]] = []
    for week in range(weeks):
        at = MONDAY + timedelta(days=7 * week)
        people = [*range(10), *range(100, 100 + week)] if week != without else []
        rows += [(unit, at, 10 if unit < 100 else 60) for unit in people for _ in range(2)]
    units, times, numbers = zip(*rows, strict=True)
    columns = {"customer": units, "at": pa.array(times, pa.timestamp("us")), "age": numbers}
    pq.write_table(pa.table(columns), path)


def test_histograms_recur_beside_itemsets_and_an_empty_window_is_no_error(tmp_path: Path) -> None:
    sales(tmp_path / "sales.parquet", 8)
    ages(tmp_path / "ages.parquet", 8, without=5)
    shop = Shop(tmp_path, jobs=(PAIRS, AGES | {"input": f"{tmp_path}/ages.parquet"}))
    shop.run("2025-W06").raise_failures()
    report = shop.run("2025-W08")
    report.raise_failures()
    assert [str(entry.amount) for entry in shop.charges] == ["ε = 500, δ = 1/2000", "ε = 500, δ = 0"] * 3
    documents = [each.documents["Ages"] for each in report.timeline.windows] if report.timeline else []
    counts = [document["counts"] for document in documents if document is not None]
    assert np.rint(counts).tolist() == [[10, 0, 4, 0], [0, 0, 0, 0], [10, 0, 6, 0]]
    page = Page(render(report))
    assert "age by window, on one scale: the noisy number in each bin." in page.text
    charts = [each for tag, each in page.tags if tag == "svg" and "age by window" in str(each["aria-label"])]
    assert len(charts) == 2
    assert page.texts.count("no result") == 0


@pytest.mark.parametrize("bins", [[2, 4], None])
def test_a_choice_of_bins_needs_a_public_number_of_units(tmp_path: Path, bins: list[int] | None) -> None:
    sales(tmp_path / "sales.parquet", 3)
    shop = Shop(tmp_path, jobs=({**AGES, "bins": bins} if bins else {k: v for k, v in AGES.items() if k != "bins"},))
    with pytest.raises(BadParameter, match="job 'Ages' cannot recur: how many units are in a window is private"):
        shop.run("2025-W03")


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_a_choice_of_bins_recurs_with_a_public_number_of_units(tmp_path: Path, neighbors: str) -> None:
    """All units are counted, in windows with more of them too; of no δ, none is spent."""
    ages(tmp_path / "ages.parquet", 8, without=5)
    job = AGES | {"input": f"{tmp_path}/ages.parquet", "bins": [2, 10], "units": 12}
    shop = Shop(tmp_path, jobs=(job,), terms={"neighbors": neighbors, "delta": 0})
    shop.run("2025-W06").raise_failures()
    report = shop.run("2025-W08")
    report.raise_failures()
    assert [str(entry.amount) for entry in shop.charges] == ["ε = 1000, δ = 0"] * 3
    documents = [each.documents["Ages"] for each in report.timeline.windows] if report.timeline else []
    counts = [np.rint(sum(document["counts"])) for document in documents if document is not None]
    assert counts == [14, 0, 16]
    assert {str(entry.neighbors) for entry in shop.charges} == {neighbors.replace("-", "_")}


def test_one_number_of_bins_recurs_under_add_remove_and_declares_none(tmp_path: Path) -> None:
    ages(tmp_path / "ages.parquet", 2, without=-1)
    job = AGES | {"input": f"{tmp_path}/ages.parquet"}
    shop = Shop(tmp_path, jobs=(job,), terms={"neighbors": "add-remove"})
    shop.run("2025-W02").raise_failures()
    assert [str(entry.neighbors) for entry in shop.charges] == ["add_remove"]
    with pytest.raises(BadParameter, match="units is for a choice among several bins"):
        Shop(tmp_path, jobs=(job | {"units": 5},), terms={"neighbors": "add-remove"}).run("2025-W03")


RECORDS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 99)), max_size=8)


@settings(max_examples=examples(100))
@given(RECORDS, st.lists(st.integers(0, 99), max_size=3), st.lists(st.integers(0, 99), max_size=3), st.integers(1, 3))
def test_one_unit_of_a_window_moves_the_counts_by_at_most_two_a_place(
    others: list[tuple[int, int]], before: list[int], after: list[int], most: int
) -> None:
    """It may leave the window, or enter it: then the number of units changes, which no count shows."""

    def counts(own: list[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
        rows = [*others, *((9, value) for value in own[:most])]  # all of its rows are kept, whatever is drawn
        codes, values = np.array([u for u, _ in rows], np.int64), np.array([v for _, v in rows], np.float64)
        bounding = Bounding(len(rows) + 1, Units("customer", codes))
        search = PrivateHistogram(bins=[4], lower=0, upper=100).search(1)
        places = bounding.places(len(rows), bits=SystemBits())
        clipped = search.space.clipped(values)
        return search.space.grids[0].counts(Records.of(clipped[places.rows()]))

    moved = int(np.abs(counts(before) - counts(after)).sum())
    assert moved <= 2 * most


def test_the_same_is_charged_whoever_is_in_the_window(tmp_path: Path) -> None:
    charges = []
    for without in (-1, 1):
        folder = tmp_path / str(without)
        folder.mkdir()
        ages(folder / "ages.parquet", 3, without=without)
        shop = Shop(folder, jobs=(AGES | {"input": f"{folder}/ages.parquet"},))
        shop.run("2025-W03").raise_failures()
        charges.append([entry.amount for entry in shop.charges])
    assert charges[0] == charges[1]
    assert charges[0][0].epsilon == Fraction(1000)
