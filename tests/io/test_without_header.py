"""CSV files without a header: the names of the columns are given, and the first line is a row like every other."""

from __future__ import annotations

import gzip
import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.cases import every
from support.command_line import outcome_of
from support.hostile.neighbours import seen

import dpmine
from dpmine.errors import BadData, BadParameter
from dpmine.io.input import Input
from dpmine.io.open import open_input

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [("1", "bread"), ("1", "milk"), ("2", "bread")]
TEXT = "".join(f"{unit},{item}\n" for unit, item in ROWS).encode()
HOSTILE = {
    "a field more": b"9,bread,x\n",
    "a field fewer": b"9\n",
    "nothing": b"\n",
    "an open mark": b'9,"bread\n',
    "NUL": b"9,\x00\n",
    "no UTF-8": b"9,\xff\n",
    "a mark of byte order": b"\xef\xbb\xbf9,bread\n",
    "a mark of UTF-16": b"\xff\xfe9,\x00\n",  # in latin-1 a text that one person may have
    "too long": b"9," + b"x" * 2**20 + b"\n",
    "a return": b"9,x\ry\n",
    "like a header": b"c2,c1\n",
}


def rows(data: Input) -> list[tuple[Any, ...]]:
    source = open_input(data)
    return [tuple(row.values()) for batch in source.batches(source.names) for row in batch.to_pylist()]


@every("name", ["x.csv", "x.csv.gz", "x.tsv", "x.txt"])
@every("columns", ["c1,c2", " c1 , c2 ", ["c1", "c2"], ("c1", "c2"), 2, "2", None])
def test_the_first_line_is_a_row(tmp_path: Path, name: str, columns: Any) -> None:
    path, text = tmp_path / name, TEXT.replace(b",", b"\t") if name == "x.tsv" else TEXT
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    data = Input(path, columns=columns, no_header=columns is None)
    assert open_input(data).names == ("c1", "c2")
    assert rows(data) == ROWS


@every("given", [{"columns": ["who", "what"]}, {"no_header": True}])
def test_standard_input(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT)))
    assert rows(Input("-", **given)) == ROWS


def test_names_are_public_and_may_have_types(tmp_path: Path) -> None:
    """Messages quote them: they were typed."""
    path = tmp_path / "x.csv"
    path.write_bytes(TEXT)
    assert rows(Input(path, columns="who,what", types="who=int64")) == [(int(unit), item) for unit, item in ROWS]
    with pytest.raises(BadData, match="no column 'whom' among the columns 'who', 'what'"):
        dpmine.top_itemset(Input(path, columns="who,what"), unit="whom", item="what")
    with pytest.raises(BadData, match="`types` name a column 'whom' that does not exist among the columns"):
        open_input(Input(path, columns="who,what", types="whom=int64"))


def test_files_with_other_numbers_of_columns(tmp_path: Path) -> None:
    """Each is read with those that are given; its own rows do not fit."""
    (tmp_path / "a.csv").write_bytes(TEXT)
    (tmp_path / "b.csv").write_text("1,2,3\n", encoding="utf-8")
    assert rows(Input(tmp_path / "*.csv", columns=2)) == ROWS


@every(
    ("given", "expected"),
    [
        ({"columns": 0}, "`columns` must be 1 to 100,000"),
        ({"columns": "9" * 5000}, "`columns` must be 1 to 100,000"),
        ({"columns": []}, "`columns` must be names"),
        ({"columns": "a,,b"}, "`columns` must be names"),
        ({"columns": True}, "`columns` must be names"),
        ({"columns": [1, 2]}, "`columns` must be names"),
        ({"columns": "a,a"}, "`columns` must be different names"),
        ({"columns": 2, "no_header": True}, "leave out `no_header=True`"),
        ({"columns": 2, "input_format": "parquet"}, "`columns` is for CSV and TSV files"),
        ({"no_header": True, "input_format": "baskets"}, "`no_header` is for CSV and TSV files"),
    ],
)
def test_what_contradicts_itself(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(BadParameter, match=expected):
        Input("x.csv", **given)


@every("hostile", HOSTILE)
@every("first", [False, True])
def test_one_row_changes_no_other(tmp_path: Path, hostile: str, first: bool) -> None:
    """Not even the first: the number of columns is given."""
    path, text = tmp_path / "x.csv", TEXT * 20
    data = Input(path, columns=["who", "what"])
    named: dict[str, Any] = {"unit": "who", "item": "what", "size": 1}
    path.write_bytes(text)
    expected, _ = seen(data, **named)
    path.write_bytes(HOSTILE[hostile] + text if first else text + HOSTILE[hostile])
    assert seen(data, **named)[0] == expected
    kept = [row for row in rows(data) if row in ROWS]
    assert kept == ROWS * 20


def test_that_the_number_is_public_is_said(tmp_path: Path) -> None:
    path, told = tmp_path / "x.csv", list[str]()
    path.write_bytes(TEXT)
    dpmine.top_itemset(Input(path, no_header=True), unit="c1", item="c2", size=1, notice=told.append)
    assert sum("how many columns there are is public" in text for text in told) == 1


@every("options", [["--columns", "who,what"], ["--columns", "2"], ["--no-header"]])
def test_on_the_command_line(tmp_path: Path, options: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(TEXT)
    named = ["who", "what"] if "who" in options[-1] else ["c1", "c2"]
    asked = ["supports", str(path), *options, "--unit", named[0], "--item", named[1], "--size", "1", "--not-private"]
    found = outcome_of(capfd)(*asked, "--min-support", "2", "--format", "json")
    assert (found.status, json.loads(found.out)["itemsets"]) == (0, [{"items": ["bread"], "support": 2}]), found.err
