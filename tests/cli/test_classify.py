"""dpmine classify, from training to scoring."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.command_line import CANARY, assert_one_error, last_of_each, outcome_of

import dpmine

pytestmark = pytest.mark.usefixtures("people")

YES, NO = f"{CANARY} yes", "no"


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files to train on and to score in the working directory."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(7)
    rich = generator.integers(0, 2, 3000)
    age = np.clip(0.3 + 0.4 * rich + 0.1 * generator.normal(size=3000), 0, 1)
    hours = generator.uniform(0, 1, 3000)
    columns: dict[str, Any] = {"age": age, "hours": hours, "income": [YES if value else NO for value in rich]}
    pq.write_table(pa.table(columns), "people.parquet")
    pq.write_table(pa.table({"hours": [0.5, 0.5], "age": [0.1, 0.95]}), "new.parquet")
    extra = {**columns, "town": [CANARY] * 3000, "size": [float("nan")] + [91_827.0] * 2999, "three": [1, 2, 3] * 1000}
    pq.write_table(pa.table(extra), "more.parquet")
    pq.write_table(pa.table(columns).slice(0, 0), "none.parquet")
    (tmp_path / "sub").mkdir()
    return tmp_path


TRAIN = ["classify", "people.parquet", "--label", "income", "--features", "age,hours", "--norm-bound", "1.5"]
TRAIN += ["--epsilon", "100000"]
ONE = [*TRAIN, "--lambdas", "0.001", "--model", "model.json"]


@pytest.mark.parametrize("loss", ["logistic", "huber"])
@pytest.mark.parametrize("method", ["objective", "output"])
def test_train_and_score(run: outcome_of, loss: str, method: str) -> None:
    trained = run(*TRAIN, "--lambdas", "0.001,0.01", "--loss", loss, "--method", method, "--model", "model.json")
    assert trained.status == 0, trained.err
    assert [line.split("\t")[0] for line in trained.out.splitlines()][:3] == ["age", "hours", "(intercept)"]
    assert "ε = 100000, δ = 0 per row, neighbours replace-one" in trained.out
    model = json.loads(Path("model.json").read_text(encoding="utf-8"))
    assert (model["loss"], model["features"], model["classes"], model["label"]) == (
        loss,
        ["age", "hours"],
        [YES, NO] if YES < NO else [NO, YES],
        "income",
    )
    assert model["guarantee"]["epsilon_exact"] == "100000"
    notes = model["guarantee"]["notes"]
    assert notes
    assert trained.out.splitlines()[-len(notes) :] == [f"({note})" for note in notes]
    scored = run("classify", "--model", "model.json", "--predict", "new.parquet")
    assert scored.out.splitlines() == [NO, YES]
    assert "protects the rows it was trained on" in scored.err


@every(("noise", "delta"), [("gamma", "0"), ("gaussian", "1/1000000000"), ("auto", "0")])
def test_noise(run: outcome_of, noise: str, delta: str) -> None:
    """Two features: too few for Gaussian noise unless it is named."""
    trained = run(*ONE, "--noise", noise, "--delta", "1e-9")
    assert trained.status == 0, trained.err
    model = json.loads(Path("model.json").read_text(encoding="utf-8"))
    assert model["guarantee"]["delta_exact"] == delta


def test_a_missing_value_does_not_stop_training_after_the_charge(run: outcome_of) -> None:
    outcome = run(*last_of_each("classify", "more.parquet", *ONE[2:], "--features", "age,size"))
    assert outcome.status == 0, outcome.err
    assert "a missing value counts as 0" in outcome.out


def test_text_is_scored_as_it_is_trained_on(run: outcome_of) -> None:
    """With the options of its form, so that the advice of a message on a CSV file can be followed."""
    trained = run(*ONE)
    assert trained.status == 0, trained.err
    rows = pq.read_table("new.parquet").to_pylist()
    text = "\n".join(";".join(map(str, row.values())) for row in rows)
    Path("new.csv").write_text(f"{';'.join(rows[0])}\n{text}\n", encoding="utf-8")
    score = ["classify", "--model", "model.json", "--predict"]
    scored = run(*score, "new.csv", "--delimiter", ";")
    assert (scored.status, scored.out) == (0, run(*score, "new.parquet").out)
    assert_one_error(run(*score, "new.csv", "--query", "SELECT 1"))


def test_bounds_scale_features_and_are_kept_for_scoring(run: outcome_of) -> None:
    """Values beyond the bounds count as the bounds in the file that is scored, too."""
    table = pq.read_table("people.parquet")
    wide = table.set_column(0, "age", pc.multiply(table["age"], 1000))
    wide = wide.set_column(1, "hours", pc.add(table["hours"], 50))
    pq.write_table(wide, "wide.parquet")
    train = ["classify", "wide.parquet", "--label", "income", "--features", "age,hours", "--epsilon", "1000"]
    trained = run(*train, "--lower", "0,50", "--upper", "1000,51", "--model", "model.json")
    assert trained.status == 0, trained.err
    assert "mapped to [-1, 1]" in trained.out
    model = json.loads(Path("model.json").read_text(encoding="utf-8"))
    assert model["feature_bounds"] == {"lower": [0, 50], "upper": [1000, 51]}
    ages = [100.0, 950.0, 1000.0, 1e9, -1e9, 0.0]
    pq.write_table(pa.table({"age": ages, "hours": [50.5] * 6}), "far.parquet")
    score = ["classify", "--model", "model.json", "--predict", "far.parquet", "--format", "json"]
    chances = json.loads(run(*score).out)["probability"]
    assert chances[0] > 0.5 > chances[1]  # of the later class, "no"
    assert chances[2] == chances[3]
    assert chances[4] == chances[5]


def test_the_default_chooses_nothing_from_the_data(run: outcome_of) -> None:
    assert run(*TRAIN, "--model", "model.json").status == 0
    assert json.loads(Path("model.json").read_text(encoding="utf-8"))["lambda"] == pytest.approx(3 / (10 * 3000 * 1e5))


@pytest.mark.parametrize("bounds", [["--norm-bound", "1.5"], ["--lower", "0", "--upper", "1"]])
@pytest.mark.parametrize(("classes", "constant"), [(f"no,{YES}", False), ("no,yse", True), ("no,yse,maybe", True)])
def test_a_model_that_predicts_one_class_says_so(
    run: outcome_of, bounds: list[str], classes: str, constant: bool
) -> None:
    line = [*TRAIN[:6], *bounds, "--epsilon", "100000", "--lambdas", "0.01", "--classes", classes]
    said = "the model predicts one class whatever the features: if --classes was given, check"
    assert (said in run(*line, "--model", "model.json").out) == constant
    assert (said in run(*line, "-o", "model.json").err) == constant


def test_json_needs_no_other_model_file(run: outcome_of) -> None:
    assert run(*TRAIN, "-o", "model.json").status == 0
    assert run("classify", "--model", "model.json", "--predict", "new.parquet").out.splitlines() == [NO, YES]


def test_summary_as_json_is_the_model(run: outcome_of) -> None:
    outcome = run(*ONE, "--format", "json", "--quiet")
    assert outcome.out == Path("model.json").read_text(encoding="utf-8")
    assert outcome.err == ""


def test_summary_as_a_table_has_a_row_a_coefficient(run: outcome_of) -> None:
    assert run(*ONE, "-o", "out.csv").status == 0
    assert run(*TRAIN, "--lambdas", "auto", "--model", "model.json", "-o", "out.parquet").status == 0
    rows = list(csv.DictReader(io.StringIO(Path("out.csv").read_text(encoding="utf-8"))))
    assert [row["feature"] for row in rows] == ["age", "hours", "(intercept)"]
    model = json.loads(Path("model.json").read_text(encoding="utf-8"))
    assert pq.read_table("out.parquet")["coefficient"].to_pylist() == [*model["coef"], model["intercept"]]


@every(
    ("arguments", "hint"),
    [
        (["classify"], "Training needs FILE; scoring needs --model"),
        ([*ONE, "--lower", "0"], "--upper is missing"),
        ([*ONE, "--lower", "1", "--upper", "1"], "every lower bound below its upper one"),
        ([*ONE, "--lower", "0,0,0", "--upper", "1"], "one for each of the 2 features"),
        ([*ONE, "--validation-share", "0.2"], "--validation-share belongs to a choice"),
        ([*ONE, "--lambdas", "auto", "--selection-share", "0.2"], "--selection-share belongs to a choice"),
        ([*ONE, "--neighbors", "add-remove"], "replace_one"),
        ([*ONE, "--norm-bound", "wide"], "--norm-bound must"),
        ([*ONE, "--features", "age,age"], "named twice"),
        ([*ONE, "--features", ","], "at least one feature"),
        ([*ONE, "--features", "age,shoe"], "'shoe'"),
        ([*ONE, "--huber", "0.5"], "--huber is for --loss huber"),
        ([*ONE, "--lambdas", "0.1,1", "--selection-share", "1"], "--selection-share must lie"),
        ([*ONE, "--model", "nowhere/m.json"], "Cannot write"),
        (["classify", "more.parquet", *ONE[2:], "--label", "three"], "Only binary"),
        (["classify", "missing.parquet", *ONE[2:]], "missing.parquet"),
        (["classify", "--model", "people.parquet", "--predict", "new.parquet"], "model file"),
        ([*ONE, "--predict", "new.parquet"], "not both"),
        ([*ONE, "-o", "./sub/../model.json"], "--model and --output name the same file"),
        (["classify", "none.parquet", *ONE[2:]], "no rows"),
    ],
)
def test_one_line_says_what_is_wrong(run: outcome_of, arguments: list[str], hint: str) -> None:
    assert hint in assert_one_error(run(*last_of_each(*arguments)))
    assert not Path("model.json").exists()


def test_scoring_overwrites_neither_the_model_nor_the_rows(run: outcome_of) -> None:
    assert run(*ONE).status == 0
    kept = {name: Path(name).read_bytes() for name in ("model.json", "new.parquet")}
    score = ["classify", "--model", "model.json", "--predict", "new.parquet"]
    assert "the same file" in assert_one_error(run(*score, "-o", "model.json"))
    assert "input files" in assert_one_error(run(*score, "-o", "new.parquet"))
    assert {name: Path(name).read_bytes() for name in kept} == kept


@every(
    ("arguments", "names"),
    [
        (["--label", "income"], "--label."),
        (["--epsilon", "1", "--lambdas", "0.1,0.2"], "--lambdas, --epsilon."),
        (["--no-intercept", "--loss", "logistic"], "--loss, --intercept."),
        (["--selection-share", "0.2"], "--selection-share."),
        (["--ledger", "sqlite:///budget.db", "--dataset", "shop"], "--ledger, --dataset."),
    ],
)
def test_scoring_takes_no_options_of_training(run: outcome_of, arguments: list[str], names: str) -> None:
    """Even with the values that are the defaults."""
    error = assert_one_error(run("classify", "--model", "model.json", "--predict", "new.parquet", *arguments))
    assert error.endswith(f"leave out {names}")


def test_no_rows_to_score(run: outcome_of) -> None:
    assert run(*ONE).status == 0
    score = ["classify", "--model", "model.json", "--predict", "none.parquet"]
    outcome = run(*score, "-o", "out.parquet")
    assert outcome.status == 0, outcome.err
    none = pq.read_table("out.parquet")
    assert none.num_rows == 0
    assert run("classify", "--model", "model.json", "--predict", "new.parquet", "-o", "two.parquet").status == 0
    assert none.schema.equals(pq.read_schema("two.parquet"))
    assert json.loads(run(*score, "--format", "json").out) == {"prediction": [], "probability": []}
    pq.write_table(pa.table({"age": pa.array([], pa.float64())}), "half.parquet")
    assert "'hours'" in assert_one_error(run(*score[:-1], "half.parquet"))


def test_whole_floats_are_labels(run: outcome_of) -> None:
    table = pq.read_table("people.parquet").to_pydict()
    labels = [float(label == YES) for label in table["income"]]
    pq.write_table(pa.table({**table, "income": labels}), "floats.parquet")
    assert run("classify", "floats.parquet", *ONE[2:]).status == 0
    score = ["classify", "--model", "model.json", "--predict", "new.parquet", "--format", "json"]
    assert json.loads(run(*score).out)["prediction"] == [0.0, 1.0]


def test_more_than_two_classes(run: outcome_of) -> None:
    train = ["classify", "more.parquet", "--label", "three", "--features", "age,hours", "--norm-bound", "1"]
    train += ["--classes", "1,2,3"]
    learnt = run(*train, "--model", "three.json", "--format", "csv")
    rows = [line.split(",") for line in learnt.out.splitlines()]
    assert rows[0] == ["class", "feature", "coefficient"]
    assert [row[:2] for row in rows[1:]] == [
        [label, name] for label in "123" for name in ("age", "hours", "(intercept)")
    ]
    coefficients = json.loads(Path("three.json").read_text(encoding="utf-8"))["coef"]
    assert [float(row[2]) for row in rows[1::3]] == pytest.approx([age for age, _ in coefficients])
    predict = run("classify", "--model", "three.json", "--predict", "new.parquet", "--format", "json")
    assert set(json.loads(predict.out)["prediction"]) <= {1, 2, 3}
    assert "must be the two labels" in assert_one_error(run(*train, "--model", "x.json", "--loss", "huber"))


def test_a_model_of_more_classes_from_python(run: outcome_of) -> None:
    table = pq.read_table("more.parquet").to_pandas()
    model = dpmine.PrivateLogisticRegression(classes=[1, 2, 3], epsilon=5).fit(table[["age", "hours"]], table["three"])
    Path("model.json").write_text(model.to_json(), encoding="utf-8")
    scored = json.loads(run("classify", "--model", "model.json", "--predict", "new.parquet", "--format", "json").out)
    new = pq.read_table("new.parquet").to_pandas()[["age", "hours"]]
    assert scored["prediction"] == model.predict(new).tolist()
    assert scored["probability"] == pytest.approx(model.predict_proba(new).max(axis=1))


def test_a_column_of_people_that_no_option_names_is_noticed(run: outcome_of) -> None:
    table = pq.read_table("people.parquet")
    pq.write_table(table.append_column("patient_id", pa.array(range(3000))), "patients.parquet")
    assert "--unit patient_id" in run("classify", "patients.parquet", *ONE[2:]).err
    assert "named like people" not in run("classify", "patients.parquet", *ONE[2:], "--unit", "patient_id").err
