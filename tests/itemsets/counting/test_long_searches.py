"""Searches that take long: what is seen of them while they run, and how they end."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.oracles.itemsets import baskets_of

from dpmine.itemsets.counting import field
from dpmine.itemsets.counting.arrays import Bitmaps, Rows, Watch, new_sink
from dpmine.itemsets.counting.field import field_of
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.counting.rows import showing
from dpmine.itemsets.transactions.interface import COUNT_LIMIT
from dpmine.itemsets.transactions.lists import ListRoom

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.oracles.itemsets import Units


def long_baskets(count: int, *, length: int = 50, items: int = 60) -> Units:
    """Baskets of random items: those of a size are so many that a search takes minutes, in one part."""
    generator = np.random.default_rng(1)
    return [[set(generator.choice(items, length, replace=False).tolist())] for _ in range(count)]


DENSE = long_baskets(100)
SPARSE = [[set(range(200)), {200 + unit}] for unit in range(3)]
"""Units of several baskets are searched row by row."""

FEW, SEVERAL = long_baskets(70, length=8, items=12), [[set(range(40)), {40 + unit}] for unit in range(3)]


@pytest.fixture(autouse=True)
def _interrupts_are_heard() -> Iterator[None]:
    """Also where the tests run in the background of a shell, which ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_soon() -> None:
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT)).start()


SEARCHES: dict[str, Callable[[Miner], object]] = {
    "histogram": lambda miner: miner.histogram(12, 2),
    "nth": lambda miner: miner.nth(12, 2, COUNT_LIMIT - 2),
}


@pytest.mark.parametrize("units", [DENSE, SPARSE], ids=["bitmaps", "rows"])
@pytest.mark.parametrize("search", SEARCHES)
def test_an_interrupt_ends_a_search_and_its_threads(units: Units, search: str) -> None:
    miner = Miner(baskets_of(units))
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        SEARCHES[search](miner)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("dpmine")]


def test_an_interrupt_ends_a_list() -> None:
    miner = Miner(baskets_of(long_baskets(100, length=56)))
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        miner.itemsets(20, 60, memory_limit=1 << 40)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("dpmine")]


@pytest.mark.parametrize("maximal", [False, True])
def test_an_interrupt_ends_a_search_for_closed_itemsets(maximal: bool) -> None:
    """None of those has so many items, so the search finds nothing for minutes."""
    miner = Miner(baskets_of(DENSE))
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        miner.closed((61, 99), 2, ListRoom(1 << 40, 99, "", as_objects=False), maximal=maximal)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("dpmine")]


@pytest.mark.parametrize(("units", "size"), [(DENSE, 6), (SPARSE, 4)], ids=["bitmaps", "rows"])
def test_shares_of_a_search_rise_from_0_to_1(units: Units, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpmine.itemsets.counting.rows._PAUSE", 0.001)
    shares: list[float] = []
    with showing(shares.append):
        Miner(baskets_of(units)).histogram(size, 2)
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1 + 1e-9


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize(("units", "kind"), [(FEW, Bitmaps), (SEVERAL, Rows)])
def test_a_search_that_is_complete_is_wholly_done(units: Units, kind: type, size: int) -> None:
    ranking = Miner(baskets_of(units))._ranked(1)
    for first in (0, 2):
        where = field_of(ranking, size, first, len(ranking.supports))
        assert isinstance(where.where, kind)
        done = 0.0
        for item in range(where.first, min(where.end, where.first + 40)):
            watch = Watch(np.array([COUNT_LIMIT]), np.zeros(1))
            where.search((item, item + 1), new_sink(size, 3), watch)
            done += watch.done[0]
        rest = Watch(np.array([0]), np.zeros(1))
        where.search((min(where.end, where.first + 40), where.end), new_sink(size, 3), rest)
        assert done + rest.done[0] == pytest.approx(where.whole)


def test_a_search_that_finds_too_much_ends_early() -> None:
    miner = Miner(baskets_of(DENSE))
    assert miner.bounded_histogram(12, 2, 1000) is None
    few = miner.histogram(4, 60)
    assert miner.bounded_histogram(4, 60, few.total()) == few
    assert miner.bounded_histogram(4, 60, few.total() - 1) is None


def noted(count: Callable[..., int], calls: list[tuple[object, ...]]) -> Callable[..., int]:
    def noting(*arguments: object) -> int:
        calls.append(arguments)
        return count(*arguments)

    return noting


@pytest.mark.parametrize(("baskets", "items"), [(1, 12), (3, 36)])
def test_pairs_are_counted_in_slices_of_rows(baskets: int, items: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two of them an interrupt is served; a unit lies in one of them."""
    generator = np.random.default_rng(2)
    units: Units = [
        [set(generator.choice(items, 4, replace=False).tolist()) for _ in range(baskets)] for _ in range(40)
    ]
    whole = Miner(baskets_of(units)).histogram(2, 1)
    calls: list[tuple[object, ...]] = []
    for name in ("_count_pairs", "_count_unit_pairs"):
        monkeypatch.setattr(field, name, noted(getattr(field, name), calls))
    monkeypatch.setattr(field, "_PAIRED_AT_ONCE", 10)
    monkeypatch.setattr(field, "_ONE_THREAD", 0)
    assert Miner(baskets_of(units)).histogram(2, 1) == whole
    assert len(calls) >= 10
