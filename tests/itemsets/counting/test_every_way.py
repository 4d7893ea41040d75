"""The same supports whichever way they are counted: each kernel forced, in memory and from a stream."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.conformance.sources import COLUMNS, Row, check, table_of
from support.effort import examples
from support.reading import IN_CHUNKS, read_baskets

from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.outofcore.partitions import PartitionedBaskets
from dpmine.itemsets.read import read_transactions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpmine.itemsets.transactions.memory import MemoryBudget

CONDITIONAL = replace(IN_CHUNKS, all_resident=0, resident=2500, projection=3000)
KEY = st.one_of(st.none(), st.integers(-3, 8))
MANY_BASKETS = st.lists(st.tuples(KEY, KEY, st.one_of(st.none(), st.integers(0, 7))), max_size=90)
ONE_BASKET = MANY_BASKETS.map(lambda rows: [(unit, 0, item) for unit, _, item in rows])
REPEATED = MANY_BASKETS.map(lambda rows: [*rows, *rows[::2]])


def yes(*_: object) -> bool:
    return True


def no(*_: object) -> bool:
    return False


SQUARES: dict[str, Callable[..., object]] = {
    "counting.field.worthwhile": yes,
    "counting.field.dense": no,
}
WAYS: dict[str, dict[str, Callable[..., object]]] = {
    "chosen": {},
    "squares of pairs": SQUARES,
    "bitmaps of few partners": {**SQUARES, "counting.field._walk": lambda *_: 10**9},
    "walks through rows": {"counting.field.worthwhile": no, "counting.field.dense": no},
    "bitmaps of all": {"counting.field.worthwhile": no, "counting.field.dense": yes},
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Makes every search go one way."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in WAYS[request.param].items():
            patch.setattr(f"dpmine.itemsets.{name}", value)
        yield request.param


def check_in_memory(rows: list[Row]) -> None:
    baskets = read_baskets(table_of(rows), COLUMNS).baskets
    check(Miner(baskets), baskets.labels.to_pylist(), rows)


def check_streamed(rows: list[Row], budget: MemoryBudget) -> None:
    table = table_of([*rows, (5, 1, 1), (4, 1, 1)])
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=7))
    found = read_transactions(stream, COLUMNS, memory=budget).transactions
    assert isinstance(found, PartitionedBaskets)
    check(found.miner(), found.labels.to_pylist(), [*rows, (5, 1, 1), (4, 1, 1)])


ROWS = st.one_of(MANY_BASKETS, ONE_BASKET, REPEATED)


@pytest.mark.usefixtures("way")
@settings(max_examples=examples(40))
@given(ROWS)
def test_every_kernel(rows: list[Row]) -> None:
    check_in_memory(rows)


@pytest.mark.slow
@pytest.mark.usefixtures("way")
@settings(max_examples=examples(1000))
@given(ROWS)
def test_every_kernel_at_length(rows: list[Row]) -> None:
    check_in_memory(rows)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [IN_CHUNKS, CONDITIONAL], ids=["streamed", "conditional"])
@settings(max_examples=examples(1000))
@given(ROWS)
def test_streams_at_length(budget: MemoryBudget, rows: list[Row]) -> None:
    check_streamed(rows, budget)


@pytest.mark.usefixtures("way")
def test_sixty_four_rows_and_more() -> None:
    """Bitmaps of several words."""
    rows: list[Row] = [(unit, 0, item) for unit in range(200) for item in range(8) if (unit >> (item % 5)) % 3 != 1]
    check_in_memory(rows)
