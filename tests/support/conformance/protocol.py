"""One suite for every universe: what the protocol guarantees. `support/adversary.py` has universes that try it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpmine.selection.universes.protocol import Level, Score, Universe
from support.tapes import assert_law

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping


def check_universe(universe: Universe[Any], truth: Mapping[Hashable, Score]) -> None:
    """`universe` keeps the whole protocol; `truth` are its candidates and their scores.

    With dummies the candidates of score 0 may be missing from the levels.
    """
    assert isinstance(universe, Universe)
    check_size(universe, truth)
    for floor in interesting_floors(truth, universe.least):
        check_head(universe, truth, floor)
        check_next_floor(universe, floor)
        check_tail(universe, truth, floor)
    for level in universe.head(universe.least):
        check_member(universe, truth, level)


def interesting_floors(truth: Mapping[Hashable, Score], least: Score) -> list[Score]:
    """At, between, above and below the scores, but never below `least`."""
    scores = {least, *truth.values()}
    half = Fraction(1, 2)
    return sorted(
        floor for score in scores for floor in (score - half, score, score + half, score + 7) if floor >= least
    )


def check_size(universe: Universe[Any], truth: Mapping[Hashable, Score]) -> None:
    assert universe.size == len(truth) or (universe.size is None and universe.padding > 0)
    assert universe.top() == max(truth.values(), default=universe.least)
    assert not (universe.padding and any(score < 0 for score in truth.values()))


def check_head(universe: Universe[Any], truth: Mapping[Hashable, Score], floor: Score) -> None:
    """Complete, exact, best first."""
    head = list(universe.head(floor))
    scores = [level.score for level in head]
    assert scores == sorted(set(scores), reverse=True)
    assert all(type(level.score) in {int, Fraction} and type(level.count) is int for level in head)
    expected = Counter(score for score in truth.values() if score >= floor)
    found = {level.score: level.count for level in head}
    if universe.padding and 0 not in found:
        del expected[0]
    assert found == dict(expected)


def check_next_floor(universe: Universe[Any], floor: Score) -> None:
    """Floors fall, and reach the least one."""
    while floor > universe.least:
        lower = universe.lower(floor)
        assert universe.least <= lower < floor
        floor = lower


def check_tail(universe: Universe[Any], truth: Mapping[Hashable, Score], floor: Score) -> None:
    """Bounded by `below`, and drawn uniformly."""
    tail = {candidate: score for candidate, score in truth.items() if score < floor}
    bound = universe.below(floor)
    assert bound <= floor
    assert all(score <= bound for score in tail.values())
    if tail and universe.size is not None:
        expected = {(candidate, score): Fraction(1, len(tail)) for candidate, score in tail.items()}
        assert_law(lambda bits: universe.tail(floor, bits=bits), expected, depth=9, undecided=0.5)


def check_member(universe: Universe[Any], truth: Mapping[Hashable, Score], level: Level) -> None:
    members = [candidate for candidate, score in truth.items() if score == level.score]
    expected = dict.fromkeys(members, Fraction(1, len(members)))
    assert_law(lambda bits: universe.member(level, bits=bits), expected, depth=9, undecided=0.5)
