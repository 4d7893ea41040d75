"""Files with jobs that recur and jobs that do not: these are run once, charged once, and shown on each page."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from reporting.schedules.weeks import ITEMS, PAIRS, Shop, sales
from support.cases import every

from dpmine.errors import BadParameter, BudgetExceeded, DpmineError
from dpmine.ledger.budget import Amount
from dpmine.reporting.call import PreparedReport
from dpmine.reporting.page.render import render

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.reporting.batch import Report

ALL_TIME = ITEMS | {"name": "All time", "recurs": False, "epsilon": 2000, "delta": "0.002"}


def shop_with(path: Path, *jobs: dict[str, Any], weeks: int = 6, **options: Any) -> Shop:
    sales(path / "sales.parquet", weeks)
    return Shop(path, jobs=jobs or (ALL_TIME, PAIRS), **options)


def named(report: Report) -> dict[str, Any]:
    return {each.job.name: each for each in report.outcomes}


def test_it_is_charged_once_and_shown_on_each_page(tmp_path: Path) -> None:
    """Of all rows that were there when it was first run; the windows share what it leaves."""
    shop = shop_with(tmp_path)
    first = shop.run("2025-W03")
    first.raise_failures()
    again = shop.run("2025-W05")
    again.raise_failures()
    assert shop.charged == ["once", "2025-W03", "2025-W04", "2025-W05"]
    assert [entry.amount.epsilon for entry in shop.charges] == [2000, *[Fraction(50000, 52)] * 3]
    document = named(again)["All time"].result.document
    assert document == named(first)["All time"].result.document
    assert document["itemsets"][0]["noisy_support"] == 30
    assert named(again)["All time"].reused
    page = render(again)
    assert ">All time<" in page
    assert f"charged once, for the data of {first.day.isoformat()}, when the result was made" in page
    assert again.timeline is not None
    assert [set(window.documents) for window in again.timeline.windows] == [{"Pairs"}] * 3
    assert again.timeline.charge == Amount.total(entry.amount for entry in shop.charges)


def test_catching_up_runs_it_with_the_first_window_and_says_so_once(tmp_path: Path) -> None:
    shop = shop_with(
        tmp_path, schedule={"every": "week", "runs": 52, "column": "at", "ready": "clock", "start": "2025-W02"}
    )
    report = shop.run("2025-W04")
    assert str(report).splitlines()[1:5] == [
        "job 'Pairs 2025-W02': done",
        "job 'Pairs 2025-W03': done",
        "job 'All time': done",
        "job 'Pairs 2025-W04': done",
    ]
    assert shop.charged == ["once", "2025-W02", "2025-W03", "2025-W04"]


@every("accounting", ["basic", "zcdp"])
def test_a_forecast_counts_it_once(accounting: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp(accounting)
    schedule = {"every": "week", "runs": 52, "column": "at", "ready": "clock", "start": "2025-W02"}
    jobs = (ALL_TIME | {"epsilon": 100}, PAIRS)
    shop = shop_with(path, *jobs, schedule=schedule, terms={"accounting": accounting})
    forecast = PreparedReport.of(shop.write(), path / "page.html", None, retry=False, window="2025-W04").batch
    lines = str(forecast).splitlines()
    assert [line.split(":")[0] for line in lines[:-1]] == ["All time", *(f"Pairs 2025-W0{week}" for week in (2, 3, 4))]
    foreseen = forecast.to_charge
    shop.run("2025-W04").raise_failures()
    assert Amount.total(entry.amount for entry in shop.charges) == foreseen
    assert (
        str(PreparedReport.of(shop.write(), path / "page.html", None, retry=False, window="2025-W04").batch).count(
            "no charge"
        )
        == 2
    )


def test_another_machine_finds_it_in_the_ledger(tmp_path: Path) -> None:
    shop = shop_with(tmp_path)
    shop.run("2025-W03").raise_failures()
    (tmp_path / "jobs-results").rename(tmp_path / "results of one machine")
    assert named(shop.run("2025-W04"))["All time"].reused
    assert shop.charged.count("once") == 1


def test_one_that_is_added_later_runs_with_a_window_that_was_run(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, PAIRS | {"epsilon": 900, "delta": "0.0005"})
    shop.run("2025-W03").raise_failures()
    shop.jobs = (*shop.jobs, ALL_TIME)
    shop.run("2025-W03").raise_failures()
    assert shop.charged == ["2025-W03", "once"]


def test_a_lost_result_is_reported_and_not_charged_again(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, results={"store": "folder"})
    shop.run("2025-W03").raise_failures()
    for path in (tmp_path / "jobs-results").glob("all-time-*"):
        path.unlink()
    assert "All time" in str(shop.fails("2025-W04"))
    assert shop.charged == ["once", "2025-W03", "2025-W04"]
    shop.run("2025-W04", retry=True).raise_failures()
    assert shop.charged[3:] == ["once"]


NOT_POSSIBLE = {
    "without epsilon": ((ITEMS | {"recurs": False}, PAIRS), {}, BadParameter, "give its own epsilon"),
    "alone": ((ALL_TIME,), {}, BadParameter, "No job of this file recurs"),
    "no truth value": ((ALL_TIME | {"recurs": "never"}, PAIRS), {}, BadParameter, "recurs of job 'All time' must be"),
    "all of the budget": ((ALL_TIME | {"epsilon": 52000}, PAIRS), {}, BudgetExceeded, "Jobs that do not recur are"),
    "more than is left": (
        (ALL_TIME, PAIRS | {"epsilon": 1000, "delta": "0.0005"}),
        {},
        BudgetExceeded,
        "with what does not recur",
    ),
    "disjoint": ((ALL_TIME, PAIRS), {"neighbors": "add-remove"}, BadParameter, "does not recur, and disjoint_units"),
}


@every("case", list(NOT_POSSIBLE))
def test_what_is_rejected(case: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    jobs, terms, kind, text = NOT_POSSIBLE[case]
    shop = shop_with(tmp_path_factory.mktemp("rejected"), *jobs, terms=terms, weeks=1)
    if case == "disjoint":
        shop.schedule["disjoint_units"] = True
    with pytest.raises(DpmineError, match=text) as caught:
        shop.run("2025-W02")
    assert isinstance(caught.value, kind)


def test_it_is_for_files_with_a_schedule(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, weeks=1)
    text = shop.write().read_text().replace("[schedule]", "[ignored]")
    start, end = text.index("[ignored]"), text.index("[inputs]")
    (tmp_path / "jobs.toml").write_text(text[:start] + text[end:])
    with pytest.raises(BadParameter, match="recurs of job 'All time' is for files with a"):
        PreparedReport.of(tmp_path / "jobs.toml", tmp_path / "page.html", None, retry=False)
