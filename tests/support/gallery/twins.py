"""Best-first counting and comparisons, part by part, and twins of each part that do what its proof forbids.

Outcomes are whole transcripts. Each claim is one (ε, δ), beside which little is lost by what is not enumerated. `law`
is the output distribution by the definition, `run` is the code itself, of sound parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp
from typing import TYPE_CHECKING, NamedTuple

from dpmine.auditing import Claim, RowSets
from dpmine.io.source import Columns
from dpmine.itemsets.best_first.counts import EVERYBODY, Answers, Capped, CountKind, Counts, Plain
from dpmine.itemsets.best_first.holdings import Holdings
from dpmine.itemsets.best_first.order import BestFirstSearch, Goal, NoisyWeights
from dpmine.itemsets.compare import exact_supports
from dpmine.itemsets.read import read_transactions
from dpmine.itemsets.release.comparison import GroupCounts
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace
from dpmine.privacy import Neighbors
from dpmine.zcdp import delta_at
from support.gallery.counted import REACH
from support.gallery.listed import Listed, Lists
from support.gallery.lists import Coarse
from support.oracles.discovery import masses
from support.oracles.itemsets import baskets_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.ways.discovery import Discovery

    Rows = Sequence[frozenset[int]]

TWO = 2  # items
ONE_OR_TWO = [frozenset(), frozenset({0}), frozenset({1}), frozenset({0, 1})]
ONE_COUNT = Fraction(1, 2)
"""ρ of a count with noise of variance 1."""
PURE, COMPARED = DiscreteLaplace(Fraction(6)), [frozenset({0}), frozenset({0, 1})]
"""Of three counts of scale 1/2; and the itemsets that are compared."""
NOISES = {noise: exp(-(noise**2) / 2) for noise in range(-REACH, REACH + 1)}
"""In proportion to their probabilities, of variance 1."""


@dataclass(frozen=True)
class WeighedItem:
    """One item that is not public: its noisy weight where that reaches the threshold, and then its noisy count.

    Attributes:
        discovery: what weighs it.
        drawn_again: whether the weight that is released has other noise than the one that was compared: a mistake.
        counts_all: whether the item is counted wherever it is in the data, found or not: a mistake.
    """

    discovery: Discovery
    drawn_again: bool = False
    counts_all: bool = False

    def law(self, rows: Rows) -> Lists:
        """Of its weight and its count, each None where it is not released."""
        support = sum(0 in row for row in rows)
        if not support:
            return {(None, None): 1.0}
        numbers, shares = masses(self.discovery.scales[0])
        totals = dict(zip((self.discovery.weight * support + numbers).tolist(), shares.tolist(), strict=True))
        reached = {total: share for total, share in totals.items() if total >= self.discovery.thresholds[0]}
        chance = sum(reached.values())
        weights: Lists = {total: chance * share for total, share in totals.items()} if self.drawn_again else reached
        counts = {support + noise: share for noise, share in NOISES.items()}
        found: Lists = {(weight, count): weights[weight] * counts[count] for weight, count in product(weights, counts)}
        hidden = counts if self.counts_all else {None: sum(NOISES.values())}
        return _normalised(found | {(None, count): (1 - chance) * share for count, share in hidden.items()})

    def run(self, rows: Rows, bits: BitSource) -> tuple[int | None, int | None]:
        """One transcript."""
        baskets = baskets_of([[row] for row in rows], 1)
        found = self.discovery.find(baskets, bits=bits)
        if not len(found.codes):
            return None, None
        noise = DiscreteGaussian(ONE_COUNT).draw(1, bits=bits)
        return int(found.totals[0]), Holdings(baskets.baskets_of([0]), [0]).support([0]) + noise


@dataclass(frozen=True)
class WeighedOrder:
    """Two public items: the noisy supports of both, and the noisy count of the one whose is larger.

    Attributes:
        by_appearance: whether, of two that are equal, the one comes first that is first in the data: a mistake.
    """

    by_appearance: bool = False

    def law(self, rows: Rows) -> Lists:
        """Of the noisy supports, the item, and its count."""
        supports = [sum(item in row for row in rows) for item in range(TWO)]
        seen = [item for row in rows for item in sorted(row)] if self.by_appearance else []
        order = list(dict.fromkeys([*seen, *range(TWO)]))
        found = Lists()
        for (*noises, last), mass in _all_noises(TWO + 1):
            noisy = [support + noise for support, noise in zip(supports, noises, strict=True)]
            best = max(order, key=noisy.__getitem__)
            found[(*noisy, best, supports[best] + last)] = mass
        return _normalised(found)

    def run(self, rows: Rows, bits: BitSource) -> tuple[int, ...]:
        """One transcript."""
        counts = _counts(rows, Plain(), bits)
        noisy = [counts.exact((item,)) + counts.noise() for item in range(TWO)]
        search = BestFirstSearch(counts, NoisyWeights(noisy, 1.0), Goal((1, 1), 1), 1.0)
        search.run(1)
        ((best,),) = search.counted
        return *noisy, best, int(counts.answers[best,].total)


@dataclass(frozen=True)
class CappedCounts:
    """Two items, then the one with the larger noisy count again; a unit counts once. Then the exhausted units.

    Attributes:
        shared: whether all units have one counter together: a mistake.
    """

    shared: bool = False

    def law(self, rows: Rows) -> Lists:
        """Of all four numbers."""
        exact = [self._exact(rows, (0, 1, again)) for again in range(TWO)]
        found = Lists()
        for noises, mass in _all_noises(TWO + 2):
            first, second = (exact[0][place] + noises[place] for place in range(TWO))
            counted = exact[second > first]
            found[tuple(count + noise for count, noise in zip(counted, noises, strict=True))] = mass
        return _normalised(found)

    def _exact(self, rows: Rows, asked: Iterable[int]) -> list[int]:
        spent, counts = set[int](), []
        for item in asked:
            counting = {unit for unit, row in enumerate(rows) if item in row and unit not in spent}
            counts.append(len(counting))
            spent |= set(range(len(rows))) if self.shared and counting else counting
        return [*counts, len(spent)]

    def run(self, rows: Rows, bits: BitSource) -> tuple[int, ...]:
        """One transcript."""
        kind = Capped(1)
        exact = kind.exact(Holdings([baskets_of([[row] for row in rows], TWO)], range(TWO)))
        counts = _counts(rows, kind, bits)
        answers = [exact.count((item,)) + counts.noise() for item in range(TWO)]
        again = int(answers[1] > answers[0])
        answers.append(exact.count((again,)) + counts.noise())
        return *answers, (exact.hidden() if exact.hidden else 0) + counts.noise()


class Twins(NamedTuple):
    """A part as it is, and as it must not be: under one claim, of the same neighbours."""

    sound: Listed
    broken: Listed

    @classmethod
    def of(cls, sound: object, broken: object, claim: Claim, rows: RowSets) -> Twins:
        """With what both have in common."""
        return cls(Listed(sound, claim, rows), Listed(broken, claim, rows))


@dataclass(frozen=True)
class ComparedCounts:
    """What one group of a comparison counts: its units, and those that have each of two itemsets.

    Attributes:
        noises: for how many counts there is noise; for the itemsets alone is a mistake.
    """

    noises: int = 3

    def law(self, rows: Rows) -> Lists:
        """Of the three counts, none of which is below 0."""
        exact = [len(rows), *(sum(itemset <= row for row in rows) for itemset in COMPARED)]
        found: Lists = {}
        for noises in product(range(-REACH, REACH + 1), repeat=len(exact)):
            outcome = tuple(max(0, count + noise) for count, noise in zip(exact, noises, strict=True))
            mass = exp(-sum(map(abs, noises)) * float(PURE.epsilon) / self.noises)
            found[outcome] = found.get(outcome, 0.0) + mass
        return _normalised(found)

    def run(self, rows: Rows, bits: BitSource) -> tuple[int, ...]:
        """One transcript."""
        transactions = read_transactions([sorted(row) for row in rows], Columns()).transactions
        exact = [transactions.total_units, *exact_supports(transactions, COMPARED)]
        drawn = GroupCounts.drawn("north", exact, PURE, bits=bits)
        return (drawn.units, *drawn.supports)


def twins() -> Mapping[str, Twins]:
    """By what is wrong with the broken one."""
    discovery = Coarse(Fraction(2), Fraction(1, 10**4), Neighbors.ADD_REMOVE, 1)
    item = WeighedItem(discovery)
    alone = RowSets(ONE_OR_TWO[:2], Neighbors.ADD_REMOVE, sizes=(0, 3))
    found = Claim(8, discovery.delta + delta_at(discovery.budget + ONE_COUNT, Fraction(8)))
    three = Claim(5, delta_at(3 * ONE_COUNT, Fraction(5)))
    pairs = {
        "an item that was not found is counted": Twins.of(item, replace(item, counts_all=True), found, alone),
        "the weight is drawn apart from the decision": Twins.of(item, replace(item, drawn_again=True), found, alone),
    }
    for relation in Neighbors:
        rows = RowSets(ONE_OR_TWO, relation, sizes=(2, 4))
        capped = Claim(5, delta_at((3 if relation is Neighbors.REPLACE_ONE else 2) * ONE_COUNT, Fraction(5)))
        order, counts = WeighedOrder(), CappedCounts()
        pairs[f"the first in the data comes first, {relation}"] = Twins.of(order, WeighedOrder(True), three, rows)
        pairs[f"units share one cap, {relation}"] = Twins.of(counts, CappedCounts(True), capped, rows)
    pairs["there is no noise for the number of units"] = Twins.of(
        ComparedCounts(),
        ComparedCounts(2),
        Claim(PURE.epsilon, Fraction(1, 10**3)),
        RowSets(ONE_OR_TWO, Neighbors.ADD_REMOVE, sizes=(2, 4)),
    )
    return pairs


def _counts(rows: Rows, kind: CountKind, bits: BitSource) -> Counts:
    """With noise of variance 1."""
    exact = kind.exact(Holdings([baskets_of([[row] for row in rows], TWO)], range(TWO)))
    counts = Counts(kind, exact.count, lambda: DiscreteGaussian(ONE_COUNT).draw(1, bits=bits), 1.0, TWO)
    counts.answers[EVERYBODY] = Answers(0.0, len(rows), 1)
    return counts


@cache
def _all_noises(number: int) -> list[tuple[tuple[int, ...], float]]:
    """Of variance 1 each, and what their probability is in proportion to."""
    return [(noises, exp(-sum(noise**2 for noise in noises) / 2)) for noises in product(NOISES, repeat=number)]


def _normalised(masses: Lists) -> Lists:
    total = sum(masses.values())
    return {outcome: mass / total for outcome, mass in masses.items()}
