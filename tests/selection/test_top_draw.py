from __future__ import annotations

from fractions import Fraction

import pytest
from support.adversary import Descent, LazyUniverse
from support.oracles.mechanisms import chi_square_p, tally

from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import Formula, GumbelNoise, draw
from dpmine.selection.draws import KnownRival, draw_from_best, draws_from_best
from dpmine.selection.universes.ranking import Ranking

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
        return draw_from_best(universe, Ranking(universe), count, NOISE, bits=SystemBits())

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
