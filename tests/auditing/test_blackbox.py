"""The statistical lower bound, for code whose law is not known."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, inf, log
from typing import TYPE_CHECKING

import pytest
from support import broken
from support.cases import every

from dpmine.auditing import epsilon_lower_bound
from dpmine.auditing.binomial import joint_level
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
