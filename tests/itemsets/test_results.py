"""The forms that a result is passed on in."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import dpmine
from dpmine.itemsets.results import TopItemsets
from dpmine.privacy import Guarantee, Neighbors

PROMISE = Guarantee(Fraction(1, 3), Fraction(1, 10**6), Neighbors.REPLACE_ONE, unit="customer")


def result(*itemsets: Any, promise: Guarantee = PROMISE, advice: str = "") -> TopItemsets:
    return TopItemsets(tuple(map(frozenset, itemsets)), (2, 3), "auto", "large_margin", promise, advice)


TEXTS = result(("milk", "beer", "Ähre"))
INTEGERS = result((10, 9, 2**40))
NOTHING = result(advice="large_margin needs a lead of about 450.")


def test_first_itemset() -> None:
    assert TEXTS.itemset == frozenset({"milk", "beer", "Ähre"})
    assert NOTHING.itemset is None
    assert result((1, 2), (3, 4)).itemset == frozenset({1, 2})
    assert TEXTS.noisy_supports is None


def test_dictionary_has_the_keys_of_the_contract() -> None:
    document = TEXTS.to_dict()
    assert list(document) == ["itemsets", "sizes", "requested", "mechanism", "guarantee", "dpmine"]
    assert document["itemsets"] == [{"items": ["beer", "milk", "Ähre"], "noisy_support": None, "interval": None}]
    assert document["sizes"] == [2, 3]
    assert document["dpmine"] == dpmine.__version__
    promise = ["epsilon", "delta", "epsilon_exact", "delta_exact", "neighbors", "unit", "private", "notes"]
    assert list(document["guarantee"]) == promise
    assert document["guarantee"]["epsilon_exact"] == "1/3"
    assert document["guarantee"]["neighbors"] == "replace_one"


@pytest.mark.parametrize("value", [TEXTS, INTEGERS, NOTHING, result((1, 2), (3, 4))])
def test_json_is_one_line_and_says_the_same(value: TopItemsets) -> None:
    text = value.to_json()
    assert "\n" not in text
    assert json.loads(text) == value.to_dict()


def test_json_keeps_letters_and_integers() -> None:
    assert "Ähre" in TEXTS.to_json()
    assert '"items": [9, 10, 1099511627776]' in INTEGERS.to_json()


def test_floats_never_promise_more_than_the_exact_numbers() -> None:
    assert Fraction(repr(TEXTS.to_dict()["guarantee"]["epsilon"])) >= Fraction(1, 3)
    assert TEXTS.to_dict()["guarantee"]["delta"] == 1e-6


@pytest.mark.parametrize(
    ("value", "kind", "rows"),
    [
        (TEXTS, pa.string(), [["beer", "milk", "Ähre"]]),
        (INTEGERS, pa.int64(), [[9, 10, 2**40]]),
        (NOTHING, pa.string(), []),
    ],
)
def test_arrow_has_a_list_column(value: TopItemsets, kind: Any, rows: list[Any]) -> None:
    table = value.to_arrow()
    assert table.schema.names == ["items", "noisy_support", "interval"]
    assert table.schema.field("items").type == pa.list_(kind)
    assert table.schema.field("noisy_support").type == pa.int64()
    assert table["items"].to_pylist() == rows
    assert table["noisy_support"].null_count == len(rows)
    assert json.loads(table.schema.metadata[b"dpmine"]) == value.to_dict()


@pytest.mark.parametrize("value", [TEXTS, INTEGERS, NOTHING])
def test_pandas_has_the_columns_that_mlxtend_reads(value: TopItemsets) -> None:
    frame = value.to_pandas()
    assert list(frame.columns) == ["noisy_support", "support", "itemsets"]
    assert frame["noisy_support"].dtype == pd.Int64Dtype()
    assert frame["noisy_support"].isna().all()
    assert frame["support"].dtype == "float64"
    assert frame["support"].isna().all()
    assert tuple(frame["itemsets"]) == value.itemsets
    assert frame["itemsets"].dtype == object


def test_text_shows_itemsets_and_guarantee() -> None:
    assert str(TEXTS) == "beer, milk, Ähre\n(large_margin; ε = 1/3, δ = 1e-06 per customer, neighbours replace-one)"
    assert str(result((1, 2), (3, 4))).splitlines()[:2] == ["1, 2", "3, 4"]


def test_text_of_nothing_says_what_was_needed() -> None:
    first, second, last = str(NOTHING).splitlines()
    assert first == "Nothing stands out."
    assert second == NOTHING.advice
    assert "1e-06" in last


def test_lack_of_privacy_is_said_in_every_form() -> None:
    open_result = result((1, 2), promise=PROMISE.without_privacy("it was asked for"))
    assert "not private: it was asked for" in str(open_result)
    assert open_result.to_dict()["guarantee"]["private"] is False
    assert open_result.to_dict()["guarantee"]["notes"] == ["it was asked for"]


def test_results_are_values() -> None:
    assert result((1, 2)) == result((2, 1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        TEXTS.mechanism = "another"  # type: ignore[misc]
