"""Lists of this project with their exact output distributions: peeled ones, at once, items first, discovered items.

The distributions are those of the oracles. `run` is the code itself, whose draws are compared with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import dpmine
from dpmine.auditing import Claim, RowSets, ScoreVectors
from dpmine.itemsets.release.noise import DiscreteLaplace
from dpmine.itemsets.ways.at_once import Joint, Lipschitz
from dpmine.itemsets.ways.basis import Basis
from dpmine.itemsets.ways.discovery import Discover, Discovery
from dpmine.itemsets.ways.items_first import ItemsFirst
from dpmine.itemsets.ways.universe import ItemsetUniverse
from dpmine.itemsets.ways.way import ListTerms, Way
from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.report_noisy_max import MaxOfExponentials, MaxOfLaplaces
from dpmine.selection.top_k import OneShot, Peeling
from dpmine.selection.universes.dense import Dense
from dpmine.zcdp import delta_at
from support.gallery.counted import (
    EPSILON,
    REST,
    TOGETHER,
    Cells,
    CountedTogether,
    Loads,
    at_five,
    best_first,
    of_pure,
    purely,
    together,
)
from support.gallery.listed import ITEMS, NONE, ONE, Listed, Lists, chosen_lists, one_basket_each
from support.oracles import at_once, top_k
from support.oracles.discovery import law_of_sets
from support.oracles.itemsets import all_supports, baskets_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.ways.at_once import ListAtOnce
    from dpmine.privacy import Zcdp
    from support.oracles.itemsets import Units

BASKETS = [frozenset(), frozenset({0, 1, 2}), frozenset({0}), frozenset({0, 1}), frozenset({1, 2})]


@dataclass(frozen=True)
class Peeled:
    """The k best of a vector of scores, round by round."""

    way: OneShot | Peeling

    def law(self, scores: Sequence[int]) -> Lists:
        """Of all lists of positions."""
        once = self.way.mechanism
        options: dict[str, Any] = {"epsilon": once.epsilon, "mechanism": once.name, "neighbors": once.neighbors}
        return dict(top_k.peeled(scores, self.way.count, lambda left: _winners(tuple(left), **options)))

    def run(self, scores: Sequence[int], bits: BitSource) -> tuple[int, ...]:
        """One list."""
        return tuple(self.way.choose(Dense(list(scores)), bits=bits))


@dataclass(frozen=True)
class AtOnceList:
    """k candidates at once: a sequence or a set."""

    way: ListAtOnce

    def law(self, scores: Sequence[int]) -> Lists:
        """Of all outcomes of positions."""
        way = self.way
        return dict(at_once.law(way.name, scores, way.count, way.epsilon, way.neighbors))

    def run(self, scores: Sequence[int], bits: BitSource) -> tuple[int, ...]:
        """One outcome."""
        return at_once.outcome(self.way.name, self.way.mechanism.choose(Dense(list(scores)), bits=bits))


@dataclass(frozen=True)
class ItemsFirstList:
    """Pairs of the items that a first stage keeps; a row is the only basket of its unit."""

    way: ItemsFirst
    exact_items: bool = False
    """Whether the first stage has no noise: a mistake."""

    def law(self, rows: Sequence[frozenset[int]]) -> Lists:
        """Of all lists of pairs."""
        singles, pairs = (all_supports(one_basket_each(rows), size) for size in (1, 2))
        supports, found = [singles[item,] for item in range(ITEMS)], Lists()
        kept = self.way.items.count
        best = tuple(sorted(range(ITEMS), key=lambda item: -supports[item])[:kept])
        first = {best: 1.0} if self.exact_items else chosen_lists(supports, self.way.items)
        for items, mass in first.items():
            left = list(combinations(sorted(items), 2))
            for chosen, share in chosen_lists([pairs[pair] for pair in left], self.way.last).items():
                names = tuple(left[place] for place in chosen)
                found[names] = found.get(names, 0.0) + mass * share
        return found

    def run(self, rows: Sequence[frozenset[int]], bits: BitSource) -> tuple[Any, ...]:
        """One list."""
        return tuple(self.way.choose(_universe(rows, public=True), bits=bits).itemsets)


class Coarse(Discovery):
    """A unit's weights have length 8 in place of 2^20: noise of that scale can be enumerated."""

    @property
    def weight(self) -> int:
        """8."""
        return 8


@dataclass(frozen=True)
class DiscoveredList:
    """One pair of the items that were found; None where there is no pair of such items."""

    way: Discover

    def law(self, rows: Sequence[frozenset[int]]) -> Lists:
        """Of all pairs, and None."""
        units, found = one_basket_each(rows), Lists()
        supports = all_supports(units, 2)
        for items, mass in law_of_sets(self.way.discovery, self.sums(units)).items():
            left = list(combinations(items, 2))
            for chosen, share in chosen_lists([supports[pair] for pair in left], self.way.itemsets).items():
                name = left[chosen[0]] if chosen else None
                found[name] = found.get(name, 0.0) + mass * share
        return found

    def sums(self, units: Units) -> list[int]:
        """What the items weigh together, without noise."""
        weighed: list[int] = baskets_of(units, ITEMS).item_weights(self.way.discovery.weights).tolist()
        return weighed

    def run(self, rows: Sequence[frozenset[int]], bits: BitSource) -> Any:
        """One pair, or None."""
        return next(iter(self.way.choose(_universe(rows, public=False), bits=bits).itemsets), None)


def lists() -> Mapping[str, Listed]:
    """By name, under both relations."""
    found = {}
    for relation in Neighbors:
        rows, scores = RowSets(BASKETS, relation, sizes=(2, 4)), ScoreVectors(neighbors=relation, sizes=(3,), lowest=0)
        for way in (
            OneShot.of(2, ONE, NONE, relation),
            Peeling.of(2, MaxOfLaplaces(ONE, NONE, relation), NONE),
            Peeling.of(2, MaxOfExponentials(ONE, NONE, relation), Fraction(1, 10**6)),
        ):
            found[f"{way.name}, two of three, {relation}"] = Listed(Peeled(way), of(way), scores)
        for kind in (Joint, Lipschitz):
            whole = two_at_once(kind, relation)
            listed = Listed(AtOnceList(whole), of(whole), replace(scores, sizes=(4,)))
            found[f"{whole.name}, two of four, {relation}"] = listed
        first = items_first(relation)
        found[f"items_first, {relation}"] = Listed(ItemsFirstList(first), of(first), rows)
        cells = Cells(Basis(1, relation, DiscreteLaplace(EPSILON), 2 if relation is Neighbors.REPLACE_ONE else 1))
        found[f"cells of an item, {relation}"] = Listed(cells, Claim(EPSILON, REST), rows)
        discovered = discover(relation)
        counted = best_first(relation)
        found[f"best_first, three counts, {relation}"] = Listed(counted, at_five(counted.noise), rows)
        pure = purely(counted)
        found[f"best_first, three counts, pure, {relation}"] = Listed(pure, of_pure(pure), rows)
        at_a_time = CountedTogether(counted.way, together(relation))
        found[f"best_first, counted together, {relation}"] = Listed(at_a_time, at_five(TOGETHER), rows)
        loads = Loads(1 + (relation is Neighbors.REPLACE_ONE))
        found[f"best_first, loads of units, {relation}"] = Listed(loads, at_five(TOGETHER), rows)
        found[f"discover, {relation}"] = Listed(DiscoveredList(discovered), of_zcdp(charge(discovered)), rows)
    return found


def broken_lists() -> Mapping[str, Listed]:
    """By what is wrong."""
    relation = Neighbors.REPLACE_ONE
    peeled, first, found = OneShot.of(2, ONE, NONE, relation), items_first(relation), discover(relation)
    rows, scores = RowSets(BASKETS, relation, sizes=(2, 4)), ScoreVectors(neighbors=relation, sizes=(3,), lowest=0)
    narrow = replace(found, discovery=Coarse(found.discovery.budget, found.discovery.delta, relation, 1))
    counted = replace(best_first(Neighbors.ADD_REMOVE), way=best_first(relation).way)
    wholes = CountedTogether(counted.way, together(Neighbors.ADD_REMOVE), is_capped=False)
    return {
        **_too_much_at_once(scores),
        "the number of units is used and not paid for": Listed(
            replace(best_first(Neighbors.ADD_REMOVE), exact_units=True),
            at_five(counted.noise),
            RowSets(BASKETS, Neighbors.ADD_REMOVE, sizes=(2, 4)),
        ),
        "signs at the price of add-remove": Listed(counted, at_five(counted.noise), rows),
        "a unit adds a whole to all supports": Listed(
            wholes,
            at_five(TOGETHER),
            RowSets(BASKETS, Neighbors.ADD_REMOVE, sizes=(2, 4)),
        ),
        "loads at the sensitivity of add-remove": Listed(
            Loads(1), Claim(8, delta_at(TOGETHER.zcdp.rho, Fraction(8))), rows
        ),
        "cells at the sensitivity of add-remove": Listed(
            Cells(Basis(1, relation, DiscreteLaplace(EPSILON), 1)), Claim(EPSILON, REST), rows
        ),
        "pure signs at the price of add-remove": Listed(purely(counted), of_pure(purely(counted)), rows),
        "each round has all of ε": Listed(Peeled(replace(peeled, round_epsilon=ONE)), of(peeled), scores),
        "the items have no noise": Listed(ItemsFirstList(first, exact_items=True), of(first), rows),
        "the threshold is for one item": Listed(Wide(narrow), of_zcdp(charge(found)), rows),
    }


def _too_much_at_once(scores: ScoreVectors) -> Mapping[str, Listed]:
    """Twice the rate: that of a sensitivity of 1 under replace-one, or of a single choice."""
    mistakes = {
        Neighbors.REPLACE_ONE: "at a sensitivity of 1 under replace-one",
        Neighbors.ADD_REMOVE: "at the rate of a single choice",
    }
    found = {}
    for (kind, size), (relation, mistake) in product({Joint: 4, Lipschitz: 8}.items(), mistakes.items()):
        way = two_at_once(kind, relation)
        vectors = replace(scores, neighbors=relation, sizes=(size,))
        found[f"{way.name} {mistake}"] = Listed(AtOnceList(replace(way, epsilon=2 * way.epsilon)), of(way), vectors)
    return found


@dataclass(frozen=True)
class Wide(DiscoveredList):
    """Each unit gives the weight of one item to all of its items."""

    def sums(self, units: Units) -> list[int]:
        """The weight of one item for each of its units."""
        singles = all_supports(units, 1)
        return [int(self.way.discovery.weights[0]) * singles[item,] for item in range(ITEMS)]


def two_at_once(kind: type[ListAtOnce], relation: Neighbors) -> ListAtOnce:
    """ε = 1."""
    return kind.of(ListTerms(2, ONE, NONE, relation, (1, 1), ITEMS))


def items_first(relation: Neighbors) -> ItemsFirst:
    """One pair of two items of three, ε = 1."""
    return ItemsFirst.of(ListTerms(1, ONE, NONE, relation, (2, 2), ITEMS, options={"kbar": 2}))


def discover(relation: Neighbors) -> Discover:
    """One pair; ρ = 1/2 and δ = 1/5 for the items, ε = 1 for the pair."""
    shot = OneShot.of_rounds(1, ONE, relation)
    discovery = Coarse(Fraction(1, 2), Fraction(1, 5), relation, ITEMS)
    return Discover(1, ONE, Fraction(1, 2), relation, (2, 2), discovery, (shot,), (None,))


def charge(way: Discover) -> Zcdp:
    """Of both stages."""
    return way.discovery.zcdp + way.itemsets.zcdp


def of(way: OneShot | Peeling | Way) -> Claim:
    """What the list guarantees; where that is ε = 0, as a privacy profile. Errors name the way."""
    try:
        guarantee = way.guarantee()
        if not guarantee.epsilon:
            return Claim(profile=lambda _: float(guarantee.delta))
        return Claim(guarantee.epsilon, guarantee.delta)
    except Exception as error:
        error.add_note(f"That is the claim of a list by {way.name!r}.")
        raise


def of_zcdp(charged: Zcdp) -> Claim:
    """As a privacy profile."""
    return Claim(profile=lambda epsilon: min(1.0, _delta(charged, epsilon)))


def _delta(charged: Zcdp, epsilon: float) -> float:
    return float(charged.delta) + (float(delta_at(charged.rho, Fraction(epsilon))) if epsilon else 1.0)


@lru_cache(10_000)
def _winners(scores: tuple[int, ...], **options: Any) -> list[float]:
    winners: list[float] = dpmine.law(scores, **options).pmf.tolist()
    return winners


def _universe(rows: Sequence[frozenset[int]], *, public: bool) -> ItemsetUniverse:
    baskets = baskets_of(one_basket_each(rows), ITEMS)
    return ItemsetUniverse(baskets.miner(), range(2, 3), catalogue_is_public=public, transactions=baskets)
