"""One hostile row in forms whose columns have no types, or types of their own: CSV, databases, values of Python."""

from __future__ import annotations

import decimal
import sqlite3
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pytest
from support.hostile.neighbours import (
    BASKETS,
    LEAST_ROWS,
    USUAL,
    Neighbours,
    Runs,
    Unheld,
    differing,
    differing_in_numbers,
)

from dpmine.io.input import Input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ledger.postgres import Cluster

pytestmark = pytest.mark.slow
COLUMNS = ("unit", "basket", "item", "other")
OPTIONS = {"unit": "unit", "basket": "basket", "item": "item"}
ROWS = [(f"u{unit}", "1", item, str(USUAL)) for unit, items in enumerate(BASKETS) for item in items]
HALF = len(ROWS) // 2
PLAIN = ("new", "1", "a", "2")


@pytest.fixture
def runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Runs:
    return Runs(f"sqlite:///{tmp_path}/budget.db", capfd)


def in_each_place(values: dict[str, Any], plain: tuple[Any, ...] = PLAIN) -> dict[str, tuple[Any, ...]]:
    """A row for each value and column, with that value there and plain ones elsewhere."""
    return {
        f"{column}: {what}": (*plain[:place], value, *plain[place + 1 :])
        for place, column in enumerate(COLUMNS)
        for what, value in values.items()
    }


def assert_none_shows(make: Callable[[Any], Any], rows: dict[str, Any], runs: Runs, *, numbers: bool = True) -> None:
    """`make` gives the data with one row more; without any for None. `numbers`: whether texts are read as such."""
    assert len(rows) >= LEAST_ROWS
    others = {name: partial(make, row) for name, row in rows.items()}
    neighbours = Neighbours(partial(make, None), others, OPTIONS)
    for more in {}, {"release_support": 1}:
        assert differing(neighbours, runs, **more) == {}
    assert not numbers or differing_in_numbers(neighbours, runs, "other") == {}


CELLS: dict[str, bytes] = {
    "nothing": b"",
    "empty in quotes": b'""',
    "blanks": b"  ",
    "5,000 bytes": b"x" * 5000,
    "1.5 million bytes": b"x" * 1_500_000,
    "3 million bytes": b"x" * 3_000_000,
    "NUL": b"n\0l",
    "not UTF-8": b"\xff\xfe",
    "a surrogate": b"\xed\xa0\x80",
    "cut off": b"\xe2\x82",
    "a mark of UTF-8": b"\xef\xbb\xbf",
    "quotes in quotes": b'"a ""b"" c"',
    "a break in quotes": b'"a\nb"',
    "a delimiter in quotes": b'"a,b"',
    "a quote in it": b'a"b',
    "text after quotes": b'"a"b',
    "the largest integer": b"9223372036854775808",
    "not a number": b"NaN",
    "a formula": b"=1+1",
    "deep JSON": b"[" * 3000,
}
"""Of CSV files."""
LINES: dict[str, bytes] = {
    "too few fields": b"new,1",
    "too many fields": b"new,1,a,x,y,z",
    "10,000 fields": b"new" + b"," * 10_000,
    "an empty line": b"",
    "a blank": b" ",
    "delimiters alone": b",,,",
    "a trailing delimiter": b"new,1,a,x,",
    "an unclosed quote": b'new,1,"a,x',
    "an unclosed quote at the start": b'"new,1,a,x',
    "a quote alone": b'"',
    "an end of line of old": b"new,1,a,x\r",
    "two lines of old": b"new,1,a,x\rnew,1,a,x",
    "the header": b"unit,basket,item,other",
    "a comment": b"# new,1,a,x",
    "semicolons": b"new;1;a;x",
    "an end of file": b"\x1a",
}


def _csv(path: Path, line: bytes | None, place: int) -> str:
    lines = [",".join(row).encode() for row in ROWS]
    if line is not None:
        lines.insert(place, line)
    path.write_bytes(b"\n".join([",".join(COLUMNS).encode(), *lines, b""]))
    return str(path)


@pytest.mark.parametrize("place", [0, HALF, len(ROWS)])
@pytest.mark.parametrize("quotes", ["double", "none"])
def test_no_line_of_a_csv_file_shows(place: int, quotes: str, runs: Runs, tmp_path: Path) -> None:
    cells = in_each_place(CELLS, plain=tuple(value.encode() for value in PLAIN))
    lines = {name: b",".join(row) for name, row in cells.items()} | LINES
    assert_none_shows(lambda line: Input(_csv(tmp_path / "x.csv", line, place), quotes=quotes), lines, runs)


CONDITION = "other <> 'left out' AND length(item) < 100000 OR CAST(other AS BIGINT) * 1000000000 > 0"
"""Holds for all rows but hostile ones: some of these have no number, or one whose product is too large."""


@pytest.mark.parametrize("form", ["where", "query"])
def test_no_line_shows_where_a_condition_chooses(form: str, runs: Runs, tmp_path: Path) -> None:
    cells = in_each_place(CELLS, plain=tuple(value.encode() for value in PLAIN))
    lines = {name: b",".join(row) for name, row in cells.items() if "item" in name or "other" in name} | LINES
    query = f"SELECT basket, unit, lower(item) AS item, other FROM '{tmp_path / 'x.csv'}' WHERE {CONDITION}"

    def make(line: bytes | None) -> Input:
        path = _csv(tmp_path / "x.csv", line, HALF)
        return Input(path, where=CONDITION) if form == "where" else Input(query=query)

    assert_none_shows(make, lines, runs, numbers=False)


BASKET_LINES: dict[str, bytes] = {
    **{f"an item: {name}": b"a new " + value for name, value in CELLS.items()},
    "an empty line": b"",
    "blanks": b" \t ",
    "a comment": b"# a b c",
    "a name": b"@ITEM=a=b",
    "10,000 items": b" ".join(b"n%d" % number for number in range(10_000)),
    "one item twice": b"new new new",
    "an end of line of old": b"a new\r",
    "other blanks": b"a\x0bnew\x0cother\x1cmore",
    "an end of file": b"\x1a",
}


@pytest.mark.parametrize("place", [0, 15, 30])
def test_no_line_of_a_file_of_baskets_shows(place: int, runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / "x.dat"

    def make(line: bytes | None) -> str:
        lines = [" ".join(basket).encode() for basket in BASKETS]
        if line is not None:
            lines.insert(place, line)
        path.write_bytes(b"\n".join([*lines, b""]))
        return str(path)

    assert len(BASKET_LINES) >= LEAST_ROWS
    others = {name: partial(make, line) for name, line in BASKET_LINES.items()}
    assert differing(Neighbours(partial(make, None), others), runs) == {}


def test_no_line_of_a_table_of_attributes_shows(runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    lines = {
        f"{column}: {name}": (b"%b,1" if column == "sex" else b"f,%b").replace(b"%b", value)
        for column in ("sex", "age")
        for name, value in CELLS.items()
    } | LINES

    def make(line: bytes | None) -> Input:
        rows = [f"{'fm'[unit % 2]}{unit % 3},{unit * 3}".encode() for unit in range(40)]
        path.write_bytes(b"\n".join([*rows[:20], *([] if line is None else [line]), *rows[20:], b""]))
        return Input(str(path), columns=("sex", "age"), types="age=int64")

    options = {"attributes": True, "cut": "age=20,60"}
    others = {name: partial(make, line) for name, line in lines.items()}
    assert differing(Neighbours(partial(make, None), others, options), runs) == {}


SQLITE: dict[str, Any] = {
    "null": None,
    "empty": "",
    "5,000 bytes": "x" * 5000,
    "a megabyte": "x" * 2**20,
    "NUL": "n\0l",
    "bytes": b"\xff\xfe",
    "no bytes": b"",
    "the largest integer": 2**63 - 1,
    "the least integer": -(2**63),
    "a number": 1.5,
    "a large number": 1e308,
    "infinity": float("inf"),
    "not a number": float("nan"),
    "deep JSON": "[" * 5000,
    "not UTF-8": "CAST(x'FFFE' AS TEXT)",
    "a surrogate": "CAST(x'EDA080' AS TEXT)",
    "cut off": "CAST(x'61E282' AS TEXT)",
}


def _sqlite(path: Path, row: tuple[Any, ...] | None) -> Input:
    with closing(sqlite3.connect(path)) as there, there:
        there.execute("DROP TABLE IF EXISTS rows")
        there.execute("CREATE TABLE rows (unit, basket, item, other)")
        there.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", ROWS[:HALF])
        if row is not None:
            places = [str(value) if str(value).startswith("CAST") else "?" for value in row]
            values = [value for value in row if not str(value).startswith("CAST")]
            there.execute(f"INSERT INTO rows VALUES ({', '.join(places)})", values)
        there.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", ROWS[HALF:])
    return Input(query="SELECT * FROM rows", database=f"sqlite:///{path}")


def test_no_value_of_sqlite_shows(runs: Runs, tmp_path: Path) -> None:
    assert_none_shows(lambda row: _sqlite(tmp_path / "x.db", row), in_each_place(SQLITE), runs)


DAYS = ["infinity", "-infinity", "4000-01-01 BC", "20000-01-01", "0001-01-01", "9999-12-31"]
POSTGRESQL: dict[str, list[str]] = {
    "text": ["x", "", "x" * 5000, "x" * 2**20, "'", "\u202e", "NaN", "\\N"],
    "date": ["2026-01-01", *DAYS],
    "timestamp": ["2026-01-01", *DAYS, "2026-01-01 24:00", "2026-12-31 23:59:60"],
    "timestamptz": ["2026-01-01", *DAYS, "2026-01-01 24:00+15"],
    "time": ["12:00", "24:00", "23:59:60"],
    "timetz": ["12:00Z", "24:00+15:59"],
    "interval": ["1 day", "178000000 years", "-1 month 1 day", "0"],
    "numeric": ["1", "NaN", "Infinity", "1" * 1000, "1e-1000"],
    "float8": ["1", "NaN", "-Infinity", "1e308"],
    "bigint": ["1", str(2**63 - 1), str(-(2**63)), "0"],
    "bytea": ["x", "\\xfffe", ""],
    "boolean": ["false", "true"],
    "json": ["1", "[" * 3000 + "]" * 3000, '{"a": 1e999}', "null", '"\\ud83d\\ude00"'],
    "jsonb": ["1", "[" * 3000 + "]" * 3000, '{"a": 1e999}', "null"],
    "daterange": ["[2026-01-01,2026-01-02)", "[infinity,)", "[4000-01-01 BC,20000-01-01)", "empty", "(,)"],
    "tsrange": ["empty", "[-infinity,infinity]"],
    "date[]": ["{2026-01-01}", "{infinity,NULL}", "{}", "{20000-01-01}"],
    "text[]": ["{a}", "{a,NULL}", "{{a},{b}}", "{}"],
    "uuid": ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "inet": ["10.0.0.1", "::/0", "10.0.0.1/8"],
    "point": ["(0,0)", "(NaN,Infinity)"],
    "bit varying": ["1", "", "1" * 5000],
    "xml": ["<a/>", "<b>&#x10FFFF;</b>"],
    "tsvector": ["'a':1", ""],
}
DUCKDB: dict[str, list[str]] = {
    "VARCHAR": ["x", "", "x" * 5000, "x" * 2**20, "NaN"],
    "DATE": ["2026-01-01", "infinity", "-infinity", "4000-01-01 (BC)", "20000-01-01"],
    "TIMESTAMP": ["2026-01-01", "infinity", "-infinity", "4000-01-01 (BC)", "20000-01-01"],
    "TIMESTAMP_S": ["2026-01-01", "20000-01-01"],
    "TIMESTAMP_NS": ["2026-01-01", "2262-04-11"],
    "TIMESTAMPTZ": ["2026-01-01", "infinity", "-infinity", "4000-01-01 (BC)", "20000-01-01"],
    "BIGINT": ["1", str(2**63 - 1), str(-(2**63)), "0"],
    "UBIGINT": ["1", str(2**64 - 1), "0"],
    "UTINYINT": ["1", "255"],
    "ENUM ('x', 'y')": ["x", "y"],
}
"""Values of types that columns may have, the first of them one that is none too odd."""


def assert_no_key_shows(kinds: dict[str, list[str]], make: Callable[[str, str | None], Any], runs: Runs) -> None:
    """Each value as a part of the key of one row's basket; the others have the first value of the type."""
    assert sum(map(len, kinds.values())) >= LEAST_ROWS
    options = OPTIONS | {"basket": ["basket", "other"]}
    for kind, (plain, *odd) in kinds.items():
        others = {f"{kind}: {value and value[:30]}": partial(make, kind, value) for value in [None, *odd]}
        assert differing(Neighbours(partial(make, kind, plain), others, options), runs) == {}


def _postgresql(cluster: Cluster, kind: str, value: str | None) -> Input:
    with psycopg.connect(cluster.libpq("postgres"), autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS rows")
        cursor.execute(f"CREATE TABLE rows (unit text, basket text, item text, other {kind})".encode())
        insert = f"INSERT INTO rows VALUES (%s, %s, %s, %s::text::{kind})".encode()
        with unheld(psycopg.Error):
            cursor.executemany(insert, [(*row[:3], POSTGRESQL[kind][0]) for row in ROWS])
            cursor.execute(insert, (*PLAIN[:3], value))
    return Input(query="SELECT * FROM rows", database=cluster.url("postgres"))


def test_no_value_of_postgresql_shows(cluster: Cluster, runs: Runs) -> None:
    assert_no_key_shows(POSTGRESQL, partial(_postgresql, cluster), runs)


def _duckdb(path: Path, kind: str, value: str | None) -> Input:
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection, unheld(duckdb.Error):
        connection.execute(f"CREATE TABLE rows (unit VARCHAR, basket VARCHAR, item VARCHAR, other {kind})")
        insert = f"INSERT INTO rows VALUES (?, ?, ?, CAST(CAST(? AS VARCHAR) AS {kind}))"
        connection.executemany(insert, [(*row[:3], DUCKDB[kind][0]) for row in ROWS])
        connection.execute(insert, (*PLAIN[:3], value))
    return Input(query="SELECT * FROM rows", database=f"duckdb:///{path}")


def test_no_value_of_duckdb_shows(runs: Runs, tmp_path: Path) -> None:
    assert_no_key_shows(DUCKDB, partial(_duckdb, tmp_path / "x.duckdb"), runs)


@contextmanager
def unheld(kind: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kind as error:
        raise Unheld from error


class Hostile:
    """An object none of whose ways to be seen works."""

    def _fail(self, *_: object) -> Any:
        raise RuntimeError("kanarienvogel")

    __str__ = __repr__ = __hash__ = __eq__ = __bool__ = __len__ = __iter__ = __array__ = __int__ = __float__ = _fail


class Text(str):
    """A text with another way to be seen, and no hash."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        raise RuntimeError("kanarienvogel")


ITSELF: list[Any] = []
ITSELF.append(ITSELF)
PYTHON: dict[str, Any] = {
    "None": None,
    "a missing number": float("nan"),
    "a missing number of numpy": np.float32("nan"),
    "a missing value of pandas": pd.NA,
    "a missing moment of pandas": pd.NaT,
    "infinity": float("inf"),
    "empty": "",
    "5,000 bytes": "x" * 5000,
    "a megabyte": "x" * 2**20,
    "NUL": "n\0l",
    "a surrogate": "\ud800",
    "bytes": b"a",
    "bytes that are no text": b"\xff",
    "a list": ["a", ["a"]],
    "an empty list": [],
    "a list of itself": ITSELF,
    "a tuple": ("a", None),
    "a set": {"a"},
    "a dictionary": {"a": 1},
    "2**70": 2**70,
    "an integer of 10,000 digits": 10**9_999,
    "the largest integer": 2**63 - 1,
    "a truth": True,
    "a truth of numpy": np.True_,
    "an integer of numpy": np.uint64(2**64 - 1),
    "a text of numpy": np.str_("a"),
    "an array": np.array(["a", "a"]),
    "an array of no dimensions": np.array("a"),
    "a decimal": decimal.Decimal("NaN"),
    "a decimal that signals": decimal.Decimal("sNaN"),
    "a complex number": complex("nan"),
    "a value of Arrow": pa.scalar("a"),
    "a hostile object": Hostile(),
    "a hostile text": Text("a"),
    "a class": Hostile,
    "a function": len,
}


@pytest.mark.parametrize("form", ["objects", "categories"])
def test_no_value_of_a_pandas_frame_shows(form: str, runs: Runs) -> None:
    def frame(row: tuple[Any, ...] | None) -> pd.DataFrame:
        rows = [*ROWS[:HALF], *([] if row is None else [row]), *ROWS[HALF:]]
        columns = {name: _series([row[place] for row in rows], form) for place, name in enumerate(COLUMNS)}
        return pd.DataFrame(columns)

    assert_none_shows(frame, in_each_place(PYTHON), runs, numbers=False)


def test_no_value_among_lists_and_flags_of_pandas_shows(runs: Runs) -> None:
    """Half of the other rows of lists hold a text, so that no kind of value is the usual one."""
    lists = [*BASKETS, *("a" for _ in BASKETS)]
    flags = [[letter in basket for letter in "abcdef"] for basket in BASKETS]

    def frame_of_lists(place: int, *more: Any) -> pd.DataFrame:
        units, items = [*range(len(lists))], list(lists)
        if more:
            units.insert(0, more[0] if place == 0 else "new")
            items.insert(0, more[0] if place == 1 else ["a"])
        return pd.DataFrame({"unit": _series(units, "objects"), "items": _series(items, "objects")})

    def frame_of_flags(place: int, *more: Any) -> pd.DataFrame:
        rows = [["new", *(False for _ in "abcdef")]] if more else []
        for row in rows:
            row[place] = more[0]
        rows += [[str(unit), *row] for unit, row in enumerate(flags)]
        columns = ["unit", *"abcdef"]
        return pd.DataFrame({name: _series([row[at] for row in rows], "objects") for at, name in enumerate(columns)})

    for make, options in ((frame_of_lists, {"items": "items"}), (frame_of_flags, {"one_hot": True})):
        others = {f"{place}: {name}": partial(make, place, value) for place in (0, 1) for name, value in PYTHON.items()}
        assert differing(Neighbours(partial(make, 0), others, {"unit": "unit", **options}), runs) == {}


def _series(values: list[Any], form: str) -> pd.Series[Any]:
    held = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):  # numpy looks into values that it gets together
        held[place] = value
    try:
        if form == "objects":
            return pd.Series(held, dtype=object)
        return pd.Series(pd.Categorical(held, pd.Index(pd.unique(held), dtype=object).dropna()))
    except Exception as error:
        raise Unheld from error


def test_no_basket_of_python_shows(runs: Runs) -> None:
    rows: dict[str, Any] = {f"a basket: {name}": value for name, value in PYTHON.items()}
    rows |= {f"an item: {name}": ["a", value] for name, value in PYTHON.items()}
    rows |= {"twice": ["a", "a"], "5,000 items": ["a", *map(str, range(5000))], "a generator": _failing()}

    neighbours = Neighbours(lambda: BASKETS, {name: lambda row=row: _beside(row) for name, row in rows.items()})  # type: ignore[misc]
    assert differing(neighbours, runs) == {}


def _failing() -> Iterator[str]:
    """Items that end in a fault of the user's."""
    yield "a"
    raise RuntimeError("kanarienvogel")


def _beside(row: Any) -> list[Any]:
    return [*BASKETS[:9], row, *BASKETS[9:]]
