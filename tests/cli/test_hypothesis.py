from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.command_line import CANARY, assert_one_error, last_of_each, outcome_of

RICH, POOR = f"{CANARY} rich", f"{CANARY} poor"
CHOOSE = ["hypothesis", "people.parquet", "--label", "income", "--epsilon", "1000"]
AGE = [*CHOOSE, "--features", "age", "--lower", "0", "--upper", "120", "--grid", "121"]


@pytest.fixture(autouse=True)
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of 41 and more are rich, which comes after poor in the alphabet."""
    monkeypatch.chdir(tmp_path)
    ages = [18, 25, 40, 41, 55, 90] * 20
    columns = {
        "age": ages,
        "hours": [row % 7 for row in range(120)],
        "urban": [age >= 41 for age in ages],
        "income": [RICH if age >= 41 else POOR for age in ages],
        "town": [CANARY] * 120,
    }
    pq.write_table(pa.table(columns), "people.parquet")
    pq.write_table(pa.table({"age": [20, 60], "hours": [1, 2], "urban": [False, True]}), "new.parquet")


@pytest.mark.parametrize("kind", ["thresholds", "stumps"])
def test_choose(run: outcome_of, kind: str) -> None:
    outcome = run(*AGE, "--class", kind)
    assert outcome.status == 0, outcome.err
    rule, guarantee = outcome.out.splitlines()
    assert rule == f"income = {RICH} where age >= 41"
    assert guarantee == "(max_of_exponentials; ε = 1000, δ = 0 per row, neighbours replace-one)"


def test_several_features_and_their_own_bounds(run: outcome_of) -> None:
    bounds = ["--lower", "0,0", "--upper", "120,10", "--grid", "121,11"]
    outcome = run(*CHOOSE, "--features", "hours,age", *[bounds[0], "0,0", bounds[2], "10,120", bounds[4], "11,121"])
    assert outcome.out.splitlines()[0].endswith("where age >= 41")
    assert run(*CHOOSE, "--features", "urban", "--class", "conjunctions").out.splitlines()[0].endswith("where urban")


def test_huge_grids_as_people_write_them(run: outcome_of) -> None:
    arguments = [*CHOOSE, "--features", "age", "--lower", "0", "--upper", "120", "--grid", "2^64", "--format", "json"]
    document = json.loads(run(*arguments, "--class", "intervals").out)
    assert document["class"]["grid"] == 2**64
    assert 40 < document["parameters"]["lower"] <= 41


@pytest.mark.parametrize(
    ("kind", "cast", "rule"),
    [
        ("stumps", pa.int32(), "age >= 41"),
        ("intervals", pa.int64(), r"(41 <= age < \d+|age >= 41)"),
        ("stumps", pa.decimal128(5, 0), "age >= 41"),
        ("stumps", pa.float64(), r"age >= 40\.\d+"),
    ],
)
def test_a_rule_about_whole_numbers_names_one(run: outcome_of, kind: str, cast: pa.DataType, rule: str) -> None:
    """The type of the column, which is public, says so; here no point of the grid but 0 and 120 is whole."""
    table = pq.read_table("people.parquet")
    place = table.column_names.index("age")
    ages = table.column("age").cast(pa.decimal128(20, 0)).cast(cast)
    pq.write_table(table.set_column(place, "age", ages), "people.parquet")
    arguments = [*AGE, "--grid", "998", "--class", kind, "--model", "rule.json"]
    assert re.fullmatch(f"income = {RICH} where {rule}", run(*last_of_each(*arguments)).out.splitlines()[0])
    scored = run("hypothesis", "--model", "rule.json", "--predict", "people.parquet").out.splitlines()
    assert scored == [RICH if age >= 41 else POOR for age in table.column("age").to_pylist()]


def test_json_is_the_contract_and_scores_another_file(run: outcome_of) -> None:
    assert run(*AGE, "-o", "rule.json").err.count("max_of_exponentials; ε = 1000") == 1
    document = json.loads(Path("rule.json").read_text(encoding="utf-8"))
    assert document["hypothesis"] == "age >= 41"
    assert document["parameters"]["threshold"] == 41
    assert document["guarantee"]["epsilon_exact"] == "1000"
    scored = run("hypothesis", "--model", "rule.json", "--predict", "new.parquet")
    assert scored.out.splitlines() == [POOR, RICH]
    assert run("hypothesis", "--model", "rule.json", "--predict", "new.parquet", "-o", "scores.csv").status == 0
    rows = list(csv.DictReader(io.StringIO(Path("scores.csv").read_text(encoding="utf-8"))))
    assert [row["prediction"] for row in rows] == [POOR, RICH]


def test_a_model_beside_the_result(run: outcome_of) -> None:
    outcome = run(*AGE, "--model", "rule.json", "--format", "csv")
    assert next(csv.DictReader(io.StringIO(outcome.out)))["hypothesis"] == "age >= 41"
    assert json.loads(Path("rule.json").read_text(encoding="utf-8"))["label"] == "income"
    assert run(*AGE, "-o", "rule.parquet").status == 0
    assert pq.read_table("rule.parquet")["hypothesis"].to_pylist() == ["age >= 41"]


def test_nothing_stands_out(run: outcome_of) -> None:
    arguments = [*AGE, "--epsilon", "0.001", "--mechanism", "stable-maximiser"]
    outcome = run(*last_of_each(*arguments))
    assert outcome.status == 0
    assert outcome.out.splitlines()[0] == "Nothing stands out."
    assert "stable_maximiser needs" in outcome.out
    assert run(*last_of_each(*arguments), "-o", "rule.json").status == 0
    assert_one_error(run("hypothesis", "--model", "rule.json", "--predict", "new.parquet"))


@every(
    ("arguments", "hint"),
    [
        (["hypothesis"], "Training needs FILE; scoring needs --model"),
        ([*CHOOSE], "--features"),
        ([*CHOOSE, "--features", "age"], "Give lower and upper"),
        ([*AGE, "--grid", "many"], "--grid must be whole numbers"),
        ([*AGE, "--width", "2"], "no width"),
        ([*AGE, "--label", "hours"], "two classes"),
        ([*AGE, "--label", "town"], "one class"),
        ([*AGE, "--mechanism", "exact"], "--not-private"),
        (["hypothesis", "--predict", "new.parquet"], "Give --model"),
        (["hypothesis", "--predict", "new.parquet", "--model", "people.parquet"], "model file"),
        (["hypothesis", "--predict", "new.parquet", "--model", "m.json", "--grid", "5"], "leave out --grid"),
    ],
)
def test_errors_are_one_line(run: outcome_of, arguments: list[str], hint: str) -> None:
    assert hint in assert_one_error(run(*last_of_each(*arguments)))
