"""Matrices with named columns, and series of lists: what is a basket follows from types, and no value stops a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from support.cases import every
from support.hostile.neighbours import seen

import dpmine
from dpmine.errors import BadData, BadParameter
from dpmine.io.open import open_source
from dpmine.io.source import Columns

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ["bread", "milk", "tea"]
FLAGS = np.array([[1, 1, 0], [0, 0, 0], [0, 1, 1]])
LISTS = [["bread", "milk"], [], ["milk", "tea"]]
MATRICES: dict[str, Callable[[Any], Any]] = {
    "integers": np.asarray,
    "booleans": lambda flags: np.asarray(flags) > 0,
    "floats": lambda flags: np.asarray(flags) / 2,
    "by columns": np.asfortranarray,
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "coo": sparse.coo_matrix,
    "lil": sparse.lil_matrix,
    "booleans, csr": lambda flags: sparse.csr_array(np.asarray(flags) > 0),
}


def lists(data: Any, **named: Any) -> list[Any]:
    source = open_source(data, Columns.of(**named))
    return [row for batch in source.batches(source.names) for row in batch.column(0).to_pylist()]


@every("form", MATRICES)
@every("names", [NAMES, tuple(NAMES), np.array(NAMES), pd.Index(NAMES), [3, 5, 7]])
def test_rows_are_baskets(form: str, names: Any) -> None:
    made = MATRICES[form](FLAGS)
    found = lists(made, items=names)
    expected = LISTS if "bread" in list(names) else [[3, 5], [], [5, 7]]
    assert [sorted(row) for row in found] == expected


@every("form", MATRICES)
def test_calls_take_them(form: str) -> None:
    data = MATRICES[form](np.tile(FLAGS, (2000, 1)))
    assert dpmine.top_itemset(data, items=NAMES, size=1).itemset == frozenset({"milk"})
    frame = dpmine.itemset_supports(data, items=NAMES, size=2)
    assert dict(zip(map(frozenset, frame.itemsets), frame.support, strict=True)) == {
        frozenset({"bread", "milk"}): 2000,
        frozenset({"milk", "tea"}): 2000,
    }
    assert dpmine.discover_items(data, items=NAMES).items == tuple(NAMES)
    assert set(dpmine.frequent_itemsets(data, 3000, items=NAMES, epsilon=5)) == {frozenset({"milk"})}


def test_cells_that_are_given_twice_or_hold_nothing() -> None:
    matrix = sparse.csr_matrix((np.array([1, -1, 2, 0]), np.array([0, 0, 1, 2]), np.array([0, 2, 4])), shape=(2, 3))
    before = matrix.data.copy()
    assert lists(matrix, items=NAMES) == [[], ["milk"]]
    assert matrix.data.tolist() == before.tolist()
    assert lists(np.array([[np.nan, np.inf, -1.0]]), items=NAMES) == [["milk"]]


@every(
    ("data", "items", "error", "text"),
    [
        (FLAGS, NAMES[:2], BadData, "items must have a different name for each of the 3 columns"),
        (FLAGS, ["a", "a", "b"], BadData, "different name for each"),
        (FLAGS, ["a", 1, "b"], BadData, "The names in items"),
        (FLAGS[0], NAMES, BadData, "two dimensions"),
        (FLAGS.astype(object), NAMES, BadData, "booleans or numbers"),
        (FLAGS.astype(str), NAMES, BadData, "booleans or numbers"),
        ([["bread"]], NAMES, BadParameter, "is for matrices of numpy and scipy"),
        (pa.table({"a": [True]}), NAMES, BadParameter, "is for matrices"),
        ("x.csv", NAMES, BadParameter, "is for matrices"),
        (FLAGS, [], BadParameter, "items must be a column name"),
        (FLAGS, 5, BadParameter, "items must be a column name"),
        (FLAGS, None, BadData, "the names of its columns, items="),
        (sparse.csr_matrix(FLAGS), None, BadData, "the names of its columns, items="),
    ],
)
def test_what_is_rejected(data: Any, items: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        dpmine.top_itemset(data, items=items)


def test_a_matrix_has_no_column_of_units() -> None:
    with pytest.raises(BadData, match="no column 'who'"):
        dpmine.top_itemset(FLAGS, items=NAMES, unit="who")


@every("row", [[0, 0, 0], [1, 1, 1], [-5, 0, 9], [2**62, 0, 0]])
@every("form", ["integers", "csr"])
def test_one_row_changes_nothing_else(row: list[int], form: str) -> None:
    flags = np.tile(FLAGS, (20, 1))
    expected, _ = seen(MATRICES[form](flags), items=NAMES)
    for changed in (np.vstack([flags, row]), np.vstack([row, flags])):
        assert seen(MATRICES[form](changed), items=NAMES)[0] == expected


@every("dtype", [object, pd.ArrowDtype(pa.list_(pa.string())), pd.ArrowDtype(pa.large_list(pa.string()))])
def test_series_of_lists_are_baskets(dtype: Any) -> None:
    series = pd.Series(LISTS * 1000, dtype=dtype, index=range(5, 3005), name="basket")
    assert dpmine.top_itemset(series, size=1).itemset == frozenset({"milk"})
    assert dpmine.itemset_supports(series, size=1).support.tolist() == [2000, 1000, 1000]


ENTRIES: dict[str, Any] = {
    "none": None,
    "NaN": float("nan"),
    "a text": "bread,milk",
    "a number": 2.5,
    "a set": {1, "x"},
}


@every("entry", ENTRIES)
def test_one_entry_of_a_series_changes_nothing_else(entry: str) -> None:
    expected, _ = seen(pd.Series(LISTS * 20, dtype=object))
    assert seen(pd.Series([ENTRIES[entry], *LISTS * 20], dtype=object))[0] == expected


@every(
    "series",
    [pd.Series([1, 2]), pd.Series([1.5]), pd.Series(["a"], dtype="category"), pd.Series([True]), pl.Series([["a"]])],
)
def test_other_series_are_rejected_by_their_type(series: Any) -> None:
    with pytest.raises(BadData, match="A Series is not a table"):
        dpmine.top_itemset(series)
