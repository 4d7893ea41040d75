"""Canaries in every kind of input: none sings in an error, a log, a ledger, a file name or a private result."""

from __future__ import annotations

import json
import logging
import sqlite3
import traceback
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reporting.jobs import job
from support.cases import every
from support.command_line import Outcome, outcome_of, spawn

import dpmine
from dpmine import BadLedger, BadParameter, DpmineError, Guarantee, Ledger, Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PREFIX = "kanarienvogel"
UNIT, BASKET, RARE, LABEL, TEXT = (f"{PREFIX}-{role}" for role in ("unit", "basket", "rare", "label", "text"))
NUMBER = 918273.640625
PUBLIC_PAIR = ["bread", "butter"]
LEDGER = ["--ledger", "sqlite:///budget.db", "--dataset", "shop"]
SECRETS = (PREFIX, "918273", "kanarien")


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> outcome_of:
    """Run a command line in this process."""
    return outcome_of(capfd)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Path:
    """A working directory with data of every layout, and every log message of every library caught."""
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    write_baskets()
    write_tables()
    return tmp_path


def write_baskets() -> None:
    """The pair of public items leads by 300 units; units, baskets and a rare item are canaries."""
    units = [f"{UNIT}-{row}" for row in range(300)]
    baskets = [[*PUBLIC_PAIR] if row else [*PUBLIC_PAIR, RARE] for row in range(300)]
    lines = [
        {"unit": unit, "basket": f"{BASKET}-{unit}", "item": item}
        for unit, items in zip(units, baskets, strict=True)
        for item in items
    ]
    pq.write_table(pa.Table.from_pylist(lines), "long.parquet")
    pq.write_table(pa.table({"unit": units, "item": baskets}), "lists.parquet")
    hot = {name: [name in items for items in baskets] for name in (*PUBLIC_PAIR, RARE)}
    pq.write_table(pa.table({"unit": units, **hot}), "hot.parquet")
    damaged = Path("long.parquet").read_bytes()
    Path("damaged.parquet").write_bytes(damaged[: len(damaged) // 2] + PREFIX.encode() * 20 + damaged[-64:])
    pq.write_table(pa.table({"unit": units, "item": [NUMBER] * 300}), "floats.parquet")
    pq.write_table(pa.table({"unit": units, "item": pa.array([{TEXT: 1}] * 300)}), "structs.parquet")
    pq.write_table(pa.table({"unit": units, "bread": [2] * 300, RARE: [1] * 300}), "counts.parquet")
    pq.write_table(pa.table({"unit": units, "item": [b"\xff" + RARE.encode()] * 300}), "bytes.parquet")
    Path("items.txt").write_text("\n".join([*PUBLIC_PAIR, RARE, ""]), encoding="utf-8")
    Path("repeated.txt").write_text(f"{RARE}\n{RARE}\n", encoding="utf-8")
    Path("latin.txt").write_bytes(f"{RARE}\xff".encode("latin-1"))


def write_tables() -> None:
    """Two classes, a good feature, and columns with a canary where none belongs."""
    generator = np.random.default_rng(2)
    good = generator.uniform(-1, 1, 600)
    columns: dict[str, Any] = {
        "x": good,
        "outlier": [NUMBER, *good[1:]],
        "y": np.where(good > 0, "yes", "no"),
        "town": [f"{TEXT} {row}" for row in range(600)],
        "mixed": [*["0.5"] * 599, TEXT],
        "third": [LABEL, *np.where(good[1:] > 0, "yes", "no")],
        "classes": np.where(good > 0, f"{LABEL} one", f"{LABEL} two"),
        "number": [NUMBER, *good[1:]],
        "nested": [[TEXT]] * 600,
        "hole": [None, *good[1:]],
        "unit": [f"{UNIT}-{row}" for row in range(600)],
    }
    pq.write_table(pa.table(columns), "table.parquet")


def everything_written(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of all files that a run made."""
    inputs = {"parquet", "txt"}
    for path in folder.rglob("*"):
        yield f"name of {path.name}", path.name.encode()
        if path.is_file() and path.suffix[1:] not in inputs:
            yield path.name, path.read_bytes()


def assert_silent(outcome: Outcome, folder: Path, logs: str, *, allowed: tuple[str, ...] = ()) -> None:
    """No canary on stdout, stderr, in logs, file names, or in any file written, the ledger's raw bytes included."""
    said = {"stdout": outcome.out, "stderr": outcome.err, "log": logs}
    said |= {name: content.decode("utf-8", "replace") for name, content in everything_written(folder)}
    for place, text in said.items():
        for word in allowed:
            text = text.replace(word, "")  # noqa: PLW2901 - what is public does not count
        assert not [secret for secret in SECRETS if secret in text], (place, text[:300])


@every(
    ("outcome", "logs", "file"),
    [
        (Outcome(0, RARE, ""), "", "out.json"),
        (Outcome(0, "", f"dpmine: {TEXT}"), "", "out.json"),
        (Outcome(0, "", ""), str(NUMBER), "out.json"),
        (Outcome(0, "", ""), "", f"{RARE}.parquet"),
        (Outcome(0, "", ""), "", "budget.db-wal"),
    ],
)
def test_the_net_has_no_holes(outcome: Outcome, logs: str, file: str, tmp_path: Path) -> None:
    """A canary on any way out is heard."""
    (tmp_path / file).write_text("quiet" if file in {"out.json", f"{RARE}.parquet"} else UNIT, encoding="utf-8")
    with pytest.raises(AssertionError):
        assert_silent(outcome, tmp_path, logs)


def grant(unit: str) -> None:
    Ledger("sqlite:///budget.db").grant("shop", epsilon=1000, delta="0.5", unit=unit)


CLASSIFY = ["classify", "table.parquet", "--norm-bound", "2", "--lambdas", "0.1", "-o", "out.json"]
HYPOTHESIS = ["hypothesis", "table.parquet", "--lower", "-1", "--upper", "1", "-o", "out.json"]
HISTOGRAM = ["histogram", "table.parquet", "--lower", "-1", "--upper", "1", "--bins", "4", "-o", "out.json"]
RIDGE = ["accuracy-first", "table.parquet", "--excess-risk", "0.3", "--regularization", "0.1", "--x-bound", "2"]
RIDGE += ["--y-bound", "1", "--keep-last", "-o", "out.json"]
REGRESS = ["regress", "table.parquet", "--target-bounds", "-1,1", "--lower", "-1", "--upper", "1", "-o", "out.json"]
STRONG = ["--epsilon", "50"]

TOP = "top-itemset"
UNIT_ITEM = ["--unit", "unit", "--item", "item"]
RELEASES: dict[str, tuple[str, list[str]]] = {
    "long": ("unit", [TOP, "long.parquet", *UNIT_ITEM, "--basket", "basket", *STRONG]),
    "lists": ("unit", [TOP, "lists.parquet", *UNIT_ITEM, *STRONG]),
    "one-hot": ("unit", [TOP, "hot.parquet", "--unit", "unit", "--one-hot", *STRONG]),
    "streamed": ("unit", [TOP, "lists.parquet", *UNIT_ITEM, "--memory", "64MB", *STRONG]),
    "catalogue": ("unit", [TOP, "lists.parquet", *UNIT_ITEM, "--catalogue", "items.txt", *STRONG]),
    "nothing stands out": ("unit", [TOP, "lists.parquet", *UNIT_ITEM, "--size", "3", "--epsilon", "0.1"]),
    "classify": ("row", [*CLASSIFY, "--label", "y", "--features", "x,outlier"]),
    "hypothesis": ("row", [*HYPOTHESIS, "--label", "y", "--features", "x,outlier"]),
    "histogram": ("row", [*HISTOGRAM, "--column", "outlier", "--plot", "out.svg"]),
    "ridge": ("row", [*RIDGE, "--target", "number", "--features", "x,outlier"]),
    "regress": ("row", [*REGRESS, "--target", "number", "--features", "x,outlier"]),
    "a hole": ("row", [*CLASSIFY, "--label", "y", "--features", "hole"]),
    "hypothesis, a hole": ("row", [*HYPOTHESIS, "--label", "y", "--features", "hole"]),
    "a hole in the target": ("row", [*RIDGE, "--target", "hole", "--features", "x"]),
}


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param([], id="text"),
        pytest.param(["--debug"], id="debug", marks=pytest.mark.slow),
        pytest.param(["--format", "json"], id="json", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", RELEASES)
def test_releases_are_silent(
    name: str, extra: list[str], run: outcome_of, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Private results, messages, logs and the ledger, with a canary in every unit, basket, rare item and outlier."""
    unit, arguments = RELEASES[name]
    grant(unit)
    outcome = run(*arguments, *extra, *LEDGER)
    assert outcome.status == 0, outcome.err
    assert_silent(outcome, folder, caplog.text)
    [_, charge, *rest] = Ledger("sqlite:///budget.db").history("shop")
    assert charge.kind in {"charge", "reserve"}
    assert len(rest) <= 1


BUDGET = """[budget]
ledger = "sqlite:///budget.db"
dataset = "shop"
epsilon = 500
delta = 1e-3
"""
BETWEEN: dict[str, Any] = {"lower": -1, "upper": 1}
JOBS: list[dict[str, Any]] = [
    {"kind": "top-itemset", "input": "lists.parquet", "item": "item", "release_support": 50, "rules": True},
    {"kind": "histogram", "column": "outlier", **BETWEEN},
    {"kind": "regress", "features": ["x", "outlier"], "target": "number", "target_bounds": [-1, 1], **BETWEEN},
    {"kind": "hypothesis", "label": "classes", "features": "x", **BETWEEN},
    {"kind": "classify", "label": "third", "features": "hole", "norm_bound": 1},
]


def test_evidence_holds_the_released_results_and_nothing_else(
    run: outcome_of, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Every file of the evidence, Parquet too; classes are public. The last job fails, before its charge."""
    common = {"input": "table.parquet", "unit": "unit", "epsilon": 50}
    jobs = [f"[[job]]\n{job(**common | options)}\n" for options in JOBS]
    Path("jobs.toml").write_text("".join([BUDGET, *jobs]), encoding="utf-8")
    outcome = run("report", "jobs.toml", "--evidence", "evidence")
    assert outcome.status == 2
    assert "1 of 5 jobs failed" in outcome.err
    assert dpmine.Ledger("sqlite:///budget.db").budget("shop").spent.epsilon == 250
    public = f"{LABEL} one", f"{LABEL} two"
    assert_silent(outcome, folder, caplog.text, allowed=public)
    written = {path: path.read_bytes().decode("latin-1") for path in folder.glob("evidence/**/*") if path.is_file()}
    assert len(written) > 12
    for path, text in written.items():
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            text += f"{table.to_pylist()} {table.schema.metadata}"  # noqa: PLW2901 - compressed bytes hide what they hold
        for word in public:
            text = text.replace(word, "")  # noqa: PLW2901 - what is public does not count
        assert not [secret for secret in SECRETS if secret in text], path
    assert run("report", "--verify-evidence", "evidence").status == 0


def test_public_classes_are_shown_and_nothing_else(
    run: outcome_of, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Class names are part of a model; they are public, and the guarantee says so. The ledger does not know them."""
    grant("row")
    outcome = run(*CLASSIFY, "--label", "classes", "--features", "x", *LEDGER)
    assert outcome.status == 0
    model = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert sorted(model["classes"]) == [f"{LABEL} one", f"{LABEL} two"]
    assert model["guarantee"]["notes"]
    assert_silent(outcome, folder, caplog.text, allowed=(f"{LABEL} one", f"{LABEL} two"))
    assert PREFIX not in Path("budget.db").read_bytes().decode("latin-1")


REFUSALS: dict[str, list[str]] = {
    "damaged": [TOP, "damaged.parquet", *UNIT_ITEM],
    "numbers as items": [TOP, "floats.parquet", *UNIT_ITEM],
    "structs as items": [TOP, "structs.parquet", *UNIT_ITEM],
    "bytes as items": [TOP, "bytes.parquet", *UNIT_ITEM],
    "texts in one-hot": [TOP, "long.parquet", "--unit", "unit", "--one-hot"],
    "one-hot without its unit": [TOP, "hot.parquet", "--unit", "nobody", "--one-hot"],
    "repeated catalogue": [TOP, "lists.parquet", *UNIT_ITEM, "--catalogue", "repeated.txt"],
    "catalogue in latin-1": [TOP, "lists.parquet", *UNIT_ITEM, "--catalogue", "latin.txt"],
    "data as catalogue": [TOP, "lists.parquet", *UNIT_ITEM, "--catalogue", "lists.parquet"],
    "text features": [*CLASSIFY, "--label", "y", "--features", "x,town"],
    "mixed feature": [*CLASSIFY, "--label", "y", "--features", "mixed"],
    "nested feature": [*CLASSIFY, "--label", "y", "--features", "nested"],
    "three classes": [*CLASSIFY, "--label", "third", "--features", "x"],
    "many classes": [*CLASSIFY, "--label", "town", "--features", "x"],
    "nested label": [*CLASSIFY, "--label", "nested", "--features", "x"],
    "hypothesis of texts": [*HYPOTHESIS, "--label", "y", "--features", "town"],
    "hypothesis, three classes": [*HYPOTHESIS, "--label", "third", "--features", "x"],
    "histogram of texts": [*HISTOGRAM, "--column", "town"],
    "histogram of a mixture": [*HISTOGRAM, "--column", "mixed"],
    "histogram of lists": [*HISTOGRAM, "--column", "nested"],
    "ridge of texts": [*RIDGE, "--target", "town", "--features", "x"],
    "ridge on texts": [*RIDGE, "--target", "x", "--features", "town"],
    "regression of texts": [*REGRESS, "--target", "town", "--features", "x"],
    "a regression of data": ["regress", "--predict", "table.parquet", "--model", "items.txt"],
    "a model of data": ["classify", "--predict", "table.parquet", "--model", "items.txt"],
    "a hypothesis of data": ["hypothesis", "--predict", "table.parquet", "--model", "items.txt"],
    "a ridge of data": ["accuracy-first", "--predict", "table.parquet", "--model", "long.parquet"],
    "data as a ledger": [TOP, "lists.parquet", *UNIT_ITEM, "--ledger", "sqlite:///items.txt", "--dataset", "shop"],
}


@every("debug", [[], ["--debug"]])
@every("name", REFUSALS)
def test_refusals_are_silent(
    name: str, debug: list[str], run: outcome_of, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A canary in an invalid place: one line, status 2, and no file but the inputs."""
    before = set(folder.iterdir())
    outcome = run(*REFUSALS[name], *debug)
    assert outcome.status == 2, outcome
    assert outcome.lines[-1].startswith("dpmine: error: ")
    assert_silent(outcome, folder, caplog.text)
    assert set(folder.iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["damaged", "mixed feature", "histogram of texts", "three classes"])
def test_a_process_of_its_own_is_silent_too(name: str, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What the interpreter itself prints at its end included."""
    outcome = spawn(*REFUSALS[name], "--debug", cwd=folder)
    assert outcome.status == 2
    assert "Traceback" not in outcome.err
    assert_silent(outcome, folder, caplog.text)


# --------------------------------------------------------------------------------------------------------- the library

FEATURES, LABELS = [[0.5], [-0.5], [0.25]], ["yes", "no", "yes"]
FRAME = pd.DataFrame({"x": [0.5, -0.5, 0.25], TEXT: [TEXT, "b", "c"]})


class _Hostile:
    """An entry of data that quotes itself in every way it is looked at."""

    def __float__(self) -> float:
        raise ValueError(TEXT)

    def __index__(self) -> int:
        raise TypeError(TEXT)

    def __repr__(self) -> str:
        return TEXT


def _ridge(x: Any, y: Any) -> Any:
    return dpmine.AccuracyFirstRidge(excess_risk=0.3, regularization=0.1, x_bound=1, y_bound=1).fit(x, y)


def _logistic(x: Any, y: Any) -> Any:
    return dpmine.PrivateLogisticRegression(norm_bound=1, lambdas="0.1").fit(x, y)


def _stumps(x: Any, y: Any) -> Any:
    return dpmine.HypothesisSelector(lower=-1, upper=1).fit(x, y)


def _histogram(x: Any) -> Any:
    return dpmine.PrivateHistogram(bins=[4], lower=0, upper=1).fit(x)


CALLS: dict[str, Callable[[], Any]] = {
    **{
        f"{trainer.__name__} {place}": lambda trainer=trainer, x=x, y=y: trainer(x, y)  # type: ignore[misc]
        for trainer in (_ridge, _logistic, _stumps)
        for place, x, y in [
            ("text feature", [[TEXT], [0], [1]], LABELS),
            ("text column", FRAME, LABELS),
            ("hostile feature", [[_Hostile()], [0], [1]], LABELS),
            ("nested", [[[TEXT]], [[0]], [[1]]], LABELS),
            ("ragged", [[TEXT], [0, 1], [1]], LABELS),
            ("dict", [{TEXT: 1}, {TEXT: 0}, {TEXT: 1}], LABELS),
            ("three labels", FEATURES, [LABEL, f"{LABEL}2", f"{LABEL}3"]),
            ("one label", FEATURES, [LABEL] * 3),
            ("mixed labels", FEATURES, [LABEL, 1, None]),
            ("too many labels", FEATURES, [LABEL] * 4),
            ("hostile label", FEATURES, [_Hostile(), 1, 2]),
        ]
    },
    "histogram text": lambda: _histogram([TEXT]),
    "histogram mixture": lambda: _histogram([0.5, TEXT]),
    "histogram hostile": lambda: _histogram([0.5, _Hostile()]),
    "histogram nested": lambda: _histogram([[0.5, 0.5], [TEXT, 1]]),
    "select text": lambda: dpmine.select([TEXT, 1], mechanism="exponential"),
    "select label": lambda: dpmine.select({TEXT: None, "b": 1}, mechanism="exponential"),  # type: ignore[dict-item]
    "select hostile": lambda: dpmine.select([_Hostile(), 1], mechanism="exponential"),
    "select infinite": lambda: dpmine.select({TEXT: float("inf"), "b": 1.0}, mechanism="exponential"),
    "select negative": lambda: dpmine.select({TEXT: -NUMBER, "b": 1}, mechanism="limited_domain"),
    "levels": lambda: dpmine.Levels([(-NUMBER, 1)], padding=1),
    "catalogue": lambda: dpmine.top_itemset([["a", "b"]], catalogue=[TEXT, TEXT]),
}

READ_AS_MISSING = {
    *(f"{trainer} {place} feature" for trainer in ("_logistic", "_stumps") for place in ("text", "hostile")),
    *(f"{trainer} nested" for trainer in ("_logistic", "_stumps")),
    *(f"histogram {place}" for place in ("text", "mixture", "hostile")),
}
"""Of the calls, those in which a single entry that is no number is a missing one: they give a result."""


def _said(error: BaseException | None) -> Iterator[str]:
    """What a traceback prints of an error, its causes and the contexts that are not suppressed."""
    if error is not None:
        yield str(error)
        yield from traceback.format_exception_only(error)
        yield from _said(error.__cause__ or (None if error.__suppress_context__ else error.__context__))


@every("name", CALLS)
def test_errors_of_the_library_are_silent(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """The error, its cause and its context, as any program that calls the library may log them."""
    caplog.set_level(logging.DEBUG)
    error: BaseException | None = None
    try:
        CALLS[name]()
    except DpmineError as caught:
        error = caught
    assert (error is None) is (name in READ_AS_MISSING)
    for text in (*_said(error), caplog.text):
        assert not [secret for secret in SECRETS if secret in text], text


# --------------------------------------------------------------------------------------------------------- the ledger

GUARANTEE = Guarantee(Fraction(1), Fraction(0), Neighbors.REPLACE_ONE)


def test_a_ledger_holds_words_of_the_tool_only(folder: Path) -> None:
    """Scores, labels and items of calls that succeed and fail leave no trace: history, export, raw bytes, log files."""
    book = Ledger("sqlite:///budget.db")
    for name in ("a", "b"):
        book.grant(name, epsilon=100, delta="0.5")
    dpmine.select({TEXT: 5000, f"{TEXT}2": 0}, mechanism="exponential", ledger=book, dataset="a")
    dpmine.PrivateHistogram(bins=[4], lower=0, upper=1, ledger=book, dataset="b").fit([NUMBER] * 100)
    with pytest.raises(DpmineError):
        dpmine.select({TEXT: None}, mechanism="exponential", ledger=book, dataset="a")  # type: ignore[dict-item]
    assert [entry.job for entry in book.history("a")] == ["", "select exponential", "select exponential"]
    assert [entry.job for entry in book.history("b")] == ["", "PrivateHistogram"]
    written = [book.export(), *(str(entry) for entry in book.history("a"))]
    written += [path.read_bytes().decode("latin-1") for path in folder.glob("budget.db*")]
    with closing(sqlite3.connect("budget.db")) as connection:
        written += list(connection.iterdump())
    assert not [secret for secret in SECRETS for text in written if secret in text]


@pytest.mark.usefixtures("folder")
@every("job", [f"{TEXT}\n", f"{TEXT}\x1b[2J", TEXT * 100, None, 7, [TEXT]])
def test_bad_job_names_are_not_repeated(job: Any) -> None:
    book = Ledger("sqlite:///budget.db")
    book.grant("shop", epsilon=1)
    with pytest.raises(BadParameter, match="job must be") as caught:
        book.charge("shop", GUARANTEE, job=job)
    assert PREFIX not in str(caught.value)
    assert book.budget("shop").spent.epsilon == 0


URLS = [f"postgresql://me:{PREFIX}@127.0.0.1:1/db", f"mysql://me:{PREFIX}@host/db", PREFIX, f"sqlite://{PREFIX}/x"]


@every("url", [*URLS, f"postgresql://me:{PREFIX}@[bad/db"])
def test_passwords_in_urls_are_not_repeated(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(BadLedger) as caught:
        Ledger(url).budgets()
    assert not [text for text in (*_said(caught.value), caplog.text) if PREFIX in text]
