"""A year of weekly runs on one grant: crashes, double starts on two machines, a late week, a week without data."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ledger.postgres import Cluster, running
from reporting.schedules.weeks import ITEMS, PAIRS, Shop, sales
from reporting.test_page import Page

from dpmine.ledger.budget import Accounting, Amount
from dpmine.ledger.ledger import Ledger
from dpmine.reporting.jobs.schedule import Every, Window

if TYPE_CHECKING:
    from collections.abc import Iterator

MACHINE = Path(__file__).with_name("machine.py")
WEEKS = [str(week) for week in Window.parse("2025-W02", Every.WEEK).until(Window.parse("2026-W01", Every.WEEK))]
EMPTY, LATE = 20, 30
KILLED = {5: "before", 9: "after", 33: "after"}
RACED = {1, 12, 13, 40, 51}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    yield from running()


@pytest.fixture(params=["sqlite", "postgres"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    sales(tmp_path / "sales.parquet", 53, without=EMPTY)
    for machine in ("a", "b"):
        (tmp_path / machine / "results").mkdir(parents=True)
    terms = {"accounting": "zcdp", "epsilon": 20000, "delta": 0.05}
    url = request.getfixturevalue("cluster").schema("year") if request.param == "postgres" else ""
    return Shop(tmp_path, url, jobs=(PAIRS, ITEMS), terms=terms)


def started(shop: Shop, week: str, machine: str, killed: str = "") -> subprocess.Popen[bytes]:
    arguments = shop.write(), shop.path / machine / "page.html", shop.path / machine / "results", week, killed
    return subprocess.Popen([sys.executable, str(MACHINE), *map(str, arguments)], stderr=subprocess.PIPE)


def status(process: subprocess.Popen[bytes]) -> int:
    process.communicate(timeout=300)
    return process.returncode


@pytest.mark.slow
def test_a_year(shop: Shop) -> None:
    results, page = shop.path / "a" / "results", shop.path / "a" / "page.html"
    for number, week in enumerate(WEEKS):
        if number == LATE:
            continue  # the next run catches up with it
        if number in KILLED:
            assert status(started(shop, week, "a", KILLED[number])) == -signal.SIGKILL
            continue
        if number in RACED:
            racing = [started(shop, week, machine) for machine in ("a", "b")]
            assert [status(process) for process in racing] == [0, 0]  # one runs, and both have the result
        shop.run(week, results=results).raise_failures()  # of raced weeks a retry, which finds the stored results
    assert status(started(shop, "2026-W02", "a")) == 3

    charged = Counter(shop.charged)
    lost = {WEEKS[number] for number, when in KILLED.items() if when == "after"}
    assert charged == dict.fromkeys(WEEKS, 2)  # each of two jobs, once
    assert len({entry.job for entry in shop.charges}) == 2 * 52
    stored = Counter(path.name[: path.name.rindex("-")][-8:] for path in results.glob("*.json"))
    assert stored == {week.lower(): 1 if week in lost else 2 for week in WEEKS}  # of the first job nothing

    ledger = Ledger(shop.url)
    budget, amounts = ledger.budget("shop"), [entry.amount for entry in shop.charges]
    assert ledger.verify() == 1 + len(amounts) == 1 + 2 * 52
    assert budget.spent == Amount.total(amounts)
    assert len({str(amount.rho) for amount in amounts}) <= 2  # one for each of the jobs, in all weeks
    assert budget.granted.fits(budget.spent, Accounting.ZCDP)
    assert budget.spent.rho > Fraction(95, 100) * budget.granted.rho

    last = shop.run(WEEKS[-1], results=results)
    assert last.timeline is not None
    assert last.timeline.charge == budget.spent
    pairs = {each.window: each.documents["Pairs"] for each in last.timeline.windows}
    assert list(pairs) == WEEKS
    assert {week for week, document in pairs.items() if document is None} == lost
    for number, week in enumerate(WEEKS):
        if (document := pairs[week]) is not None:
            found = {tuple(row["items"]): row["noisy_support"] for row in document["itemsets"]}
            expected = {} if number == EMPTY else {("bread", "butter"): 30} if number < 30 else {("jam", "tea"): number}
            assert number in range(25, 36) or found.keys() == expected.keys()
            assert all(abs(value - max(30, number)) < 6 for value in found.values())
    assert status(started(shop, WEEKS[-1], "a")) == 0
    text = Page(page.read_text(encoding="utf-8")).text
    assert f"52 windows from {WEEKS[0]} to {WEEKS[-1]}, {len(lost)} without a result." in text
    for week in lost:
        assert f"{week} not of every job" in text
