"""Streaming: whatever the path, the supports are those of the same data in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.effort import examples
from support.oracles.ingest import contents, expected, refused
from support.oracles.itemsets import held
from support.reading import ENDLESS, IN_CHUNKS, read_baskets

from dpmine.errors import BadParameter
from dpmine.io.source import ArrowSource, Columns
from dpmine.io.unfit import CountedUnfit
from dpmine.itemsets import read
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.ingest.layouts import plan_layout
from dpmine.itemsets.outofcore import pairs, reading, spill
from dpmine.itemsets.outofcore.partitions import PartitionedBaskets, PartitionedMiner
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.transactions.interface import Baskets
from dpmine.itemsets.transactions.memory import LINE, MemoryBudget, resident_cost

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dpmine.itemsets.transactions.interface import SupportSource, Transactions

FEW_RESIDENT = replace(IN_CHUNKS, all_resident=0, resident=2500, projection=3000)
"""Some items fit into the miner, the others are mined in several groups."""
LARGER = replace(FEW_RESIDENT, chunk=40000, resident=12000, projection=60000)
"""The same for a few thousand lines."""
NONE_RESIDENT = replace(FEW_RESIDENT, resident=0)
DIVIDED = replace(NONE_RESIDENT, projection=300)
"""No item's conditional database of more than a few rows fits."""
BUDGETS = st.sampled_from([IN_CHUNKS, FEW_RESIDENT, NONE_RESIDENT, DIVIDED])

NAMED = Columns(unit=("u",), basket=("b",), item="i")
NO_BASKETS = Columns(unit=("u",), item="i")
KEY = st.one_of(st.none(), st.integers(-3, 12))
ITEM = st.one_of(st.none(), st.integers(0, 9))
ROWS = st.lists(st.tuples(KEY, KEY, ITEM), max_size=80)
SORTED_ROWS = ROWS.map(lambda rows: sorted(rows, key=lambda row: -5 if row[0] is None else row[0]))

Row = tuple[int | None, int | None, int | None]


def long_table(rows: list[Row], kind: str = "integer") -> pa.Table:
    """Rows as columns u, b, i; keys and items as integers, texts or dictionaries."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    if kind == "integer":
        return pa.table({name: pa.array(values, pa.int64()) for name, values in zip("ubi", columns, strict=True)})
    texts = [[None if value is None else f"v{value + 50}" for value in values] for values in columns]
    arrays = [pa.array(values, pa.string()) for values in texts]
    return pa.table([a.dictionary_encode() if kind == "dictionary" else a for a in arrays], names=list("ubi"))


def in_batches(table: pa.Table, rows: int = 7) -> pa.RecordBatchReader:
    """The table as a stream, which can be read once."""
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=rows))


def partitioned(data: Any, columns: Columns, budget: MemoryBudget, **options: Any) -> PartitionedBaskets:
    found = read_transactions(data, columns, memory=budget, **options).transactions
    assert isinstance(found, PartitionedBaskets)
    return found


def same_answers(transactions: Transactions, baskets: Baskets) -> None:
    """Every question a universe asks has the answer of the data in memory."""
    miner, truth = transactions.miner(), Miner(baskets)
    assert transactions.labels.to_pylist() == baskets.labels.to_pylist()
    assert transactions.labels.type == baskets.labels.type
    assert transactions.total_units == baskets.total_units
    assert miner.item_supports.tolist() == truth.item_supports.tolist()
    for size in (1, 2, 3):
        for threshold in (1, 2, 4):
            levels = truth.histogram(size, threshold)
            assert miner.histogram(size, threshold) == miner.bounded_histogram(size, threshold, None) == levels
            listed, expected_list = miner.itemsets(size, threshold), truth.itemsets(size, threshold)
            assert listed.items.tolist() == expected_list.items.tolist()
            assert listed.supports.tolist() == expected_list.supports.tolist()
        same_members(miner, truth, size)


def same_members(miner: SupportSource, truth: Miner, size: int) -> None:
    """`nth` numbers the itemsets of a level, and `support` knows theirs."""
    for support, count in sorted(truth.histogram(size, 1).items(), reverse=True)[:3]:
        members = {miner.nth(size, support, n) for n in range(min(count, 20))}
        assert len(members) == min(count, 20)
        assert {truth.support(member) for member in members} == {support}
        assert {miner.support(member) for member in members} == {support}
        together = [*sorted(members), *sorted(members)[:1], min(members)[:1]]
        assert miner.supports(together) == list(map(truth.support, together))
        with pytest.raises(BadParameter):
            miner.nth(size, support, count)


@settings(max_examples=examples(40))
@given(ROWS, BUDGETS, st.sampled_from(["integer", "text", "dictionary"]))
def test_scattered_units(rows: list[Row], budget: MemoryBudget, kind: str) -> None:
    table = long_table([*rows, (5, 1, 1), (4, 1, 1)], kind)
    same_answers(partitioned(in_batches(table), NAMED, budget), read_baskets(table, NAMED).baskets)


@settings(max_examples=examples(40))
@given(SORTED_ROWS, BUDGETS, st.sampled_from(["integer", "text", "dictionary"]))
def test_sorted_units_are_not_divided(rows: list[Row], budget: MemoryBudget, kind: str) -> None:
    table = long_table([*rows, (13, 1, 1)], kind)
    table = pa.Table.from_batches(table.to_batches(max_chunksize=7))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "scattered", None)
        same_answers(partitioned(table, NAMED, budget), read_baskets(table, NAMED).baskets)


@settings(max_examples=examples(40))
@given(ROWS, st.booleans())
def test_a_private_run_takes_many_rows_in_order_part_by_part_and_needs_no_file(rows: list[Row], ordered: bool) -> None:
    table = long_table([*(sorted(rows, key=str) if ordered else rows), (13, 1, 1)])
    table = table.sort_by("u") if ordered else table
    table = pa.Table.from_batches(table.to_batches(max_chunksize=7))
    expected_baskets = read_baskets(table, NAMED).baskets
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "_MANY", 0)
        patch.setattr(read, "_KEPT", 0)
        patch.setattr(spill, "SpillFile", None)
        found = read_transactions(table, NAMED).transactions
        assert isinstance(found, PartitionedBaskets) or not ordered
        same_answers(found.projected(range(len(found.labels))), expected_baskets)
        assert isinstance(read_transactions(table, NAMED, exact=CountedUnfit()).transactions, Baskets)


@pytest.mark.parametrize("room", [{"chunk": 2000}, {"labels": 2000}])
def test_a_private_run_reads_as_a_whole_what_its_parts_cannot_take(
    room: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = long_table([(7, 1, 1), *((8, basket, basket) for basket in range(200))])
    monkeypatch.setattr(read, "_MANY", 0)
    found = read_transactions(table, NAMED, memory=replace(ENDLESS, **room)).transactions
    same_answers(found, read_baskets(table, NAMED).baskets)


@pytest.mark.parametrize("memory", ["64MB", "1GB", "2500MB", "4GB", "8GB", "1TB"])
def test_what_fits_as_a_whole_fits_in_memory_in_parts(memory: str) -> None:
    budget = MemoryBudget.of(memory)
    in_parts, lines = budget.packing_beyond(read._KEPT), budget.whole // (2 * LINE)
    assert in_parts.packed >= 3 * 4 * lines
    assert in_parts.all_resident >= resident_cost(lines, lines, 0)


@settings(max_examples=examples(20))
@given(ROWS, BUDGETS, st.booleans())
def test_units_without_baskets(rows: list[Row], budget: MemoryBudget, once: bool) -> None:
    table = long_table([*rows, (5, 1, 1)])
    data = in_batches(table) if once else table
    same_answers(partitioned(data, NO_BASKETS, budget), read_baskets(table, NO_BASKETS).baskets)


@settings(max_examples=examples(20))
@given(ROWS, BUDGETS, st.booleans(), st.booleans())
def test_lists(rows: list[Row], budget: MemoryBudget, once: bool, named: bool) -> None:
    lists: dict[tuple[int | None, int | None], list[int | None]] = {}
    for unit, basket, item in [*rows, (5, 1, 1)]:
        lists.setdefault((unit, basket), []).append(item)
    units = [unit for unit, _ in lists]
    table = pa.table({"u": pa.array(units, pa.int64()), "i": pa.array(list(lists.values()), pa.list_(pa.int64()))})
    columns = Columns(unit=("u",) if named else (), item="i")
    data = in_batches(table, 3) if once else table
    same_answers(partitioned(data, columns, budget), read_baskets(table, columns).baskets)


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(KEY, *[st.booleans()] * 5), min_size=1, max_size=30), BUDGETS, st.booleans(), st.booleans())
def test_one_hot(rows: list[Any], budget: MemoryBudget, once: bool, named: bool) -> None:
    names = ["u", *"abcde"]
    table = pa.table({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})
    table = table.set_column(0, "u", table.column("u").cast(pa.int64()))
    columns = Columns(unit=("u",)) if named else Columns()
    table = table if named else table.drop_columns(["u"])
    data = in_batches(table, 3) if once else table
    found = read_transactions(data, columns, memory=budget).transactions
    same_answers(found, read_baskets(table, columns).baskets)


@settings(max_examples=examples(20))
@given(ROWS, BUDGETS, st.booleans(), st.sampled_from([["3", "1", "77"], [1, 3, 77], [77]]))
def test_a_catalogue(rows: list[Row], budget: MemoryBudget, once: bool, items: list[Any]) -> None:
    table, catalogue = long_table([*rows, (5, 1, 1)]), pa.array(items)
    data = in_batches(table) if once else table
    found = partitioned(data, NAMED, budget, catalogue=catalogue)
    same_answers(found, read_baskets(table, NAMED, catalogue=catalogue).baskets)


@settings(max_examples=examples(20))
@given(ROWS, st.booleans(), st.integers(1, 3))
def test_bounded_contributions(rows: list[Row], once: bool, limit: int) -> None:
    table = long_table([*rows, (5, 1, 1)])
    found = partitioned(in_batches(table) if once else table, NAMED, FEW_RESIDENT)
    known, weights = read_baskets(table, NAMED).baskets, np.arange(9, 9 - limit, -1)
    same_answers(found.truncated(limit), known.truncated(limit))
    assert found.item_weights(weights).tolist() == known.item_weights(weights).tolist()
    items, weights = range(0, len(known.labels), 2), np.arange(1000, 0, -1)
    assert found.pair_weights(items, weights).tolist() == known.pair_weights(items, weights).tolist()
    assert held(found, items) == held(known, items)


@settings(max_examples=examples(10))
@given(ROWS, BUDGETS)
def test_baskets_of_a_unit_are_merged(rows: list[Row], budget: MemoryBudget) -> None:
    table = long_table([*rows, (5, 1, 1), (5, 2, 2)])
    known, items = read_baskets(table, NAMED).baskets, [0, 1]
    found = partitioned(table, NAMED, budget)
    same_answers(found.unions(), known.unions())
    same_answers(found.projected(items).unions(), known.unions().projected(items))


@settings(max_examples=examples(20))
@given(ROWS, st.booleans())
def test_partitions_hold_whole_units(rows: list[Row], once: bool) -> None:
    rows = [*rows, (5, 1, 1)]
    table = long_table(rows)
    found = partitioned(in_batches(table) if once else table, NAMED, IN_CHUNKS)
    assert contents(found) == expected(rows)


def test_composite_keys() -> None:
    generator = np.random.default_rng(7)
    table = pa.table({name: generator.integers(0, 6, 400) for name in ("u", "v", "b", "c", "i")})
    table = table.set_column(1, "v", table.column("v").cast(pa.string()))
    columns = Columns(unit=("u", "v"), basket=("b", "c"), item="i")
    truth = read_baskets(table, columns).baskets
    ordered = table.sort_by([(name, "ascending") for name in table.column_names])
    for data in (table, ordered, in_batches(table), in_batches(ordered)):
        same_answers(partitioned(data, columns, LARGER), truth)


@every("kind", [pa.date32(), pa.timestamp("us"), pa.uint64(), pa.int16(), pa.large_string()])
def test_kinds_of_keys(kind: pa.DataType) -> None:
    generator = np.random.default_rng(8)
    units = pa.array(generator.integers(0, 40, 500).tolist(), pa.int32() if kind == pa.date32() else pa.int64())
    table = pa.table({"u": units.cast(kind), "i": generator.integers(0, 9, 500)})
    for data in (table, table.sort_by("u"), in_batches(table)):
        same_answers(partitioned(data, NO_BASKETS, LARGER), read_baskets(table, NO_BASKETS).baskets)


VIEWS = [pa.string_view(), *(make(pa.string_view()) for make in (pa.list_, pa.large_list, pa.list_view))]


@every("kind", [*VIEWS, pa.list_(pa.string_view(), 1)])
@every("once", [False, True])
def test_one_null_key_beside_views_of_texts(kind: pa.DataType, once: bool) -> None:
    """Arrow cannot filter views, which polars makes: one row must not stop a run that was charged."""
    texts = ["b", "a", None, "c"]
    items = pa.array(texts if kind == pa.string_view() else [[text] for text in texts], kind)
    table = pa.table({"u": [1, None, 3, 4], "i": items})
    data = in_batches(table) if once else table
    same_answers(partitioned(data, NO_BASKETS, IN_CHUNKS), read_baskets(table, NO_BASKETS).baskets)


@pytest.mark.slow
def test_files_and_data_sets(tmp_path: Path) -> None:
    generator = np.random.default_rng(9)
    table = pa.table({"u": generator.integers(0, 90, 3000), "i": generator.integers(0, 30, 3000)})
    for name, part in (("a", table.slice(0, 1700)), ("b", table.slice(1700)), ("s", table.sort_by("u"))):
        (tmp_path / name).mkdir()
        pq.write_table(part, tmp_path / name / "part.parquet", row_group_size=500)
    parts = [tmp_path / "a", tmp_path / "b"]
    truth = read_baskets(table, NO_BASKETS).baskets
    for data in (parts, tmp_path / "s", ds.dataset([str(path / "part.parquet") for path in parts])):
        same_answers(partitioned(data, NO_BASKETS, LARGER), truth)


def test_frames_and_sequences() -> None:
    table = long_table([(unit % 30, unit % 7, unit % 10) for unit in range(300)])
    same_answers(partitioned(table.to_pandas(), NAMED, LARGER), read_baskets(table, NAMED).baskets)
    baskets = [[0, 1, 2], [1, 2], [], [3]] * 40
    same_answers(partitioned(baskets, Columns(), LARGER), read_baskets(baskets, Columns()).baskets)


def test_one_pass_is_over_before_the_next_begins() -> None:
    """Two readers at a time would take the memory of two, where units turn out to be scattered."""
    table = long_table([(unit, None, 1) for unit in range(90, 0, -1)])
    open_readers: list[list[str]] = []

    def columns(names: list[str]) -> Iterator[pa.RecordBatch]:
        assert not open_readers
        open_readers.append(names)
        try:
            yield from table.select(names).to_batches(max_chunksize=20)
        finally:
            open_readers.clear()

    source = ArrowSource(table.schema, columns, repeatable=True)
    plan = plan_layout(source, NO_BASKETS)
    found = reading.Stream(source, plan, None, IN_CHUNKS, lambda _: None).transactions(None)
    assert isinstance(found, PartitionedBaskets)
    assert found.total_units == 90


def test_small_data_stay_in_memory() -> None:
    table = long_table([(1, 1, 1), (2, 2, 2)])
    for data in (table, in_batches(table)):
        assert isinstance(read_transactions(data, NAMED, memory="64MB").transactions, Baskets)


def test_uneven_partitions_are_divided_again() -> None:
    table = long_table([(unit, 1, item) for unit in range(300) for item in range(4)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpmine.itemsets.outofcore.reading._WAYS_WHEN_UNKNOWN", 2)
        found = partitioned(in_batches(table), NAMED, IN_CHUNKS)
    assert sum(1 for _ in found.parts()) > 2
    same_answers(found, read_baskets(table, NAMED).baskets)


@pytest.mark.parametrize("once", [True, False])
def test_one_unit_too_large(once: bool) -> None:
    table = long_table([(1, 1, item % 10) for item in range(2000)])
    with refused(BadParameter, "unit", "`memory`"):
        partitioned(in_batches(table) if once else table, NAMED, IN_CHUNKS)


def test_too_many_items() -> None:
    table = long_table([(item, 1, item) for item in range(2000)])
    small = replace(IN_CHUNKS, labels=1000)
    with refused(BadParameter, "items", "`memory`", "catalogue"):
        partitioned(in_batches(table), NAMED, small)


def test_no_item_is_bought_too_often() -> None:
    """A conditional database that does not fit has partitions of its own, and so have those in it."""
    rows: list[Row] = [(unit, unit % 3, item) for unit in range(24) for item in range(6) if unit % (item + 2)]
    table = long_table(rows + [(unit, 4, item) for unit in range(6) for item in range(5)])
    truth, miner = read_baskets(table, NAMED).baskets.miner(), partitioned(table, NAMED, DIVIDED).miner()
    for size in range(3, 7):
        levels = truth.histogram(size, 1)
        assert miner.histogram(size, 1) == levels
        assert miner.itemsets(size, 2).items.tolist() == truth.itemsets(size, 2).items.tolist()
        for support, count in sorted(levels.items(), reverse=True)[:2]:
            members = {miner.nth(size, support, n) for n in range(count)}
            assert len(members) == count
            assert set(map(truth.support, members)) == {support}


def test_the_pairs_of_the_most_frequent_items_take_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rarer ones are found in conditional databases."""
    table = long_table([(unit, 0, item) for unit in range(20) for item in range(8) if item < 4 or unit % item == 0])
    truth = read_baskets(table, NAMED).baskets
    for cells in (16, 0):
        monkeypatch.setattr(pairs, "LARGEST_SQUARE", cells)
        found, passes = passes_of(partitioned(table, NAMED, NONE_RESIDENT))
        miner = found.miner()
        for threshold in (20, 15):
            assert miner.histogram(2, threshold) == {20: 6}
            assert len(miner.itemsets(2, threshold).supports) == 6
        assert (len(passes) == 1) == (cells == 16)
        assert miner.histogram(2, 1) == truth.miner().histogram(2, 1)
        same_members(miner, truth.miner(), 2)


def test_counters_of_pairs_hold_no_more_units_than_their_bits() -> None:
    supports = np.array([1, 2, 3])
    assert pairs.least_support(supports, 2**31 - 1) == 1
    assert pairs.least_support(supports, 2**31) > 2**31


def test_a_list_that_does_not_fit_is_refused_before_it_is_taken() -> None:
    table = long_table([(unit, 1, item) for unit in range(60) for item in range(10)])
    for projection in (300, 10**5):
        found = partitioned(table, NAMED, replace(NONE_RESIDENT, projection=projection, listing=300))
        for size in (2, 3):
            with refused(BadParameter, "`memory`"):
                PartitionedMiner(found).itemsets(size, 1)


def test_codes_outside_the_catalogue() -> None:
    miner = PartitionedMiner(partitioned(long_table([(1, 1, 1), (2, 1, 2)]), NAMED, NONE_RESIDENT))
    for wrong in ([], [5], [-1], [0, 0]):
        with pytest.raises(BadParameter):
            miner.support(wrong)


@pytest.mark.parametrize("kind", ["integer", "text", "dictionary"])
def test_batches_without_lines(kind: str) -> None:
    table = long_table([*[(None, 1, 1)] * 7, *[(place, 1, 2) for place in (5, 3, 4, 1, 2, 0, 7)], (None, 1, 1)], kind)
    same_answers(partitioned(in_batches(table), NAMED, IN_CHUNKS), read_baskets(table, NAMED).baskets)


ROOMY_ENOUGH = replace(NONE_RESIDENT, gathered=10**9)


@settings(max_examples=examples(60))
@given(SORTED_ROWS, st.integers(0, 20_000), st.sampled_from(["integer", "text", "dictionary"]))
def test_sorted_units_are_gathered_while_they_fit(rows: list[Row], room: int, kind: str) -> None:
    table = long_table([*rows, (13, 1, 1)], kind)
    table = pa.Table.from_batches(table.to_batches(max_chunksize=7))
    truth = read_baskets(table, NAMED).baskets
    found = read_transactions(table, NAMED, memory=ROOMY_ENOUGH).transactions
    assert isinstance(found, Baskets)
    assert found.labels.equals(truth.labels)
    for name in ("items", "basket_starts", "unit_starts"):
        assert getattr(found, name).tolist() == getattr(truth, name).tolist()
    same_answers(read_transactions(table, NAMED, memory=replace(ROOMY_ENOUGH, gathered=room)).transactions, truth)


def passes_of(found: PartitionedBaskets) -> tuple[PartitionedBaskets, list[int]]:
    """The transactions, and a list that grows with each pass over their partitions."""
    passes: list[int] = []

    def counted() -> Iterator[Baskets]:
        passes.append(1)
        return found.parts()

    return replace(found, parts=counted), passes


def random_rows() -> list[Row]:
    """Sixty baskets of a few of ten items."""
    generator = np.random.default_rng(5)
    return [(unit, 0, int(item)) for unit in range(60) for item in np.unique(generator.integers(0, 10, 6))]


def test_itemsets_that_were_counted_take_no_other_pass() -> None:
    """Those found for the levels are listed from what was found; where they were too many, they are found again."""
    rows = random_rows()
    for listing, again in ((10**6, False), (0, True)):
        budget = replace(LARGER, resident=0, projection=9000, listing=listing)
        found, passes = passes_of(partitioned(long_table(rows), NAMED, budget))
        miner, truth = found.miner(), read_baskets(long_table(rows), NAMED).baskets.miner()
        levels = miner.histogram(3, 3)
        assert levels == truth.histogram(3, 3)
        before = len(passes)
        for threshold in (3, 12):
            listed, expected_list = miner.itemsets(3, threshold, memory_limit=10**6), truth.itemsets(3, threshold)
            assert listed.items.tolist() == expected_list.items.tolist()
            assert listed.supports.tolist() == expected_list.supports.tolist()
        assert (len(passes) > before) == again


def test_supports_share_a_pass() -> None:
    """Itemsets of any sizes, in any order, some more than once."""
    rows = random_rows()
    truth = read_baskets(long_table(rows), NAMED).baskets.miner()
    itemsets = [[3], [4, 1], *truth.itemsets(2, 1).items.tolist(), *truth.itemsets(3, 1).items.tolist()[::-1], [1, 4]]
    expected_supports = list(map(truth.support, itemsets))
    found, passes = passes_of(partitioned(long_table(rows), NAMED, replace(NONE_RESIDENT, projection=0)))
    miner = found.miner()
    assert miner.supports(itemsets) == expected_supports
    assert len(passes) == 1
    unranked = read_baskets(long_table(rows), NAMED).baskets.miner()
    assert unranked.supports(itemsets) == truth.supports(itemsets) == expected_supports
    for wrong in ([1, 1], [-1], [1, 10], list[int]()):
        with pytest.raises(BadParameter):
            miner.supports([wrong])


def test_items_become_resident_when_thresholds_ask_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass gathers few of them for the first question, others take another: a few times at most."""
    monkeypatch.setattr("dpmine.itemsets.outofcore.partitions._FEW", 4000)
    rows = random_rows()
    truth = read_baskets(long_table(rows), NAMED).baskets.miner()
    found, passes = passes_of(partitioned(long_table(rows), NAMED, replace(IN_CHUNKS, all_resident=10**6)))
    miner = found.miner()
    few = miner.resident_threshold
    assert few > 1
    assert miner.itemsets(2, few).items.tolist() == truth.itemsets(2, few).items.tolist()
    assert len(passes) == 1
    for threshold in range(few, 0, -1):
        assert miner.histogram(3, threshold) == truth.histogram(3, threshold)
        assert miner.itemsets(2, threshold).items.tolist() == truth.itemsets(2, threshold).items.tolist()
    assert miner.resident_threshold == 1
    assert 2 <= len(passes) <= 4
    before = len(passes)
    assert miner.support([0, 1]) == truth.support([0, 1])
    assert len(passes) == before
