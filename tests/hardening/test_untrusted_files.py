"""Catalogue and model files are untrusted input, and nothing in the sources would run what they say."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples
from support.numpy_bits import NumpyBits

import dpmine
from dpmine import DpmineError, HypothesisSelector, PrivateLogisticRegression
from dpmine.itemsets.ingest.catalogue import read_catalogue
from dpmine.models.accuracy_first.estimators import load_estimator
from dpmine.models.linear.estimators import load_classifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(str(path.relative_to(ROOT)) for folder in ("dpmine", "cli") for path in (ROOT / folder).rglob("*.py"))
CANARY = "kanarienvogel"

FORBIDDEN_MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "subprocess"}
FORBIDDEN_MODULES |= {"ctypes", "code", "codeop", "runpy", "pty", "yaml"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
FORBIDDEN_ATTRIBUTES = {"os.system", "os.popen", "os.fork", "os.startfile"}
FORBIDDEN_ATTRIBUTES |= {"pd.eval", "pd.read_pickle", "np.load", "np.save"}
FORBIDDEN_PREFIXES = ("os.exec", "os.spawn", "os.posix_spawn")
UNPICKLING = {"allow_pickle", "shell"}


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def dangers(text: str) -> set[str]:
    """What in a source could run data as code, or a shell."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        imported = list(_imported(node))
        found |= {name for name in imported if name.split(".")[0] in FORBIDDEN_MODULES}
        names = [*imported, _dotted(node)] if isinstance(node, ast.Attribute) else imported
        found |= {name for name in names if name in FORBIDDEN_ATTRIBUTES or name.startswith(FORBIDDEN_PREFIXES)}
        if isinstance(node, ast.Call):
            found |= {name for name in (_dotted(node.func),) if name in FORBIDDEN_CALLS}
            found |= {word.arg for word in node.keywords if word.arg in UNPICKLING}
    return found


@every("name", SOURCES)
def test_no_source_runs_data_as_code(name: str) -> None:
    found = dangers((ROOT / name).read_text(encoding="utf-8"))
    if name == "dpmine/kernels/__init__.py":  # it loads the library that lies beside it
        found = {danger for danger in found if danger.split(".")[0] != "ctypes"}
    if name == "dpmine/auditing/targets/sampling.py":  # it starts an interpreter that is named, without a shell
        found = {danger for danger in found if danger.split(".")[0] != "subprocess"}
    assert found == set()


@every(
    "code",
    [
        "import pickle",
        "from pickle import loads",
        "import joblib as j",
        "eval('1')",
        "exec(text)",
        "compile(text, 'f', 'exec')",
        "__import__('os')",
        "import os\nos.system('ls')",
        "from os import system",
        "import os\nos.execvp('ls', [])",
        "import subprocess\nsubprocess.run('ls', shell=True)",
        "np.load(path, allow_pickle=True)",
        "run(command, shell=True)",
        "import marshal",
    ],
)
def test_every_spelling_is_seen(code: str) -> None:
    assert dangers(code)


# -------------------------------------------------------------------------------------------------------- model files


def _points() -> tuple[Any, Any]:
    generator = np.random.default_rng(1)
    features = generator.uniform(-1, 1, (300, 2))
    return features, np.where(features[:, 0] > 0, "yes", "no")


def _linear_file() -> str:
    model = PrivateLogisticRegression(norm_bound=2, lambdas="0.1", epsilon=5)
    return str(model.fit(*_points()).to_json())


def _hypothesis_file() -> str:
    model = HypothesisSelector(hypotheses="stumps", lower=-1, upper=1, grid=5, epsilon=50)
    return str(model._fit(*_points(), bits=NumpyBits(1)).to_json())


def _regression_file() -> str:
    features, _ = _points()
    model = dpmine.PrivateRidge(feature_bounds=(-1, 1), target_bounds=(-1, 1))
    return str(model.fit(features, features[:, 0]).to_json())


def _ridge_file() -> str:
    features, _ = _points()
    model = dpmine.AccuracyFirstRidge(excess_risk=0.4, regularization=0.1, x_bound=2, y_bound=1, keep_last=True)
    return str(model.fit(features, features[:, 0]).to_json())


READERS: dict[str, tuple[Callable[[], str], Callable[[str], Any]]] = {
    "classify": (_linear_file, load_classifier),
    "regress": (_regression_file, dpmine.PrivateRidge.from_json),
    "hypothesis": (_hypothesis_file, HypothesisSelector.from_json),
    "accuracy-first": (_ridge_file, load_estimator),
}
_FILES: dict[str, str] = {}


def model_file(name: str) -> str:
    if name not in _FILES:
        _FILES[name] = READERS[name][0]()
    return _FILES[name]


def _places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every entry of a JSON document, at any depth."""
    yield path
    entries = (
        document.items() if isinstance(document, dict) else enumerate(document if isinstance(document, list) else [])
    )
    for key, value in entries:
        yield from _places(value, (*path, key))


def _with(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = _with(copy[path[0]], path[1:], value)
    return copy


POISONS: list[Any] = [
    None,
    True,
    -1,
    2**63,
    10**30,
    10**400,
    1e308,
    -0.0,
    "",
    CANARY,
    f"__import__('os').system('{CANARY}')",
    "1/0",
    "1e999999999",
    "9" * 5000,
    "\x00",
    "\ud800",
    [],
    [[]],
    [CANARY] * 3,
    {},
    {CANARY: 1},
    {"__class__": "os"},
]


def assert_read_or_refused(read: Callable[[str], Any], text: str) -> bool:
    """A model, or one line that names neither the file's content nor where the reader broke; whether it was read."""
    model, refusal = attempt(lambda: read(text))
    assert "\n" not in refusal
    assert CANARY not in refusal
    if model is not None:
        model.guarantee_.to_dict()
    return model is not None


def attempt(read: Callable[[], Any]) -> tuple[Any, str]:
    """What was read, or the words of the refusal. Any error but dpmine's own fails the test."""
    try:
        return read(), ""
    except DpmineError as error:
        return None, str(error)


@pytest.mark.parametrize("name", READERS)
def test_every_entry_poisoned_in_turn(name: str) -> None:
    """Each entry at any depth is replaced by each poison: a model is read, or refused in one line; nothing else."""
    text, read = model_file(name), READERS[name][1]
    document = json.loads(text)
    assert assert_read_or_refused(read, text)
    outcomes = [
        assert_read_or_refused(read, json.dumps(_with(document, path, poison)))
        for path in _places(document)
        for poison in POISONS
    ]
    assert outcomes.count(False) > len(outcomes) // 2


@pytest.mark.parametrize("name", READERS)
def test_every_entry_missing_in_turn(name: str) -> None:
    text, read = model_file(name), READERS[name][1]
    document = json.loads(text)
    for key in document:
        rest = {other: value for other, value in document.items() if other != key}
        assert not assert_read_or_refused(read, json.dumps(rest)) or key in {"dpmine", "norm_bound", "trained_with"}


@pytest.mark.parametrize("name", READERS)
def test_files_cut_at_any_place(name: str) -> None:
    text, read = model_file(name), READERS[name][1]
    assert not any(assert_read_or_refused(read, text[:end]) for end in range(0, len(text.rstrip()) - 1, 7))


@every("name", READERS)
@every(
    "text",
    [
        "",
        "null",
        "[]",
        "NaN",
        "[" * 100_000,
        '{"a":' * 100_000,
        "\x00",
        "\ufeff{}",
        "pickle\x80\x04.",
        '"' * 9,
        "9" * 10_000,
    ],
)
def test_texts_that_are_no_model(name: str, text: str) -> None:
    """Deep nesting and endless digits included: neither may end the process."""
    assert not assert_read_or_refused(READERS[name][1], text)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
@settings(max_examples=examples(60), derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_json(name: str, data: st.DataObject) -> None:
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    value = data.draw(st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner)))
    document = json.loads(model_file(name))
    path = data.draw(st.sampled_from(list(_places(document))))
    assert_read_or_refused(READERS[name][1], json.dumps(_with(document, path, value)))


# ---------------------------------------------------------------------------------------------------------- catalogues


@settings(max_examples=examples(150), derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200), head=st.sampled_from([b"", b"PAR1", b"\xef\xbb\xbf", b"\x80\x04", b"ARROW1"]))
def test_random_catalogues(content: bytes, head: bytes, tmp_path: Path) -> None:
    """A list of different items, or one line that quotes nothing."""
    path = tmp_path / "catalogue.txt"
    path.write_bytes(head + content)
    items, refusal = attempt(lambda: read_catalogue(str(path)))
    assert "\n" not in refusal
    if items is not None:
        assert len(set(items.to_pylist())) == len(items) > 0


def test_damaged_parquet_catalogues(tmp_path: Path) -> None:
    """Every 13th byte of a Parquet catalogue spoiled in turn: items, or one line without the canary."""
    path = tmp_path / "catalogue.parquet"
    pa.parquet.write_table(pa.table({"item": [f"{CANARY} {n}" for n in range(50)]}), path, compression="zstd")
    whole = path.read_bytes()
    refusals = 0
    for place in range(0, len(whole), 13):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        _, refusal = attempt(lambda: read_catalogue(str(path)))
        refusals += bool(refusal)
        assert CANARY not in refusal
        assert "\n" not in refusal
    assert refusals > 5


@every("text", ["$(touch pwned)", "`touch pwned`", "; touch pwned", "../../etc/passwd", "=1+1", "\x1b[2J"])
def test_items_are_only_text(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a shell or a spreadsheet would run is a name like any other; no terminal meets control characters."""
    monkeypatch.chdir(tmp_path)
    table = pa.table({"u": list(range(200)) * 2, "i": [text] * 200 + ["b"] * 200})
    found = dpmine.top_itemset(
        table, unit="u", item="i", catalogue=[text, "b", "c"], mechanism="exponential", epsilon=50
    )
    assert found.itemsets == (frozenset({text, "b"}),)
    assert "\x1b" not in str(found)
    assert list(tmp_path.iterdir()) == []
