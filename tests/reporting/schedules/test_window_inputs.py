"""Inputs whose paths name the window: each window reads its own files, and says which."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from reporting.schedules.weeks import PAIRS, Shop, sales

import dpmine
from dpmine.errors import BadParameter, NotReady, UnreadableFile

if TYPE_CHECKING:
    from pathlib import Path

WEEKS = ("2025-W02", "2025-W03", "2025-W04")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A folder for each week."""
    for week in WEEKS:
        (tmp_path / week).mkdir()
        sales(tmp_path / week / "part.parquet", 4)
    return Shop(tmp_path, files="{window}/*.parquet")


def test_a_damaged_file_of_another_window_is_not_read(shop: Shop) -> None:
    shop.run("2025-W02").raise_failures()
    (shop.path / "2025-W02" / "part.parquet").write_bytes(b"")
    for week in WEEKS[1:]:
        shop.run(week).raise_failures()
    assert shop.charged == list(WEEKS)


def test_a_window_that_cannot_be_read_stops_none_that_has_files_of_its_own(shop: Shop) -> None:
    """It is named as lost: a page of its file is damaged, which shows after the charge."""
    path = shop.path / "2025-W02" / "part.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(60) + content[64:])
    shop.fails("2025-W02")
    report = shop.run("2025-W03")
    assert report.outcomes[-1].result is not None
    assert "Charged without a result: 'Pairs 2025-W02'" in report.lost
    assert shop.charged == ["2025-W02", "2025-W03"]


def test_the_days_of_a_window_may_name_its_folder(shop: Shop) -> None:
    shop.files = "{year}/{month}/{day}"
    shutil.copytree(shop.path / "2025-W02", shop.path / "2025" / "01" / "06")
    shop.run("2025-W02").raise_failures()
    assert shop.charged == ["2025-W02"]


def test_a_dry_run_says_which_files_are_read(shop: Shop) -> None:
    shop.run("2025-W02").raise_failures()
    forecast = dpmine.report(shop.write(), shop.path / "page.html", window="2025-W04", dry_run=True)
    for week, line in zip(WEEKS[1:], str(forecast).splitlines(), strict=False):
        assert line.startswith(f"Pairs {week} ('{shop.path}/{week}/*.parquet'): a charge of up to")


def test_the_page_is_not_written_over_an_input_of_an_earlier_window(shop: Shop) -> None:
    shop.files = "{window}/page.html"
    for week in WEEKS:
        shutil.move(shop.path / week / "part.parquet", shop.path / week / "page.html")
    shop.schedule["start"] = "2025-W02"
    with pytest.raises(BadParameter, match="output"):
        dpmine.report(shop.write(), shop.path / "2025-W02" / "page.html", window="2025-W04")


@pytest.mark.parametrize("braces", ["{week}", "{}", "{window:%Y}"])
def test_other_braces_are_an_error_that_says_what_may_stand_there(shop: Shop, braces: str) -> None:
    shop.files = f"{braces}/*.parquet"
    with pytest.raises(BadParameter) as error:
        shop.run("2025-W02")
    assert str(error.value) == (
        f"The input of job 'Pairs' knows {{window}}, {{year}}, {{month}} and {{day}}, and no {braces}."
    )


def test_a_job_that_does_not_recur_has_no_window_in_its_input(shop: Shop) -> None:
    shop.jobs = (PAIRS, PAIRS | {"name": "All", "recurs": False, "epsilon": 1, "delta": 0.001})
    with pytest.raises(BadParameter, match="'All' does not recur"):
        shop.run("2025-W02")


def test_a_window_without_files_is_an_error_or_too_early_and_never_charged(shop: Shop) -> None:
    shutil.rmtree(shop.path / "2025-W03")
    shop.run("2025-W02").raise_failures()
    way_out = r"If 2025-W03 never comes, leave it out for good: skip = \[\"2025-W03\"\] in \[schedule\]\."
    for window in WEEKS[1:]:
        with pytest.raises(UnreadableFile, match=rf"2025-W03/.*matches no file.*{way_out}"):
            shop.run(window)
    shop.schedule["ready"] = "newer-file"
    with pytest.raises(NotReady, match="2025-W03 is not run yet"):
        shop.run("2025-W03")
    shop.run("2025-W04")
    assert shop.charged == ["2025-W02", "2025-W04"]


@pytest.mark.parametrize("place", ["window", "year", "start", "end"])
@pytest.mark.parametrize("scheduled", [True, False])
@pytest.mark.parametrize("option", ["query", "where"])
def test_a_query_that_names_a_window_is_rejected_before_its_charge(
    tmp_path: Path, option: str, place: str, scheduled: bool
) -> None:
    sql = {"query": f"SELECT customer, item, at FROM 'sales.parquet' WHERE '{{{place}}}' <> item"}
    given = sql if option == "query" else {"where": f"item = '{{{place}}}'"}
    asked = {name: value for name, value in PAIRS.items() if name != "input" or option != "query"}
    shop = Shop(tmp_path, jobs=(asked | given,))
    path = shop.write()
    if not scheduled:
        text = path.read_text()
        path.write_text(text[: text.index("[schedule]")] + text[text.index("[inputs]") :])
    with pytest.raises(BadParameter, match=rf"{{{place}}} in {option} of job 'Pairs' is not replaced: leave it out"):
        dpmine.report(path, tmp_path / "page.html")
    assert not (tmp_path / "budget.db").exists()
