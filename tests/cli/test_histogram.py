from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.command_line import CANARY, assert_one_error, outcome_of

GUARANTEE = "dpmine: ε = 1, δ = 1e-06 per row, neighbours replace-one"
BOUNDS = ["--lower", "0", "--upper", "100"]


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table with numbers, numbers with nulls, and texts."""
    monkeypatch.chdir(tmp_path)
    ages = np.random.default_rng(5).normal(45, 15, 4000).round()
    table = pa.table(
        {
            "age": ages,
            "income": [None if i % 7 == 0 else i % 100 for i in range(4000)],
            "name": [f"{CANARY} {i}" for i in range(4000)],
        }
    )
    pq.write_table(table, "people.parquet")
    (tmp_path / "link.svg").symlink_to("people.parquet")
    pq.write_table(table.slice(0, 20), "few.parquet")
    pq.write_table(pa.table({"age": [91_827.0] * 4000}), "same.parquet")
    return tmp_path


@pytest.mark.usefixtures("people")
def test_json(run: outcome_of) -> None:
    outcome = run("histogram", "people.parquet", "--column", "age", *BOUNDS, "--bins", "4,8,16", "--format", "json")
    assert (outcome.status, outcome.err) == (0, f"{GUARANTEE}\n")
    document = json.loads(outcome.out)
    assert document["bins"] in {4, 8, 16}
    assert document["bin_width"] == 100 / document["bins"]
    assert sum(document["density"]) * document["bin_width"] == pytest.approx(1)
    guarantee = document["guarantee"]
    assert (guarantee["epsilon"], guarantee["delta"], guarantee["neighbors"]) == (1, 1e-6, "replace_one")
    assert document["mechanism"] == "max_of_exponentials"


@pytest.mark.usefixtures("people")
def test_text(run: outcome_of) -> None:
    outcome = run("histogram", "people.parquet", "--column", "income", *BOUNDS, "--bins", "2", "--epsilon", "1/2")
    assert outcome.status == 0
    assert "ε = 0.5, δ = 0 per row" in outcome.out
    assert "nearest bound" in outcome.out


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_plot_and_output(run: outcome_of, people: Path, suffix: str) -> None:
    name = f"age.{suffix}"
    arguments = ["--column", "age", *BOUNDS, "--plot", name, "-o", "age.json", "--mechanism", "large-margin"]
    outcome = run("histogram", "people.parquet", *arguments)
    assert (outcome.status, outcome.out) == (0, "")
    assert json.loads((people / "age.json").read_text(encoding="utf-8"))["mechanism"] == "large_margin"
    picture = (people / name).read_bytes()
    assert picture.startswith(b"\x89PNG" if suffix == "png" else b"<?xml")


@every(
    ("arguments", "hint"),
    [
        (["nobody.parquet", "--column", "age", *BOUNDS], "does not exist"),
        (["few.parquet", "--column", "age", *BOUNDS], "at least"),
        (["people.parquet", "--column", "age", *BOUNDS, "--bins", "4,8.5"], "--bins"),
        (["people.parquet", "--column", "age", *BOUNDS, "--mechanism", "limited-domain"], "dummies"),
        (
            ["people.parquet", "--column", "age", *BOUNDS, "--plot", "a.svg", "-o", "a.svg", "--format", "csv"],
            "the same file",
        ),
        (["people.parquet", "--column", "age", *BOUNDS, "--plot", "link.svg"], "--plot names one of the input"),
        (["people*", "--column", "age", *BOUNDS, "-o", "people.parquet"], "--output names one of the input"),
        (["--column", "age", *BOUNDS], "FILE"),
    ],
)
@pytest.mark.usefixtures("people")
def test_errors_are_one_line_without_data(run: outcome_of, arguments: list[str], hint: str) -> None:
    before = Path("people.parquet").read_bytes()
    assert hint in assert_one_error(run("histogram", *arguments))
    assert Path("people.parquet").read_bytes() == before


@pytest.mark.usefixtures("people")
def test_the_last_training_sees_all_rows(run: outcome_of) -> None:
    command = ["histogram", "people.parquet", "--column", "age", *BOUNDS, "--epsilon", "100", "--format", "json"]
    assert sum(json.loads(run(*command, "--train-share", "0.25").out)["counts"]) == pytest.approx(4000, abs=20)


@pytest.mark.usefixtures("people")
def test_nothing_of_the_data_is_shown(run: outcome_of) -> None:
    """All values are one number far outside the bounds: it must not appear, wherever the result goes."""
    for form in ("text", "json"):
        outcome = run("histogram", "same.parquet", "--column", "age", *BOUNDS, "--format", form, "--debug")
        assert outcome.status == 0
        assert "91827" not in outcome.out + outcome.err


@pytest.mark.usefixtures("people")
def test_one_row_a_bin(run: outcome_of) -> None:
    command = ["histogram", "people.parquet", "--column", "age", *BOUNDS, "--bins", "4", "--quiet"]
    lines = run(*command, "--format", "csv").out.splitlines()
    assert lines[0] == "lower,upper,density,count"
    assert [line.split(",")[:2] for line in lines[1:]] == [
        ["0.0", "25.0"],
        ["25.0", "50.0"],
        ["50.0", "75.0"],
        ["75.0", "100.0"],
    ]
    assert run(*command, "-o", "bins.parquet").status == 0
    assert pq.read_table("bins.parquet").num_rows == 4


@pytest.mark.usefixtures("people")
def test_files_are_accompanied_by_the_guarantee(run: outcome_of) -> None:
    command = ["histogram", "people.parquet", "--column", "age", *BOUNDS]
    assert GUARANTEE in run(*command, "-o", "bins.csv").lines
    assert GUARANTEE not in run(*command).lines


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(("options", "weak"), [("--epsilon 10", ""), ("--epsilon 10.1", "ε = 10.1")])
def test_a_guarantee_that_says_little_is_noticed(run: outcome_of, options: str, weak: str) -> None:
    command = ["histogram", "people.parquet", "--column", "age", *BOUNDS, *options.split()]
    for more in ([], ["--dry-run"]):
        said = run(*command, *more).err
        assert f"a guarantee with {weak} says little" in said if weak else "says little" not in said
        assert "says little" not in run(*command, *more, "--quiet").err
