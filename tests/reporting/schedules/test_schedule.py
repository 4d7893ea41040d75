"""The calendar of a job file, and how its budget is divided among windows."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reporting.jobs import AGES, RULE, WEIGHTS
from reporting.schedules.weeks import ITEMS, PAIRS, Shop, sales
from support.cases import every
from support.effort import examples

from dpmine.errors import BadParameter, BudgetExceeded
from dpmine.ledger.budget import Accounting, Amount
from dpmine.ledger.ledger import Ledger
from dpmine.reporting.jobs.file import read_job_file
from dpmine.reporting.jobs.ready import Readiness
from dpmine.reporting.jobs.schedule import Every, Missed, Schedule, Window
from dpmine.reporting.recurring import Recurring
from dpmine.zcdp import rho_at

if TYPE_CHECKING:
    from pathlib import Path

DAYS = st.dates(date(1, 3, 1), date(9999, 10, 1))
WRITTEN = {Every.DAY: "%Y-%m-%d", Every.WEEK: "%G-W%V", Every.MONTH: "%Y-%m"}


@settings(max_examples=examples(100))
@given(DAYS, st.sampled_from(Every))
def test_windows_follow_each_other_and_hold_their_days(day: date, length: Every) -> None:
    window = Window.containing(day, length)
    following = window.following()
    assert window.first <= day < following.first
    assert following.preceding() == window
    assert Window.parse(str(window), length) == window
    for inside in (window.first, following.first - timedelta(1)):
        assert Window.containing(inside, length) == window
    if day.year >= 1000:  # strftime writes earlier years in fewer digits
        assert str(window) == day.strftime(WRITTEN[length])


def test_a_window_has_the_days_from_its_first_to_the_next_ones() -> None:
    days = Window.parse("1970-W02", Every.WEEK).days("at")
    assert (days.column, days.first, days.end) == ("at", 4, 11)
    assert [
        str(window) for window in Window.parse("2026-W52", Every.WEEK).until(Window.parse("2027-W01", Every.WEEK))
    ] == [
        "2026-W52",
        "2026-W53",
        "2027-W01",
    ]


BAD = [
    ("day", ["2026-13-01", "2026-W47", "2026-11", "20261101", "x", "9999-12-31", "0001-01-01"]),
    ("week", ["2026-W54", "2027-W53", "2026-W00", "2026-W7", "2026-W471", "2026W47", "2026-11-22", "9999-W52"]),
    ("month", ["2026-13", "2026-00", "2026-11-01", "2026", "9999-12", "0001-01"]),
]


@every(("length", "text"), [(length, text) for length, texts in BAD for text in [*texts, "", None, 7]])
def test_what_is_no_window(length: str, text: object) -> None:
    with pytest.raises(BadParameter, match=f"for every {length} is written like 2026-11-22|like 2026-W47|like 2026-11"):
        Window.parse(text, Every(length))


TERMS: dict[str, Any] = {"every": "week", "runs": 52, "column": "at", "ready": "clock"}
BAD_TABLES = [
    ({"every": None}, r"every is missing in \[schedule\]"),
    ({"runs": None}, r"runs is missing in \[schedule\]"),
    ({"column": None}, r"column is missing in \[schedule\]"),
    ({"ready": None}, r"ready is missing in \[schedule\]: write there, for example, ready = \"newer-file\""),
    ({"ready": "soon"}, "ready must be 'newer-file', 'clock', or a path that differs from window to window"),
    ({"ready": "sales/month={month}"}, "ready must be .* a path that differs from window to window"),
    ({"ready": "sales/{week}"}, "ready knows {window}, {year}, {month} and {day}, and no {week}"),
    ({"on_empty": "stop"}, "whether a window has rows is private"),
    ({"on_empty": "stop", "ready": "newer-file"}, "whether a window has rows is private"),
    ({"on_empty": "skip", "ready": "{window}"}, "on_empty must be"),
    ({"every": "year"}, "every must be"),
    ({"runs": 0}, "runs must be a whole number of at least 1"),
    ({"runs": "52"}, "runs must be a whole number"),
    ({"runs": 100_001}, "runs must be at most 100,000"),
    ({"column": ""}, "column must be a printable name"),
    ({"missed": "wait"}, "missed must be"),
    ({"start": "2026-11-22"}, "is written like 2026-W47"),
    ({"disjoint_units": "yes"}, "disjoint_units must be"),
    ({"until": "2026"}, r"no key 'until' in \[schedule\]"),
]


@every(("changes", "hint"), BAD_TABLES)
def test_bad_schedules(tmp_path: Path, changes: dict[str, Any], hint: str) -> None:
    table = {name: value for name, value in {**TERMS, **changes}.items() if value is not None}
    with pytest.raises(BadParameter, match=hint):
        read_job_file(Shop(tmp_path, schedule=table).write())


def test_what_is_read(tmp_path: Path) -> None:
    given = {**TERMS, "every": "day", "start": "2026-11-22", "missed": "skip"}
    shop = Shop(tmp_path, schedule=given)
    expected = Schedule(Every.DAY, 52, "at", Readiness("clock"), Window(date(2026, 11, 22), Every.DAY), Missed.SKIP)
    assert read_job_file(shop.write()).schedule == expected
    path = shop.write()
    path.write_text(path.read_text().replace('"2026-11-22"', "2026-11-22"))  # TOML has dates
    assert read_job_file(path).schedule == expected
    assert read_job_file(Shop(tmp_path, schedule={**TERMS}).write()).schedule == Schedule(
        Every.WEEK, 52, "at", Readiness("clock")
    )


def test_which_window_a_run_is_for() -> None:
    schedule, today = Schedule.of({**TERMS, "start": "2026-W40", "runs": 8}, {}), date(2026, 11, 24)
    assert str(schedule.window(None, today)) == "2026-W47"
    assert str(schedule.window(None, date(2026, 11, 22))) == "2026-W46"  # a Sunday
    assert str(schedule.window("2026-W40", today)) == "2026-W40"
    for text in ("2026-W48", "2027-W01"):
        with pytest.raises(BadParameter, match="has not ended, and a window is charged once"):
            schedule.window(text, today)
    with pytest.raises(BadParameter, match="2026-W39 is before 2026-W40"):
        schedule.window("2026-W39", today)
    with pytest.raises(BudgetExceeded, match="divided among 8 windows from 2026-W40 on, and 2026-W48 is behind"):
        schedule.window(None, date(2026, 12, 1))


def divided(tmp_path: Path, **changes: Any) -> tuple[Recurring, Amount]:
    """The jobs of a file, and what all of their windows come to."""
    job_file = read_job_file(Shop(tmp_path, **changes).write())
    assert job_file.schedule is not None
    recurring = Recurring(job_file, job_file.schedule)
    window = Amount.total([Amount.of(job.guarantee_at()) for job in recurring.jobs])
    return recurring, Amount(*(number * job_file.schedule.runs for number in window))


def test_by_addition_all_of_the_budget_is_divided_equally(tmp_path: Path) -> None:
    terms = {"epsilon": 3, "delta": "1e-6"}
    recurring, total = divided(tmp_path, terms=terms, jobs=(PAIRS, ITEMS), schedule={**TERMS, "runs": 7})
    assert [job.options["epsilon"] for job in recurring.jobs] == ["3/14", "3/14"]
    assert [job.options["delta"] for job in recurring.jobs] == [f"1/{14 * 10**6}"] * 2
    assert (total.epsilon, total.delta) == (Fraction(3), Fraction(1, 10**6))


OTHERS = [
    {"mechanism": "auto"},
    {"mechanism": "exponential", "catalogue": "items.txt", "release_support": None},
    {"mechanism": "limited-domain-permute-and-flip", "release_support": None},
    {"mechanism": "discover", "top": 5, "rules": True},
    {"mechanism": "large-margin", "release_support": None},
]


@every("runs", [1, 12, 52, 365])
@every("options", OTHERS)
def test_by_zcdp_nearly_all_of_rho_is_used_and_never_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], runs: int
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.txt").write_text("bread\nbutter\ntea\njam\n")
    asked = {name: value for name, value in {**PAIRS, **options}.items() if value is not None}
    if "release_support" not in asked:
        asked.pop("min_support")
    terms = {"accounting": "zcdp", "epsilon": 3, "delta": "1e-5", "approximate_delta": "2e-6"}
    recurring, needed = divided(tmp_path, terms=terms, jobs=(asked,), schedule={**TERMS, "runs": runs})
    granted = recurring.terms.total_under(Accounting.ZCDP)
    assert granted.rho <= rho_at(Fraction(3), Fraction(8, 10**6))
    assert granted.fits(needed, Accounting.ZCDP)
    assert needed.rho >= Fraction(99, 100) * granted.rho
    by_addition = Fraction(3, runs)
    assert runs < 52 or Fraction(recurring.jobs[0].options["epsilon"]) > by_addition


def test_jobs_may_say_what_they_cost(tmp_path: Path) -> None:
    stated = PAIRS | {"epsilon": "1/20", "delta": "1e-9"}
    terms = {"epsilon": 3, "delta": "1e-6"}
    recurring, total = divided(tmp_path, terms=terms, jobs=(stated,))
    assert recurring.jobs == recurring.job_file.jobs
    assert total.epsilon == Fraction(52, 20)
    with pytest.raises(BudgetExceeded, match=r"61 windows are charged up to ε = 3.05"):
        divided(tmp_path, terms=terms, jobs=(stated,), schedule={**TERMS, "runs": 61})


IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    ({"jobs": (PAIRS | {"epsilon": 1}, ITEMS)}, "Some jobs of this schedule have epsilon"),
    ({"jobs": (PAIRS | {"delta": 0.1},)}, "Some jobs of this schedule have epsilon"),
    ({"jobs": (PAIRS | {"release_support": 1},)}, "release_support of job 'Pairs' must be 'auto'"),
    ({"jobs": (PAIRS | {"mechanism": "exponential"},)}, "job 'Pairs': .*catalogue"),
    ({"jobs": (AGES | {"input": "sales"},)}, "job 'Ages' cannot recur: how many units are in a window is private"),
    ({"jobs": (WEIGHTS | {"input": "sales"},)}, "job '.*' cannot recur: how many units are in a window is private"),
    ({"jobs": (RULE | {"input": "sales"},)}, "job 'Rule' cannot recur: under replace-one the number of units is"),
    (
        {"jobs": (RULE | {"input": "sales"},), "terms": {"neighbors": "add-remove"}},
        "job 'Rule' cannot recur: which labels occur in a window is private: give the two as classes",
    ),
    ({"schedule": {**TERMS, "disjoint_units": True}}, 'disjoint_units = true needs neighbors = "add-remove"'),
    (
        {"schedule": {**TERMS, "disjoint_units": True}, "terms": {"neighbors": "add-remove", "dataset": "shop/north"}},
        "give dataset without '/'",
    ),
    ({"terms": {"accounting": "zcdp", "delta": 0}}, "zcdp accounting needs a delta above 0"),
]


@every(("changes", "hint"), IMPOSSIBLE)
def test_what_cannot_recur(tmp_path: Path, changes: dict[str, Any], hint: str) -> None:
    with pytest.raises(BadParameter, match=hint):
        divided(tmp_path, **changes)


def test_the_division_depends_on_the_file_alone(tmp_path: Path) -> None:
    """Not on what a ledger was granted under, or for: then it is rejected."""
    sales(tmp_path / "sales.parquet", 3)
    shop = Shop(tmp_path)
    Ledger(shop.url).grant("shop", epsilon=52000, delta=0.052, accounting="zcdp")
    with pytest.raises(BadParameter, match="was granted under zcdp accounting: say so"):
        shop.run("2025-W02")
