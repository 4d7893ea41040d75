"""Sufficient and insufficient numbers of records, against the formulas written out, brute force and simulation."""

from __future__ import annotations

from fractions import Fraction
from math import comb, e, exp, inf, log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.cases import every
from support.effort import examples

from dpmine import BadData, BadParameter
from dpmine.models.pac.theory.sample_complexity import (
    Setting,
    Target,
    errors_lost_by_exponential,
    largest_smoothness,
    needle_failure,
    records_for_cover,
    records_for_labels,
    records_too_few_for_packing,
)

if TYPE_CHECKING:
    from collections.abc import Callable

TARGETS = [Target.of(epsilon=eps, accuracy=a, failure=d) for eps in (0.1, 2) for a in (0.05, 0.3) for d in (0.01, 0.2)]
SHARES = st.floats(0.01, 0.9)


def _floats(target: Target) -> tuple[float, float, float]:
    return float(target.epsilon), float(target.accuracy), float(target.failure)


def _first(holds: Callable[[int], bool], start: int = 1) -> int:
    """The least m that holds, by walking; for small m."""
    return next(m for m in range(start, 10**6) if holds(m))


# --- theorems 8 and 9


def _fails_agnostic(m: int, size: int, target: Target) -> float:
    """Hoeffding on both sides of |G| errors, and the draw: a/4 each."""
    eps, a, _ = _floats(target)
    return 2 * size * exp(-2 * m * (a / 4) ** 2) + size * exp(-eps * m * a / 8)


def _fails_realizable(m: int, size: int, target: Target) -> float:
    """Bad hypotheses look better than a/2, the good one worse than a/4, and the draw between the two."""
    eps, a, _ = _floats(target)
    bad = exp(-m * a * (1 - 0.5 + 0.5 * log(0.5)))
    good = exp(-m * a * (0.25 * log(0.25 * 16) - 0.25 + 1 / 16))
    return size * bad + good + size * exp(-eps * m * a / 8)


@every("target", TARGETS)
@every("size", [1, 7, 10**6])
def test_a_cover_of_known_size_by_hand(target: Target, size: int) -> None:
    eps, a, failure = _floats(target)
    agnostic, realizable = (records_for_cover(target, size, setting) for setting in Setting)
    assert agnostic == np.ceil(8 * max(1 / a**2, 1 / (a * eps)) * log(4 * size / failure))
    assert realizable == np.ceil(max(6.52 / a, 8 / (a * eps)) * log(4 * size / failure))
    assert _fails_agnostic(agnostic, size, target) <= failure
    assert _fails_realizable(realizable, size, target) <= failure
    assert realizable <= agnostic


def test_the_chernoff_constant_is_rounded_up() -> None:
    exact = 1 / (0.5 - 0.5 * log(2))
    assert exact < 6.52 < exact + 0.01
    assert 1 / (0.25 * log(4) - 0.25 + 1 / 16) < exact


def test_half_of_the_records_would_not_do_for_the_bound() -> None:
    """A broken twin of the theorem that forgets the factor 2 of Hoeffding's inequality fails the union bound."""
    for target in TARGETS:
        assert _fails_agnostic(records_for_cover(target, 1000) // 2, 1000, target) > target.failure


def test_radii() -> None:
    target = Target.of(epsilon=1, accuracy="0.2", failure=0.1)
    assert target.radius(5) == Fraction(1, 100)
    assert target.radius(5, Setting.REALIZABLE) == Fraction(1, 400)
    assert target.radius(1) == target.accuracy / 4


@given(SHARES, SHARES, st.floats(0.01, 10), st.integers(1, 10**40), st.sampled_from(list(Setting)))
@settings(max_examples=examples(60))
def test_more_is_asked_for_when_more_is_guaranteed(a: float, d: float, eps: float, size: int, setting: Setting) -> None:
    def needed(accuracy: float, failure: float, epsilon: float, count: int) -> int:
        return records_for_cover(Target.of(epsilon=epsilon, accuracy=accuracy, failure=failure), count, setting)

    here = needed(a, d, eps, size)
    assert needed(a / 2, d, eps, size) > here
    assert needed(a, d / 2, eps, size) > here
    assert needed(a, d, eps / 2, size) >= here
    assert needed(a, d, eps, 2 * size) > here


# --- exact simulation of the learners that the theorems speak of


def _excess_failures(m: int, errors: list[float], joint: Any, target: Target) -> float:
    """Exact probability of excess error above a, for two hypotheses that err on disjoint sets of records."""
    eps, a, _ = _floats(target)
    total = 0.0
    for first in range(m + 1):
        for second in range(m + 1 - first):
            draw = 1 / (1 + exp(min(700.0, eps * (second - first) / 2)))  # of the second
            chance = joint([first, second, m - first - second])
            total += chance * (draw if errors[1] - errors[0] > a else 0.0)
    return total


@pytest.mark.parametrize("setting", list(Setting))
@pytest.mark.parametrize("epsilon", [0.5, 4])
def test_so_many_records_are_enough_for_two_hypotheses(setting: Setting, epsilon: float) -> None:
    target = Target.of(epsilon=epsilon, accuracy=0.4, failure=0.3)
    errors = [0.0, 0.41] if setting is Setting.REALIZABLE else [0.1, 0.51]
    m = records_for_cover(target, 2, setting)
    joint = stats.multinomial(m, [*errors, 1 - sum(errors)]).pmf
    assert _excess_failures(m, errors, joint, target) <= 0.3
    few = stats.multinomial(1, [*errors, 1 - sum(errors)]).pmf
    assert _excess_failures(1, errors, few, target) > 0.3  # with one record it fails: the check can fail


# --- finite classes


@every("size", [1, 2, 5, 40])
@every("epsilon", [0.3, 2])
def test_errors_lost_by_exponential_hold_at_the_worst_scores(size: int, epsilon: float) -> None:
    """All others just beyond the bound: the exact probability of one of them is at most η, and not far below."""
    eta = 0.05
    lost = errors_lost_by_exponential(size, epsilon=epsilon, failure=eta)

    def beyond(gap: int) -> float:
        weight = (size - 1) * exp(-epsilon / 2 * gap)
        return weight / (1 + weight)

    assert beyond(lost + 1) <= eta
    if size >= 5:
        assert beyond(lost - 8) > eta


def test_errors_lost_by_hand() -> None:
    assert errors_lost_by_exponential(2**64, epsilon=1, failure=0.1) == int(2 * log(2**64 / 0.1)) == 93
    assert errors_lost_by_exponential(10**10_000, epsilon=1, failure=0.5) == int(2 * (10_000 * log(10) + log(2)))


# --- the largest smoothness


@every("setting", list(Setting))
@every("records", [9_000, 20_000])
def test_the_largest_smoothness_is_allowed_and_nearly_no_larger_one(setting: Setting, records: int) -> None:
    target = Target.of(epsilon=1, accuracy=0.1, failure=0.1)

    def size(radius: Fraction) -> int:
        return int(1 / radius**2) + 1

    kappa = largest_smoothness(target, records, size, setting, 2**64)
    assert records_for_cover(target, size(target.radius(kappa, setting)), setting) <= records
    beyond = kappa * Fraction(1_000_001, 1_000_000)
    assert kappa == 2**64 or records_for_cover(target, size(target.radius(beyond, setting)), setting) > records


def test_the_largest_smoothness_against_brute_force() -> None:
    """A step function of the radius: the same κ̂ as by walking through small steps."""
    target = Target.of(epsilon=2, accuracy=0.2, failure=0.2)

    def size(radius: Fraction) -> int:
        return [2, 3, 11, 12, 500][min(4, int(Fraction(1, 40) / radius))]

    steps = {step: size(target.radius(Fraction(step, 1000))) for step in range(1000, 9000)}
    for records in range(records_for_cover(target, 2), 2000, 50):
        sizes = {count for count in set(steps.values()) if records_for_cover(target, count) <= records}
        allowed = max(step for step, count in steps.items() if count in sizes)
        kappa = largest_smoothness(target, records, size, Setting.AGNOSTIC, Fraction(8999, 1000))
        assert allowed / 1000 - 1e-5 <= kappa < allowed / 1000 + 0.001


def test_a_finite_class_allows_any_smoothness_up_to_the_limit() -> None:
    target = Target.of(epsilon=1, accuracy=0.1, failure=0.1)
    assert largest_smoothness(target, 10**5, lambda _: 100, Setting.AGNOSTIC, 2**64) == 2**64
    assert largest_smoothness(target, 10**5, lambda _: 100, Setting.AGNOSTIC, 3) == 3
    assert largest_smoothness(target, 10**5, lambda _: 100, Setting.AGNOSTIC, 1) == 1


def test_the_number_of_records_needed_is_said() -> None:
    target = Target.of(epsilon=1, accuracy=0.1, failure=0.1)
    least = records_for_cover(target, 100)
    assert largest_smoothness(target, least, lambda _: 100, Setting.AGNOSTIC, 1) == 1
    for records in (least - 1, 0):
        with pytest.raises(BadData, match=f"At least {least} "):
            largest_smoothness(target, records, lambda _: 100, Setting.AGNOSTIC, 2**64)


def test_a_trillion_records_do_not_overflow() -> None:
    target = Target.of(epsilon=1, accuracy=0.1, failure=0.1)
    assert largest_smoothness(target, 10**12, lambda radius: int(4 / radius), Setting.AGNOSTIC, 10**400) == 10**400


# --- label privacy


def _label_conditions(m: int, vc: int, b: float, target: Target, size: float) -> bool:
    eps, a, failure = _floats(target)
    first = (4 * vc * log(2 * e * m / vc) + 4 * log(16 / failure)) / m <= a**2 / (16 * (b + a))
    return 2 * m >= vc and first and m >= 16 / (a * eps) * log(2 * size / failure)


@every("vc", [1, 3, 40])
@every("best", [0, 0.3])
@every("size", [5, 10**40])
def test_label_private_records_are_the_least_that_do(vc: int, best: float, size: int) -> None:
    for epsilon in (0.001, 1):
        target = Target.of(epsilon=epsilon, accuracy=0.5, failure=0.1)
        m = records_for_labels(target, vc, best, size)
        assert _label_conditions(m, vc, best, target, size)
        assert not _label_conditions(m - 1, vc, best, target, size)
        if epsilon == 1:
            assert m == _first(lambda m, t=target: _label_conditions(m, vc, best, t, size), (vc + 1) // 2)  # type: ignore[misc]


@every("a", [0.01, 0.1, 0.5, 0.9])
@every("b", [0.0, 0.01, 0.2, 0.6])
def test_the_conditions_of_label_privacy_give_the_accuracy(a: float, b: float) -> None:
    """Both deviations at once at the largest ε_m allowed: excess error stays within a."""
    deviation = a**2 / (16 * (b + a))

    def most(share: float) -> float:
        """The largest x with x − √(ε_m x) ≤ share: both inequalities have this form."""
        return ((sqrt(deviation) + sqrt(deviation + 4 * share)) / 2) ** 2

    best_on_sample = most(b)
    chosen_on_sample = best_on_sample + a / 4 + a / 8
    assert most(chosen_on_sample) <= b + a


def test_a_larger_best_error_takes_more_records() -> None:
    target = Target.of(epsilon=1, accuracy=0.05, failure=0.1)
    needed = [records_for_labels(target, 3, b, 100) for b in (0, 0.1, 0.4)]
    assert needed == sorted(set(needed))


def test_vc_dimensions_beyond_any_sample_do_not_loop() -> None:
    target = Target.of(epsilon=1, accuracy="1e-90", failure="1e-90")
    m = records_for_labels(target, 10**30, 0, 100)
    assert 10**120 < m < 10**130


def test_sauer() -> None:
    """The number of patterns that the bounds count: Σ_{i ≤ V} C(2m, i) ≤ (2em/V)^V for 2m ≥ V."""
    for vc in range(1, 8):
        for m in range((vc + 1) // 2, 60):
            assert sum(comb(2 * m, i) for i in range(vc + 1)) <= (2 * e * m / vc) ** vc * (1 + 1e-12)


# --- too few records


@every("records", [1, 20, 10**12])
@every("epsilon", [1e-9, 0.1, 5])
def test_needle_failure_by_hand(records: int, epsilon: float) -> None:
    written = 1 - 1 / (5 + 3 * exp(-epsilon * records))
    assert needle_failure(records, epsilon) == pytest.approx(written, rel=1e-12)
    assert needle_failure(records, epsilon) <= written
    assert needle_failure(records, epsilon) >= 0.8 - 1e-12


def _best_success(packing: int, loss: float) -> float:
    """The most that min_h Pr[A(S_h) = h] can be for an εm-private choice: randomised response reaches it."""
    return 1 / (1 + (packing - 1) * exp(-loss))


@every("packing", [2, 3, 1000, 10**50])
@every("epsilon", [0.003, 0.7])
def test_too_few_records_for_a_packing_by_brute_force(packing: int, epsilon: float) -> None:
    m = records_too_few_for_packing(packing, epsilon)
    if m:
        assert _best_success(packing, m * epsilon) <= 0.5 * (1 + 1e-12)
    assert _best_success(packing, (m + 1) * epsilon) > 0.5 * (1 - 1e-12)


def test_one_hypothesis_is_no_packing() -> None:
    assert records_too_few_for_packing(1, 1) == 0


def test_lower_bounds_lie_below_upper_bounds() -> None:
    """Thresholds: ⌊1/(2a)⌋ of them disagree by more than 2a on the uniform distribution."""
    for target in TARGETS:
        packing = int(1 / (2.001 * target.accuracy)) + 1
        assert records_too_few_for_packing(packing, target.epsilon) < records_for_labels(target, 1, 0, packing)


# --- parameters


@every(
    "parameters",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": inf},
        {"accuracy": 0},
        {"accuracy": 1},
        {"failure": 0},
        {"failure": 1},
        {"failure": float("nan")},
    ],
)
def test_bad_targets_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(BadParameter, match=next(iter(parameters))):
        Target.of(**({"epsilon": 1, "accuracy": 0.1, "failure": 0.1} | parameters))


GOOD = Target.of(epsilon=1, accuracy=0.1, failure=0.1)


@every(
    ("call", "name"),
    [
        (lambda: records_for_cover(GOOD, 0), "size"),
        (lambda: GOOD.radius(0), "smoothness"),
        (lambda: largest_smoothness(GOOD, -1, lambda _: 1, Setting.AGNOSTIC, 1), "records"),
        (lambda: largest_smoothness(GOOD, 1000, lambda _: 0, Setting.AGNOSTIC, 1), "size"),
        (lambda: largest_smoothness(GOOD, 1000, lambda _: 1, Setting.AGNOSTIC, 0.5), "limit"),
        (lambda: records_for_labels(GOOD, 0, 0, 1), "vc"),
        (lambda: records_for_labels(GOOD, 1, 1, 1), "best_error"),
        (lambda: records_for_labels(GOOD, 1, 0, 0), "size"),
        (lambda: errors_lost_by_exponential(0, epsilon=1, failure=0.1), "size"),
        (lambda: needle_failure(0, 1), "records"),
        (lambda: records_too_few_for_packing(0, 1), "packing"),
    ],
)
def test_bad_parameters_are_refused_by_name(call: Callable[[], object], name: str) -> None:
    with pytest.raises(BadParameter, match=name):
        call()
