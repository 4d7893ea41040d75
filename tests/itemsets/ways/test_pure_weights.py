"""Weights of public items without a δ: what a unit adds in all, what the looks use of ε, and what they release."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.itemsets.ways.pure_weights import PureWeights
from dpmine.privacy import Neighbors, Zcdp

LOOKS = (2, 3, 4)


def weighing(epsilon: Fraction, relation: Neighbors = Neighbors.ADD_REMOVE) -> PureWeights:
    return PureWeights(epsilon, Fraction(0), relation, 50, LOOKS)


@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**12), Fraction(1, 3), Fraction(50)])
def test_all_looks_use_at_most_epsilon(relation: Neighbors, epsilon: Fraction) -> None:
    """A unit adds S at most, whatever it has; in the place of another one, it moves the sums by twice that."""
    items = weighing(epsilon, relation)
    largest = max(count * int(weight) for count, weight in enumerate(items.weights, 1))
    assert 0 < largest <= items.weight
    moved = items.weight * (2 if relation is Neighbors.REPLACE_ONE else 1)
    assert sum(Fraction(moved, scale) for scale in items.scales) <= epsilon
    assert items.zcdp == Zcdp(epsilon**2 / 2)
    assert max(items.scales) < 1 << 62


def test_every_item_is_released_after_every_look_even_if_it_has_no_weight() -> None:
    sums = np.array([0, 5 << 40, 0, 7 << 40])
    items = weighing(Fraction(1000))
    for look, found in enumerate(items.each_look(sums, bits=SystemBits()), 1):
        assert (found.codes.tolist(), found.looks) == ([0, 1, 2, 3], look)
        off = np.abs(found.totals / (sum(LOOKS[:look]) * items.weight) - sums / items.weight)
        assert off.max() < 20 * items.reach(look)[1]  # missed once in 10^11


def test_the_noise_has_the_deviation_that_is_said() -> None:
    items = weighing(Fraction(9))
    found = next(items.each_look(np.zeros(20_000, np.int64), bits=SystemBits()))
    deviation = float(np.std(found.totals / (LOOKS[0] * items.weight)))
    assert deviation == pytest.approx(items.reach(1)[1], rel=0.1)  # thirteen deviations of the estimate
    assert deviation == pytest.approx(2**0.5 / 2, rel=0.1)  # ε of the first look is 2


def test_epsilon_may_be_too_small() -> None:
    with pytest.raises(BadParameter, match="epsilon is too small"):
        weighing(Fraction(1, 10**30))
