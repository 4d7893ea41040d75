"""What is refused before anything is charged: nothing is written then, and no ledger is made."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from reporting.jobs import AGES, ALL, PAIRS, RULE, TARGET, WEIGHTS, job
from support.cases import every
from support.command_line import outcome_of

import dpmine
from dpmine.errors import BadData, BadParameter, BudgetExceeded, UnreadableFile
from dpmine.privacy import ExPostGuarantee
from dpmine.reporting.batch import checked_batch

if TYPE_CHECKING:
    from pathlib import Path

    from reporting.jobs import Folder


def test_the_plan(folder: Folder) -> None:
    read = folder.read(*(job(**options) for options in ALL.values()))
    plan = checked_batch(read, folder.store(read))
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
        checked_batch(read, folder.store(read))


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


SALES = "who,day,what\na,SECRET,tea\nb,1.3.2026,bread\n"
DAYS = """
[budget]
ledger = "sqlite:///FOLDER/b.db"
dataset = "shop"
epsilon = 4
delta = 1e-5
unit = "who"
[inputs]
sales = "FOLDER/sales.csv"
[[job]]
kind = "top-itemset"
name = "Best"
input = "sales"
unit = "who"
item = "what"
types = "day=date"
where = "day > DATE '2026-01-01'"
epsilon = 1
delta = 1e-6
"""


def test_a_dry_run_says_what_becomes_of_dates(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """German dates are dropped: the notice is fixed, and no cell is read or quoted."""
    (tmp_path / "sales.csv").write_text(SALES, encoding="utf-8")
    (tmp_path / "jobs.toml").write_text(DAYS.replace("FOLDER", str(tmp_path)), encoding="utf-8")
    done = outcome_of(capfd)("report", str(tmp_path / "jobs.toml"), "--dry-run")
    assert done.status == 0, done.err
    assert done.err.count("a value of a text column that does not fit its type counts as missing") == 1
    assert "SECRET" not in done.err + done.out
