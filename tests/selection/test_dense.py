from __future__ import annotations

from collections import Counter, UserList, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.conformance.protocol import check_universe
from support.effort import examples

from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.selection.scores import labelled_universe
from dpmine.selection.universes.dense import Dense
from dpmine.selection.universes.protocol import Level

INTEGER_TYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def levels(scores: Any) -> list[tuple[Any, int]]:
    dense = Dense(scores)
    return [(level.score, level.count) for level in dense.head(dense.least)]


def counted(exact: list[Any]) -> list[tuple[Any, int]]:
    return sorted(Counter(exact).items(), reverse=True)


@every("dtype", INTEGER_TYPES)
@every("copies", [1, 300])
def test_integer_arrays_at_their_limits(dtype: type[np.integer[Any]], copies: int) -> None:
    """One copy is sorted; many copies of 8- and 16-bit limits are counted, which must not overflow."""
    info = np.iinfo(dtype)
    values = [int(info.min), int(info.max), int(info.max) - 1, 0, 5, 5]
    assert levels(np.array(values * copies, dtype=dtype)) == counted(values * copies)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_all_values_of_a_small_type(dtype: type[np.integer[Any]]) -> None:
    info = np.iinfo(dtype)
    values = np.arange(info.min, info.max + 1).astype(dtype)
    assert levels(values) == [(score, 1) for score in range(info.max, info.min - 1, -1)]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_are_the_dyadics_they_are(dtype: type[np.floating[Any]]) -> None:
    array = np.array([0.1, -2.5, 0.1, 1e4, 0.0, -0.0], dtype=dtype)
    assert levels(array) == counted([Fraction(float(value)) for value in array])


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 62, reason="long doubles are no wider than float64 here")
@pytest.mark.parametrize("form", [np.asarray, list])
def test_long_doubles_are_not_rounded_to_float64(form: Any) -> None:
    close = np.array([2**62, 2**62, 3], np.longdouble) + np.array([0, 1, 0], np.longdouble)
    assert levels(form(close)) == [(2**62 + 1, 1), (2**62, 1), (3, 1)]
    check_universe(Dense(form(close)), {0: 2**62, 1: 2**62 + 1, 2: 3})


@every("form", [list, tuple, deque, UserList, lambda scores: dict(enumerate(scores))])
def test_integers_beside_floats_are_not_rounded_to_float64(form: Any) -> None:
    universe, _ = labelled_universe(form([2**62, 2**62 + 1, 0.5]))
    assert [level.score for level in universe.head(0)] == [2**62 + 1, 2**62, Fraction(1, 2)]


def test_arrays_that_cannot_become_numpys_are_rejected_in_our_words() -> None:
    class Wide:
        def __len__(self) -> int:
            return 2

        def __array__(self, *_arguments: object, **_options: object) -> Any:
            raise RuntimeError("cannot convert 987654321")

    with pytest.raises(BadParameter, match="one dimension") as caught:
        labelled_universe(Wide())  # type: ignore[arg-type]
    assert "987654321" not in str(caught.value)


def test_masked_scores_are_rejected() -> None:
    """What a mask hides is not a score."""
    with pytest.raises(BadParameter, match="masked"):
        Dense(np.ma.masked_array([1, 10**6], mask=[False, True]))


@every(
    ("values", "exact"),
    [
        (tiny_and_huge := [5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 2.0**-1074 * 3], tiny_and_huge),
        (
            [1, 0.5, Fraction(1, 2), Decimal("0.5"), np.int64(1), np.float64(0.1), 2**70, "1/3"],
            [1, 0.5, 0.5, 0.5, 1, 0.1, 2**70, Fraction(1, 3)],
        ),
    ],
)
def test_sequences_are_exact(values: list[Any], exact: list[Any]) -> None:
    assert levels(values) == counted([Fraction(value) for value in exact])


@every("big", [2**63, 2**64, 10**30, -(2**63) - 1])
def test_integers_beyond_64_bits(big: int) -> None:
    values = [big, big + 1, big, 3]
    assert levels(values) == counted(values)
    assert Dense(values).member(Level(big + 1, 1), bits=SystemBits()) == 1


def test_unsigned_integers_beyond_63_bits() -> None:
    values = np.array([2**64 - 1, 2**63, 2**63, 0], dtype=np.uint64)
    assert levels(values) == [(2**64 - 1, 1), (2**63, 2), (0, 1)]
    assert Dense(values).member(Level(2**64 - 1, 1), bits=SystemBits()) == 0


@every("kind", [order + kind for order in "<>" for kind in ("i2", "i8", "u4", "u8", "f8")])
def test_arrays_of_any_byte_order(kind: str) -> None:
    """More than a few, so that bands are made."""
    dense = Dense(np.arange(100, 120).astype(kind))
    found = dense.crowds(Fraction(1, 100), 1)
    assert found is not None
    assert found[0] == dense.top() == 119


def test_object_arrays_of_fractions() -> None:
    thirds = np.array([Fraction(1, 3), Fraction(2, 3), Fraction(1, 3), 1], dtype=object)
    assert levels(thirds) == [(1, 1), (Fraction(2, 3), 1), (Fraction(1, 3), 2)]
    assert Dense(thirds).member(Level(Fraction(2, 3), 1), bits=SystemBits()) == 1


def test_scores_are_plain_python_numbers() -> None:
    for scores in (np.array([1, 2], dtype=np.int8), np.array([0.5, 1.0]), [Fraction(4, 2), 1.5]):
        assert {type(score) for score, _ in levels(scores)} <= {int, Fraction}


def test_order_and_stride_do_not_matter() -> None:
    assert levels(np.arange(20)[::-3]) == [(score, 1) for score in range(19, 0, -3)]


@every(
    "scores",
    [
        [float("nan")],
        [1.0, float("inf")],
        [1, float("-inf")],
        np.array([1.0, np.nan]),
        np.array([np.inf], dtype=np.float32),
        [Decimal("NaN"), 1],
        [None, 1],
        [True, False],
        [1, True],
        [np.True_, 2],
        np.array([True, False]),
        [[1, 2], [3, 4]],
        [[1], [1, 2]],
        [(1, 2)],
        np.zeros((2, 2)),
        np.array(3),
        np.array([1 + 2j]),
        np.array(["a"]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        ["canary", 1],
        [1, object()],
        np.array([1, None], dtype=object),
        [],
        np.array([]),
        np.array([], dtype=object),
    ],
)
def test_unusable_scores_are_refused_without_a_value(scores: Any) -> None:
    with pytest.raises(BadParameter) as caught:
        Dense(scores)
    assert "canary" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_positions_belong_to_their_level() -> None:
    scores = np.array([3, 1, 3, 2, 3, 1], dtype=np.int16)
    dense = Dense(scores)
    for level in dense.head(dense.least):
        seen = {dense.member(level, bits=SystemBits()) for _ in range(200)}
        assert seen == set(np.flatnonzero(scores == level.score).tolist())


def test_positions_are_plain_integers() -> None:
    dense = Dense(np.array([3, 1]))
    assert type(dense.member(Level(3, 1), bits=SystemBits())) is int
    assert type(dense.tail(3, bits=SystemBits())[0]) is int


@settings(max_examples=examples(40))
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12))
def test_small_universes_conform(scores: list[int]) -> None:
    check_universe(Dense(scores), dict(enumerate(scores)))


def test_spread_shares_masses_equally() -> None:
    masses = Dense([1, 5, 1, 3]).spread(np.array([0.5, 0.3, 0.2]))
    assert masses.tolist() == [0.1, 0.5, 0.1, 0.3]


def test_dummies_need_scores_of_at_least_zero() -> None:
    with pytest.raises(BadParameter):
        Dense([1, -1], padding=3)
    assert Dense([1, 0], padding=3).padding == 3
