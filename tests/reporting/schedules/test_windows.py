"""Recurring jobs: which windows a run is for, that each is charged once, and what is said when the budget is gone."""

from __future__ import annotations

import json
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reporting.schedules.weeks import ITEMS, PAIRS, Shop, sales
from reporting.test_page import Page
from support.cases import every

import dpmine
from dpmine.errors import BadData, BadLedger, BadParameter, BudgetExceeded, UnreadableFile
from dpmine.ledger.ledger import Ledger
from dpmine.privacy import Guarantee, Neighbors
from dpmine.reporting.call import PreparedReport
from dpmine.reporting.jobs.file import read_job_file
from dpmine.reporting.jobs.itemsets import TopItemsetJob
from dpmine.reporting.page.render import render
from dpmine.reporting.store import ResultsFolder
from dpmine.reporting.windows import WindowRun

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.reporting.batch import Report


BORDERS = [
    (None, "2025-03-30T23:59:59.999999", "2025-W13"),
    (None, "2025-03-31T00:00:00", "2025-W14"),
    ("Europe/Berlin", "2025-03-30T21:59:59+00:00", "2025-W13"),  # summer time began on that Sunday
    ("Europe/Berlin", "2025-03-30T22:00:00+00:00", "2025-W14"),
    ("UTC", "2025-03-30T22:00:00+00:00", "2025-W13"),
    ("America/New_York", "2025-03-31T03:59:59+00:00", "2025-W13"),
]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    sales(tmp_path / "sales.parquet", 12)
    return Shop(tmp_path)


def supports(report: Report) -> list[Any]:
    """The noisy supports of the last window, the noise being nearly nothing."""
    (outcome, *_) = report.outcomes
    assert outcome.result is not None
    return sorted(row["noisy_support"] for row in outcome.result.document["itemsets"])


def results(shop: Shop) -> list[str]:
    """The windows that have results."""
    paths = (shop.path / "jobs-results").glob("*.json")
    return sorted(json.loads(path.read_text(encoding="utf-8"))["job"]["window"] for path in paths)


def crash(*_arguments: Any, **_options: Any) -> None:
    raise KeyboardInterrupt


def test_a_window_is_charged_once_and_counts_its_own_rows(shop: Shop) -> None:
    shop.jobs = (PAIRS | {"top": 2},)
    first = shop.run("2025-W05")
    assert supports(first) == [3, 30]
    assert [str(outcome.charge) for outcome in first.outcomes] == ["ε = 1000, δ = 1/1000"]
    for _ in range(2):
        again = shop.run("2025-W05")
        assert [outcome.summary for outcome in again.outcomes] == [
            f"job 'Pairs 2025-W05': stored before, on {again.day.isoformat()}"
        ]
        assert supports(again) == [3, 30]
    assert shop.charged == ["2025-W05"]
    assert Ledger(shop.url).budget("shop").remaining.epsilon == 51000


def test_what_was_missed_is_caught_up_the_earliest_first(shop: Shop) -> None:
    shop.run("2025-W04")
    report = shop.run("2025-W07")
    assert shop.charged == ["2025-W04", "2025-W05", "2025-W06", "2025-W07"]
    assert [outcome.job.name for outcome in report.followed] == ["Pairs 2025-W05", "Pairs 2025-W06", "Pairs 2025-W07"]
    shop.run("2025-W03")  # before the first one: by its name alone
    assert shop.charged[4:] == ["2025-W03"]


def test_an_input_that_cannot_be_read_costs_one_window(shop: Shop) -> None:
    shop.run("2025-W04")
    path = shop.path / "sales.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(60) + content[64:])
    error = shop.fails("2025-W07")
    said = "\n".join(error.__notes__)
    assert "Windows after 2025-W05 are not run, and not charged: an input cannot be read. 2025-W05 was charged" in said
    assert "then give `window='2025-W05'` with `retry=True`" in said
    assert shop.charged == ["2025-W04", "2025-W05"]
    path.write_bytes(content)
    shop.run("2025-W05", retry=True)
    shop.run("2025-W07")
    assert shop.charged[2:] == ["2025-W05", "2025-W06", "2025-W07"]


def test_a_start_says_what_was_missed(shop: Shop) -> None:
    shop.schedule["start"] = "2025-W03"
    shop.run("2025-W05")
    assert shop.charged == ["2025-W03", "2025-W04", "2025-W05"]
    assert isinstance(shop.fails("2025-W02"), BadParameter)


def test_what_was_missed_is_skipped(shop: Shop) -> None:
    shop.schedule |= {"start": "2025-W02", "missed": "skip"}
    shop.run("2025-W04")
    report = shop.run("2025-W06")
    assert shop.charged == ["2025-W04", "2025-W06"]
    assert report.timeline is not None
    assert [(each.window, each.charged) for each in report.timeline.windows] == [
        ("2025-W02", False),
        ("2025-W03", False),
        ("2025-W04", True),
        ("2025-W05", False),
        ("2025-W06", True),
    ]
    shop.run("2025-W05")  # by its name it is run
    assert shop.charged[2:] == ["2025-W05"]


def test_a_job_is_the_same_whatever_it_is_called_and_wherever_data_and_ledger_are(shop: Shop) -> None:
    shop.run("2025-W03")
    (shop.path / "sales.parquet").rename(shop.path / "moved.parquet")
    (shop.path / "budget.db").rename(shop.path / "moved.db")
    shop.terms["ledger"] = shop.url = f"sqlite:///{shop.path}/moved.db"
    shop.jobs = (PAIRS | {"name": "Couples"},)
    written = shop.write()
    text = written.read_text().replace("sales.parquet", "moved.parquet")
    written.write_text(text)
    report = dpmine.report(written, shop.path / "page.html", window="2025-W03")
    assert report.outcomes[0].reused
    assert shop.charged == ["2025-W03"]


def test_more_runs_later_keep_the_results_of_earlier_windows(shop: Shop) -> None:
    shop.run("2025-W03")
    shop.schedule["runs"] = 104
    report = shop.run("2025-W04")
    assert shop.charged == ["2025-W03", "2025-W04"]
    assert [Fraction(entry.epsilon) for entry in shop.charges] == [1000, 500]
    assert report.timeline is not None
    assert report.timeline.charge.epsilon == 1500


@every("changes", [{"top": 2}, {"size": "1"}, {"mechanism": "discover"}])
def test_another_job_is_charged_by_itself(tmp_path: Path, changes: dict[str, Any]) -> None:
    sales(tmp_path / "sales.parquet", 3)
    shop = Shop(tmp_path)
    shop.run("2025-W03")
    shop.jobs = (PAIRS, PAIRS | {"name": "Other"} | changes)
    shop.terms |= {"epsilon": 104000, "delta": 0.104}
    Ledger(shop.url).grant("shop", epsilon=104000, delta=0.104)
    shop.run("2025-W03")
    assert shop.charged == ["2025-W03", "2025-W03"]


def test_a_crash_before_the_charge_costs_nothing_and_is_caught_up(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.run("2025-W03")
    with monkeypatch.context() as patch:
        patch.setattr(TopItemsetJob, "run", crash)
        with pytest.raises(KeyboardInterrupt):
            shop.run("2025-W04")
    assert list((shop.path / "jobs-results").glob("*.begun"))  # it may have been charged, as far as the folder knows
    shop.run("2025-W05")
    assert shop.charged == results(shop) == ["2025-W03", "2025-W04", "2025-W05"]
    assert not list((shop.path / "jobs-results").glob("*.begun"))


def test_a_crash_after_the_charge_is_not_charged_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("dpmine.itemsets.top.answer", crash)
        with pytest.raises(KeyboardInterrupt):
            shop.run("2025-W03")
    error = shop.fails("2025-W03")
    assert isinstance(error, BadData)
    assert "the ledger has a charge for it, and no result: it stopped after" in error.__notes__[0]
    report = shop.run("2025-W04")  # the others go on
    with pytest.raises(BadData, match="without a result: 'Pairs 2025-W03'"):
        report.raise_failures()
    assert shop.charged == ["2025-W03", "2025-W04"]
    assert report.timeline is not None
    assert report.timeline.charge.epsilon == 2000
    shop.run("2025-W03", retry=True).raise_failures()
    assert shop.charged == ["2025-W03", "2025-W04", "2025-W03"]
    assert results(shop) == ["2025-W03", "2025-W04"]
    assert Ledger(shop.url).budget("shop").spent.epsilon == 3000


def test_of_several_jobs_those_without_a_charge_are_run_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.jobs = (PAIRS, ITEMS)
    honest = TopItemsetJob.run

    def once(self: TopItemsetJob, *arguments: Any, **options: Any) -> Any:
        return crash() if self.name.startswith("Items") else honest(self, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(TopItemsetJob, "run", once)
        with pytest.raises(KeyboardInterrupt):
            shop.run("2025-W03")
    report = shop.run("2025-W04")
    assert [outcome.summary.partition(": ")[2].partition(",")[0] for outcome in report.followed] == [
        "stored before",
        "done",
        "done",
        "done",
    ]
    assert shop.charged == ["2025-W03", "2025-W03", "2025-W04", "2025-W04"]


def test_another_machine_has_the_result(shop: Shop) -> None:
    shop.results["store"] = "folder"
    shop.run("2025-W03", results=shop.path / "here")
    error = shop.fails("2025-W03", results=shop.path / "there")
    assert "another machine has the result. Copy that result into the folder" in error.__notes__[0]
    for path in (shop.path / "here").glob("*.json"):
        (shop.path / "there" / path.name).write_bytes(path.read_bytes())
    shop.run("2025-W03", results=shop.path / "there").raise_failures()
    assert shop.charged == ["2025-W03"]


def test_a_race_is_decided_by_the_ledger(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have looked, and found no charge, before one of them charges."""
    shop.results["store"] = "folder"
    honest = TopItemsetJob.run

    def late(self: TopItemsetJob, *arguments: Any, **options: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(TopItemsetJob, "run", honest)
            shop.run("2025-W03", results=shop.path / "there")
        return honest(self, *arguments, **options)

    monkeypatch.setattr(TopItemsetJob, "run", late)
    report = shop.run("2025-W03", results=shop.path / "here")
    (outcome,) = report.outcomes
    assert isinstance(outcome.error, BadData)
    assert outcome.charge.epsilon == 0
    assert shop.charged == ["2025-W03"]


def test_when_the_budget_is_gone_the_last_run_alarms(shop: Shop) -> None:
    Ledger(shop.url).grant("shop", epsilon=52000, delta=0.052, unit="customer")
    Ledger(shop.url).charge(  # by something else
        "shop", Guarantee(Fraction(50000), Fraction(0), Neighbors.REPLACE_ONE, unit="customer"), job="other"
    )
    shop.schedule["start"] = "2025-W02"
    error = shop.fails("2025-W05")
    assert isinstance(error, BudgetExceeded)
    assert "2025-W04 and later windows have no result: The budget of 'shop' does not allow this" in str(error)
    assert results(shop) == ["2025-W02", "2025-W03"]
    for _ in range(2):
        assert isinstance(shop.fails("2025-W05"), BudgetExceeded)
    assert results(shop) == ["2025-W02", "2025-W03"]
    assert Ledger(shop.url).budget("shop").remaining.epsilon == 0


def test_no_window_beyond_the_runs_whatever_the_ledger_grants(shop: Shop) -> None:
    """Without a start, the charges say how many windows there were; retries are among them."""
    shop.schedule["runs"] = 2
    Ledger(shop.url).grant("shop", epsilon=10**6, delta=0.5)
    shop.run("2025-W03")
    shop.run("2025-W04")
    error = shop.fails("2025-W05")
    assert isinstance(error, BudgetExceeded)
    assert "The jobs are charged up to ε = 78000" in str(error)
    assert shop.charged == ["2025-W03", "2025-W04"]


def test_a_window_without_data_is_charged_like_any_other(tmp_path: Path) -> None:
    sales(tmp_path / "sales.parquet", 4, without=1)
    shop = Shop(tmp_path)
    assert [supports(shop.run(f"2025-W0{week}")) for week in (2, 3, 4)] == [[30], [], [30]]
    assert [str(entry.amount) for entry in shop.charges] == ["ε = 1000, δ = 1/1000"] * 3


def test_disjoint_units_have_all_of_the_budget_in_each_window(tmp_path: Path) -> None:
    sales(tmp_path / "sales.parquet", 4)
    shop = Shop(tmp_path, terms={"neighbors": "add-remove"})
    shop.schedule["disjoint_units"] = True
    shop.jobs = (PAIRS | {"unit": ["customer", "week(at)"]},)
    with pytest.raises(BadParameter, match="'shop' is not granted yet: grant it with its parts"):
        shop.run("2025-W03")
    ledger = Ledger(shop.url)
    ledger.grant("shop", epsilon=52000, delta=0.052, neighbors="add-remove", parts="by_unit")
    for week in (3, 4, 5, 4):
        report = shop.run(f"2025-W0{week}")
        report.raise_failures()
    assert [(entry.part, entry.amount.epsilon) for entry in shop.charges] == [
        (f"2025-W0{week}", Fraction(52000)) for week in (3, 4, 5)
    ]
    assert ledger.budget("shop").spent.epsilon == 52000
    assert report.timeline is not None
    assert report.timeline.charge.epsilon == 52000
    assert report.unit == "customer, week(at)"
    assert (
        "What the job file asserts is true: no customer, week(at) has data in two windows." in Page(render(report)).text
    )


def test_windows_of_another_length_overlap_with_those_before(tmp_path: Path) -> None:
    """A visit in the week and in the month would be protected by the sum of both, and the ledger counts the larger."""
    sales(tmp_path / "sales.parquet", 12)
    shop = Shop(tmp_path, terms={"neighbors": "add-remove"})
    shop.schedule["disjoint_units"] = True
    Ledger(shop.url).grant("shop", epsilon=52000, delta=0.052, neighbors="add-remove", parts="by_unit")
    shop.run("2025-W03").raise_failures()
    shop.schedule["every"] = "month"
    with pytest.raises(BadParameter, match="'2025-W03', which may overlap with '2025-01': let windows be as long"):
        shop.run("2025-01")
    assert len(shop.charges) == 1


def test_without_parts_disjoint_windows_are_rejected(tmp_path: Path) -> None:
    sales(tmp_path / "sales.parquet", 4)
    shop = Shop(tmp_path, terms={"neighbors": "add-remove"})
    shop.schedule["disjoint_units"] = True
    Ledger(shop.url).grant("shop", epsilon=52000, delta=0.052, neighbors="add-remove")
    with pytest.raises(BadParameter, match="has no parts"):
        shop.run("2025-W03")


def test_another_run_works_in_the_folder(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.results["store"] = "folder"
    honest = TopItemsetJob.run

    def second(self: TopItemsetJob, *arguments: Any, **options: Any) -> Any:
        with pytest.raises(UnreadableFile, match="Another run works in"):
            shop.run("2025-W03")
        return honest(self, *arguments, **options)

    monkeypatch.setattr(TopItemsetJob, "run", second)
    shop.run("2025-W03").raise_failures()
    assert shop.charged == ["2025-W03"]


def test_a_window_needs_a_schedule(tmp_path: Path) -> None:
    sales(tmp_path / "sales.parquet", 3)
    shop = Shop(tmp_path)
    path = shop.write()
    text = path.read_text()
    path.write_text(text[: text.index("[schedule]")] + text[text.index("[inputs]") :])
    with pytest.raises(BadParameter, match=r"`window` is for job files with a \[schedule\]"):
        dpmine.report(path, tmp_path / "page.html", window="2025-W03")


def test_a_damaged_result_of_another_window_leaves_the_page(shop: Shop) -> None:
    shop.results["store"] = "folder"
    shop.run("2025-W03")
    (path,) = (shop.path / "jobs-results").glob("*.json")
    path.write_text(path.read_text().replace('"noisy_support": 3', '"noisy_support": 4'))
    report = shop.run("2025-W04")
    assert report.timeline is not None
    assert [each.documents["Pairs"] is None for each in report.timeline.windows] == [True, False]


def test_the_column_must_be_there_and_hold_days(tmp_path: Path) -> None:
    pq.write_table(pa.table({"customer": [1], "at": ["2025-01-06"], "item": ["tea"]}), tmp_path / "sales.parquet")
    shop = Shop(tmp_path)
    with pytest.raises(BadData, match=r"job 'Pairs 2025-W03': column of \[schedule\] needs a column of dates"):
        shop.run("2025-W03")
    shop.schedule["column"] = "when"
    with pytest.raises(BadData, match="There is no column 'when'"):
        shop.run("2025-W03")
    assert not (tmp_path / "budget.db").exists()


def test_what_one_run_lost_is_named_until_it_is_run_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.jobs = (PAIRS, ITEMS)
    with monkeypatch.context() as patch:
        patch.setattr("dpmine.itemsets.top.answer", crash)
        with pytest.raises(KeyboardInterrupt):
            shop.run("2025-W03")
    report = shop.run("2025-W04")
    assert [outcome.summary for outcome in report.others] == ["job 'Items 2025-W03': done"]
    assert shop.charged == ["2025-W03"] * 2 + ["2025-W04"] * 2
    lost = "Charged without a result: 'Pairs 2025-W03'."
    for window in ("2025-W04", "2025-W05"):
        with pytest.raises(BadData, match=lost):
            shop.run(window).raise_failures()
    forecast = PreparedReport.of(shop.write(), shop.path / "page.html", None, retry=False, window="2025-W05").batch
    assert lost in str(forecast)
    shop.run("2025-W03", retry=True).raise_failures()
    shop.run("2025-W05").raise_failures()
    assert shop.charged[-3:] == ["2025-W05"] * 2 + ["2025-W03"]


@pytest.mark.parametrize("place", range(6))
def test_a_race_for_the_last_of_the_budget_is_no_alarm(shop: Shop, monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    """The other machine charges while this one looks at the ledger: then there is a charge, and no lack of budget."""
    shop.results["store"] = "folder"
    shop.schedule["runs"] = 1
    shop.terms |= {"epsilon": 1000, "delta": 0.001}
    honest, calls = Ledger.known, []

    def known(self: Ledger, dataset: str) -> Any:
        calls.append(dataset)
        if len(calls) == place + 1:
            shop.run("2025-W03", results=shop.path / "there")
        return honest(self, dataset)

    monkeypatch.setattr(Ledger, "known", known)
    assert isinstance(shop.fails("2025-W03", results=shop.path / "here"), BadData)
    assert shop.charged == ["2025-W03"]


TEA: dict[str, Any] = {
    "kind": "hypothesis",
    "name": "Tea",
    "input": "sales",
    "label": "item",
    "classes": ["bread", "tea"],
    "class": "thresholds",
    "features": "number",
    "lower": 0,
    "upper": 200,
    "grid": 201,
    "unit": "customer",
}


def test_rules_recur_and_a_window_without_rows_is_no_error(tmp_path: Path) -> None:
    """Under add-remove, one unit must not show: neither by an error, nor by what is charged."""
    sales(tmp_path / "sales.parquet", 12, without=9)
    table = pq.read_table(tmp_path / "sales.parquet")
    pq.write_table(table.append_column("number", table["customer"]), tmp_path / "sales.parquet")
    shop = Shop(tmp_path, jobs=(TEA,), terms={"neighbors": "add-remove"})
    shop.run("2025-W10").raise_failures()
    report = shop.run("2025-W12")
    report.raise_failures()
    assert [str(entry.amount) for entry in shop.charges] == ["ε = 1000, δ = 0"] * 3
    assert shop.charged == ["2025-W10", "2025-W11", "2025-W12"]
    rules = [outcome.result.document["hypothesis"] for outcome in report.followed if outcome.result is not None]
    assert [rule.partition(" >= ")[0] for rule in rules] == ["number"] * 2  # of the week without rows, too
    assert report.timeline is not None
    page = Page(render(report)).text
    assert "The rule of each window" in page
    assert all(f"{week} number >= " in page for week in shop.charged)


CHANGED = "the window was charged for a job of this name with other options, so the job file was changed"


@every("changes", [{"top": 2}, {"size": "1"}, {"unit": "at"}, {"min_support": 1}, {"catalogue": "items.txt"}], quick=2)
def test_a_job_that_was_changed_is_not_charged_for_windows_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    """It would be charged for all of them, one after another; by another name it is another job, and asked for."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.txt").write_text("bread\nbutter\n", encoding="utf-8")
    sales(tmp_path / "sales.parquet", 4)
    shop = Shop(tmp_path)
    shop.run("2025-W02")
    first = shop.run("2025-W03")
    shop.jobs = (PAIRS | changes,)
    for window, retry in (("2025-W03", False), ("2025-W03", True), ("2025-W02", False)):
        with pytest.raises(BadParameter, match=CHANGED):
            shop.run(window, retry=retry)
    assert shop.charged == ["2025-W02", "2025-W03"]
    if changes.keys() != {"unit"}:  # that of the ledger is another one
        shop.schedule["start"] = "2025-W04"
        assert not shop.run("2025-W04").outcomes[0].reused
        shop.jobs = (PAIRS | changes | {"name": "Others"},)
        shop.schedule["start"] = "2025-W03"
        assert shop.run("2025-W03").outcomes[0].job.key != first.outcomes[0].job.key
        assert shop.charged == ["2025-W02", "2025-W03", "2025-W04", "2025-W03"]


def test_windows_by_another_column_are_those_of_a_job_that_was_changed(tmp_path: Path) -> None:
    sales(tmp_path / "sales.parquet", 3)
    table = pq.read_table(tmp_path / "sales.parquet")
    pq.write_table(table.append_column("paid", table["at"]), tmp_path / "sales.parquet")
    shop = Shop(tmp_path)
    shop.run("2025-W03")
    shop.schedule["column"] = "paid"
    with pytest.raises(BadParameter, match=CHANGED):
        shop.run("2025-W03")
    assert shop.charged == ["2025-W03"]


@every(("zone", "at", "week"), BORDERS)
def test_rows_at_the_borders_of_windows(zone: str | None, at: str, week: str, tmp_path: Path) -> None:
    """A timestamp with a zone is of the day that it is there, through changes of the clock."""
    when = datetime.fromisoformat(at)
    column = pa.array([when] * 30, pa.timestamp("us", zone))
    table = pa.table({"customer": range(30), "at": column, "item": ["tea"] * 30})
    pq.write_table(table, tmp_path / "sales.parquet")
    shop = Shop(tmp_path, jobs=(ITEMS,))
    for name in ("2025-W13", "2025-W14"):
        assert supports(shop.run(name)) == ([30] if name == week else []), name


def test_a_clock_that_was_set_back_charges_nothing_again(shop: Shop) -> None:
    """It rejects windows that have not ended by it, and a run of "the last one" that is far behind the ledger."""
    shop.run("2025-W05")
    with pytest.raises(BadParameter, match="last window that has ended, and the ledger has a charge for 2025-W05: set"):
        WindowRun.of(read_job_file(shop.write()), ResultsFolder(shop.path), None, today=date(2025, 1, 20))
    assert WindowRun.of(read_job_file(shop.write()), ResultsFolder(shop.path), None, today=date(2025, 1, 27))
    schedule = read_job_file(shop.write()).schedule
    assert schedule is not None
    with pytest.raises(BadParameter, match="has not ended"):
        schedule.window("2025-W05", date(2025, 2, 2))  # its Sunday
    assert str(schedule.window(None, date(2025, 2, 3))) == "2025-W05"
    assert shop.run("2025-W05").outcomes[0].reused
    assert shop.charged == ["2025-W05"]


def test_a_result_behind_all_charged_windows_shows_an_older_ledger(shop: Shop) -> None:
    """Also where the window that is asked for, and all that were charged, are before it."""
    shop.results = {"store": "folder"}
    shop.run("2025-W02").raise_failures()
    copy = (shop.path / "budget.db").read_bytes()
    shop.schedule["missed"] = "skip"
    shop.run("2025-W08").raise_failures()
    for path in shop.path.glob("budget.db*"):
        path.unlink()
    (shop.path / "budget.db").write_bytes(copy)
    with pytest.raises(BadLedger, match="knows of a charge for 2025-W08 that the ledger does not have"):
        shop.run("2025-W03")
    assert shop.charged == ["2025-W02"]
