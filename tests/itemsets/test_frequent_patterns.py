"""mlxtend's calls: its frames, its results, and a brute force where entries are missing."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlxtend import frequent_patterns as theirs
from support.cases import every
from support.effort import examples

from dpmine.errors import BadData, BadParameter
from dpmine.frequent_patterns import apriori, association_rules, fpgrowth, fpmax, hmine

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = [fpgrowth, apriori, hmine]
SHAPES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "flags": lambda frame: frame.astype(bool),
    "numbers": lambda frame: frame.astype(int),
    "floats": lambda frame: frame.astype(float),
    "sparse flags": lambda frame: frame.astype(pd.SparseDtype(bool, fill_value=False)),
    "sparse numbers": lambda frame: frame.astype(pd.SparseDtype(int, fill_value=0)),
    "sparse, mostly ones": lambda frame: frame.astype(pd.SparseDtype(int, fill_value=1)),
}


def frame_of(density: float = 0.4, rows: int = 60, columns: int = 9, seed: int = 3) -> pd.DataFrame:
    held = np.random.default_rng(seed).random((rows, columns)) < density
    return pd.DataFrame(held, columns=[f"item {number}" for number in range(columns)])


def listed(found: pd.DataFrame) -> dict[frozenset[Any], float]:
    pairs = dict(zip(found["itemsets"], found["support"], strict=True))
    assert len(pairs) == len(found)
    return pairs


@every("shape", SHAPES)
@every("max_len", [None, 1, 2, 5])
@every("names", [True, False])
@every("call", CALLS)
def test_supports_are_theirs(shape: str, max_len: int | None, names: bool, call: Any) -> None:
    frame = frame_of()
    expected = theirs.apriori(frame, min_support=0.1, use_colnames=names, max_len=max_len)
    found = call(SHAPES[shape](frame), min_support=0.1, use_colnames=names, max_len=max_len)
    assert found["itemsets"].tolist() == expected["itemsets"].tolist()  # in the order of their apriori, too
    assert found["support"].tolist() == expected["support"].tolist()
    assert found.dtypes.tolist() == expected.dtypes.tolist()
    assert found.columns.tolist() == ["support", "itemsets"]
    for other in (theirs.fpgrowth, theirs.hmine):
        assert listed(other(frame, min_support=0.1, use_colnames=names, max_len=max_len)) == listed(found)


@every("shape", SHAPES)
@every("names", [True, False])
@every("density", [0.2, 0.4, 0.7, 0.9])
def test_maximal_itemsets_are_theirs(shape: str, names: bool, density: float) -> None:
    frame = frame_of(density)
    for least in (0.02, 0.1, 0.3, 0.9):
        expected = theirs.fpmax(frame, min_support=least, use_colnames=names)
        found = fpmax(SHAPES[shape](frame), min_support=least, use_colnames=names)
        assert listed(found) == listed(expected)
        assert found.dtypes.tolist() == fpgrowth(frame).dtypes.tolist()


@settings(max_examples=examples(300))
@given(st.lists(st.lists(st.booleans(), min_size=7, max_size=7), min_size=1, max_size=20), st.integers(1, 7))
def test_the_longest_maximal_itemsets_are_left_out(rows: list[list[bool]], max_len: int) -> None:
    """mlxtend's own prunes by the length, and then lists some itemsets that are not maximal."""
    frame = pd.DataFrame(rows)
    frequent = listed(fpgrowth(frame, min_support=0.2))
    maximal = {each: n for each, n in frequent.items() if not any(each < other for other in frequent)}
    assert listed(fpmax(frame, min_support=0.2)) == maximal == listed(theirs.fpmax(frame, min_support=0.2))
    found = listed(fpmax(frame, min_support=0.2, max_len=max_len))
    assert found == {each: support for each, support in maximal.items() if len(each) <= max_len}


def test_association_rules_are_mlxtends() -> None:
    assert association_rules is theirs.association_rules
    frame = frame_of()
    ours, expected = (association_rules(call(frame, 0.2), min_threshold=0.5) for call in (fpgrowth, theirs.apriori))
    pd.testing.assert_frame_equal(ours, expected)


@settings(max_examples=examples(60))
@given(
    st.lists(st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=4, max_size=4), min_size=1, max_size=12),
    st.sampled_from([0.05, 0.25, 0.5, 0.6, 1.0]),
)
def test_missing_entries(rows: list[list[float]], least: float) -> None:
    """Shares of the rows that miss none of the items; of these the definition has all that could be looked for."""
    frame = pd.DataFrame(rows, columns=list("abcd"))
    found = listed(fpgrowth(frame, min_support=least, null_values=True, use_colnames=True))
    values = frame.to_numpy()
    for size in range(1, 5):
        for items in combinations(range(4), size):
            part = values[:, items]
            known, maybe = ~np.isnan(part).any(axis=1), (np.isnan(part) | (part == 1)).all(axis=1)
            support = (part == 1).all(axis=1).sum() / known.sum() if known.any() else 0.0
            alone = all(frozenset("abcd"[item]) in found for item in items)
            is_sought = size == 1 or (alone and maybe.sum() / len(frame) >= least)
            itemset = frozenset("abcd"[item] for item in items)
            assert (itemset in found) == (is_sought and support >= least)
            assert found.get(itemset, support) == support


@every("call", CALLS)
@every("frame", [pd.DataFrame([[]]), pd.DataFrame({"a": [], "b": []}, dtype=bool), pd.DataFrame({"a": [False]})])
def test_nothing_is_frequent(call: Any, frame: pd.DataFrame) -> None:
    found = call(frame)
    assert found.columns.tolist() == ["support", "itemsets"]
    assert found.empty


@every("call", CALLS)
@every("least", [0.0, -0.1, 1.5, 2])
def test_supports_outside_the_interval(call: Any, least: float) -> None:
    with pytest.raises(BadParameter, match="must be a positive number within the interval"):
        call(frame_of(), min_support=least)


@every("call", CALLS)
@every("shape", ["dense", "sparse"])
@every(("entry", "hint"), [(73, "True, False, 0, 1"), (np.nan, "NaN values are not permitted")])
def test_other_entries_are_not_quoted(call: Any, shape: str, entry: float, hint: str) -> None:
    frame = frame_of().astype(float)
    frame.iloc[3, 3] = entry
    with pytest.raises(BadData, match=hint) as caught:
        call(frame if shape == "dense" else frame.astype(pd.SparseDtype(float, fill_value=0)))
    assert "73" not in str(caught.value)


def test_column_names_of_any_kind() -> None:
    frame = pd.DataFrame([[1, 1], [1, 0]], columns=[("a", 1), 7])
    assert listed(fpgrowth(frame, use_colnames=True)) == {
        frozenset([("a", 1)]): 1.0,
        frozenset([7]): 0.5,
        frozenset([("a", 1), 7]): 0.5,
    }
    shifted = frame_of(columns=3).set_axis([1, 2, 3], axis=1).astype(pd.SparseDtype(bool, fill_value=False))
    assert {1, 2, 3} == set().union(*fpgrowth(shifted, min_support=0.01, use_colnames=True)["itemsets"])


def test_verbose_prints_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.DataFrame([[True] * 3] * 2)
    fpgrowth(frame, verbose=1)
    assert capsys.readouterr().out == "\r3 itemset(s) of size 1\n\r3 itemset(s) of size 2\n\r1 itemset(s) of size 3\n"
    apriori(frame, verbose=1, low_memory=True)
    ours = capsys.readouterr().out
    theirs.apriori(frame, verbose=1, low_memory=True)
    assert capsys.readouterr().out == ours
    fpgrowth(frame)
    assert not capsys.readouterr().out


def test_a_share_that_floats_miss() -> None:
    """0.07 · 100 is above 7 in floats, and 7/100 is not below 0.07."""
    frame = pd.DataFrame({"a": [True] * 7 + [False] * 93, "b": [True] * 7 + [False] * 93})
    assert len(fpgrowth(frame, min_support=0.07)) == 3


@every("call", CALLS)
@every("rows", [1, 70])
def test_what_does_not_fit_is_rejected_before_it_becomes_objects(
    call: Any, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    monkeypatch.setattr("dpmine.itemsets.transactions.memory.physical_memory", lambda: 600_000_000)
    monkeypatch.setattr("dpmine.frequent_patterns.frozensets", made.append)
    with pytest.raises(BadParameter, match="raise min_support, give max_len, or write Parquet"):
        call(pd.DataFrame(np.ones((rows, 21), bool)))
    assert not made
