"""What is left of a universe is a universe, whichever candidates were taken out."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from support.adversary import Descent, LazyUniverse
from support.cases import every
from support.conformance.protocol import check_head, check_next_floor, check_size, check_universe, interesting_floors
from support.oracles.mechanisms import chi_square_p, tally
from support.reading import read_baskets

from dpmine.exact.bits import SystemBits
from dpmine.io.source import Columns
from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.ways.universe import ItemsetUniverse
from dpmine.selection.universes.dense import Dense, Levels
from dpmine.selection.universes.protocol import Remaining, Scaled
from dpmine.selection.universes.ranking import Padded, Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from dpmine.selection.universes.protocol import Universe

Truth = dict["Hashable", Any]
SMALL: Truth = {"a": 4, "b": 4, "c": 1, "d": 0}
PAIRS: Truth = {(0, 0): 5, (1, 0): 2, (1, 1): 2, (2, 0): 0, (2, 1): 0}
POSITIVE: Truth = {"a": 4, "b": 4, "c": 1}

UNIVERSES: dict[str, tuple[Callable[[], Universe[Any]], Truth]] = {
    "integers": (lambda: Dense([3, 1, 3, -2]), {0: 3, 1: 1, 2: 3, 3: -2}),
    "all equal": (lambda: Dense([7] * 4), dict.fromkeys(range(4), 7)),
    "levels": (lambda: Levels([(5, 1), (2, 2), (0, 2)]), PAIRS),
    "dummies": (lambda: Dense([2, 0, 1], padding=3), {0: 2, 1: 0, 2: 1}),
    "scaled": (
        lambda: Scaled(Dense([3, 1, 3]), Fraction(2, 3)),
        {0: Fraction(9, 2), 1: Fraction(3, 2), 2: Fraction(9, 2)},
    ),
    "padded": (lambda: Padded(Dense([2, 0, 1]), 5), {0: 2, 1: 0, 2: 1}),
    **{f"lazy, {d.name.lower()}": (partial(LazyUniverse, SMALL, least=0, descent=d), SMALL) for d in Descent},
    **{
        f"unknown, {d.name.lower()}": (partial(LazyUniverse, POSITIVE, least=0, descent=d, padding=2**128), POSITIVE)
        for d in Descent
    },
}


def without(universe: Universe[Any], gone: Iterable[Hashable]) -> Remaining[Any]:
    """Candidates can be taken out once they were drawn."""
    left = Remaining(universe)
    for wanted in gone:
        level = next(level for level in left.head(left.least) if wanted in drawn(left, level))
        while left.member(level, bits=SystemBits()) != wanted:
            pass
        left.take(wanted)
    return left


def drawn(left: Remaining[Any], level: Any) -> set[Any]:
    """All members of a level, found by drawing them."""
    found: set[Any] = set()
    while len(found) < level.count:
        found.add(left.member(level, bits=SystemBits()))
    return found


@every("number", [0, 1, 2])
@every("name", UNIVERSES)
def test_what_is_left_keeps_the_guarantees(name: str, number: int) -> None:
    """Whoever the first few are that were taken out."""
    make, truth = UNIVERSES[name]
    for gone in list(combinations(truth, number))[:3]:
        left = {candidate: score for candidate, score in truth.items() if candidate not in gone}
        check_universe(without(make(), gone), left)


@every("name", UNIVERSES)
def test_candidates_never_come_twice(name: str) -> None:
    """Out of head and tail in turn, down to the last one."""
    make, truth = UNIVERSES[name]
    left, found = Remaining(make()), list[Any]()
    assert left.padding == make().padding
    while levels := left.head(left.least):
        assert left.top() == levels[0].score
        candidate: Any
        if len(found) % 2 and left.size is not None:
            candidate, score = left.tail(levels[0].score + 1, bits=SystemBits())
            assert score == truth[candidate]
        else:
            candidate = left.member(levels[-1], bits=SystemBits())
        found.append(candidate)
        left.take(candidate)
        assert left.size in {None, len(truth) - len(found)}
    assert len(found) == len(truth)
    assert set(found) == set(truth)
    assert left.is_empty == (left.padding == 0)
    assert left.top() == left.least


@pytest.mark.parametrize("descent", Descent)
def test_top_when_the_best_levels_are_gone(descent: Descent) -> None:
    truth: Truth = {"a": 64, "b": 63, "c": 63, "d": 9, "e": 2, "f": 0}
    left = without(LazyUniverse(truth, least=0, descent=descent), "abc")
    assert left.top() == 9
    assert Ranking(left).score(2) == 2
    assert [level.score for level in left.head(0)] == [9, 2, 0]
    left = without(LazyUniverse(truth, least=0, descent=descent), "abcdef")
    assert (left.top(), left.head(0), left.size, left.is_empty) == (0, [], 0, True)


def test_an_unknown_universe_is_never_empty() -> None:
    left = without(LazyUniverse({"a": 3}, least=0, descent=Descent.CRAWL, padding=9), "a")
    assert (left.size, left.padding, left.is_empty) == (None, 9, False)
    assert (left.top(), list(left.head(0))) == (0, [])
    ranking = Ranking(left)
    assert (ranking.score(1), ranking.score(9), ranking.level(1)) == (0, 0, None)


def test_only_what_was_handed_out_can_be_taken() -> None:
    with pytest.raises(KeyError):
        Remaining(Levels([(1, 1), (2, 1)])).take((0, 0))


@pytest.mark.statistical
def test_members_left_are_equally_likely() -> None:
    """By rejection: seven of ten are gone. Chi^2 at a nominal 1e-9."""
    left = without(Dense([1] * 10), range(7))
    (level,) = left.head(1)
    assert level.count == 3
    for sampler in (lambda: left.member(level, bits=SystemBits()), lambda: left.tail(2, bits=SystemBits())[0]):
        assert chi_square_p(tally(sampler, 600), dict.fromkeys((7, 8, 9), 1 / 3)) > 1e-9


BASKETS = [["a", "b", "c"]] * 5 + [["a", "b"]] * 3 + [["c", "d"]] * 2 + [["e"]]


@pytest.mark.parametrize("public", [True, False])
def test_itemsets_that_are_left(*, public: bool) -> None:
    baskets = read_baskets(BASKETS, Columns()).baskets
    labels = baskets.labels.to_pylist()
    truth: Truth = {
        pair: sum({labels[code] for code in pair} <= set(basket) for basket in BASKETS)
        for pair in combinations(range(len(labels)), 2)
    }
    left = Remaining(ItemsetUniverse(Miner(baskets), range(2, 3), catalogue_is_public=public))
    if not public:
        truth = {pair: score for pair, score in truth.items() if score}
    for _ in range(3):
        best = max(truth.values())
        candidate = left.member(left.head(left.top())[0], bits=SystemBits())
        assert truth.pop(candidate) == best
        left.take(candidate)
        check_size(left, truth)
        for floor in interesting_floors(truth, left.least):
            check_head(left, truth, floor)
            check_next_floor(left, floor)
