"""Tables as they are published, without a header and with question marks, by one command each: as pandas counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from support.cases import every
from support.command_line import ROOT, outcome_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

COLUMNS = 23
BEST = 5
ADULTS = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Male, 2174, United-States, <=50K
50, ?, 83311, Bachelors, 13, Married-civ-spouse, Male, 0, United-States, >50K
17, Private, 215646, HS-grad, 9, Divorced, Female, 0, ?, <=50K
"""
NAMES = "age,workclass,weight,education,years,marital,sex,gain,country,income"


def mushrooms(folder: Path) -> tuple[Path, pd.DataFrame]:
    """The 8,124 mushrooms with an attribute a column, as they were before they became items; some values unknown."""
    items = pq.read_table(ROOT / "datasets" / "mushroom.parquet").to_pandas()
    values = np.sort(items["item"].to_numpy().reshape(-1, COLUMNS), axis=1).astype(str).astype(object)
    values[::7, 10] = "?"
    frame = pd.DataFrame(values, columns=[f"c{place}" for place in range(1, COLUMNS + 1)])
    path = folder / "mushrooms.data"
    frame.to_csv(path, header=False, index=False)
    return path, frame


def pairs(frame: pd.DataFrame) -> dict[frozenset[str], int]:
    """The rows of each pair of values of two columns, counted by pandas; a missing value is in none."""
    flags = pd.concat({name: pd.get_dummies(frame[name]) for name in frame.columns}, axis=1)
    labels = ["=".join(label) for label in flags.columns]
    counts = flags.to_numpy().astype(np.int64).T @ flags.to_numpy().astype(np.int64)
    places = zip(*np.nonzero(np.triu(counts, 1)), strict=True)
    return {frozenset((labels[one], labels[other])): int(counts[one, other]) for one, other in places}


def listed(outcome: Any) -> dict[frozenset[str], Any]:
    assert outcome.status == 0, outcome.err
    return {frozenset(entry["items"]): entry.get("support") for entry in json.loads(outcome.out)["itemsets"]}


@every("columns", [["--no-header"], ["--columns", str(COLUMNS)]])
def test_mushrooms(columns: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, frame = mushrooms(tmp_path)
    expected = pairs(frame.replace("?", None))
    asked = [str(path), *columns, "--attributes", "--missing", "?", "--format", "json"]
    found = listed(outcome_of(capfd)("supports", *asked, "--min-support", "400", "--not-private"))
    assert found == {pair: count for pair, count in expected.items() if count >= 400}
    best = listed(outcome_of(capfd)("top-itemset", *asked, "--top", str(BEST), "--epsilon", "100"))
    least = sorted(expected.values())[-BEST]
    assert len(best) == BEST
    assert all(expected[pair] >= least - 10 for pair in best)


def test_census_records_with_blanks_behind_commas(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, repeated = tmp_path / "adult.data", 50
    path.write_text(ADULTS * repeated + "\n", encoding="utf-8")  # the published file ends with an empty line
    rows = [line.split(", ") for line in ADULTS.splitlines()]
    frame = pd.DataFrame(rows, columns=NAMES.split(",")).replace("?", None).drop(columns=["weight", "years"])
    for name, points in {"age": [18, 50], "gain": [1]}.items():
        numbers = frame[name].astype(float)
        intervals = [-np.inf, *points, np.inf]
        frame[name] = pd.cut(numbers, intervals, right=False, labels=range(len(points) + 1)).astype(str)
    intervals_of = {
        "age=0": "age<18",
        "age=1": "18<=age<50",
        "age=2": "age>=50",
        "gain=0": "gain<1",
        "gain=1": "gain>=1",
    }
    expected = {
        frozenset(intervals_of.get(item, item) for item in pair): count * repeated
        for pair, count in pairs(frame).items()
    }
    names = ",".join(frame.columns)
    cuts = ["--cut", "age=18,50", "--cut", "gain=1"]
    asked = [str(path), "--columns", NAMES, "--attributes", names, "--missing", "?", *cuts, "--format", "json"]
    assert listed(outcome_of(capfd)("supports", *asked, "--min-support", "1", "--not-private")) == expected
