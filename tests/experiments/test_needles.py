"""Every private learner of thresholds fails on most of the needles; a learner that is not private finds them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.cases import every
from support.numpy_bits import NumpyBits

import dpmine
from dpmine import BadParameter
from dpmine.models.pac.theory.sample_complexity import needle_failure
from experiments.needles import TOLERATED, Example, Haystack, Needle, ThresholdLearner, try_learner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpmine.parameters import Number

HAYSTACK = Haystack.of(20, "1/4")
"""ε m = 5: 600 windows."""


def _correct(sample: Sequence[Example], threshold: Fraction) -> int:
    return sum((example.point >= threshold) == example.positive for example in sample)


def _private(haystack: Haystack, mechanism: str) -> ThresholdLearner:
    """A private selection over a grid that holds every z: all the help there could be."""
    grid = [Fraction(k, haystack.pins) for k in range(haystack.pins + 1)]

    def learn(sample: Sequence[Example]) -> Fraction:
        scores = [_correct(sample, threshold) for threshold in grid]
        position: int = dpmine.select(scores, epsilon=haystack.epsilon, mechanism=mechanism).index
        return grid[position]

    return learn


def _not_private(sample: Sequence[Example]) -> Fraction:
    """Half way between the classes: no errors on the sample."""
    low = max((example.point for example in sample if not example.positive), default=Fraction(0))
    high = min((example.point for example in sample if example.positive), default=Fraction(1))
    return (low + high) / 2


@pytest.mark.parametrize("mechanism", ["exponential", "max_of_exponentials"])
def test_a_private_learner_fails_on_needles_drawn_after_it(mechanism: str) -> None:
    """The theorem guarantees 4/5 on average; these mechanisms fail more often still."""
    learner, bits = _private(HAYSTACK, mechanism), NumpyBits(1)
    trials = try_learner(learner, HAYSTACK, HAYSTACK.places(60, bits=bits), bits=bits)
    assert trials.guaranteed > 0.8
    assert float(trials.share) >= trials.guaranteed


def test_a_learner_that_is_not_private_finds_them() -> None:
    """A point lies within a mass of 1/4 to either side of z, but for 2·(3/4)^20 < 0.7 %."""
    bits = NumpyBits(2)
    trials = try_learner(_not_private, HAYSTACK, HAYSTACK.places(400, bits=bits), bits=bits)
    assert float(trials.share) < 0.05
    assert float(trials.share) < trials.guaranteed / 10


def test_who_knows_the_place_succeeds_there_and_nowhere_else() -> None:
    """A constant learner is 0-private: the theorem must not guarantee more than it does."""
    bits = NumpyBits(3)
    haystack = Haystack.of(2, "0.1")
    known = haystack.needle(4).threshold
    assert try_learner(lambda _: known, haystack, [4] * 5, bits=bits).failed == 0
    everywhere = try_learner(lambda _: known, haystack, range(1, haystack.pins), bits=bits)
    assert everywhere.failed == haystack.size - 1


def test_failures_are_counted_per_place_and_repeatable() -> None:
    """The same bits, the same failures."""
    learner: ThresholdLearner = lambda sample: float(np.median([float(example.point) for example in sample]))  # noqa: E731
    runs = [try_learner(learner, HAYSTACK, range(1, 200), bits=NumpyBits(9)) for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0].tried == 199
    assert 0 < runs[0].failed < 199
    assert runs[0].share == Fraction(runs[0].failed, 199)


@pytest.mark.parametrize(("records", "epsilon"), [(1, Fraction(1, 2)), (3, Fraction(1, 3)), (5, Fraction(1, 10))])
def test_the_exact_law_of_the_exponential_mechanism_obeys_the_bound(records: int, epsilon: Fraction) -> None:
    """Its success at every z, on a sample that favours z: the mean over z stays below what the theorem allows."""
    haystack = Haystack.of(records, epsilon)
    grid = [Fraction(k, haystack.pins) for k in range(haystack.pins + 1)]
    mean = np.mean([_best_chance(haystack, grid, place) for place in range(1, haystack.pins)])
    assert mean <= 1 - haystack.failure
    assert mean > 1 / len(grid)  # it does use the sample


def _best_chance(haystack: Haystack, grid: Sequence[Fraction], place: int) -> float:
    """Probability of a threshold with error at most 1/4, when half the records lie close to either side of z."""
    needle = haystack.needle(place)
    nudge = needle.half_width / 10**6
    sample = [
        Example(needle.threshold + (nudge if side else -nudge), side == 1)
        for side in [k % 2 for k in range(haystack.records)]
    ]
    weights = np.array([exp(float(haystack.epsilon) * _correct(sample, t) / 2) for t in grid])
    good = np.array([needle.error(t) <= TOLERATED for t in grid])
    return float(weights[good].sum() / weights.sum())


# --- the distributions


@pytest.mark.parametrize("place", [1, 7, 599])
def test_windows_do_not_meet_and_hold_every_success(place: int) -> None:
    """At the window's edge, and beyond, the error is above 1/4; at z it is 0."""
    needle = HAYSTACK.needle(place)
    assert needle.error(needle.threshold) == 0
    for side in (-1, 1):
        edge = needle.threshold + side * needle.half_width
        assert 0 <= edge <= 1
        assert needle.error(edge) == Fraction(1, 4) + needle.half_width / 2
        assert needle.error(edge + side) > needle.error(edge) > TOLERATED
        inside = needle.threshold + side * needle.half_width * Fraction(9, 10)
        assert needle.error(inside) <= TOLERATED
    assert 2 * needle.half_width < Fraction(1, needle.pins)


def _density_error(needle: Needle, threshold: float) -> float:
    """By the continuous density: half uniform on [0, 1], half uniform on the window."""
    z, w = float(needle.threshold), float(needle.half_width)
    t = min(1.0, max(0.0, threshold))
    return abs(t - z) / 2 + min(abs(t - z), w) / (2 * w) / 2


@pytest.mark.parametrize("place", [1, 300, 599])
def test_errors_are_those_of_the_continuous_distribution(place: int) -> None:
    needle = HAYSTACK.needle(place)
    for threshold in np.concatenate(
        [np.linspace(-0.2, 1.2, 60), float(needle.threshold) + np.linspace(-1e-3, 1e-3, 60)]
    ):
        assert float(needle.error(float(threshold))) == pytest.approx(_density_error(needle, threshold), abs=1e-8)


@pytest.mark.statistical
def test_samples_follow_the_distribution() -> None:
    """20,000 points in four parts, and the error of three thresholds: within five standard deviations, seed fixed."""
    needle = HAYSTACK.needle(100)
    sample = needle.sample(20_000, bits=NumpyBits(4))
    points = np.array([float(example.point) for example in sample])
    z, w = float(needle.threshold), float(needle.half_width)
    for low, high in [(0, z - w), (z - w, z), (z, z + w), (z + w, 1)]:
        expected = (high - low) / 2 + (0.25 if abs(high - low - w) < 1e-12 else 0)
        noise = 5 * np.sqrt(expected * (1 - expected) / len(points))
        assert abs(((points > low) & (points < high)).mean() - expected) <= noise
    for threshold in (z + w / 2, z - 2 * w, 0.9):
        wrong = np.mean([(example.point >= threshold) != example.positive for example in sample])
        assert abs(wrong - float(needle.error(threshold))) <= 5 * np.sqrt(0.25 / len(points))


def test_labels_are_those_of_the_threshold() -> None:
    needle = HAYSTACK.needle(599)
    for example in needle.sample(500, bits=NumpyBits(5)):
        assert 0 < example.point < 1
        assert example.point != needle.threshold
        assert example.positive == (example.point >= needle.threshold)


@every(("records", "epsilon"), [(1, "0.01"), (20, "0.25"), (50, "0.1"), (300, "0.1")])
def test_there_are_as_many_windows_as_the_proof_needs(records: int, epsilon: str) -> None:
    haystack = Haystack.of(records, epsilon)
    loss = records * float(epsilon)
    assert haystack.pins == ceil(6 + 4 * exp(loss)) or loss > 25
    assert haystack.size == haystack.pins - 1
    written = 1 - 1 / (1 + (haystack.pins - 2) * exp(-loss))
    assert haystack.failure == pytest.approx(written, rel=1e-9)
    assert haystack.failure <= written + 1e-15
    assert haystack.failure >= needle_failure(records, epsilon) - 1e-15
    assert haystack.needle(1).smoothness == Fraction(1, 2) + Fraction(3 * haystack.pins, 4)


def test_very_narrow_windows_are_exact() -> None:
    haystack = Haystack.of(10_000, "0.1")
    bits = NumpyBits(6)
    [place] = haystack.places(1, bits=bits)
    needle = haystack.needle(place)
    assert haystack.pins.bit_length() > 1400
    assert needle.error(needle.threshold + needle.half_width) > TOLERATED
    assert try_learner(_not_private, Haystack(50, Fraction(20), haystack.pins), [place], bits=bits).failed == 0


def test_places_are_uniform() -> None:
    haystack = Haystack.of(1, "0.01")
    counts = np.bincount(haystack.places(9000, bits=NumpyBits(7)), minlength=haystack.pins)
    assert counts[0] == 0
    assert len(counts) == haystack.pins == 11
    assert abs(counts[1:] - 900).max() < 5 * 30


@every("answer", [float("nan"), float("inf"), "high", None])
def test_answers_that_are_no_number_are_refused(answer: Any) -> None:
    with pytest.raises(BadParameter):
        try_learner(lambda _: answer, HAYSTACK, [1], bits=NumpyBits(8))


@every("answer", [2, -1.5, Fraction(-7, 3), np.float64(1e300)])
def test_answers_outside_the_interval_are_failures(answer: Number) -> None:
    assert try_learner(lambda _: answer, HAYSTACK, [300], bits=NumpyBits(8)).failed == 1


@every(
    ("call", "name"),
    [
        (lambda: Haystack.of(0, 1), "records"),
        (lambda: Haystack.of(1, 0), "epsilon"),
        (lambda: Haystack.of(10**12, 1), "at most 10000"),
        (lambda: HAYSTACK.needle(0), "place"),
        (lambda: HAYSTACK.needle(600), "place"),
        (lambda: HAYSTACK.places(0, bits=NumpyBits(0)), "count"),
        (lambda: HAYSTACK.needle(1).sample(0, bits=NumpyBits(0)), "records"),
        (lambda: try_learner(_not_private, HAYSTACK, [], bits=NumpyBits(0)), "places"),
    ],
)
def test_bad_parameters_are_refused_by_name(call: Callable[[], object], name: str) -> None:
    with pytest.raises(BadParameter, match=name):
        call()
