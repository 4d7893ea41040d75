"""Catalogues that are found once: what they hold, what they say, and what reads them."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.sealed import SealedBaskets, Untouchable

import dpmine
from dpmine.itemsets import discover
from dpmine.itemsets.discover import DiscoveredItems
from dpmine.itemsets.ingest.catalogue import REMARK, read_catalogue
from dpmine.itemsets.request.advice import advice, doubt
from dpmine.itemsets.request.query import Query, Request
from dpmine.itemsets.ways.discovery import DISCOVERED_PLACES, Discover, Discovery
from dpmine.privacy import Neighbors
from dpmine.zcdp import delta_at

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.itemsets.release.results import TopItemsets

SALES = pa.table({"item": ["tea", "milk"] * 500 + ["rare"], "unit": [*range(500), *range(500), 7]})
NAMED: dict[str, Any] = {"unit": "unit", "item": "item"}
GUARANTEE = dpmine.Guarantee(Fraction(1), Fraction(1, 10**6), dpmine.Neighbors.REPLACE_ONE, unit="unit")


def asked(**options: Any) -> Request:
    return Request.of(Query(**{"k": 20, "mechanism": "discover", **options}))


def test_items_of_many_units_are_found() -> None:
    found = dpmine.discover_items(SALES, **NAMED, epsilon=3)
    assert (list(found), len(found)) == (["milk", "tea"], 2)
    assert str(found.guarantee) == "ε = 3, δ = 1e-06 per unit, neighbours replace-one"
    assert found.guarantee.zcdp.delta == Fraction(1, 2 * 10**6)
    assert found.guarantee.rho is not None
    assert found.guarantee.rho < Fraction(9, 2)


def test_nothing_is_found_where_units_are_few() -> None:
    found = dpmine.discover_items([["a", "b"]])
    assert len(found) == 0
    assert str(found).splitlines()[1] == f"{REMARK}none. {found.advice}"
    assert found.advice.startswith("To be found with probability 1/2, an item needs about 38 units that have nothing")


def test_a_run_is_charged_before_data_are_read(tmp_path: Path) -> None:
    """The first run is charged although its data cannot be read; the second one does not try to."""
    ledger = dpmine.Ledger(f"sqlite:///{tmp_path}/l.db")
    ledger.grant("shop", epsilon=1, delta=1e-6)
    with pytest.raises(Untouchable):
        dpmine.discover_items(SealedBaskets(), ledger=ledger, dataset="shop")
    assert ledger.budget("shop").spent.epsilon == 1
    with pytest.raises(dpmine.BudgetExceeded):
        dpmine.discover_items(SealedBaskets(), ledger=ledger, dataset="shop")


@every("relation", [dpmine.Neighbors.REPLACE_ONE, dpmine.Neighbors.ADD_REMOVE])
def test_what_is_charged_is_what_is_run(monkeypatch: pytest.MonkeyPatch, relation: dpmine.Neighbors) -> None:
    made: list[Discovery] = []

    def spy(*given: Any) -> Discovery:
        made.append(Discovery(*given))
        return made[-1]

    monkeypatch.setattr(discover, "Discovery", spy)
    found = dpmine.discover_items(SALES, **NAMED, epsilon=2, delta=1e-5, neighbors=relation)
    ran = made[0]
    assert (ran.neighbors, ran.zcdp, ran.looks) == (found.guarantee.neighbors, found.guarantee.zcdp, (1,))
    assert ran.neighbors is relation
    assert delta_at(ran.budget, Fraction(2)) + ran.delta <= found.guarantee.delta == Fraction(1, 10**5)


def test_thresholds_of_a_tiny_delta() -> None:
    assert len(dpmine.discover_items(SALES, **NAMED, epsilon=100, delta="1e-100")) == 2
    assert asked(delta="1e-100", mechanism="auto").way.name == "discover"


@every("items", [("a b", "ä", "12"), (1, 2, 30), ()])
def test_every_form_reads_back(tmp_path: Path, items: tuple[Any, ...]) -> None:
    found = DiscoveredItems(items, GUARANTEE)
    assert json.loads(found.to_json())["items"] == list(items)
    text, table = tmp_path / "items.txt", tmp_path / "items.parquet"
    text.write_text(f"{found}\n", encoding="utf-8")
    pq.write_table(found.to_arrow(), table)
    assert pq.read_schema(table).metadata[b"dpmine"].decode() == found.to_json()
    if not items:
        with pytest.raises(dpmine.BadData, match="is empty"):
            read_catalogue(str(text))
        return
    for path in (text, table):
        assert sorted(map(str, read_catalogue(str(path)).to_pylist())) == sorted(map(str, items))
    assert read_catalogue(found).to_pylist() == sorted(items)


def test_names_that_are_no_line_are_left_out_of_text_and_said() -> None:
    odd = ("a\nb", f"{REMARK}d", "\x1b[31mred", "\x9b2J", "\0")
    found = str(DiscoveredItems((*odd, "c", "tab\tand\xa0é"), GUARANTEE)).splitlines()
    assert found[1:] == [f"{REMARK}left out: 5 items that are no line of text; write Parquet", "c", "tab\tand\xa0é"]


def test_remarks_end_where_items_begin(tmp_path: Path) -> None:
    path = tmp_path / "items.txt"
    path.write_text(f"{REMARK}one\na\n{REMARK}two\n# three\n", encoding="utf-8")
    assert read_catalogue(str(path)).to_pylist() == [f"{REMARK}two", "# three", "a"]


@every("relation", Neighbors)
def test_auto_discovers_from_some_places_on(relation: Neighbors) -> None:
    least = DISCOVERED_PLACES[relation]
    names = [asked(mechanism="auto", k=k, neighbors=relation).way.name for k in (1, least - 1, least, 1000)]
    assert names == ["limited_domain", "limited_domain", "discover", "discover"]


def test_what_auto_says_and_takes() -> None:
    reason = asked(mechanism="auto").way.reason
    assert reason.startswith("auto uses discover: without a catalogue, in lists of 5 or more (10 under add-remove), it")
    assert asked(mechanism="auto", max_items_per_unit=5).way.name == "discover"
    assert asked(mechanism="auto", kbar=1000).way.name == "limited_domain"
    assert asked(mechanism="auto", catalogue=range(100)).way.name == "exponential"


def test_what_a_request_says() -> None:
    request = asked(release_support=1, max_items_per_unit=7)
    assert isinstance(request.way, Discover)
    assert (request.way.discovery.items_per_unit, request.cut) == (7, None)
    assert request.guarantee.zcdp.rho == request.way.zcdp.rho + (request.split.supports or request.way).zcdp.rho
    assert "items: Gaussian noise" in str(request.split)
    assert advice(request, charged=True) == (
        "too few items were found. To be found with probability 1/2, an item needs about 48 units that have nothing "
        "else, or about 127 units with 7 items each. The run was still charged. Try `epsilon=1.5`, with which about "
        "241 are enough: fewer than 1 in 20 of 5,000 units, a guess for the best (`units=N` for your number). "
        "Another run adds to the charge: ε = 4.5 for both. Stopping is an answer, too."
    )
    assert "fewer than half of the 20" in doubt(request)
    assert not doubt(asked(units=10**6))


@every(
    "options, words",
    [
        ({"catalogue": ["a", "b", "c", "d", "e", "f", "g"]}, "not public"),
        ({"catalogue": "from-data"}, "not public"),
        ({"kbar": 50}, "no option kbar"),
        ({"delta": 0}, "delta"),
        ({"epsilon": "1e-12", "delta": "1e-60"}, "epsilon is too small"),
        ({"max_items_per_unit": 0}, "max_items_per_unit"),
        ({"max_items_per_unit": 10_001}, "10,000"),
    ],
)
def test_what_cannot_be_discovered(options: dict[str, Any], words: str) -> None:
    with pytest.raises(dpmine.BadParameter, match=words):
        asked(**options)


def test_a_discovery_needs_some_budget() -> None:
    for wrong in ({"epsilon": "1e-12", "delta": "1e-60"}, {"delta": 0}, {"max_items_per_unit": 0}):
        with pytest.raises(dpmine.BadParameter):
            dpmine.discover_items(SALES, **NAMED, **wrong)


# Lists end where released supports can no longer be told from nothing.


def listed(**options: Any) -> TopItemsets:
    """Of pairs with the supports 500 and 0, whose noise is within ±19."""
    return dpmine.top_itemsets(
        [["a", "b"]] * 500 + [["c"]], 3, catalogue=["a", "b", "c"], epsilon=50, release_support="1/2", **options
    )


def test_what_cannot_be_told_from_nothing_is_left_out() -> None:
    found = listed()
    assert (list(found), found.left_out) == ([frozenset("ab")], 2)
    assert "(2 chosen with too small a noisy support to be listed; `min_support=0` lists all, in" in str(found)
    assert found.to_dict()["left_out"] == 2
    assert found.supports is not None
    assert found.supports.itemsets == (frozenset("ab"),)
    assert found.advice == ""


def test_a_least_support_is_the_users() -> None:
    assert (len(listed(min_support=0)), listed(min_support=0).left_out) == (3, 0)
    assert "left_out" not in listed(min_support=0).to_dict()
    assert len(listed(min_support=300)) == 1
    assert str(listed(min_support=900)).startswith("Nothing stands out.\nall 3 chosen")


def test_rules_are_made_of_what_is_listed() -> None:
    found = listed(rules=True, min_support=300)
    assert {*found.supports.itemsets} == {frozenset("ab"), frozenset("a"), frozenset("b")} if found.supports else False
    assert len(found.rules()) == 2
    assert len(listed(rules=True, min_support=900).rules()) == 0


def test_a_least_support_needs_supports() -> None:
    with pytest.raises(dpmine.BadParameter, match="release_support"):
        asked(min_support=5)
    with pytest.raises(dpmine.BadParameter, match="min_support"):
        asked(min_support=-1, release_support=1)
