"""Which itemset is counted next: the likeliest to be frequent, judged by what was released so far alone.

What the items' weights say is learnt from the counts, and counts that are left at the end go where they decide most.
Everything here is post-processing: item numbers, noisy weights and estimates come in, itemsets come out.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from itertools import combinations
from math import ceil, exp, inf, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from dpmine.itemsets.best_first.counts import EVERYBODY, Measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dpmine.itemsets.best_first.counts import Counts
    from dpmine.itemsets.transactions.lists import CodedItemset


GUESS_SHARE, _AS_MANY, _QUANTILE_OF_SHARES = 0.4, 5, 0.3
"""Of the guess in the rank, the rest being that of the bound.

At first it has the weight of five itemsets. Each counted itemset of several items adds the share that its support
shows, and the rank takes a quantile of all.
"""
_SEEN_BEFORE_RANKING, _GROWTH = 10, 1.25
"""Counted itemsets of several items after which the queue is ranked by what they say, and how many more each time."""
_APART = 1.2
"""Times the guess: bounds above that are apart from it."""
SLACK = 0.5
"""Deviations by which a bound may miss the goal before its itemset is skipped."""
_FEW = 10
"""Times the skipped items that are counted nevertheless: the counts that are left."""
QUANTILE = 0.75
"""Of support over weight among the counted items: what the other items are taken to have, in their bounds."""
_ROUNDS = 4
"""In which what is left of the counts is asked again."""
_NEAR, _FAR = 1.5, 1e-4
"""Deviations in which a support is near the border, and the weight below which its side is clear."""
_ENOUGH = 10
"""Counted items, from which on their supports are compared with their weights."""


@dataclass(frozen=True, slots=True)
class NoisyWeights:
    """What was released of the items before any of them is counted.

    Attributes:
        values: for each item the sum of what units gave it, with noise; at most its support, but for the noise.
        deviation: the standard deviation of the noise.
    """

    values: Sequence[float]
    deviation: float


@dataclass(frozen=True, slots=True)
class Goal:
    """What the search is for: the best itemsets, or all of some support.

    Attributes:
        sizes: the smallest and the largest size.
        k: the number of itemsets that are wanted; None for all that reach `support`.
        support: that all of them have; 0 for the best `k`.
    """

    sizes: tuple[int, int]
    k: int | None
    support: float = 0.0

    def least(self, supports: Sequence[float]) -> float:
        """What an itemset must have to be of use, beside these estimates in increasing order."""
        if self.k is None:
            return self.support
        return max(self.support, supports[-self.k]) if len(supports) >= self.k else self.support or -inf

    def border(self, supports: Sequence[float]) -> float | None:
        """What divides the wanted among these estimates, in increasing order, from the others; None where all are."""
        if self.k is None or len(supports) <= self.k:
            return self.support or None
        return max(self.support, (supports[-self.k] + supports[-self.k - 1]) / 2)


class BestFirstSearch:
    """Itemsets by decreasing rank, each only after all its parts with one item less.

    An itemset whose bound is clearly below what the goal asks for is skipped.
    """

    def __init__(self, counts: Counts, weights: NoisyWeights, goal: Goal, scale: float) -> None:
        """Requires: the number of units was counted. `scale`: support over weight, until items are counted."""
        self._counts, self._weights, self._goal = counts, weights, goal
        self._units = max(1.0, counts.support(EVERYBODY))
        self._supports: dict[CodedItemset, float] = {}
        self._sorted: list[float] = []
        self._items: list[int] = []  # counted, in this order
        self._scale = self._first_scale = scale
        self._queue: list[tuple[float, CodedItemset]] = []
        self._known: dict[CodedItemset, tuple[float, float]] = {}  # bound and guess; of single items they are equal
        self._skipped: list[CodedItemset] = []  # single items
        self._guess_shares = [GUESS_SHARE] * _AS_MANY
        self._guess_share = GUESS_SHARE
        self._next_ranking = _AS_MANY + _SEEN_BEFORE_RANKING
        self._by_weight = deque(sorted(range(len(weights.values)), key=lambda item: (-weights.values[item], item)))
        self._push_items(1)

    @property
    def counted(self) -> list[CodedItemset]:
        """Those whose support was counted, in this order."""
        return list(self._supports)

    @property
    def frontier(self) -> list[CodedItemset]:
        """Itemsets of counted items that were not counted, though all their parts were."""
        return [each for each in self._known if len(each) > 1 and each not in self._supports]

    def run(self, most: int) -> None:
        """Count up to `most` itemsets."""
        while len(self._supports) < most and self._counts.left and (self._queue or self._takes_up(most)):
            itemset = heappop(self._queue)[1]
            if len(itemset) == 1:
                self._push_items(1)
            if not self._is_hopeless(itemset):
                self._count(itemset)
            elif len(itemset) == 1:
                self._skipped.append(itemset)

    def _takes_up(self, most: int) -> bool:
        """Whether there is more to count after the heaviest skipped items, as many as are few beside what is left.

        What their weights say of their supports is an estimate, no bound.
        """
        items, self._skipped = self._skipped[: (most - len(self._supports)) // _FEW], []
        for item in items:
            self._count(item)
        return bool(self._queue)

    def _count(self, itemset: CodedItemset) -> None:
        self._counts.ask(itemset)
        support = self._counts.support(itemset)
        self._supports[itemset] = support
        if len(itemset) >= self._goal.sizes[0]:
            insort(self._sorted, support)
        if len(itemset) == 1:
            self._items.append(itemset[0])
            self._scale = max(1.0, quantile(self._ratios(), QUANTILE))
        else:
            self._learn(itemset, support)
        for larger in self._extensions(itemset):
            self._push(larger)

    def _ratios(self) -> Iterator[float]:
        """Support over weight, as first measured and of the counted items: weights count units with many items less."""
        for item in self._items:
            if self._weights.values[item] > 0:
                yield self._supports[item,] / self._weights.values[item]
        yield self._first_scale

    def _learn(self, itemset: CodedItemset, support: float) -> None:
        """Where between bound and guess the support is: about 1 where items are independent, 0 where they imply others.

        Bound and guess that are as good as equal say nothing.
        """
        bound, guess = self._known[itemset]
        if bound > _APART * guess:
            self._guess_shares.append(log(bound / max(1.0, support)) / log(bound / guess))
        if len(self._guess_shares) >= self._next_ranking:
            self._next_ranking = ceil(_GROWTH * self._next_ranking)
            self._guess_share = min(1.0, max(0.0, quantile(self._guess_shares, _QUANTILE_OF_SHARES)))
            self._queue = [(-self._rank(each), each) for _, each in self._queue]
            heapify(self._queue)

    def _push_items(self, number: int) -> None:
        for _ in range(min(number, len(self._by_weight))):
            self._push((self._by_weight.popleft(),))

    def _push(self, itemset: CodedItemset) -> None:
        bound = max(1.0, self._bound(itemset))
        self._known[itemset] = bound, max(1.0, min(bound, self._guess(itemset))) if len(itemset) > 1 else bound
        heappush(self._queue, (-self._rank(itemset), itemset))

    def _extensions(self, itemset: CodedItemset) -> Iterator[CodedItemset]:
        """The itemsets of one item more that were not known so far and whose parts were all counted."""
        if len(itemset) == self._goal.sizes[1]:
            return
        for item in self._items:
            if item in itemset:
                continue
            larger = tuple(sorted((*itemset, item)))
            if larger not in self._known and all(part in self._supports for part in smaller(larger)):
                yield larger

    def _is_hopeless(self, itemset: CodedItemset) -> bool:
        deviation = self._scale * self._weights.deviation if len(itemset) == 1 else self._counts.deviation(itemset[1:])
        return self._bound(itemset) < self._goal.least(self._sorted) - SLACK * deviation

    def _bound(self, itemset: CodedItemset) -> float:
        """What the support is at most, by the estimates of its parts."""
        if len(itemset) == 1:
            return self._scale * self._weights.values[itemset[0]]
        return min(self._supports[part] for part in smaller(itemset))

    def _rank(self, itemset: CodedItemset) -> float:
        """The bound, drawn towards the support under conditional independence."""
        bound, guess = self._known[itemset]
        rank: float = bound ** (1 - self._guess_share) * guess**self._guess_share
        return rank

    def _guess(self, itemset: CodedItemset) -> float:
        """The largest f(s∖i) f(s∖j)/f(s∖{i, j})."""

        def known(part: CodedItemset) -> float:
            return max(1.0, self._supports[part]) if part else self._units

        return max(
            known(without(itemset, i)) * known(without(itemset, j)) / known(without(without(itemset, j), i))
            for i, j in combinations(range(len(itemset)), 2)
        )


def quantile(values: Iterable[float], share: float) -> float:
    """The least that at least this share of them do not exceed: of few values the larger one, as each is noisy."""
    ordered = sorted(values)
    return ordered[ceil(share * (len(ordered) - 1))]


def without(itemset: CodedItemset, place: int) -> CodedItemset:
    """All items but the one at this place."""
    return itemset[:place] + itemset[place + 1 :]


def smaller(itemset: CodedItemset) -> Iterator[CodedItemset]:
    """The parts of one item less."""
    return (without(itemset, place) for place in range(len(itemset)))


def count_again(counts: Counts, itemsets: Sequence[CodedItemset], goal: Goal) -> None:
    """Ask for counts that decide which of the itemsets are wanted, until none is left."""
    for rounds_left in range(_ROUNDS, 0, -1):
        gains = _gains(counts, itemsets, goal)
        if not gains:
            return
        queue = [(_less_variance(gain, counts.answers[part].times), part) for part, gain in gains.items()]
        heapify(queue)
        for _ in range(counts.left // rounds_left):
            part = queue[0][1]
            counts.ask(part)
            heapreplace(queue, (_less_variance(gains[part], counts.answers[part].times), part))


def _less_variance(gain: float, times: int) -> float:
    """The change, below 0, of a mean's variance by one more answer, times what it is worth."""
    return -gain / (times * (times + 1))


def _gains(counts: Counts, itemsets: Sequence[CodedItemset], goal: Goal) -> dict[CodedItemset, float]:
    """What less variance is worth of each count that the estimates of uncertain itemsets are made of."""
    wanted = [itemset for itemset in itemsets if len(itemset) >= goal.sizes[0]]
    border = goal.border(sorted(map(counts.support, wanted)))
    gains: dict[CodedItemset, float] = {}
    if border is None:
        return gains
    for itemset in wanted:
        doubt = exp(-(((counts.support(itemset) - border) / (_NEAR * counts.deviation(itemset))) ** 2) / 2)
        for part, weight in counts.kind.terms(itemset) if doubt > _FAR else []:
            if part:
                gains[part] = gains.get(part, 0.0) + doubt * weight**2
    return gains


def learn_from_weights(counts: Counts, itemsets: Sequence[CodedItemset], weights: NoisyWeights) -> None:
    """An item's support is about a multiple of its weight: how nearly so is seen of all counted items.

    Its variance is that of counts around their multiples, beyond what noise explains, and one standard error more.
    Added is what noise makes of the multiple itself.
    """
    singles = [itemset for itemset in itemsets if len(itemset) == 1 and weights.values[itemset[0]] > 0]
    counted = np.array([counts.support(itemset) for itemset in singles])
    if len(singles) < _ENOUGH or counted.sum() <= 0:
        return
    values = np.array([weights.values[item] for (item,) in singles])
    scale = float(counted.sum() / values.sum())
    guesses, of_weights = scale * values, (scale * weights.deviation) ** 2
    noise = np.array([counts.deviation(itemset) ** 2 for itemset in singles]) + of_weights
    surplus = np.mean((counted - guesses) ** 2 - noise) + sqrt(2 * np.mean(noise**2) / len(singles))
    spread = max(0.0, float(surplus / np.mean(guesses**2))) + float(noise.sum() / counted.sum() ** 2)
    for itemset, guess in zip(singles, guesses.tolist(), strict=True):
        counts.answers[itemset].beside = _as_count(counts, itemset, guess, 1 + of_weights + spread * guess**2)


def _as_count(counts: Counts, itemset: CodedItemset, support: float, variance: float) -> Measure:
    """The count that an item of this support has."""
    weights, units = dict(counts.kind.terms(itemset)), counts.answers[EVERYBODY]
    own, others = weights[itemset], weights.get(EVERYBODY, 0.0)
    return Measure((support - others * units.mean) / own, (variance + others**2 * units.mean_variance) / own**2)
