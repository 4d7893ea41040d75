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
from dpmine.privacy import ExPostGuarantee, Guarantee, Neighbors, decimal, rounded_up

GUARANTEE = Guarantee(Fraction(1, 3), Fraction(1, 10**6), Neighbors.REPLACE_ONE, unit="customer")


@pytest.mark.parametrize("name", ["replace_one", "replace-one", Neighbors.REPLACE_ONE])
def test_relations_by_name(name: Any) -> None:
    assert Neighbors.parse(name) is Neighbors.REPLACE_ONE


@every("name", ["", "replaceone", "both", None, 1, True, 10**5000])
def test_unknown_relations(name: Any) -> None:
    with pytest.raises(BadParameter, match="'replace_one' or 'add_remove'"):
        Neighbors.parse(name)


def test_json_form() -> None:
    assert json.loads(json.dumps(GUARANTEE.to_dict())) == {
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
    assert str(GUARANTEE) == "ε = 0.333334, δ = 1e-06 per customer, neighbours replace-one"
    pure = Guarantee(Fraction(1), Fraction(0), Neighbors.ADD_REMOVE)
    assert str(pure) == "ε = 1, δ = 0 per unit, neighbours add-remove"


def test_the_text_is_one_line_whatever_the_unit_is_called() -> None:
    guarantee = Guarantee(Fraction(1), Fraction(0), Neighbors.REPLACE_ONE, unit="\x1b[31ma\nb")
    assert str(guarantee).isprintable()
    assert r"per \u001b[31ma\nb, neighbours" in str(guarantee)


def test_without_privacy() -> None:
    open_result = GUARANTEE.without_privacy("first").without_privacy("second")
    assert not open_result.private
    assert open_result.notes == ("first", "second")
    assert str(open_result) == "not private: first; second"
    assert GUARANTEE.private
    assert GUARANTEE.notes == ()


def test_for_unit() -> None:
    assert GUARANTEE.for_unit("invoice").unit == "invoice"
    assert GUARANTEE.unit == "customer"


def test_guarantees_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        GUARANTEE.epsilon = Fraction(0)  # type: ignore[misc]


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


CHARGED = ExPostGuarantee(
    Fraction(10), Fraction(0), Neighbors.REPLACE_ONE, "row", notes=("clipped",), ex_post_epsilon=Fraction(1, 3)
)


def test_a_charge_is_told_beside_what_was_reserved() -> None:
    assert CHARGED.epsilon_max == CHARGED.epsilon == 10
    assert json.loads(json.dumps(CHARGED.to_dict())) == {
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


def test_text_form_of_a_charge() -> None:
    assert str(CHARGED) == "ex-post ε = 0.333334 of at most ε = 10, δ = 0 per row, neighbours replace-one"
    quarter = replace(CHARGED, ex_post_epsilon=Fraction(1, 4), delta=Fraction(1, 10**6))
    assert str(quarter) == "ex-post ε = 0.25 of at most ε = 10, δ = 1e-06 per row, neighbours replace-one"
    assert str(CHARGED.without_privacy("exact")) == "not private: clipped; exact"


def test_a_charge_stays_when_a_guarantee_is_told_otherwise() -> None:
    """Of the same kind, with the same charge; notes and unit change."""
    for other in (CHARGED.for_unit("customer"), CHARGED.noting("more"), CHARGED.without_privacy("exact")):
        assert isinstance(other, ExPostGuarantee)
        assert other.ex_post_epsilon == Fraction(1, 3)
    assert CHARGED.for_unit("customer").unit == "customer"
    assert CHARGED.noting("more", "still").notes == ("clipped", "more", "still")


def test_a_charge_is_part_of_the_guarantee() -> None:
    plain = Guarantee(CHARGED.epsilon, CHARGED.delta, CHARGED.neighbors, CHARGED.unit, notes=CHARGED.notes)
    assert isinstance(CHARGED, Guarantee)
    assert plain != CHARGED
    assert replace(CHARGED, ex_post_epsilon=Fraction(1, 2)) != CHARGED
    with pytest.raises(TypeError):
        ExPostGuarantee(Fraction(10), Fraction(0), Neighbors.REPLACE_ONE)  # type: ignore[call-arg]
    with pytest.raises(FrozenInstanceError):
        CHARGED.ex_post_epsilon = Fraction(0)  # type: ignore[misc]


@every(
    ("value", "text"),
    [("0", "0"), ("1/10", "0.1"), ("1/3", "0.333334"), ("4/3", "1.33334"), ("1/3000000", "3.33334e-07"), ("12", "12")],
)
def test_texts_have_decimals_that_are_never_below_the_number(value: str, text: str) -> None:
    assert decimal(Fraction(value)) == text
    assert Fraction(text) >= Fraction(value)
