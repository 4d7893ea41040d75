"""What is said about lists before any data are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.cases import every

from dpmine.errors import BadParameter
from dpmine.planning import plan_list
from dpmine.privacy import Neighbors
from dpmine.selection.top_k import HALF, share_right


@every("relation", Neighbors)
def test_the_default_comes_first(relation: Neighbors) -> None:
    for k in (2, 5, 14, 50, 1000):
        for size in (2, "1-3"):
            for catalogue_size in (None, 50):
                if catalogue_size is None or k < 50:
                    planned = plan_list(k, size=size, neighbors=relation, catalogue_size=catalogue_size)
                    default, *others = (row.mechanism for row in planned.rows)
                    assert default == planned.recommended not in others


def test_the_support_needed_is_the_one_that_half_of_the_list_needs() -> None:
    row = next(row for row in plan_list(20, catalogue_size=100).rows if row.mechanism == "exponential")
    scale = 2 / 0.0987066
    assert share_right(20, scale, 4950, row.right_from) >= HALF > share_right(20, scale, 4950, row.right_from - 2)


def test_text_and_json() -> None:
    planned = plan_list(20, units=25_900, epsilon="1/2", neighbors="add-remove", size="2-3")
    text = str(planned)
    assert "The best 20 itemsets of size 2 to 3 from unknown items; ε = 1/2, δ = 1e-06, add-remove." in text
    assert "discover *" in text
    assert "weighs" not in text
    weighted = plan_list(100, epsilon="0.3")
    assert "discover weighs pairs here" in str(weighted)
    assert [row.weighted for row in weighted.rows] == [True, False]
    assert "%)" in text
    document = json.loads(planned.to_json())
    assert (document["k"], document["recommended"]) == (20, "discover")
    assert [row["mechanism"] for row in document["mechanisms"]] == [row.mechanism for row in planned.rows]
    assert str(plan_list(2, catalogue_size=1000)).splitlines()[0].startswith("The best 2 itemsets of size 2 from 1,000")


@every(
    "k, options, words",
    [
        (1, {}, "at least 2"),
        (20, {"delta": 0}, "delta"),
        (20, {"epsilon": 0}, "epsilon"),
        (20, {"catalogue_size": 5}, "must not exceed the 10 itemsets"),
        (20, {"catalogue_size": 1}, "size must not exceed"),
        (20, {"units": 0}, "units"),
        (20, {"neighbors": "x"}, "neighbors"),
    ],
)
def test_unusable_parameters(k: int, options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        plan_list(k, **options)
