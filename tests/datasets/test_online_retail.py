"""The reduced Online Retail table and the script that made it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from support.datasets import shared_path

FOLDER = Path(__file__).resolve().parents[2] / "datasets"


def _load() -> Any:
    """The script as a module: `datasets` is a folder of files, not a package."""
    spec = importlib.util.spec_from_file_location("prepare_online_retail", FOLDER / "prepare_online_retail.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


prepare = _load()


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return pq.read_table(FOLDER / "online_retail.parquet")


def test_all_rows_are_there_with_nulls_and_cancellations(table: pa.Table) -> None:
    assert table.num_rows == 541_909
    assert table["CustomerID"].null_count == 135_080
    assert table["Description"].null_count == 1_454
    assert pc.count_distinct(table["InvoiceNo"]).as_py() == 25_900
    assert pc.any(pc.starts_with(table["InvoiceNo"], "C")).as_py()


def test_item_and_stock_code_determine_each_other(table: pa.Table) -> None:
    pairs = table.group_by(["StockCode", "Item"]).aggregate([])
    assert pairs.num_rows == 4_070
    assert pc.count_distinct(table["Item"]).as_py() == 4_070
    assert pc.count_distinct(table["StockCode"]).as_py() == 4_070
    assert table["Item"].null_count == 0


def test_made_from_the_original(table: pa.Table) -> None:
    original = pq.read_table(shared_path("data/online_retail.parquet"))
    assert prepare.reduced(original).equals(table)


def test_item_names() -> None:
    lines = [
        ("1", "RED MUG"),
        ("1", " BLUE MUG "),
        ("1", "BLUE MUG"),
        ("2", "TEAPOT"),
        ("2", "COFFEE POT"),
        ("3", None),
        ("4", "TRAY"),
        ("5", "TRAY "),
    ]
    original = pa.table(
        {
            "InvoiceNo": ["536365"] * len(lines),
            "StockCode": [code for code, _ in lines],
            "Description": pa.array([text for _, text in lines], pa.string()),
            "CustomerID": pa.array([None] * len(lines), pa.int32()),
        }
    )
    names = prepare.reduced(original)["Item"].to_pylist()
    assert names == ["BLUE MUG"] * 3 + ["COFFEE POT"] * 2 + ["3", "TRAY (4)", "TRAY (5)"]
