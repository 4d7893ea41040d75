"""Windows that are left out: by skip, because they never come; and those behind one whose input could not be read."""

from __future__ import annotations

import errno
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from reporting.schedules.weeks import ITEMS, PAIRS, Shop, sales

import dpmine
from dpmine.errors import BadData, BadParameter, BudgetExceeded, FailedPass, UnreadableFile
from dpmine.ledger.ledger import Ledger
from dpmine.privacy import Guarantee, Neighbors
from dpmine.reporting.batch import stops_later_windows
from dpmine.reporting.forecast import WindowsForecast, raise_foreseen
from dpmine.reporting.jobs.file import read_job_file
from dpmine.reporting.jobs.job import Scheduled
from dpmine.reporting.store import BEGUN, CHARGED, UNREADABLE, ResultsFolder
from dpmine.reporting.windows import WindowRun

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.reporting.jobs.job import Job


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    sales(tmp_path / "sales.parquet", 12)
    made = Shop(tmp_path)
    made.schedule["start"] = "2025-W02"
    return made


def marks(shop: Shop) -> list[str]:
    return [
        path.suffix for path in (shop.path / "jobs-results").iterdir() if path.suffix in {BEGUN, CHARGED, UNREADABLE}
    ]


def crash(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "")


def damage(shop: Shop) -> bytes:
    """A page of the file, which shows when it is read, after the charge."""
    path = shop.path / "sales.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(60) + content[64:])
    return content


def test_a_window_behind_one_that_could_not_be_read_is_not_charged_by_later_runs(shop: Shop) -> None:
    shop.run("2025-W02").raise_failures()
    damage(shop)
    assert isinstance(shop.fails("2025-W03"), BadData)
    for window in ("2025-W04", "2025-W05"):
        error = shop.fails(window)
        assert isinstance(error, BadData)
        assert str(error) == (
            "2025-W04 is not run, and not charged: 2025-W03 was charged, and an input could not be read. Repair the "
            "input, then give `window='2025-W03'` with `retry=True`, which is charged once more. Or leave it out for "
            'good: skip = ["2025-W03"] in [schedule].'
        )
        with pytest.raises(BadData, match="2025-W04 is not run"):
            dpmine.report(shop.write(), shop.path / "page.html", window=window, dry_run=True)
    assert isinstance(shop.fails("2025-W04", retry=True), BadData)  # of another window
    assert shop.charged == ["2025-W02", "2025-W03"]


def test_a_retry_of_it_lets_later_windows_run(shop: Shop) -> None:
    content = damage(shop)
    assert isinstance(shop.fails("2025-W02"), BadData)
    (shop.path / "sales.parquet").write_bytes(content)
    shop.run("2025-W02", retry=True).raise_failures()
    shop.run("2025-W03").raise_failures()
    assert shop.charged == ["2025-W02", "2025-W02", "2025-W03"]


def test_a_retry_that_cannot_read_either_stops_later_windows(shop: Shop) -> None:
    damage(shop)
    assert isinstance(shop.fails("2025-W02"), BadData)
    assert isinstance(shop.fails("2025-W02", retry=True), BadData)
    assert isinstance(shop.fails("2025-W03"), BadData)
    assert shop.charged == ["2025-W02", "2025-W02"]


def killed_retry(shop: Shop, monkeypatch: pytest.MonkeyPatch, place: str) -> list[str]:
    """The marks after a window whose input could not be read, is repaired, and is killed there when it is retried."""
    content = damage(shop)
    shop.fails("2025-W02")
    (shop.path / "sales.parquet").write_bytes(content)
    with monkeypatch.context() as patch:
        patch.setattr(place, crash)
        with pytest.raises(KeyboardInterrupt):
            shop.run("2025-W02", retry=True)
    return marks(shop)


def test_a_retry_that_is_killed_after_its_charge_has_another_reason(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert killed_retry(shop, monkeypatch, "dpmine.itemsets.top.answer") == [CHARGED]
    assert "it stopped after the charge" in shop.fails("2025-W02").__notes__[0]
    assert "Charged without a result: 'Pairs 2025-W02'" in shop.run("2025-W03").lost
    assert shop.charged == ["2025-W02", "2025-W02", "2025-W03"]


def test_a_retry_that_is_killed_before_its_charge_leaves_one_story(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each window says that the input could not be read and what to type, and nothing is charged."""
    assert killed_retry(shop, monkeypatch, "dpmine.reporting.jobs.itemsets.TopItemsetJob.run") == [UNREADABLE]
    charged = shop.charged
    said = "was charged, and an input could not be read. Repair the input, then give `window='2025-W02'` with `retry="
    assert f"it {said}" in shop.fails("2025-W02").__notes__[0]
    assert f"2025-W02 {said}" in str(shop.fails("2025-W03"))
    assert shop.charged == charged
    shop.run("2025-W02", retry=True).raise_failures()
    assert marks(shop) == []
    shop.run("2025-W03").raise_failures()


@pytest.mark.parametrize("store", ["ledger", "folder"])
def test_what_to_type_names_the_window(shop: Shop, monkeypatch: pytest.MonkeyPatch, store: str) -> None:
    """After a result that could not be stored, and after a crash, in a run and a dry run."""
    shop.results = {"store": store}
    with monkeypatch.context() as patch:
        patch.setattr("dpmine.reporting.store.parquet_bytes", full)
        shop.run("2025-W02")
    typed = "give `window='2025-W02'` with `retry=True`"
    with pytest.raises(BadData, match=f"only the page of that run has it.* {typed}"):
        shop.run("2025-W02")
    with monkeypatch.context() as patch:
        patch.setattr("dpmine.itemsets.top.answer", lambda *_, **__: 1 / 0)
        shop.run("2025-W03")
    typed = typed.replace("W02", "W03")
    assert typed in shop.fails("2025-W03").__notes__[0]
    forecast = dpmine.report(shop.write(), shop.path / "page.html", window="2025-W03", dry_run=True)
    with pytest.raises(BadData, match=typed):
        raise_foreseen(forecast)


def test_a_retry_that_reads_the_input_and_fails_stops_no_other_window(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = damage(shop)
    shop.fails("2025-W02")
    (shop.path / "sales.parquet").write_bytes(content)
    with monkeypatch.context() as patch:
        patch.setattr("dpmine.itemsets.top.answer", lambda *_, **__: 1 / 0)
        shop.run("2025-W02", retry=True)
    assert marks(shop) == [CHARGED]
    assert "it stopped after the charge" in shop.fails("2025-W02").__notes__[0]
    assert "Charged without a result: 'Pairs 2025-W02'" in shop.run("2025-W03").lost
    assert shop.charged == ["2025-W02", "2025-W02", "2025-W03"]


def test_a_retry_that_the_budget_rejects_changes_nothing(shop: Shop) -> None:
    damage(shop)
    shop.fails("2025-W02")
    left = Ledger(shop.url).budget("shop").remaining.epsilon
    Ledger(shop.url).charge("shop", Guarantee(left, Fraction(0), Neighbors.REPLACE_ONE, unit="customer"), job="other")
    assert isinstance(shop.fails("2025-W02", retry=True), BudgetExceeded)
    assert marks(shop) == [UNREADABLE]


def test_of_windows_without_a_mark_no_result_is_looked_for(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    damage(shop)
    shop.fails("2025-W02")
    shop.schedule["skip"] = ["2025-W02"]
    (shop.path / "sales.parquet").unlink()
    sales(shop.path / "sales.parquet", 12)
    for window in ("2025-W03", "2025-W04"):
        shop.run(window).raise_failures()
    shop.schedule["skip"] = []
    asked = list[str]()

    def is_stored(_run: WindowRun, job: Job) -> bool:
        asked.append(job.name)
        return False

    monkeypatch.setattr(WindowRun, "_is_stored", is_stored)
    with pytest.raises(BadData, match="2025-W02 was charged, and an input could not be read"):
        shop.run("2025-W05")
    assert asked == ["Pairs 2025-W02"]


def test_skip_lets_later_windows_run_without_it(shop: Shop) -> None:
    content = damage(shop)
    assert isinstance(shop.fails("2025-W02"), BadData)
    (shop.path / "sales.parquet").write_bytes(content)
    shop.schedule["skip"] = ["2025-W02"]
    report = shop.run("2025-W03")
    report.raise_failures()
    assert shop.charged == ["2025-W02", "2025-W03"]
    assert report.timeline is not None
    assert [each.charged for each in report.timeline.windows] == [True, True]  # what was charged stays on the page


def test_a_window_that_never_comes_is_left_out(shop: Shop) -> None:
    shop.schedule |= {"skip": ["2025-W03"], "ready": str(shop.path / "{window}.done")}
    for window in ("2025-W02", "2025-W04"):
        (shop.path / f"{window}.done").touch()
    report = shop.run("2025-W04")
    report.raise_failures()
    assert shop.charged == ["2025-W02", "2025-W04"]
    assert report.timeline is not None
    assert [each.window for each in report.timeline.windows] == ["2025-W02", "2025-W04"]
    with pytest.raises(BadParameter, match="2025-W03 is left out by skip"):
        shop.run("2025-W03")


def test_the_run_after_windows_that_are_left_out_is_for_the_one_before(shop: Shop) -> None:
    shop.schedule["skip"] = ["2025-W03", "2025-W04"]
    store = ResultsFolder(shop.path / "jobs-results")
    run = WindowRun.of(read_job_file(shop.write()), store, None, today=date(2025, 1, 27))
    assert run is not None
    assert str(run.window) == "2025-W02"


@pytest.mark.parametrize(
    ("every", "skip", "said"),
    [
        ("week", ["2025-W03", "2025-12-24"], "'2025-12-24' is no window: one of a schedule for every week is written"),
        ("week", ["x" * 99], "'x{59} is no window"),
        ("week", "2025-W03", "list of windows"),
        ("day", ["2025-W03"], "'2025-W03' is no window: one of a schedule for every day is written like 2026-11-22"),
        ("week", [3], "A value that is no text is no window"),
    ],
)
def test_what_is_left_out_are_windows(shop: Shop, every: str, skip: object, said: str) -> None:
    shop.schedule |= {"every": every, "skip": skip, "start": "2025-W02" if every == "week" else "2025-01-06"}
    with pytest.raises(BadParameter, match=said):
        read_job_file(shop.write())


def test_advice_on_lost_windows_names_all_of_them(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.jobs = (PAIRS, ITEMS)
    for window in ("2025-W02", "2025-W03"):
        with monkeypatch.context() as patch:
            patch.setattr("dpmine.itemsets.top.answer", lambda *_, **__: 1 / 0)
            shop.run(window)
    assert shop.run("2025-W04").lost == (
        "Charged without a result: 'Pairs 2025-W02', 'Items 2025-W02', 'Pairs 2025-W03', 'Items 2025-W03'. To run a "
        "window again, which is charged once more: `window='2025-W02'` with `retry=True`, or `window='2025-W03'` with "
        "`retry=True`. To leave one out for good, write skip in [schedule]."
    )


def test_neither_a_row_nor_a_windows_own_file_stops_later_ones(shop: Shop) -> None:
    """A query that fails at one unit's row must not decide which windows are charged."""
    job = read_job_file(shop.write()).jobs[0]
    own = replace(job, scheduled=Scheduled("week", "2025-W02", None, {}, job.name, ("week=2025-W02",)))
    assert stops_later_windows(job, UnreadableFile("damaged"))
    assert not stops_later_windows(job, FailedPass("at a row"))
    assert not stops_later_windows(own, UnreadableFile("damaged"))


def test_one_window_of_difference_is_that_of_zones_beside_those_that_are_left_out(shop: Shop) -> None:
    shop.schedule["skip"] = ["2025-W04"]
    shop.run("2025-W05").raise_failures()
    store = ResultsFolder(shop.path / "jobs-results")
    run = WindowRun.of(read_job_file(shop.write()), store, None, today=date(2025, 1, 27))
    assert run is not None
    assert str(run.window) == "2025-W03"


def test_windows_that_are_left_out_are_not_left(shop: Shop) -> None:
    shop.schedule |= {"skip": ["2025-W04"], "runs": 3}
    shop.run("2025-W02").raise_failures()
    found = dpmine.report(shop.write(), shop.path / "page.html", window="2025-W03", dry_run=True)
    assert isinstance(found, WindowsForecast)
    assert found.windows_left == 0
