"""What is left of the counts is asked again where it matters most: near the border of the list. Post-processing."""

from __future__ import annotations

from heapq import heapify, heapreplace
from math import exp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.itemsets.best_first.counts import Counts, Itemset
    from dpmine.itemsets.best_first.order import Goal

_ROUNDS = 4
_NEAR = 1.5  # deviations
_FAR = 1e-4  # weight of an itemset below which it is clear on which side of the border it is


def count_again(counts: Counts, itemsets: Sequence[Itemset], goal: Goal) -> None:
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


def _gains(counts: Counts, itemsets: Sequence[Itemset], goal: Goal) -> dict[Itemset, float]:
    """What less variance is worth of each count that the estimates of uncertain itemsets are made of."""
    wanted = [itemset for itemset in itemsets if len(itemset) >= goal.sizes[0]]
    border = goal.border(sorted(map(counts.support, wanted)))
    gains: dict[Itemset, float] = {}
    if border is None:
        return gains
    for itemset in wanted:
        doubt = exp(-(((counts.support(itemset) - border) / (_NEAR * counts.deviation(itemset))) ** 2) / 2)
        for part, weight in counts.kind.terms(itemset) if doubt > _FAR else []:
            if part:
                gains[part] = gains.get(part, 0.0) + doubt * weight**2
    return gains
