"""The quadrature rules, and that more nodes change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.cases import every
from support.mechanisms import made

from dpmine.privacy import Neighbors
from dpmine.selection.distributions import profile as quadrature
from dpmine.selection.distributions import stopping
from dpmine.selection.mechanisms import report_noisy_max
from dpmine.selection.mechanisms.large_margin import LargeMargin, LargeMarginTight
from dpmine.selection.mechanisms.report_noisy_max import MaxOfExponentials, MaxOfLaplaces

if TYPE_CHECKING:
    from collections.abc import Iterator

PROFILES = [
    quadrature.Profile((150.0, 147.0, 20.0, 0.0), (1, 12, 300, 10**9)),
    quadrature.Profile((420.0, 400.0, 60.0), (1, 50, 2000), 2**128),
]


@every("size", [13, 32, 1000, 2**100])
def test_block_sums_are_exact_for_polynomials(size: int) -> None:
    rule = quadrature.sum_rule(size)
    x = rule.nodes / size
    total, square = (size - 1) / (2 * size), (size - 1) * (2 * size - 1) / (6 * size**2)
    assert rule.weights @ x / size == pytest.approx(total, rel=1e-11)
    assert rule.weights @ x**2 / size == pytest.approx(square, rel=1e-11)
    below = rule.nodes * (rule.nodes - 1) / 2  # the sum of the integers below a node
    assert rule.before @ x / size == pytest.approx(below / size**2, abs=1e-11)


def test_block_sums_of_a_power_law() -> None:
    rule = quadrature.sum_rule(64)
    expected = np.sum((64.0 + np.arange(64)) ** -2.5)
    assert rule.weights @ (64 + rule.nodes) ** -2.5 == pytest.approx(expected, rel=1e-11)


def test_panels_cover_their_interval() -> None:
    rule = quadrature.panels(np.array([-3.0, 0.0, 0.01, 0.2, 5.0]), step=1.0, order=10)
    assert rule.weights.sum() == pytest.approx(8, rel=1e-14)
    assert rule.weights @ np.exp(rule.nodes) == pytest.approx(np.exp(5) - np.exp(-3), rel=1e-13)
    assert (np.diff(rule.nodes) > 0).all()


@pytest.fixture
def finer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Twice as many nodes everywhere."""
    caches = (quadrature.sum_rule, quadrature._series)
    monkeypatch.setattr(quadrature, "BLOCK_NODES", 2 * quadrature.BLOCK_NODES)
    monkeypatch.setattr(stopping, "_ORDER", 2 * stopping._ORDER)
    monkeypatch.setattr(report_noisy_max, "_ORDER", 2 * report_noisy_max._ORDER)
    monkeypatch.setattr(quadrature, "HEAD", 2 * quadrature.HEAD)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def all_laws() -> list[quadrature.LevelDistribution]:
    found = []
    for profile in PROFILES:
        for epsilon in (0.2, 1.0, 4.0):
            found += [
                made(LargeMargin, epsilon, 1e-3).distribution(profile),
                made(LargeMarginTight, epsilon, 1e-3, Neighbors.REPLACE_ONE).distribution(profile),
                made(MaxOfLaplaces, epsilon / 2).distribution(profile),
                made(MaxOfExponentials, epsilon / 2).distribution(profile),
            ]
    return found


COARSE = all_laws()


@pytest.mark.usefixtures("finer")
def test_twice_the_nodes_change_nothing() -> None:
    for coarse, fine in zip(COARSE, all_laws(), strict=True):
        assert coarse.masses.tolist() == pytest.approx(fine.masses.tolist(), rel=0, abs=1e-10)
        assert coarse.nothing == pytest.approx(fine.nothing, rel=0, abs=1e-10)
