"""The number of runs has its exact law, by all bit tapes, and the wanted mean."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from models.search.laws import negative_binomial, truncated_poisson
from support.cases import every
from support.goodness import assert_sampled_law
from support.tapes import assert_law

from dpmine.errors import BadParameter
from dpmine.exact.reals import below
from dpmine.models.search.runs import NegativeBinomial, Stopping, TruncatedPoisson, stopping_of

LAWS: dict[str, tuple[Stopping, Any]] = {
    "geometric": (NegativeBinomial(Fraction(1), Fraction(1, 4)), negative_binomial(1, 0.25)),
    "logarithmic": (NegativeBinomial(Fraction(0), Fraction(1, 10)), negative_binomial(0, 0.1)),
    "half": (NegativeBinomial(Fraction(1, 2), Fraction(1, 10)), negative_binomial(0.5, 0.1)),
    "minus half": (NegativeBinomial(Fraction(-1, 2), Fraction(1, 10)), negative_binomial(-0.5, 0.1)),
    "two": (NegativeBinomial(Fraction(2), Fraction(2, 3)), negative_binomial(2, 2 / 3)),
    "Poisson": (TruncatedPoisson(Fraction(5, 2)), truncated_poisson(2.5)),
}


def test_the_oracle_of_the_geometric_law() -> None:
    """Beside exact fractions, so that the gamma functions of the oracle are checked, too."""
    exact = [Fraction(1, 4) * Fraction(3, 4) ** (k - 1) for k in range(1, 50)]
    assert np.allclose(LAWS["geometric"][1][1:50], [float(mass) for mass in exact], rtol=1e-12)


@every("name", LAWS)
def test_the_oracles_are_laws(name: str) -> None:
    assert abs(LAWS[name][1].sum() - 1) < 1e-9


@every("name", LAWS)
def test_the_law_of_the_number_of_runs(name: str) -> None:
    """Every tape of up to 12 bits: the true probability of each number lies in its bracket."""
    stopping, masses = LAWS[name]
    expected = {k: float(masses[k]) for k in range(1, 300)}
    assert_law(lambda bits: stopping.draw(bits=bits), expected, depth=12, undecided=0.03)


@pytest.mark.statistical
@every("name", LAWS)
def test_sampled_numbers_of_runs(name: str) -> None:
    """With the widths that are used outside tests, tails included. False alarms: 10^−6 for each law."""
    stopping, masses = LAWS[name]
    expected = {k: float(masses[k]) for k in range(1, len(masses)) if masses[k] > 0}
    assert_sampled_law(lambda bits: stopping.draw(bits=bits), expected, draws=2000)


@every("name", LAWS)
def test_the_mean(name: str) -> None:
    stopping, masses = LAWS[name]
    mean = float(np.arange(len(masses)) @ masses)
    assert mean * (1 - 1e-9) <= float(stopping.mean_above()) <= mean * (1 + 1e-8)
    assert below(stopping.mean, 192) <= stopping.mean_above()


@every("name", LAWS)
@every("epsilon", [0.1, 1.0, 4.0])
@every("delta", [0.0, 1e-6, 0.01])
def test_the_largest_change(name: str, epsilon: float, delta: float) -> None:
    """f'(1 − b)/f'(1 − b') by sums over k, on a grid of all pairs that privacy allows."""
    stopping, masses = LAWS[name]
    runs = np.arange(1, len(masses))
    b = np.concatenate([np.linspace(0, 1, 40), np.geomspace(1e-9, 1, 40), [(1 - delta) / (np.exp(epsilon) + 1)]])
    other = np.minimum(np.exp(epsilon) * b + delta, 1 - np.exp(-epsilon) * (1 - b - delta)).clip(0, 1)
    slopes = [(masses[1:] * runs) @ (1 - place[np.newaxis, :]) ** (runs[:, np.newaxis] - 1.0) for place in (b, other)]
    largest = float(np.log(slopes[0] / slopes[1]).max())
    claimed = float(below(lambda: stopping.log_change(Fraction(epsilon), Fraction(delta)), 192))
    assert largest <= claimed + 1e-9
    assert largest >= claimed - 1e-6


@every("name", ["negative_binomial", "poisson"])
@every("runs", ["1.01", 3, 10, 1000])
@every("shape", ["-1/2", 0, "1/2", 1, 3])
def test_the_wanted_mean(name: str, runs: Any, shape: Any) -> None:
    mean = stopping_of(name, runs, shape).mean_above()
    assert abs(float(mean) / float(runs) - 1) < 1e-6


def test_the_geometric_law_has_its_mean_exactly() -> None:
    assert stopping_of("negative-binomial", 10, 1) == NegativeBinomial(Fraction(1), Fraction(1, 10))


@every(
    ("name", "runs", "shape"),
    [("binomial", 3, 0), ("poisson", 1, 0), ("poisson", 10_001, 0), ("poisson", 3, -1), ("poisson", "x", 0)],
)
def test_unusable_numbers_of_runs(name: str, runs: Any, shape: Any) -> None:
    with pytest.raises(BadParameter):
        stopping_of(name, runs, shape)
