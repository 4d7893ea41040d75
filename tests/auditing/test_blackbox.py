"""The statistical lower bound, for code whose law is not known, and the bounds on probabilities that it rests on."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, inf, log
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import binom
from support import broken
from support.cases import every

from dpmine.auditing import epsilon_lower_bound
from dpmine.auditing.blackbox import joint_bounds, joint_level, lower_bounds, upper_bounds
from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.report_noisy_max import Exponential
from dpmine.selection.universes.dense import Dense

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.selection.mechanisms.mechanism import Mechanism


def test_code_that_tells_all_is_accused() -> None:
    bound = epsilon_lower_bound(lambda: "a", lambda: "b", samples=2000, confidence=0.99)
    rare = exp(joint_level(0.01) / 1500)  # of the runs, three quarters measure
    assert bound == pytest.approx(log(rare / (1 - rare)), rel=0.05)
    assert epsilon_lower_bound(lambda: "a", lambda: "b", samples=2000, confidence=0.99, delta=0.999) == 0


def test_code_that_tells_nothing_is_not_accused() -> None:
    assert epsilon_lower_bound(lambda: None, lambda: None, samples=10) == 0


@every("options", [{"samples": 3}, {"confidence": 1}, {"confidence": "x"}, {"delta": 2}])
def test_improper_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(BadParameter, match=next(iter(options))):
        epsilon_lower_bound(lambda: 0, lambda: 0, **options)  # type: ignore[arg-type]


def samplers(mechanism: Mechanism) -> tuple[Callable[[], int | None], Callable[[], int | None]]:
    """The mechanism on two neighbours under replace_one: a lead of 2 that disappears."""
    bits = SystemBits()
    before, after = Dense([12, 10]), Dense([11, 11])
    return lambda: mechanism.choose(before, bits=bits), lambda: mechanism.choose(after, bits=bits)


@pytest.mark.statistical
def test_a_broken_sampler_is_caught() -> None:
    """True ε here: ln((1 + e^4)/2) = 3.3. The bound of 2 is missed when an event of probability 0.018 occurs more than
    60 times among 2000 (36 expected), or one of 0.5 fewer than 900 times: together with probability below 1e-3."""
    mechanism = broken.build(broken.MonotoneExponential, Neighbors.REPLACE_ONE, Fraction(2), Fraction(0))
    run, run_neighbor = samplers(mechanism)
    assert epsilon_lower_bound(run, run_neighbor, samples=4000, confidence=0.99) > 2


@pytest.mark.statistical
def test_an_honest_sampler_is_not_accused() -> None:
    """False-alarm rate: at most 1e-6 (and less, since this pair shows only 1.4 of the 2)."""
    run, run_neighbor = samplers(Exponential(Fraction(2), Fraction(0), Neighbors.REPLACE_ONE))
    assert epsilon_lower_bound(run, run_neighbor, samples=4000, confidence=1 - 1e-6) <= 2


def test_events_of_several_outcomes_are_found() -> None:
    """No single one of 50 outcomes shows much, their union does."""
    deck = [0.9 / 50] * 50 + [0.1 / 50] * 50
    one, other = (_cycle(weights) for weights in (deck, deck[::-1]))
    bound = epsilon_lower_bound(one, other, samples=20_000, confidence=0.99)
    assert 1.9 < bound < log(9)
    assert bound < inf
    assert exp(bound) < 9


def _cycle(weights: list[float]) -> Callable[[], int]:
    """Outcomes with exactly these frequencies, over and over: a sample without noise."""
    cards = [card for card, weight in enumerate(weights) for _ in range(ceil(1000 * weight - 1e-9))]
    place = -1

    def draw() -> int:
        nonlocal place
        place += 1
        return cards[place % len(cards)]

    return draw


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
