from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from support.adversary import Descent, LazyUniverse
from support.effort import draws
from support.numpy_bits import NumpyBits
from support.oracles.mechanisms import chi_square_p, tally

from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import Constant, Formula, GumbelNoise, draw
from dpmine.selection.draws import KnownRival, draws_from_best
from dpmine.selection.universes import crowds
from dpmine.selection.universes.dense import Dense
from dpmine.selection.universes.protocol import Remaining, Scaled
from dpmine.selection.universes.ranking import Padded, Ranking, ranking_of

TRUTH = {"a": 5, "b": 3, "c": 3, "d": 3, "e": 1, "f": 0}
SORTED = [5, 3, 3, 3, 1, 0]
NOISE = GumbelNoise(Fraction(2))


def expected_law(count: int, padding: int, rival: float = 0.0) -> dict[str | None, float]:
    """The weight of the cut level is shared by all its members; dummies and the rival are None."""
    scores = [*(s for s in SORTED if s or not padding), *[0] * padding][:count]
    weights = {s: scores.count(s) * 2.718281828459045 ** (s / 2) for s in set(scores)}
    total = sum(weights.values()) + rival
    law: dict[str | None, float] = {None: (rival + (weights.pop(0, 0.0) if padding else 0.0)) / total}
    for name, score in TRUTH.items():
        if score in weights:
            law[name] = weights[score] / SORTED.count(score) / total
    return law


@pytest.mark.statistical
@pytest.mark.parametrize("padding", [0, 9])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 8])
def test_law_among_the_best(count: int, padding: int) -> None:
    """Chi^2 of 1,000 draws at a nominal 1e-9 for each of 13 cases."""
    if count > len(SORTED) and not padding:
        pytest.skip("there are only six candidates")

    def choose() -> str | None:
        universe = LazyUniverse(TRUTH, least=0, descent=Descent.CRAWL, padding=padding)
        return next(draws_from_best(universe, Ranking(universe), count, NOISE, places=1, bits=SystemBits()), None)

    assert chi_square_p(tally(choose, 1000), expected_law(count, padding)) > 1e-9


@pytest.mark.statistical
def test_law_with_a_rival() -> None:
    """A rival of score 4 has the weight e^2. Chi^2 of 1,000 draws at a nominal 1e-9."""
    bits = SystemBits()

    def choose() -> str | None:
        universe = LazyUniverse(TRUTH, least=0, descent=Descent.CRAWL)
        rival = KnownRival(Formula(lambda gumbel: 4 + gumbel, draw(NOISE, bits=bits)))
        return next(draws_from_best(universe, Ranking(universe), 3, NOISE, places=1, bits=bits, rival=rival), None)

    assert chi_square_p(tally(choose, 1000), expected_law(3, 0, rival=2.718281828459045**2)) > 1e-9


FLOATS = [0.0, 3.25, 1.75, 6.0, 1.75, 0.0, 4.5]
SENSITIVITY = Fraction(5, 4)


def law_of_floats(kept: int, padding: int, gone: int | None, rival: float) -> dict[int | None, float]:
    """By candidates: those of the cut level share what is left of it equally."""
    scores = {place: score / float(SENSITIVITY) for place, score in enumerate(FLOATS) if place != gone}
    if padding:
        scores = {place: score for place, score in scores.items() if score}
    law, left = dict[int | None, float](), kept
    for score in sorted(set(scores.values()), reverse=True):
        members = [place for place in scores if scores[place] == score]
        law |= dict.fromkeys(members, min(left, len(members)) / len(members) * exp(score / 2))
        left -= min(left, len(members))
    law[None] = rival + (left if padding else 0)
    total = sum(law.values())
    return {place: mass / total for place, mass in law.items() if mass}


@pytest.mark.statistical
@pytest.mark.parametrize("padding", [0, 20])
@pytest.mark.parametrize("gone", [None, 3])
@pytest.mark.parametrize("has_rival", [False, True])
@pytest.mark.parametrize("kept", [1, 3, 4, 6, 9])
def test_law_of_an_array(
    kept: int, padding: int, gone: int | None, monkeypatch: pytest.MonkeyPatch, *, has_rival: bool
) -> None:
    """Of bands, scaled, without one taken, padded, and with a rival of score 2. Chi^2 at a nominal 1e-9, 36 cases."""
    if kept == 9 and not padding:
        pytest.skip("there are fewer candidates")
    monkeypatch.setattr(crowds, "_FEW", 0)
    bits = NumpyBits(12)
    left = Remaining(Dense(np.array(FLOATS)))
    if gone is not None:
        left.take(gone)
    universe = Padded(Scaled(left, SENSITIVITY), padding)
    ranking = ranking_of(universe)

    def choose() -> int | None:
        rival = KnownRival(Formula(lambda gumbel: 2 + gumbel, draw(NOISE, bits=bits))) if has_rival else None
        drawn = draws_from_best(universe, ranking, kept, NOISE, places=1, bits=bits, rival=rival)
        return next(drawn, None)

    law = law_of_floats(kept, padding, gone, rival=exp(1) if has_rival else 0.0)
    assert chi_square_p(tally(choose, draws(3_000)), law) > 1e-9


def test_a_rival_is_moved_exactly() -> None:
    """A rival just above the best score, or just below it, where floats cannot tell: there is no noise to speak of."""
    tiny = GumbelNoise(Fraction(1, 10**60))
    scores = np.array([1e9 + 0.125, 1e9, 5.0] * 7)
    universe = Scaled(Dense(scores), Fraction(1, 3))
    best = 3 * Fraction(scores[0].item())
    for step, winners in ((Fraction(1, 10**40), {None}), (-Fraction(1, 10**40), set(range(0, 21, 3)))):
        rival = KnownRival(Constant(best + step))
        ranking = ranking_of(universe)
        drawn = draws_from_best(universe, ranking, 20, tiny, places=1, bits=SystemBits(), rival=rival)
        assert next(drawn, None) in winners
