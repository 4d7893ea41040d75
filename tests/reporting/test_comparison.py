"""Jobs that compare disjoint parts of a data set: each part is charged by itself, and their division stays one."""

from __future__ import annotations

import json
import tomllib
from fractions import Fraction
from math import nextafter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reporting.test_page import Page
from support.cases import every
from support.schemas import problems

import dpmine
from dpmine.errors import BadParameter, BudgetExceeded, DpmineError
from dpmine.itemsets.compare import ComparisonRequest
from dpmine.ledger.ledger import Ledger
from dpmine.privacy import ExPostGuarantee, Neighbors
from dpmine.reporting.call import PreparedReport
from dpmine.reporting.evidence.folder import verify_evidence
from dpmine.reporting.jobs.file import UnitWords
from dpmine.reporting.page.bodies import body_of
from dpmine.reporting.page.render import render

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.ledger.records import Entry
    from dpmine.reporting.batch import Report

PARTS = """{north = "region = 'N'", south = "region = 'S'"}"""
GIVEN = '[["bread", "milk"], ["tea"]]'


class Shop:
    """60 customers of the north, of whom 40 buy bread and milk; 30 of the south, of whom 3 do, and the others tea."""

    def __init__(self, path: Path) -> None:
        self.path, self.url = path, f"sqlite:///{path}/budget.db"
        rows = []
        for unit in range(90):
            north = unit < 60
            items = ["bread", "milk"] if unit % 60 < (40 if north else 3) else ["tea"]
            rows += [(unit, "N" if north else "S", item) for item in items]
        units, regions, bought = zip(*rows, strict=True)
        pq.write_table(pa.table({"customer": units, "region": regions, "item": bought}), path / "sales.parquet")

    def write(self, *jobs: dict[str, str], **terms: str) -> Path:
        budget = {
            "ledger": f'"{self.url}"',
            "dataset": '"shop"',
            "epsilon": "10000",
            "delta": "0.01",
            "neighbors": '"add-remove"',
            **terms,
        }
        own = {"kind": '"compare"', "input": f'"{self.path}/sales.parquet"', "unit": '"customer"', "item": '"item"'}
        entries = [
            own | {"name": '"Regions"', "parts": PARTS, "epsilon": "5000", "delta": "0.001"} | each for each in jobs
        ]
        tables = [("[budget]", budget), *(("[[job]]", entry) for entry in entries)]
        lines = [
            line for head, table in tables for line in (head, *(f"{key} = {value}" for key, value in table.items()))
        ]
        (self.path / "jobs.toml").write_text("\n".join(lines), encoding="utf-8")
        return self.path / "jobs.toml"

    def prepared(self, *jobs: dict[str, str], **terms: str) -> PreparedReport:
        return PreparedReport.of(self.write(*jobs, **terms), self.path / "page.html", None, retry=False)

    def run(self, *jobs: dict[str, str], **terms: str) -> Report:
        report = self.prepared(*jobs, **terms).run(watch=lambda *_: None, retry=False)
        report.raise_failures()
        assert problems("jobs", tomllib.loads((self.path / "jobs.toml").read_text())) == []
        return report

    @property
    def charges(self) -> list[Entry]:
        return [entry for entry in Ledger(self.url).history("shop") if entry.kind == "charge"]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_each_part_is_charged_and_one_unit_is_in_one_of_them(shop: Shop) -> None:
    report = shop.run({"itemsets": GIVEN})
    assert [(each.part, each.epsilon, each.delta) for each in shop.charges] == [
        ("north", "5000", "0"),
        ("south", "5000", "0"),
    ]
    assert report.budget is not None
    assert report.budget.spent.epsilon == 5000
    (outcome,) = report.outcomes
    assert outcome.result is not None
    document = outcome.result.document
    assert [group["units"] for group in document["groups"]] == [60, 30]
    assert [[each["noisy_support"] for each in row["shares"]] for row in document["itemsets"]] == [[40, 3], [20, 27]]
    assert document["itemsets"][0]["differences"][0]["difference"] == pytest.approx(40 / 60 - 3 / 30)
    assert "itemsets bread + milk, tea" in Page(render(report)).text  # as they were asked for
    stored = json.loads(next((shop.path / "jobs-results").glob("*.json")).read_text())
    assert problems("job_result", stored) == []
    again = shop.run({"itemsets": GIVEN})
    assert again.outcomes[0].reused
    assert len(shop.charges) == 2


def test_public_numbers_of_units_are_not_counted(shop: Shop) -> None:
    (outcome,) = shop.run({"itemsets": GIVEN, "sizes": "{north = 60, south = 30}"}).outcomes
    assert outcome.result is not None
    assert [group["units"] for group in outcome.result.document["groups"]] == [60, 30]


def test_what_stands_out_in_any_part_is_counted_in_all(shop: Shop) -> None:
    report = shop.run({"size": '"1-2"', "top": "3", "mechanism": '"limited-domain"', "delta": "0.01"})
    page = Page(render(report))
    for said in (
        "4 itemsets have clearly different shares between north and south.",
        "66.7 % in north and 10.0 % in south.",
        "All shares and differences are in their intervals, all of them together, with probability 95 %.",
        "bread + milk 66.7",
        "Each customer is in one group only: the job file asserts this, and nothing checks it.",
        "What the job file asserts is true: in all inputs together, no unit is in two of the parts",
        "two of the parts north (region = 'N'), south (region = 'S').",
        "One customer is one value of “customer”",
        "Each group chose itemsets by limited domain. Every group then counted all of them",
        "For the privacy officer: ε = 5000, δ = 0.01",
    ):
        assert said in page.text, said


def test_evidence_holds_for_parts(shop: Shop) -> None:
    shop.prepared({"itemsets": GIVEN}).run(watch=lambda *_: None, retry=False)
    dpmine.report(shop.path / "jobs.toml", shop.path / "page.html", evidence=shop.path / "evidence")
    verified = verify_evidence(shop.path / "evidence")
    assert verified.results == 1
    assert "no unit is in two of the parts north" in (shop.path / "evidence" / "checklist.md").read_text()


def test_the_forecast_is_what_is_charged(shop: Shop) -> None:
    text = str(shop.prepared({"itemsets": GIVEN}).batch)
    assert "Regions: a charge of up to ε = 5000, δ = 0" in text
    assert not (shop.path / "budget.db").exists()


def test_both_comparisons_of_a_budget_fit_it(shop: Shop) -> None:
    two = ({"itemsets": GIVEN}, {"itemsets": GIVEN, "name": '"Again"', "size": "1"})
    shop.run(*two)
    assert {each.part for each in shop.charges} == {"north", "south"}
    with pytest.raises(BudgetExceeded):
        shop.run(*two, {"itemsets": '[["tea"]]', "name": '"Third"'})


OTHER = """{young = "customer < 45", old = "customer >= 45"}"""
WRONG: dict[str, tuple[tuple[dict[str, str], ...], dict[str, str], str]] = {
    "replace one": (({},), {"neighbors": '"replace-one"'}, "a replaced unit may leave its part"),
    "one part": (({"parts": """{north = "region = 'N'"}"""},), {}, "two groups or more"),
    "the same": (({"parts": """{a = "region = 'N'", b = "region = 'N'"}"""},), {}, "the same condition"),
    "no text": (({"parts": "{a = 1, b = 2}"},), {}, "two groups or more"),
    "no table": (({"parts": '"region"'},), {}, "two groups or more"),
    "no parts": (({"parts": "{}"},), {}, "two groups or more"),
    "no name": (({"parts": """{"" = "region = 'N'", b = "region = 'S'"}"""},), {}, "part"),
    "lines": (({"parts": """{a = "region\\n= 'N'", b = "region = 'S'"}"""},), {}, "on one line"),
    "no column": (({"parts": """{a = "kanarienvogel = 'N'", b = "region = 'S'"}"""},), {}, "kanarienvogel"),
    "brackets": (({"parts": """{a = "region = 'N') or (region = 'S'", b = "region = 'S'"}"""},), {}, "cannot parse"),
    "brackets of where": (({"where": '"customer < 3) or (1 = 1"'},), {}, "cannot parse"),
    "a name with brackets": (
        ({"parts": """{"a (region = 'N'), b" = "region = 'S'", c = "region = 'N'"}"""},),
        {},
        "brackets",
    ),
    "too many": (({"parts": "{" + ", ".join(f"p{n} = 'region<{n}'" for n in range(99)) + "}"},), {}, "too many parts"),
    "a part of a part": (({},), {"dataset": '"shop/north"'}, "give dataset = 'shop'"),
    "two divisions": (({"itemsets": GIVEN}, {"parts": OTHER, "name": '"Ages"'}), {}, "must have the same parts"),
    "memory": (({"memory": '"100MB"'},), {}, "memory"),
    "integers": (({"itemsets": '[["tea", 7]]'},), {}, "items are texts: write those of itemsets as texts, in quotes"),
    "catalogue": (
        ({"catalogue": "[1, 2]", "mechanism": '"exponential"', "size": "1", "top": "1", "delta": "0"},),
        {},
        "The catalogue holds integers",
    ),
    "itemsets": (({"itemsets": '[["tea"], ["tea"]]'},), {}, "different lists"),
}


@every("case", WRONG)
def test_what_is_rejected_before_a_charge(case: str, tmp_path: Path) -> None:
    jobs, terms, message = WRONG[case]
    (tmp_path / case).mkdir()
    made = Shop(tmp_path / case)
    with pytest.raises(DpmineError, match=message):
        made.run(*jobs, **terms)
    assert not (tmp_path / case / "budget.db").exists()


def test_parts_of_two_divisions_would_overlap(shop: Shop) -> None:
    """A unit in north and in young is charged twice, and the largest part would not say so."""
    shop.run({"itemsets": GIVEN})
    with pytest.raises(BadParameter, match="was charged for other parts, such as 'north'"):
        shop.run({"itemsets": GIVEN, "parts": OTHER})
    renamed = PARTS.replace("region = 'S'", "region <> 'N'")
    with pytest.raises(BadParameter, match="was charged for other parts"):
        shop.run({"itemsets": GIVEN, "parts": renamed})
    top = {"kind": '"top-itemset"', "name": '"Top"'}
    document = tomllib.loads(shop.write(top, dataset='"shop/2026-W47"').read_text())
    assert "parts" in document["job"][0]
    text = (shop.path / "jobs.toml").read_text().replace(f"parts = {PARTS}\n", "")
    (shop.path / "jobs.toml").write_text(text)
    with pytest.raises(BadParameter, match="has the parts of a comparison, and '2026-W47' may overlap"):
        PreparedReport.of(shop.path / "jobs.toml", shop.path / "page.html", None, retry=False)
    assert len(shop.charges) == 2


def test_of_two_divisions_that_were_checked_at_once_one_reads_nothing(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.run({"itemsets": GIVEN})
    monkeypatch.setattr("dpmine.reporting.batch.require_one_partition", lambda *_: None)
    monkeypatch.setattr(ComparisonRequest, "compare", lambda *_, **_others: pytest.fail("it read"))
    with pytest.raises(DpmineError) as raised:
        shop.run({"itemsets": GIVEN, "parts": OTHER})
    assert "Another run charged 'shop' for other parts" in raised.value.__notes__[0]


def test_what_a_search_set_aside_for_a_part_counts(shop: Shop) -> None:
    ledger = Ledger(shop.url)
    ledger.grant("shop", epsilon=10000, delta="0.01", neighbors="add_remove", unit="customer", parts="by_unit")
    search = ExPostGuarantee(Fraction(1), Fraction(0), Neighbors.ADD_REMOVE, "customer", ex_post_epsilon=Fraction(1))
    ledger.charge("shop/old", search, job="accuracy-first")
    with pytest.raises(BadParameter, match="was charged for other parts, such as 'old'"):
        shop.run({"itemsets": GIVEN})


def test_a_data_set_without_parts_is_rejected(shop: Shop) -> None:
    Ledger(shop.url).grant("shop", epsilon=10000, delta="0.01", neighbors="add_remove", unit="customer")
    with pytest.raises(BadParameter, match="was granted without parts by unit"):
        shop.run({"itemsets": GIVEN})
    assert shop.charges == []


def test_a_comparison_does_not_recur(shop: Shop) -> None:
    text = shop.write({}).read_text()
    schedule = '[schedule]\nevery = "week"\nruns = 2\ncolumn = "at"\nready = "clock"\n'
    (shop.path / "jobs.toml").write_text(text.replace("[[job]]", f"{schedule}[[job]]"))
    with pytest.raises(BadParameter, match="a comparison charges parts of the data set"):
        PreparedReport.of(shop.path / "jobs.toml", shop.path / "page.html", None, retry=False)


def test_three_groups_have_a_table_for_every_two(shop: Shop) -> None:
    parts = """{north = "region = 'N'", east = "customer between 60 and 74", west = "customer >= 75"}"""
    (outcome,) = shop.run({"itemsets": GIVEN, "parts": parts}).outcomes
    assert outcome.result is not None
    body = body_of("compare", outcome.result.document, UnitWords.read("customer"))
    assert [(table.caption, table.folded) for table in body.tables] == [
        ("north and east", False),
        ("north and west", True),
        ("east and west", True),
        ("The groups", False),
    ]


@every("altered", [{"itemsets": 7}, {"groups": []}, {"itemsets": [{"items": ["a"], "shares": [], "differences": []}]}])
def test_a_result_that_was_changed_by_hand_does_not_stop_the_page(altered: dict[str, Any]) -> None:
    share = {"share": 0.5, "interval": [0.4, 0.6]}
    group = {"units": 9, "interval": [0, 20]}
    difference = {"difference": 0.0, "interval": [-0.2, 0.2]}
    row = {"items": ["a"], "shares": [share, share], "differences": [difference]}
    sound = {"groups": [group | {"name": "x"}, group | {"name": "y"}], "itemsets": [row], "mechanism": "given"}
    words = UnitWords.read("customer")
    assert body_of("compare", sound, words).answer == "No share of 1 itemset clearly differs between x and y."
    assert "cannot be shown" in body_of("compare", sound | altered, words).answer


def test_groups_may_be_called_as_columns_are() -> None:
    share, group = {"share": 0.5, "interval": [0.4, 0.6]}, {"units": 9, "interval": [0, 20]}
    row = {"items": ["tea"], "shares": [share, share], "differences": [{"difference": 0.0, "interval": [-0.2, 0.2]}]}
    groups = [group | {"name": name} for name in ("Items", "Difference")]
    found = {"groups": groups, "itemsets": [row], "mechanism": "given"}
    (table, _) = body_of("compare", found, UnitWords.read("customer")).tables
    half = "50.0 (40.0 to 60.0)"
    assert table.rows == (("tea", half, half, "+0.0", "-20.0 to +20.0", "not clear"),)


def test_written_intervals_are_no_narrower_than_the_stored_ones() -> None:
    share = {"share": 0.5, "interval": [0.40049, 0.59951]}
    group = {"units": 9, "interval": [0, 20]}
    row = {
        "items": ["tea"],
        "shares": [share, share],
        "differences": [{"difference": 0.0, "interval": [-0.20049, nextafter(1.0, 2.0)]}],
    }
    groups = [group | {"name": name} for name in ("x", "y")]
    found = {"groups": groups, "itemsets": [row], "mechanism": "given"}
    (table, _) = body_of("compare", found, UnitWords.read("customer")).tables
    assert table.rows[0][1] == "50.0 (40.0 to 60.0)"
    assert table.columns["Interval"] == ["-20.1 to +100.0"]


@every(("accounting", "larger"), [("basic", False), ("zcdp", True)])
def test_only_a_charge_in_rho_has_less_delta_than_its_result(accounting: str, larger: bool, tmp_path: Path) -> None:
    (tmp_path / accounting).mkdir()
    page = render(Shop(tmp_path / accounting).run({"epsilon": "1"}, epsilon="3", accounting=f'"{accounting}"'))
    assert ("its guarantee has a larger δ than its charge" in page) is larger


def test_nothing_stands_out() -> None:
    group = {"units": 9, "interval": [0, 20]}
    nothing = {"groups": [group | {"name": "x"}, group | {"name": "y"}], "itemsets": [], "mechanism": "limited_domain"}
    assert "Nothing stands out" in body_of("compare", nothing, UnitWords.read("customer")).answer
