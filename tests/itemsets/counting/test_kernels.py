"""The compiled loops: windows of a search, their parts, and the cache on disk."""

import os
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from threading import Event, Timer

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import examples
from support.oracles.itemsets import baskets_of

from dpmine.compiled import cache_location
from dpmine.itemsets.counting.arrays import Bitmaps, Rows, Sink
from dpmine.itemsets.counting.field import NO_PAIRS, Field, field_of
from dpmine.itemsets.counting.kernels import search
from dpmine.itemsets.counting.miner import Miner, ordered
from dpmine.itemsets.counting.rows import ItemRanking, in_parallel, streamed, thread_count
from dpmine.itemsets.transactions.base import COUNT_LIMIT

ROOT = Path(__file__).resolve().parents[3]
UNITS = [[{0, 1, 2, 3}, {1, 2}], [{0, 1, 2}], [{2, 3, 4}, {0, 4}], [{0, 1, 2, 3, 4}], [{1, 4}]]


def ranking_of_units() -> ItemRanking:
    return Miner(baskets_of(UNITS))._ranked(1)


def rows_of_units() -> Rows:
    return ranking_of_units().rows


def sink_of(size: int, *, lowest: int = 1, skip: int = 0, capacity: int = 0, stop: int = COUNT_LIMIT) -> Sink:
    return Sink(
        lowest,
        COUNT_LIMIT,
        skip,
        stop,
        np.zeros(len(UNITS) + 1, np.int64),
        np.empty((capacity, size), np.int32),
        np.empty(capacity, np.int64),
        np.zeros(1, np.int64),
        np.zeros((0, 0), np.int64),
        np.full(3, -2, np.int64),
        np.empty(0, np.int32),
    )


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
    sink = sink_of(2, stop=1)
    search(rows, 0, len(rows.labels), sink)
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
    found, reached = ordered(items, supports)
    expected = sorted(zip((-supports).tolist(), items.tolist(), strict=True))
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


def in_new_process(code: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**kept, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LOCATION = "from dpmine.compiled import cache_location; print(cache_location())"

COUNT_TRIPLES = """
from dpmine.itemsets.counting.kernels import search
from dpmine.itemsets.counting.rows import ItemRanking
from dpmine.itemsets.counting.miner import Miner
from support.oracles.itemsets import baskets_of
miner = Miner(baskets_of([[{0, 1, 2, 3}, {1, 2}], [{0, 1, 2}], [{0, 1, 2, 3, 4}], [{0, 2, 3}]]))
print(len(miner.itemsets(3, 2)), miner.support([0, 1, 2]), sum(search.stats.cache_hits.values()))
"""


def test_the_cache_is_an_existing_folder() -> None:
    location = cache_location()
    assert location is None or location.is_dir()


def test_the_cache_can_be_sent_elsewhere(tmp_path: Path) -> None:
    assert in_new_process(LOCATION, NUMBA_CACHE_DIR=str(tmp_path)).startswith(str(tmp_path))


def test_no_writable_folder_means_no_cache() -> None:
    # The only place to look is the one that is not given: the same failure as read-only folders.
    assert in_new_process(LOCATION, NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator") == "None"


@pytest.mark.slow
def test_loops_without_a_cache_compute(tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "nowhere")
    found = in_new_process(
        COUNT_TRIPLES, NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator", HOME=elsewhere, XDG_CACHE_HOME=elsewhere
    )
    assert found == "4 3 0"


@pytest.mark.slow
def test_loops_loaded_from_the_cache_compute(tmp_path: Path) -> None:
    # A compiled function that calls itself passes the first run and crashes in the second.
    assert in_new_process(COUNT_TRIPLES, NUMBA_CACHE_DIR=str(tmp_path)) == "4 3 0"
    assert in_new_process(COUNT_TRIPLES, NUMBA_CACHE_DIR=str(tmp_path)) == "4 3 1"
