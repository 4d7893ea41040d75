"""Top itemsets charge their whole budget, once, before a value is read."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from support.mechanisms import PURE, UNKNOWN_UNIVERSE
from support.sealed import SealedBaskets, Untouchable, spent

import dpmine
from dpmine.errors import BadParameter, BudgetExceeded

ITEMS = ["bread", "butter", "tea", "salt"]
BASKETS = [["bread", "butter"]] * 40 + [["bread", "tea"]] * 9 + [["tea"]] * 3
MECHANISMS = [*PURE, *UNKNOWN_UNIVERSE, "auto"]


class SealedBatches(Iterator[pa.RecordBatch]):
    """Batches that may not be looked at."""

    def __next__(self) -> pa.RecordBatch:
        raise Untouchable


def sealed_stream() -> pa.RecordBatchReader:
    """Columns have names, from which the unit is known, and values that may not be looked at."""

    return pa.RecordBatchReader.from_batches(pa.schema({"customer": pa.int64(), "item": pa.string()}), SealedBatches())


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("k", "released"),
    [
        (1, None),
        (3, "1/3"),
        (1, "auto"),
        *(pytest.param(*other, marks=pytest.mark.slow) for other in ((1, "1/3"), (3, None), (3, "auto"))),
    ],
)
def test_the_whole_guarantee_is_charged_once(url: str, released: str | None, k: int, mechanism: str) -> None:
    options: dict[str, Any] = {"catalogue": ITEMS, "release_support": released, "rules": released is not None}
    found = dpmine.top_itemsets(
        BASKETS, k, epsilon="7/5", delta="1/1000", mechanism=mechanism, ledger=url, dataset="shop", **options
    )
    assert spent(url) == (found.guarantee.epsilon, found.guarantee.delta)
    assert found.guarantee.epsilon == Fraction("7/5") + (Fraction(1, 3) if released == "1/3" else 0)
    assert found.guarantee.delta == 0 or found.guarantee.delta == Fraction(1, 1000)
    assert [entry.kind for entry in dpmine.Ledger(url).history("shop")] == ["grant", "charge"]
    if released:
        found.rules()
    found.to_json()
    assert spent(url) == (found.guarantee.epsilon, found.guarantee.delta)  # what comes after is free


def test_nothing_that_stands_out_costs_the_same(url: str) -> None:
    found = dpmine.top_itemsets(
        BASKETS, 4, epsilon="1/1000", release_support="1/1000", mechanism="large_margin", ledger=url, dataset="shop"
    )
    assert found.itemsets == ()
    assert spent(url) == (Fraction(2, 1000), Fraction(1, 10**6))


SEALED: dict[str, Any] = {"baskets": SealedBaskets, "stream": sealed_stream}


@pytest.mark.parametrize("kind", SEALED)
def test_the_charge_comes_before_the_values(url: str, kind: str) -> None:
    with pytest.raises((Untouchable, dpmine.DpmineError, pa.ArrowException)) as failure:
        dpmine.top_itemsets(SEALED[kind](), 3, epsilon=2, release_support=3, ledger=url, dataset="shop")
    assert not isinstance(failure.value, BudgetExceeded | BadParameter)
    assert spent(url) == (5, Fraction(1, 10**6))
    assert dpmine.Ledger(url).budget("shop").unit == ("customer" if kind == "stream" else "row")


@pytest.mark.parametrize("kind", SEALED)
@pytest.mark.parametrize(
    ("epsilon", "delta", "short"), [("1", "1/2", "ε"), ("3", "1/10000000", "δ"), ("1.4999", "1/2", "ε")]
)
def test_nothing_is_read_where_the_budget_says_no(url: str, kind: str, epsilon: str, delta: str, short: str) -> None:
    """The selection alone would fit; the supports are asked for at the same time."""
    dpmine.Ledger(url).grant("poor", epsilon=epsilon, delta=delta)
    with pytest.raises(BudgetExceeded, match=f"short by .*{short} = "):
        dpmine.top_itemsets(SEALED[kind](), 3, epsilon=1, release_support="1/2", ledger=url, dataset="poor")
    assert spent(url, "poor") == (0, 0)
    assert dpmine.Ledger(url).budget("poor").entries == 1


def test_a_split_budget_fits_where_a_sum_does_not(url: str) -> None:
    dpmine.Ledger(url).grant("poor", epsilon=1, delta=0)
    options: dict[str, Any] = {"catalogue": ITEMS, "mechanism": "exponential", "delta": 0, "ledger": url}
    with pytest.raises(BudgetExceeded):
        dpmine.top_itemsets(BASKETS, 2, epsilon=1, release_support="1/100", dataset="poor", **options)
    found = dpmine.top_itemsets(BASKETS, 2, epsilon=1, release_support="auto", dataset="poor", **options)
    assert spent(url, "poor") == (1, 0)
    assert found.guarantee.epsilon == 1
