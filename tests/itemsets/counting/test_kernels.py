"""The compiled loops: windows of a search, their parts, and the arrays that they take."""

from collections import Counter
from contextlib import closing, suppress
from dataclasses import replace
from itertools import combinations, pairwise
from threading import Event, Timer

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.command_line import python
from support.effort import examples
from support.oracles.itemsets import baskets_of

from dpmine.itemsets.counting.arrays import Bitmaps, Rests, Rows, Sink, Watch, new_sink
from dpmine.itemsets.counting.field import NO_PAIRS, Field, bitmaps, field_of
from dpmine.itemsets.counting.miner import Miner, ordered
from dpmine.itemsets.counting.rows import ItemRanking, in_parallel, streamed, thread_count
from dpmine.itemsets.transactions.interface import COUNT_LIMIT
from dpmine.kernels import INSTRUCTION_SETS, INSTRUCTIONS, kernel
from fuzz.kernels import KERNELS
from fuzz.oracle import Refused

UNITS = [[{0, 1, 2, 3}, {1, 2}], [{0, 1, 2}], [{2, 3, 4}, {0, 4}], [{0, 1, 2, 3, 4}], [{1, 4}]]


def ranking_of_units() -> ItemRanking:
    return Miner(baskets_of(UNITS))._ranked(1)


def rows_of_units() -> Rows:
    return ranking_of_units().rows


def sink_of(size: int, *, lowest: int = 1, skip: int = 0, capacity: int = 0) -> Sink:
    return Sink(
        lowest,
        COUNT_LIMIT,
        skip,
        np.zeros(len(UNITS) + 1, np.int64),
        np.empty((capacity, size), np.int32),
        np.empty(capacity, np.int64),
        np.zeros(1, np.int64),
        np.zeros((0, 0), np.int64),
        np.full(3, -2, np.int64),
        np.empty(0, np.int32),
    )


def watch_of(stop: int = COUNT_LIMIT) -> Watch:
    return Watch(np.array([stop], np.int64), np.zeros(1))


def search(rows: Rows, first: int, end: int, sink: Sink, *, stop: int = COUNT_LIMIT) -> None:
    Field(rows, 0, len(rows.labels), 0).search((first, end), sink, watch_of(stop))


@pytest.mark.parametrize("size", [2, 3, 4])
def test_windows_of_a_search_join_seamlessly(size: int) -> None:
    rows = rows_of_units()
    whole = sink_of(size, capacity=100)
    search(rows, 0, len(rows.labels), whole)
    found = int(whole.found[0])
    assert found > 1
    for skip in range(found + 1):
        window = sink_of(size, skip=skip, capacity=2)
        search(rows, 0, len(rows.labels), window)
        expected = whole.itemsets[skip : min(skip + 2, found)]
        assert np.array_equal(window.itemsets[: len(expected)], expected)
        assert window.found[0] == found
        assert np.array_equal(window.histogram, whole.histogram)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_parts_of_the_first_items_add_up(size: int) -> None:
    rows = rows_of_units()
    whole, parts = sink_of(size, capacity=100), sink_of(size, capacity=100)
    search(rows, 0, len(rows.labels), whole)
    for first, end in pairwise(range(len(rows.labels) + 1)):
        search(rows, first, end, parts)
    found = int(whole.found[0])
    assert np.array_equal(parts.itemsets[:found], whole.itemsets[:found])
    assert np.array_equal(parts.supports[:found], whole.supports[:found])


def test_a_search_stops_when_enough_was_found() -> None:
    rows = rows_of_units()
    sink = sink_of(2)
    search(rows, 0, len(rows.labels), sink, stop=1)
    complete = sink_of(2)
    search(rows, 0, len(rows.labels), complete)
    assert 1 <= sink.found[0] < complete.found[0]


@settings(max_examples=examples(100))
@given(st.data(), st.integers(1, 6), st.sampled_from([3, 70_000, 2**31 - 1]), st.sampled_from([5, 2**40]))
def test_itemsets_are_ordered_whatever_their_width(data: st.DataObject, size: int, codes: int, largest: int) -> None:
    rows = data.draw(st.lists(st.lists(st.integers(0, min(codes, 10**6)), min_size=size, max_size=size), max_size=30))
    items = np.array(rows, np.int32).reshape(len(rows), size)
    counts = data.draw(st.lists(st.integers(1, largest), min_size=len(rows), max_size=len(rows)))
    supports = np.array(counts, np.int64)
    expected = sorted(zip((-supports).tolist(), items.tolist(), strict=True))
    found, reached = ordered(items, supports)
    assert list(zip((-reached).tolist(), found.tolist(), strict=True)) == expected


@pytest.mark.parametrize("threads", [1, 3])
def test_parts_are_answered_in_their_order(threads: int) -> None:
    assert in_parallel(lambda part: part * part, range(20), threads) == [part * part for part in range(20)]


def test_parts_not_begun_are_dropped_when_the_caller_stops() -> None:
    begun: list[int] = []
    gate = Event()

    def work(part: int) -> int:
        begun.append(part)
        return part if part == 0 else part * gate.wait(5)

    with closing(streamed(work, range(100), 2)) as results:
        assert next(results) == 0
        Timer(0.1, gate.set).start()
    assert len(begun) < 10


def test_an_error_in_a_part_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        in_parallel(lambda part: 1 // part, [3, 2, 1, 0, 5], 2)


def test_at_least_one_thread_and_at_most_eight() -> None:
    assert 1 <= thread_count() <= 8


@pytest.mark.parametrize("steps", [0, 10**6, 10**9])
def test_parts_of_a_field_cover_it_once(steps: int) -> None:
    ranking = ranking_of_units()
    maps = Bitmaps(ranking.rows.labels, np.zeros(5, np.uint64), 1, NO_PAIRS)
    for field in (field_of(ranking, 2, 1, 4), Field(maps, 0, 5, 0)):
        parts = replace(field, steps=steps).parts()
        covered = [item for first, end in parts for item in range(first, end)]
        assert covered == list(range(field.first, field.end))


@pytest.mark.parametrize("instructions", range(INSTRUCTIONS + 1))
@pytest.mark.parametrize("rows", [1, 63, 64, 65, 255, 256, 257, 700])
def test_bitmaps_count_alike_whatever_the_processor_can_do(
    rows: int, instructions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    baskets = [{item for item in range(7) if (row * (item + 3) + row // 5) % 4} for row in range(rows)]
    ranking = Miner(baskets_of([[basket] for basket in baskets]))._ranked(1)
    maps = bitmaps(Rests(*ranking.rows[:4]), np.arange(len(ranking.rows.labels), dtype=np.int32), NO_PAIRS)
    monkeypatch.setattr("dpmine.itemsets.counting.field.INSTRUCTIONS", instructions)
    for size in (2, 3, 4):
        sink = new_sink(size, 1, capacity=1000)
        Field(maps, 0, len(maps.labels), 0).search((0, len(maps.labels)), sink, watch_of())
        found = [tuple(items) for items in sink.itemsets[: sink.found[0]].tolist()]
        counted = Counter(itemset for basket in baskets for itemset in combinations(sorted(basket), size))
        assert dict(zip(found, sink.supports[: len(found)].tolist(), strict=True)) == counted


def test_no_processor_is_asked_for_more_than_it_has() -> None:
    assert kernel("instructions")(10**9) == INSTRUCTIONS < len(INSTRUCTION_SETS)
    assert kernel("instructions")(-1) == 0


def test_a_kernel_takes_arrays_as_they_are_declared() -> None:
    count, counts = kernel("count_items"), np.zeros(3, np.int64)
    count(np.array([0, 2, 2], np.int16), counts)  # narrower, where it is read
    count(np.array([1, 0, 0], np.int32)[::2], counts)  # not contiguous
    assert counts.tolist() == [2, 1, 2]
    frozen = counts.copy()
    frozen.flags.writeable = False
    for items, written in [
        (np.array([0.0]), counts),
        (np.array([0], np.int64), counts),
        (np.array([0], np.int32), counts.astype(np.int32)),
        (np.array([0], np.int32), np.zeros(6, np.int64)[::2]),
        (np.array([0], np.int32), frozen),
    ]:
        with pytest.raises(TypeError, match="kernel count_items"):
            count(items, written)
    with pytest.raises(TypeError, match="takes 2 arguments, not 1"):
        count(counts)
    assert counts.tolist() == [2, 1, 2]


@pytest.mark.parametrize("item", [-1, 3, 2**31 - 1])
def test_a_kernel_refuses_numbers_that_are_no_places(item: int) -> None:
    with pytest.raises(ValueError, match="arrays of the kernel count_items do not fit"):
        kernel("count_items")(np.array([0, item], np.int32), np.zeros(3, np.int64))


def test_a_missing_library_says_what_to_do() -> None:
    said = python("import dpmine.kernels", variables={"DPMINE_KERNELS": "/nowhere/libkernels.so"}).err
    assert "UnreadableFile: The compiled loops of dpmine cannot be loaded from /nowhere/libkernels.so" in said
    assert "unset DPMINE_KERNELS" in said
    assert "make kernels" in said


@settings(max_examples=examples(300))
@given(st.binary(max_size=200))
def test_no_arrays_are_too_strange(data: bytes) -> None:
    for target in KERNELS.values():
        with suppress(Refused):
            target(data)
