"""The typed query that every call which chooses itemsets is made into."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import pytest

import dpmine
from dpmine.itemsets.request.query import Query

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
