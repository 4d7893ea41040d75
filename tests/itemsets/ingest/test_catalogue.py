"""Public item lists: files, sequences and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import every
from support.oracles.ingest import CANARY, refused
from support.reading import read_baskets

from dpmine.errors import BadData, BadParameter, UnreadableFile
from dpmine.io.source import Columns
from dpmine.itemsets.ingest.catalogue import read_catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def text_file(folder: Path, content: str | bytes) -> Path:
    path = folder / "items.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@every(
    ("content", "items"),
    [
        ("b\na\n", ["a", "b"]),
        ("b\r\na", ["a", "b"]),
        ("﻿b\na\n", ["a", "b"]),
        ("\nb\n\n\na\n\n", ["a", "b"]),
        (" b \na b\n", [" b ", "a b"]),
        ("10\n9\n", ["10", "9"]),
        ("x\u2028y\x0bz\nw", ["w", "x\u2028y\x0bz"]),
    ],
)
def test_text_files(tmp_path: Path, content: str, items: list[str]) -> None:
    path = text_file(tmp_path, content)
    for source in (path, str(path), f"file://{path}"):
        assert read_catalogue(source).to_pylist() == items


@every(
    "column",
    [
        pa.array(["b", "a"]),
        pa.array(["b", "a"], pa.large_string()),
        pa.array(["b", "a"], pa.string_view()),
        pa.array(["b", "a"]).dictionary_encode(),
    ],
)
def test_parquet_files_and_arrays(tmp_path: Path, column: pa.Array) -> None:
    pq.write_table(pa.table({"item": column}), tmp_path / "items.parquet")
    for source in (tmp_path / "items.parquet", column, pa.chunked_array([column[:1], column[1:]])):
        assert read_catalogue(source) == pa.array(["a", "b"])


@every("kind", [pa.int8(), pa.uint64(), pa.int64(), pa.dictionary(pa.int8(), pa.int32())])
def test_integers(kind: pa.DataType) -> None:
    values = pa.array([3, 1, 2])
    column = values.cast(pa.int32()).dictionary_encode() if pa.types.is_dictionary(kind) else values.cast(kind)
    assert read_catalogue(column) == pa.array([1, 2, 3])


@every(
    "source",
    [[3, 1], (1, 3), {1, 3}, range(1, 4, 2), iter([3, 1]), np.array([3, 1]), pd.Series([3, 1]), pd.Index([3, 1])],
)
def test_sequences(source: object) -> None:
    assert read_catalogue(source) == pa.array([1, 3])


@given(st.sets(st.one_of(st.text(max_size=3)), min_size=1))
def test_texts_are_sorted_by_code_point(items: set[str]) -> None:
    assert read_catalogue(items).to_pylist() == sorted(items)


@given(st.sets(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_reading_twice_changes_nothing(items: set[int]) -> None:
    once = read_catalogue(items)
    assert once.to_pylist() == sorted(items)
    assert read_catalogue(once) == once


@every(
    ("source", "words"),
    [
        ([], ["empty"]),
        (pa.nulls(0), ["empty"]),
        ([CANARY, CANARY], ["repeats"]),
        ([1, 1], ["repeats"]),
        ([CANARY, None], ["without a value"]),
        (pa.array([CANARY, None]), ["without a value"]),
        (pa.nulls(2), ["without a value"]),
        ([CANARY, 1], ["mix"]),
        ([1.5], ["float"]),
        ([True], ["bool"]),
        (pa.array([1.5]), ["double"]),
        (pa.array([[CANARY]]), ["list of string"]),
        ([2**63], ["int64"]),
        (pa.array([2**63], pa.uint64()), ["int64"]),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([CANARY, None])), ["without a value"]),
    ],
)
def test_what_is_no_catalogue(source: Any, words: Iterable[str]) -> None:
    with refused(BadData, "catalogue", *words):
        read_catalogue(source)


@every("source", [None, 3, b"x", {CANARY: 1}])
def test_what_is_no_source(source: object) -> None:
    with refused(BadParameter, "catalogue", type(source).__name__, "give a path"):
        read_catalogue(source)


@pytest.mark.parametrize(("content", "word"), [("", "empty"), ("\n\n", "empty"), (f"{CANARY}\n{CANARY}\n", "repeats")])
def test_files_that_are_no_catalogue(tmp_path: Path, content: str, word: str) -> None:
    with refused(BadData, "items.txt", word):
        read_catalogue(text_file(tmp_path, content))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with refused(UnreadableFile, "nothing.txt", "does not exist"):
        read_catalogue(tmp_path / "nothing.txt")
    with refused(UnreadableFile, "cannot be read"):
        read_catalogue(tmp_path)
    with refused(UnreadableFile, "items.txt", "UTF-8"):
        read_catalogue(text_file(tmp_path, CANARY.encode() + b"\xff"))
    with refused(UnreadableFile, "items.txt", "of another form"):
        read_catalogue(text_file(tmp_path, b"PAR1" + CANARY.encode()))
    (tmp_path / "items.parquet").write_text(CANARY)
    with refused(UnreadableFile, "items.parquet", "no Parquet file"):
        read_catalogue(tmp_path / "items.parquet")


def test_parquet_files_with_several_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"item": [CANARY], "price": [1]}), tmp_path / "items.parquet")
    with refused(BadData, "items.parquet", "one column", "'item', 'price'"):
        read_catalogue(tmp_path / "items.parquet")


def test_a_text_file_of_integers_matches_integer_items(tmp_path: Path) -> None:
    catalogue = read_catalogue(text_file(tmp_path, "10\n9\n8\n"))
    table = pa.table({"u": [1, 1, 2], "i": [9, 10, 1]})
    numbers = read_baskets(table, Columns(unit=("u",), item="i"), catalogue=catalogue).baskets
    assert numbers.labels == pa.array([8, 9, 10])
    assert (numbers.unit_count, numbers.total_units) == (1, 2)
    texts = read_baskets([["9", "x"]], Columns(), catalogue=catalogue).baskets
    assert texts.labels == pa.array(["10", "8", "9"])


@pytest.mark.parametrize("data", [[], [[]], pa.table({"user": pa.nulls(2), "i": pa.nulls(2)})])
def test_no_items_at_all(data: object) -> None:
    baskets = read_baskets(data, Columns(), catalogue=pa.array(["a"])).baskets
    assert (baskets.labels, baskets.unit_count) == (pa.array(["a"]), 0)
