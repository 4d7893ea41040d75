"""Bounds of the papers on numbers of records, against the formulas written out, brute force and simulation."""

from __future__ import annotations

from fractions import Fraction
from math import e, exp, log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.cases import every

from dpmine import BadParameter
from dpmine.models.pac.theory.sample_complexity import (
    Setting,
    Target,
    needle_failure,
    records_for_cover,
    records_too_few_for_packing,
)
from dpmine.privacy import Neighbors
from experiments.learning_bounds import (
    errors_lost_by_large_margin,
    label_records_too_few,
    large_margin_reach,
    packing_success,
    records_for_class,
    records_for_dimension,
    records_for_large_margin,
    records_too_few_for_dimension,
)

if TYPE_CHECKING:
    from collections.abc import Callable

GOOD = Target.of(epsilon=1, accuracy=0.1, failure=0.1)
TARGETS = [Target.of(epsilon=eps, accuracy=a, failure=d) for eps in (0.1, 2) for a in (0.05, 0.3) for d in (0.01, 0.2)]


def _floats(target: Target) -> tuple[float, float, float]:
    return float(target.epsilon), float(target.accuracy), float(target.failure)


@every("target", TARGETS)
@every(("dimension", "kappa"), [(1, 1), (2.5, 40), (9, 1e12)])
def test_a_doubling_dimension_stands_for_the_size_of_a_cover(target: Target, dimension: float, kappa: float) -> None:
    a = float(target.accuracy)
    for setting, constant in ((Setting.AGNOSTIC, 16), (Setting.REALIZABLE, 64)):
        size = int((constant * kappa / a) ** dimension)
        needed = records_for_dimension(target, dimension, kappa, setting)
        assert needed == pytest.approx(records_for_cover(target, size, setting), rel=1e-2, abs=1)
        assert needed >= records_for_cover(target, int(size * (1 - 1e-9)), setting)


@pytest.mark.parametrize("kappa", [10**30, Fraction(10) ** 5000, "1e300"])
def test_large_smoothness_does_not_overflow(kappa: Any) -> None:
    target = Target.of(epsilon=1, accuracy=0.1, failure=0.1)
    nats = log(160) + (log(Fraction(kappa).numerator))
    assert records_for_dimension(target, 3, kappa) == pytest.approx(800 * (3 * nats + log(40)), rel=1e-12, abs=1)


@pytest.mark.parametrize(("size", "epsilon"), [(2, 1.0), (50, 0.5), (400, 3.0)])
def test_so_many_records_are_enough_for_a_finite_class(size: int, epsilon: float) -> None:
    """One good hypothesis and many bad ones with independent errors: 400 samples, the draw's law exact on each."""
    target = Target.of(epsilon=epsilon, accuracy=0.25, failure=0.1)
    generator = np.random.default_rng(7)
    m = records_for_class(target, size)
    means = np.full(size, 0.5)
    means[0] = 0.24
    assert _share_of_bad_draws(generator.binomial(m, means, (400, size)), epsilon) <= 0.1
    if size > 2:
        assert _share_of_bad_draws(generator.binomial(5, means, (400, size)), epsilon) > 0.3


def _share_of_bad_draws(counts: Any, epsilon: float) -> float:
    weights = np.exp(-epsilon / 2 * (counts - counts.min(axis=1, keepdims=True)))
    return float(1 - (weights[:, 0] / weights.sum(axis=1)).mean())


@every("target", TARGETS)
@every("size", [1, 30, 2**64])
@every(("neighbors", "reach"), [(Neighbors.REPLACE_ONE, 2), (Neighbors.ADD_REMOVE, 1)])
def test_a_finite_class_meets_its_condition_and_no_fewer_do(
    target: Target, size: int, neighbors: Neighbors, reach: int
) -> None:
    eps, a, failure = _floats(target)
    m = records_for_class(target, size, neighbors)

    def lost(records: int) -> float:
        nats = log(2 * size / failure)
        return 2 * sqrt(nats / (2 * records)) + reach * nats / (eps * records)

    assert lost(m) <= a * (1 + 1e-12)
    assert lost(m - 1) > a


@pytest.mark.parametrize("near", [1, 2**50])
def test_large_margin_over_a_finite_class_meets_its_condition(near: int) -> None:
    target, size = Target.of(epsilon=0.5, accuracy=0.1, failure=0.1), 2**64
    m = records_for_large_margin(target, size, near)

    def lost(records: int) -> float:
        return 2 * sqrt(log(2 * size / 0.1) / (2 * records)) + 12 * log(4 * near / 0.1) / records

    assert lost(m) <= 0.1 < lost(m - 1)
    assert (m < records_for_class(target, size)) == (near == 1)


def test_errors_lost_by_large_margin_by_hand() -> None:
    assert errors_lost_by_large_margin(2**50, epsilon=1, failure=0.1) == int(6 * log(2**51 / 0.1)) == 225


def test_the_reach_of_large_margin_by_hand() -> None:
    eps, delta, eta, rank = 0.5, 1e-6, 0.1, 3
    t = 6 * (1 + log(3 * rank / delta) / eps)
    threshold = 3 / eps * log(3 / (2 * delta)) + 6 / eps * log(3 / delta)
    threshold += 12 / eps * log(3 * rank * (rank + 1) / delta) + t
    reach = large_margin_reach(rank, epsilon=eps, delta=delta, failure=eta)
    assert reach == np.ceil(threshold + 21 / eps * log(3 / eta))


def test_needle_failure_is_what_the_packing_gives() -> None:
    """⌊6 + 4e^{εm}⌋ − 1 windows are enough of them for the theorem."""
    for loss in np.linspace(0.01, 20, 200):
        windows = int(6 + 4 * exp(loss)) - 1
        assert 1 - packing_success(1, windows, float(loss)) >= needle_failure(1, float(loss)) - 1e-15


def _best_success(packing: int, loss: float) -> float:
    """The most that min_h Pr[A(S_h) = h] can be for an εm-private choice: randomised response reaches it."""
    stay = exp(loss) / (exp(loss) + packing - 1)
    assert stay / ((1 - stay) / (packing - 1)) == pytest.approx(exp(loss))
    return stay


@every("packing", [2, 3, 100])
@every("loss", [0.01, 1, 8])
def test_randomised_response_reaches_the_bound_on_packings(packing: int, loss: float) -> None:
    bound = packing_success(1, packing, loss)
    best = _best_success(packing, loss)
    assert best <= bound <= best * (1 + 1e-12)


def test_one_hypothesis_is_no_packing() -> None:
    assert packing_success(10, 1, 1) == 1
    assert packing_success(0, 4, 1) == pytest.approx(0.25)


@every("packing", [2, 3, 1000, 10**50])
@every("epsilon", [0.003, 0.7])
def test_too_few_records_for_a_packing_by_brute_force(packing: int, epsilon: float) -> None:
    m = records_too_few_for_packing(packing, epsilon)
    if m:
        assert packing_success(m, packing, epsilon) <= 0.5 * (1 + 1e-12)
    assert packing_success(m + 1, packing, epsilon) > 0.5


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "2"])
def test_the_dimension_gives_less_than_its_packing(epsilon: str) -> None:
    for dimension in (1, 2, 7, 30):
        by_dimension = records_too_few_for_dimension(dimension, epsilon)
        assert by_dimension == int((dimension - 1) * log(2) / float(epsilon))
        assert by_dimension <= records_too_few_for_packing(2**dimension, epsilon)


def test_lower_bounds_lie_below_upper_bounds() -> None:
    """Thresholds: ⌊1/(2a)⌋ of them disagree by more than 2a on the uniform distribution."""
    for target in TARGETS:
        packing = int(1 / (2.001 * target.accuracy)) + 1
        assert records_too_few_for_packing(packing, target.epsilon) < records_for_dimension(target, 1, 1)


def _theorem_10(m: int, vc: int, packing: int, eps: float, a: float) -> bool:
    converged = (8 * vc * log(2 * e * m / vc) + 4 * log(16)) / m <= a / 3
    return 2 * m >= vc and converged and m < log(packing / 2 - 1) / (32 * eps * a)


@every("epsilon", [1e-5, 1e-4, 1e-3, 0.1])
@every("packing", [3, 4, 5, 6, 100, 10**6])
@every("a", [0.3, 0.9])
def test_theorem_10_against_brute_force(epsilon: float, packing: int, a: float) -> None:
    found = label_records_too_few(1, packing, epsilon=epsilon, accuracy=a)
    limit = int(log(packing / 2 - 1) / (32 * epsilon * a)) + 2 if packing > 4 else 2
    holding = [m for m in range(1, limit) if packing > 4 and _theorem_10(m, 1, packing, epsilon, a)]
    assert found == max(holding, default=0)


def test_theorem_10_is_vacuous_at_usual_parameters() -> None:
    assert label_records_too_few(10, 2**100, epsilon=0.01, accuracy=0.01) == 0
    assert label_records_too_few(10, 2**100, epsilon="1e-6", accuracy=0.01) > 0


@every("vc", [1, 2, 10, 1000])
@every("a", ["1e-9", "0.001", "0.1"])
def test_theorem_10_says_nothing_about_real_packings_from_1_in_768(vc: int, a: str) -> None:
    """Haussler's bound on P, at its largest: nothing is guaranteed, though it is for a smaller ε."""
    packing = int(Fraction(e).limit_denominator(10**6) * (vc + 1) * (Fraction(e) / (3 * Fraction(a))) ** vc)
    assert label_records_too_few(vc, packing, epsilon=Fraction(1, 768), accuracy=a) == 0
    assert label_records_too_few(vc, packing, epsilon=Fraction(1, 10**6), accuracy=a) > 0


def test_the_packing_lemma_of_theorem_10_by_arithmetic() -> None:
    """With ε_m = r/3: 6r disagreements look like more than 4r, 12r like at most 16r, and 2r come from more than r."""
    r = 1.0
    assert 6 * r - sqrt(6 * r * r / 3) > 4 * r
    assert 16 * r - sqrt(16 * r * r / 3) > 12 * r
    assert 2 * r - sqrt(2 * r * r / 3) > r


@every(
    ("call", "name"),
    [
        (lambda: packing_success(-1, 2, 1), "records"),
        (lambda: packing_success(1, 0, 1), "packing"),
        (lambda: records_for_dimension(GOOD, -1, 2), "dimension"),
        (lambda: records_for_dimension(GOOD, 1, 0.99), "smoothness"),
        (lambda: records_for_class(GOOD, 0), "size"),
        (lambda: records_for_class(GOOD, 1, "friends"), "neighbors"),
        (lambda: records_for_large_margin(GOOD, 1, 0), "near_best"),
        (lambda: errors_lost_by_large_margin(1, epsilon=0, failure=0.1), "epsilon"),
        (lambda: large_margin_reach(1, epsilon=1, delta=0, failure=0.1), "delta"),
        (lambda: records_too_few_for_dimension(0.5, 1), "dimension"),
        (lambda: label_records_too_few(1, 5, epsilon=1, accuracy=0), "accuracy"),
    ],
)
def test_bad_parameters_are_rejected_by_name(call: Callable[[], object], name: str) -> None:
    with pytest.raises(BadParameter, match=name):
        call()
