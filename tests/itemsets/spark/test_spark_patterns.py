"""What executors do with blocks and with the patterns of units, by hand and without Java, beside plain Python sets."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from dpmine.itemsets.best_first.holdings import Holdings
from dpmine.itemsets.spark import blocks
from dpmine.itemsets.transactions.repeated import RepeatedUnits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Batches = list[pa.RecordBatch]

CODES = np.array([0, 2, 3, 5, 6], np.int32)


def shuffled(tasks: Iterable[Batches], count: int) -> list[Batches]:
    """What each of `count` partitions gets of what the tasks deal: their first column is the unit."""
    sent_to = blocks.destinations(count)
    dealt = [batch for task in tasks for batch in blocks.dealt(iter(task), units=1, sent_to=sent_to)]
    return [
        [batch.filter(pc.equal(batch.column(0), pa.scalar(number, pa.int32()))) for batch in dealt]
        for number in sent_to
    ]


def each(step: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], tasks: Iterable[Batches]) -> Batches:
    return [batch for task in tasks for batch in step(iter(task))]


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("text", [False, True])
def test_units_keep_their_baskets_and_are_counted_once(several: bool, text: bool) -> None:
    generator = np.random.default_rng(3)
    units, baskets, numbers = generator.integers(0, [[400], [3 if several else 1], [7]], (3, 3000))
    items = pa.array([f"ü{number}" for number in numbers], pa.large_string()) if text else pa.array(numbers)
    columns = [pa.array(units), *([pa.array(baskets)] if several else []), items]
    lines = pa.RecordBatch.from_arrays(columns, names=[f"c{place}" for place in range(len(columns))])
    texts = [*[False] * (len(columns) - 1), text]

    tasks = shuffled([[lines.slice(0, 1500)], [lines.slice(1500)]], 5)
    packed = each(lambda given: blocks.packed(given, texts=texts, units=1, numbered=False), tasks)
    counts: dict[object, int] = {}
    for batch in packed:
        for item, support in zip(*(batch.column(name).to_pylist() for name in ("item", "support")), strict=True):
            counts[item] = counts.get(item, 0) + (support or 0)
    names = sorted(set(items.to_pylist()))
    held = list(zip(units.tolist(), baskets.tolist(), items.to_pylist(), strict=True))
    del counts[None]  # the rows of the blocks themselves
    assert counts == {name: len({unit for unit, _, item in held if item == name}) for name in names}

    labels = pa.array(names, items.type)
    rows = [[batch.filter(pc.is_valid(batch.column("lines")))] for batch in packed]
    patterns = [
        each(lambda given: blocks.unit_patterns(given, labels=labels.take(pa.array(CODES))), [row]) for row in rows
    ]
    added = each(blocks.added_up, shuffled(patterns, 2))
    found, times = blocks.joined(added, blocks.PATTERN_TEXTS)
    assert len(found.dictionary_encode().dictionary) == len(found)
    check_supports(held, names, holdings_of(found, np.asarray(times), labels))


def holdings_of(patterns: pa.Array, times: np.ndarray, labels: pa.Array) -> Holdings:
    parts = []
    for digit in range(int(times.max()).bit_length()):
        some = patterns.filter(pa.array((times >> digit & 1).tolist(), pa.int64()).cast(pa.bool_()))
        baskets = blocks.baskets_of_patterns(some, CODES, labels, "unit")
        parts.append(RepeatedUnits(**vars(baskets), times=1 << digit))
    return Holdings(parts, CODES.tolist())


def check_supports(held: Sequence[tuple[int, int, object]], names: Sequence[object], holdings: Holdings) -> None:
    bought: dict[tuple[int, int], set[object]] = {}
    for unit, basket, item in held:
        bought.setdefault((unit, basket), set()).add(item)
    for size in (1, 2, 3):
        for itemset in combinations(range(len(CODES)), size):
            wanted = {names[CODES[place]] for place in itemset}
            assert holdings.support(itemset) == len({unit for (unit, _), has in bought.items() if wanted <= has})


def test_nothing_is_added_up_of_nothing() -> None:
    assert list(blocks.added_up(iter([]))) == []
