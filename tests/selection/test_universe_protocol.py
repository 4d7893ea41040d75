"""Every universe passes the same checks; a new one joins by a line in UNIVERSES."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.adversary import Descent, LazyUniverse
from support.cases import every
from support.conformance.protocol import check_universe

from dpmine.selection.universes.dense import Dense, Levels
from dpmine.selection.universes.protocol import Level, Scaled, Universe

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

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
