"""What the items' weights say of their supports, beside the counts. Post-processing."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from dpmine.itemsets.best_first.counts import EVERYBODY, Measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.itemsets.best_first.counts import Counts, Itemset
    from dpmine.itemsets.best_first.order import NoisyWeights

_ENOUGH = 10
"""Counted items, from which on their supports are compared with their weights."""


def learn_from_weights(counts: Counts, itemsets: Sequence[Itemset], weights: NoisyWeights) -> None:
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


def _as_count(counts: Counts, itemset: Itemset, support: float, variance: float) -> Measure:
    """The count that an item of this support has."""
    weights, units = dict(counts.kind.terms(itemset)), counts.answers[EVERYBODY]
    own, others = weights[itemset], weights.get(EVERYBODY, 0.0)
    return Measure((support - others * units.mean) / own, (variance + others**2 * units.mean_variance) / own**2)
