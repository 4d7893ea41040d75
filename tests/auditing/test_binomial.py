"""Confidence bounds on probabilities, checked by summing over all numbers of hits: no sampling."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from scipy.stats import binom
from support.cases import every

from dpmine.auditing.binomial import joint_bounds, joint_level, lower_bounds, upper_bounds


@every("trials", [2, 17, 400])
@every("p", [0.003, 0.2, 0.5, 0.97])
@every("miss", [0.2, 0.005])
def test_bounds_miss_no_more_often_than_stated(trials: int, p: float, miss: float) -> None:
    """The probability of a miss, summed over all numbers of hits: no sampling."""
    hits = np.arange(trials + 1.0)
    masses = binom.pmf(hits, trials, p)
    assert masses[lower_bounds(hits, trials, miss) > p].sum() <= miss
    assert masses[upper_bounds(hits, trials, miss) < p].sum() <= miss


def test_bounds_at_the_ends() -> None:
    assert lower_bounds(np.array([0.0]), 50, 0.01) == 0
    assert upper_bounds(np.array([50.0]), 50, 0.01) == 1
    assert upper_bounds(np.array([0.0]), 50, 0.01) == pytest.approx(1 - 0.01 ** (1 / 50))


@every("miss", [0.2, 0.001, 1e-6])
def test_the_level_of_a_product_of_two_uniform_numbers(miss: float) -> None:
    level = joint_level(miss)
    assert exp(level) * (1 - level) == pytest.approx(miss, rel=1e-6)
    assert exp(level) * (1 - level) <= miss


@every(("trials", "p", "other"), [(12, 0.5, 0.5), (20, 0.3, 0.1), (15, 0.95, 0.02), (10, 1.0, 0.0)])
@every("miss", [0.2, 0.01])
def test_joint_bounds_miss_no_more_often_than_stated(trials: int, p: float, other: float, miss: float) -> None:
    hits = range(trials + 1)
    both = np.outer(*(binom.pmf(np.array(hits), trials, share) for share in (p, other)))
    missed = [[not _holds(one, two, trials, miss, p, other) for two in hits] for one in hits]
    assert both[np.array(missed)].sum() <= miss


def _holds(hits: int, hits_neighbor: int, trials: int, miss: float, p: float, other: float) -> bool:
    """Whether a corner allows both probabilities."""
    above, below = joint_bounds(hits, hits_neighbor, trials, miss)
    return bool(((above <= p) & (other <= below)).any())


def test_joint_bounds_show_more_than_two_bounds() -> None:
    above, below = joint_bounds(7692, 2974, 100_000, 0.01)
    apart = lower_bounds(np.array(7692.0), 100_000, 0.005) / upper_bounds(np.array(2974.0), 100_000, 0.005)
    assert np.log(above / below).min() > np.log(apart) + 0.02
