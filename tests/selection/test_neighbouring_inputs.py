"""What `select` shows of inputs that differ in one unit: nothing but the draw.

Scores are so far apart, or ε so large, that the same candidate is drawn on both sides; all that can be seen must then
be equal, whatever the order of first appearance, the types of keys, and what the one unit added.
"""

from __future__ import annotations

import datetime as dt
import pickle
from collections import Counter
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.cases import every

import dpmine
from dpmine import BadParameter, Levels, Selection, select
from dpmine.selection.scores import one_form

MANY = 10**6
UNKNOWN: dict[str, Any] = {"candidates": "unknown", "epsilon": 5}
UNBOUNDED = ["auto", "limited_domain", "limited_domain_permute_and_flip", "large_margin", "large_margin_tight"]
MECHANISMS = [*UNBOUNDED, "bounded_growth"]


def options(mechanism: str) -> dict[str, Any]:
    return {**UNKNOWN, "mechanism": mechanism} | ({"max_items_per_unit": 3} if mechanism == "bounded_growth" else {})


def observed(scores: Any, **named: Any) -> Any:
    """Everything a caller can see: the error, or the whole selection."""
    try:
        found = select(scores, **named)
    except dpmine.DpmineError as error:
        return type(error), str(error)
    return (
        [(field.name, getattr(found, field.name)) for field in fields(found)],
        type(found.label),
        bool(found),
        list(found.to_dict()),
        found.to_dict(),
        str(found),
        repr(found),
        pickle.dumps(replace(found, label=str(found.label))),
        pickle.dumps(found.label),
    )


def series(counts: dict[Any, int]) -> pd.Series:
    return pd.Series(list(counts.values()), index=list(counts))


# Each pair: the counts with the one unit, and without it or with it elsewhere in the data.
PAIRS: dict[str, tuple[dict[Any, Any], dict[Any, Any]]] = {
    "a candidate of one unit comes first": ({"rare": 1, "milk": MANY}, {"milk": MANY}),
    "a candidate of one unit comes last": ({"milk": MANY, "rare": 1}, {"milk": MANY}),
    "order of first appearance": ({"milk": MANY, "tea": 7}, {"tea": 7, "milk": MANY}),
    "a unit without a label": ({None: 1, "milk": MANY}, {"milk": MANY}),
    "True before 1": ({True: MANY, 2: 3}, {1: MANY, 2: 3}),
    "a missing value makes all labels floats": ({1.0: MANY, float("nan"): 1}, {1: MANY}),
    "numpy's integer": ({np.int64(1): MANY, "x": 1}, {1: MANY}),
    "numpy's float": ({np.float32(0.5): MANY}, {0.5: MANY}),
    "Decimals": ({Decimal("1.10"): MANY}, {Decimal("1.1"): MANY}),
    "a Fraction": ({Fraction(1, 2): MANY}, {Decimal("0.50"): MANY}),
    "numpy's text": ({np.str_("milk"): MANY, "x": 1}, {"milk": MANY}),
    "pairs of both": ({("a", 1.0): MANY, ("a", 2.5): 1}, {("a", 1): MANY}),
    "sets of both": ({frozenset({1.0, 2}): MANY}, {frozenset({1, 2.0}): MANY}),
    "types of scores": ({"milk": float(MANY), "x": Fraction(1)}, {"milk": MANY}),
    "nothing is left": ({"rare": 1}, {}),
    "scores of 0 are listed": ({"milk": MANY, "x": 0}, {"milk": MANY}),
}


@every("mechanism", MECHANISMS)
@every("name", PAIRS)
def test_mappings(name: str, mechanism: str) -> None:
    one, other = PAIRS[name]
    assert observed(one, **options(mechanism)) == observed(other, **options(mechanism))
    assert observed(Counter(one), **options(mechanism)) == observed(dict(other), **options(mechanism))


@every("mechanism", MECHANISMS)
@every("name", PAIRS)
def test_series(name: str, mechanism: str) -> None:
    """Also against the mapping: pandas makes one type of all labels, for the sake of one of them."""
    one, other = PAIRS[name]
    assert observed(series(one), **options(mechanism)) == observed(series(other), **options(mechanism))
    assert observed(series(one), **options(mechanism)) == observed(other, **options(mechanism))


def test_one_unit_cannot_cause_an_error_by_a_label_that_repeats() -> None:
    repeated = pd.Series([MANY, 1], index=["milk", "milk"])
    assert observed(repeated, **UNKNOWN) == observed({"milk": MANY}, **UNKNOWN)


def test_counts_of_a_frame() -> None:
    """`value_counts` of a column: with the one unit's missing value, the column holds floats."""
    bought = [3] * 5000 + [7] * 4
    without, with_missing = pd.Series(bought), pd.Series([*bought, None])
    assert with_missing.dtype != without.dtype
    assert observed(with_missing.value_counts(), **UNKNOWN) == observed(without.value_counts(), **UNKNOWN)


@every("form", [list, tuple, np.array, lambda scores: np.array(scores, float)])
@every("candidates", ["public", "unknown"])
def test_arrays_keep_positions(form: Any, candidates: str) -> None:
    """Positions are public by the caller's word; where the list is not, one unit may make it longer."""
    named = {"candidates": candidates, "epsilon": 5}
    expected = observed([1, MANY, 4], **named)
    assert expected[0][0] == ("index", 1)
    assert observed(form([2, MANY, 4]), **named) == expected
    if candidates == "unknown":
        assert observed(form([2, MANY, 4, 1]), **named) == expected


@every("mechanism", UNBOUNDED)
@every(
    ("one", "other"),
    [
        ([(MANY + 1, 1), (MANY, 1)], [(MANY + 1, 2)]),
        ([(MANY, 1), (3, 2)], [(MANY, 1), (4, 1), (3, 1)]),
        ([(MANY, 1), (1, 1)], [(MANY, 1)]),
        ([(2, 1), (MANY, 1)], [(MANY, 1), (2, 1)]),
    ],
)
@every("padding", [0, 2**128])
def test_levels_that_are_data(
    one: list[tuple[int, int]], other: list[tuple[int, int]], mechanism: str, padding: int
) -> None:
    """A unit that splits a level, adds one, or moves it past another."""
    named = {**UNKNOWN, "mechanism": mechanism, "candidates": "public" if padding else "unknown"}
    assert observed(Levels(one, padding), **named) == observed(Levels(other, padding), **named)


def test_public_groups_keep_their_numbers_when_scores_meet_or_cross() -> None:
    """At ε = 1 the groups 0 and 1 are about equally likely on all sides; each of them must come up on each."""
    for scores in [(5, 4), (5, 5), (4, 5)]:
        drawn = {select(Levels([(score, 1) for score in scores]), epsilon=1).index for _ in range(80)}
        assert drawn == {(0, 0), (1, 0)}


@pytest.mark.parametrize("one", [{"a": MANY, "b": 1}, {"b": 1, "a": MANY}])
def test_public_labels_come_back_as_they_were_given(one: dict[str, int]) -> None:
    assert observed(one, mechanism="exponential") == observed({"a": MANY, "b": 2}, mechanism="exponential")
    assert select({True: MANY, False: 0}, mechanism="exponential").label is True


def test_errors_of_form_are_those_of_public_facts_alone() -> None:
    """One entry per label, a shape, a length: checked where the list is public, before any score is read."""
    unusable: list[Any] = [{}, {900, 3}, pd.Series([1, 2], index=["a", "a"]), np.zeros((2, 2)), "ab"]
    for public in unusable:
        with pytest.raises(BadParameter):
            select(public, mechanism="exponential")


@every(
    ("label", "form"),
    [
        (True, 1),
        (np.True_, 1),
        (-0.0, 0),
        (1 + 0j, 1),
        (np.float64(0.1), 0.1),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.longdouble(3), 3),
        (Decimal(10**40), 10**40),
        (Decimal("0.10"), Fraction(1, 10)),
        (Decimal(10**400), 10**400),
        (Fraction(10**400, 3), Fraction(10**400, 3)),
        (Fraction(1, 3), Fraction(1, 3)),
        (float("inf"), float("inf")),
        (Decimal("-Infinity"), float("-inf")),
        (b"x", b"x"),
        (np.bytes_(b"x"), b"x"),
        (np.complex128(1j), 1j),
        (pd.Timestamp(2026, 1, 1), dt.datetime.fromisoformat("2026-01-01")),
        (pd.Timestamp(2026, 1, 1, nanosecond=7), pd.Timestamp(2026, 1, 1, nanosecond=7)),
        (np.datetime64("2026-01-01T00:00", "s"), dt.datetime.fromisoformat("2026-01-01")),
        (dt.datetime(2026, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
        (pd.Timedelta(days=1), dt.timedelta(days=1)),
    ],
)
def test_one_form_of_a_label_equals_the_label(label: Any, form: Any) -> None:
    found = one_form(label)
    assert found == label
    assert (type(found), repr(found)) == (type(form), repr(form))


def test_labels_that_are_no_number_stay_so() -> None:
    assert str(one_form(Decimal("NaN"))) == "nan"
    assert one_form(None) is None


def test_a_selection_holds_nothing_but_what_is_shown() -> None:
    assert [field.name for field in fields(Selection)] == [
        "index",
        "label",
        "chosen",
        "mechanism",
        "guarantee",
        "advice",
    ]
    assert not hasattr(select({"a": 1}, **UNKNOWN), "__dict__")
