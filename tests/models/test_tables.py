from __future__ import annotations

import warnings
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every

from dpmine import BadData, BadParameter, LayoutWarning, PrivateLogisticRegression, PrivateSearchCV, UnreadableFile
from dpmine.io.atomic import require_apart
from dpmine.models.tables import fit_table, read_columns, require_columns, typed_labels

if TYPE_CHECKING:
    from pathlib import Path

TABLE = pa.table(
    {
        "whole": pa.array([1, None, 3], pa.int32()),
        "real": [0.5, None, -2.0],
        "flag": [True, None, False],
        "money": pa.array([Decimal("1.25"), None, Decimal("3.00")], pa.decimal128(10, 2)),
        "nothing": pa.nulls(3),
        "coded": pa.array([7, 8, 7], pa.int64()).dictionary_encode(),
        "label": ["yes", "no", "yes"],
        "text": pa.array(["yes", "no", "yes"]).dictionary_encode(),
        "sure": [True, False, True],
        "sign": [-1.0, 1.0, -1.0],
        "hole": [0.0, float("nan"), 1.0],
        "half": [0.0, 0.5, 1.0],
        "endless": pa.array([0, 1, float("inf")], pa.float32()),
        "gap": ["yes", None, "no"],
        "day": pa.array([1, 2, 3], pa.date32()),
        "large": pa.array([2**64 - 1, 0, 1], pa.uint64()),
    }
)


@every(
    ("name", "expected"),
    [
        ("whole", [1, np.nan, 3]),
        ("real", [0.5, np.nan, -2]),
        ("flag", [1, np.nan, 0]),
        ("money", [1.25, np.nan, 3]),
        ("nothing", [np.nan] * 3),
        ("coded", [7, 8, 7]),
        ("large", [2.0**64, 0, 1]),
    ],
)
def test_numbers(name: str, expected: list[float]) -> None:
    values = read_columns(TABLE, [name])[name]
    assert values.dtype == np.float64
    assert values == pytest.approx(expected, nan_ok=True)


@every(
    ("name", "expected"),
    [
        ("label", ["yes", "no", "yes"]),
        ("text", ["yes", "no", "yes"]),
        ("sure", [True, False, True]),
        ("sign", [-1.0, 1.0, -1.0]),
        ("coded", [7, 8, 7]),
    ],
)
def test_labels(name: str, expected: list[Any]) -> None:
    assert read_columns(TABLE, [], labels=[name])[name].tolist() == expected


def test_several_columns_at_once_and_one_in_both_roles() -> None:
    read = read_columns(TABLE, ["real", "whole"], labels=["label"])
    assert list(read) == ["real", "whole", "label"]


@every("data", [TABLE, TABLE.to_reader(), TABLE.to_pandas(), pl.DataFrame(TABLE)])
def test_every_kind_of_table(data: Any) -> None:
    assert read_columns(data, ["real"])["real"] == pytest.approx([0.5, np.nan, -2], nan_ok=True)


def test_files(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.parquet" for i in range(2)]
    for path in paths:
        pq.write_table(TABLE, path)
    shares: list[float] = []
    assert len(read_columns(paths, ["real"], progress=shares.append)["real"]) == 6
    assert shares[-1] == 1
    assert len(read_columns(str(paths[0]), ["real"])["real"]) == 3
    with pytest.raises(UnreadableFile):
        read_columns(str(tmp_path / "none.parquet"), ["real"])


@every(
    ("numbers", "labels", "hint"),
    [
        (["label"], [], "'label' holds string, not numbers"),
        (["day"], [], "days"),
        (["height"], [], "There is no column 'height'"),
        ([], ["gap"], "without a label.*classes=\\['A', 'B'\\]"),
        ([], ["real"], "without a label"),
        ([], ["hole"], "without a label"),
        ([], ["half"], "not whole"),
        ([], ["endless"], "not whole"),
        ([], ["day"], "labels are"),
        ([], ["large"], "64 bits"),
    ],
)
def test_errors_name_the_column_and_no_value(numbers: list[str], labels: list[str], hint: str) -> None:
    with pytest.raises(BadData, match=hint) as caught:
        read_columns(TABLE, numbers, labels=labels)
    assert "yes" not in str(caught.value)
    assert "1844674" not in str(caught.value)


def test_columns_of_the_same_name() -> None:
    twins = pa.table([[1.0], [2.0]], names=["a", "a"])
    with pytest.raises(BadData, match="several columns"):
        read_columns(twins, ["a"])


@pytest.mark.parametrize("data", [[["bread"], ["tea"]], 3, {"a": [1]}], ids=str)
def test_what_is_no_table(data: Any) -> None:
    with pytest.raises(BadParameter):
        read_columns(data, ["a"])


def test_an_empty_table() -> None:
    assert read_columns(pd.DataFrame({"a": np.zeros(0)}), ["a"])["a"].shape == (0,)


def test_files_to_write_are_apart_from_one_another_and_from_what_is_read(tmp_path: Path) -> None:
    data, other, link = (tmp_path / name for name in ("data.parquet", "other.parquet", "link.parquet"))
    pq.write_table(TABLE, data)
    pq.write_table(TABLE, other)
    link.symlink_to(data)
    require_apart({"--one": other, "--two": tmp_path / "new", "--three": None}, [data])
    with pytest.raises(BadParameter, match="--one and --two name the same file"):
        require_apart({"--one": tmp_path / "new", "--two": tmp_path / "x" / ".." / "new"}, [data])
    for read in (data, link, tmp_path, tmp_path / "da*", f"file://{data}"):
        for target in (data, link):
            with pytest.raises(BadParameter, match="--one names one of the input files"):
                require_apart({"--one": target}, [other, read])


@every(
    ("new", "read"),
    [("new.parquet", ""), ("sub/../new.PQ", "sub/.."), ("sub/new.parquet", ""), ("new.parquet", "*"), ("a.x", "?.x")],
)
def test_a_new_file_is_none_that_the_next_run_reads(tmp_path: Path, new: str, read: str) -> None:
    (tmp_path / "sub").mkdir()
    pq.write_table(TABLE, tmp_path / "data.parquet")
    with pytest.raises(BadParameter, match="--one is a new file among the inputs"):
        require_apart({"--one": tmp_path / new}, [tmp_path / read])


def test_new_files_that_no_run_reads(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    pq.write_table(TABLE, tmp_path / "data" / "a.parquet")
    for new, read in [("data/new.json", "data"), ("new.parquet", "data"), ("new.parquet", "data/*"), ("b", "data/a*")]:
        require_apart({"--one": tmp_path / new}, [tmp_path / read, "s3://bucket/*"])


def test_a_unit_with_a_column_is_not_asserted() -> None:
    for check in (read_columns, require_columns):
        with pytest.raises(BadParameter, match=r"column 'text': name it as the privacy unit \(`unit='text'`\)"):
            check(TABLE, ["real"], asserted="text")
        check(TABLE, ["real"], asserted="patient")


def test_columns_that_are_missing_are_named_together() -> None:
    with pytest.raises(BadData, match="There are no columns 'height', 'size'"):
        require_columns(TABLE, ["height", "real", "size"])


def test_labels_that_are_no_text_are_rejected() -> None:
    """A damaged file can hold bytes that are not UTF-8 in a column of texts; Python's error would quote them."""
    buffers = [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    broken = pa.table({"who": pa.Array.from_buffers(pa.string(), 1, buffers)})
    with pytest.raises(BadData, match="not valid UTF-8") as caught:
        read_columns(broken, [], labels=["who"])
    assert "xff" not in str(caught.value)


@every(
    "column",
    [
        pa.array(["yes", None, "no", "maybe"]),
        pa.array(["yes", None, "no"]).dictionary_encode(),
        pa.array([1, None, 2**63, 0], pa.uint64()),
        pa.array([0.5, None, float("nan"), 1.0]),
        pa.array([True, None, False]),
        pa.array([b"yes", b"\xff"]).view(pa.string()),
    ],
)
def test_no_label_of_one_row_causes_an_error_where_the_classes_are_known(column: pa.Array) -> None:
    read = read_columns(pa.table({"y": column}), [], labels=["y"], any_label=True)["y"]
    assert len(read) == len(column)
    assert (read[1] is None) is (not column[1].is_valid)


@every(
    ("column", "texts", "expected"),
    [
        (pa.array(["a"]), ["no", "yes"], ["no", "yes"]),
        (pa.array([1]), ["0", "1"], [0, 1]),
        (pa.array([1.0]), ["0", "1"], [0.0, 1.0]),
        (pa.array([True]), ["false", "True"], [False, True]),
    ],
)
def test_labels_given_as_texts_have_the_type_of_the_column(
    column: pa.Array, texts: list[str], expected: list[Any]
) -> None:
    found = typed_labels(pa.table({"y": column}), "y", texts)
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))


def test_labels_that_the_column_cannot_hold_are_rejected() -> None:
    for column in (pa.array([1]), pa.array([True]), pa.array([1.0])):
        with pytest.raises(BadParameter, match="classes must be labels that column 'y' can hold"):
            typed_labels(pa.table({"y": column}), "y", ["no", "yes"])


def test_a_search_takes_any_label_where_its_estimator_knows_the_classes() -> None:
    table = pa.table({"age": [20.0, 50.0, 30.0, 60.0] * 25, "ill": ["no", "yes", None, "yes"] * 25})
    model = PrivateLogisticRegression(feature_bounds=(0, 100), classes=["no", "yes"])
    search = PrivateSearchCV(model, {"lambdas": [0.1, 1]}, runs=2)
    assert fit_table(search, table, features=["age"], label="ill").guarantee_.unit == "row"


def test_a_column_that_is_named_like_people_is_noticed() -> None:
    """By its name alone, and not where somebody said what is protected."""
    table = pa.table({"age": [20.0], "patient_id": [1]})
    with pytest.warns(LayoutWarning, match="`unit='patient_id'`"):
        read_columns(table, ["age"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_columns(table, ["age"], keys=["patient_id"])
        read_columns(table, ["age"], asserted="visit")


def test_numbers_and_people_in_text_are_noticed_without_the_names_of_a_header(tmp_path: Path) -> None:
    """The header may be a row; what is said is the same whatever the rows hold."""
    path = tmp_path / "a.csv"
    for rows in ("", "n/a,1\n", "20,1\n"):
        path.write_text(f"age,patient_id\n{rows}")
        with pytest.warns(LayoutWarning) as found:
            read_columns(str(path), ["age"])
        first, second, third = (str(warning.message) for warning in found)
        assert "a column is named like people" in first
        assert "`unit=COL`" in first
        assert "each line of text is a row" in second
        assert "does not fit its type counts as missing" in third
        assert "patient" not in first + second + third
