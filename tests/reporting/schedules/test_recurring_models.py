"""Models recur with a public number of units: what is charged and said does not depend on who is in a window."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reporting.schedules.weeks import MONDAY, PAIRS, Shop, sales
from support.cases import every

import dpmine
from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from pathlib import Path

CLASSIFY: dict[str, Any] = {
    "kind": "classify",
    "name": "Churn",
    "input": "sales",
    "unit": "customer",
    "label": "left",
    "classes": ["no", "yes"],
    "features": ["age"],
    "lower": 0,
    "upper": 100,
    "units": 60,
}
REGRESS = {key: value for key, value in CLASSIFY.items() if key not in {"label", "classes"}} | {
    "kind": "regress",
    "name": "Spend",
    "target": "spent",
    "target_bounds": [0, 100],
}
FIRST = {
    "kind": "accuracy-first",
    "model_kind": "logistic",
    "name": "Least",
    "input": "sales",
    "unit": "customer",
    "target": "left",
    "classes": ["no", "yes"],
    "features": ["age"],
    "excess_risk": "0.3",
    "regularization": "0.1",
    "x_bound": 100,
    "units": 60,
}
KINDS = {"classify": CLASSIFY, "several": CLASSIFY | {"lambdas": ["0.001", "0.1"]}, "regress": REGRESS, "first": FIRST}
FIRST_RIDGE = {key: value for key, value in FIRST.items() if key != "classes"} | {
    "target": "spent",
    "model_kind": "ridge",
    "x_bound": 1,
    "y_bound": 1,
}
WEEKS = {0: 40, 1: 0, 2: 90}
"""How many customers are in each week."""


def visits(path: Path) -> None:
    """Customers above 50 leave, and spend as much as they are old."""
    rows = [
        (unit, MONDAY + timedelta(days=7 * week, minutes=unit), unit % 97, "yes" if unit % 97 > 50 else "no")
        for week, count in WEEKS.items()
        for unit in range(count)
    ]
    units, times, ages, left = zip(*rows, strict=True)
    numbers = pa.array(ages, pa.float64())
    columns = {"customer": units, "at": pa.array(times, pa.timestamp("us")), "age": numbers, "left": left}
    pq.write_table(pa.table({**columns, "spent": numbers}), path)


@every(
    "case",
    [("classify", "add-remove"), ("several", "replace-one"), ("regress", "replace-one"), ("first", "add-remove")],
)
def test_models_recur_in_windows_of_any_size(case: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> None:
    kind, neighbors = case
    path = tmp_path_factory.mktemp(kind)
    visits(path / "sales.parquet")
    shop = Shop(path, jobs=(KINDS[kind],), terms={"neighbors": neighbors, "delta": 0})
    shop.run("2025-W02").raise_failures()
    report = shop.run("2025-W04")
    report.raise_failures()
    charges = shop.charges
    assert shop.charged == ["2025-W02", "2025-W03", "2025-W04"]
    assert {str(entry.neighbors) for entry in charges} == {neighbors.replace("-", "_")}
    assert {entry.amount.delta for entry in charges} == {0}
    windows = [each.documents for each in report.timeline.windows] if report.timeline else []
    documents = [document for each in windows for document in each.values()]
    assert len(documents) == 3
    assert None not in documents
    assert {str(entry.amount) for entry in charges} == {"ε = 1000, δ = 0"}
    charged = report.timeline.charge.epsilon if report.timeline else 0
    assert (charged < 3000) is (kind == "first")  # which comes to less than what was set aside
    if kind == "regress":  # people spend as much as they are old, where there are people
        slopes = [float(np.ravel(document["coef"])[0]) for document in documents if document]
        assert np.allclose(slopes[::2], 1, atol=0.1)


def test_ridge_regression_of_the_least_loss_recurs_under_zcdp_beside_itemsets(tmp_path: Path) -> None:
    visits(tmp_path / "visits.parquet")
    sales(tmp_path / "sales.parquet", 3)
    job = FIRST_RIDGE | {"input": f"{tmp_path}/visits.parquet"}
    shop = Shop(tmp_path, jobs=(PAIRS, job), terms={"accounting": "zcdp"})
    shop.run("2025-W02").raise_failures()
    shop.run("2025-W03").raise_failures()
    assert len(shop.charges) == 4
    one, other = (entry.amount.rho for entry in shop.charges[1::2])
    assert one == other > 0


def test_what_a_search_came_to_is_no_guarantee(tmp_path: Path) -> None:
    """Page and evidence guarantee what all windows set aside; what they came to is an outcome, and said beside it."""
    visits(tmp_path / "sales.parquet")
    shop, folder = Shop(tmp_path, jobs=(FIRST,), terms={"delta": 0}), tmp_path / "evidence"
    dpmine.report(shop.write(), tmp_path / "page.html", window="2025-W02", evidence=folder)
    said = json.loads((folder / "guarantees.json").read_text())
    assert said["results_together"]["epsilon"] < said["guarantee"]["epsilon"] == 1000
    page = (tmp_path / "page.html").read_text()
    assert re.search(r'class="together"><strong>ε\s*=\s*1,?000', page)
    assert "by their outcomes the jobs came to" in page
    registry = json.loads((folder / "registry.json").read_text())
    assert registry["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == 1000


@every("kind", list(KINDS))
def test_without_a_public_number_they_do_not_recur(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp(kind)
    visits(path / "sales.parquet")
    job = {key: value for key, value in KINDS[kind].items() if key != "units"}
    with pytest.raises(BadParameter, match="cannot recur: how many units are in a window is private"):
        Shop(path, jobs=(job,)).run("2025-W02")


def test_the_classes_must_be_named(tmp_path: Path) -> None:
    visits(tmp_path / "sales.parquet")
    job = {key: value for key, value in CLASSIFY.items() if key != "classes"}
    with pytest.raises(BadParameter, match="which labels occur is private, too: name them as classes"):
        Shop(tmp_path, jobs=(job,)).run("2025-W02")


def test_the_page_says_how_many_places_there_were(tmp_path: Path) -> None:
    from dpmine.reporting.page.render import render

    visits(tmp_path / "sales.parquet")
    page = render(Shop(tmp_path, jobs=(CLASSIFY,)).run("2025-W02"))
    assert "Training has 60 places, a public number" in page
    assert "Results of this kind are not compared." in page


def test_without_a_schedule_a_public_number_allows_add_remove(tmp_path: Path) -> None:
    visits(tmp_path / "sales.parquet")
    shop = Shop(tmp_path, jobs=(CLASSIFY | {"epsilon": 1},), terms={"neighbors": "add-remove"})
    text = shop.write().read_text()
    start, end = text.index("[schedule]"), text.index("[inputs]")
    (tmp_path / "jobs.toml").write_text(text[:start] + text[end:])
    report = dpmine.report(tmp_path / "jobs.toml", tmp_path / "page.html")
    assert str(report.outcomes[0].guarantee) == "ε = 1, δ = 0 per customer, neighbours add-remove"
