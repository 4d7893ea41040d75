"""What the stages of best-first counting hand on: items with their weights, then itemsets with supports.

All of it was released, or is public.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dpmine.io.python_values import items_at
from dpmine.itemsets.release.supports import Consistency, SupportRelease

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpmine.itemsets.best_first.bounds import Bounds
    from dpmine.itemsets.release.noise import SupportNoise
    from dpmine.itemsets.release.supports import Interval
    from dpmine.itemsets.transactions.interface import Transactions


class WeighedItems(NamedTuple):
    """Items that are public by now.

    Attributes:
        codes: int64[m].
        weights: float64[m], what units gave to each, with noise.
        deviation: of that noise.
        noise: by what is left of the budget for the itemsets' counts.
        looks: how many the discovery took.
    """

    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    deviation: float
    noise: SupportNoise
    looks: int


class CountedItemsets(NamedTuple):
    """What was counted, in numbers of items: places in `codes`.

    Attributes:
        codes: of the items.
        bounds: supports and their intervals.
        units: how many there are: with noise, and its interval.
        complete_above: the largest support that an itemset of counted items may have that was not counted; None where
            no item was counted.
        noise: of the counts.
    """

    codes: tuple[int, ...]
    bounds: Bounds
    units: tuple[int, Interval]
    complete_above: int | None
    noise: SupportNoise


class Precision(NamedTuple):
    """How exactly supports are counted where no cap applies and the items take all looks.

    Attributes:
        counts: how many are taken, about.
        half_widths: of the intervals of itemsets of 1, 2, … items, which hold together, in units.
    """

    counts: int
    half_widths: tuple[int, ...]


def released(counted: CountedItemsets, transactions: Transactions) -> SupportRelease:
    """The supports and intervals of all that was counted, of items in place of their numbers."""
    names = items_at(transactions.labels, counted.codes)
    bounds, itemsets = counted.bounds, tuple(counted.bounds.values)
    return SupportRelease(
        tuple(frozenset(names[number] for number in itemset) for itemset in itemsets),
        tuple(bounds.values[itemset] for itemset in itemsets),
        tuple((bounds.lows[itemset], bounds.highs[itemset]) for itemset in itemsets),
        counted.noise,
        Consistency.MONOTONE,
    )
