"""Lists of this project with their exact output distributions: peeled ones, items first, and discovered items.

The distributions are those of the oracles. `run` is the code itself, whose draws are compared with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations, product
from math import exp, prod, sqrt
from typing import TYPE_CHECKING, Any

import dpmine
from dpmine.auditing import Claim, RowSets, ScoreVectors
from dpmine.itemsets.best_first.counts import EVERYBODY, Answers, Counts, Kind, Odd, Signed
from dpmine.itemsets.best_first.holdings import Holdings
from dpmine.itemsets.best_first.order import SLACK, Goal, NoisyWeights, Search
from dpmine.itemsets.best_first.together import Likely, Together, noisy_loads
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace
from dpmine.itemsets.ways.basis import Basis
from dpmine.itemsets.ways.best_first import BestFirst
from dpmine.itemsets.ways.discovery import Discover, Discovery
from dpmine.itemsets.ways.items_first import ItemsFirst
from dpmine.itemsets.ways.joint import Joint
from dpmine.itemsets.ways.universe import ItemsetUniverse
from dpmine.itemsets.ways.way import ListTerms
from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.report_noisy_max import MaxOfExponentials, MaxOfLaplaces
from dpmine.selection.top_k import OneShot, Peeling
from dpmine.selection.universes.dense import Dense
from dpmine.zcdp import delta_at
from support.oracles import top_k
from support.oracles.discovery import law_of_sets
from support.oracles.itemsets import all_supports, baskets_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.privacy import Zcdp
    from support.oracles.itemsets import Units

ONE, NONE = Fraction(1), Fraction(0)
ITEMS = 3
BASKETS = [frozenset(), frozenset({0, 1, 2}), frozenset({0}), frozenset({0, 1}), frozenset({1, 2})]
Lists = dict[Any, float]
TWO_ITEMS = [(0,), (1,), (0, 1)]
"""In the order in which best-first counting asks for them."""
THREE = len(TWO_ITEMS)
HUGE = 10**6
"""A weight that no support reaches."""
EPSILON, NEAR, REST = Fraction(8), range(-9, 10), Fraction(1, 10**3)
"""Of cells: their budget with the choice, noises that are enumerated, and a δ for those that are not."""
TOGETHER = DiscreteGaussian(Fraction(3, 2))
"""Of itemsets that are counted at once."""
ALL_ITEMS = Likely([(item,) for item in range(ITEMS)], [1] * ITEMS, [1.0] * ITEMS, 1.0, 0.0, heaviest=1)
REACH = 4
"""Beyond which noise is not enumerated: of variance 1, 7 in 10^6 of its probability; of scale 1/2, 8 in 10^5."""


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
class JointList:
    """A sequence of k candidates at once."""

    way: Joint
    times: int = 1
    """What the rate is multiplied by: a mistake unless 1."""

    def law(self, scores: Sequence[int]) -> Lists:
        """Of all sequences of positions."""
        rate = self.times * float(self.way.epsilon) / (4 if self.way.neighbors is Neighbors.REPLACE_ONE else 2)
        best = sorted(scores, reverse=True)
        weights = {
            places: exp(-rate * max(top - scores[place] for top, place in zip(best, places, strict=False)))
            for places in permutations(range(len(scores)), self.way.count)
        }
        return {places: weight / sum(weights.values()) for places, weight in weights.items()}

    def run(self, scores: Sequence[int], bits: BitSource) -> tuple[int, ...]:
        """One sequence."""
        return self.way.mechanism.choose(Dense(list(scores)), bits=bits)


@dataclass(frozen=True)
class ItemsFirstList:
    """Pairs of the items that a first stage keeps; a row is the only basket of its unit."""

    way: ItemsFirst
    exact_items: bool = False
    """Whether the first stage has no noise: a mistake."""

    def law(self, rows: Sequence[frozenset[int]]) -> Lists:
        """Of all lists of pairs."""
        singles, pairs = (all_supports(_units(rows), size) for size in (1, 2))
        supports, found = [singles[item,] for item in range(ITEMS)], Lists()
        kept = self.way.items.count
        best = tuple(sorted(range(ITEMS), key=lambda item: -supports[item])[:kept])
        first = {best: 1.0} if self.exact_items else _chosen(supports, self.way.items)
        for items, mass in first.items():
            left = list(combinations(sorted(items), 2))
            for chosen, share in _chosen([pairs[pair] for pair in left], self.way.last).items():
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
        units, found = _units(rows), Lists()
        supports = all_supports(units, 2)
        for items, mass in law_of_sets(self.way.discovery, self.sums(units)).items():
            left = list(combinations(items, 2))
            for chosen, share in _chosen([supports[pair] for pair in left], self.way.itemsets).items():
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


@dataclass(frozen=True)
class CountedBestFirst:
    """Three adaptive counts of itemsets of two items, with noise; a row is its unit's only basket.

    Signs need the number of units, too: a fourth count.
    """

    way: BestFirst
    kind: Kind
    noise: DiscreteGaussian | DiscreteLaplace
    exact_units: bool = False
    """Whether the number of units has no noise: a mistake where it is not public."""

    @property
    def counts(self) -> int:
        """How many have noise."""
        return THREE + (isinstance(self.kind, Signed) and not self.exact_units)

    def law(self, rows: Sequence[frozenset[int]]) -> Lists:
        """Over all noises; the pair is counted unless an item is clearly worse than the other."""
        variance, is_signed = float(self.noise.variance(self.counts)), isinstance(self.kind, Signed)
        odd = [sum(len(row & set(asked)) % 2 for row in rows) for asked in TWO_ITEMS]
        exact = [len(rows) - 2 * number for number in odd] if is_signed else odd
        slack = SLACK * sqrt(variance * (self.counts - 2 if is_signed else 1))
        found = Lists()
        for noises in product(range(-REACH, REACH + 1), repeat=self.counts):
            noisy = [value + noise for value, noise in zip([*exact, len(rows)], (*noises, 0), strict=False)]
            is_skipped = abs(noisy[0] - noisy[1]) > slack
            answers = (*noisy[:2], None if is_skipped else noisy[2], *(noisy[THREE:] if is_signed else ()))
            mass = exp(-sum(map(self._exponent, noises)))
            found[answers] = found.get(answers, 0.0) + mass
        total = sum(found.values())
        return {answers: mass / total for answers, mass in found.items()}

    def _exponent(self, noise: int) -> float:
        """That of one noise's probability, up to a constant."""
        if isinstance(self.noise, DiscreteLaplace):
            return abs(noise) * float(self.noise.epsilon) / self.counts
        return noise**2 / (2 * float(self.noise.variance(self.counts)))

    def run(self, rows: Sequence[frozenset[int]], bits: BitSource) -> Any:
        """All answers, as the way counts."""
        variance = float(self.noise.variance(self.counts))

        def draw() -> int:
            return self.noise.draw(self.counts, bits=bits)

        exact = self.kind.exact(Holdings([baskets_of(_units(rows), ITEMS)], (0, 1))).count
        counts = Counts(self.kind, exact, draw, variance, THREE)
        units = Answers(variance, len(rows) + draw(), 1) if self.counts > THREE else Answers(0.0, len(rows), 1)
        counts.answers[EVERYBODY] = units
        Search(counts, NoisyWeights([2 * HUGE, HUGE], 0.0), Goal((1, 2), 1), 1.0).run(THREE)
        asked = [*TWO_ITEMS, *([EVERYBODY] if isinstance(self.kind, Signed) else [])]
        return tuple(int(counts.answers[each].total) if each in counts.answers else None for each in asked)


@dataclass(frozen=True)
class Cells:
    """Both cells of one item, which is chosen out of two; a row is its unit's only basket."""

    way: Basis

    def law(self, rows: Sequence[frozenset[int]]) -> Lists:
        """Over all noises of the two cells."""
        supports = [sum(item in row for row in rows) for item in (0, 1)]
        weights = [exp(-abs(x) * self.rate) for x in NEAR]
        found = Lists()
        for chosen, mass in _chosen(supports, self.way.choice).items():
            held = supports[chosen[0]]
            for (one, first), (two, second) in product(zip(NEAR, weights, strict=True), repeat=2):
                answer = (chosen, len(rows) - held + one, held + two)
                found[answer] = found.get(answer, 0.0) + mass * first * second / sum(weights) ** 2
        return found

    def run(self, rows: Sequence[frozenset[int]], bits: BitSource) -> Any:
        """The item and its cells."""
        baskets = replace(baskets_of(_units(rows), ITEMS), empty_units=sum(not row for row in rows))
        chosen, noisy = self.way.cells(Holdings([baskets], (0, 1)), 2, bits=bits)
        return (tuple(chosen), *noisy)

    @property
    def rate(self) -> float:
        """That at which a noise's probability falls, which is 3/5 of ε where cells are moved by 1."""
        return 0.6 * float(EPSILON) / self.way.sensitivity


@dataclass(frozen=True)
class CountedTogether:
    """Supports of the three items, counted at once: a unit that holds two of them adds nothing, as shares are whole."""

    way: BestFirst
    together: Together
    is_capped: bool = True
    """If not, a unit adds a whole to each: a mistake."""

    def law(self, rows: Sequence[frozenset[int]]) -> Lists:
        """Over all noises, of which none is beyond four deviations."""
        whole, squares = self.together.whole, self.together.squared_sensitivity(ALL_ITEMS)
        variance = float(self.together.noise.variance(squares))
        exact = [0] * (ITEMS + 1)
        for row in rows:
            share = int(whole / sqrt(len(row) or 1)) if self.is_capped else whole
            exact = [each + share * (item in row) for item, each in enumerate(exact)]
            exact[-1] += whole - share
        reach = range(-round(REACH * sqrt(variance)), round(REACH * sqrt(variance)) + 1)
        masses = {noise: exp(-(noise**2) / (2 * variance)) for noise in reach}
        total = sum(masses.values())
        return {
            tuple(each + noise for each, noise in zip(exact, noises, strict=True)): prod(
                masses[noise] / total for noise in noises
            )
            for noises in product(reach, repeat=ITEMS + 1)
        }

    def run(self, rows: Sequence[frozenset[int]], bits: BitSource) -> Any:
        """All sums, and what is missing."""
        held = Holdings([baskets_of(_units(rows), ITEMS)], range(ITEMS))
        sums, missing = self.together.released(held, ALL_ITEMS, bits)
        return (*sums, missing)


@dataclass(frozen=True)
class Loads:
    """How many units hold two of the three items, and all."""

    times: int

    def law(self, rows: Sequence[frozenset[int]]) -> Lists:
        """Over all noises, of which none is beyond four deviations."""
        variance = float(TOGETHER.variance(self.times))
        reach = range(-round(REACH * sqrt(variance)), round(REACH * sqrt(variance)) + 1)
        masses = {noise: exp(-(noise**2) / (2 * variance)) for noise in reach}
        exact = [sum(len(row) == size for row in rows) for size in (2, 3)]
        total = sum(masses.values())
        return {
            tuple(each + noise for each, noise in zip(exact, noises, strict=True)): prod(
                masses[noise] / total for noise in noises
            )
            for noises in product(reach, repeat=len(exact))
        }

    def run(self, rows: Sequence[frozenset[int]], bits: BitSource) -> Any:
        """The histogram."""
        held = Holdings([baskets_of(_units(rows), ITEMS)], range(ITEMS))
        return tuple(noisy_loads(held, ALL_ITEMS, TOGETHER, self.times, bits=bits, ends=(1, 2)))


@dataclass(frozen=True)
class Listed:
    """A list, its claim, and neighbours."""

    target: Any
    claim: Claim
    family: Any


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
        at_once = joint(relation)
        found[f"joint, two of three, {relation}"] = Listed(JointList(at_once), of(at_once), scores)
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
        "a joint sequence at a sensitivity of 1 under replace-one": Listed(
            JointList(joint(relation), times=2), of(joint(relation)), replace(scores, sizes=(4,))
        ),
        "a joint sequence at the rate of a single choice": Listed(
            JointList(joint(Neighbors.ADD_REMOVE), times=2),
            of(joint(Neighbors.ADD_REMOVE)),
            replace(scores, neighbors=Neighbors.ADD_REMOVE),
        ),
        "the items have no noise": Listed(ItemsFirstList(first, exact_items=True), of(first), rows),
        "the threshold is for one item": Listed(Wide(narrow), of_zcdp(charge(found)), rows),
    }


@dataclass(frozen=True)
class Wide(DiscoveredList):
    """Each unit gives the weight of one item to all of its items."""

    def sums(self, units: Units) -> list[int]:
        """The weight of one item for each of its units."""
        singles = all_supports(units, 1)
        return [int(self.way.discovery.weights[0]) * singles[item,] for item in range(ITEMS)]


def best_first(relation: Neighbors) -> CountedBestFirst:
    """Three counts, and that of the units where signs need it; ρ = 3/2."""
    kind = Odd() if relation is Neighbors.REPLACE_ONE else Signed()
    way = BestFirst.of(ListTerms(1, ONE, Fraction(1, 10**6), relation, (1, 2), ITEMS))
    return CountedBestFirst(way, kind, DiscreteGaussian(Fraction(3, 2)))


def purely(way: CountedBestFirst) -> CountedBestFirst:
    """The same with Laplace noise of scale 1/2."""
    return replace(way, noise=DiscreteLaplace(Fraction(2 * way.counts)))


def of_pure(way: CountedBestFirst) -> Claim:
    """ε of the counts, and a δ for what is not enumerated: at the last noise of a count, 3 in 10^4."""
    return Claim(2 * way.counts, way.counts * 3e-4)


def together(relation: Neighbors) -> Together:
    """A unit may hold one itemset and add a whole; ρ = 3/2."""
    return Together(TOGETHER, 1 + (relation is Neighbors.REPLACE_ONE), NONE, limit=1, whole=1)


def at_five(noise: SupportNoise) -> Claim:
    """What the counts' ρ implies at ε = 5: little beside it is lost by what is not enumerated."""
    return Claim(5, delta_at(noise.zcdp.rho, Fraction(5)))


def joint(relation: Neighbors) -> Joint:
    """Two at once, ε = 1."""
    return Joint.of(ListTerms(2, ONE, NONE, relation, (1, 1), ITEMS))


def items_first(relation: Neighbors) -> ItemsFirst:
    """One pair of two items of three, ε = 1."""
    return ItemsFirst.of(ListTerms(1, ONE, NONE, relation, (2, 2), ITEMS, kbar=2))


def discover(relation: Neighbors) -> Discover:
    """One pair; ρ = 1/2 and δ = 1/5 for the items, ε = 1 for the pair."""
    shot = OneShot(1, ONE, NONE, relation, ONE)
    discovery = Coarse(Fraction(1, 2), Fraction(1, 5), relation, ITEMS)
    return Discover(1, ONE, Fraction(1, 2), relation, (2, 2), discovery, (shot,), (None,))


def charge(way: Discover) -> Zcdp:
    """Of both stages."""
    return way.discovery.zcdp + way.itemsets.zcdp


def of(way: OneShot | Peeling | ItemsFirst | Joint) -> Claim:
    """What the list guarantees."""
    guarantee = way.guarantee()
    return Claim(guarantee.epsilon, guarantee.delta)


def of_zcdp(charged: Zcdp) -> Claim:
    """As a privacy profile."""
    return Claim(profile=lambda epsilon: min(1.0, _delta(charged, epsilon)))


def _delta(charged: Zcdp, epsilon: float) -> float:
    return float(charged.delta) + (float(delta_at(charged.rho, Fraction(epsilon))) if epsilon else 1.0)


def _chosen(supports: Sequence[int], way: Any) -> Mapping[tuple[int, ...], float]:
    """The lists of positions that rounds of the exponential mechanism choose."""
    rate, count = float(way.round_epsilon) / (2 if way.neighbors is Neighbors.REPLACE_ONE else 1), way.count
    found: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(min(count, len(supports))):
        found = {
            (*chosen, place): mass * share
            for chosen, mass in found.items()
            for place, share in _softmax(supports, rate, without=chosen).items()
        }
    return found


@lru_cache(10_000)
def _winners(scores: tuple[int, ...], **options: Any) -> list[float]:
    winners: list[float] = dpmine.law(scores, **options).pmf.tolist()
    return winners


def _softmax(supports: Sequence[int], rate: float, *, without: tuple[int, ...]) -> dict[int, float]:
    weights = {place: exp(rate * support) for place, support in enumerate(supports) if place not in without}
    return {place: weight / sum(weights.values()) for place, weight in weights.items()}


def _units(rows: Sequence[frozenset[int]]) -> Units:
    return [[row] for row in rows]


def _universe(rows: Sequence[frozenset[int]], *, public: bool) -> ItemsetUniverse:
    baskets = baskets_of(_units(rows), ITEMS)
    return ItemsetUniverse(baskets.miner(), range(2, 3), catalogue_is_public=public, transactions=baskets)
