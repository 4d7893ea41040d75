"""One unit must not show in anything that is not drawn at random: estimators and the commands that read tables.

Every call is run on data sets that differ in one unit (its values, its number of rows, where its rows stand). Whatever
can be seen of the runs, but for the numbers that noise decides, has to be the same.
"""

from __future__ import annotations

import json
import pickle
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.command_line import outcome_of

import dpmine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

UNITS = 300
DRAW = np.random.default_rng(4)
BASE = pd.DataFrame(
    {
        "who": np.arange(UNITS),
        "x": DRAW.uniform(-1, 1, UNITS),
        "z": DRAW.uniform(-1, 1, UNITS),
        "kind": np.resize(["no", "yes"], UNITS),
    }
)


def _with(*rows: tuple[Any, Any, Any], first: bool = False) -> pd.DataFrame:
    """The last unit replaced by one with these rows: x, z and the label."""
    own = pd.DataFrame([(UNITS - 1, *row) for row in rows], columns=BASE.columns)
    parts = [own, BASE.iloc[:-1]] if first else [BASE.iloc[:-1], own]
    return pd.concat(parts, ignore_index=True)


NEIGHBORS = {
    "another": _with((0.5, 0.5, "yes")),
    "first": _with((0.5, 0.5, "no"), first=True),
    "missing": _with((np.nan, np.nan, "no")),
    "infinite": _with((np.inf, -np.inf, "yes")),
    "extreme": _with((1e308, -1e308, "yes"), (5e-324, 0.0, "no")),
    "many rows": _with(*[(0.9, -0.9, "yes")] * 50),
    "another label": _with((0.5, 0.5, "maybe")),
    "no label": _with((0.5, 0.5, None)),
    "shuffled": BASE.sample(frac=1, random_state=1, ignore_index=True),
    "another key": BASE.assign(who=[*range(UNITS - 1), 2**62]),
}
PUBLIC: dict[str, Any] = {"classes": ["no", "yes"]}
SEARCHED: dict[str, Any] = {"excess_risk": 2, "regularization": 1, "epsilon_max": 10**5, "keep_last": True}
ESTIMATORS: dict[str, Callable[..., Any]] = {
    "histogram": lambda **more: dpmine.PrivateHistogram(bins=[2, 4], lower=-1, upper=1, epsilon=20, **more),
    "one histogram": lambda **more: dpmine.PrivateHistogram(bins=[4], lower=-1, upper=1, **more),
    "rectangle": lambda **more: dpmine.PrivateHistogram(bins=[2, (2, 3)], lower=(-1, -1), upper=1, epsilon=20, **more),
    "logistic": lambda **more: dpmine.PrivateLogisticRegression(**PUBLIC, **more),
    "scaled": lambda **more: dpmine.PrivateLogisticRegression(feature_bounds=(-1, 1), **PUBLIC, **more),
    "weighted": lambda **more: dpmine.PrivateLogisticRegression(class_weight={"yes": 3}, **PUBLIC, **more),
    "softmax": lambda **more: dpmine.PrivateLogisticRegression(classes=["no", "yes", "so"], **more),
    "tuned": lambda **more: dpmine.PrivateHuberSVC(lambdas=[0.01, 1], **PUBLIC, **more),
    "output": lambda **more: dpmine.PrivateLogisticRegression(method="output", **PUBLIC, **more),
    "fixed ridge": lambda **more: dpmine.PrivateRidge(target_bounds=(-1, 1), **more),
    "ridge": lambda **more: dpmine.AccuracyFirstRidge(**SEARCHED, **more),
    "accuracy first": lambda **more: dpmine.AccuracyFirstLogistic(**SEARCHED, **PUBLIC, **more),
    "rule": lambda **more: dpmine.HypothesisSelector("stumps", lower=-1, upper=1, **PUBLIC, **more),
    "learner": lambda **more: dpmine.PrivateLearner(
        "stumps", accuracy=0.9, failure=0.5, epsilon=8, lower=-1, upper=1, **PUBLIC, **more
    ),
    "search": lambda **more: dpmine.PrivateSearchCV(
        dpmine.PrivateLogisticRegression(**PUBLIC), {"norm_bound": [1, 2]}, scoring="roc_auc", runs=3, **more
    ),
}


def _shape(value: Any) -> Any:
    """What a value is, without the numbers in it, which noise decides; texts without their numbers and signs."""
    if isinstance(value, dict):
        return {key: _shape(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return sorted({str(_shape(entry)) for entry in value})  # a chosen number of bins is a length
    if isinstance(value, np.ndarray):
        return value.dtype.kind, value.ndim
    return re.sub(r"[-+0-9.e/]+", "#", value) if isinstance(value, str) else type(value).__name__


def _seen(run: Callable[[], Any]) -> Any:
    """Everything that a fit shows: its error, or its attributes, guarantee, file and pickle."""
    try:
        fitted = run()
    except dpmine.DpmineError as error:
        return type(error).__name__, str(error)
    guarantee = (getattr(fitted, "guarantee_", None) or fitted.result_.guarantee).to_dict()
    drawn = {"ex_post_epsilon", "ex_post_epsilon_exact"}
    promised = {name: value for name, value in guarantee.items() if name not in drawn}
    promised["notes"] = [_shape(note) for note in promised["notes"]]
    written = _shape(json.loads(fitted.to_json())) if hasattr(fitted, "to_json") else None
    varying = {"hypothesis_", "candidate_", "result_", "best_params_"}  # a rule and its class are what is chosen
    attributes = {name: _shape(value) for name, value in sorted(vars(fitted).items()) if name not in varying}
    if "hypothesis" in str(written):
        written = sorted(json.loads(fitted.to_json()))
    assert pickle.dumps(fitted)
    return promised, attributes, written


def _fitted(make: Callable[..., Any], data: pd.DataFrame, *, units: bool, rows: int) -> Any:
    model = make(**({"rows_per_unit": rows} if rows > 1 else {}))
    who = data["who"] if units else None
    if isinstance(model, dpmine.PrivateHistogram):
        return model.fit(data[["x", "z"]] if isinstance(model.lower, tuple) else data["x"], units=who)
    regression = isinstance(model, dpmine.AccuracyFirstRidge | dpmine.PrivateRidge)
    target = data["x"] if regression else data["kind"]
    return model.fit(data[["x", "z"]], target, units=who)


@every("rows", [1, 3])
@every("name", ESTIMATORS)
def test_no_unit_shows_in_a_fit(name: str, rows: int) -> None:
    """Also where it has fifty rows, or values that no float should have."""
    if name in {"learner", "search"} and rows > 1:
        pytest.skip("takes one row per unit")
    base = _seen(lambda: _fitted(ESTIMATORS[name], BASE, units=True, rows=rows))
    assert base[0] != "BadParameter", base
    different = {
        other: found
        for other, data in NEIGHBORS.items()
        if (found := _seen(lambda data=data: _fitted(ESTIMATORS[name], data, units=True, rows=rows))) != base  # type: ignore[misc]
    }
    assert not different, (base, different)


@every("name", ESTIMATORS)
def test_no_row_shows_in_a_fit(name: str) -> None:
    base = _seen(lambda: _fitted(ESTIMATORS[name], BASE, units=False, rows=1))
    for other in ("another", "missing", "infinite", "another label", "no label"):
        assert _seen(lambda other=other: _fitted(ESTIMATORS[name], NEIGHBORS[other], units=False, rows=1)) == base  # type: ignore[misc]


OPTIONS = {
    "histogram": ["--column", "x", "--lower", "-1", "--upper", "1", "--bins", "2,4", "--epsilon", "20"],
    "classify": ["--label", "kind", "--classes", "no,yes", "--features", "x,z", "--norm-bound", "2"],
    "hypothesis": ["--label", "kind", "--classes", "no,yes", "--features", "x,z", "--lower", "-1", "--upper", "1"],
    "regress": [
        *("--target", "z", "--target-bounds", "-1,1", "--features", "x", "--norm-bound", "1"),
        *("--noise", "gaussian"),
    ],
    "accuracy-first": [
        *("--target", "z", "--features", "x", "--excess-risk", "2", "--regularization", "1", "--keep-last"),
        *("--x-bound", "1", "--y-bound", "1", "--epsilon-max", "10000"),
    ],
}


@pytest.mark.parametrize("command", OPTIONS)
def test_no_unit_shows_in_a_run(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit status, messages, and what the result has besides its numbers."""
    monkeypatch.chdir(tmp_path)
    run, seen = outcome_of(capfd), {}
    for name, data in {"base": BASE, **NEIGHBORS}.items():
        pq.write_table(pa.Table.from_pandas(data, preserve_index=False), "people.parquet")
        found = run(command, "people.parquet", "--unit", "who", *OPTIONS[command], "--format", "json")
        document = json.loads(found.out) if found.out else None
        shown = sorted(document or ()) if command == "hypothesis" else _shape(document)
        seen[name] = (found.status, _shape(found.err), shown)
    assert seen["base"][0] == 0
    assert {name: found for name, found in seen.items() if found != seen["base"]} == {}


JOBS = """
[budget]
ledger = "sqlite:///budget.db"
dataset = "people"
epsilon = 20000
delta = 1e-3
[[job]]
kind = "top-itemset"
input = "people.parquet"
unit = "who"
item = "kind"
size = 1
release_support = 1
delta = 1e-6
[[job]]
kind = "histogram"
input = "people.parquet"
unit = "who"
column = "x"
lower = -1
upper = 1
bins = [4]
[[job]]
kind = "classify"
input = "people.parquet"
unit = "who"
label = "kind"
classes = ["no", "yes"]
features = ["x", "z"]
lower = -1
upper = 1
[[job]]
kind = "regress"
input = "people.parquet"
unit = "who"
target = "z"
target_bounds = [-1, 1]
features = ["x"]
lower = -1
upper = 1
[[job]]
kind = "hypothesis"
input = "people.parquet"
unit = "who"
label = "kind"
classes = ["no", "yes"]
class = "stumps"
features = ["x", "z"]
lower = -1
upper = 1
[[job]]
kind = "accuracy-first"
input = "people.parquet"
unit = "who"
target = "z"
features = ["x"]
excess_risk = 2
regularization = 1
x_bound = 1
y_bound = 1
epsilon_max = 10000
keep_last = true
"""


@pytest.mark.slow
def test_no_unit_shows_in_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit status, messages, the files of its results and their schemas, and the ledger."""
    run, seen = outcome_of(capfd), {}
    for name, data in {"base": BASE, **NEIGHBORS}.items():
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        pq.write_table(pa.Table.from_pandas(data, preserve_index=False), "people.parquet")
        (folder / "jobs.toml").write_text(JOBS, encoding="utf-8")
        found = run("report", "jobs.toml", "-o", "page.html")
        kept = sorted(path.name for path in (folder / "jobs-results").iterdir())
        schemas = [pq.read_schema(path) for path in sorted((folder / "jobs-results").glob("*.parquet"))]
        history = [
            (entry.kind, entry.job, entry.unit) for entry in dpmine.Ledger("sqlite:///budget.db").history("people")
        ]
        columns = [[(field.name, field.type) for field in schema] for schema in schemas]
        seen[name] = (found.status, _shape(found.err), kept, columns, history)
    assert seen["base"][0] == 0, seen["base"]
    assert {name: found for name, found in seen.items() if found != seen["base"]} == {}
