"""Tables of attributes: the items are `column=value`, the same in every form, and each value is read by itself."""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.command_line import outcome_of
from support.hostile.neighbours import seen

import dpmine
from dpmine.errors import BadData, BadParameter
from dpmine.io.source import Columns
from dpmine.itemsets.read import open_transactions
from dpmine.itemsets.transactions.memory import MemoryBudget

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = 400
CUT = {"age": [18, 30, 50]}
INTERVALS = ["age<18", "18<=age<30", "30<=age<50", "age>=50"]


def table() -> pa.Table:
    """Texts with nulls, blanks and question marks, integers, booleans and real numbers."""
    random = np.random.default_rng(7)
    texts = random.choice(np.array(["red", " red ", "green", "?", "", None], dtype=object), ROWS)
    ages = random.choice(np.array([17.9, 18.0, 29.5, 30.0, 50.0, 80.0, None], dtype=object), ROWS)
    return pa.table(
        {
            "who": pa.array(np.arange(ROWS) // 2),
            "colour": pa.array(texts, pa.string()),
            "rooms": pa.array(random.integers(-1, 3, ROWS)),
            "sold": pa.array(random.random(ROWS) < 0.7),
            "age": pa.array(ages, pa.float64()),
        }
    )


def baskets_of(rows: pa.Table) -> list[list[str]]:
    """The items of each row, by hand."""
    found = []
    for row in rows.to_pylist():
        items = [f"rooms={row['rooms']}", f"sold={'true' if row['sold'] else 'false'}"]
        if row["colour"] is not None and row["colour"].strip() not in {"", "?"}:
            items.append(f"colour={row['colour'].strip()}")
        if row["age"] is not None:
            items.append(INTERVALS[sum(row["age"] >= point for point in CUT["age"])])
        found.append(items)
    return found


def counted(baskets: list[list[str]], owners: list[int], size: int) -> dict[frozenset[str], int]:
    """Units of each itemset, by hand."""
    units: dict[frozenset[str], set[int]] = {}
    for owner, basket in zip(owners, baskets, strict=True):
        for itemset in combinations(sorted(set(basket)), size):
            units.setdefault(frozenset(itemset), set()).add(owner)
    return {itemset: len(owned) for itemset, owned in units.items()}


def supports(data: Any, **options: Any) -> dict[frozenset[str], int]:
    given = {"attributes": True, "missing": "?", "cut": CUT, "min_support": 1, **options}
    frame = dpmine.itemset_supports(data, **given)
    return dict(zip(frame.itemsets, frame.support, strict=True))


def _csv(rows: pa.Table, folder: Path) -> str:
    rows.to_pandas().to_csv(folder / "x.csv", index=False)
    text = (folder / "x.csv").read_text(encoding="utf-8").replace("True", "true").replace("False", "false")
    (folder / "x.csv").write_text(text, encoding="utf-8")
    return str(folder / "x.csv")


def _parquet(rows: pa.Table, folder: Path) -> str:
    pq.write_table(rows, folder / "x.parquet", row_group_size=64)
    return str(folder / "x.parquet")


def _cast(rows: pa.Table, name: str, kind: pa.DataType) -> pa.Table:
    return rows.set_column(rows.schema.names.index(name), name, rows.column(name).cast(kind))


def _categories(rows: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = rows.to_pandas()
    return frame.assign(colour=frame.colour.astype("category"))


FORMS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "CSV": _csv,
    "Parquet": _parquet,
    "table": lambda rows, _: rows,
    "dictionaries": lambda rows, _: _cast(rows, "colour", pa.dictionary(pa.int32(), pa.string())),
    "views": lambda rows, _: _cast(rows, "colour", pa.string_view()),
    "single floats": lambda rows, _: _cast(rows, "age", pa.float32()),
    "reader": lambda rows, _: rows.to_reader(max_chunksize=50),
    "pandas": lambda rows, _: rows.to_pandas().astype({"sold": bool}),
    "pandas objects": lambda rows, _: rows.to_pandas(types_mapper=pd.ArrowDtype).astype({"colour": object}),
    "pandas categories": lambda rows, _: _categories(rows),
    "pandas, Arrow types": lambda rows, _: rows.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda rows, _: pl.DataFrame(rows),
    "LazyFrame": lambda rows, _: pl.DataFrame(rows).lazy(),
}


@pytest.mark.filterwarnings("ignore::dpmine.LayoutWarning")
@every("form", FORMS)
def test_exact_supports_are_those_counted_by_hand(form: str, tmp_path: Path) -> None:
    rows = table()
    baskets, make = baskets_of(rows), FORMS[form]
    owners = {"unit": rows.column("who").to_pylist(), None: list(range(ROWS))}
    for unit, owned in owners.items():
        data = make(rows if unit else rows.drop_columns(["who"]), tmp_path)
        assert supports(data, unit="who" if unit else None) == counted(baskets, owned, 2)


def test_chosen_columns_alone_are_attributes() -> None:
    rows = table()
    owners = list(range(ROWS))
    baskets = [[item for item in basket if item.startswith("rooms=")] for basket in baskets_of(rows)]
    for names in (["rooms"], "rooms", ("rooms",)):
        assert supports(rows, attributes=names, cut=None, size=1) == counted(baskets, owners, 1)
    assert supports(rows, attributes="rooms,sold", cut=None, missing=["?", "true"], size=2) == counted(
        [[item for item in basket if item.startswith(("rooms=", "sold=f"))] for basket in baskets_of(rows)], owners, 2
    )


def test_missing_values_of_cut_columns_are_numbers_too() -> None:
    ages = pa.table({"age": [-9, 17, 18, 51]})
    assert supports(ages, missing=["?", "-9.0"], size=1) == {
        frozenset({"age<18"}): 1,
        frozenset({"18<=age<30"}): 1,
        frozenset({"age>=50"}): 1,
    }


@every("cut", [CUT, {"age": ("18", "30", "50")}, {"age": "18,30,50"}, "age=18, 30,50", ["age=18,30,50"]])
def test_cuts_may_be_written_in_several_ways(cut: Any) -> None:
    assert supports(table(), cut=cut, size=1) == supports(table(), size=1)


def test_private_runs_have_the_same_items() -> None:
    rows = table()
    named: dict[str, Any] = {"attributes": True, "missing": "?", "cut": CUT, "unit": "who", "epsilon": 1000}
    best = max(counted(baskets_of(rows), rows.column("who").to_pylist(), 2).items(), key=lambda pair: pair[1])
    assert dpmine.top_itemset(rows, **named).itemset == best[0]
    assert best[0] in set(dpmine.frequent_itemsets(rows, 10, max_size=2, **named))
    assert "sold=true" in dpmine.discover_items(rows, **named).items
    chosen = dpmine.top_itemset(rows, size=1, catalogue=["rooms=0", "rooms=7"], **named)
    assert chosen.itemset == frozenset({"rooms=0"})


@pytest.mark.parametrize("unit", [None, "who"])
def test_tables_larger_than_memory_are_streamed(unit: str | None, tmp_path: Path) -> None:
    """In pieces, and through files."""
    plenty = 100_000_000
    tiny = MemoryBudget(
        whole=0,
        chunk=2_000_000,
        labels=plenty,
        gathered=0,
        all_resident=0,
        resident=200_000,
        projection=1_000_000,
        listing=plenty,
    )
    from dpmine.itemsets.read import read_transactions

    rows = table() if unit else table().drop_columns(["who"])
    pq.write_table(rows, tmp_path / "x.parquet", row_group_size=37)
    columns = Columns.of(unit=unit, attributes=True, missing="?", cut=CUT)
    loaded = read_transactions(tmp_path / "x.parquet", columns, memory=tiny, before_rows=lambda _: None)
    labels = loaded.transactions.labels.to_pylist()
    found = dict(zip(labels, loaded.transactions.supports_of_items().tolist(), strict=True))
    owners = rows.column("who").to_pylist() if unit else list(range(ROWS))
    assert {frozenset({item}): count for item, count in found.items()} == counted(baskets_of(rows), owners, 1)


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no column": ({"attributes": ["colour", "x"]}, BadData, "no column 'x'"),
    "no cut column": ({"cut": {**CUT, "x": [1]}}, BadData, "no column 'x'"),
    "a cut elsewhere": ({"attributes": ["colour"]}, BadData, "`cut` names 'age', which is no attribute"),
    "a unit": ({"attributes": ["who"], "unit": "who", "cut": None}, BadData, "those of the privacy unit are none"),
    "no unit": ({"unit": "x"}, BadData, "no column 'x'"),
    "real numbers": ({"cut": None}, BadData, "Column 'age' has real numbers"),
    "a cut text": ({"cut": {**CUT, "colour": [1]}}, BadData, "`cut` needs numbers"),
    "out of order": ({"cut": {"age": [18, 18]}}, BadParameter, "`cut` must be ascending numbers of 'age'"),
    "no number": ({"cut": {"age": ["x"]}}, BadParameter, "`cut` must be ascending"),
    "infinite": ({"cut": {"age": [1, "inf"]}}, BadParameter, "`cut` must be ascending"),
    "no points": ({"cut": {"age": []}}, BadParameter, "`cut` must be ascending"),
    "no name": ({"cut": "18,30"}, BadParameter, "`cut` must name a column"),
    "twice": ({"cut": ["age=18", "age=30"]}, BadParameter, "`cut` must be different"),
    "no attributes": ({"attributes": None}, BadParameter, "`missing` and `cut` are for tables of attributes"),
    "no text": ({"missing": [1]}, BadParameter, "`missing` must be different texts"),
    "with item": ({"item": "colour"}, BadParameter, "attributes excludes item"),
    "with basket": ({"unit": "who", "basket": "age"}, BadParameter, "attributes excludes item"),
    "with flags": ({"one_hot": True}, BadParameter, "attributes excludes item"),
}


@every("wrong", WRONG)
def test_what_cannot_be_is_said_before_the_charge(wrong: str, tmp_path: Path) -> None:
    options, kind, text = WRONG[wrong]
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/{wrong.replace(' ', '-')}.db")
    ledger.grant("shop", epsilon=10, delta="1e-3")
    given: dict[str, Any] = {"attributes": True, "missing": "?", "cut": CUT, **options}
    with pytest.raises(kind, match=text):
        dpmine.top_itemset(table(), ledger=ledger, dataset="shop", **given)
    assert not [entry for entry in ledger.history("shop") if entry.job]


@every(
    "names",
    [["a", "a=b"], ["age", "18<"], ["age", "x=", "x"], ["age", "age"], ["age", "18<=age"], ["a", "b", "a=", "age"]],
)
def test_items_of_two_columns_are_never_the_same_text(names: list[str]) -> None:
    cut = {name: points for name, points in {"age": [18, 30], "18<=age": [30]}.items() if name in names}
    data = pa.table([pa.array([1.0] if name in cut else ["x"]) for name in names], names=names)
    with pytest.raises(BadData, match=r"could have the same name|Several columns"):
        open_transactions(data, Columns.of(attributes=True, cut=cut))


def test_a_name_with_signs_that_cannot_be_confused_is_a_name() -> None:
    assert supports(pa.table({"income>50K": ["yes"], "a=b": ["c"]}), cut=None) == {
        frozenset({"income>50K=yes", "a=b=c"}): 1
    }


@every("data", [[["a", "b"]], "list column"])
def test_what_is_no_table_of_attributes(data: Any) -> None:
    given = pa.table({"x": [["a"]]}) if data == "list column" else data
    with pytest.raises((BadData, BadParameter), match=r"has no columns|attributes are texts, integers, booleans"):
        dpmine.top_itemset(given, attributes=True)


def test_ragged_rows_are_left_out_whatever_others_hold(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("f,1\nf\nm,2,3\nm,2,\n\nf,9\n", encoding="utf-8")
    data = dpmine.Input(str(path), columns=["sex", "age"])
    found = dpmine.itemset_supports(data, attributes=True, cut="age=5", size=1, min_support=1)
    assert dict(zip(found["itemsets"], found["support"], strict=True)) == {
        frozenset({"sex=f"}): 2,
        frozenset({"sex=m"}): 1,
        frozenset({"age<5"}): 2,
        frozenset({"age>=5"}): 1,
    }


BROKEN = pa.array([b"\xff\xfe", b"ok", None])
TYPES: dict[str, tuple[pa.Array, dict[str, int]]] = {
    "no UTF-8": (BROKEN.view(pa.string()), {"ok": 1, "\ufffd\ufffd": 1}),
    "no UTF-8 in a dictionary": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), BROKEN.view(pa.string())),
        {"ok": 1, "\ufffd\ufffd": 1},
    ),
    "nulls in a dictionary": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["x", None, "x"])),
        {"x": 2},
    ),
    "booleans in a dictionary": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None]), pa.array([True, False])),
        {"true": 2, "false": 1},
    ),
    "without sign": (pa.array([2**64 - 1, None], pa.uint64()), {str(2**64 - 1): 1}),
    "nulls": (pa.nulls(3), {}),
    "no row": (pa.array([], pa.string()), {}),
}


@every("kind", TYPES)
def test_values_of_other_types_are_read_one_by_one(kind: str) -> None:
    column, expected = TYPES[kind]
    found = supports(pa.table({"a": column}), cut=None, size=1)
    assert found == {frozenset({f"a={value}"}): count for value, count in expected.items()}


HOSTILE: dict[str, dict[str, Any]] = {
    "nulls": dict.fromkeys(["who", "colour", "rooms", "sold", "age"]),
    "a new text": {"colour": "x" * 1000},
    "a text too long": {"colour": "x" * 100_000},
    "signs": {"colour": "red=x<18"},
    "an item of another column": {"colour": "rooms=1"},
    "a return": {"colour": "a\nb\r"},
    "NUL": {"colour": "\0"},
    "large": {"rooms": 2**63 - 1, "age": 1e308},
    "NaN": {"age": float("nan")},
    "infinite": {"age": float("-inf")},
}


@pytest.mark.filterwarnings("ignore::dpmine.LayoutWarning")
@every("form", ["Parquet", "table", "pandas objects", "polars"], quick=12)
@every("hostile", HOSTILE)
def test_one_row_changes_nothing_else(form: str, hostile: str, tmp_path: Path) -> None:
    rows, make = table(), FORMS[form]
    own = pa.Table.from_pylist([{**rows.to_pylist()[0], "who": 10_000, **HOSTILE[hostile]}], rows.schema)
    named: dict[str, Any] = {"attributes": True, "missing": "?", "cut": CUT, "unit": "who"}
    expected, _ = seen(make(rows, tmp_path), **named)
    assert seen(make(pa.concat_tables([rows, own]), tmp_path), **named)[0] == expected
    assert seen(make(pa.concat_tables([own, rows]), tmp_path), **named)[0] == expected
    base = supports(make(rows, tmp_path), unit="who", min_support=5)
    after = supports(make(pa.concat_tables([rows, own]), tmp_path), unit="who", min_support=5)
    assert all(after[itemset] - count in {0, 1} for itemset, count in base.items())


LINES = {
    "a word": '9,red,2,true,"old"',
    "a field more": "9,red,2,true,18,x",
    "nothing": "",
    "an open mark": '9,"red,2,true,18',
    "no UTF-8": "9,\udcff\udcfe,2,true,18",
    "too long": f"9,{'x' * 2**20},2,true,18",
    "signs": "9,=,<,>,>=18",
    "a number too large": "9,red,2,true,1e99999",
}


@pytest.mark.filterwarnings("ignore::dpmine.LayoutWarning")
@every("line", LINES)
def test_one_line_of_text_changes_nothing_else(line: str, tmp_path: Path) -> None:
    named: dict[str, Any] = {"attributes": True, "missing": "?", "cut": CUT, "unit": "who"}
    path = tmp_path / "x.csv"
    _csv(table(), tmp_path)
    text, base = path.read_bytes(), supports(str(path), unit="who")
    expected, _ = seen(path, **named)
    head, rest = text.split(b"\n", 1)
    own = LINES[line].encode(errors="surrogateescape") + b"\n"
    for changed in (text + own, head + b"\n" + own + rest):
        path.write_bytes(changed)
        assert seen(path, **named)[0] == expected
        after = supports(str(path), unit="who")
        assert all(after[itemset] - count in {0, 1} for itemset, count in base.items())


def test_names_of_a_text_file_are_not_quoted_unless_they_were_typed(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("alice,red,red\nbob,red,blue\n", encoding="utf-8")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "Several columns have the same name"),
        ({"unit": "who"}, "no column 'who'"),
    ]
    for options, text in wrong:
        with pytest.raises(BadData, match=text) as error:
            dpmine.top_itemset(path, attributes=True, **options)
        assert not {"alice", "red"} & {*str(error.value).replace("'", " ").split()}


def test_a_key_among_the_attributes_is_pointed_at() -> None:
    told: list[str] = []
    dpmine.top_itemset(pa.table({"customer_id": [1, 2], "sex": ["f", "m"]}), attributes=True, notice=told.append)
    assert any("'customer_id' is named like a key, and its values are items" in text for text in told)


@every(
    "typed",
    [["--attributes", "--missing", "?"], ["--missing", "?", "--attributes"], ["--attributes", "colour,rooms,sold,age"]],
)
def test_on_the_command_line(typed: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = _csv(table(), tmp_path)
    asked = ["supports", path, "--unit", "who", "--cut", "age=18,30,50", *typed, "--not-private", "--format", "json"]
    found = outcome_of(capfd)(*asked, "--min-support", "50", "--size", "1")
    assert found.status == 0, found.err
    items = {item for entry in json.loads(found.out)["itemsets"] for item in entry["items"]}
    assert "sold=true" in items
    assert ("colour=?" in items) is ("?" not in typed)


@every("attributes", ["true", '"colour,rooms"', '["colour", "rooms"]'])
def test_in_job_files(attributes: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("colour,rooms\n" + "red,1\n" * 3000, encoding="utf-8")
    job = f'[[job]]\nkind = "top-itemset"\ninput = "{tmp_path}/x.csv"\nattributes = {attributes}\nmissing = "?"\n'
    budget = f'[budget]\nledger = "sqlite:///{tmp_path}/b.db"\ndataset = "shop"\nepsilon = 3\ndelta = 1e-6\n'
    (tmp_path / "jobs.toml").write_text(budget + job, encoding="utf-8")
    dpmine.report(tmp_path / "jobs.toml", tmp_path / "page.html")
    assert "colour=red" in (tmp_path / "page.html").read_text(encoding="utf-8")
