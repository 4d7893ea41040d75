"""One-hot tables: the same supports whatever holds them, in time that grows with the columns, not with their square."""

import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from support.reading import exact_supports

import dpmine
from dpmine.errors import BadData

Flags = NDArray[np.bool_]


def flags_of(rows: int, columns: int) -> Flags:
    return np.random.default_rng(rows).random((rows, columns)) < 0.3


def expected(flags: Flags, units: NDArray[Any] | None = None) -> dict[frozenset[str], int]:
    """Supports of the items and pairs, counted from the matrix."""
    units = np.arange(len(flags)) if units is None else units
    names = [f"i{column}" for column in range(flags.shape[1])]
    found = {}
    for size in (1, 2):
        for chosen in combinations(range(len(names)), size):
            holders = len(set(units[flags[:, list(chosen)].all(axis=1)].tolist()))
            if holders:
                found[frozenset(names[column] for column in chosen)] = holders
    return found


def supports(data: Any, **options: Any) -> dict[frozenset[str], int]:
    return exact_supports(data, "1-2", min_support=1, **options)


def framed(flags: Flags) -> pd.DataFrame:
    return pd.DataFrame(flags, columns=[f"i{column}" for column in range(flags.shape[1])])


def scattered(frame: pd.DataFrame) -> pd.DataFrame:
    """Every second column as an integer, so that the frame is no single matrix."""
    return frame.astype(dict.fromkeys(frame.columns[::2], "int8"))


def in_chunks(frame: pd.DataFrame) -> pa.Table:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return pa.concat_tables([table.slice(0, 5), table.slice(5, 1), table.slice(6)])


HOLDERS: dict[str, tuple[Callable[[pd.DataFrame], Any], bool]] = {
    "booleans": (lambda frame: frame, False),
    "booleans of a part of the rows": (lambda frame: pd.concat([frame, frame]).iloc[: len(frame)], False),
    "integers": (lambda frame: frame.astype("int64") * 8 - 1, True),
    "both": (scattered, True),
    "nullable": (lambda frame: frame.astype("boolean").mask(~frame), False),
    "sparse": (lambda frame: frame.astype(pd.SparseDtype(bool, fill_value=False)), False),
    "objects": (lambda frame: frame.astype(object), True),
    "an Arrow table": (lambda frame: pa.Table.from_pandas(frame, preserve_index=False), False),
    "an Arrow table of both": (lambda frame: in_chunks(scattered(frame)), True),
    "chunks": (in_chunks, False),
    "a stream": (lambda frame: in_chunks(frame).to_reader(), False),
    "polars": (lambda frame: pl.from_arrow(in_chunks(frame)), False),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_supports_of_any_holder(holder: str) -> None:
    flags = flags_of(40, 9)
    flags[7] = False
    held, one_hot = HOLDERS[holder]
    assert supports(held(framed(flags)), one_hot=one_hot) == expected(flags)


@pytest.mark.parametrize("place", [0, 4])
def test_units_and_catalogue(place: int, tmp_path: Path) -> None:
    flags, units = flags_of(60, 8), np.arange(60) // 4
    frame = framed(flags)
    frame.insert(place, "customer", units)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "table.parquet", row_group_size=7)
    wanted = ["i1", "i2", "i6", "none"]
    known = expected(flags, units)
    for data in (frame, str(tmp_path / "table.parquet")):
        assert supports(data, unit="customer") == known
        found = supports(data, unit="customer", catalogue=wanted)
        assert found == {itemset: support for itemset, support in known.items() if itemset <= set(wanted)}


def test_more_rows_than_are_taken_together() -> None:
    flags = flags_of(140_000, 3)
    assert supports(framed(flags)) == supports(pa.Table.from_pandas(framed(flags))) == expected(flags)


def test_a_table_without_rows() -> None:
    assert supports(framed(flags_of(3, 4)).iloc[:0]) == {}


def test_two_columns_of_one_name_far_behind() -> None:
    frame = pd.DataFrame(flags_of(2, 3000), columns=[*map(str, range(2999)), "2998"])
    with pytest.raises(BadData, match="Several columns are called '2998'"):
        supports(frame)


def calls(data: Any) -> int:
    """Of functions, compiled ones included, in one run."""
    number = 0

    def one_more(*_: object) -> None:
        nonlocal number
        number += 1

    sys.setprofile(one_more)
    try:
        dpmine.top_itemset(data, size=1, mechanism="large_margin", one_hot=True)  # pairs grow with the square
    finally:
        sys.setprofile(None)
    return number


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars", "parquet"])
def test_work_grows_with_the_columns(kind: str, tmp_path: Path) -> None:
    """Eight times the columns: about 8 times the calls, and 64 times where each column looks at all of them."""

    def held(columns: int) -> Any:
        frame = framed(flags_of(10, columns))
        table = pa.Table.from_pandas(frame, preserve_index=False)
        path = tmp_path / f"{columns}.parquet"
        pq.write_table(table, path)
        return {"pandas": frame, "arrow": table, "polars": pl.from_arrow(table), "parquet": path}[kind]

    calls(held(2000))  # what is done once
    assert calls(held(16_000)) < 20 * calls(held(2000))
