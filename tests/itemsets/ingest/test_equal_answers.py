"""The same rows in every form give the same exact supports and, from the same bits, the same private release."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from support.numpy_bits import NumpyBits
from support.reading import IN_CHUNKS

import dpmine
from dpmine.exact.bits import SystemBits
from dpmine.itemsets.transactions.memory import MemoryBudget

if TYPE_CHECKING:
    from pathlib import Path

    Form = tuple[Any, dict[str, Any]]

ITEMS = list("abcdefgh")
LONG = {"unit": "unit", "item": "item"}


def rows() -> pa.Table:
    """Units in ascending order, each with some of the items, the first ones most often."""
    rng = np.random.default_rng(5)
    held = rng.random((60, len(ITEMS))) < np.linspace(0.9, 0.2, len(ITEMS))
    units, items = np.nonzero(held)
    return pa.table({"unit": [f"u{unit:03}" for unit in units], "item": [ITEMS[item] for item in items]})


def forms(folder: Path) -> dict[str, Form]:
    """All that one table can be given as: the data, and the names of the columns."""
    table = rows()
    paths = {
        name: str(folder / f"rows.{name}") for name in ("parquet", "csv", "tsv", "txt", "arrow", "sqlite", "duckdb")
    }
    pq.write_table(table, paths["parquet"], row_group_size=50)
    pq.write_table(
        table.cast(pa.schema(dict.fromkeys(LONG, pa.binary()))), folder / "bytes.parquet", store_schema=False
    )
    pacsv.write_csv(table, paths["csv"])
    pacsv.write_csv(table, paths["tsv"], pacsv.WriteOptions(delimiter="\t", quoting_style="none"))
    pacsv.write_csv(table, paths["txt"], pacsv.WriteOptions(delimiter=";", include_header=False))
    with pa.ipc.new_file(paths["arrow"], table.schema) as sink:
        sink.write_table(table, max_chunksize=50)
    write_deltalake(folder / "delta", table)
    with closing(sqlite3.connect(paths["sqlite"])) as there, there:
        there.execute("CREATE TABLE rows (unit TEXT, item TEXT)")
        there.executemany("INSERT INTO rows VALUES (?, ?)", zip(*table.to_pydict().values(), strict=True))
    with duckdb.connect(paths["duckdb"]) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    asked, query = "item <> 'x'", "SELECT unit, item FROM {} WHERE item <> 'x'"
    given: dict[str, Any] = {
        "Parquet": paths["parquet"],
        "bytes": dpmine.Input(folder / "bytes.parquet", types="unit=text,item=text"),
        "CSV": paths["csv"],
        "TSV": paths["tsv"],
        "without a header": dpmine.Input(paths["txt"], delimiter=";", columns=("unit", "item")),
        "condition": dpmine.Input(paths["csv"], where=asked),
        "condition on Parquet": dpmine.Input(paths["parquet"], where=asked),
        "statement": dpmine.Input(query=query.format(f"'{paths['csv']}'")),
        "several files": dpmine.Input(query=query.format(f"'{paths['parquet']}'"), database="duckdb:///:memory:"),
        "Arrow": paths["arrow"],
        "Delta": str(folder / "delta"),
        "SQLite": dpmine.Input(query=query.format("rows"), database=f"sqlite:///{paths['sqlite']}"),
        "DuckDB": dpmine.Input(query=query.format("rows"), database=f"duckdb:///{paths['duckdb']}"),
        "table": table,
        "polars": pl.DataFrame(table.to_pydict()),
        "LazyFrame": pl.DataFrame(table.to_pydict()).lazy(),
        "pandas": table.to_pandas(),
    }
    return {**{name: (data, LONG) for name, data in given.items()}, **_with_a_basket_a_row(folder, table)}


def _with_a_basket_a_row(folder: Path, table: pa.Table) -> dict[str, Form]:
    baskets = [
        list(found) for found in table.group_by("unit", use_threads=False).aggregate([("item", "list")])[1].to_pylist()
    ]
    (folder / "rows.dat").write_text("\n".join(map(" ".join, baskets)), encoding="utf-8")
    (folder / "rows.spmf").write_text(
        "".join(f"@ITEM={place}={item}\n" for place, item in enumerate(ITEMS))
        + "\n".join(" ".join(str(ITEMS.index(item)) for item in basket) for basket in baskets),
        encoding="utf-8",
    )
    flags = pa.table({item: [item in basket for basket in baskets] for item in ITEMS})
    values = pa.table({"x": baskets})
    pq.write_table(values, folder / "lists.parquet")
    pq.write_table(flags, folder / "flags.parquet")
    pacsv.write_csv(flags.cast(pa.schema(dict.fromkeys(ITEMS, pa.uint8()))), folder / "flags.csv")
    return {
        "baskets": (str(folder / "rows.dat"), {}),
        "SPMF": (str(folder / "rows.spmf"), {}),
        "lists": (str(folder / "lists.parquet"), {"items": "x"}),
        "flags": (str(folder / "flags.parquet"), {"one_hot": True}),
        "flags of text": (str(folder / "flags.csv"), {"one_hot": True}),
        "Python": (baskets, {}),
    }


def answers(data: Any, columns: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> tuple[object, object]:
    """Exact supports of pairs, and the best three pairs with supports, from bits that are the same each time."""
    bits = NumpyBits(7)
    monkeypatch.setattr(SystemBits, "take", lambda _self, count: bits.take(count))
    exact = dpmine.itemset_supports(data, min_support=5, **columns)
    found = dpmine.top_itemsets(data, 3, epsilon=1, release_support=1, **columns)
    supports = dict(zip(exact["itemsets"], exact["support"].tolist(), strict=True))
    return supports, (found.itemsets, found.noisy_supports)


@pytest.mark.filterwarnings("ignore::dpmine.errors.LayoutWarning")
@pytest.mark.parametrize("budget", [None, IN_CHUNKS], ids=["in memory", "out of core"])
def test_every_form_gives_the_same_answers(
    budget: MemoryBudget | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answers(rows(), LONG, monkeypatch)
    if budget is not None:
        monkeypatch.setattr(MemoryBudget, "of", lambda _memory: budget)
    found = {name: answers(*form, monkeypatch) for name, form in forms(tmp_path).items()}
    assert found == dict.fromkeys(found, expected)
