"""Labels of rows without a privacy unit are not looked at, where the classes are those of y: in Python and in files."""

from __future__ import annotations

import json
import re
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression
from support.cases import every
from support.command_line import outcome_of

import dpmine
from dpmine.ledger.dry_run import DryLedger, DryRun
from dpmine.models.tables import fit_table

if TYPE_CHECKING:
    from pathlib import Path

UNITS = [*range(200), None]
ROWS = [[x] for x in [*np.linspace(-1, 1, 200), 0.0]]
KINDS: dict[str, tuple[Any, Any]] = {"integers": (0, 1), "texts": ("no", "yes")}
TARGET: dict[str, Any] = {"excess_risk": 2, "regularization": 1, "epsilon_max": 10**5, "keep_last": True}
ESTIMATORS: dict[str, Any] = {
    "logistic": partial(dpmine.PrivateLogisticRegression, norm_bound=1),
    "svc": partial(dpmine.PrivateHuberSVC, lambdas=[0.01, 1]),
    "accuracy first": partial(dpmine.AccuracyFirstLogistic, **TARGET),
    "rule": partial(dpmine.HypothesisSelector, "stumps", lower=-1, upper=1),
    "learner": partial(
        dpmine.PrivateLearner, "stumps", accuracy=0.9, failure=0.5, epsilon=8, lower=-1, upper=1
    ),
    "search": lambda: dpmine.PrivateSearchCV(dpmine.PrivateLogisticRegression(), {"norm_bound": [1, 2]}, runs=2),
    "search of another library": lambda: dpmine.PrivateSearchCV(
        dpmine.Declared(LogisticRegression(), epsilon="0.01"), {"estimator__C": [1]}, runs=2
    ),
}  # fmt: skip
ENTRIES: list[Any] = ["maybe", 2, 0.5, None, np.nan, pd.NA, 10**400, b"no", [1], np.ones(2), 1j, "\udcff", object()]


def _objects(entries: Any) -> Any:
    column = np.empty(len(entries), dtype=object)
    column[:] = entries
    return column


def _seen(fit: Any) -> tuple[Any, ...]:
    """The classes, their type, the note on them and the warnings: what noise does not decide."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = fit()
    assert isinstance(model, dpmine.HypothesisSelector) or model.has_result, "a run that fails has none"
    notes = [note for note in model.guarantee_.notes if "classes" in note]
    return model.classes_.tolist(), model.classes_.dtype, notes, [str(one.message) for one in heard]


@every("name", ESTIMATORS, quick=12)
@every("kind", KINDS)
@every("form", [list, _objects, lambda labels: pd.Series(_objects(labels), dtype=object)])
def test_no_entry_is_looked_at(name: str, kind: str, form: Any) -> None:
    def seen(entry: Any) -> Any:
        labels = [*KINDS[kind] * 100, entry]
        return _seen(lambda: ESTIMATORS[name]().fit(ROWS, form(labels), units=UNITS))

    base = seen(KINDS[kind][0])
    assert base[0] == list(KINDS[kind])
    assert not [entry for entry in ENTRIES if seen(entry) != base]


@every("name", ESTIMATORS)
@every(
    "labels",
    [
        lambda last: np.array([0.0, 1.0] * 100 + [np.nan if last is None else last]),
        lambda last: pd.Series([0, 1] * 100 + [last], dtype="Int64"),
        lambda last: pl.Series([0, 1] * 100 + [last]),
        lambda last: pa.array([0, 1] * 100 + [last]),
    ],
)
def test_nor_is_one_of_a_typed_column(name: str, labels: Any) -> None:
    base, *others = (_seen(lambda: ESTIMATORS[name]().fit(ROWS, labels(last), units=UNITS)) for last in (0, 2, None))  # noqa: B023
    assert others == [base, base]


def test_labels_are_rejected_before_the_charge_and_none_without_a_unit_counts(tmp_path: Path) -> None:
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/b.db")
    ledger.grant("shop", epsilon=1)
    model = dpmine.PrivateLogisticRegression(ledger=ledger, dataset="shop")
    for labels, units, said in (
        ([0, 1, 2], [1, 2, 3], "more than two classes"),
        ([0, 0, 1], [1, 2, None], "one class only"),
        ([0, 1, 2], [None] * 3, "No row has a privacy unit"),
    ):
        with pytest.raises(dpmine.BadData, match=said):
            model.fit([[1.0]] * 3, labels, units=units)
    assert not ledger.budget("shop").spent.epsilon


COLUMNS: list[tuple[pa.Array, list[Any]]] = [
    (pa.array([0, 1] * 100, pa.uint64()), [2, 2**64 - 1, None]),
    (pa.array([0.0, 1.0] * 100), [2.0, 0.5, np.nan, np.inf, None]),
    (pa.array([False, True] * 100), [None]),
    (pa.array(["no", "yes"] * 100), ["maybe", "", None]),
]
COLUMN_CASES = [
    *((pa.concat_arrays([column, pa.array([entry], column.type)]), column[0])
      for column, entries in COLUMNS for entry in entries),
    (pa.array([b"no", b"yes"] * 100 + [b"\xff"]).view(pa.string()), pa.scalar("no")),
]  # fmt: skip


@every("name", ESTIMATORS, quick=24)
@every("case", range(len(COLUMN_CASES)))
def test_nor_is_one_of_a_table(name: str, case: int) -> None:
    labels, usual = COLUMN_CASES[case]

    def seen(column: pa.Array) -> Any:
        table = pa.table({"who": UNITS, "x": [row[0] for row in ROWS], "y": column})
        return _seen(lambda: fit_table(ESTIMATORS[name](), table, label="y", features=["x"], units="who"))

    assert seen(labels) == seen(pa.concat_arrays([labels[:-1], pa.array([usual.as_py()], labels.type)]))


COMMANDS = {
    "classify": ["--label", "y", "--norm-bound", "1"],
    "hypothesis": ["--label", "y", "--lower", "-1", "--upper", "1"],
    "accuracy-first": [
        *("--model-kind", "logistic", "--target", "y", "--excess-risk", "2", "--regularization", "1"),
        *("--x-bound", "1", "--epsilon-max", "10000", "--keep-last"),
    ],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_nor_is_one_of_a_file(command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run, seen, model = outcome_of(capfd), [], ["--model", f"{tmp_path}/m.json"] * (command != "hypothesis")
    for last in ("no", "maybe", None):
        table = pa.table({"who": UNITS, "x": [row[0] for row in ROWS], "y": [*["no", "yes"] * 100, last]})
        pq.write_table(table, tmp_path / "a.parquet")
        pd.DataFrame(table.to_pydict()).astype({"who": "Int64"}).to_csv(tmp_path / "a.csv", index=False)
        for name in ("a.parquet", "a.csv"):
            found = run(command, f"{tmp_path}/{name}", "--unit", "who", "--features", "x", *COMMANDS[command], *model)
            seen.append((found.status, re.sub("[0-9.]+", "#", found.err)))
    assert {status for status, _ in seen} == {0}, seen
    assert seen[2:] == seen[:2] * 2


def test_a_table_without_units_says_so() -> None:
    table = pa.table({"who": pa.array([None, None], pa.int64()), "x": [0.5, 0.1], "y": [0, 1]})
    with pytest.raises(dpmine.BadData, match="No row has a privacy unit"):
        fit_table(dpmine.PrivateLogisticRegression(), table, label="y", features=["x"], units="who")


@pytest.mark.parametrize("command", COMMANDS)
def test_labels_of_files_are_looked_at_before_the_charge(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without named classes they are public: what is wrong with them stops no run that was charged."""
    monkeypatch.chdir(tmp_path)
    ledger, run = dpmine.Ledger("sqlite:///b.db"), outcome_of(capfd)
    ledger.grant("shop", epsilon=10**5, delta="0.1")
    model = ["--model", "m.json"] * (command != "hypothesis")
    charging = ["--unit", "who", "--features", "x", *COMMANDS[command], *model, "--ledger", "sqlite:///b.db"]
    for last, said in (("maybe", "more than two classes"), (None, "rows without a label")):
        table = pa.table({"who": [*range(201)], "x": [row[0] for row in ROWS], "y": [*["no", "yes"] * 100, last]})
        pq.write_table(table, "a.parquet")
        pacsv.write_csv(table, "a.csv")
        for file in ("a.parquet", "a.csv"):
            found = run(command, file, *charging, "--dataset", "shop")
            assert (found.status, said in found.err) == (2, True), found
    assert not ledger.budget("shop").spent.epsilon
    named = run(command, "a.csv", "--classes", "no,yes", *charging, "--dataset", "shop")
    assert (named.status, ledger.budget("shop").spent.epsilon > 0) == (0, True), named


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", ["text", "json"])
def test_odd_labels_lose_no_charged_result(
    command: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Model files hold no control characters, so classes are spelled out there: which labels occur stops no run."""
    monkeypatch.chdir(tmp_path)
    model = ["--model", "m.json"] * (command != "hypothesis")
    for labels in (["a\nb", "c"], ["\u202ea", "b"], ["x\x00", "x"]):
        table = pa.table({"who": UNITS[:-1], "x": [row[0] for row in ROWS[:-1]], "y": labels * 100})
        pq.write_table(table, "a.parquet")
        command_line = [command, "a.parquet", "--unit", "who", "--features", "x", *COMMANDS[command], *model]
        found = outcome_of(capfd)(*command_line, "--format", form)
        assert found.status == 0, found.err
        if form == "json":
            assert json.loads(found.out)["classes"] == [repr(label) for label in sorted(labels)]


@pytest.mark.parametrize("classes", [None, ["no", "yes"]])
def test_labels_may_be_views_of_texts(classes: Any, tmp_path: Path) -> None:
    """Arrow casts no dictionary of views, as which columns of views in Parquet files are read."""
    codes, texts = pa.array([0, 1] * 100 + [None], pa.int8()), pa.array(["no", "yes"], pa.string_view())
    rest = pa.table({"who": UNITS, "x": [row[0] for row in ROWS]})
    pq.write_table(
        rest.append_column("y", pa.array(["no", "yes"] * 100 + [None], pa.string_view())), tmp_path / "a.parquet"
    )
    for data in (rest.append_column("y", pa.DictionaryArray.from_arrays(codes, texts)), tmp_path / "a.parquet"):
        model = dpmine.PrivateLogisticRegression(classes=classes)
        assert fit_table(model, data, label="y", features=["x"], units="who").classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("values", [pa.array([1, None]), pa.array(["no", None])])
def test_a_null_within_a_dictionary_is_a_missing_label(values: pa.Array) -> None:
    labels = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 100, pa.int8()), values)
    table = pa.table({"x": [row[0] for row in ROWS[:-1]], "y": labels})
    with pytest.raises(dpmine.BadData, match="rows without a label"):
        fit_table(dpmine.PrivateLogisticRegression(), table, label="y", features=["x"])


@pytest.mark.parametrize("classes", [None, [0, 1]])
def test_a_dry_run_names_the_job_as_the_history_would(classes: Any) -> None:
    table = pa.table({"x": [0.5, 0.1], "y": [0, 1]})
    ending: Any = DryLedger()
    model = dpmine.PrivateLogisticRegression(unit="customer", classes=classes, ledger=ending, dataset="")
    with pytest.raises(DryRun, match=r"PrivateLogisticRegression \(asserted: one row each\): no value was read"):
        fit_table(model, table, label="y", features=["x"])


def test_a_run_without_budget_reads_no_labels(tmp_path: Path) -> None:
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/b.db")
    ledger.grant("shop", epsilon=1)
    table = pa.table({"x": [0.5, 0.1], "y": [0, 2]})
    model = dpmine.PrivateLogisticRegression(epsilon=2, ledger=ledger, dataset="shop")
    unread = pa.RecordBatchReader.from_batches(table.schema, iter(lambda: pytest.fail("was read"), None))
    with pytest.raises(dpmine.BudgetExceeded):
        fit_table(model, unread, label="y", features=["x"])
    with pytest.raises(dpmine.BudgetExceeded):
        model.fit([[0.5], [0.1], [0.2]], [0, 1, 2])
    model.set_params(epsilon=1, ledger=DryLedger(ledger))
    with pytest.raises(DryRun, match="no value was read"):
        fit_table(model, unread, label="y", features=["x"])
    with pytest.raises(DryRun, match="no value was read"):
        model.fit([[0.5], [0.1], [0.2]], [0, 1, 2])
    model.set_params(ledger=ledger)
    trained = fit_table(model, table, label="y", features=["x"])
    assert trained.classes_.tolist() == [0, 2]
    assert not ledger.budget("shop").remaining.epsilon
