"""dpmine supports --rules: exact rules in every format, beside an oracle that counts baskets."""

from __future__ import annotations

import csv
import json
from collections import Counter
from itertools import chain, combinations
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.command_line import assert_one_error, outcome_of
from support.schemas import problems

BASKETS = [["bread", "milk"], ["bread", "milk", "tea"], ["bread"], ["milk"], ["tea", "bread"]]
SUPPORTS = ["supports", "baskets.baskets", "--min-support", "1", "--rules", "--not-private"]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> outcome_of:
    """Beside a file of the baskets."""
    monkeypatch.chdir(tmp_path)
    Path("baskets.baskets").write_text("".join(" ".join(basket) + "\n" for basket in BASKETS))
    return outcome_of(capfd)


def confidences(largest: int) -> dict[tuple[frozenset[str], frozenset[str]], float]:
    """Of all rules of itemsets up to that size, by looking at each basket."""
    subsets = chain.from_iterable(combinations(sorted(b), n) for b in BASKETS for n in range(1, largest + 1))
    counts = Counter(map(frozenset, subsets))
    return {
        (frozenset(left), each - frozenset(left)): count / counts[frozenset(left)]
        for each, count in counts.items()
        for n in range(1, len(each))
        for left in combinations(each, n)
    }


@pytest.mark.parametrize(("size", "largest"), [("2", 2), ("3", 3), ("2-3", 3), ("all", 3)])
def test_rules_are_those_of_all_itemsets(run: outcome_of, size: str, largest: int) -> None:
    outcome = run(*SUPPORTS, "--size", size, "--format", "json")
    found = json.loads(outcome.out)
    assert problems("supports", found) == []
    rules = {(frozenset(r["antecedents"]), frozenset(r["consequents"])): r["confidence"] for r in found["rules"]}
    assert rules == confidences(largest)
    assert {len(row["items"]) for row in found["itemsets"]} == set(range(1, largest + 1))
    milk = next(r for r in found["rules"] if r["antecedents"] == ["bread"] and r["consequents"] == ["milk"])
    assert (milk["support"], milk["confidence"], milk["lift"]) == (2, 0.5, 5 * 2 / (4 * 3))


def test_rules_in_every_format(run: outcome_of) -> None:
    arguments = [*SUPPORTS, "--min-confidence", "0.5"]
    rules = json.loads(run(*arguments, "--format", "json").out)["rules"]
    assert len(rules) == sum(confidence >= 0.5 for confidence in confidences(2).values())
    lines = run(*arguments).out.splitlines()
    _, first, *_ = lines[lines.index("(exact supports; NOT private)") + 1 :]
    assert first == "tea -> bread: confidence 1, lift 1.25"
    rows = list(csv.DictReader(run(*arguments, "--format", "csv").out.splitlines()))
    assert [json.loads(row["consequents"]) for row in rows] == [rule["consequents"] for rule in rules]
    assert run(*arguments, "-o", "rules.parquet").err.endswith("exact supports; NOT private\n")
    table = pq.read_table("rules.parquet")
    assert table.to_pylist() == rules
    assert None in table.column("conviction").to_pylist()  # infinite, where a rule always holds
    assert table.schema.metadata[b"dpmine"] == b'{"private": false}'


def test_a_unit_of_several_baskets_has_no_lift(run: outcome_of) -> None:
    lines = ["who,at,item"] + [f"{who % 2},{who},{item}" for who, basket in enumerate(BASKETS) for item in basket]
    Path("rows.csv").write_text("\n".join(lines))
    columns = ["--unit", "who", "--basket", "at", "--item", "item", "--format", "json"]
    outcome = run("supports", "rows.csv", *SUPPORTS[2:], *columns)
    assert set(json.loads(outcome.out)["rules"][0]) == {"antecedents", "consequents", "support", "confidence"}
    said = "the share with all its items in one basket; lift needs units with one basket each"
    assert said in outcome.err
    assert said not in run(*SUPPORTS).err


def test_without_rules(run: outcome_of) -> None:
    assert "No itemset of two or more items is listed, so there are no rules." in run(*SUPPORTS, "--size", "1").out
    empty = run(*SUPPORTS, "--size", "1", "--format", "csv").out
    assert empty == "antecedents,consequents,support,confidence,lift,leverage,conviction\n"
    run(*SUPPORTS, "--size", "1", "-o", "rules.parquet")
    assert [str(kind) for kind in pq.read_schema("rules.parquet").types[2:]] == ["int64", *["double"] * 4]
    Path("baskets.baskets").write_text("bread milk\nbread\nmilk\n")
    assert "No rule has a confidence of 1 or more (--min-confidence)." in run(*SUPPORTS, "--min-confidence", "1").out


@pytest.mark.parametrize(
    ("more", "hint"),
    [(["--closed"], "leave out"), (["--maximal"], "leave out"), (["--min-confidence", "2"], "at most 1")],
)
def test_mistakes(run: outcome_of, more: list[str], hint: str) -> None:
    assert hint in assert_one_error(run(*SUPPORTS, *more))


def test_confidence_needs_rules(run: outcome_of) -> None:
    without = [word for word in SUPPORTS if word != "--rules"]
    assert "give --rules" in assert_one_error(run(*without, "--min-confidence", "0.5"))
