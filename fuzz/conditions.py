"""Target: conditions on rows, of words in any order, and of expressions that mostly are well formed."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

import pyarrow as pa
from duckdb import DuckDBPyConnection  # noqa: TC002 - without it each condition would be rejected, and nothing tested

from dpmine.io.source import ArrowSource
from dpmine.io.sources import row_expressions
from dpmine.io.sources.row_expressions import RowExpressions, connected, parsed_condition
from fuzz.choices import Choices
from fuzz.oracle import CANARY, ask, require

if TYPE_CHECKING:
    from collections.abc import Iterator

_VALUES = (
    *("a", "b", "n", "f", "a", "b", "n", "f", "'x'", "'9'", "9", "0", "-1", "9223372036854775807", "1.5", "1e400"),
    *("NULL", "TRUE", "'%'", "''", f"'{CANARY}'", '"a"', "DATE '2026-01-01'", "INTERVAL 9 MONTH"),
)
_BETWEEN = ("=", "<>", "<", ">=", "+", "-", "*", "/", "//", "%", "||", "AND", "OR")
_OF_ONE = ("lower", "length", "abs", "year", "trim", "round", "floor", "day", "-", "NOT ", "week")
_OF_TWO = ("substr", "coalesce", "nullif", "left", "right", "round", "greatest", "contains", "starts_with")
_TYPES = ("INTEGER", "TINYINT", "DATE", "DOUBLE", "VARCHAR", "TIMESTAMP", "BOOLEAN", "DECIMAL(3, 2)")
_PATTERNS = ("'%x%'", "'_'", "'%%%'", "''", "'x%' ESCAPE 'x'", "a")
_WORDS = (
    *_VALUES,
    *_BETWEEN,
    *("NOT", "IN", "LIKE", "BETWEEN", "IS NULL", "(", ")", ",", "CASE WHEN", "THEN", "ELSE", "END"),
    *("CAST(", "TRY_CAST(", "AS INTEGER)", "AS DATE)", "AS DOUBLE)", "lower(", "substr(", "coalesce(", "count(*)"),
    *("(SELECT 1)", "random()", "read_text('/etc/passwd')", "FROM rows", ";", "--", "::INTEGER", "x.a"),
)
_TEXTS = ("x", "9", "9.5", "", None, "2026-01-01", "1e400", "99999999999999999999", "é", CANARY)
_NUMBERS = (None, 0, 1, -1, 7, 2**63 - 1, -(2**63))
_REALS = (None, 0.0, float("nan"), float("inf"), 1e300, 2.5)
_ROWS = 6
_DEEPEST = 2


def condition(data: bytes) -> None:
    """Any condition is rejected in one line, or decides each row as it would alone, and fails at none."""
    choices = Choices(data)
    text = _expression(choices, _DEEPEST) if choices.byte() % 4 else _words(choices)
    columns = {
        "a": pa.array([choices.one(_TEXTS) for _ in range(_ROWS)], pa.string()),
        "b": pa.array([choices.one(_TEXTS) for _ in range(_ROWS)], pa.string()),
        "n": pa.array([choices.one(_NUMBERS) for _ in range(_ROWS)], pa.int64()),
        "f": pa.array([choices.one(_REALS) for _ in range(_ROWS)], pa.float64()),
    }
    table = pa.table(columns)
    source = ArrowSource(table.schema, lambda _names: ())
    place = choices.byte() % _ROWS
    with patch.multiple(row_expressions, connected=_reused, _computed=_watched):
        checked = ask(lambda: RowExpressions.of([parsed_condition(text)], source))
        whole = next(found for _, found in checked.values(iter(table.to_batches()))).column(0)
        alone = next(found for _, found in checked.values(iter(table.slice(place, 1).to_batches()))).column(0)
    require(repr(alone[0].as_py()) == repr(whole[place].as_py()), "A row is decided by others.")


def _words(choices: Choices) -> str:
    return " ".join(choices.one(_WORDS) for _ in range(1 + choices.byte() % 9))


def _expression(choices: Choices, depth: int) -> str:
    """An expression of at most this depth. Where the bytes end, it is one value."""
    if not depth or choices.byte() % 8 == 0:
        return choices.one(_VALUES)
    one, two, three = (_expression(choices, depth - 1) for _ in range(3))
    forms = (
        f"({one} {choices.one(_BETWEEN)} {two})",
        f"({one} {choices.one(_BETWEEN)} {two})",
        f"({one} {choices.one(_BETWEEN)} {two})",
        f"{choices.one(_OF_ONE)}({one})",
        f"{choices.one(_OF_TWO)}({one}, {two})",
        f"{choices.one(('', 'TRY_'))}CAST({one} AS {choices.one(_TYPES)})",
        f"(CASE WHEN {one} THEN {two} ELSE {three} END)",
        f"({one} IN ({two}, {three}))",
        f"({one} LIKE {choices.one(_PATTERNS)})",
    )
    return choices.one(forms)


_OPENED = ExitStack()
_KEPT: list[DuckDBPyConnection] = []
_computed = row_expressions._computed  # noqa: SLF001 - it sees failures that the rows hide


@contextmanager
def _reused() -> Iterator[DuckDBPyConnection]:
    """One DuckDB for all inputs, as opening it takes most of the time."""
    if not _KEPT:
        _KEPT.append(_OPENED.enter_context(connected()))
    try:
        yield _KEPT[0]
    except Exception:
        _reopen_if_broken()
        raise


def _watched(connection: DuckDBPyConnection, statement: str, table: pa.Table, *, first: bool = False) -> pa.Table:
    try:
        return _computed(connection, statement, table, first=first)
    except Exception:
        _reopen_if_broken()
        raise


def _reopen_if_broken() -> None:
    """After some failures DuckDB rejects every statement."""
    try:
        _KEPT[0].execute("SELECT 1")
    except Exception:  # noqa: BLE001 - whatever it says, another one is needed
        _OPENED.close()
        _KEPT.clear()
