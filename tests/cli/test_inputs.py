"""Files of other forms, standard input and queries, as the command line and job files name them."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.command_line import assert_one_error

if TYPE_CHECKING:
    from support.command_line import outcome_of

ROWS = [(f"c{n}", item, n % 7) for n in range(3000) for item in ("bread", "butter", "beer")[: 2 + (n % 3 == 0)]]
CSV = "customer,product,amount\n" + "".join(f"{who},{what},{n}\n" for who, what, n in ROWS)
QUERY = ["--query", "SELECT customer, product FROM sales", "--database", "sqlite:///sales.db"]


@pytest.fixture
def sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same rows as CSV, under another name, and as a database."""
    monkeypatch.chdir(tmp_path)
    Path("sales.csv").write_text(CSV)
    Path("sales.txt").write_text(CSV.replace(",", "\t"))
    with closing(sqlite3.connect("sales.db")) as connection, connection:
        connection.execute("CREATE TABLE sales (customer, product, amount)")
        connection.executemany("INSERT INTO sales VALUES (?, ?, ?)", ROWS)
    return tmp_path


@pytest.mark.parametrize("source", [["sales.csv"], ["sales.txt", "--input-format", "tsv"], ["-"], QUERY])
def test_the_same_pair_from_every_form(
    source: list[str], sales: Path, run: outcome_of, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    found = run("top-itemset", *source, "--unit", "customer", "--item", "product", "--format", "json", "--quiet")
    assert (found.status, found.err) == (0, "")
    assert json.loads(found.out)["itemsets"][0]["items"] == ["bread", "butter"]
    assert [path.name for path in sales.iterdir() if path.name not in {"sales.csv", "sales.txt", "sales.db"}] == []


def test_the_encoding_is_an_option(sales: Path, run: outcome_of) -> None:
    Path("latin.csv").write_bytes(CSV.replace("butter", "crème").encode("latin-1"))
    asked = ["top-itemset", "latin.csv", "--unit", "customer", "--item", "product", "--size", "1", "--top", "2"]
    assert "crème" in run(*asked, "--encoding", "latin-1").out
    assert "crème" not in run(*asked).out
    assert "--encoding must be one of: utf-8, latin-1, windows-1252, " in assert_one_error(
        run(*asked, "--encoding", "x")
    )
    assert sales.exists()


def test_models_take_them_too(sales: Path, run: outcome_of) -> None:
    assert sales.exists()
    found = run("histogram", "sales.csv", "--column", "amount", "--lower", "0", "--upper", "7", "--unit", "customer")
    assert found.status == 0
    assert run("supports", *QUERY, "--min-support", "3000", "--not-private").status == 0
    assert run("catalogue", "sales.csv", "--unit", "customer", "--item", "product", "-o", "items.txt").status == 0


def test_job_files_take_them(sales: Path, run: outcome_of) -> None:
    assert sales.exists()
    job = 'kind = "top-itemset"\nunit = "customer"\nitem = "product"\nepsilon = 1\n'
    Path("jobs.toml").write_text(
        '[budget]\nledger = "sqlite:///budget.db"\ndataset = "shop"\nepsilon = 3\ndelta = 1e-5\n'
        f'[[job]]\nname = "a"\ninput = "sales.txt"\ninput_format = "tsv"\n{job}'
        f'[[job]]\nname = "b"\nquery = "SELECT customer, product FROM sales"\ndatabase = "sqlite:///sales.db"\n{job}'
    )
    done = run("report", "jobs.toml", "-o", "page.html", "--quiet")
    assert done.status == 0, done.err
    assert Path("page.html").read_text().count("bread") >= 2


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--query", "SELECT 1"], "without a database chooses"),
        (["sales.csv", *QUERY], "takes the place"),
        (["sales.csv", "--types", "amount=money"], "int64"),
        ([*QUERY, "--unit", "customer", "-o", "sales.db", "--format", "json"], "is a database"),
        (["sales.csv", "-", "--unit", "customer"], "stands alone"),
        (["sales.csv", "--unit", "customer", "--engine", "spark"], "Parquet"),
    ],
)
def test_one_line_says_what_is_wrong(arguments: list[str], hint: str, sales: Path, run: outcome_of) -> None:
    before = (sales / "sales.db").read_bytes()
    assert hint in assert_one_error(run("top-itemset", *arguments))
    assert (sales / "sales.db").read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        ["top-itemset", "--size", "1"],
        ["frequent-itemsets", "--min-support", "10"],
        ["catalogue"],
    ],
)
def test_released_names_of_another_encoding_are_hinted_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: outcome_of, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"{unit},Caf\xe9\n" for unit in range(500))
    for name in ("utf-8", "latin-1"):
        Path(f"{name}.csv").write_text(f"who,what\n{lines}", encoding=name)
        more = ["--unit", "who", "--item", "what", "--epsilon", "100"]
        outcome = run(command[0], f"{name}.csv", *command[1:], *more)
        assert "Caf" in outcome.out
        assert ("have U+FFFD" in outcome.err and "--encoding windows-1252" in outcome.err) is (name == "latin-1")
    quiet = run(command[0], "latin-1.csv", *command[1:], *more, "--encoding", "windows-1252")
    assert "U+FFFD" not in quiet.err
