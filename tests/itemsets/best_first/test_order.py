"""The order of counting: what it learns from the itemsets that it has counted. It sees released numbers alone."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from dpmine.itemsets.best_first.order import BestFirstSearch, Goal, NoisyWeights

if TYPE_CHECKING:
    from collections.abc import Callable

UNITS = 30_000.0
ITEMS = [round(6000 * 0.97**number) for number in range(100)]


class Exact:
    """Counts without noise, of supports by a rule."""

    def __init__(self, rule: Callable[[tuple[int, ...]], float], left: int) -> None:
        self.rule, self.left, self.asked = rule, left, list[tuple[int, ...]]()

    def ask(self, itemset: tuple[int, ...]) -> None:
        self.asked.append(itemset)
        self.left -= 1

    def support(self, itemset: tuple[int, ...]) -> float:
        return self.rule(itemset) if itemset else UNITS

    def deviation(self, itemset: tuple[int, ...]) -> float:
        return 0.0 * len(itemset)


def independent(itemset: tuple[int, ...]) -> float:
    return UNITS * prod(ITEMS[item] / UNITS for item in itemset)


def nested(itemset: tuple[int, ...]) -> float:
    """Who has a rarer item has all others, too."""
    return min(ITEMS[item] for item in itemset)


def counted(rule: Callable[[tuple[int, ...]], float], most: int) -> list[tuple[int, ...]]:
    counts = Exact(rule, most)
    BestFirstSearch(counts, NoisyWeights([float(support) for support in ITEMS], 1.0), Goal((1, 12), 40), 1.0).run(most)  # type: ignore[arg-type]
    return counts.asked


def test_where_items_are_independent_they_come_before_pairs_of_them() -> None:
    asked = counted(independent, 120)
    best = {(item,) for item in range(40)}  # the best pair has 1,164, the 40th item 1,829
    assert best <= set(asked)
    assert best > set(counted(nested, 120)) & best


def test_where_items_imply_each_other_itemsets_come_by_their_bound() -> None:
    asked = counted(nested, 120)
    assert sum(len(itemset) == 1 for itemset in asked) < 40  # it has learned by then
    assert max(map(len, asked)) >= 5
    assert max(map(len, counted(independent, 120))) == 2


def test_items_of_small_weight_are_counted_where_little_else_is_left() -> None:
    """Their weights say less of them than they have: a unit with many items gives each of them less."""
    supports = [10_000.0, 9000.0, 8000.0]
    counts = Exact(lambda itemset: min(supports[item] for item in itemset), 100)
    weights = NoisyWeights([10_000.0, 9000.0, 100.0], 1.0)
    BestFirstSearch(counts, weights, Goal((1, 3), None, 5000.0), 1.0).run(100)  # type: ignore[arg-type]
    assert len(counts.asked) == 7


def test_of_many_skipped_items_few_are_counted() -> None:
    counts = Exact(lambda itemset: 10_000.0 if itemset == (0,) else 100.0, 100)
    BestFirstSearch(counts, NoisyWeights([10_000.0] + [100.0] * 50, 1.0), Goal((1, 3), None, 5000.0), 1.0).run(100)  # type: ignore[arg-type]
    assert len({itemset for itemset in counts.asked if len(itemset) == 1}) == 1 + 99 // 10
