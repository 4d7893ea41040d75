"""Every bad request: exit status 2, one line on stderr, nothing else, and no value of the data."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest
from support.cases import every
from support.command_line import CANARY, PROGRAM, Outcome, assert_one_error, ended, outcome_of, spawn

pytestmark = pytest.mark.usefixtures("folder")

TOP = "top-itemset"
SALES = [TOP, "sales.parquet"]
COUNT = ["supports", "sales.parquet", "--not-private", "--min-support"]
PURE = [*SALES, "--mechanism", "exponential"]

BAD: dict[str, tuple[list[str], str]] = {
    "no command": ([], "--help"),
    "unknown command": (["bottom-itemset"], "bottom-itemset"),
    "not one-hot": ([*SALES, "--one-hot"], "string"),
    "unclear layout": ([TOP, "unclear.parquet"], "'shop', 'till', 'product'"),
    **{f"size {size}": ([*SALES, "--size", size], "size") for size in ("0", "-1", "2-1", "two", "", "2-", "1.5", "²")},
    "size beyond the catalogue": ([*SALES, "--size", "5", "--catalogue", "items.txt"], "size"),
    "epsilon nan": ([*SALES, "--epsilon", "nan"], "epsilon"),
    "delta of 0": ([*SALES, "--mechanism", "large-margin", "--delta", "0"], "delta"),
    "both catalogues": ([*PURE, "--catalogue", "items.txt", "--catalogue-from-data"], "exclude"),
    "output of two suffixes": ([*SALES, "-o", "a.json.gz"], ".parquet, or a --format"),
    "output into nowhere": ([*SALES, "-o", "nowhere/out.json"], "nowhere/out.json"),
    "output inside a file": ([*SALES, "-o", "items.txt/out.json"], "items.txt/out.json"),
    "output name too long": ([*SALES, "-o", "o" * 5000], "Cannot write"),
    "output without name": ([*SALES, "-o", ""], "Cannot write"),
    "exact without opt-in": ([*SALES, "--mechanism", "exact"], "--not-private"),
    "threshold of words": ([*COUNT, "abc"], "--min-support must"),
    "supports of a missing file": (["supports", "no.parquet", "--not-private", "--min-support", "1"], "no.parquet"),
    "supports into nowhere": ([*COUNT, "1", "-o", "nowhere/o.csv"], "nowhere/o.csv"),
}


@every("name", BAD)
def test_bad_requests_are_one_line(name: str, run: outcome_of, folder: Path) -> None:
    arguments, hint = BAD[name]
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    line = assert_one_error(run(*arguments))
    assert hint in line
    assert line.endswith((".", "?"))
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_an_unknown_word_is_named_without_the_words_of_a_library(run: outcome_of) -> None:
    assert "Did you mean 'grant'? Try: dpmine ledger --help." in assert_one_error(run("ledger", "grnat"))


def test_a_file_of_another_format_says_how_to_convert_it(run: outcome_of) -> None:
    assert "--input-format csv" in assert_one_error(run(TOP, "words.parquet"))


def test_ambiguous_layout_says_what_to_do(run: outcome_of) -> None:
    line = assert_one_error(run(TOP, "unclear.parquet"))
    assert all(word in line for word in ("--unit COL --item product", "--attributes", "--one-hot"))


def test_one_hot_columns_are_items_and_stay_unnamed_in_errors(run: outcome_of) -> None:
    assert "tea" not in assert_one_error(run(TOP, "counts.parquet", "--one-hot", "--unit", "nobody"))


def test_size_beyond_the_data_is_no_error(run: outcome_of) -> None:
    outcome = run(*SALES, "--size", "50", "--quiet")
    assert outcome.status == 0
    assert outcome.out.startswith("Nothing stands out.")
    assert run(*COUNT, "1", "--size", "50", "--format", "csv", "--quiet") == Outcome(
        0, "items,support\n", "dpmine: exact supports; NOT private\n"
    )


def test_pure_mechanisms_do_not_use_delta(run: outcome_of) -> None:
    arguments = [*PURE, "--catalogue", "items.txt", "--epsilon", "1000", "--delta", "0", "--format", "json"]
    outcome = run(*arguments)
    assert outcome.status == 0
    assert '"delta": 0.0, "epsilon_exact": "1000", "delta_exact": "0"' in outcome.out


@pytest.mark.parametrize(
    "arguments", [["no.parquet"], ["truncated.parquet"], ["prices.parquet", "--item", "price"], ["--x"]]
)
def test_debug_adds_positions_but_no_data(run: outcome_of, arguments: list[str], folder: Path) -> None:
    command = [TOP, *arguments, "--debug"]
    outcome = spawn(*command, cwd=folder) if arguments == ["no.parquet"] else run(*command)
    *frames, error = outcome.lines
    assert outcome.status == 2
    assert outcome.out == ""
    assert error.startswith("dpmine: error: ")
    assert any(".py:" in frame for frame in frames)
    assert CANARY not in outcome.err
    assert "73646" not in outcome.err
    assert "Traceback" not in outcome.err


def test_bugs_show_no_data_either(run: outcome_of, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(CANARY)

    monkeypatch.setattr("dpmine.itemsets.top.top_itemsets", broken)
    for debug in ([], ["--debug"]):
        outcome = run(*SALES, *debug)
        assert outcome.status == 1
        assert outcome.out == ""
        assert outcome.lines[-1].startswith("dpmine: error: a bug in dpmine (RuntimeError)")
        assert CANARY not in outcome.err
        assert (len(outcome.lines) > 1) is bool(debug)


@pytest.mark.slow
def test_a_writing_error_is_told() -> None:
    """A full device; and no stdout at all."""
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    for redirection in (">/dev/full", ">&-"):
        command = f'exec "$@" {redirection}'
        assert_one_error(ended(["sh", "-c", command, "sh"], *PROGRAM, *SALES, "--quiet"))


def test_folder_without_the_right_to_write(run: outcome_of, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen before the work is done; or only after it, as on a full or mounted-read-only disk."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, CANARY)

    said = "out.json' (Permission denied): name a file"
    with monkeypatch.context() as before:
        before.setattr("dpmine.io.atomic.require_writable", refuse)
        assert said in assert_one_error(run(*SALES, "-o", "out.json"))
    monkeypatch.setattr("dpmine.io.atomic.Path.replace", refuse)
    assert said in assert_one_error(run(*SALES, "-o", "out.json"))
    assert not Path("out.json").exists()


def test_read_only_folder() -> None:
    """As a user who may not write there; the superuser may write anywhere and steps down."""
    locked = Path(tempfile.mkdtemp(prefix="locked-"))
    locked.chmod(0o555)
    nobody = 65_534 if os.geteuid() == 0 else None
    try:
        done = ended(PROGRAM, *SALES, "-o", str(locked / "out.json"), cwd=Path("/"), user=nobody)
        assert "out.json" in assert_one_error(done)
        assert list(locked.iterdir()) == []
    except PermissionError:
        pytest.skip("another user may not run the program here")
    finally:
        locked.rmdir()
