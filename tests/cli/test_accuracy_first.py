"""dpmine accuracy-first, from training to scoring."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.command_line import CANARY, assert_one_error, last_of_each, outcome_of

pytestmark = pytest.mark.usefixtures("people")

YES, NO = f"{CANARY} yes", "no"

WEAK = re.compile(r"dpmine: a guarantee with ε = \S+ says little: .*\n")


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files to train on and to score in the working directory."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(7)
    age, hours = generator.uniform(0, 0.6, 3000), generator.uniform(0, 0.4, 3000)
    pay = np.clip(1.5 * age - hours + 0.05 * generator.normal(size=3000), -1, 1)
    columns: dict[str, Any] = {"age": age, "hours": hours, "pay": pay, "rich": [YES if x > 0.3 else NO for x in pay]}
    pq.write_table(pa.table(columns), "people.parquet")
    pq.write_table(pa.table({"hours": [0.4, 0.0], "age": [0.1, 0.6]}), "new.parquet")
    extra = {**columns, "town": [CANARY] * 3000, "size": [float("nan")] + [91_827.0] * 2999, "three": [1, 2, 3] * 1000}
    pq.write_table(pa.table({**extra, "one": [73_646] * 3000}), "more.parquet")
    pq.write_table(pa.table(columns).slice(0, 0), "none.parquet")
    return tmp_path


TARGET = ["--excess-risk", "0.001", "--regularization", "0.05", "--x-bound", "1", "--epsilon-max", "100000"]
START = ["accuracy-first", "people.parquet", "--features", "age,hours", *TARGET, "--steps", "100"]
RIDGE = [*START, "--target", "pay", "--y-bound", "1"]
LOGISTIC = [*START, "--target", "rich", "--model-kind", "logistic"]
KINDS = {"ridge": RIDGE, "logistic": LOGISTIC}
SCORE = ["accuracy-first", "--model", "model.json", "--predict", "new.parquet"]


def read(path: str) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [[], ["--method", "output"], ["--method", "brownian"], ["--intercept"]])
def test_train_and_score(run: outcome_of, kind: str, options: list[str]) -> None:
    trained = run(*KINDS[kind], *options, "--model", "model.json")
    assert trained.status == 0, trained.err
    assert WEAK.fullmatch(trained.err)
    lines = trained.out.splitlines()
    assert [line.split("\t")[0] for line in lines[:3]] == ["age", "hours", "(intercept)"]
    delta = "1e-06" if "brownian" in options else "0"
    assert lines[3].startswith("(the target was reached; ex-post ε = ")
    assert lines[3].endswith(f" of at most ε = 100000, δ = {delta} per row, neighbours replace-one)")
    model = read("model.json")
    assert (model["model_kind"], model["reached"], model["features"]) == (kind, True, ["age", "hours"])
    assert model["label"] == ("pay" if kind == "ridge" else "rich")
    assert (model["intercept"] != 0) == ("--intercept" in options)
    guarantee = model["guarantee"]
    assert 0 < guarantee["ex_post_epsilon"] < guarantee["epsilon"] == guarantee["epsilon_max"] == 100000
    assert lines[4:] == [f"({note})" for note in guarantee["notes"]]
    scored = run(*SCORE)
    assert scored.status == 0, scored.err
    assert "protects the rows it was trained on" in scored.err
    if kind == "logistic":
        assert set(scored.out.splitlines()) <= {NO, YES}
    else:
        low, high = map(float, scored.out.splitlines())
        assert low < 0.3 < high


def test_json_is_the_model_and_the_guarantee_has_the_charge(run: outcome_of) -> None:
    outcome = run(*RIDGE, "--format", "json", "--model", "model.json")
    assert outcome.out == Path("model.json").read_text(encoding="utf-8")
    assert {"ex_post_epsilon", "ex_post_epsilon_exact", "epsilon_max", "epsilon"} <= set(
        read("model.json")["guarantee"]
    )
    assert len(outcome.lines) == 2
    assert outcome.lines[1].startswith("dpmine: the target was reached; ex-post ε = ")


@pytest.mark.parametrize("kind", KINDS)
def test_tables_have_a_row_a_coefficient(run: outcome_of, kind: str) -> None:
    for name in ("out.csv", "out.parquet", "out.txt"):
        outcome = run(*KINDS[kind], "-o", name, "--model", "model.json")
        assert (outcome.status, outcome.out) == (0, "")
        assert len(outcome.lines) == 2
        model = read("model.json")
        weights = [*model["coef"], model["intercept"]]
        if name == "out.csv":
            rows = list(csv.DictReader(io.StringIO(Path(name).read_text(encoding="utf-8"))))
            assert [row["feature"] for row in rows] == ["age", "hours", "(intercept)"]
            assert [float(row["coefficient"]) for row in rows] == weights
        elif name == "out.parquet":
            assert pq.read_table(name)["coefficient"].to_pylist() == weights
        else:
            assert "the target was reached" in Path(name).read_text(encoding="utf-8")


def test_a_table_alone_cannot_be_scored_with(run: outcome_of) -> None:
    assert "--model FILE.json writes the model" in run(*RIDGE, "-o", "out.csv").err
    for model in (["-o", "out.json"], ["-o", "out.csv", "--model", "model.json"]):
        assert "cannot be scored with" not in run(*RIDGE, *model).err


def test_quiet_says_nothing(run: outcome_of) -> None:
    assert run(*RIDGE, "-o", "model.json", "--quiet").err == ""
    outcome = run(*SCORE, "--quiet")
    assert (outcome.status, outcome.err, len(outcome.out.splitlines())) == (0, "", 2)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_in_every_format(run: outcome_of, kind: str) -> None:
    assert run(*KINDS[kind], "--model", "model.json").status == 0
    for name in ("out.parquet", "out.csv", "out.json"):
        assert run(*SCORE, "-o", name).status == 0
    table = pq.read_table("out.parquet").to_pydict()
    assert set(table) == ({"prediction"} if kind == "ridge" else {"prediction", "probability"})
    rows = list(csv.DictReader(io.StringIO(Path("out.csv").read_text(encoding="utf-8"))))
    assert [row["prediction"] for row in rows] == list(map(str, table["prediction"]))
    assert read("out.json") == table
    if kind == "ridge":
        model = read("model.json")
        expected = [0.1 * model["coef"][0] + 0.4 * model["coef"][1], 0.6 * model["coef"][0]]
        assert np.allclose(table["prediction"], expected)


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_to_score(run: outcome_of, kind: str) -> None:
    assert run(*KINDS[kind], "--model", "model.json").status == 0
    outcome = run(*SCORE[:-1], "none.parquet", "--format", "json")
    assert outcome.status == 0, outcome.err
    assert json.loads(outcome.out)["prediction"] == []


@pytest.fixture
def hopeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hypothesis passes any test."""
    monkeypatch.setattr(
        "dpmine.models.accuracy_first.threshold_search.first_above", lambda _test, queries, **_: [*queries] and None
    )


@pytest.mark.usefixtures("hopeless")
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_reached(run: outcome_of, kind: str) -> None:
    """No error, since it is charged for: it says so, and there is no model to score with."""
    outcome = run(*KINDS[kind], "--model", "model.json")
    assert outcome.status == 0
    assert WEAK.fullmatch(outcome.err)
    assert outcome.out.startswith("(NOTHING reached the target; ex-post ε = ")
    assert "nothing is known of the last one" in outcome.out
    model = read("model.json")
    assert (model["reached"], model["coef"]) == (False, None)
    assert 0 < model["guarantee"]["ex_post_epsilon"] <= 100000
    assert "keep_last" in assert_one_error(run(*SCORE))
    told = run(*KINDS[kind], "-o", "out.csv")
    assert (told.status, told.out) == (0, "")
    assert told.lines[1].startswith("dpmine: NOTHING reached the target")
    assert Path("out.csv").read_text(encoding="utf-8").strip().replace('"', "") == "feature,coefficient"


@pytest.mark.usefixtures("hopeless")
def test_the_last_model_may_be_kept(run: outcome_of) -> None:
    outcome = run(*RIDGE, "--keep-last", "--model", "model.json")
    assert outcome.out.startswith("age\t")
    assert "(NOTHING reached the target; " in outcome.out
    assert read("model.json")["reached"] is False
    assert len(run(*SCORE).out.splitlines()) == 2


NUMBERS = "--excess-risk R, --regularization L, --x-bound B"
SMALL = ["--epsilon-max", "10", "--excess-risk", "1e-5"]


@every(
    ("arguments", "hint"),
    [
        (["accuracy-first"], "Training needs FILE; scoring needs --model and --predict FILE."),
        (
            ["accuracy-first", "people.parquet", "--features", "age"],
            f"Training needs --target COL, {NUMBERS}, --y-bound B as",
        ),
        ([*LOGISTIC[:4], *LOGISTIC[-4:]], f"Training needs {NUMBERS} as well."),
        (["accuracy-first", "--predict", "new.parquet"], "Give --model FILE.json"),
        (RIDGE[:-2], "Training needs --y-bound B as well."),
        ([*LOGISTIC, "--y-bound", "1"], "--y-bound is for --model-kind ridge"),
        ([*LOGISTIC, "--method", "covariance"], "covariances do not make a logistic regression"),
        ([*RIDGE, "--method", "input"], "--method"),
        ([*RIDGE, "--excess-risk", "0"], "--excess-risk must be greater than 0"),
        ([*RIDGE, "--failure-probability", "1"], "--failure-probability must lie"),
        ([*RIDGE, "--steps", "0"], "steps must be a whole number of at least 1"),
        ([*RIDGE, "--delta", "1e-6"], "--delta is for --method brownian"),
        ([*RIDGE, "--neighbors", "add-remove"], "replace_one"),
        ([*RIDGE, "--epsilon", "1"], "--epsilon"),
        ([*RIDGE, *SMALL], "excess_risk is out of reach"),
        ([*RIDGE, "--target", "rich"], "'rich'"),
        ([*RIDGE, "--model", "people.parquet"], "--model names one of the input files"),
        (["accuracy-first", "none.parquet", *RIDGE[2:]], "no rows"),
        (["accuracy-first", "--model", "people.parquet", "--predict", "new.parquet"], "model file"),
        ([*SCORE, "--target", "pay", "--steps", "5"], "leave out --target, --steps."),
        ([*SCORE, "--no-intercept"], "leave out --intercept."),
    ],
)
def test_one_line_says_what_is_wrong(run: outcome_of, arguments: list[str], hint: str) -> None:
    assert hint in assert_one_error(run(*last_of_each(*arguments)))
    assert not Path("model.json").exists()


def test_parameters_are_refused_before_the_file_is_read(run: outcome_of) -> None:
    assert "steps" in assert_one_error(run("accuracy-first", "missing.parquet", *RIDGE[2:], "--steps", "0"))


def test_models_of_other_commands_are_refused(run: outcome_of) -> None:
    assert run(*LOGISTIC, "--model", "model.json").status == 0
    error = assert_one_error(run("classify", *SCORE[1:]))
    assert "dpmine classify" in error
    pq.write_table(pa.table({"age": [0.5]}), "half.parquet")
    assert "'hours'" in assert_one_error(run(*SCORE[:-1], "half.parquet"))


UNCHARGED = {"unit": "row", "rows_per_unit": 1, "ledger": None, "dataset": None}


def test_every_option_reaches_the_estimator(run: outcome_of, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpmine.models.accuracy_first.estimators import AccuracyFirstRidge

    seen: list[dict[str, Any]] = []
    honest = AccuracyFirstRidge.require_parameters

    def noted(self: Any, features: list[str]) -> None:
        seen.append(self.get_params())
        honest(self, features)

    monkeypatch.setattr(AccuracyFirstRidge, "require_parameters", noted)
    some = ["--method", "brownian", "--delta", "1e-7", "--slack", "1/2"]
    more = ["--failure-probability", "0.2", "--keep-last", "--intercept", "--neighbors", "replace-one", "--steps", "99"]
    assert run(*last_of_each(*RIDGE, *some, *more)).status == 0
    given = {"excess_risk": "0.001", "regularization": "0.05", "x_bound": "1", "y_bound": "1", "epsilon_max": "100000"}
    words = {"method": "brownian", "delta": "1e-7", "slack": "1/2"}
    rest = {"failure_probability": "0.2", "keep_last": True, "fit_intercept": True, "steps": 99, "epsilons": None}
    assert seen[0] == {**given, **words, **rest, "neighbors": "replace-one", **UNCHARGED}
