"""PrivBasis in floating point, for comparison alone: the best k itemsets out of noisy cells of bases of items.

Written from Li, Qardaji, Su & Cao 2012, with their constants. Pure ε under add-remove; the items are public.
"""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from dpmine.itemsets.best_first.holdings import Holdings
from dpmine.itemsets.ways.basis import supports_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from dpmine.itemsets.transactions.interface import Transactions

    Items = tuple[int, ...]

MORE_ITEMSETS, LARGEST_BASIS = 1.1, 12
_ITEMS, _CHOICE, _CELLS = 0.1, 0.4, 0.5  # of ε
_LONE = 3  # items of a basis of those in no chosen pair


def privbasis(transactions: Transactions, k: int, epsilon: float, support: int, rng: Generator) -> list[Items]:
    """The k best itemsets. `support`: of the itemset in place 1.1 k, for the choice of the number of items."""
    counts = transactions.miner().item_supports
    gaps = -np.abs(np.sort(counts)[::-1] - support)
    items = int(np.argmax(gaps * epsilon * _ITEMS / 2 + rng.gumbel(size=len(gaps)))) + 1
    wanted = max(0.0, MORE_ITEMSETS * k - items) if items > LARGEST_BASIS else 0.0
    pairs_wanted = round(wanted / sqrt(max(1.0, wanted / items)))
    share = _CHOICE * items / (items + pairs_wanted)
    chosen = sorted(_best(counts, items, share * epsilon, rng))
    holdings = Holdings(transactions.baskets_of(chosen), chosen)
    pairs = list(combinations(range(items), 2))
    supports = np.array([holdings.support(pair) for pair in pairs]) if pairs_wanted else np.zeros(0)
    best = [pairs[place] for place in _best(supports, pairs_wanted, (_CHOICE - share) * epsilon, rng)]
    bases = bases_of(items, best) if items > LARGEST_BASIS else [tuple(range(items))]
    estimates = _estimates(holdings, bases, len(bases) / (_CELLS * epsilon), rng)
    ranked = sorted(estimates, key=lambda itemset: -estimates[itemset])[:k]
    return [tuple(chosen[item] for item in itemset) for itemset in ranked]


def _best(scores: Sequence[int] | np.ndarray, count: int, epsilon: float, rng: Generator) -> list[int]:
    """Rounds of the exponential mechanism, for scores that fall or rise together."""
    noisy = np.asarray(scores) * epsilon / max(1, count) + rng.gumbel(size=len(scores))
    places: list[int] = np.argsort(-noisy)[:count].tolist()
    return places


def _estimates(holdings: Holdings, bases: Sequence[Items], scale: float, rng: Generator) -> dict[Items, float]:
    """Supports of all itemsets of a basis; of several bases, weighted by their numbers of cells."""
    sums: dict[Items, tuple[float, float]] = {}
    for basis in bases:
        supports = supports_of(holdings.cells(basis) + rng.laplace(scale=scale, size=1 << len(basis)))
        for place in range(1, len(supports)):
            itemset = tuple(item for bit, item in enumerate(basis) if place >> bit & 1)
            weight = 2.0 ** (len(itemset) - len(basis))
            total, weights = sums.get(itemset, (0.0, 0.0))
            sums[itemset] = total + weight * supports[place], weights + weight
    return {itemset: total / weights for itemset, (total, weights) in sums.items()}


def bases_of(items: int, pairs: Sequence[Items]) -> list[Items]:
    """Maximal cliques of the pairs, merged while that lowers the mean variance; lone items by threes."""
    near: dict[int, set[int]] = {item: set() for pair in pairs for item in pair}
    for left, right in pairs:
        near[left].add(right)
        near[right].add(left)
    cliques = [
        clique[at : at + LARGEST_BASIS] for clique in _cliques(near) for at in range(0, len(clique), LARGEST_BASIS)
    ]
    lone = [item for item in range(items) if item not in near]
    rest = [tuple(lone[at : at + _LONE]) for at in range(0, len(lone), _LONE)]
    queries = [frozenset([item]) for item in range(items)] + [frozenset(pair) for pair in pairs]
    return _spread(_merged(cliques, rest, queries), rest, queries)


def _merged(cliques: list[Items], rest: list[Items], queries: Sequence[frozenset[int]]) -> list[Items]:
    least = _variance([*cliques, *rest], queries)
    while True:
        options = []
        for pair in combinations(cliques, 2):
            union = tuple(sorted({*pair[0], *pair[1]}))
            if len(union) <= LARGEST_BASIS:
                merged = [*(each for each in cliques if each not in pair), union]
                options.append((_variance([*merged, *rest], queries), merged))
        variance, merged = min(options, default=(least, cliques))
        if variance >= least:
            return cliques
        least, cliques = variance, merged


def _spread(cliques: list[Items], rest: list[Items], queries: Sequence[frozenset[int]]) -> list[Items]:
    """Lone items go into the shortest bases while that is no worse."""
    while rest and cliques:
        trial = [*cliques]
        for item in rest[-1]:
            shortest = min(range(len(trial)), key=lambda place: len(trial[place]))
            trial[shortest] = (*trial[shortest], item)
        too_long = max(map(len, trial)) > LARGEST_BASIS
        if too_long or _variance([*trial, *rest[:-1]], queries) > _variance([*cliques, *rest], queries):
            break
        cliques, rest = trial, rest[:-1]
    return [*cliques, *rest]


def _variance(bases: Sequence[Items], queries: Sequence[frozenset[int]]) -> float:
    """Of the supports that are asked for, in that of a cell of one basis alone."""
    sets = [(frozenset(basis), len(basis)) for basis in bases]
    known = [sum(2.0 ** (len(query) - size) for basis, size in sets if query <= basis) for query in queries]
    return len(bases) ** 2 * sum(1 / weight for weight in known)


def _cliques(near: dict[int, set[int]]) -> list[Items]:
    """All maximal ones, by Bron & Kerbosch 1973."""
    found: list[Items] = []

    def extend(clique: Items, open_items: set[int], closed: set[int]) -> None:
        if not open_items and not closed:
            found.append(tuple(sorted(clique)))
        pivot = max(open_items | closed, key=lambda item: len(near[item] & open_items), default=None)
        for item in list(open_items - (near[pivot] if pivot is not None else set())):
            extend((*clique, item), open_items & near[item], closed & near[item])
            open_items.remove(item)
            closed.add(item)

    extend((), set(near), set())
    return [clique for clique in found if clique]
