"""Cells of a few chosen items: what both stages use, and intervals that hold."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.oracles.itemsets import baskets_of

from dpmine.exact.bits import SystemBits
from dpmine.itemsets.best_first.holdings import Holdings
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace
from dpmine.itemsets.ways.basis import Basis
from dpmine.privacy import Neighbors


@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize("noise", [DiscreteLaplace(Fraction(2)), DiscreteGaussian(Fraction(1, 10))])
def test_both_stages_use_the_budget(relation: Neighbors, noise: DiscreteLaplace | DiscreteGaussian) -> None:
    basis = Basis(5, relation, noise, 1)
    if isinstance(noise, DiscreteLaplace):
        assert isinstance(basis.noise, DiscreteLaplace)
        assert basis.choice.epsilon + basis.noise.epsilon == noise.epsilon
    else:
        spent = basis.choice.zcdp.rho + basis.noise.zcdp.rho
        assert noise.rho * Fraction(999, 1000) < spent <= noise.rho


def test_all_intervals_hold_mostly() -> None:
    """With probability 0.9 at least; 40 runs of 31 itemsets miss 20 times with probability below 1e-9."""
    units = [{item for item in range(6) if unit % (item + 2) == 0} for unit in range(300)]
    holdings = Holdings([baskets_of([[unit] for unit in units if unit], 6)], range(6))
    basis = Basis(5, Neighbors.ADD_REMOVE, DiscreteLaplace(Fraction(1)), 1)
    failed = 0
    for _ in range(40):
        bounds = basis.count(holdings, 6, largest=12, units=200, level=Fraction(9, 10), bits=SystemBits())
        assert len(bounds.values) == 31
        true = {itemset: sum(unit.issuperset(itemset) for unit in units) for itemset in bounds.values}
        failed += any(not bounds.lows[each] <= true[each] <= bounds.highs[each] for each in true)
    assert failed < 20
