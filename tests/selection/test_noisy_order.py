"""The order of noisy scores has the law of the enumerated universe, however little is known of it."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from math import comb, exp
from typing import TYPE_CHECKING, Any

import pytest
from support.adversary import CountingBits, Descent, LazyUniverse
from support.cases import every
from support.numpy_bits import NumpyBits
from support.oracles import top_k as top_k_laws
from support.oracles.mechanisms import chi_square_p, tally

from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import ExponentialNoise, Formula, GumbelNoise, LaplaceNoise, Noise, Real, draw, exact_ball
from dpmine.selection.draws import KnownRival, noisy_order
from dpmine.selection.universes.dense import Dense, Levels

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.selection.universes.protocol import Level, Score, Universe

SCALE = Fraction(3, 2)
RATE = float(1 / SCALE)
GUMBEL = GumbelNoise(SCALE)
NOISES: dict[str, tuple[Noise, Any]] = {
    "gumbel": (GUMBEL, top_k_laws.GUMBEL),
    "laplace": (LaplaceNoise(SCALE), top_k_laws.LAPLACE),
    "exponential": (ExponentialNoise(SCALE), top_k_laws.EXPONENTIAL),
}
SHAPES: dict[str, dict[Any, int]] = {
    "spread": {"a": 5, "b": 3, "c": 2, "d": 0},
    "ties": {"a": 3, "b": 3, "c": 3, "d": 0, "e": 0},
    "negative": {"a": -1, "b": -3, "c": -3},
}
FLOORS: dict[str, Fraction | int | None] = {"default": None, "low": -5, "between": Fraction(5, 2), "high": 9}
ERROR = 1e-9
"""The nominal error of each comparison with a law."""


def listed(outcomes: Mapping[tuple[int | None, ...], float], names: Sequence[Any]) -> dict[tuple[Any, ...], float]:
    """Lists of names out of lists of positions; equal names are one."""
    law: dict[tuple[Any, ...], float] = defaultdict(float)
    for chosen, mass in outcomes.items():
        law[tuple(names[i] for i in chosen if i is not None)] += mass
    return dict(law)


def softmax_law(truth: Mapping[Any, int], count: int, padding: int = 0) -> dict[tuple[Any, ...], float]:
    """The exponential mechanism, `count` times without replacement, each dummy a candidate of its own."""
    names = [*truth, *[None] * padding]
    peeled = top_k_laws.peeled_exponential([*truth.values(), *[0] * padding], min(count, len(names)), RATE)
    return listed(peeled, names)


def law_before_a_rival(truth: Mapping[Any, int], count: int, rival: int) -> dict[tuple[Any, ...], float]:
    """The same lists, cut where a candidate called the rival comes."""
    law: dict[tuple[Any, ...], float] = defaultdict(float)
    for chosen, mass in softmax_law({**truth, "rival": rival}, count).items():
        end = chosen.index("rival") if "rival" in chosen else count
        law[chosen[:end]] += mass
    return dict(law)


def lazy(truth: Mapping[Any, int], descent: Descent = Descent.CRAWL) -> LazyUniverse[Any]:
    return LazyUniverse(truth, least=-5, descent=descent)


@pytest.mark.statistical
@every("count", [2, 3])
@every("floor", FLOORS)
@every("shape", SHAPES)
def test_gumbel_order_is_peeled_softmax(shape: str, floor: str, count: int) -> None:
    """Chi^2 at a nominal 1e-9 per case."""
    truth = SHAPES[shape]
    seen = tally(
        lambda: tuple(noisy_order(lazy(truth), GUMBEL, bits=SystemBits(), count=count, floor=FLOORS[floor])), 350
    )
    assert chi_square_p(seen, softmax_law(truth, count)) > ERROR


@pytest.mark.statistical
@pytest.mark.parametrize("descent", Descent)
def test_more_candidates_than_are_listed_at_once(descent: Descent) -> None:
    """The default floor looks for c(k), as deep as the universe lets it. Chi^2 at a nominal 1e-9 per case."""
    truth = dict(enumerate([9, 7, 4, 4, 3, 3, *[1] * 12, *[0] * 20]))
    law = softmax_law(truth, 2)
    by_score: dict[Any, float] = defaultdict(float)
    for pair, mass in law.items():
        by_score[tuple(truth[i] for i in pair)] += mass

    def scores() -> tuple[int, ...]:
        order = noisy_order(lazy(truth, descent), GUMBEL, bits=SystemBits(), count=2)
        return tuple(truth[i] for i in order if i is not None)

    assert chi_square_p(tally(scores, 500), by_score) > ERROR


@pytest.mark.statistical
@every("kind", ["laplace", "exponential"])
@every("floor", [None, 2, 9])
@every("shape", ["spread", "ties"])
def test_other_noises_are_not_peeled(shape: str, floor: int | None, kind: str) -> None:
    """The law of the first two, integrated; it is not the one of two rounds. Chi^2 at a nominal 1e-9 per case."""
    noise, oracle = NOISES[kind]
    truth = SHAPES[shape]
    law = listed(top_k_laws.one_shot(list(truth.values()), 2, RATE, oracle), list(truth))
    seen = tally(lambda: tuple(noisy_order(lazy(truth), noise, bits=SystemBits(), count=2, floor=floor)), 400)
    assert chi_square_p(seen, law) > ERROR


@pytest.mark.statistical
@pytest.mark.parametrize("floor", [None, 3])
@pytest.mark.parametrize("kind", NOISES)
def test_order_with_many_draws(kind: str, floor: int | None) -> None:
    noise, oracle = NOISES[kind]
    truth = {"a": 4, "b": 3, "c": 3, "d": 1, "e": 0}
    law = listed(top_k_laws.one_shot(list(truth.values()), 3, RATE, oracle), list(truth))
    bits = NumpyBits(3)
    seen = tally(lambda: tuple(noisy_order(lazy(truth), noise, bits=bits, count=3, floor=floor)), 5_000)
    assert chi_square_p(seen, law) > ERROR


@pytest.mark.statistical
@every("floor", [None, 0, 1, 3])
@every("padding", [1, 3])
def test_every_dummy_takes_a_place(padding: int, floor: int | None) -> None:
    """Chi^2 at a nominal 1e-9 per case."""
    universe = Dense([2, 1, 0], padding=padding)
    seen = tally(lambda: tuple(noisy_order(universe, GUMBEL, bits=SystemBits(), count=3, floor=floor)), 400)
    assert chi_square_p(seen, softmax_law({0: 2, 1: 1, 2: 0}, 3, padding)) > ERROR


def test_only_dummies() -> None:
    assert list(noisy_order(Levels([], padding=3), GUMBEL, bits=SystemBits(), count=2)) == [None, None]
    assert list(noisy_order(Levels([], padding=3), GUMBEL, bits=SystemBits(), count=7)) == [None] * 3


@pytest.mark.statistical
@pytest.mark.parametrize("floor", [None, 1, 3])
def test_levels_of_many_members(floor: int | None) -> None:
    """Weights M e^{s/b}, M falling by one with each member that came. Chi^2 at a nominal 1e-9 per case."""
    levels = [(6, 1), (2, 30), (0, 500)]
    law: dict[tuple[int, ...], float] = {}
    for first in range(3):
        counts = [count for _, count in levels]
        before = shares(levels, counts)
        counts[first] -= 1
        for second, share in enumerate(shares(levels, counts)):
            law[first, second] = before[first] * share

    def drawn() -> tuple[int, ...]:
        order = [
            found for found in noisy_order(Levels(levels), GUMBEL, bits=SystemBits(), count=2, floor=floor) if found
        ]
        assert len(set(order)) == 2
        return tuple(level for level, _ in order)

    assert chi_square_p(tally(drawn, 700), law) > ERROR


def shares(levels: Sequence[tuple[int, int]], counts: Sequence[int]) -> list[float]:
    weights = [count * exp(RATE * score) for (score, _), count in zip(levels, counts, strict=True)]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.statistical
@pytest.mark.parametrize("floor", [None, 0, 1, 2])
def test_members_of_a_level_come_in_uniform_order(floor: int | None) -> None:
    """All 24 orders of four equal candidates are as likely, whether they are met in the head or in the tail.

    Chi^2 at a nominal 1e-9 per case.
    """
    order = tally(lambda: tuple(noisy_order(Dense([1] * 4), GUMBEL, bits=SystemBits(), count=4, floor=floor)), 900)
    orders = top_k_laws.peeled_exponential([1.0] * 4, 4, RATE)
    assert chi_square_p(order, orders) > ERROR


@every("kind", NOISES)
@every("floor", [None, -1, 3, 7, 99])
@every("count", [40, 41, 10**30])
def test_a_whole_universe_is_a_permutation(count: int, floor: int | None, kind: str) -> None:
    truth = {i: i % 8 for i in range(40)}
    order = noisy_order(lazy(truth), NOISES[kind][0], bits=SystemBits(), count=count, floor=floor)
    assert sorted(found for found in order if found is not None) == list(range(40))


@pytest.mark.parametrize("kind", NOISES)
def test_scores_far_apart_come_in_their_order(kind: str) -> None:
    universe = Dense([10_000 * i for i in range(30)])
    for floor in (None, 100_000, 10**9):
        order = list(noisy_order(universe, NOISES[kind][0], bits=SystemBits(), count=12, floor=floor))
        assert order == list(range(29, 17, -1))


@pytest.mark.parametrize("count", [0, 1, 5])
def test_no_more_than_asked_for(count: int) -> None:
    assert len(list(noisy_order(Dense([3] * 9), GUMBEL, bits=SystemBits(), count=count))) == count


def test_nothing_is_drawn_before_it_is_asked_for() -> None:
    """A caller that stops after two is charged for two: the members are drawn when they are handed out."""
    bits = CountingBits()
    order = noisy_order(Levels([(5, 10**6)]), GUMBEL, bits=bits, count=10**5)
    taken = [bits.taken for _ in zip(range(3), order, strict=False)]
    assert all(later - earlier < 2_000 for earlier, later in pairwise(taken))


@every("kind", NOISES)
@every("size", [10**3, 10**30])
def test_work_does_not_grow_with_the_universe(size: int, kind: str) -> None:
    bits = CountingBits()
    universe = Levels([(900, 3), (700, 2), (0, size)])
    for _ in range(5):
        first = list(noisy_order(universe, NOISES[kind][0], bits=bits, count=5))
        assert [level for level, _ in (found for found in first if found)] == [0, 0, 0, 1, 1]
    assert bits.taken < 5 * 5 * 64 * 600


class Counting(Levels):
    """Levels that note how many candidates have been counted, and that offer the next one only."""

    counted = 0

    def lower(self, floor: Score) -> Score:
        return floor - 1

    def head(self, floor: Score) -> Sequence[Level]:
        levels = super().head(floor)
        self.counted = max(self.counted, sum(level.count for level in levels))
        return levels


@every("kind", NOISES)
def test_a_crowd_is_drawn_from_and_not_counted(kind: str) -> None:
    """Scores as of a billion itemsets, the best of which lead by little: some draws, and a few of them counted."""
    levels = [(score, comb(30, score) * 3 ** (30 - score) // 10**9) for score in range(24)]
    universe = Counting(levels)
    assert len(list(noisy_order(universe, NOISES[kind][0], bits=SystemBits()))) == 1
    assert universe.counted < universe.size / 100


class Shy:
    """A rival that hides its score, and owns up to it by halves.

    `lean` is the part of what it hides that lies above its score: 0 for a tight upper bound, 1 for a tight lower one.
    """

    def __init__(self, score: int, noise: Real, *, hidden: int, lean: Fraction) -> None:
        self._score = score
        self._noise = noise
        self._hidden = Fraction(hidden)
        self._lean = lean
        self.asked = 0

    def bounds(self) -> tuple[Real, Real]:
        if not self._hidden:
            known = self._noisy(Fraction(self._score))
            return known, known
        low = self._score - self._hidden * (1 - self._lean)
        return self._noisy(low), self._noisy(low + self._hidden)

    def sharpen(self) -> None:
        """Asked of it only while it hides something."""
        assert self._hidden
        self.asked += 1
        self.tell()

    def tell(self) -> None:
        """It may find out by itself, too."""
        self._hidden = self._hidden / 2 if self._hidden > 1 else Fraction(0)

    def _noisy(self, score: Fraction) -> Real:
        return Formula(lambda gumbel: exact_ball(score) + gumbel, self._noise)


class Telltale(LazyUniverse[Any]):
    """A universe in which every look at the tail makes the rival's bounds sharper, as a ranking that is shared does."""

    rival: Shy | None = None

    def tail(self, floor: Score, *, bits: BitSource) -> tuple[Any, Score]:
        if self.rival is not None:
            self.rival.tell()
        return super().tail(floor, bits=bits)


def before_the_rival(universe: Universe[Any], rival: Any, bits: BitSource, **options: Any) -> tuple[Any, ...]:
    return tuple(noisy_order(universe, GUMBEL, bits=bits, rival=rival, **options))


@pytest.mark.statistical
@every("floor", [None, 1, 4, 9])
@every("score", [0, 4])
def test_a_known_rival_ends_the_order(score: int, floor: int | None) -> None:
    """Chi^2 at a nominal 1e-9 per case."""
    truth = SHAPES["spread"]
    bits = SystemBits()

    def drawn() -> tuple[Any, ...]:
        rival = KnownRival(Formula(lambda gumbel: score + gumbel, draw(GUMBEL, bits=bits)))
        return before_the_rival(lazy(truth), rival, bits, count=3, floor=floor)

    assert chi_square_p(tally(drawn, 400), law_before_a_rival(truth, 3, score)) > ERROR


@pytest.mark.statistical
@every("lean", [0, Fraction(1, 2), 1])
@every("floor", [None, 1, 4, 9])
@every("telltale", [False, True])
def test_a_rival_that_is_sharpened(floor: int | None, lean: Fraction, *, telltale: bool) -> None:
    """Its bounds may be sharper than the ones by which it was put in its place: the law is that of its score.

    Chi^2 at a nominal 1e-9 per case.
    """
    truth = SHAPES["spread"]
    bits = SystemBits()

    def drawn() -> tuple[Any, ...]:
        universe = Telltale(truth, least=-5, descent=Descent.CRAWL)
        rival = Shy(3, draw(GUMBEL, bits=bits), hidden=16, lean=lean)
        universe.rival = rival if telltale else None
        return before_the_rival(universe, rival, bits, count=3, floor=floor)

    assert chi_square_p(tally(drawn, 300), law_before_a_rival(truth, 3, 3)) > ERROR


def test_a_rival_far_below_is_never_asked() -> None:
    bits = SystemBits()
    rival = Shy(-10_000, draw(GUMBEL, bits=bits), hidden=64, lean=Fraction(1))
    assert len(before_the_rival(lazy(SHAPES["ties"]), rival, bits, count=3)) == 3
    assert rival.asked == 0


def test_a_rival_far_above_ends_it_at_once() -> None:
    bits = SystemBits()
    rival = Shy(10_000, draw(GUMBEL, bits=bits), hidden=64, lean=Fraction(0))
    assert before_the_rival(lazy(SHAPES["ties"]), rival, bits, count=3) == ()
    assert rival.asked == 0


def test_a_rival_among_nobody() -> None:
    """It comes last where everybody else has come: whatever it hides, nobody is left to compare it with."""
    bits = SystemBits()
    for lean in (Fraction(0), Fraction(1)):
        rival = Shy(-10_000, draw(GUMBEL, bits=bits), hidden=64, lean=lean)
        assert sorted(before_the_rival(lazy(SHAPES["spread"]), rival, bits, count=9, floor=9)) == list("abcd")


def orders(universe: Universe[Any], count: int) -> Iterator[tuple[Any, ...]]:
    while True:
        yield tuple(noisy_order(universe, GUMBEL, bits=SystemBits(), count=count))


@pytest.mark.statistical
def test_a_longer_list_begins_as_a_shorter_one() -> None:
    """In law: the first two of four are the two best. Chi^2 at a nominal 1e-9."""
    truth = SHAPES["ties"]
    fours = orders(lazy(truth), 4)
    assert chi_square_p(tally(lambda: next(fours)[:2], 500), softmax_law(truth, 2)) > ERROR
