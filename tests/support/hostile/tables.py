"""Tables of each layout and type, and hostile rows for them: for every form that holds columns with types."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from support.hostile.neighbours import BASKETS, USUAL, Neighbours

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS: dict[str, bytes | None] = {
    "null": None,
    "empty": b"",
    "blank": b" ",
    "5,000 bytes": b"x" * 5000,
    "a megabyte": b"\xc3\xa9" * 500_000,
    "NUL": b"n\0l",
    "not UTF-8": b"\xff\xfe",
    "a surrogate": b"\xed\xa0\x80",
    "cut off": b"\xe2\x82",
    "line breaks": b'a\r\n"b,',
    "a number": b"7",
    "the name of a missing value": b"NaN",
    "right to left": "\u202e\u0627".encode(),
}
INTEGERS: dict[str, int | None] = {"null": None, "largest": 2**63 - 1, "least": -(2**63), "zero": 0, "below zero": -1}
LARGE: dict[str, int | None] = {"null": None, "zero": 0, "beyond 63 bits": 2**63, "largest": 2**64 - 1}
DAYS: dict[str, int | None] = {"null": None, "last": 2**31 - 1, "first": -(2**31), "BC": -800_000, "20000": 6_585_402}
MOMENTS: dict[str, int | None] = {"null": None, "last": 2**63 - 1, "first": -(2**63), "BC": -(10**17)}
LISTS: dict[str, list[bytes | None] | None] = {
    "null": None,
    "empty": [],
    "a null": [None],
    "nulls": [None, b"a", None],
    "twice": [b"a"] * 50,
    "5,000 items": [b"a", *(b"n%d" % number for number in range(5000))],
    **{f"of {name}": [value, b"a"] for name, value in TEXTS.items()},
}
FLAGS: dict[str, list[int | None]] = {
    "one": [1, *[0] * 6],
    "none": [0] * 7,
    "nulls": [None] * 7,
    "one beside nulls": [1, *[None] * 6],
}
NUMBERS: dict[str, list[int | None]] = {
    name: [number, *[0] * 6]
    for name, number in {"largest": 2**63 - 1, "least": -(2**63), "below zero": -1, "two": 2}.items()
}


@dataclass(frozen=True)
class Table:
    """A base, hostile rows for it, and the names of its columns as options."""

    base: pa.Table
    rows: dict[str, pa.Table]
    options: dict[str, Any] = field(default_factory=dict)

    def neighbours(self, make: Callable[[pa.Table], Any]) -> Neighbours:
        """The data sets of one form: the hostile row stands in the middle, in a chunk of its own."""
        half = self.base.num_rows // 2

        def beside(row: pa.Table) -> Any:
            return make(pa.concat_tables([self.base.slice(0, half), row, self.base.slice(half)]))

        others = {name: partial(beside, row) for name, row in self.rows.items()}
        return Neighbours(partial(make, self.base), others, self.options)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values of a type; of texts their bytes, of days and moments their numbers."""
    if pa.types.is_string(kind):
        whole = [value.encode() if isinstance(value, str) else value for value in values]
        return pa.array(whole, pa.binary()).view(kind)
    if pa.types.is_list(kind):
        entries = [None if value is None else _array(value, kind.value_type) for value in values]
        lengths = [0 if entry is None else len(entry) for entry in entries]
        starts: list[int | None] = [sum(lengths[:place]) for place in range(len(lengths) + 1)]
        starts = [
            None if place < len(entries) and entries[place] is None else start for place, start in enumerate(starts)
        ]
        whole = pa.concat_arrays([_array([], kind.value_type), *(entry for entry in entries if entry is not None)])
        return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), whole, type=kind)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return pa.array(values, pa.int32() if kind == pa.date32() else pa.int64()).view(kind)
    return pa.array(values, kind)


def _table(columns: dict[str, tuple[list[Any], pa.DataType]]) -> pa.Table:
    return pa.table({name: _array(values, kind) for name, (values, kind) in columns.items()})


def long(kinds: dict[str, pa.DataType], plain: dict[str, Any], hostile: dict[str, dict[str, Any]]) -> Table:
    """One row per item. `plain` has a new row's values by column, `hostile` the values that take their places."""
    pairs = [(unit, item) for unit, items in enumerate(BASKETS) for item in items]

    def values(name: str) -> list[Any]:
        kind = kinds[name]
        if name == "item":
            return [item if pa.types.is_string(kind) else ord(item) - 96 for _, item in pairs]
        if name == "unit":
            return [f"u{unit}" if pa.types.is_string(kind) else unit + 100 for unit, _ in pairs]
        return [plain[name]] * len(pairs)

    base = _table({name: (values(name), kind) for name, kind in kinds.items()})
    rows = {
        f"{name}: {what}": _table(
            {other: ([value if other == name else plain[other]], kinds[other]) for other in kinds}
        )
        for name, cells in hostile.items()
        for what, value in cells.items()
    }
    rows["three times"] = pa.concat_tables([_table({name: ([plain[name]], kinds[name]) for name in kinds})] * 3)
    options: dict[str, Any] = {name: name for name in ("unit", "basket", "item") if name in kinds}
    return Table(base, rows, options)


def lists(*, unit: bool) -> Table:
    """One row per basket, with or without a column for its unit."""
    kind = pa.list_(pa.string())
    keys = {"unit": ([f"u{number}" for number in range(len(BASKETS))], pa.string())} if unit else {}
    base = _table({**keys, "items": (BASKETS, kind)})
    rows = {
        name: _table({**({"unit": (["new"], pa.string())} if unit else {}), "items": ([value], kind)})
        for name, value in LISTS.items()
    }
    return Table(base, rows, {"items": "items", **({"unit": "unit"} if unit else {})})


def nested() -> Table:
    """One row per basket, its items in a list of lists."""
    kind = pa.list_(pa.list_(pa.string()))

    def rows(values: list[Any]) -> pa.Table:
        return _table({"items": (values, kind)})

    hostile = {name: [None, value, []] for name, value in LISTS.items()}
    base = rows([[basket[:1], basket[1:]] for basket in BASKETS])
    others = {name: rows([value]) for name, value in {**hostile, "no list": None, "no lists": []}.items()}
    return Table(base, others, {"items": "items"})


def one_hot(kind: pa.DataType, more: dict[str, list[int | None]]) -> Table:
    """One column per item; where they are integers, more than 0 and 1."""
    names = ["a", "b", "c", "d", "e", "f", "g"]

    def rows(baskets: list[list[int | None]]) -> pa.Table:
        columns = zip(*baskets, strict=True)
        return pa.table([pa.array(column, pa.int64()).cast(kind) for column in columns], names)

    base = rows([[int(name in basket) for name in names] for basket in BASKETS])
    return Table(base, {name: rows([row]) for name, row in (FLAGS | more).items()}, {"one_hot": True})


REALS: dict[str, Any] = {
    "null": None,
    "not a number": float("nan"),
    "infinity": float("inf"),
    "less than all": float("-inf"),
    "large": 1e300,
    "tiny": 5e-324,
    "no sign": -0.0,
}
DECIMALS = {"null": None, "largest": Decimal("9" * 30), "least": Decimal("-" + "9" * 30), "zero": Decimal(0)}


def numbers(kind: pa.DataType, hostile: dict[str, Any]) -> Table:
    """A number for each unit."""

    def rows(values: list[Any]) -> pa.Table:
        return pa.table({"unit": pa.array(range(len(values)), pa.int64()), "number": pa.array(values, kind)})

    return Table(rows([USUAL] * 30), {name: rows([value]) for name, value in hostile.items()}, {})


TEXT = {"unit": pa.string(), "item": pa.string()}
WHOLE = {"unit": pa.int64(), "item": pa.int64()}
TABLES: dict[str, Table] = {
    "texts": long(TEXT, {"unit": b"new", "item": b"a"}, {"unit": TEXTS, "item": TEXTS}),
    "integers": long(WHOLE, {"unit": 1, "item": 1}, {"unit": INTEGERS, "item": INTEGERS}),
    "without sign": long(
        {"unit": pa.uint64(), "item": pa.uint64()}, {"unit": 1, "item": 1}, {"unit": LARGE, "item": LARGE}
    ),
    "days and moments": long(
        {"unit": pa.date32(), "basket": pa.timestamp("us", "UTC"), "item": pa.string()},
        {"unit": 1, "basket": 1, "item": b"a"},
        {"unit": DAYS, "basket": MOMENTS, "item": TEXTS},
    ),
    "days as items": long(
        {"unit": pa.int64(), "item": pa.date32()}, {"unit": 1, "item": 1}, {"unit": INTEGERS, "item": DAYS}
    ),
    "moments as items": long(
        {"unit": pa.int64(), "item": pa.timestamp("us")}, {"unit": 1, "item": 1}, {"unit": INTEGERS, "item": MOMENTS}
    ),
    "decimals": long(
        dict.fromkeys(("unit", "item"), pa.decimal128(38, 2)),
        {"unit": 1, "item": 1},
        {"unit": DECIMALS, "item": DECIMALS},
    ),
    "lists": lists(unit=False),
    "lists of lists": nested(),
    "lists with units": lists(unit=True),
    "flags": one_hot(pa.bool_(), {}),
    "zeros and ones": one_hot(pa.int64(), NUMBERS),
}
NUMBER_TABLES = {
    "reals": numbers(pa.float64(), REALS),
    "short reals": numbers(pa.float32(), REALS),
    "integers": numbers(pa.int64(), INTEGERS),
    "without sign": numbers(pa.uint64(), LARGE),
    "decimals": numbers(pa.decimal128(38, 2), DECIMALS),
}
