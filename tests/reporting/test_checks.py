"""What is refused before anything is charged, when nothing is written and no ledger made, and what ρ charges."""

from __future__ import annotations

import re
from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING, Any

import pytest
from reporting.jobs import AGES, ALL, PAIRS, RULE, TARGET, WEIGHTS, job
from support.cases import every
from support.command_line import outcome_of

import dpmine
from dpmine.errors import BadData, BadParameter, BudgetExceeded, UnreadableFile
from dpmine.ledger.budget import Accounting, Amount
from dpmine.privacy import ExPostGuarantee
from dpmine.reporting.batch import check_batch
from dpmine.reporting.page.render import render
from dpmine.reporting.page.strength import loss_of_outcomes, odds_text
from dpmine.zcdp import epsilon_at

if TYPE_CHECKING:
    from pathlib import Path

    from reporting.jobs import Folder


def test_the_plan(folder: Folder) -> None:
    read = folder.read(*(job(**options) for options in ALL.values()))
    plan = check_batch(read, folder.store(read))
    assert plan.unit == "customer"
    assert plan.budget is None
    assert [step.charge.epsilon for step in plan.steps] == [2000, *[1000] * 5, 5000]
    assert isinstance(plan.steps[-1].guarantee, ExPostGuarantee)
    assert (plan.to_charge.epsilon, plan.to_charge.delta) == (Fraction(12_000), Fraction(3, 1000))
    assert not (folder.path / "budget.db").exists()
    assert not (folder.path / "results").exists()


BAD: list[tuple[dict[str, Any], dict[str, Any], type[Exception], str]] = [
    (PAIRS, {"input": "nowhere.parquet"}, UnreadableFile, "job 'Pairs': .*nowhere.parquet"),
    (PAIRS, {"item": "thing"}, BadData, "job 'Pairs': There is no column 'thing'"),
    (PAIRS, {"unit": ["customer", "till"]}, BadData, "job 'Pairs': There is no column 'till'"),
    (PAIRS, {"size": 0}, BadParameter, "job 'Pairs': size"),
    (PAIRS, {"mechanism": "best"}, BadParameter, "job 'Pairs': mechanism"),
    (PAIRS, {"mechanism": "exact"}, dpmine.NotPrivate, "job 'Pairs': a report has private results only"),
    (PAIRS, {"mechanism": "exponential"}, BadParameter, "job 'Pairs': exponential chooses among all itemsets"),
    (PAIRS, {"catalogue": "from-data"}, dpmine.NotPrivate, "a report has private results only"),
    (PAIRS, {"memory": "much"}, BadParameter, "job 'Pairs': memory"),
    (PAIRS, {"top": "many"}, BadParameter, r"job 'Pairs': top must be"),
    (PAIRS, {"rules": "yes"}, BadParameter, "job 'Pairs': rules must be True or False"),
    (PAIRS, {"rules": False, "min_confidence": 0.5}, BadParameter, "min_confidence is for rules"),
    (PAIRS, {"rules": False, "lift_of": "units"}, BadParameter, "lift_of is for rules"),
    (PAIRS, {"lift_of": "baskets"}, BadParameter, "lift_of must be 'units'"),
    (PAIRS, {"lift_of": "units", "units": None}, BadParameter, "lift_of needs a public number of units"),
    (PAIRS, {"min_confidence": 2}, BadParameter, "min_confidence must be at least 0 and at most 1"),
    (AGES, {"column": "year"}, BadData, "job 'Ages': There is no column 'year'. The columns are: 'customer', 'age', "),
    (AGES, {"column": "name"}, BadData, "job 'Ages': Column 'name' holds"),
    (AGES, {"column": 3}, BadParameter, "column must be text"),
    (AGES, {"lower": None}, BadParameter, "lower is missing: jobs of the kind histogram need it"),
    (AGES, {"bins": "4,eight"}, BadParameter, "bins must be whole numbers"),
    (AGES, {"bins": [1]}, BadParameter, "job 'Ages': "),
    (AGES, {"neighbors": "add-remove"}, BadParameter, "job 'Ages': .*replace_one"),
    (WEIGHTS, {"features": []}, BadParameter, "features must be names of columns"),
    (WEIGHTS, {"features": "age,age"}, BadParameter, "features must be different columns"),
    (WEIGHTS, {"features": ["age", "rich"]}, BadParameter, "features must be different columns, and label none"),
    (WEIGHTS, {"features": ["age", "name"]}, BadData, "Column 'name' holds"),
    (WEIGHTS, {"norm_bound": None}, BadParameter, "lower and upper are missing"),
    (WEIGHTS, {"lower": 0}, BadParameter, "upper is missing"),
    (WEIGHTS, {"lower": 0, "upper": [1, 2, 3]}, BadParameter, "one for each of the 2 features"),
    (WEIGHTS, {"norm_bound": -1}, BadParameter, "norm_bound must be greater than 0"),
    (WEIGHTS, {"loss": "square"}, BadParameter, "loss must be 'auto' or 'capped' or 'logistic' or 'huber'"),
    (WEIGHTS, {"huber": 0.5}, BadParameter, "huber is for loss = 'huber'"),
    (WEIGHTS, {"intercept": "no"}, BadParameter, "fit_intercept must be True or False"),
    (RULE, {"class": "circles"}, BadParameter, "job 'Rule': "),
    (RULE, {"class": ["a"]}, BadParameter, "class must be the name"),
    (RULE, {"grid": "many"}, BadParameter, "grid must be whole numbers"),
    (RULE, {"features": ["age", "hours"]}, BadParameter, "job 'Rule': "),
    (TARGET, {"model_kind": "tree"}, BadParameter, "model_kind must be 'ridge' or 'logistic'"),
    (TARGET, {"y_bound": 1}, BadParameter, "y_bound is for model_kind = 'ridge'"),
    (TARGET, {"delta": 1e-6}, BadParameter, "delta is for method = 'brownian'"),
    (TARGET, {"excess_risk": None}, BadParameter, "excess_risk is missing"),
    (TARGET, {"model_kind": "ridge"}, BadParameter, "y_bound is missing"),
    (TARGET, {"target": "none"}, BadData, "There is no column 'none'"),
]


@every(("options", "changes", "kind", "hint"), BAD)
def test_bad_jobs_cost_nothing(
    folder: Folder, options: dict[str, Any], changes: dict[str, Any], kind: type[Exception], hint: str
) -> None:
    good = RULE if options is not RULE else AGES
    given = {name: value for name, value in {**options, **changes}.items() if value is not None}
    with pytest.raises(kind, match=hint) as caught:
        folder.run(job(**good), job(**given))
    assert "\n" not in str(caught.value)
    assert not (folder.path / "budget.db").exists()
    assert not list(folder.path.glob("results/*.json"))


def test_the_total_must_suffice(folder: Folder) -> None:
    with pytest.raises(
        BudgetExceeded, match=r"charged up to ε = 2000, δ = 1/1000 together, and \[budget\] allows ε = 1999"
    ):
        folder.run(job(**AGES), job(**RULE), epsilon="1999")
    with pytest.raises(BudgetExceeded, match="allows"):
        folder.run(job(**AGES), delta="0.0009")
    folder.run(job(**AGES), job(**RULE), epsilon="2000", delta="0.001")


def test_a_budget_without_delta_says_what_to_give(folder: Folder) -> None:
    read = folder.read(job(**PAIRS), delta=None)
    with pytest.raises(BudgetExceeded, match=r"give delta = 0.001 or more in \[budget\], or use mechanisms"):
        check_batch(read, folder.store(read))


def test_the_ledger_must_suffice(folder: Folder) -> None:
    ledger = folder.ledger
    ledger.grant("shop", epsilon=2500, delta=0.01)
    with pytest.raises(BudgetExceeded, match=r"asks for ε = 100000, .* the ledger grants ε = 2500"):
        folder.run(job(**AGES), job(**RULE))
    dpmine.select([9, 1], mechanism="exponential", epsilon=1000, unit="customer", ledger=ledger, dataset="shop")
    with pytest.raises(BudgetExceeded, match="short by ε = 500"):
        folder.run(job(**AGES), job(**RULE), epsilon="2500")
    assert len(ledger.history("shop")) == 2
    folder.run(job(**AGES), epsilon="2500")
    assert ledger.budget("shop").spent.epsilon == 2000


def test_one_unit(folder: Folder) -> None:
    rows = {name: value for name, value in RULE.items() if name != "unit"}
    hint = "protects each 'customer', and job 'Rule' each 'row'"
    with pytest.raises(BadParameter, match=hint):
        folder.run(job(**AGES), job(**rows))
    with pytest.raises(BadParameter, match=hint):
        folder.run(job(**AGES), job(**rows), unit=None)
    assert folder.run(job(**rows), unit=None).unit == "row"
    with pytest.raises(BadParameter, match="the ledger protects each 'row', and job 'Ages' each 'customer'"):
        folder.run(job(**AGES), unit=None)


def test_a_unit_with_a_column_is_not_asserted(folder: Folder) -> None:
    for asked in (AGES, RULE):
        rows = {name: value for name, value in asked.items() if name != "unit"}
        with pytest.raises(BadParameter, match="have a column 'customer': name it as the privacy unit"):
            folder.run(job(**rows, one_row_per="customer"))


def test_one_relation(folder: Folder) -> None:
    with pytest.raises(BadParameter, match="give both the same"):
        folder.run(job(**PAIRS | {"neighbors": "add-remove"}))
    folder.run(job(**PAIRS), neighbors='"add-remove"')
    with pytest.raises(BadParameter, match="was granted for the relation add_remove"):
        folder.run(job(**RULE))


def test_two_jobs_that_ask_for_the_same(folder: Folder) -> None:
    with pytest.raises(BadParameter, match="'Ages' and 'Again' ask for the same"):
        folder.run(job(**AGES), job(**AGES | {"name": "Again"}))


def test_parts_must_be_granted_before(folder: Folder) -> None:
    with pytest.raises(BadParameter, match="'shop' is not granted yet: grant it with its parts"):
        folder.run(job(**AGES), dataset='"shop/north"')
    ledger = folder.ledger
    ledger.grant("shop", epsilon=100_000, delta=0.01, parts="by_index")
    report = folder.run(job(**AGES), dataset='"shop/north"')
    assert report.budget is not None
    assert report.budget.charged["north"].epsilon == 1000


SALES = "who,day,what,amount,late\na,SECRET,tea,1,no\nb,1.3.2026,bread,2,yes\n" + "".join(
    f"u{unit},2026-02-03,tea,{unit % 9},{'yes' if unit % 9 > 4 else 'no'}\n" for unit in range(40)
)
DAYS = """
[budget]
ledger = "sqlite:///FOLDER/b.db"
dataset = "shop"
epsilon = 4
delta = 1e-5
unit = "who"
[inputs]
sales = "FOLDER/sales.csv"
"""
DAY = {"input": "sales", "unit": "who", "types": "day=date", "where": "day > DATE '2026-01-01'", "epsilon": 1}
BOUNDS: dict[str, Any] = {"lower": 0, "upper": 10}
BY_DAY: list[dict[str, Any]] = [
    {"kind": "top-itemset", "name": "Best", "item": "what", "delta": 1e-6},
    {"kind": "histogram", "name": "Amounts", "column": "amount", "bins": 4, **BOUNDS},
    {
        "kind": "hypothesis",
        "name": "Late",
        "features": ["amount"],
        "label": "late",
        "classes": ["no", "yes"],
        "class": "stumps",
        "grid": 4,
        **BOUNDS,
    },
]


def days(folder: Path, *jobs: dict[str, Any]) -> list[str]:
    """A job file, of a CSV file some of whose dates are not written as declared; the arguments that run it."""
    (folder / "sales.csv").write_text(SALES, encoding="utf-8")
    text = DAYS.replace("FOLDER", str(folder)) + "".join(f"[[job]]\n{job(**each, **DAY)}\n" for each in jobs)
    (folder / "jobs.toml").write_text(text, encoding="utf-8")
    return ["report", str(folder / "jobs.toml"), "--output", str(folder / "page.html")]


DROPPED = "a value of a text column that does not fit its type counts as missing"


@every("kind", BY_DAY)
def test_a_dry_run_says_what_becomes_of_dates(tmp_path: Path, capfd: pytest.CaptureFixture[str], kind: Any) -> None:
    """German dates are dropped: the notice is fixed, and no cell is read or quoted."""
    done = outcome_of(capfd)(*days(tmp_path, kind), "--dry-run")
    assert done.status == 0, done.err
    assert done.err.count(DROPPED) == 1
    assert "SECRET" not in done.err + done.out


def test_a_run_says_it_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    done = outcome_of(capfd)(*days(tmp_path, *BY_DAY))
    assert done.status == 0, done.err
    assert done.err.count(DROPPED) == 1


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
    batch = check_batch(read, folder.store(read))
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
