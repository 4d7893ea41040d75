"""The checking wrapper passes honest universes and names the rule that a broken one breaks."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from support.cases import every
from support.conformance.universes import Checked

from dpmine.errors import BadParameter
from dpmine.exact.bits import BitSource, SystemBits
from dpmine.selection.recommend import build_mechanism
from dpmine.selection.select import MECHANISMS
from dpmine.selection.universes.dense import Levels
from dpmine.selection.universes.protocol import Level, Score


class Broken(Levels):
    """Four candidates; each test breaks one answer."""

    def __init__(self) -> None:
        super().__init__([(5, 1), (3, 2), (0, 1)])


class OutOfOrder(Broken):
    def head(self, floor: Score) -> Sequence[Level]:
        return [Level(3, 2), Level(5, 1), Level(0, 1)]


class NoMembers(Broken):
    def head(self, floor: Score) -> Sequence[Level]:
        return [Level(5, 0), *super().head(floor)[1:]]


class TooMany(Broken):
    def head(self, floor: Score) -> Sequence[Level]:
        return [Level(5, 10), *super().head(floor)[1:]]


class TooFew(Broken):
    def head(self, floor: Score) -> Sequence[Level]:
        return super().head(floor)[:-1]


class TooDeep(Broken):
    def head(self, floor: Score) -> Sequence[Level]:
        return super().head(0)


class WrongTop(Broken):
    def top(self) -> Score:
        return 4


class HighTail(Broken):
    def tail(self, floor: Score, *, bits: BitSource) -> tuple[tuple[int, int], Score]:
        return (0, 0), 5


BREACHES: list[tuple[type[Broken], Callable[[Checked[Any]], object], str]] = [
    (OutOfOrder, lambda universe: universe.head(0), "strictly decreasing"),
    (NoMembers, lambda universe: universe.head(0), "at least 1"),
    (TooMany, lambda universe: universe.head(0), "more candidates than the size"),
    (TooFew, lambda universe: universe.head(0), "as many candidates as the size"),
    (TooDeep, lambda universe: universe.head(5), "below its floor"),
    (WrongTop, lambda universe: universe.top(), "score of the first level"),
    (HighTail, lambda universe: universe.tail(3, bits=SystemBits()), "below the floor"),
]


@every(("broken", "use", "rule"), BREACHES)
def test_a_breach_is_named(broken: type[Broken], use: Callable[[Checked[Any]], object], rule: str) -> None:
    with pytest.raises(BadParameter, match=rule):
        use(Checked(broken()))


@every("name", [name for name in MECHANISMS if name != "bounded_growth"])
@every("padding", [0, 2**128])
def test_honest_universes_pass_under_every_mechanism(name: str, padding: int) -> None:
    mechanism = build_mechanism(name, epsilon=1, delta=1e-3, neighbors="replace_one", not_private=True)
    universe = Checked(Levels([(300, 1), (20, 10), (0, 10**6)], padding=padding))
    for _ in range(20):
        mechanism.choose(universe, bits=SystemBits())
