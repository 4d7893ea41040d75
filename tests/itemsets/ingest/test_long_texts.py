"""Keys and items beyond a public length count as null, and what cannot fit into memory is rejected before a charge."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.oracles.ingest import contents

import dpmine
from dpmine.errors import BadData, BadParameter, UnreadableFile
from dpmine.io.arrow import LONGEST_TEXT
from dpmine.io.source import Columns
from dpmine.itemsets.ingest.catalogue import read_catalogue
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.transactions.memory import MemoryBudget

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONG = "\N{GREEK SMALL LETTER EPSILON}" * (LONGEST_TEXT // 2) + "x"  # one byte too long
FITS = "\N{GREEK SMALL LETTER EPSILON}" * (LONGEST_TEXT // 2)
LIMITS = {"in memory": None, "streamed": replace(MemoryBudget.of("64MB"), whole=10**6)}
KINDS = [pa.string(), pa.large_string(), pa.string_view()]
KINDS += [pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int32(), pa.large_string())]
UNITS = ["a", "a", LONG, "b", FITS, None, "c"] * 3
BASKETS = ["1", LONG, "1", "1", "1", "1", FITS] * 3
ITEMS = ["x", "y", "z", LONG, FITS, "v", "w"] * 3


def without(values: list[str | None]) -> list[str | None]:
    return [None if value == LONG else value for value in values]


def found(data: Any, columns: Columns, limit: Any) -> Any:
    return contents(read_transactions(data, columns, memory=limit).transactions)


@every("limit", LIMITS)
@every("kind", KINDS)
def test_long_keys_and_items_count_as_null(limit: str, kind: pa.DataType) -> None:
    columns = Columns(unit=("u",), basket=("b",), item="i")

    def table(change: Callable[[list[Any]], list[Any]]) -> pa.Table:
        parts = {"u": change(UNITS), "b": change(BASKETS), "i": change(ITEMS)}
        return pa.table({name: pa.array(values).cast(kind) for name, values in parts.items()})

    bound = LIMITS[limit]
    assert found(table(list), columns, bound) == found(table(without), columns, None)
    assert any(FITS in basket for unit in found(table(list), columns, bound) for basket in unit)


@pytest.mark.parametrize("limit", LIMITS)
def test_long_items_in_lists_count_as_null(tmp_path: Path, limit: str) -> None:
    lists = [["x", LONG], [LONG], None, ["y", None, FITS]] * 5
    pq.write_table(pa.table({"items": lists}), tmp_path / "lists.parquet")
    read = found(tmp_path / "lists.parquet", Columns(items="items"), LIMITS[limit])
    expected: list[Any] = [[("x",)], [tuple(sorted(["y", FITS]))]] * 5
    assert read == sorted(expected)


def test_a_catalogue_has_no_item_that_counts_as_null(tmp_path: Path) -> None:
    (tmp_path / "items.txt").write_text(f"a\n{FITS}\n", encoding="utf-8")
    assert len(read_catalogue(tmp_path / "items.txt")) == 2
    (tmp_path / "items.txt").write_text(f"a\n{LONG}\n", encoding="utf-8")
    with pytest.raises(BadData, match="more than 4,096 bytes"):
        read_catalogue(tmp_path / "items.txt")


def uncharged(data: Any, columns: Columns, **options: Any) -> None:
    """Read, with a charge that fails the test."""

    def charge(_plan: Any) -> None:
        raise AssertionError

    read_transactions(data, columns, before_rows=charge, **options)


@pytest.mark.parametrize("column", [pytest.param("u", marks=pytest.mark.slow), "i.e"])
def test_a_row_group_beyond_the_limit_is_rejected_before_the_charge(tmp_path: Path, column: str) -> None:
    """Whatever the file's own size: what one value needs is known from the footer."""
    columns = Columns(unit=("u",), item="i.e")
    texts = {"u": ["a", "b"], "i.e": ["x", "y"], "other": ["z" * 10**8, ""]}
    pq.write_table(pa.table(texts), tmp_path / "small.parquet")
    read_transactions(tmp_path / "small.parquet", columns, memory="64MB")
    pq.write_table(pa.table({**texts, column: ["x" * 10**8, "y"]}), tmp_path / "large.parquet")
    with pytest.raises(UnreadableFile, match="row group that does not fit into the memory limit"):
        uncharged([tmp_path / "small.parquet", tmp_path / "large.parquet"], columns, memory="64MB")


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.string())], ids=str)
def test_lists_beyond_the_limit_are_rejected_before_the_charge(tmp_path: Path, kind: pa.DataType) -> None:
    lists = pa.array([["x" * 10**8], ["y"]], kind)
    pq.write_table(pa.table({"items": lists}), tmp_path / "large.parquet")
    with pytest.raises(UnreadableFile, match="row group that does not fit into the memory limit"):
        uncharged(tmp_path / "large.parquet", Columns(items="items"), memory="64MB")


def test_a_catalogue_beyond_the_limit_is_rejected_before_the_charge() -> None:
    table = pa.table({"u": [1], "i": [1]})
    catalogue = read_catalogue(range(200_000))
    with pytest.raises(BadParameter, match="catalogue does not fit into the memory limit"):
        uncharged(table, Columns(unit=("u",), item="i"), memory="64MB", catalogue=catalogue)
    read_transactions(table, Columns(unit=("u",), item="i"), memory="200MB", catalogue=catalogue)


def test_long_items_of_python_count_as_null() -> None:
    """Also where integers stand beside them."""
    for more in ([], [7]):
        supports = dpmine.itemset_supports([["x", LONG, *more], ["x", FITS, *more]], size=1, min_support=1)
        assert set(supports["itemsets"]) == {frozenset([item]) for item in ["x", FITS, *more]}
