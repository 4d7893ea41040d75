"""The number of runs has its exact law and the wanted mean, and the total beside exact laws of the best of K runs."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from models.search.laws import best_law, delta_of, losses, negative_binomial, truncated_poisson
from support.cases import every
from support.goodness import assert_sampled_law
from support.numpy_bits import NumpyBits
from support.tapes import assert_law

from dpmine.auditing import epsilon_lower_bound
from dpmine.errors import BadParameter
from dpmine.exact.reals import below
from dpmine.models.search.estimator import best_of
from dpmine.models.search.runs import (
    NegativeBinomial,
    RunBudget,
    Stopping,
    TruncatedPoisson,
    renyi_epsilon,
    run_bounds,
    run_budget,
    run_rho,
    stopping_of,
    total_epsilon,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.exact.bits import BitSource


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


EPSILONS = [0.1, 0.5, 2.0]


def worst_pair(epsilon: float, tiny: float = 1e-7) -> tuple[list[float], list[float]]:
    """Outcomes worse, y, better: the ε-private neighbours of the proof, on which the total is attained."""
    better = 1 / (exp(epsilon) + 1)
    here = [1 - better - tiny, tiny, better]
    there = [1 - exp(epsilon) * better - exp(-epsilon) * tiny, exp(-epsilon) * tiny, exp(epsilon) * better]
    return here, there


def random_pair(seed: int, epsilon: float, outcomes: int = 6) -> tuple[Any, Any]:
    """An ε-private pair of laws: two weights for every outcome, normalised, with half of ε for either."""
    generator = np.random.default_rng(seed)
    base, tilt = generator.dirichlet(np.ones(outcomes)), generator.uniform(-1, 1, outcomes)
    if seed % 2:
        tilt = np.sign(tilt)
    here, there = (base * np.exp(way * epsilon / 4 * tilt) for way in (1, -1))
    return here / here.sum(), there / there.sum()


@every("name", LAWS)
@every("epsilon", EPSILONS)
def test_the_worst_pair_attains_the_total(name: str, epsilon: float) -> None:
    stopping, masses = LAWS[name]
    here, there = worst_pair(epsilon)
    assert losses(np.array(here), np.array(there)).max() == pytest.approx(epsilon)
    total = float(total_epsilon(stopping, RunBudget(Fraction(epsilon))))
    loss = losses(best_law(masses, here), best_law(masses, there)).max()
    assert total - 1e-4 < loss < total + 1e-6


@every("name", LAWS)
@every("epsilon", EPSILONS)
@every("seed", range(20))
def test_no_private_pair_exceeds_the_total(name: str, epsilon: float, seed: int) -> None:
    stopping, masses = LAWS[name]
    here, there = random_pair(seed, epsilon)
    assert losses(here, there).max() <= epsilon
    total = float(total_epsilon(stopping, RunBudget(Fraction(epsilon))))
    assert losses(best_law(masses, here), best_law(masses, there)).max() <= total


@every("epsilon", EPSILONS)
@every("shape", ["-1/2", 0, 1, 2])
def test_the_total_is_below_the_published_one(epsilon: float, shape: Any) -> None:
    """(2 + η)ε of Papernot & Steinke 2022, Corollary 3, which it reaches for many runs."""
    published = (2 + float(Fraction(shape))) * epsilon
    totals = [
        float(total_epsilon(stopping_of("negative_binomial", runs, shape), RunBudget(Fraction(epsilon))))
        for runs in (2, 100, 10_000)
    ]
    assert totals == sorted(totals)
    assert totals[-1] < published < 1.02 * totals[-1]


@every("name", LAWS)
@every("delta", [1e-6, 1e-3])
def test_runs_with_a_delta(name: str, delta: float) -> None:
    """Runs that give themselves away with probability δ, and otherwise lose ε, as the worst (ε, δ)-private ones do."""
    stopping, masses = LAWS[name]
    here, there = worst_pair(0.5, 1e-3)
    laws = []
    for pair, told in ((here, (delta, 0.0)), (there, (0.0, delta))):
        for order in ((0, 1), (1, 0)):  # the revealing outcomes have the best scores
            ends = [told[place] for place in order]
            laws.append(best_law(masses, [*((1 - delta) * np.array(pair)), *ends]))
    run = RunBudget(Fraction(1, 2), Fraction(delta))
    total, total_delta = float(total_epsilon(stopping, run)), delta * float(stopping.mean_above())
    found = [delta_of(laws[0], laws[2], total), delta_of(laws[1], laws[3], total)]
    assert max(found) <= total_delta
    assert max(found) > total_delta / 2


@every("name", LAWS)
@every("rho", [0.005, 0.1])
def test_runs_under_zcdp(name: str, rho: float) -> None:
    """The best of K numbers with Gaussian noise, cut into 400 cells (which is post-processing)."""
    from scipy.stats import norm

    stopping, masses = LAWS[name]
    edges = np.concatenate([[-np.inf], np.linspace(-6, 6, 400), [np.inf]])
    here, there = (np.diff(norm.cdf(edges, loc=shift)) for shift in (0, np.sqrt(2 * rho)))
    best = [best_law(masses, law) for law in (here, there)]
    for delta in (1e-3, 1e-5):
        epsilon = float(renyi_epsilon(stopping, Fraction(rho), Fraction(delta)))
        assert delta_of(best[0], best[1], epsilon) <= delta
        assert delta_of(best[0], best[1], epsilon / 6) > delta, "far too large"


PEERS = [
    (1, 10, "0.01", "1e-6", 1.2768870960940815),
    (0, 10, "0.01", "1e-6", 1.0601758357482929),
    ("1/2", 10, "0.05", "1e-5", 2.5135895500984047),
    (2, 30, "0.1", "1e-8", 5.6532838456706305),
    (0, 50, "0.5", "1e-5", 8.400102696218234),
]
"""η, mean, ρ, δ, and the ε of dp_accounting 0.6.0: RdpAccountant with 3,000 orders 1 + 10^-3 … 1 + 10^4 and
RepeatAndSelectDpEvent(GaussianDpEvent(1/√(2ρ)), mean, η)."""


@every(("shape", "runs", "rho", "delta", "peer"), PEERS)
def test_totals_of_another_library(shape: Any, runs: int, rho: str, delta: str, peer: float) -> None:
    """Orders between those of the other library may be a little better."""
    found = float(renyi_epsilon(stopping_of("negative_binomial", runs, shape), Fraction(rho), Fraction(delta)))
    assert peer * (1 - 1e-5) <= found <= peer * (1 + 1e-6)


@every("name", LAWS)
@every("epsilon", ["0.01", "1", "8"])
@every("delta", ["0", "1e-6"])
def test_budgets_of_runs_come_to_the_total(name: str, epsilon: str, delta: str) -> None:
    stopping, most, exact_delta = LAWS[name][0], Fraction(epsilon), Fraction(delta)
    run = run_budget(stopping, most, exact_delta)
    assert most * Fraction(999_999, 10**6) < total_epsilon(stopping, run) <= most
    assert run.delta * stopping.mean_above() <= exact_delta * (1 + Fraction(1, 10**30))
    if exact_delta:
        rho = run_rho(stopping, most, exact_delta).rho
        assert rho is not None
        assert most * Fraction(999_999, 10**6) < renyi_epsilon(stopping, rho, exact_delta) <= most


@every("shape", ["-1/2", 0, 1, 5])
@every("epsilon", ["0.01", "1", "8"])
def test_bounds_of_runs_come_to_the_total(shape: Any, epsilon: str) -> None:
    """The total of Theorem 2 by the bounds at two orders alone, written out again, in floats."""
    stopping, delta = stopping_of("negative_binomial", 30, shape), 1e-6
    run = run_bounds(stopping, Fraction(epsilon), Fraction(1, 10**6))
    assert isinstance(stopping, NegativeBinomial)
    assert run is not None
    assert run.bounds is not None
    mean, weight = float(stopping.mean_above()), float(stopping.shape) + 1
    rest = {float(order): float(run.bounds.at(order)) for order in run.bounds.orders}
    totals = [
        rest[alpha]
        + weight * ((1 - 1 / beta) * rest[beta] - np.log(float(stopping.gamma)) / beta)
        + np.log(mean / (alpha * delta)) / (alpha - 1)
        + np.log1p(-1 / alpha)
        for alpha, beta in (tuple(rest), tuple(rest)[::-1])
    ]
    assert 0.95 * float(Fraction(epsilon)) < min(totals) <= float(Fraction(epsilon))
    assert run.rho == run.bounds.rho


def test_bounds_need_a_total_of_two_orders() -> None:
    assert run_bounds(stopping_of("poisson", 30, 1), Fraction(1), Fraction(1, 10**6)) is None


def test_a_budget_that_leaves_nothing() -> None:
    with pytest.raises(BadParameter, match="fewer runs"):
        run_budget(TruncatedPoisson(Fraction(4)), Fraction(1, 100), Fraction(1, 2))


SMALL = NegativeBinomial(Fraction(1), Fraction(1, 2))


@every("scores", [(0, 1, 2, 3), (0, 0, 1, 1), (5, 5, 5, 5)])
def test_the_law_of_the_best(scores: tuple[int, ...]) -> None:
    """Every tape: the draws of two bits and of K are those of the oracle, ties to the first."""

    def sampler(bits: BitSource) -> int:
        return best_of(SMALL, lambda: bits.take(2), lambda found: scores[found], bits=bits)

    levels = sorted(set(scores))
    shares = [scores.count(level) / 4 for level in levels]
    law = dict(zip(levels, best_law(negative_binomial(1, 0.5), shares), strict=True))
    expected = {place: float(law[score]) / scores.count(score) for place, score in enumerate(scores)}
    assert_law(sampler, expected, depth=12, undecided=0.3, runs=15_000)


EPSILON = 1.0


def _audited(draw_runs: Callable[[BitSource], int]) -> float:
    """A statistical lower bound on the privacy loss of the best of runs that are 1-private each; error 10^−6."""
    pair, generators = worst_pair(EPSILON, 0.02), [NumpyBits(1), NumpyBits(2)]

    def sampler(law: list[float], bits: BitSource) -> int:
        cuts = [round(share * 2**32) for share in accumulate(law)]
        return max(bisect_right(cuts, bits.take(32)) for _ in range(draw_runs(bits)))

    here, there = (lambda law=law, bits=bits: sampler(law, bits) for law, bits in zip(pair, generators, strict=True))
    return epsilon_lower_bound(here, there, samples=12_000, confidence=1 - 1e-6)


@pytest.mark.statistical
def test_an_audit_of_the_search() -> None:
    """Above what one run has, below the total. False alarms: 10^−6."""
    stopping = stopping_of("negative_binomial", 5, 1)
    shown = _audited(lambda bits: stopping.draw(bits=bits))
    assert EPSILON < shown < total_epsilon(stopping, RunBudget(Fraction(EPSILON)))


@pytest.mark.statistical
def test_an_audit_catches_a_fixed_number_of_runs() -> None:
    """K = 5 always, charged as if K were geometric with that mean, or as one run."""
    total = total_epsilon(stopping_of("negative_binomial", 5, 1), RunBudget(Fraction(EPSILON)))
    assert _audited(lambda _bits: 5) > total > EPSILON


@every("name", LAWS)
@every("epsilon", EPSILONS)
def test_exact_laws_catch_one_charged_run(name: str, epsilon: float) -> None:
    """All runs charged as if there were one."""
    here, there = (best_law(LAWS[name][1], law) for law in worst_pair(epsilon))
    assert losses(here, there).max() > 1.2 * epsilon


@every("name", LAWS)
@every("epsilon", EPSILONS)
def test_exact_laws_catch_a_number_of_runs_that_does_not_vary(name: str, epsilon: float) -> None:
    """As many as the mean, on the pair where the best outcome is rare, charged as the random number."""
    stopping = LAWS[name][0]
    always = np.zeros(60)
    always[round(float(stopping.mean_above()))] = 1
    here, there = [1 - 1e-6, 1e-6], [1 - exp(epsilon) * 1e-6, exp(epsilon) * 1e-6]
    rare = [best_law(always, law[::-1]) for law in (here, there)]
    loss = losses(*rare).max()
    assert loss == pytest.approx(round(float(stopping.mean_above())) * epsilon, rel=1e-6)
    assert loss > total_epsilon(stopping, RunBudget(Fraction(epsilon)))
