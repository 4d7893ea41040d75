"""The ρ of a choice against the exact Rényi divergences of the lists it returns, on small neighbouring data sets."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import exp, log
from typing import TYPE_CHECKING

import pytest
from support.cases import every

from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.report_noisy_max import MaxOfExponentials
from dpmine.selection.top_k import OneShot
from dpmine.zcdp import delta_at

if TYPE_CHECKING:
    from collections.abc import Iterator

ORDERS = [1.01, 1.5, 2.0, 4.0, 10.0, 50.0]
SCORES = [(3, 3, 3, 3), (9, 4, 1, 0), (5, 5, 0, 0), (20, 0, 0, 0)]
MOVES = {Neighbors.REPLACE_ONE: (-1, 0, 1), Neighbors.ADD_REMOVE: (0, 1)}
Law = dict[tuple[int, ...], float]


def lists(scores: tuple[int, ...], rate: float, count: int) -> Law:
    """`count` candidates one after another, each in proportion to e^{rate·score} among those left."""
    law: Law = {}
    for order in permutations(range(len(scores)), count):
        probability, left = 1.0, set(range(len(scores)))
        for chosen in order:
            probability *= exp(rate * scores[chosen]) / sum(exp(rate * scores[one]) for one in left)
            left.remove(chosen)
        law[order] = probability
    return law


def permute_and_flip(scores: tuple[int, ...], rate: float) -> Law:
    """Candidates in a random order, the first accepted with probability e^{rate·(score − best)}."""
    law: Law = dict.fromkeys([(one,) for one in range(len(scores))], 0.0)
    accepted = [exp(rate * (score - max(scores))) for score in scores]
    orders = list(permutations(range(len(scores))))
    for order in orders:
        reached = 1 / len(orders)
        for one in order:
            law[one,] += reached * accepted[one]
            reached *= 1 - accepted[one]
    return law


def renyi(law: Law, other: Law, order: float) -> float:
    return log(sum(mass * (mass / other[key]) ** (order - 1) for key, mass in law.items())) / (order - 1)


def neighbours(scores: tuple[int, ...], neighbors: Neighbors) -> Iterator[tuple[int, ...]]:
    for move in product(MOVES[neighbors], repeat=len(scores)):
        yield tuple(score + step for score, step in zip(scores, move, strict=True))


@every("neighbors", list(Neighbors))
@every("count", [1, 2, 3])
@every("scores", SCORES)
def test_lists_keep_their_rho(neighbors: Neighbors, count: int, scores: tuple[int, ...]) -> None:
    top = OneShot.of(count, Fraction(2), Fraction(0), neighbors)
    rate, rho = float(1 / top.mechanism.scale), float(top.zcdp.rho)
    law = lists(scores, rate, count)
    for other in (lists(moved, rate, count) for moved in neighbours(scores, neighbors)):
        for one, two in ((law, other), (other, law)):
            assert all(renyi(one, two, order) <= order * rho * (1 + 1e-9) + 1e-12 for order in ORDERS)
            for epsilon in (Fraction(1, 4), Fraction(1)):
                lost = sum(max(0.0, mass - exp(epsilon) * two[key]) for key, mass in one.items())
                assert lost <= float(delta_at(top.zcdp.rho, epsilon)) + 1e-12


def test_rho_is_not_larger_than_it_must_be() -> None:
    top = OneShot.of(1, Fraction(1, 4), Fraction(0), Neighbors.REPLACE_ONE)
    rate = float(1 / top.mechanism.scale)
    nearly = renyi(lists((0, 0), rate, 1), lists((1, -1), rate, 1), 1.01)
    assert nearly == pytest.approx(1.01 * float(top.zcdp.rho), rel=0.02)


@every("epsilon", [Fraction(1, 2), Fraction(1)])
def test_permute_and_flip_has_not_the_rho_of_the_exponential_mechanism(epsilon: Fraction) -> None:
    """Noise of exponentials chooses as permute-and-flip does: here it loses more than ε²/8, and no more than ε²/2."""
    mechanism = MaxOfExponentials(epsilon, Fraction(0), Neighbors.REPLACE_ONE)
    rate = float(1 / mechanism.scale)
    lost = renyi(permute_and_flip((1, 0), rate), permute_and_flip((0, 1), rate), 1.01) / 1.01
    assert float(epsilon**2 / 8) * 2 < lost < float(mechanism.zcdp.rho)
