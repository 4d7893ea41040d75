"""Inputs that differ in one unit: whatever is not drawn at random is the same, errors and messages included."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.hostile.neighbours import seen

import dpmine
from dpmine.itemsets import read as reading
from dpmine.itemsets.transactions.memory import MemoryBudget
from dpmine.itemsets.ways.way import ListTerms, loaded_ways
from dpmine.privacy import Neighbors
from dpmine.selection.recommend import MECHANISMS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ITEMS = [f"item {number}" for number in range(12)]
UNITS = [ITEMS[unit % 3 : 4 + unit % 7] for unit in range(20)]
NEIGHBOURS: dict[str, list[list[Any]]] = {
    "without it": UNITS,
    "one more": [*UNITS, ITEMS[:2]],
    "one more, first": [["seen first", ITEMS[5]], *UNITS],
    "nothing in it": [*UNITS, []],
    "3,000 items": [*UNITS, [f"item {number}" for number in range(3000)]],
    "a name of 1 MB": [*UNITS, ["x" * 1_000_000, ITEMS[0]]],
}
ODD: dict[str, list[list[Any]]] = {
    "integers": [*UNITS, [1, 2, -(2**63)]],
    "no text and no integer": [*UNITS, [2.5, None, float("nan"), True, (1, 2), 10**30, "\ud800", ""]],
}
"""Only Python values can have several types in one column."""
NAMED: dict[str, Any] = {"unit": "patient", "item": "drug"}
UNKNOWN = ListTerms(2, Fraction(1), Fraction(1, 10**6), Neighbors.REPLACE_ONE)
EACH: dict[str, dict[str, Any]] = {
    "auto": {},
    **{
        name: ({"catalogue": ITEMS} if kind.needs_catalogue else {})
        | ({"max_items_per_unit": 5} if kind.needs_bounded_units else {})
        for name, kind in MECHANISMS.items()
        if kind.private
    },
    **{name: {"catalogue": ITEMS} if kind.suits(UNKNOWN) else {} for name, kind in loaded_ways().items()},
}
"""All that chooses, with what it cannot do without."""
MORE: dict[str, dict[str, Any]] = {
    "supports": {"release_support": "auto"},
    "rules": {"release_support": 1, "rules": True},
    "a catalogue": {"catalogue": ITEMS},
    "shares": {"release_support": 1, "catalogue": ITEMS, "units": 20},
}


def lines(baskets: list[list[Any]]) -> tuple[list[int], list[Any]]:
    """Units and items of a long layout."""
    return [unit for unit, items in enumerate(baskets) for _ in items], [item for items in baskets for item in items]


def long(baskets: list[list[Any]]) -> pa.Table:
    units, items = lines(baskets)
    return pa.table({"patient": pa.array(units, pa.int64()), "drug": pa.array(items, pa.string())})


def listed(baskets: list[list[Any]]) -> pa.Table:
    return pa.table({"patient": list(range(len(baskets))), "drug": pa.array(baskets, pa.list_(pa.string()))})


def one_hot(baskets: list[list[Any]]) -> pa.Table:
    """The columns are public: other items have none."""
    return pa.table({item: [item in basket for basket in baskets] for item in ITEMS})


def objects(baskets: list[list[Any]]) -> pd.DataFrame:
    units, items = lines(baskets)
    return pd.DataFrame({"patient": units, "drug": pd.Series(items, dtype=object)})


FORMS: dict[str, tuple[Callable[[list[list[Any]]], Any], dict[str, Any]]] = {
    "long": (long, NAMED),
    "found": (long, {}),
    "lists": (listed, NAMED),
    "lists, rows": (lambda baskets: listed(baskets).select(["drug"]), {}),
    "one-hot": (one_hot, {}),
    "pandas": (lambda baskets: long(baskets).to_pandas(), NAMED),
    "polars": (lambda baskets: pl.DataFrame(long(baskets)), NAMED),
    "stream": (lambda baskets: long(baskets).to_reader(max_chunksize=50), NAMED),
}
PYTHON: dict[str, tuple[Callable[[list[list[Any]]], Any], dict[str, Any]]] = {
    "baskets": (lambda baskets: baskets, {}),
    "pandas objects": (objects, NAMED),
    "pandas lists": (lambda baskets: pd.DataFrame({"drug": pd.Series(baskets, dtype=object)}), {"items": "drug"}),
}


def assert_same(make: Callable[[list[list[Any]]], Any], inputs: dict[str, list[list[Any]]], **options: Any) -> None:
    expected, first = seen(make(UNITS), **options)
    assert first is not None, expected
    for name, baskets in inputs.items():
        fixed, found = seen(make(baskets), **options)
        assert fixed == expected, name
        assert found is not None
        known = [*options.get("catalogue", ()), *(item for basket in baskets for item in basket)]
        own = {(type(item), item) for item in known if type(item) in {int, str}}
        released = {(type(item), item) for itemset in found.itemsets for item in itemset}
        assert released <= own | {(str, str(item).replace("\ud800", "\ufffd" * 3)) for item in known}, name


@every("mechanism", EACH, quick=8)
def test_each_mechanism(mechanism: str) -> None:
    assert_same(long, NEIGHBOURS, mechanism=mechanism, **EACH[mechanism], **NAMED)


@every("wanted", MORE)
def test_what_else_is_released(wanted: str) -> None:
    assert_same(long, NEIGHBOURS, **MORE[wanted], **NAMED)


@every("form", FORMS, quick=8)
@every("options", [{}, {"catalogue": ITEMS, "release_support": 1}])
def test_each_form(form: str, options: dict[str, Any]) -> None:
    make, columns = FORMS[form]
    assert_same(make, NEIGHBOURS, **columns, **options)


@every("form", PYTHON, quick=8)
@every(
    "options",
    [{}, {"catalogue": ITEMS, "release_support": 1}, {"catalogue": [1, 2, 3]}, {"mechanism": "items_first"}],
)
def test_python_values(form: str, options: dict[str, Any]) -> None:
    make, columns = PYTHON[form]
    assert_same(make, NEIGHBOURS | ODD, **columns, **options)


@pytest.mark.slow
@pytest.mark.parametrize("scattered", [False, True])
def test_files_larger_than_memory(scattered: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plenty = 100_000_000
    chunk = 20_000_000 if scattered else 2_000_000
    tiny = MemoryBudget(
        whole=0,
        chunk=chunk,
        labels=plenty,
        gathered=0,
        all_resident=0,
        resident=200_000,
        projection=1_000_000,
        listing=plenty,
    )
    read = reading.read_transactions
    monkeypatch.setattr(reading, "read_transactions", lambda *given, **named: read(*given, **named | {"memory": tiny}))

    def written(baskets: list[list[Any]]) -> str:
        table = long(baskets)
        pq.write_table(table.sort_by([("patient", "descending")]) if scattered else table, tmp_path / "x.parquet")
        return str(tmp_path / "x.parquet")

    for options in EACH["limited_domain"], {"catalogue": ITEMS, "release_support": 1, "rules": True}:
        assert_same(written, NEIGHBOURS, **NAMED, **options)


@pytest.mark.parametrize("mechanism", ["exponential", "max_of_laplaces", "large_margin", "limited_domain"])
def test_more_itemsets_than_64_bits_count(mechanism: str) -> None:
    """One basket of 100 or 3,000 items has more of 20 items than that: no mechanism fails on it."""
    names = [f"item {number}" for number in range(3000)]
    inputs = {"100": [*UNITS, names[:100]], "3,000": [*UNITS, names]}
    catalogue = {"catalogue": names} if EACH[mechanism] else {}
    assert_same(lambda baskets: baskets, inputs, mechanism=mechanism, size=20, **catalogue)


def test_the_text_of_a_file_that_is_not_unicode() -> None:
    broken = pa.array([b"\xff\xfe", b"item 0"]).view(pa.string())
    other = pa.table({"patient": [99, 99], "drug": broken})
    assert_same(lambda baskets: pa.concat_tables([long(baskets[:20]), other]), {"odd": UNITS}, **NAMED)
    expected, _ = seen(long(UNITS), **NAMED)
    assert seen(pa.concat_tables([long(UNITS), other]), **NAMED)[0] == expected


@pytest.mark.parametrize("largest", [2**63 - 1, 2**64 - 1])
def test_integers_without_sign(largest: int) -> None:
    def table(items: list[int]) -> pa.Table:
        return pa.table({"patient": list(range(len(items))), "drug": pa.array(items, pa.uint64())})

    expected, _ = seen(table([1, 1, 2]), size=1, **NAMED)
    assert seen(table([1, 1, 2, largest]), size=1, **NAMED)[0] == expected


@every(("baskets", "released"), [([[1]], "1"), ([["1"]], "1"), ([[]], "2"), ([[1.0]], "2")])
def test_a_catalogue_decides_on_the_type_of_items(baskets: list[list[Any]], released: str) -> None:
    found = dpmine.top_itemset(baskets, size=1, epsilon=1000, catalogue=["1", "2"])
    assert found.itemset is not None
    assert {type(item) for item in found.itemset} == {str}
    assert baskets in ([[]], [[1.0]]) or found.itemset == {released}
