"""What a result without itemsets advises: one step, from public parameters alone, that does what it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from support.cases import every

import dpmine
from dpmine.itemsets.request.advice import advice
from dpmine.itemsets.request.query import Query, Request

if TYPE_CHECKING:
    from pathlib import Path

LETTERS = list("abcdefgh")


def asked(**changed: Any) -> Request:
    return Request.of(Query(**{"k": 1, **changed}))


@every(
    "changed, step",
    [
        ({"epsilon": "0.1"}, "`epsilon=0.25"),
        ({"epsilon": "0.1", "units": 50_000}, "`size=1"),
        ({}, "`size=1"),
        ({"size": "2-3"}, "`size=1"),
        ({"size": 3}, "`size=2"),
        ({"size": 1}, "`catalogue=FILE`"),
        ({"mechanism": "large_margin"}, "`mechanism='limited_domain'`"),
        ({"mechanism": "large_margin", "epsilon": "0.1"}, "`mechanism='limited_domain'` `epsilon=0.25`"),
        ({"mechanism": "limited_domain", "k": 10}, "`mechanism='discover'`"),
        ({"mechanism": "stable_maximiser", "catalogue": LETTERS}, "`mechanism='max_of_exponentials'`"),
        ({"epsilon": "0.2", "release_support": "auto"}, "`epsilon=0.38"),
        ({"mechanism": "limited_domain", "kbar": 100, "delta": "1e-60"}, "`epsilon=1."),
    ],
)
def test_one_step_is_named(changed: dict[str, Any], step: str) -> None:
    text = advice(asked(**changed), charged=False)
    assert f"Try {step}" in text or (step == "`catalogue=FILE`" and step in text)
    assert text.count("Try ") == 1
    assert "charged" not in text


@every(
    "changed, both",
    [
        ({"epsilon": "0.1"}, "0.35"),
        ({"epsilon": "0.1", "units": 50_000}, "0.2"),
        ({"epsilon": "0.2", "release_support": "auto"}, "0.58"),
        ({"epsilon": "0.2", "release_support": "0.5"}, "1.45"),
    ],
)
def test_the_advice_says_what_another_run_adds_and_that_stopping_is_an_answer(
    changed: dict[str, Any], both: str
) -> None:
    """ε of this run and of the advised one, with the supports of both."""
    text = advice(asked(**changed), charged=False)
    assert text.endswith(f"Another run adds to the charge: ε = {both} for both. Stopping is an answer, too.")


def test_where_no_step_is_expected_to_help_the_advice_is_to_stop() -> None:
    text = advice(asked(size=1, catalogue=LETTERS), charged=False)
    assert text.endswith("No other option is expected to help, if the best is in 1 of 20 of 5,000 units: stop here.")


@every("changed", [{"epsilon": "0.1"}, {"epsilon": "0.01", "size": 1}, {"epsilon": "0.2", "release_support": "auto"}])
def test_the_advised_epsilon_is_enough_and_a_smaller_one_is_not(changed: dict[str, Any]) -> None:
    """250 units, one in 20 of 5,000, are what is expected where the number of units is unknown."""
    text = advice(asked(**changed), charged=False)
    found = re.search(r"Try `epsilon=(\S+)`, with which about ([\d,]+) are enough", text)
    assert found is not None
    epsilon = found[1]
    lead = asked(**{**changed, "epsilon": epsilon}).way.lead()
    assert lead == pytest.approx(int(found[2]), abs=1)
    assert lead <= 250 < asked(**{**changed, "epsilon": f"{float(epsilon) - 0.01:g}"}).way.lead()


def test_nothing_is_advised_for_what_is_not_private() -> None:
    text = advice(asked(mechanism="exact", not_private=True), charged=False)
    assert "Try" not in text


def test_a_charge_is_said_where_there_was_one(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    dpmine.Ledger(url).grant("shop", epsilon=10, delta="1e-3")
    baskets = [["bread", "milk"]] * 5
    said = "The run was still charged. Try"
    options: dict[str, Any] = {"mechanism": "limited_domain", "epsilon": "0.1"}
    places: list[dict[str, Any]] = [{}, {"ledger": url, "dataset": "shop"}]
    for place, expected in zip(places, (False, True), strict=True):
        found = dpmine.top_itemset(baskets, **options, **place)
        items = dpmine.discover_items(baskets, epsilon="0.1", **place)
        chosen = dpmine.select({"a": 1}, candidates="unknown", epsilon="0.1", unit="row", **place)
        for result in (found, items, chosen):
            assert not result
            assert (said in result.advice) is expected
            assert result.to_dict()["advice"] == result.advice
            assert result.advice in str(result)
            assert result.advice in result._repr_html_()


@every(
    "changed",
    [
        {"epsilon": "0.005", "size": 1, "catalogue": LETTERS},
        {"epsilon": "0.0005", "size": 1},
        {"epsilon": "0.001", "size": 1, "k": 3, "catalogue": LETTERS},
        {"epsilon": "0.1", "units": 5000},
    ],
)
def test_an_advised_epsilon_says_which_support_it_assumes(changed: dict[str, Any]) -> None:
    text = advice(asked(**changed), charged=False)
    assert re.search(r"Try `epsilon=\S+`, with which about [\d,]+ are enough: fewer than 1 in 20 of ", text)
    assert ("of 5,000 units, a guess for the best (`units=N` for your number)" in text) is ("units" not in changed)


@every("charged", [False, True])
@every("k, said", [(1, "the chosen itemset has too small"), (3, "all 3 chosen itemsets have too small")])
def test_a_list_emptied_by_small_supports(k: int, said: str, charged: bool, tmp_path: Path) -> None:
    """The noise of supports near 500 is far from 10,000."""
    url = f"sqlite:///{tmp_path / f'{k}.db'}"
    dpmine.Ledger(url).grant("shop", epsilon=100)
    ledger: dict[str, Any] = {"ledger": url, "dataset": "shop"} if charged else {}
    catalogue = ["a", "b", "c"]
    options: dict[str, Any] = {"catalogue": catalogue, "epsilon": 10, "release_support": 1, "min_support": 10_000}
    found = dpmine.top_itemsets([["a", "b"]] * 500, k, **options, **ledger)
    assert (len(found), found.left_out) == (0, k)
    still = "The run was still charged. " if charged else ""
    assert found.advice == (
        f"{said} a noisy support to be listed. {still}Try `min_support=0`, which lists all that is chosen; another run "
        "is charged as much again."
    )
    assert str(found).splitlines()[1] == found.to_dict()["advice"] == found.advice


def test_discovered_items_in_a_notebook() -> None:
    items = dpmine.discover_items([["<b>bread</b>", "milk"]] * 3000)
    shown = items._repr_html_()
    assert "<td>&lt;b&gt;bread&lt;/b&gt;</td>" in shown
    assert str(items.guarantee) in shown
    assert (bool(items), len(items), list(items)) == (True, 2, ["<b>bread</b>", "milk"])
