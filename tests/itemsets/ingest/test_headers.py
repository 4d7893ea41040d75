"""Text files whose header is missing: their first line is data, which no message and no result may quote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from support.cases import every
from support.oracles.ingest import CANARY, refused
from support.reading import exact_supports, read_baskets

import dpmine
from dpmine.errors import BadData
from dpmine.io.source import Columns
from dpmine.itemsets.ingest.column_names import has_known_words_only

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ADULT = f"39, State-gov, 77516, {CANARY}, 13\n50, Private, 83311, x, 13\n"


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], str]:
    def write(content: str) -> str:
        path = tmp_path / "given.csv"
        path.write_text(content)
        return str(path)

    return write


@every(
    ("content", "hint"),
    [
        (ADULT, "A column is named like a number in the header"),
        (f"{CANARY},n,n,m\na,1,0,0\n", "Several columns have the same name in the header"),
        (f"{CANARY},,x\na,1,0\n", "A column has no name in the header"),
        (f"{CANARY},2026-11-23\na,1\n", "A column is named like a number in the header"),
        (f"user17{CANARY},milk\n1,1\n", "A column is named like a privacy unit"),
    ],
)
def test_a_first_line_like_data_is_rejected_as_names_of_items(content: str, hint: str, tmp_path: Path) -> None:
    """They would be released as items. Its fields alone decide; the error quotes none, and nothing is charged."""
    path, told = tmp_path / "given.csv", list[str]()
    path.write_text(content)
    with refused(BadData, hint):
        dpmine.itemset_supports(path, size=1, one_hot=True)
    with refused(BadData, hint):
        dpmine.top_itemset(path, size=1, one_hot=True, notice=told.append)
    assert told == []


def test_one_item_with_a_delimiter_in_its_name_is_an_item_where_an_option_names_a_column(
    written: Callable[[str], str],
) -> None:
    """The header has two columns: nothing says that it was split at the wrong character."""
    path = written("who,bread|butter\na,1\nb,1\n")
    found = dpmine.itemset_supports(path, size=1, unit="who", one_hot=True)
    assert dict(zip(found.itemsets, found.support.tolist(), strict=True)) == {frozenset(["bread|butter"]): 2}


def test_names_like_numbers_are_items_where_an_option_names_a_column(written: Callable[[str], str]) -> None:
    """Then the first line is a header: a one-hot table of products with numbers is no mistake."""
    path = written("who,17,4\na,1,0\nb,1,1\n")
    assert exact_supports(path, unit="who", one_hot=True) == {frozenset(["17"]): 2, frozenset(["4"]): 1}
    with refused(BadData, "A column has no name"):
        read_baskets(written(",who,tea\n0,a,1\n"), Columns(unit=("who",), one_hot=True))  # as pandas writes an index


@every(
    "first", [f"user17,{CANARY}", f"user,{CANARY}", "customer,milk", f"{CANARY},user", "user_smith,item", "user,item2"]
)
def test_two_columns_are_not_found_by_names_that_may_be_data(first: str, tmp_path: Path) -> None:
    """The layout's line and the guarantee would name them. Tables with a schema are found as before."""
    path = tmp_path / "given.csv"
    path.write_text(f"{first}\na,b\n")
    with refused(BadData, "`unit='COL'` `item='COL'`"):
        read_baskets(str(path), Columns())
    known = read_baskets(
        pa.table({name: ["a"] for name in first.replace("user,item2", "user,x").split(",")}), Columns()
    )
    assert "by the names" in known.description


@every("name", ["customer_id", "CustomerID", "products", "id", "unit", "productname"])
@every("other", ["user17", "", "-", "smith_id", "StockCode"])
def test_names_of_known_words(name: str, other: str) -> None:
    assert has_known_words_only(name)
    assert not has_known_words_only(other)


def test_a_layout_by_known_words_needs_no_option(written: Callable[[str], str]) -> None:
    read = read_baskets(written("customer_id,product\na,b\n"), Columns())
    assert read.description == "long layout: item = product, unit = customer_id (by the names of the columns)"


@every(
    "columns",
    [
        {},
        {"item": "x"},
        {"unit": "x"},
        {"unit": "page", "item": "x"},
        {"unit": "page"},
        {"one_hot": True, "unit": "page"},
    ],
)
def test_no_message_names_a_column_that_only_the_header_names(columns: dict[str, Any], tmp_path: Path) -> None:
    """Errors and cautions: people among the items, keys among one-hot columns."""
    path, told = tmp_path / "given.csv", list[str]()
    path.write_text(f"page,client{CANARY}\na,1\n")
    try:
        dpmine.top_itemset(path, **columns, size=1, notice=told.append)
    except BadData as error:
        told.append(str(error))
    assert told
    assert not [text for text in told if CANARY in text and "layout: item" not in text]


def test_advice_on_text_does_not_offer_one_hot_for_lists(written: Callable[[str], str]) -> None:
    with refused(BadData, "`one_hot=True` is not for lists of items"):
        read_baskets(written("bread,milk,tea\nbeer\n"), Columns())


@every("kind", [pa.map_(pa.string(), pa.int64()), pa.struct([("a", pa.int64())]), pa.float64()])
def test_a_column_that_cannot_hold_items_is_said_before_the_unit_is_missed(kind: pa.DataType) -> None:
    table = pa.table({"a": [1], "m": pa.nulls(1, kind), "b": [1]})
    with refused(BadData, "Column 'm' has items of the type"):
        read_baskets(table, Columns(item="m"))
