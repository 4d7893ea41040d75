from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import every

from dpmine.errors import BadParameter
from dpmine.parameters import exact_number, positive, probability, truth, whole


@every(
    ("value", "meaning"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(1, 10), Fraction(1, 10)),
        ("1/10", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("-2/6", Fraction(-1, 3)),
        (" 1e-6 ", Fraction(1, 10**6)),
        ("1E-6", Fraction(1, 10**6)),
        (1e-6, Fraction(1, 10**6)),
        (1e-30, Fraction(1, 10**30)),
        (1e22, Fraction(10**22)),
        (5, Fraction(5)),
        (10**50, Fraction(10**50)),
        (np.int8(-3), Fraction(-3)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (-0.0, Fraction(0)),
        ("1_000", Fraction(1000)),
        (Decimal("1E-400"), Fraction(1, 10**400)),
        (5e-324, Fraction(5, 10**324)),
    ],
)
def test_numbers_are_read_exactly(value: Any, meaning: Fraction) -> None:
    number = exact_number("epsilon", value)
    assert number == meaning
    assert type(number) is Fraction
    assert type(number.numerator) is int


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_mean_their_shortest_decimal(value: float) -> None:
    assert exact_number("x", value) == Fraction(repr(value)) == exact_number("x", repr(value))


@every(
    "value",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        np.float64("nan"),
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("1E+999999999"),
        "nan",
        "inf",
        "",
        "one",
        "1/0",
        "1/2/3",
        "0x10",
        "1e99999",
        "1e-99999999999",
        "9" * 401,
        True,
        False,
        np.True_,
        np.float32(0.5),
        np.float16(0.5),
        np.longdouble(2**62) + np.longdouble(1),
        np.longdouble("0.1"),
        np.array(np.float32(0.1)),
        np.array(0.5),
        None,
        1j,
        [1],
        (1,),
        {},
        object(),
        np.array([1.0, 2.0]),
    ],
)
def test_what_is_no_exact_number_is_refused_by_name(value: Any) -> None:
    with pytest.raises(BadParameter, match=r"^epsilon must be") as caught:
        exact_number("epsilon", value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@every("value", [0, -1, "-0.1", "0/7", -1e-300])
def test_positive(value: Any) -> None:
    assert positive("epsilon", "1e-99") == Fraction(1, 10**99)
    with pytest.raises(BadParameter, match="epsilon must be greater than 0"):
        positive("epsilon", value)


@pytest.mark.parametrize("value", ["1e-101", "1e400", "1e101"])
def test_absurd_magnitudes_are_refused(value: str) -> None:
    with pytest.raises(BadParameter, match="epsilon must lie between 1e-100 and 1e100"):
        positive("epsilon", value)


def test_absurd_probabilities_are_refused() -> None:
    with pytest.raises(BadParameter, match="delta must be at least 1e-100"):
        probability("delta", "1e-400")


@every("value", [0, 1, -0.5, 1.5, "1", 10**9])
def test_probability(value: Any) -> None:
    assert probability("delta", "0.999") == Fraction(999, 1000)
    with pytest.raises(BadParameter, match="delta must lie strictly between 0 and 1"):
        probability("delta", value)


@every("value", [1, 7, np.int64(7), np.uint8(1), 10**40])
def test_whole_numbers(value: Any) -> None:
    number = whole("size", value)
    assert number == value
    assert type(number) is int


@every("value", [0, -1, 1.0, "1", True, None, Fraction(2), np.float64(2), np.True_])
def test_what_is_not_whole_is_refused(value: Any) -> None:
    with pytest.raises(BadParameter, match="size must be a whole number of at least 1"):
        whole("size", value)


def test_the_least_whole_number() -> None:
    assert whole("padding", 0, least=0) == 0
    with pytest.raises(BadParameter, match="at least 3"):
        whole("bins", 2, least=3)


def test_truth_values() -> None:
    assert truth("keep_last", True) is True
    assert truth("keep_last", False) is False


@every("value", [0, 1, "True", None, 1.0, [], np.True_])
def test_what_is_not_a_truth_value_is_refused(value: Any) -> None:
    with pytest.raises(BadParameter, match=r"^keep_last must be True or False"):
        truth("keep_last", value)
