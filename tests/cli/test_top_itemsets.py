"""dpmine top-itemset with --top, --release-support, --rules, --min-confidence and --units."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dpmine_cli.itemsets import WithRules
from support.cases import every
from support.command_line import CANARY, assert_one_error, outcome_of

import dpmine

pytestmark = pytest.mark.usefixtures("folder")

BREAD, BUTTER, TEA = (f"{CANARY} {name}" for name in ("bread", "butter", "tea"))
TOP = ["top-itemset", "sales.parquet", "--epsilon", "1000", "--top", "2", "--mechanism", "exponential"]
LISTED = [*TOP, "--catalogue", "items.txt"]
SUPPORTED = [*LISTED, "--release-support", "1000"]
RULES = [*SUPPORTED, "--rules", "--units", "34"]


def document(run: outcome_of, *arguments: str) -> Any:
    outcome = run(*arguments, "--format", "json")
    assert (outcome.status, outcome.out.count("\n")) == (0, 1), outcome
    return json.loads(outcome.out)


def test_text(run: outcome_of) -> None:
    outcome = run(*LISTED)
    assert outcome.status == 0
    assert outcome.out.splitlines() == [
        f"{BREAD}, {BUTTER}",
        f"{BUTTER}, {TEA}",
        "(exponential; ε = 1000, δ = 0 per customer, neighbours replace-one)",
        "(selection: 2 rounds of the exponential mechanism at ε = 500)",
    ]


def test_text_with_supports(run: outcome_of) -> None:
    lines = run(*SUPPORTED, "--units", "40").out.splitlines()
    assert lines[0] == f"{BREAD}, {BUTTER}: about 30 (30 to 30), 75.000% of all"
    assert lines[1] == f"{BUTTER}, {TEA}: about 4 (4 to 4), 10.000% of all"
    assert lines[2] == "(with probability 95% or more, each interval holds the true support)"
    assert lines[3].startswith("(exponential; ε = 2000, δ = 0 per customer")
    assert lines[4].startswith("(selection ε = 1000, δ = 0 (2 rounds of ")
    assert lines[4].endswith("; supports ε = 1000, δ = 0)")


def test_text_with_rules(run: outcome_of) -> None:
    lines = run(*RULES).out.splitlines()
    rules = lines[lines.index("") + 1 :]
    assert rules[0] == f"{BREAD} -> {BUTTER}: confidence 1 (1 to 1), lift 1 (1 to 1)"
    assert len(rules) == 4
    few = run(*RULES, "--min-confidence", "0.9").out.splitlines()
    assert few[few.index("") + 1 :] == [rules[0], rules[1]]


def test_no_rule_is_as_confident(run: outcome_of) -> None:
    found = dpmine.top_itemsets([["a", "b"]] * 9, k=1, epsilon=1000, catalogue=["a", "b"], release_support=1)
    without = str(WithRules(found, pd.DataFrame(), Fraction(1, 2)))
    assert without.splitlines()[-2:] == ["", "No rule has a confidence of 0.5 or more (--min-confidence)."]
    lines = run("top-itemset", "sales.parquet", "--rules", "--release-support", "1", "--epsilon", "0.001").out
    assert lines.startswith("Nothing stands out.")
    assert "rule" not in lines


def test_without_itemsets_of_two_items_there_are_no_rules() -> None:
    baskets = [("ann", str(place), item) for place, item in enumerate("ab")] * 9
    for basket, hint in [("basket", True), (None, False)]:
        found = dpmine.frequent_itemsets(
            pa.table(dict(zip(["unit", "basket", "item"], zip(*baskets, strict=True), strict=True))),
            k=2,
            max_size=1,
            epsilon=1000,
            catalogue=["a", "b"],
            unit="unit",
            basket=basket,
            item="item",
        )
        said = str(WithRules(found, pd.DataFrame(), Fraction(0))).splitlines()[-1]
        assert said.startswith("No itemset of two or more items is listed, so there are no rules.")
        assert ("one basket holds all of an itemset" in said) is hint


def test_json(run: outcome_of) -> None:
    found = document(run, *SUPPORTED, "--units", "40")
    assert list(found) == ["itemsets", "sizes", "requested", "mechanism", "guarantee", "budget", "remarks", "dpmine"]
    assert found["itemsets"] == [
        {"items": [BREAD, BUTTER], "noisy_support": 30, "interval": [30, 30], "support": 0.75},
        {"items": [BUTTER, TEA], "noisy_support": 4, "interval": [4, 4], "support": 0.1},
    ]
    budget = found["budget"]
    parts = [Fraction(budget[part]["epsilon_exact"]) for part in ("selection", "supports")]
    assert sum(parts) == Fraction(found["guarantee"]["epsilon_exact"]) == 2000


@pytest.mark.parametrize("least", ["0", "1/2", "0.9"])
def test_json_with_rules(run: outcome_of, least: str) -> None:
    found = document(run, *RULES, "--min-confidence", least)
    assert {frozenset(row["items"]) for row in found["subsets"]} == {frozenset({i}) for i in (BREAD, BUTTER, TEA)}
    confidences = [rule["confidence"] for rule in found["rules"]]
    assert confidences == sorted(confidences, reverse=True)
    assert all(confidence >= Fraction(least) for confidence in confidences)
    assert len(confidences) == {"0": 4, "1/2": 3, "0.9": 2}[least]
    assert found["rules"][0]["conviction"] is None  # infinite
    assert {"lift", "lift_low", "lift_high", "leverage", "support"} <= set(found["rules"][0])


def test_rules_as_a_table(run: outcome_of) -> None:
    rules = document(run, *RULES)["rules"]
    text = run(*RULES, "--format", "csv").out
    assert text.splitlines()[0] == ",".join(rules[0])
    assert run(*RULES, "-o", "rules.parquet").status == 0
    table = pq.read_table("rules.parquet")
    for rows in (list(csv.DictReader(text.splitlines())), table.to_pylist()):
        assert [float(row["confidence"]) for row in rows] == [rule["confidence"] for rule in rules]
    assert table.column("antecedents").to_pylist() == [rule["antecedents"] for rule in rules]


def test_rules_without_units_have_confidence_only(run: outcome_of) -> None:
    found = document(run, *SUPPORTED, "--rules")
    assert "lift" not in found["rules"][0]
    assert "support" not in found["itemsets"][0]
    assert "lift" not in run(*SUPPORTED, "--rules").out


def test_lift_of_units_with_several_baskets(run: outcome_of) -> None:
    """All 30 customers of the data have both items, 10 of them on one day; 34 are said to be all."""
    rows = [(unit, day, item) for unit in range(30) for day, item in enumerate([BREAD, BUTTER])]
    rows += [(unit, 0, item) for unit in range(10) for item in (BREAD, BUTTER)]
    columns = dict(zip(["customer", "day", "item"], map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), "days.parquet")
    named = ["--unit", "customer", "--basket", "day", "--item", "item"]
    arguments = ["top-itemset", "days.parquet", *named, *RULES[2:], "--lift-of", "units"]
    lines = run(*arguments).out.splitlines()
    assert lines[-1] == f"{BUTTER} -> {BREAD}: confidence 0.333 (0.333 to 0.333), lift 1.13 (1.13 to 1.13)"
    found = document(run, *arguments)
    assert [row["noisy_support"] for row in found["unions"]] == [30]
    assert found["several_baskets"]
    told = run(*arguments, "--dry-run").err
    assert "lift_of (--lift-of) adds counts of units' unions: up to 8 counts share the budget of supports" in told


def test_csv(run: outcome_of) -> None:
    rows = list(csv.reader(io.StringIO(run(*SUPPORTED, "--units", "40", "--format", "csv").out)))
    assert rows == [
        ["items", "noisy_support", "interval", "support"],
        [json.dumps([BREAD, BUTTER]), "30", "[30, 30]", "0.75"],
        [json.dumps([BUTTER, TEA]), "4", "[4, 4]", "0.1"],
    ]
    assert list(csv.reader(io.StringIO(run(*LISTED, "--format", "csv").out)))[1:] == [
        [json.dumps([BREAD, BUTTER]), "", ""],
        [json.dumps([BUTTER, TEA]), "", ""],
    ]


def test_parquet(run: outcome_of) -> None:
    assert run(*RULES[:-2], "-o", "out.json").status == 0
    assert run(*SUPPORTED, "-o", "out.parquet").status == 0
    table = pq.read_table("out.parquet")
    assert table.to_pydict() == {
        "items": [[BREAD, BUTTER], [BUTTER, TEA]],
        "noisy_support": [30, 4],
        "interval": [[30, 30], [4, 4]],
    }
    assert json.loads(table.schema.metadata[b"dpmine"])["budget"]["supports"]["epsilon_exact"] == "1000"


def test_files_are_accompanied_by_what_text_says_of_the_list(run: outcome_of) -> None:
    """Itemsets of small supports are not listed, and a table has no place to say so."""
    outcome = run(*SUPPORTED, "--min-support", "20", "-o", "out.csv")
    left_out = "1 chosen with too small a noisy support to be listed; --min-support 0 lists all"
    assert f"dpmine: {left_out}" in outcome.err
    assert f"({left_out}" in run(*SUPPORTED, "--min-support", "20").out


def test_one_budget_for_both(run: outcome_of) -> None:
    found = document(run, *LISTED, "--release-support", "auto")
    parts = [Fraction(found["budget"][part]["epsilon_exact"]) for part in ("selection", "supports")]
    assert sum(parts) == Fraction(found["guarantee"]["epsilon_exact"]) == 1000
    assert all(parts)


@pytest.mark.parametrize("delta", ["0", "0.0", "1e-6"])
def test_delta_may_be_0_with_a_catalogue(run: outcome_of, delta: str) -> None:
    arguments = ["top-itemset", "sales.parquet", "--top", "3", "--catalogue", "items.txt", "--delta", delta]
    found = document(run, *arguments)
    assert found["requested"] == "auto"
    assert len(found["itemsets"]) == 3 or delta == "1e-6"
    assert Fraction(found["guarantee"]["delta_exact"]) in {0, Fraction(delta)}


def test_fewer_than_asked_for(run: outcome_of) -> None:
    found = run("top-itemset", "sales.parquet", "--epsilon", "100000", "--top", "50", "--mechanism", "limited-domain")
    lines = found.out.splitlines()
    assert sorted(lines[:2]) == [f"{BREAD}, {BUTTER}", f"{BUTTER}, {TEA}"]
    assert lines[2].startswith("(nothing else stands out: limited_domain needs the best 50 to lead")


BAD: dict[str, tuple[list[str], str]] = {
    "too many": (["--top", "100001"], "k (--top) must be at most 100,000"),
    "more than listed": (["--top", "7", "--catalogue", "items.txt"], "k (--top) must not exceed the 6 itemsets"),
    "no budget for supports": (["--release-support", "0"], "--release-support must be greater than 0"),
    "rules of items": (["--rules", "--release-support", "1", "--size", "1"], "give a larger size"),
    "confidence above 1": (["--rules", "--release-support", "1", "--min-confidence", "1.01"], "at most 1"),
    "confidence below 0": (["--rules", "--release-support", "1", "--min-confidence", "-1"], "at least 0"),
    "confidence of words": (["--rules", "--release-support", "1", "--min-confidence", "high"], "--min-confidence must"),
    "too many units": (["--units", str(2**63), "--rules", "--release-support", "1"], "units must be at most"),
    "no delta": (["--top", "3", "--delta", "0"], "delta must be above 0"),
    "lift of nothing": (["--lift-of", "units"], "give release_support (--release-support EPS, or auto) and rules"),
    "lift of no units": (["--rules", "--release-support", "1", "--lift-of", "units"], "give units (--units N)"),
    "lift of baskets": (["--rules", "--release-support", "1", "--lift-of", "baskets"], "--lift-of must be"),
}


@every("case", BAD)
def test_errors_are_one_line_and_cost_nothing(run: outcome_of, case: str) -> None:
    """Told before a ledger is charged, with nothing written."""
    arguments, message = BAD[case]
    if not Path("budget.db").exists():
        dpmine.Ledger("sqlite:///budget.db").grant("shop", epsilon=9, delta="1/2")
    ledger = ["--ledger", "sqlite:///budget.db", "--dataset", "shop"]
    line = assert_one_error(run("top-itemset", "sales.parquet", *arguments, *ledger))
    assert message in line
    assert dpmine.Ledger("sqlite:///budget.db").budget("shop").entries == 1
    assert not Path("out.parquet").exists()


def test_a_ledger_is_charged_for_all(run: outcome_of) -> None:
    dpmine.Ledger("sqlite:///budget.db").grant("shop", epsilon=3)
    ledger = ["--ledger", "sqlite:///budget.db", "--dataset", "shop"]
    job = ["top-itemset", "sales.parquet", "--catalogue", "items.txt", "--delta", "0", "--top", "3", *ledger]
    assert run(*job, "--release-support", "1/2").status == 0
    assert dpmine.Ledger("sqlite:///budget.db").budget("shop").spent.epsilon == Fraction(3, 2)
    refused = run(*job, "--release-support", "0.6")
    assert (refused.status, refused.out) == (3, "")
    assert dpmine.Ledger("sqlite:///budget.db").budget("shop").spent.epsilon == Fraction(3, 2)


HOSTILE = [
    "new\nline",
    "return\r",
    "tab\there",
    'quo"te',
    "com, ma",
    "\u202eright to left",
    "שלום",
    "=cmd|' /C calc'!A0",
    "nul\x00",
    "\x1b[31mred",
    "line\u2028separator",
    "next\x85line",
    "csi\x9b31m",
    "",
    " ",
    "100%",
    "a -> b",
]


@pytest.fixture
def hostile() -> list[str]:
    """Every pair of neighbours in the list is bought, the first ones more often."""
    baskets = [pair for n, pair in enumerate(pairwise(HOSTILE)) for _ in range(90 - 4 * n)]
    pq.write_table(pa.table({"items": pa.array([list(pair) for pair in baskets])}), "hostile.parquet")
    options = "--top 16 --mechanism limited-domain --epsilon 100000 --release-support 1000"
    return ["top-itemset", "hostile.parquet", *options.split()]


def test_hostile_names_in_text(run: outcome_of, hostile: list[str]) -> None:
    """One line each, and nothing that a terminal obeys."""
    for arguments in (hostile, [*hostile, "--rules"]):
        out = run(*arguments).out
        lines = out.split("\n")
        assert sum(": about " in line for line in lines) == 16
        assert sum(": confidence " in line for line in lines) == (32 if "--rules" in arguments else 0)
        assert not {c for c in out if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"}} - {"\n"}
        assert "שלום" in out
        assert r"\u202eright to left" in out


def test_hostile_names_in_csv(run: outcome_of, hostile: list[str]) -> None:
    rows = list(csv.reader(io.StringIO(run(*hostile, "--format", "csv", "--quiet").out, newline="")))[1:]
    pairs = [sorted(pair) for pair in pairwise(HOSTILE)]
    assert [json.loads(row[0]) for row in rows] == pairs
    assert all(row[0].startswith("[") for row in rows)  # no spreadsheet takes it for a formula


def test_hostile_names_in_json(run: outcome_of, hostile: list[str]) -> None:
    found = document(run, *hostile, "--rules", "--quiet")
    pairs = [sorted(pair) for pair in pairwise(HOSTILE)]
    assert [row["items"] for row in found["itemsets"]] == pairs
    assert {(*rule["antecedents"], *rule["consequents"]) for rule in found["rules"]} == {
        order for pair in pairs for order in (tuple(pair), tuple(reversed(pair)))
    }
