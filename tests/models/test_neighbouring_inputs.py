"""One unit must not show in anything that is not drawn at random: estimators and the commands that read tables.

Every call is run on data sets that differ in one unit (its values, its number of rows, where its rows stand). Whatever
can be seen of the runs, but for the numbers that noise decides, has to be the same.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
import math
import pickle
import re
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import is_regressor
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
    "long label": _with((0.5, 0.5, "x" * 100_000)),
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


class Raising:
    """An object that does nothing without an error."""

    def _raise(self, *_: Any) -> Any:
        raise RuntimeError("kanarienvogel")

    __eq__ = __ne__ = __lt__ = __gt__ = __hash__ = __bool__ = __len__ = __iter__ = __float__ = _raise
    __str__ = __repr__ = __array__ = __index__ = __int__ = _raise


class RaisingNumber(float):
    """A number that cannot be converted, compared or looked up."""

    __slots__ = ()
    __eq__ = __ne__ = __hash__ = __float__ = __str__ = __repr__ = Raising._raise


class RaisingText(str):
    """A text that cannot be compared or looked up."""

    __slots__ = ()
    __eq__ = __ne__ = __hash__ = __str__ = __repr__ = Raising._raise


class Warner:
    """An object that warns, and can be looked up."""

    def __eq__(self, other: object) -> bool:
        warnings.warn("kanarienvogel", stacklevel=1)
        return False

    def __hash__(self) -> int:
        return 7


ONE_ENTRY: dict[str, Any] = {
    "none": None, "nan": math.nan, "infinite": -math.inf, "large": 1e308, "small": 5e-324, "2**63": 2**63,
    "2**70": 2**70, "401 digits": 10**400, "-401 digits": -(10**400), "text": "maybe", "empty": "", "digits": "0.5",
    "long text": "x" * 100_000, "surrogate": "\udcff", "NUL": "a\0", "bytes": b"yes", "list": [1, 2], "row": [0.5],
    "empty list": [], "nested": [[[]]], "tuple": (0.5, "yes"), "set": {1}, "dictionary": {"yes": 1},
    "array": np.ones(2), "one": np.array([0.5]), "scalar": np.float32(0.5), "int8": np.int8(1),
    "long": np.longdouble(1),
    "date": dt.date(2026, 1, 1), "time": dt.datetime(9999, 12, 31, tzinfo=dt.UTC),
    "day": np.datetime64("2026-01-01"), "no day": np.datetime64("NaT"), "span": np.timedelta64(1, "D"),
    "pandas NA": pd.NA, "NaT": pd.NaT, "stamp": pd.Timestamp("2026-01-01"), "series": pd.Series([1]), "true": True,
    "decimal": Decimal("0.5"), "huge decimal": Decimal("1e9999"), "signal": Decimal("sNaN"), "share": Fraction(1, 3),
    "complex": 1j, "type": int, "function": len, "raises": Raising(), "raising number": RaisingNumber(0.5),
    "raising text": RaisingText("yes"), "warns": Warner(), "arrow": pa.scalar(1), "another unit": 0,
}  # fmt: skip


def _shape(value: Any) -> Any:
    """What a value is, without the numbers in it, which noise decides; texts without their numbers and signs."""
    if isinstance(value, dict):
        return {key: _shape(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return sorted({str(_shape(entry)) for entry in value})  # a chosen number of bins is a length
    if isinstance(value, np.ndarray):
        return value.dtype.kind, value.ndim
    if isinstance(value, str):
        return re.sub(r"[-+0-9.e/]+", "#", re.sub(r"the seal [0-9a-f]+…", "the seal …", value))  # of a drawn nonce
    return type(value).__name__


def _seen(run: Callable[[], Any]) -> Any:
    """Everything that a fit shows: its error, or its attributes, guarantee, file and pickle."""
    try:
        fitted = run()
    except dpmine.DpmineError as error:
        return type(error).__name__, str(error)
    guarantee = (getattr(fitted, "guarantee_", None) or fitted.result_.guarantee).to_dict()
    drawn = {"ex_post_epsilon", "ex_post_epsilon_exact"}
    guaranteed = {name: value for name, value in guarantee.items() if name not in drawn}
    guaranteed["notes"] = [_shape(note) for note in guaranteed["notes"]]
    written = _shape(json.loads(fitted.to_json())) if hasattr(fitted, "to_json") else None
    varying = {"hypothesis_", "candidate_", "result_", "best_params_"}  # a rule and its class are what is chosen
    attributes = {name: _shape(value) for name, value in sorted(vars(fitted).items()) if name not in varying}
    if "hypothesis" in str(written):
        written = sorted(json.loads(fitted.to_json()))
    assert pickle.dumps(fitted)
    return guaranteed, attributes, written


def _fitted(make: Callable[..., Any], data: pd.DataFrame, *, units: bool, rows: int, form: str = "frame") -> Any:
    model = make(**({"rows_per_unit": rows} if rows > 1 else {}))
    who = FORMS[form](data["who"]) if units else None
    table, line, kind = FORMS[form](data[["x", "z"]]), FORMS[form](data["x"]), FORMS[form](data["kind"])
    if isinstance(model, dpmine.PrivateHistogram):
        return model.fit(table if isinstance(model.lower, tuple) else line, units=who)
    return model.fit(table, line if is_regressor(model) else kind, units=who)


FORMS: dict[str, Callable[[Any], Any]] = {
    "frame": lambda data: data,
    "lists": lambda data: data.to_numpy(object).tolist(),
}


def _with_entry(places: list[str], entry: Any) -> pd.DataFrame:
    """Columns of objects, of which the last row has that entry in these."""
    frame = BASE.astype(object)
    for place in places:
        column = frame[place].tolist()
        column[-1] = entry
        frame[place] = pd.Series(column, dtype=object)
    return frame


def _seen_and_charged(run: Callable[..., Any], ledger: dpmine.Ledger) -> Any:
    """What a run shows, its warnings and whether it is charged."""
    before = ledger.budget("people").spent
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        shown = _seen(lambda: run(ledger=ledger, dataset="people"))
    return shown, [str(one.message) for one in heard], ledger.budget("people").spent != before


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_no_entry_of_one_row_shows_in_a_fit(name: str, form: str, tmp_path: Path) -> None:
    """Whatever it is, as feature, label or unit: it stops no fit, changes no message, and is charged as any other."""
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.grant("people", epsilon=10**9, delta="0.5")

    def seen(data: pd.DataFrame) -> Any:
        fit = functools.partial(_fitted, data=data, units=True, rows=1, form=form)
        return _seen_and_charged(lambda **charged: fit(functools.partial(ESTIMATORS[name], **charged)), ledger)

    base = seen(BASE.astype(object))
    assert isinstance(base[0][0], dict), base
    assert base[1:] == ([], True), base
    for places in (["x", "kind"], ["who"]):
        found = {label: seen(_with_entry(places, entry)) for label, entry in ONE_ENTRY.items()}
        assert not {label: one for label, one in found.items() if one != base}, (places, base)


@every("name", ESTIMATORS)
@every(
    "kind",
    [
        lambda column: column.astype(str),
        lambda column: column.astype(str).astype("string"),
        lambda column: column.astype("category"),
        lambda column: pd.to_datetime(column, unit="s"),
        lambda column: column.astype(complex),
    ],
)
def test_types_that_hold_no_numbers_are_rejected_before_the_charge(name: str, kind: Any, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    dpmine.Ledger(url).grant("people", epsilon=10**9, delta="0.5")
    data = BASE.assign(x=kind(BASE["x"]))
    with pytest.raises(dpmine.BadData, match=r"real numbers|Features must be numbers"):
        _fitted(functools.partial(ESTIMATORS[name], ledger=url, dataset="people"), data, units=True, rows=1)
    assert not dpmine.Ledger(url).budget("people").spent.epsilon


@every("rows", [1, 3], quick=10)
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
item = "kind"
size = 1
release_support = 1
delta = 1e-6
[[job]]
kind = "histogram"
column = "x"
lower = -1
upper = 1
bins = [4]
[[job]]
kind = "classify"
label = "kind"
classes = ["no", "yes"]
features = ["x", "z"]
lower = -1
upper = 1
[[job]]
kind = "regress"
target = "z"
target_bounds = [-1, 1]
features = ["x"]
lower = -1
upper = 1
[[job]]
kind = "hypothesis"
label = "kind"
classes = ["no", "yes"]
class = "stumps"
features = ["x", "z"]
lower = -1
upper = 1
[[job]]
kind = "accuracy-first"
target = "z"
features = ["x"]
excess_risk = 2
regularization = 1
x_bound = 1
y_bound = 1
epsilon_max = 10000
keep_last = true
""".replace("[[job]]", '[[job]]\ninput = "people.parquet"\nunit = "who"')


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
