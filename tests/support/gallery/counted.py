"""Itemsets that are counted with noise, and their exact output distributions: best first, in cells, and together.

The distributions are those of the oracles. `run` is the code itself, whose draws are compared with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import exp, prod, sqrt
from typing import TYPE_CHECKING, Any

from dpmine.auditing import Claim
from dpmine.itemsets.best_first.counts import EVERYBODY, Answers, CountKind, Counts, Odd, Signed
from dpmine.itemsets.best_first.holdings import Holdings
from dpmine.itemsets.best_first.order import SLACK, BestFirstSearch, Goal, NoisyWeights
from dpmine.itemsets.best_first.together import Likely, Together, noisy_loads
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace
from dpmine.itemsets.ways.best_first import BestFirst
from dpmine.itemsets.ways.way import ListTerms
from dpmine.privacy import Neighbors
from dpmine.zcdp import delta_at
from support.gallery.listed import ITEMS, NONE, ONE, Lists, chosen_lists, one_basket_each
from support.oracles.itemsets import baskets_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.itemsets.ways.basis import Basis

TWO_ITEMS = [(0,), (1,), (0, 1)]
"""In the order in which best-first counting asks for them."""
THREE = len(TWO_ITEMS)
HUGE = 10**6
"""A weight that no support reaches."""
EPSILON, NEAR, REST = Fraction(8), range(-9, 10), Fraction(1, 10**3)
"""Of cells: their budget with the choice, noises that are enumerated, and a δ for those that are not."""
TOGETHER = DiscreteGaussian(Fraction(3, 2))
"""Of itemsets that are counted at once."""
ALL_ITEMS = Likely([(item,) for item in range(ITEMS)], [1] * ITEMS, [1.0] * ITEMS, 1.0, [0.0] * ITEMS, heaviest=1)
REACH = 4
"""Beyond which noise is not enumerated: of variance 1, 7 in 10^6 of its probability; of scale 1/2, 8 in 10^5."""


@dataclass(frozen=True)
class CountedBestFirst:
    """Three adaptive counts of itemsets of two items, with noise; a row is its unit's only basket.

    Signs need the number of units, too: a fourth count.
    """

    way: BestFirst
    kind: CountKind
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

        exact = self.kind.exact(Holdings([baskets_of(one_basket_each(rows), ITEMS)], (0, 1))).count
        counts = Counts(self.kind, exact, draw, variance, THREE)
        units = Answers(variance, len(rows) + draw(), 1) if self.counts > THREE else Answers(0.0, len(rows), 1)
        counts.answers[EVERYBODY] = units
        BestFirstSearch(counts, NoisyWeights([2 * HUGE, HUGE], 0.0), Goal((1, 2), 1), 1.0).run(THREE)
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
        for chosen, mass in chosen_lists(supports, self.way.choice).items():
            held = supports[chosen[0]]
            for (one, first), (two, second) in product(zip(NEAR, weights, strict=True), repeat=2):
                answer = (chosen, len(rows) - held + one, held + two)
                found[answer] = found.get(answer, 0.0) + mass * first * second / sum(weights) ** 2
        return found

    def run(self, rows: Sequence[frozenset[int]], bits: BitSource) -> Any:
        """The item and its cells."""
        baskets = replace(baskets_of(one_basket_each(rows), ITEMS), empty_units=sum(not row for row in rows))
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
        held = Holdings([baskets_of(one_basket_each(rows), ITEMS)], range(ITEMS))
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
        held = Holdings([baskets_of(one_basket_each(rows), ITEMS)], range(ITEMS))
        return tuple(noisy_loads(held, ALL_ITEMS, TOGETHER, self.times, bits=bits, ends=(1, 2)))


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
