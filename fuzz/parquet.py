"""Targets: Parquet files, mutated; a reference reads with pyarrow what pyarrow can read."""

from __future__ import annotations

import io
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dpmine
from dpmine.itemsets.ingest.catalogue import read_catalogue
from dpmine.models.tables import read_columns as read_table_columns
from fuzz.mutations import deep_nesting, mutated
from fuzz.oracle import CANARY, ask, require

MUSHROOMS = Path(__file__).resolve().parent.parent / "datasets" / "mushroom.parquet"
_ROWS = 1500  # of the mushrooms: 65 baskets
_BOMB_ROWS = 5_000_000
_CODECS = ("snappy", "zstd", "gzip", "none", "brotli", "lz4")
_MEMORY = "256MB"


@dataclass(frozen=True)
class Case:
    """One mutant.

    Attributes:
        layout: of the table it was made from, which names the columns.
        mutation: what was done to it.
        schema: of that table.
    """

    layout: str
    mutation: str
    schema: pa.Schema


@cache
def _mushrooms() -> pa.Table:
    return pq.read_table(MUSHROOMS).slice(0, _ROWS)


@cache
def _tables() -> dict[str, pa.Table]:
    """The three layouts, integers and texts, and tables for columns and catalogues."""
    long = _mushrooms()
    texts = pa.table({name: _marked(long.column(name)) for name in long.column_names})
    baskets: dict[int, list[int]] = {}
    for row in long.to_pylist():
        baskets.setdefault(row["transaction_id"], []).append(row["item"])
    lists = pa.table({"transaction_id": list(baskets), "item": [[f"{CANARY}{i}" for i in b] for b in baskets.values()]})
    items = sorted({item for basket in baskets.values() for item in basket})[:30]
    one_hot = pa.table({f"i{item}": [item in basket for basket in baskets.values()] for item in items})
    numbers = np.linspace(-1, 1, 300)
    labels = _marked(pa.array(np.arange(300) % 2))
    columns = pa.table({"x": numbers, "n": np.arange(300), "flag": numbers > 0, "label": labels})
    catalogue = pa.table({"item": [f"{CANARY}{item}" for item in items]})
    return {
        "long": long, "texts": texts, "list": lists, "one_hot": one_hot, "columns": columns, "catalogue": catalogue,
    }  # fmt: skip


def _marked(column: Any) -> pa.Array:
    return pa.array([f"{CANARY}{value}" for value in column.to_pylist()])


def mutant(target: str, number: int) -> tuple[bytes, Case]:
    """The file with that number; the same every time."""
    rng = np.random.default_rng((number, len(target)))
    layouts = {"top_itemset": ("long", "texts", "list", "one_hot"), "read_columns": ("columns",)}
    layout = str(rng.choice(layouts.get(target, ("catalogue",))))
    table = _tables()[layout]
    special = rng.integers(2000)
    if special == 0:
        return _bomb(table, rng), Case(layout, "bomb", table.schema)
    if special < 20:
        return _written(deep_nesting(int(rng.integers(2, 120))), rng), Case(layout, "nesting", table.schema)
    if rng.integers(3) == 0:
        table = _with_dictionaries(table)
    raw = _written(table.take(rng.permutation(len(table))[: rng.integers(len(table) + 1)]), rng)
    raw, mutation = mutated(raw, rng)
    return raw, Case(layout, mutation, table.schema)


def _with_dictionaries(table: pa.Table) -> pa.Table:
    """Texts as dictionaries, which a file says in Arrow's own schema."""
    texts = [name for name in table.column_names if pa.types.is_string(table.schema.field(name).type)]
    for name in texts:
        place = table.column_names.index(name)
        table = table.set_column(place, name, table.column(name).dictionary_encode())
    return table


def _written(table: pa.Table, rng: np.random.Generator) -> bytes:
    file = io.BytesIO()
    pq.write_table(
        table,
        file,
        compression=str(rng.choice(_CODECS)),
        use_dictionary=bool(rng.integers(2)),
        data_page_version=str(rng.choice(["1.0", "2.0"])),
        row_group_size=int(rng.choice([100, 10**6])),
        store_schema=bool(rng.integers(2)),
    )
    return file.getvalue()


def _bomb(table: pa.Table, rng: np.random.Generator) -> bytes:
    """Five million times the first row: kilobytes that unpack to hundreds of megabytes."""
    many = _BOMB_ROWS if table.num_columns < 5 and not pa.types.is_list(table.schema.types[-1]) else _BOMB_ROWS // 25
    rows = table.take(np.zeros(many, np.int64))
    file = io.BytesIO()
    pq.write_table(rows, file, compression="zstd", use_dictionary=bool(rng.integers(2)))
    return file.getvalue()


def bare(data: bytes, _case: Case) -> None:
    """Pyarrow alone, for telling its crashes from ours."""
    _readable(data)


def top_itemset(data: bytes, case: Case) -> None:
    """The most frequent pair is one that no pair surpasses in the reference."""
    options: dict[str, Any] = {"item": "item", "unit": "transaction_id"}
    if case.layout == "one_hot":
        options = {"one_hot": True}
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        Path(file.name).write_bytes(data)
        chosen = ask(
            lambda: dpmine.top_itemset(file.name, mechanism="exact", not_private=True, memory=_MEMORY, **options)
        )
    table = _comparable(data, case)
    if table is None:
        return
    counts = _pair_counts(table, case.layout)
    if not counts:
        require(not chosen.itemsets or not chosen.itemsets[0], "A pair was chosen where there is none.")
        return
    require(bool(chosen.itemsets), "No pair was chosen where there is one.")
    require(counts[frozenset(chosen.itemsets[0])] == max(counts.values()), "The pair chosen is not the most frequent.")


def _pair_counts(table: pa.Table, layout: str) -> Counter[frozenset[Any]]:
    baskets: dict[Any, set[Any]] = {}
    for place, row in enumerate(table.to_pylist()):
        if layout == "one_hot":
            baskets[place] = {name for name, there in row.items() if there}
        else:
            items = row["item"] if layout == "list" else [row["item"]]
            baskets.setdefault(row["transaction_id"], set()).update(items)
    return Counter(frozenset(pair) for basket in baskets.values() for pair in combinations(basket, 2))


def read_columns(data: bytes, case: Case) -> None:
    """Numbers and labels are those that pyarrow reads."""
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        Path(file.name).write_bytes(data)
        read = ask(lambda: read_table_columns(file.name, ["x", "n", "flag"], labels=["label"]))
    table = _comparable(data, case)
    if table is None:
        return
    for name in case.schema.names:
        values = table.column(name).to_pylist()
        same = list(read[name]) == values if name == "label" else np.array_equal(
            read[name], np.array(values, dtype=np.float64), equal_nan=True
        )  # fmt: skip
        require(same, f"Column {name} was read as something else.")


def catalogue(data: bytes, case: Case) -> None:
    """The items are those that pyarrow reads, sorted."""
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        Path(file.name).write_bytes(data)
        items = ask(lambda: read_catalogue(file.name)).to_pylist()
    table = _comparable(data, case)
    if table is not None:
        expected = sorted(table.column("item").to_pylist(), key=str.encode)
        require(items == expected, "The catalogue holds other items.")


def _comparable(data: bytes, case: Case) -> pa.Table | None:
    """What pyarrow reads, where it is a table like the one mutated: small, valid and without nulls."""
    table = _readable(data)
    if table is None:
        return None
    kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in table.schema.types]
    table = table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))
    if table.num_rows > _ROWS or not table.schema.equals(case.schema):
        return None
    return None if any(_has_nulls(column) for column in table.columns) else table


def _has_nulls(column: Any) -> bool:
    lists = pa.types.is_list(column.type)
    return bool(column.null_count or (lists and any(chunk.flatten().null_count for chunk in column.chunks)))


def _readable(data: bytes) -> pa.Table | None:
    try:
        table = pq.read_table(pa.BufferReader(data))
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError):
        return None
    return table
