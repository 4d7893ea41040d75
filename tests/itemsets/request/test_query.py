"""The typed query that every call which chooses itemsets is made into."""

from __future__ import annotations

import inspect
from dataclasses import fields
from fractions import Fraction
from typing import Any

import pytest
from support.cases import every

import dpmine
from dpmine.itemsets.request.query import Query, Request

OF_ATTRIBUTES = {"attributes", "missing", "cut"}
OF_DATA = {"data", "unit", "basket", "item", "items", "one_hot", "ledger", "dataset", "memory", "engine", "progress"}


@pytest.mark.parametrize("call", [dpmine.top_itemset, dpmine.top_itemsets])
def test_a_query_has_the_arguments_and_defaults_of_the_calls(call: Any) -> None:
    given = {name: each.default for name, each in inspect.signature(call).parameters.items()}
    known = {field.name: field.default for field in fields(Query)}
    asked = {name: default for name, default in given.items() if name not in {*OF_DATA, *OF_ATTRIBUTES, "notice"}}
    assert asked == {name: known[name] for name in asked}
    assert set(known) - set(asked) == (set() if "k" in given else {"k"})


@pytest.mark.parametrize(
    "call",
    [dpmine.top_itemset, dpmine.top_itemsets, dpmine.frequent_itemsets, dpmine.discover_items, dpmine.itemset_supports],
)
def test_every_argument_is_explained_in_the_help_of_each_call(call: Any) -> None:
    explained = inspect.getdoc(call) or ""
    assert [name for name in inspect.signature(call).parameters if f"\n    {name}: " not in explained] == []
    assert "as there" not in explained


@every(
    "changes",
    [
        {"delta": 0},
        {"k": 50, "epsilon": Fraction(3, 4)},
        {"delta": 0, "size": "1-2", "k": 10, "epsilon": Fraction(1, 2)},
    ],
)
def test_supports_that_are_asked_for_are_released(changes: dict[str, Any]) -> None:
    """Also where "auto" takes one way with a part of ε, and another one with all of it."""
    asked: dict[str, Any] = {"k": 20, "catalogue": [f"item {each}" for each in range(30)], **changes}
    request = Request.of(Query(**asked, release_support="auto"))
    assert (request.way.name, request.way.epsilon) == ("best_first", asked.get("epsilon", 1))
    assert request.way.reason
    assert Request.of(Query(**asked)).way.name == "exponential"
