"""Every universe passes the same checks; a new one joins by a line in UNIVERSES."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.adversary import Descent, LazyUniverse
from support.cases import every
from support.conformance.protocol import check_universe
from support.oracles.mechanisms import softmax
from support.tapes import assert_law, enumerate_law

from dpmine.exact.reals import ExponentialNoise, GumbelNoise
from dpmine.selection.draws import noisy_order
from dpmine.selection.universes.dense import Dense, Levels
from dpmine.selection.universes.protocol import Level, Scaled, Universe

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from dpmine.selection.universes.protocol import Score

Truth = dict["Hashable", Any]
NAMED: Truth = {"a": 4, "b": 4, "c": 1, "d": 0, "e": 0}
PAIRS: Truth = {(0, 0): 5, (1, 0): 2, (1, 1): 2, (1, 2): 2, (2, 0): 0, (2, 1): 0}
HALF = Fraction(1, 2)

UNIVERSES: dict[str, tuple[Universe[Any], Truth]] = {
    "integers": (Dense([3, 1, 3, -2, 0]), {0: 3, 1: 1, 2: 3, 3: -2, 4: 0}),
    "small integers": (Dense(np.array([100, -100] * 4, np.int8)), {i: 100 if i % 2 == 0 else -100 for i in range(8)}),
    "floats": (Dense(np.array([0.5, 0.25, 0.5])), {0: HALF, 1: HALF / 2, 2: HALF}),
    "fractions": (Dense([Fraction(1, 3), 2, Fraction(1, 3)]), {0: Fraction(1, 3), 1: 2, 2: Fraction(1, 3)}),
    "one candidate": (Dense([7]), {0: 7}),
    "all equal": (Dense([7] * 6), dict.fromkeys(range(6), 7)),
    "levels": (Levels([(5, 1), (2, 3), (0, 2)]), PAIRS),
    "levels with dummies": (Levels([(5, 1), (2, 3), (0, 2)], padding=4), PAIRS),
    "positions with dummies": (Dense([2, 0, 1], padding=3), {0: 2, 1: 0, 2: 1}),
    "only dummies": (Levels([], padding=4), {}),
    "scaled": (Scaled(Dense([3, 1, 3]), Fraction(2, 3)), {0: Fraction(9, 2), 1: Fraction(3, 2), 2: Fraction(9, 2)}),
    "scaled with dummies": (
        Scaled(Levels([(5, 1), (2, 3), (0, 2)], padding=4), Fraction(1, 2)),
        {pair: 2 * score for pair, score in PAIRS.items()},
    ),
    **{f"lazy, {d.name.lower()}": (LazyUniverse(NAMED, least=0, descent=d), NAMED) for d in Descent},
    **{f"unknown, {d.name.lower()}": (LazyUniverse(NAMED, least=0, descent=d, padding=2**128), NAMED) for d in Descent},
    "lazy with a low floor": (LazyUniverse(NAMED, least=-9, descent=Descent.HALVE), NAMED),
}


@every("name", UNIVERSES)
def test_universe_keeps_its_guarantees(name: str) -> None:
    check_universe(*UNIVERSES[name])


FOUR: Truth = {(0, 0): 5, (1, 0): 3, (1, 1): 3, (2, 0): 0}
BROKEN: dict[str, Callable[..., Any]] = {
    "out of order": lambda _self, _floor: [Level(3, 2), Level(5, 1), Level(0, 1)],
    "a level without members": lambda self, floor: [Level(5, 0), *Levels.head(self, floor)[1:]],
    "too many members": lambda self, floor: [Level(5, 10), *Levels.head(self, floor)[1:]],
    "too few levels": lambda self, floor: Levels.head(self, floor)[:-1],
    "below the floor": lambda self, _floor: Levels.head(self, 0),
}
"""Heads that break the protocol."""


@every("name", BROKEN)
def test_a_broken_head_is_caught(name: str) -> None:
    assert_caught(head=BROKEN[name])


def test_a_wrong_top_is_caught() -> None:
    assert_caught(top=lambda _self: 4)


def test_a_tail_above_its_floor_is_caught() -> None:
    assert_caught(tail=lambda _self, _floor, **_: ((0, 0), 5))


def assert_caught(**answers: Callable[..., Any]) -> None:
    """The suite, which passes these levels, fails once one of their answers is broken."""
    levels = [(5, 1), (3, 2), (0, 1)]
    check_universe(Levels(levels), FOUR)
    with pytest.raises(AssertionError):
        check_universe(type("Broken", (Levels,), answers)(levels), FOUR)


def test_what_lacks_a_member_is_no_universe() -> None:
    assert not isinstance([1, 2], Universe)
    assert not isinstance({"a": 1}, Universe)
    assert not isinstance(np.array([1]), Universe)


# Scaled universes.

SENSITIVITIES = [Fraction(1), Fraction(3), Fraction(1, 7), Fraction(22, 7), Fraction(1, 10**40), Fraction(0.1)]
SCORES = [3, 0, -2, 3, 1]


@every("sensitivity", SENSITIVITIES)
def test_scaled_universes_conform(sensitivity: Fraction) -> None:
    truth = {i: Fraction(score) / sensitivity for i, score in enumerate(SCORES)}
    plain: dict[Hashable, Score] = {i: int(score) if score.denominator == 1 else score for i, score in truth.items()}
    check_universe(Scaled(Dense(SCORES), sensitivity), plain)


@every("sensitivity", SENSITIVITIES)
def test_scaled_dummies(sensitivity: Fraction) -> None:
    universe = Scaled(Levels([(3, 2), (1, 1)], padding=5), sensitivity)
    assert (universe.size, universe.padding) == (3, 5)
    assert universe.top() == 3 / sensitivity


@pytest.mark.parametrize("sensitivity", [Fraction(2), Fraction(1, 3)])
def test_scores_and_noise_scale_together(sensitivity: Fraction) -> None:
    """Tape by tape the same outcomes: scores and noise are both divided by the sensitivity."""
    plain, _ = enumerate_law(
        lambda bits: next(noisy_order(Dense([2, 1, 0]), ExponentialNoise(Fraction(2)), bits=bits)), 9
    )
    scaled, _ = enumerate_law(
        lambda bits: next(
            noisy_order(Scaled(Dense([2, 1, 0]), sensitivity), ExponentialNoise(Fraction(2) / sensitivity), bits=bits)
        ),
        9,
    )
    assert plain == scaled


def test_law_under_a_sensitivity() -> None:
    """P(i) ∝ exp(ε c_i / 2Δ)."""
    scaled = Scaled(Dense([4, 0]), Fraction(5, 2))
    expected: dict[int | None, float] = dict(enumerate(softmax([4 / 2.5, 0], 1 / 2)))
    assert_law(
        lambda bits: next(noisy_order(scaled, GumbelNoise(Fraction(2)), bits=bits)), expected, depth=16, undecided=0.05
    )
