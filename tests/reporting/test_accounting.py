"""Job files under zCDP accounting: the jobs are charged together, by ρ."""

from __future__ import annotations

import re
from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING, Any

import pytest
from reporting.jobs import PAIRS, job

from dpmine.errors import BadParameter, BudgetExceeded
from dpmine.ledger.budget import Accounting, Amount
from dpmine.reporting.batch import checked_batch
from dpmine.reporting.page.render import render
from dpmine.reporting.page.strength import loss_of_outcomes, odds_text
from dpmine.zcdp import epsilon_at

if TYPE_CHECKING:
    from reporting.jobs import Folder

EPSILONS = [f"0.{number}" for number in range(10, 22)]
SMALL = [
    job(kind="top-itemset", name=f"Pairs at {each}", input="sales", unit="customer", epsilon=each, delta="1e-9")
    for each in EPSILONS
]
TERMS: dict[str, Any] = {"epsilon": "1.5", "delta": "1e-5"}
RHO = sum((Fraction(each) ** 2 for each in EPSILONS), Fraction(0)) / 8


def test_many_small_jobs_fit_together(folder: Folder) -> None:
    assert sum(map(Fraction, EPSILONS)) > Fraction("1.5")
    with pytest.raises(BudgetExceeded, match="ε = 93/50"):
        folder.run(*SMALL, **TERMS)
    report = folder.run(*SMALL, accounting='"zcdp"', **TERMS)
    budget = report.budget
    assert budget is not None
    assert budget.accounting is report.accounting is Accounting.ZCDP
    assert budget.spent.rho == RHO
    assert budget.spent.approximate_delta == len(SMALL) * Fraction(1, 10**9)
    page = render(report).replace("\N{NO-BREAK SPACE}", " ")
    exact = epsilon_at(RHO, Fraction(5, 10**6))
    (shown,) = set(re.findall(r"ε = ([\d.]+), δ = 5", page))
    assert exact <= Fraction(shown) < exact + Fraction(1, 1000)  # rounded up
    assert "The δ of this page is a sum: 5·10⁻⁶ is for converting ρ to ε, and " in page
    kept = Amount(Fraction(shown), Fraction(5, 10**6) + len(SMALL) * Fraction(1, 10**9))
    odds = odds_text(loss_of_outcomes(kept, 1))  # not by ρ, as some of δ is for the choices
    assert f"at most <strong>{odds} sure</strong>" in page
    (rarely,) = re.findall(r"sure, except with a chance of at most 1 in ([\d,]+)", page)
    exactly = 1 / (2 * (1 + exp(kept.epsilon)) * kept.delta)  # for who occurs twice
    assert 0.98 * exactly < int(rarely.replace(",", "")) <= exactly
    (granted,) = re.findall(r'granted</th><td class="number">([\d.]+)', page)
    assert Fraction(granted) <= budget.granted.rho < Fraction(granted) + Fraction(1, 1000)  # rounded down
    (charged,) = re.findall(r'by this page</th><td class="number">([\d.]+)', page)
    assert RHO <= Fraction(charged) < RHO + Fraction(1, 1000)
    assert folder.run(*SMALL, accounting='"zcdp"', **TERMS).budget == budget  # stored results are not charged again


def test_the_ledger_says_how_where_the_file_does_not(folder: Folder) -> None:
    folder.ledger.grant("shop", epsilon="1.5", delta="1e-5", accounting="zcdp", approximate_delta="1e-6")
    read = folder.read(*SMALL, **TERMS)
    batch = checked_batch(read, folder.store(read))
    assert batch.accounting is Accounting.ZCDP
    assert batch.total.approximate_delta == Fraction(1, 10**6)
    with pytest.raises(BadParameter, match="under zcdp accounting"):
        folder.run(*SMALL, accounting='"basic"', **TERMS)


def test_terms_that_cannot_be(folder: Folder) -> None:
    for terms in ({"accounting": '"rho"'}, {"accounting": '"zcdp"', "delta": "0"}, {"approximate_delta": "2"}):
        with pytest.raises(BadParameter):
            folder.run(*SMALL, **{**TERMS, **terms})
    with pytest.raises(BudgetExceeded, match="ρ = "):
        folder.run(job(**PAIRS), accounting='"zcdp"', **TERMS)
    assert not (folder.path / "budget.db").exists()


def test_without_a_delta_of_choices_the_limit_is_that_of_rho(folder: Folder) -> None:
    known = [f'{each}\ncatalogue = ["bread", "butter", "tea"]\nmechanism = "exponential"' for each in SMALL]
    report = folder.run(*known, accounting='"zcdp"', **TERMS)
    assert report.budget is not None
    spent = report.budget.spent
    beta = Fraction(5, 10**6)
    kept = Amount(epsilon_at(spent.rho, beta), beta)
    page = render(report).replace("\N{NO-BREAK SPACE}", " ")
    assert (spent.approximate_delta, spent.rho) == (Fraction(0), RHO)
    for steps in (1, 2):
        assert f"at most {odds_text(loss_of_outcomes(kept, steps, (RHO, beta)))} sure" in re.sub("<.*?>", "", page)
    assert page.count("except with a chance of at most 1 in 200,000") == 2
