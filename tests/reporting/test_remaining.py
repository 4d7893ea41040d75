"""What the rest of a budget buys: as often as charges fit, and with the noise that the planner plans with."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from reporting.jobs import RULE, job
from reporting.test_page import DAY, Page

from dpmine.ledger.budget import Accounting, Amount
from dpmine.planning import plan_noise
from dpmine.privacy import Guarantee, Neighbors
from dpmine.reporting.page.remaining import rest_of
from dpmine.reporting.page.render import render

if TYPE_CHECKING:
    from reporting.jobs import Folder

DELTA = Fraction(1, 10**6)


def charge(epsilon: str, delta: Fraction = Fraction(0)) -> Amount:
    return Amount.of(Guarantee(Fraction(epsilon), delta, Neighbors.REPLACE_ONE))


@pytest.mark.parametrize("accounting", Accounting)
def test_jobs_fit_as_often_as_their_charges(accounting: Accounting) -> None:
    jobs = {"pure": charge("0.5"), "with delta": charge("0.5", DELTA), "large": charge("9"), "none": Amount()}
    left = Amount.total([charge("0.5", DELTA), charge("0.5", DELTA), charge("0.5")])
    assert rest_of(left, accounting, jobs).times == {"pure": 3, "with delta": 2, "large": 0}
    several = {"one": charge("0.5"), "two": charge("0.5", DELTA)}
    assert [rest_of(left, accounting, {**several, **more}).page for more in ({}, {"three": charge("0.6")})] == [1, 0]


def test_the_noise_is_the_planners() -> None:
    planned = plan_noise(1, epsilon=1, delta="1e-6").to_dict()["half_widths"]
    assert rest_of(charge("1"), Accounting.BASIC, {}).one == planned["laplace"]["each"] == 3
    several = plan_noise(10, epsilon=1, delta="1e-6").to_dict()["half_widths"]["laplace"]["each"]
    assert rest_of(charge("1"), Accounting.BASIC, {}).several == several
    gaussian = plan_noise(10, epsilon=1, delta="1e-6").gaussian
    rest = rest_of(Amount(Fraction(1), rho=gaussian.rho), Accounting.ZCDP, {})
    assert rest.several == gaussian.half_width(10)


def test_nothing_useful_is_left() -> None:
    for left in (Amount(), Amount(Fraction(1, 10**12), rho=Fraction(1, 10**12))):
        for accounting in Accounting:
            rest = rest_of(left, accounting, {"job": charge("1")})
            assert (rest.one, rest.several, rest.times) == (None, None, {"job": 0})


def test_what_the_page_says(folder: Folder) -> None:
    page = Page(render(folder.run(job(**RULE), epsilon="2500"), today=DAY)).text
    assert "of the budget is left. That suffices to run one of these again: “Rule” (once)." in page
    assert "60.0 % is left, enough for a second page like this one." in page
    assert "The 60.0 % left is enough for it." in page
    page = Page(render(folder.run(job(**RULE | {"name": "Other", "epsilon": 1500}), epsilon="2500"), today=DAY)).text
    assert "Nothing more can be run: the budget is used up." in page
    assert "0.0 % is left, not enough for a second page like this one." in page


LIMITS = [
    ("basic", "2.5", "leaves ε = 1.5, δ = 0.01 to further jobs of this file.", "again: “Rule” (once)."),
    (
        "basic",
        "1",
        "leaves ε = 0, δ = 0.01 to further jobs",
        "Nothing more can be run: the total of the job file",
    ),
    ("zcdp", "5.5", "leaves ρ = 0.7753 to further jobs", "again: “Rule” (once)."),
    ("zcdp", "4", "leaves ρ = 0.2807 to further jobs", "That is too little to repeat any result from here."),
]
"""Accounting, the file's total at δ = 0.01, and what the page says; the job is charged ε = 1, which is ρ = 1/2."""


@pytest.mark.parametrize(("accounting", "total", "left", "buys"), LIMITS)
def test_the_smaller_limit_holds(folder: Folder, accounting: str, total: str, left: str, buys: str) -> None:
    """The ledger bears the job many times more, and its limit is the smaller one after charges by another file."""
    rule, kind = job(**RULE | {"epsilon": 1}), f'"{accounting}"'
    folder.run(job(**RULE | {"epsilon": 2}), epsilon="50", accounting=kind)
    page = Page(render(folder.run(rule, epsilon="50", accounting=kind), today=DAY)).text
    assert "The ledger has more left than this job file may use" not in page
    page = Page(render(folder.run(rule, epsilon=total, accounting=kind), today=DAY)).text
    assert f"The ledger has more left than this job file may use: the total in [budget] {left}" in page
    assert buys in page
