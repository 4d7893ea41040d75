"""What a dry run of recurring jobs says will be charged is what the run then charges, entry by entry."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from reporting.schedules.weeks import ITEMS, PAIRS, Shop, sales

import dpmine
from dpmine.errors import BudgetExceeded
from dpmine.ledger.ledger import Ledger
from dpmine.privacy import Guarantee, Neighbors
from dpmine.reporting.forecast import WindowsForecast
from dpmine.reporting.jobs.itemsets import TopItemsetJob

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    sales(tmp_path / "sales.parquet", 12)
    return Shop(tmp_path)


def fresh(shop: Shop) -> None:
    shop.schedule["start"] = "2025-W02"


def later(shop: Shop) -> None:
    shop.run("2025-W06")


def done(shop: Shop) -> None:
    shop.run("2025-W13")


def two_jobs(shop: Shop) -> None:
    shop.jobs = (PAIRS, ITEMS)
    shop.run("2025-W10")


def zcdp(shop: Shop) -> None:
    shop.terms["accounting"] = "zcdp"
    shop.schedule |= {"start": "2025-W05", "runs": 9}


def skipping(shop: Shop) -> None:
    shop.schedule |= {"missed": "skip", "start": "2025-W02"}


def more_runs(shop: Shop) -> None:
    shop.run("2025-W08")
    shop.schedule["runs"] = 104


def begun(shop: Shop) -> None:
    """The first of two jobs was charged, the second was not."""
    shop.jobs = (PAIRS, ITEMS)
    honest = TopItemsetJob.run

    def once(self: TopItemsetJob, *arguments: Any, **options: Any) -> Any:
        if self.name.startswith("Items"):
            raise KeyboardInterrupt
        return honest(self, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TopItemsetJob, "run", once)
        with pytest.raises(KeyboardInterrupt):
            shop.run("2025-W11")


def nearly_spent(shop: Shop) -> None:
    Ledger(shop.url).grant("shop", epsilon=52000, delta=0.052, unit="customer")
    spent = Guarantee(Fraction(48500), Fraction(0), Neighbors.REPLACE_ONE, unit="customer")
    Ledger(shop.url).charge("shop", spent, job="other")
    shop.schedule["start"] = "2025-W02"


def late(shop: Shop) -> None:
    shop.schedule |= {"start": "2025-W09", "ready": f"{shop.path}/{{window}}"}
    for window in ("2025-W09", "2025-W11", "2025-W13"):
        (shop.path / window).touch()


def disjoint(shop: Shop) -> None:
    shop.terms["neighbors"] = "add-remove"
    shop.schedule |= {"disjoint_units": True, "start": "2025-W11"}
    shop.jobs = (PAIRS | {"unit": ["customer", "week(at)"]},)
    Ledger(shop.url).grant("shop", epsilon=52000, delta=0.052, neighbors="add-remove", parts="by_unit")


@pytest.mark.parametrize(
    ("prepare", "charges"),
    [
        (fresh, 12),
        (later, 7),
        (done, 0),
        (two_jobs, 6),
        (zcdp, 9),
        (skipping, 1),
        (more_runs, 5),
        (begun, 5),
        (nearly_spent, 3),
        (late, 3),
        (disjoint, 3),
    ],
)
def test_a_forecast_is_what_the_run_charges(shop: Shop, prepare: Callable[[Shop], None], charges: int) -> None:
    prepare(shop)
    ledger = Ledger(shop.url)
    before = len(shop.charges) if ledger.exists() else 0
    forecast = dpmine.report(shop.write(), shop.path / "page.html", window="2025-W13", dry_run=True)
    assert isinstance(forecast, WindowsForecast)
    assert (len(shop.charges) if ledger.exists() else 0) == before
    report = shop.run("2025-W13")
    charged = shop.charges[before:]
    assert len(charged) == charges
    assert [amount for _, amount in forecast.charges] == [entry.amount for entry in charged]
    assert [name.split()[-1] for name, _ in forecast.charges] == shop.charged[before:]
    budget = ledger.budget("shop")
    assert (forecast.afterwards.charged, forecast.afterwards.remaining) == (budget.charged, budget.remaining)
    assert (forecast.rejected, forecast.waiting) == (report.rejected, report.waiting)


def test_its_text_names_every_window_the_sum_and_what_is_left(shop: Shop) -> None:
    shop.schedule["start"] = "2025-W12"
    asked, left = shop.write(), "for each customer; ε = 50000, δ = 0.05 left then"
    assert str(dpmine.report(asked, shop.path / "page.html", window="2025-W13", dry_run=True)).splitlines() == [
        "Pairs 2025-W12: a charge of up to ε = 1000, δ = 0.001",
        "Pairs 2025-W13: a charge of up to ε = 1000, δ = 0.001",
        f"All together, 2 windows: up to ε = 2000, δ = 0.002 {left}; the budget is yet to be granted.",
    ]
    shop.run("2025-W12")
    assert str(dpmine.report(asked, shop.path / "page.html", window="2025-W12", dry_run=True)).splitlines() == [
        "Pairs 2025-W12: stored already; no charge",
        "All together, 1 window: up to ε = 0, δ = 0 for each customer; ε = 51000, δ = 0.051 left then.",
    ]


def test_disjoint_windows_are_not_summed(shop: Shop) -> None:
    """A unit is in one of them: what is said is what the ledger then says that one unit spent."""
    disjoint(shop)
    shop.jobs = (*shop.jobs, ITEMS | {"unit": ["customer", "week(at)"]})
    forecast = dpmine.report(shop.write(), shop.path / "page.html", window="2025-W13", dry_run=True)
    assert str(forecast).splitlines()[-1] == (
        "All together, 3 windows: up to ε = 52000, δ = 0.052 for each customer, week(at); ε = 0, δ = 0 left in "
        "'2025-W13' then."
    )
    report = shop.run("2025-W13")
    assert report.left == "ε = 0, δ = 0 left for each customer, week(at) in '2025-W13'"
    spent = Ledger(shop.url).budget("shop").spent
    assert (forecast.to_charge.epsilon, forecast.to_charge.delta) == (spent.epsilon, spent.delta)


def test_a_budget_that_does_not_hold_the_first_window_is_a_forecast_of_none(shop: Shop) -> None:
    nearly_spent(shop)
    spent = Guarantee(Fraction(3000), Fraction(0), Neighbors.REPLACE_ONE, unit="customer")
    Ledger(shop.url).charge("shop", spent, job="other")
    forecast = dpmine.report(shop.write(), shop.path / "page.html", window="2025-W13", dry_run=True)
    assert forecast.charges == ()
    with pytest.raises(BudgetExceeded) as error:
        dpmine.report(shop.write(), shop.path / "page.html", window="2025-W13")
    assert str(forecast).splitlines()[0] == str(error.value)


@pytest.mark.parametrize(("spent", "left", "affordable"), [(0, 48, 48), (47000, 48, 1), (47999, 48, 0), (49000, 49, 0)])
def test_a_forecast_says_how_many_windows_the_ledger_affords(
    shop: Shop, spent: int, left: int, affordable: int
) -> None:
    shop.run("2025-W02").raise_failures()
    if spent:
        other = Guarantee(Fraction(spent), Fraction(0), Neighbors.REPLACE_ONE, unit="customer")
        Ledger(shop.url).charge("shop", other, job="other")
    forecast = dpmine.report(shop.write(), shop.path / "page.html", window="2025-W05", dry_run=True)
    assert isinstance(forecast, WindowsForecast)
    assert (forecast.windows_left, forecast.affordable) == (left, affordable)
    said = f"{left} windows left then, and the ledger affords {affordable}"
    assert (said in str(forecast)) is bool(spent)
