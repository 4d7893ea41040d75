from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import every

from dpmine.errors import BadParameter
from dpmine.privacy import ExPostGuarantee, Guarantee, Neighbors, rounded_up

PROMISE = Guarantee(Fraction(1, 3), Fraction(1, 10**6), Neighbors.REPLACE_ONE, unit="customer")


@pytest.mark.parametrize("name", ["replace_one", "replace-one", Neighbors.REPLACE_ONE])
def test_relations_by_name(name: Any) -> None:
    assert Neighbors.parse(name) is Neighbors.REPLACE_ONE


@every("name", ["", "replaceone", "both", None, 1, True])
def test_unknown_relations(name: Any) -> None:
    with pytest.raises(BadParameter, match="'replace_one' or 'add_remove'"):
        Neighbors.parse(name)


def test_json_form() -> None:
    assert json.loads(json.dumps(PROMISE.to_dict())) == {
        "epsilon": 0.33333333333333337,
        "delta": 1e-06,
        "epsilon_exact": "1/3",
        "delta_exact": "1/1000000",
        "neighbors": "replace_one",
        "unit": "customer",
        "private": True,
        "rho": 0.05555555555555556,
        "rho_exact": "1/18",
        "approximate_delta_exact": "1/1000000",
        "notes": [],
    }


def test_text_form() -> None:
    assert str(PROMISE) == "ε = 1/3, δ = 1e-06 per customer, neighbours replace-one"
    pure = Guarantee(Fraction(1), Fraction(0), Neighbors.ADD_REMOVE)
    assert str(pure) == "ε = 1, δ = 0 per unit, neighbours add-remove"


def test_without_privacy() -> None:
    open_result = PROMISE.without_privacy("first").without_privacy("second")
    assert not open_result.private
    assert open_result.notes == ("first", "second")
    assert str(open_result) == "not private: first; second"
    assert PROMISE.private
    assert PROMISE.notes == ()


def test_for_unit() -> None:
    assert PROMISE.for_unit("invoice").unit == "invoice"
    assert PROMISE.unit == "customer"


def test_guarantees_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        PROMISE.epsilon = Fraction(0)  # type: ignore[misc]


@every(
    ("value", "number"),
    [
        (Fraction(1, 10), 0.1),
        (Fraction(1, 10**6), 1e-6),
        (Fraction(7, 100), 0.07),
        (Fraction(0), 0.0),
        (Fraction(2, 3), 0.6666666666666667),
        (Fraction(1, 3), 0.33333333333333337),
        (Fraction(10**400 + 1, 10**400), 1.0000000000000002),
    ],
)
def test_rounded_against_the_user(value: Fraction, number: float) -> None:
    assert rounded_up(value) == number


@given(st.fractions(min_value=0, max_value=10**9))
def test_the_decimal_shown_is_never_below_the_truth(value: Fraction) -> None:
    shown = rounded_up(value)
    assert Fraction(repr(shown)) >= value
    assert shown <= float(value) * (1 + 2**-51) + 5e-324


@given(st.floats(min_value=0, max_value=1e6))
def test_what_the_user_gave_is_shown_again(value: float) -> None:
    assert rounded_up(Fraction(repr(value))) == value


PAID = ExPostGuarantee(
    Fraction(10), Fraction(0), Neighbors.REPLACE_ONE, "row", notes=("clipped",), ex_post_epsilon=Fraction(1, 3)
)


def test_a_price_is_told_beside_what_was_reserved() -> None:
    assert PAID.epsilon_max == PAID.epsilon == 10
    assert json.loads(json.dumps(PAID.to_dict())) == {
        "epsilon": 10.0,
        "delta": 0.0,
        "epsilon_exact": "10",
        "delta_exact": "0",
        "neighbors": "replace_one",
        "unit": "row",
        "private": True,
        "rho": 50.0,
        "rho_exact": "50",
        "approximate_delta_exact": "0",
        "notes": ["clipped"],
        "ex_post_epsilon": 0.33333333333333337,
        "ex_post_epsilon_exact": "1/3",
        "epsilon_max": 10.0,
    }


def test_text_form_of_a_price() -> None:
    assert str(PAID) == "ex-post ε = 1/3 of at most ε = 10, δ = 0 per row, neighbours replace-one"
    quarter = replace(PAID, ex_post_epsilon=Fraction(1, 4), delta=Fraction(1, 10**6))
    assert str(quarter) == "ex-post ε = 0.25 of at most ε = 10, δ = 1e-06 per row, neighbours replace-one"
    assert str(PAID.without_privacy("exact")) == "not private: clipped; exact"


def test_a_price_stays_when_a_promise_is_told_otherwise() -> None:
    """Of the same kind, with the same price; notes and unit change."""
    for other in (PAID.for_unit("customer"), PAID.noting("more"), PAID.without_privacy("exact")):
        assert isinstance(other, ExPostGuarantee)
        assert other.ex_post_epsilon == Fraction(1, 3)
    assert PAID.for_unit("customer").unit == "customer"
    assert PAID.noting("more", "still").notes == ("clipped", "more", "still")


def test_a_price_is_part_of_the_promise() -> None:
    plain = Guarantee(PAID.epsilon, PAID.delta, PAID.neighbors, PAID.unit, notes=PAID.notes)
    assert isinstance(PAID, Guarantee)
    assert plain != PAID
    assert replace(PAID, ex_post_epsilon=Fraction(1, 2)) != PAID
    with pytest.raises(TypeError):
        ExPostGuarantee(Fraction(10), Fraction(0), Neighbors.REPLACE_ONE)  # type: ignore[call-arg]
    with pytest.raises(FrozenInstanceError):
        PAID.ex_post_epsilon = Fraction(0)  # type: ignore[misc]
