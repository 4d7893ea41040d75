"""A window is not charged before its data are there, as far as public facts show that: times and names of files."""

from __future__ import annotations

import os
import time
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from reporting.schedules.weeks import PAIRS, Shop, sales
from reporting.test_page import Page

from dpmine.errors import BadLedger, BadParameter, BudgetExceeded, DpmineError, NotReady, UnreadableFile
from dpmine.ledger.ledger import Ledger
from dpmine.reporting.jobs.file import read_job_file
from dpmine.reporting.page.render import render
from dpmine.reporting.store import ResultsFolder
from dpmine.reporting.windows import WindowRun

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.chdir(tmp_path)
    sales(tmp_path / "sales.parquet", 12)
    made = Shop(tmp_path)
    made.schedule |= {"ready": "newer-file", "start": "2025-W02"}
    return made


def stamp(path: Path, day: str) -> None:
    """As if the file was written at the first moment of that day, by this machine's clock."""
    at = datetime.fromisoformat(day).astimezone().timestamp()
    os.utime(path, (at, at))


@pytest.mark.parametrize(
    ("day", "charged"), [("2025-01-12", []), ("2025-01-13", ["2025-W02"]), ("2025-01-27", ["2025-W02", "2025-W03"])]
)
def test_a_window_is_run_once_a_file_is_newer_than_its_end(shop: Shop, day: str, charged: list[str]) -> None:
    stamp(shop.path / "sales.parquet", day)
    for window in ("2025-W02", "2025-W03"):
        if window in charged:
            shop.run(window).raise_failures()
            continue
        with pytest.raises(NotReady, match="no file of 'sales' was written after the end"):
            shop.run(window)
    assert (shop.charged if Path(shop.path / "budget.db").exists() else []) == charged


def test_a_clock_that_runs_ahead_charges_nothing(shop: Shop) -> None:
    """By it, eight more windows have ended; the file is of the day on which it was written."""
    stamp(shop.path / "sales.parquet", "2025-01-20")
    shop.run("2025-W03").raise_failures()
    store = ResultsFolder(shop.path / "jobs-results")
    ahead = WindowRun.of(read_job_file(shop.write()), store, None, today=date(2025, 3, 19))
    assert ahead is not None
    assert str(ahead.window) == "2025-W11"
    with pytest.raises(NotReady, match=r"^2025-W04 is not run yet.* Nor are 7 later ones, up to 2025-W11\.$"):
        ahead.run(watch=lambda *_: None, retry=False)
    assert shop.charged == ["2025-W02", "2025-W03"]


def test_what_has_a_result_is_shown_whatever_becomes_of_the_files(shop: Shop) -> None:
    shop.run("2025-W02").raise_failures()
    stamp(shop.path / "sales.parquet", "2025-01-01")
    report = shop.run("2025-W02")
    report.raise_failures()
    assert report.outcomes[0].reused


def test_windows_that_are_ready_are_run_and_the_others_later(shop: Shop) -> None:
    shop.schedule["ready"] = "done/{window}"
    (shop.path / "done").mkdir()
    for window in ("2025-W02", "2025-W04"):
        (shop.path / "done" / window).touch()
    report = shop.run("2025-W05")
    with pytest.raises(NotReady, match=r"2025-W03 is not run yet.*: there is no 'done/2025-W03'\. Nor is 2025-W05"):
        report.raise_failures()
    assert shop.charged == ["2025-W02", "2025-W04"]
    assert report.timeline is not None
    assert [each.charged for each in report.timeline.windows] == [True, False, True, False]
    (shop.path / "done" / "2025-W03").touch()
    assert isinstance(shop.fails("2025-W05"), NotReady)
    assert shop.charged == ["2025-W02", "2025-W04", "2025-W03"]


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("sales/week={window}", "sales/week=2025-W02"),
        ("sales/year={year}/month={month}/day={day}", "sales/year=2025/month=01/day=06"),
        ("newer_files/{window}", "newer_files/2025-W02"),
    ],
)
def test_a_partition_must_be_there(shop: Shop, rule: str, path: str) -> None:
    shop.schedule["ready"] = rule
    with pytest.raises(UnreadableFile, match=f"There is no folder '{rule.partition('/')[0]}', in which"):
        shop.run("2025-W02")
    (shop.path / rule.partition("/")[0]).mkdir()
    with pytest.raises(NotReady, match=f"there is no '{path}'"):
        shop.run("2025-W02")
    (shop.path / path).mkdir(parents=True)
    shop.run("2025-W02").raise_failures()
    assert shop.charged == ["2025-W02"]


def test_a_lost_ledger_is_named_before_a_feed_that_is_late(shop: Shop) -> None:
    shop.schedule["ready"] = "{window}.done"
    (shop.path / "2025-W02.done").touch()
    shop.run("2025-W02").raise_failures()
    (shop.path / "budget.db").unlink()
    with pytest.raises(BadLedger, match="which the ledger does not know: restore"):
        shop.run("2025-W03")


def nothing(_folder: Path) -> None:
    pass


def hidden(folder: Path) -> None:
    (folder / "_SUCCESS").write_text("x")
    (folder / ".part.crc").write_text("x")
    (folder / "_temporary").mkdir()
    (folder / "_temporary" / "part.parquet").write_text("x")
    (folder / "part.parquet").touch()


@pytest.mark.parametrize("fill", [nothing, hidden])
@pytest.mark.parametrize("on_empty", ["stop", "run", None])
def test_a_folder_without_files_stops_the_schedule_only_if_asked(
    shop: Shop, fill: Callable[[Path], None], on_empty: str | None
) -> None:
    shop.schedule |= {"ready": "sales/week={window}"} | ({"on_empty": on_empty} if on_empty else {})
    for window in ("2025-W02", "2025-W03", "2025-W04"):
        (shop.path / "sales" / f"week={window}").mkdir(parents=True)
        if window == "2025-W03":
            fill(shop.path / "sales" / f"week={window}")
        else:
            (shop.path / "sales" / f"week={window}" / "part.parquet").write_text("x")
    report = shop.run("2025-W04")
    if on_empty == "stop":
        with pytest.raises(
            NotReady, match=r"2025-W03 and later windows are not run.*'sales/week=2025-W03' has no file"
        ):
            report.raise_failures()
        assert shop.charged == ["2025-W02"]
    else:
        report.raise_failures()
        assert shop.charged == ["2025-W02", "2025-W03", "2025-W04"]


def test_a_window_without_rows_is_charged_whatever_is_asked_about_folders(tmp_path: Path) -> None:
    """Whether there are rows is private: two data sets that differ there are charged alike."""
    entries = []
    for without in (-1, 1):
        folder = tmp_path / str(without)
        folder.mkdir()
        sales(folder / "sales.parquet", 3, without=without)
        shop = Shop(folder)
        shop.schedule |= {"ready": f"{folder}/{{window}}", "on_empty": "stop", "start": "2025-W02"}
        for week in (2, 3):
            (folder / f"2025-W0{week}").mkdir()
            (folder / f"2025-W0{week}" / "part.csv").write_text("at,item\n")
        shop.run("2025-W03").raise_failures()
        entries.append([(entry.amount, entry.job) for entry in shop.charges])
    assert entries[0] == entries[1]
    assert len(entries[0]) == 2


def test_the_page_names_what_is_taken_for_public(shop: Shop) -> None:
    text = Page(render(shop.run("2025-W02"))).text
    assert "the time at which a file of the inputs was written shows nothing of one customer" in text
    shop.schedule |= {"ready": "sales-{window}", "on_empty": "stop"}
    (shop.path / "sales-2025-W02").mkdir()
    (shop.path / "sales-2025-W02" / "part.csv").write_text("at,item\n")
    text = Page(render(shop.run("2025-W02"))).text
    assert "that a path exists, or that its folder is empty, shows nothing of one customer" in text


def rejection(shop: Shop) -> DpmineError:
    with pytest.raises(BadParameter) as raised:
        shop.run("2025-W02")
    assert not Ledger(shop.url).exists()
    return raised.value


def test_what_has_no_files_here_needs_another_rule(shop: Shop) -> None:
    queried = {name: value for name, value in PAIRS.items() if name != "input"}
    shop.jobs = (queried | {"query": "select * from sales", "database": "duckdb:///shop.duckdb"},)
    assert "looks at files of this machine, and job 'Pairs 2025-W02' reads none" in str(rejection(shop))
    shop.jobs = (PAIRS | {"input": "s3://shop/sales.parquet"},)
    assert "looks at files of this machine" in str(rejection(shop))


def test_a_mark_is_no_folder(shop: Shop) -> None:
    shop.schedule |= {"ready": "done-{window}", "on_empty": "stop"}
    (shop.path / "done-2025-W02").touch()
    assert "on_empty = 'stop' is for folders, and 'done-2025-W02' is a file" in str(rejection(shop))


def test_of_a_folder_the_newest_file_counts(shop: Shop) -> None:
    folder = shop.path / "sales.parquet.d" / "part=1"
    folder.mkdir(parents=True)
    sales(folder / "a.parquet", 12)
    sales(folder / "b.parquet", 12)
    shop.jobs = (PAIRS | {"input": str(folder.parent)},)
    for path in folder.iterdir():
        stamp(path, "2025-01-01")
    assert isinstance(shop.fails("2025-W02"), NotReady)
    os.utime(folder / "a.parquet", (time.time(), time.time()))
    shop.run("2025-W02").raise_failures()


@pytest.mark.parametrize("rule", ["~/exports/{window}.done", "~shop/{window}", "exports/{window}*", "sales/[{window}]"])
def test_ready_is_a_path_as_it_is(shop: Shop, rule: str) -> None:
    shop.schedule["ready"] = rule
    assert "ready must be a path as it is" in str(rejection(shop))


def test_files_behind_links_are_data(shop: Shop) -> None:
    """As readers of folders see them; a folder that links to itself ends, and holds nothing by that."""
    shop.schedule |= {"ready": "sales/week={window}", "on_empty": "stop"}
    (shop.path / "elsewhere").mkdir()
    (shop.path / "elsewhere" / "part.parquet").write_text("x")
    for week, target in (("02", shop.path / "elsewhere"), ("03", Path())):
        folder = shop.path / "sales" / f"week=2025-W{week}"
        folder.mkdir(parents=True)
        (folder / "linked").symlink_to(target if week == "02" else folder, target_is_directory=True)
    shop.run("2025-W02").raise_failures()
    assert "'sales/week=2025-W03' has no file" in str(shop.fails("2025-W03"))
    assert shop.charged == ["2025-W02"]


def test_a_newer_file_behind_a_link_counts(shop: Shop) -> None:
    folder = shop.path / "input"
    folder.mkdir()
    (shop.path / "elsewhere").mkdir()
    sales(shop.path / "elsewhere" / "sales.parquet", 12)
    (folder / "linked").symlink_to(shop.path / "elsewhere", target_is_directory=True)
    shop.jobs = (PAIRS | {"input": str(folder)},)
    shop.run("2025-W02").raise_failures()
    stamp(shop.path / "elsewhere" / "sales.parquet", "2025-01-14")
    assert isinstance(shop.fails("2025-W03"), NotReady)


def test_a_clock_that_is_far_ahead_charges_nothing(shop: Shop) -> None:
    """With data or without: nothing but the clock says that a window has ended."""
    shop.schedule |= {"ready": "clock", "runs": 60}
    shop.terms |= {"epsilon": 60000, "delta": 0.06}
    shop.run("2025-W02").raise_failures()
    store, job_file = ResultsFolder(shop.path / "jobs-results"), read_job_file(shop.write())

    def by_clock(day: date) -> WindowRun:
        made = WindowRun.of(job_file, store, None, today=day)
        assert made is not None
        return made

    assert len(by_clock(date(2025, 4, 14)).forecast(retry=False).batches) == 13  # W03 to W15
    too_far = by_clock(date(2025, 4, 21))
    said = "14 windows are to be run, from 2025-W03 to 2025-W16, and a run by the clock catches up with 12"
    with pytest.raises(BadParameter, match=said):
        too_far.forecast(retry=False)
    with pytest.raises(BadParameter, match=said):
        too_far.run(watch=lambda *_: None, retry=False)
    assert shop.charged == ["2025-W02"]
    assert len(shop.run("2025-W16").others) == 13


def test_the_end_of_a_schedule_names_windows_that_were_not_run(shop: Shop) -> None:
    shop.schedule |= {"ready": "clock", "runs": 3, "start": "2025-W02"}
    shop.terms |= {"epsilon": 3000, "delta": 0.003}
    shop.run("2025-W02").raise_failures()
    store = ResultsFolder(shop.path / "jobs-results")
    said = r"behind the last one: .* Still open, and within its budget: 2025-W03, 2025-W04\. To run them: `window="
    with pytest.raises(BudgetExceeded, match=said):
        WindowRun.of(read_job_file(shop.write()), store, None, today=date(2025, 2, 3))
    shop.run("2025-W04").raise_failures()
    with pytest.raises(BudgetExceeded, match=r"a budget of its own\.$"):
        WindowRun.of(read_job_file(shop.write()), store, None, today=date(2025, 2, 3))
    assert shop.charged == ["2025-W02", "2025-W03", "2025-W04"]


@pytest.mark.parametrize("rule", ["sales/week={window}/_SUCCESS", "exports/{window}.done", "_{window}"])
def test_a_mark_is_no_folder_that_may_be_empty(shop: Shop, rule: str) -> None:
    """Said before the mark is there: the job file shows it."""
    shop.schedule |= {"ready": rule, "on_empty": "stop"}
    with pytest.raises(BadParameter, match=r"a ready that names a folder, and '.*' names a file: leave on_empty"):
        shop.run("2025-W02")
