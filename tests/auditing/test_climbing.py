"""The random search: only pairs of the scope, and never worse than its start."""

from __future__ import annotations

from hashlib import shake_256

import pytest
from support.mechanisms import made
from support.tapes import TapeBits

from dpmine.auditing.pairs import DIRECT, UNKNOWN, ClaimScope, Finding, Group, Pair, PairSide, Terms, measure_both
from dpmine.auditing.worst_pairs import Climber
from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.report_noisy_max import Exponential

SCOPES = [
    ClaimScope(Neighbors.REPLACE_ONE),
    ClaimScope(Neighbors.ADD_REMOVE, (0, UNKNOWN)),
    ClaimScope(Neighbors.REPLACE_ONE, (0, UNKNOWN), growth=3),
]
GAPS = (0.0, 1.0, 2.0, 17.0)


def fixed_bits() -> TapeBits:
    """The same tape every time, long enough."""
    return TapeBits(int.from_bytes(shake_256(b"climb").digest(40_000), "big"), 320_000)


def shows(pair: Pair) -> Finding:
    """The exponential mechanism for ε = 1 that has twice its exponent."""
    left, right = (pair.masses(side, made(Exponential, 1.0).law(pair.profile(side))) for side in PairSide)
    return measure_both(left, right, Terms(1.0, 0.0), precision=DIRECT)


@pytest.mark.parametrize("scope", SCOPES)
def test_all_proposals_are_admitted(scope: ClaimScope) -> None:
    seen: list[Pair] = []

    def remember(pair: Pair) -> Finding:
        seen.append(pair)
        return Finding()

    Climber(scope, GAPS, (1, 3)).climb(None, remember, steps=400, bits=fixed_bits())
    assert len(seen) > 50
    assert all(scope.admits(pair) for pair in seen)
    assert {pair.dummies for pair in seen} == set(scope.dummies)


def test_climbing_finds_a_broken_mechanism_from_nothing() -> None:
    found, pair = Climber(SCOPES[0], GAPS).climb(None, shows, steps=300, bits=fixed_bits())
    assert pair is not None
    assert found.epsilon > 1.5
    assert found.delta > 0


def test_climbing_never_loses_its_start() -> None:
    start = Pair((Group(4, 1), Group(2, -1)))
    found, _ = Climber(SCOPES[0], GAPS).climb(start, shows, steps=50, bits=fixed_bits())
    assert found.rank >= shows(start).rank
