"""How deep a search goes: plain numbers, without Spark."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmine.errors import BadParameter
from dpmine.io.source import Columns
from dpmine.itemsets.read import engine_of, read_transactions
from dpmine.itemsets.spark import counting as spark_depth
from dpmine.itemsets.spark.counting import Ranks, depth, stored_threshold
from dpmine.options.names import SPARK

SUPPORTS = st.lists(st.integers(0, 30), min_size=1, max_size=12)


@given(SUPPORTS)
def test_ranks_are_the_items_by_decreasing_support(supports: list[int]) -> None:
    ranks = Ranks.of(np.array(supports, np.int64))
    expected = sorted((code for code, support in enumerate(supports) if support), key=lambda c: (-supports[c], c))
    assert ranks.codes.tolist() == expected
    assert ranks.supports.tolist() == [supports[code] for code in expected]
    for threshold in range(1, 32):
        assert ranks.above(threshold) == sum(support >= threshold for support in supports)


@given(SUPPORTS)
def test_below_the_threshold_of_a_rank_it_matters(supports: list[int]) -> None:
    ranks = Ranks.of(np.array(supports, np.int64))
    for rank in range(len(ranks.codes)):
        threshold = ranks.threshold(rank)
        assert ranks.above(threshold) <= rank
        assert ranks.above(threshold - 1) > rank
    assert ranks.threshold(len(ranks.codes)) == 1


@given(SUPPORTS, st.integers(1, 31), st.integers(0, 31), st.integers(0, 50), st.data())
def test_a_search_goes_as_deep_as_asked_and_no_deeper_than_is_nearly_free(
    supports: list[int], asked: int, known: int, free: int, data: st.DataObject
) -> None:
    ranks = Ranks.of(np.array(supports, np.int64))
    size = len(ranks.codes)
    known = max(known, asked + 1)
    work = np.array(data.draw(st.lists(st.integers(0, 20), min_size=size, max_size=size)), float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_depth, "_FREE", free)
        deep = depth(ranks, work, stored=3, known=known, asked=asked)
    first, needed, reached = ranks.above(known), ranks.above(asked), ranks.above(deep)
    assert 1 <= deep <= asked
    allowed = max((2 if first else 1) * work[first:needed].sum(), 2 * 3, free)
    assert work[first:reached].sum() <= max(allowed, work[first:needed].sum())


def test_nothing_to_count_ahead() -> None:
    ranks = Ranks.of(np.array([50, 40, 40, 10, 1], np.int64))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_FREE", "_TIMES_THE_STORE"):
            patch.setattr(spark_depth, name, 0)
        assert depth(ranks, np.array([1.0, 5, 5, 5, 5]), stored=9, known=51, asked=45) == 41
        assert depth(ranks, np.array([1.0, 5, 5, 5, 5]), stored=9, known=51, asked=40) == 11


def test_small_data_are_stored_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = Ranks.of(np.array([5000, 400], np.int64))
    assert stored_threshold(ranks, 4000) == 1
    monkeypatch.setattr(spark_depth, "_SMALL", 100)
    assert stored_threshold(ranks, 4000) == 500
    assert stored_threshold(ranks, 3) == 1


def test_engines() -> None:
    assert engine_of("local", [["a", "b"]]).name == "local"
    assert engine_of("spark", "sales.parquet") is SPARK
    for data in ([["a", "b"]], [], 3, {"a": 1}, ["a.parquet", "b.csv"]):
        with pytest.raises(BadParameter, match="Spark DataFrame"):
            read_transactions(data, Columns(), engine="spark")
    with pytest.raises(BadParameter, match="engine"):
        engine_of("flink", "a.parquet")
