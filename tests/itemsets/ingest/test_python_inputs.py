"""Objects of Python as data: their kind decides before a charge, and no single entry does after it."""

from __future__ import annotations

import io
import warnings
from array import array
from collections import deque
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from mlxtend.preprocessing import TransactionEncoder
from support.cases import every
from support.oracles.ingest import CANARY, refused
from support.reading import exact_supports

import dpmine
from dpmine.errors import BadData, BadParameter, DpmineError
from dpmine.io.open import open_source
from dpmine.io.source import Columns
from dpmine.itemsets.ingest.layouts import plan_layout
from dpmine.itemsets.read import read_transactions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENCODED = TransactionEncoder().fit_transform([["bread", "milk"], ["milk"]])
MATRICES = [
    ENCODED,
    ENCODED.astype(int),
    np.matrix(ENCODED),
    np.ma.masked_array(ENCODED),
    np.array([[CANARY, "b"], ["b", "b"]], dtype=object),
    np.array([CANARY, "b"]),
    memoryview(b"a"),
    np.array(CANARY, dtype=object),
    *(
        getattr(scipy.sparse, f"{form}_{kind}")(ENCODED)
        for form in ("csr", "coo", "lil", "dok")
        for kind in ("array", "matrix")
    ),
]
ROWS = pd.DataFrame({"unit": [1, 1, 2], "item": [CANARY, "b", "b"]})
SERIES = [
    pd.Series([1, 2], name=CANARY),
    pd.Index([CANARY]),
    pd.Categorical([CANARY]),
    ROWS.groupby("unit")["item"],
    ROWS.groupby("unit"),
    pl.Series([["a"], [CANARY]]),
    pl.Series([{"a": CANARY}]),
    pa.array([["a"], [CANARY]]),
    pa.chunked_array([[CANARY]]),
]


def rejected(data: Any, error: type[DpmineError], *words: str, **options: Any) -> None:
    """Before anything would be charged, by one line that quotes nothing."""
    with refused(error, *words):
        read_transactions(data, Columns(**options), planned=lambda _: pytest.fail("charged"))


@every("data", [*MATRICES, *SERIES])
def test_arrays_and_series_are_rejected_by_type(data: Any) -> None:
    rejected(data, BadData, "table", "data frame")


@every(
    "data",
    [b"a", bytearray(b"a"), range(3), array("i", [1]), {"a": 1}, io.StringIO(CANARY), object()],
)
def test_what_holds_no_baskets_is_rejected_by_type(data: Any) -> None:
    rejected(data, BadParameter, type(data).__name__, "sequence of baskets")


@every(
    "data",
    [
        [f"bread {CANARY}\n", "milk\n"],
        (f"bread {CANARY}", "milk"),
        [f"{CANARY}*"],
        f"bread, {CANARY}",
        f"bread {CANARY}\nmilk\n",
        {CANARY, "milk"},
        {1: CANARY}.values(),
        deque([CANARY]),
    ],
)
def test_lines_of_text_are_not_quoted_as_paths(data: Any) -> None:
    rejected(data, BadParameter, "list")


def test_paths_are_still_named(tmp_path: Path) -> None:
    for missing in ("missing.parquet", "s3://bucket/missing", tmp_path / "missing"):
        with pytest.raises((dpmine.UnreadableFile, BadParameter), match="missing"):
            dpmine.top_itemset([missing])


class Failing:
    """An entry of which nothing works."""

    def __iter__(self) -> Iterator[str]:
        yield "bread"
        raise ValueError(CANARY)

    def __str__(self) -> str:
        raise ValueError(CANARY)


def failing() -> Iterator[str]:
    yield "bread"
    raise LookupError(CANARY)


ENTRIES: list[Callable[[], Any]] = [
    lambda: None,
    lambda: "bread",
    lambda: ["bread", ["nested"], {"x"}, Failing()],
    lambda: {"bread": 1},
    lambda: (item for item in ["bread"]),
    failing,
    Failing,
    lambda: Failing,
    lambda: 7,
    lambda: 10**5000,
    lambda: Path("bread"),
    lambda: b"\xff",
    lambda: bytearray(b"bread"),
    lambda: "\ud800",
    lambda: ["\ud800", float("nan"), Decimal("NaN"), pd.NA, pd.NaT, 2**70, 1j, True],
    lambda: np.array(3),
    lambda: np.array([["bread"]]),
    lambda: pd.Series(["bread"]),
    lambda: pa.array(["bread"]),
    lambda: scipy.sparse.csr_array([[1]]),
    lambda: frozenset({frozenset({"bread"})}),
]
CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "generator": lambda baskets: (basket for basket in baskets),
    "values": lambda baskets: dict(enumerate(baskets)).values(),
    "deque": deque,
    "array of objects": lambda baskets: np.fromiter(baskets, object, len(baskets)),
}


@every("make", ENTRIES)
@every("container", CONTAINERS)
def test_no_entry_stops_a_run_of_baskets(make: Callable[[], Any], container: str) -> None:
    data = CONTAINERS[container]([["bread", "milk"], ["milk"], make(), {"bread"}])
    found = dpmine.itemset_supports(data, size=1, catalogue=["bread", "milk"])
    assert found["support"].tolist() in ([2, 2], [3, 2])


def test_texts_that_an_iterator_gives_are_baskets_of_one() -> None:
    """What it gives cannot be known before a charge, and stops nothing after it."""
    for kind in (str, Path):
        found = dpmine.itemset_supports((kind(name) for name in ("a", "b", "a")), size=1)
        assert found["support"].tolist() == [2, 1]


OBJECTS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "lists": ([["a"], ["b"], None, ("a", "b")], {}),
    "lists beside a unit": ([["a"], ["b"], None, ["a", "b"]], {"unit": ("unit",), "items": "x"}),
    "named lists": ([["a"], ["b"], None, ["a", "b"]], {"items": "x"}),
    "flags": ([True, False, np.True_, None], {"one_hot": True}),
    "texts": (["a", "b", "a", None], {"unit": ("unit",), "item": "x"}),
    "a category": (["a", "b", "a", None], {"unit": ("unit",), "item": "x"}),
}
AT_THE_TIE = [["a", "b"], ["a", "b"], "c", "c", True, True, 7, 7]
"""As many of each kind of value."""


@every("name", OBJECTS)
@every("entry", ["a", 7, 1.5, b"a", ["a"], True, None, pd.NA, {"a": 1}, ("a",), Failing(), "\ud800"])
def test_no_entry_of_a_column_of_objects_decides_on_its_layout(name: str, entry: Any) -> None:
    values, options = OBJECTS[name]
    if name == "a category" and (isinstance(entry, list | dict | Failing) or str(entry) == "\ud800"):
        return  # pandas has no such categories
    plans = []
    for present in (values, [*values[:-1], entry]):
        column = pd.Series(present, dtype=object)
        frame = pd.DataFrame({"x": column.astype("category") if name == "a category" else column})
        if "unit" in options or "items" in options:
            frame["unit"] = range(len(frame))
        columns = Columns(**options)
        source = open_source(frame, columns)
        plans.append((plan_layout(source, columns), source.type_of("x")))
        assert read_transactions(frame, columns).transactions.total_units >= 2
    assert plans[0] == plans[1]


@every(
    ("options", "own"),
    [
        ({"items": "x"}, {"a", "b", "c", "True", 7}),
        ({"item": "x"}, {"c", "True", 7}),
        ({}, {"c", "True", 7}),
        ({"one_hot": True}, {"x"}),
    ],
)
@every("row", [["new"], "new", True, 7, None, {"new": 1}])
def test_a_row_at_the_tie_changes_no_other_row(options: dict[str, Any], own: set[Any], row: Any) -> None:
    found = []
    for values in (AT_THE_TIE, [*AT_THE_TIE, row]):
        frame = pd.DataFrame({"unit": range(len(values)), "x": pd.Series(values, dtype=object)})
        exact = dpmine.itemset_supports(frame, size=1, min_support=1, **{"unit": "unit", **options})
        found.append({next(iter(key)): count for key, count in zip(exact["itemsets"], exact["support"], strict=True)})
    before, after = found
    assert set(before) == own
    more = {item: count - before.get(item, 0) for item, count in after.items() if count != before.get(item, 0)}
    assert set(more) <= {"new", str(row), row if isinstance(row, int) else None, "x"}
    assert set(more.values()) <= {1}


def test_a_frame_of_one_column_of_objects_is_one_of_lists() -> None:
    for values in (AT_THE_TIE, [*AT_THE_TIE, "c"], [*AT_THE_TIE, ["a"]]):
        frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
        found = dpmine.itemset_supports(frame, size=2)
        assert list(found["itemsets"]) == [{"a", "b"}]


@every("kind", [pd.ArrowDtype(pa.list_(pa.string())), pd.ArrowDtype(pa.large_list(pa.string()))])
@every("option", ["item", "items"])
def test_lists_with_a_type_take_either_option(kind: Any, option: str) -> None:
    frame = pd.DataFrame({"unit": [1, 2], "x": pd.Series([["a"], ["a", "b"]], dtype=kind)})
    named: dict[str, Any] = {"unit": "unit", option: "x"}
    for data in (frame, pa.Table.from_pandas(frame), pl.from_pandas(frame)):
        assert dpmine.itemset_supports(data, size=1, **named)["support"].tolist() == [2, 1]


@every("more", [1, "text", 2.5, 2**63, 2**70, pd.Timestamp(0), pd.Interval(0, 1), ("a",)])
@every("option", [{"item": "x"}, {"items": "x"}, {"one_hot": True}])
def test_no_category_changes_the_type_of_the_others(more: Any, option: dict[str, Any]) -> None:
    """pandas finds the type of categories from all of them."""
    columns = Columns.of(unit="unit", **option)
    kinds = []
    for values in ([1, 1], [1, 1, more]):
        held = np.fromiter(values, object, len(values))
        frame = pd.DataFrame({"unit": range(len(values)), "x": pd.Categorical(held)})
        kinds.append(open_source(frame, columns).type_of("x"))
        counts = exact_supports(frame, unit="unit", **option)
        assert counts[frozenset({1} if "one_hot" not in option else {"x"})] >= 2
    assert kinds[0] == kinds[1]


def test_columns_of_objects_are_no_flags_unless_one_hot_is_asked_for() -> None:
    frame = pd.DataFrame({name: pd.Series([True, False, 2, "yes", None, []], dtype=object) for name in "xyz"})
    rejected(frame, BadData, "one_hot=True or df.astype(bool)")
    assert dpmine.itemset_supports(frame, size=3, one_hot=True)["support"].tolist() == [2]


def test_columns_without_values_are_lists_where_items_are_asked_for() -> None:
    for values in ([], [None, None]):
        frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
        assert len(dpmine.itemset_supports(frame, size=1, items="x")) == 0


def test_texts_of_pandas_that_are_no_unicode() -> None:
    frame = pd.DataFrame({"u": [1, 2, 3], "i": pd.Series(["a", "\ud800", None], dtype="string[python]")})
    found = dpmine.itemset_supports(frame, size=1, unit="u", item="i")
    assert set().union(*found["itemsets"]) == {"a", "\ufffd\ufffd\ufffd"}


BYTES = [b"caf\xc3\xa9", b"\xff", b"caf\xc3\xa9"]


def test_bytes_among_objects_are_read_as_utf_8() -> None:
    frame = pd.DataFrame({"u": [1, 2, 3], "i": pd.Series(BYTES, dtype=object)})
    for found in (
        exact_supports(frame, unit="u", item="i"),
        exact_supports([[each] for each in BYTES]),
        exact_supports(iter(BYTES)),
    ):
        assert found == {frozenset(["café"]): 2, frozenset("\ufffd"): 1}


@every(
    "kind",
    [
        pa.binary(),
        pa.large_binary(),
        pa.dictionary(pa.int32(), pa.binary()),
        pa.dictionary(pa.int64(), pa.large_binary()),
    ],
)
def test_bytes_of_a_declared_type_are_rejected_by_it(kind: pa.DataType) -> None:
    """The last type is that of our own labels of Python values: bytes that are none would fail one by one."""
    values = pa.array([b"\x00abc", b"\x01x", b"\x00"], kind if not pa.types.is_dictionary(kind) else kind.value_type)
    items = values.cast(kind)
    table = pa.table({"u": [1, 2, 3], "i": items})
    lists = pa.table({"u": [1], "i": pa.LargeListArray.from_arrays(pa.array([0, 3], pa.int64()), items)})
    for data in (table, lists):
        rejected(data, BadData, "'i'", "binary", unit=("u",), item="i")
        rejected(data.rename_columns(["k", "j"]), BadData, "'j'", unit=("j",), item="k")
    if not pa.types.is_dictionary(kind):
        frame = pd.DataFrame({"u": [1, 2, 3], "i": pd.Series(BYTES, dtype=pd.ArrowDtype(kind))})
        rejected(frame, BadData, "'i'", "binary", unit=("u",), item="i")


class OddText(str):
    """A text with methods of its own."""

    __slots__ = ()

    def encode(self, *_: Any, **__: Any) -> bytes:
        raise RuntimeError(CANARY)


class OddBytes(bytes):
    """The same of bytes."""

    def decode(self, *_: Any, **__: Any) -> str:
        raise RuntimeError(CANARY)


class OddInteger(int):
    """An integer that cannot be converted."""

    def __int__(self) -> int:
        raise RuntimeError(CANARY)

    __index__ = __int__


class OddFloat(float):
    """A number that cannot be converted."""

    __slots__ = ()

    def __float__(self) -> float:
        raise RuntimeError(CANARY)


class OddClass:
    """An object that does not say of what class it is."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise RuntimeError(CANARY)


class OddName:
    """An object whose text has methods of its own."""

    def __str__(self) -> str:
        return OddText("bread")


@every("odd", [OddText("bread"), OddBytes(b"bread"), OddInteger(7), OddFloat(7), OddClass(), OddName()])
def test_values_with_methods_of_their_own_stop_no_run(odd: Any) -> None:
    usual = [["bread", "milk"]] * 9
    for data in ([*usual, odd], [*usual, ["bread", odd]]):
        assert len(dpmine.itemset_supports(data, size=1, min_support=9)) == 2
    items = pd.DataFrame({"who": range(10), "item": pd.Series(["bread"] * 9 + [odd], dtype=object)})
    units = pd.DataFrame({"who": pd.Series([*range(9), odd], dtype=object), "item": ["bread"] * 10})
    for frame in (items, units):
        assert len(dpmine.itemset_supports(frame, size=1, unit="who", item="item", min_support=9)) == 1


class Warner:
    """Warns in every conversion, in words that hold data."""

    def __str__(self) -> str:
        warnings.warn(CANARY, stacklevel=1)
        return "milk"

    def __iter__(self) -> Iterator[str]:
        warnings.warn(CANARY, stacklevel=1)
        return iter(["milk"])


def frame_with(name: str) -> pd.DataFrame:
    """One object in a column of 300 rows."""
    columns: dict[str, list[Any]] = {"who": [*range(300)], "what": ["milk"] * 300, "all": [["milk"]] * 300}
    columns[name][7] = Warner()
    return pd.DataFrame({each: pd.Series(values, dtype=object) for each, values in columns.items()})


@every(
    "find",
    [
        lambda: dpmine.top_itemset([["milk"]] * 299 + [[Warner()]], size=1),
        lambda: dpmine.top_itemset([["milk"]] * 299 + [Warner()], size=1),
        lambda: dpmine.discover_items([["milk"]] * 299 + [[Warner()]]),
        lambda: dpmine.top_itemset(frame_with("who"), unit="who", item="what", size=1),
        lambda: dpmine.top_itemset(frame_with("what"), unit="who", item="what", size=1),
        lambda: dpmine.top_itemset(frame_with("all"), unit="who", items="all", size=1),
    ],
)
def test_warnings_of_objects_are_not_passed_on(find: Callable[[], object]) -> None:
    with warnings.catch_warnings(record=True) as passed:
        warnings.simplefilter("always")
        find()
    assert [str(each.message) for each in passed if CANARY in str(each.message)] == []


def test_an_object_of_polars_is_rejected_by_its_type() -> None:
    for data in (frame := pl.DataFrame({"u": [1], "x": pl.Series([[CANARY]], dtype=pl.Object)}), frame.lazy()):
        for option in ("item", "items"):
            rejected(data, BadData, "'x'", "binary", unit=("u",), **{option: "x"})
