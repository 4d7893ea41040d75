"""Ways by name and by "auto": what a new one has to say, shown by a toy that releases supports with its choice."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from support.cases import every

import dpmine
from dpmine.errors import BadParameter
from dpmine.itemsets.release.noise import DiscreteLaplace
from dpmine.itemsets.ways import way
from dpmine.itemsets.ways.way import ListTerms, build_way, rivals
from dpmine.options.names import Named
from dpmine.planning import plan_list
from dpmine.privacy import Neighbors, Zcdp

if TYPE_CHECKING:
    from pathlib import Path

TERMS = ListTerms(20, Fraction(1), Fraction(1, 10**6), Neighbors.REPLACE_ONE)
BASKETS = [["a", "b"]] * 400 + [["c"]]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(way.WAYS, "toy", Named("toy", "project.toys.way:Toy"))


@pytest.mark.usefixtures("toy")
def test_a_way_in_the_registry_is_known_by_name_to_auto_and_to_the_planner() -> None:
    by_name = dpmine.top_itemsets(BASKETS, mechanism="toy")
    assert (by_name.mechanism, by_name.requested) == ("toy", "toy")
    long = ListTerms(21, TERMS.epsilon, TERMS.delta, TERMS.neighbors, catalogue_size=10)
    assert build_way(long).reason == "auto uses toy: it is the best of long lists."
    assert build_way(TERMS).name == "discover"
    row = next(row for row in plan_list(20).rows if row.mechanism == "toy")
    assert (row.lead, row.right_from, row.rounds) == (4, 7, "no rounds")
    with pytest.raises(BadParameter, match="toy lists at most 100 itemsets"):
        dpmine.top_itemsets(BASKETS, 101, mechanism="toy")
    with pytest.raises(BadParameter, match=r"'toy' has no option kbar: .* or `mechanism='items_first'`"):
        dpmine.top_itemsets(BASKETS, mechanism="toy", kbar=3)
    with pytest.raises(BadParameter, match=r"'auto' has no option max_items_per_unit: .* `mechanism='best_first'`"):
        dpmine.top_itemsets(BASKETS, catalogue=list("abcdefgh"), max_items_per_unit=3)
    with pytest.raises(BadParameter, match=f"one of: auto, {', '.join(sorted(way.WAYS))}"):
        dpmine.top_itemsets(BASKETS, mechanism="unheard-of")


@every("options", [{}, {"release_support": "auto"}, {"release_support": "1/2"}])
@pytest.mark.usefixtures("toy")
def test_supports_that_come_with_the_choice_are_released_with_rules_at_no_further_charge(
    options: dict[str, Any], tmp_path: Path
) -> None:
    """All of the budget is the way's, however much of it was meant for supports."""
    url = f"sqlite:///{tmp_path}/l.db"
    dpmine.Ledger(url).grant("shop", epsilon=1000)
    options |= {"size": "1-2", "units": 401, "ledger": url, "dataset": "shop"}
    found = dpmine.top_itemsets(BASKETS, 2, mechanism="toy", epsilon=900, rules=True, min_support=300, **options)
    assert (list(found), found.noisy_supports, found.left_out) == ([frozenset("ab")], (400,), 1)
    assert found.intervals == ((400, 400),)
    assert found.rules()["confidence"].tolist() == [1.0, 1.0]
    asked = Fraction(1801, 2) if options.get("release_support") == "1/2" else 900
    assert found.guarantee.epsilon == dpmine.Ledger(url).budget("shop").spent.epsilon == asked
    assert found.supports is not None
    assert isinstance(found.supports.noise, DiscreteLaplace)
    assert found.supports.noise.epsilon == asked


@every("changes", [{}, {"catalogue_size": 100}, {"delta": Fraction(0), "catalogue_size": 100}, {"from_data": True}])
def test_what_auto_takes_is_a_rival(changes: dict[str, Any]) -> None:
    """The planner compares what "auto" does, and nothing that cannot be used."""
    given = {"count": 20, "epsilon": TERMS.epsilon, "delta": TERMS.delta, "neighbors": TERMS.neighbors, **changes}
    terms = ListTerms(**given)
    rival_names = [way.name for way in rivals(terms)]
    assert build_way(terms).name in rival_names
    assert ("discover" in rival_names) is not terms.has_catalogue
    assert ("exponential" in rival_names) is (terms.catalogue_size is not None)
    assert ("limited_domain" in rival_names) is (terms.delta > 0)


@every("relation", Neighbors)
def test_auto_counts_best_first_without_a_delta_where_items_are_public(relation: Neighbors) -> None:
    terms = ListTerms(20, Fraction(1), Fraction(0), relation, (1, 3), 100)
    way = build_way(terms)
    assert way.name == "best_first"
    assert (way.guarantee().delta, way.guarantee().zcdp) == (Fraction(0), Zcdp(Fraction(1, 2)))
    with pytest.raises(BadParameter, match="delta must be above 0 where there is no public list"):
        build_way(replace(terms, catalogue_size=None, mechanism="best_first"))


@every(
    "sizes, k, delta, epsilon, expected",
    [
        ((1, 1), 10, 1, 1, ("exponential", "exponential")),
        ((1, 1), 20, 1, 1, ("best_first", "exponential")),
        ((1, 1), 50, 1, 1, ("best_first", "best_first")),
        ((1, 1), 20, 0, 1, ("exponential", "exponential")),
        ((1, 1), 50, 0, 1, ("best_first", "best_first")),
        ((2, 2), 10, 0, "1/4", ("best_first", "exponential")),
        ((2, 2), 20, 0, 1, ("exponential", "exponential")),
        ((2, 2), 20, 1, "1/4", ("items_first", "exponential")),
        ((2, 2), 100, 1, "1/4", ("best_first", "best_first")),
        ((2, 2), 50, 1, 1, ("items_first", "exponential")),
        ((2, 2), 100, 1, 1, ("best_first", "items_first")),
        ((1, 4), 10, 1, 1, ("best_first", "items_first")),
        ((1, 4), 20, 1, 1, ("best_first", "best_first")),
        ((1, 4), 10, 0, 1, ("exponential", "exponential")),
        ((1, 4), 10, 0, "1/4", ("best_first", "exponential")),
        ((1, 4), 9, 0, 1, ("exponential", "exponential")),
    ],
)
def test_auto_by_sizes_places_and_noise(
    sizes: tuple[int, int], k: int, delta: int, epsilon: str, expected: tuple[str, str]
) -> None:
    """With a public list of items, under both relations."""
    assert chosen_ways(sizes, k, delta, epsilon, catalogue_size=1000) == expected


@every(
    "sizes, k, epsilon, expected",
    [
        ((1, 1), 20, 1, ("discover", "discover")),
        ((2, 2), 10, "1/4", ("discover", "discover")),
        ((2, 2), 20, "1/4", ("discover", "discover")),
        ((2, 2), 100, 1, ("discover", "discover")),
        ((1, 4), 10, "1/4", ("discover", "discover")),
        ((1, 4), 10, 1, ("best_first", "best_first")),
        ((1, 4), 20, "1/4", ("best_first", "best_first")),
    ],
)
def test_auto_without_a_list_of_items(sizes: tuple[int, int], k: int, epsilon: str, expected: tuple[str, str]) -> None:
    """The same, for items that are not public."""
    assert chosen_ways(sizes, k, 1, epsilon, catalogue_size=None) == expected


def chosen_ways(
    sizes: tuple[int, int], k: int, delta: int, epsilon: str, *, catalogue_size: int | None
) -> tuple[str, ...]:
    """By "auto" under each relation; δ in millionths."""
    budget = Fraction(epsilon), Fraction(delta, 10**6)
    ways = [build_way(ListTerms(k, *budget, relation, sizes, catalogue_size)) for relation in Neighbors]
    return tuple(way.name for way in ways)
