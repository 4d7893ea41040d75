"""Goodness of fit of samples to a law."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from scipy.stats import chi2

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from dpmine.exact.bits import BitSource

from support.numpy_bits import NumpyBits

H = TypeVar("H", bound="Hashable")

FALSE_ALARM = 1e-6
"""Chance that one check fails although the law is right; the seed is fixed, so it either always does or never."""

_FEWEST_EXPECTED = 8.0  # rarer outcomes are merged into one


def assert_sampled_law(
    sampler: Callable[[BitSource], H], expected: Mapping[H, float], *, draws: int, seed: int = 20140
) -> None:
    """A chi-squared test of `draws` samples; outcomes outside `expected` fail at once."""
    bits = NumpyBits(seed)
    found = Counter(sampler(bits) for _ in range(draws))
    assert set(found) <= {outcome for outcome, probability in expected.items() if probability > 0}
    assert abs(sum(expected.values()) - 1) < 1e-6
    observed, wanted = _merged(found, expected, draws)
    statistic = float((np.square(observed - wanted) / wanted).sum())
    assert chi2.sf(statistic, len(wanted) - 1) > FALSE_ALARM, (statistic, len(wanted) - 1)


def _merged(
    found: Counter[H], expected: Mapping[H, float], draws: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Observed and expected counts; outcomes too rare for the approximation share one cell, with a common one."""
    ranked = sorted(expected, key=lambda outcome: -expected[outcome])
    common = [outcome for outcome in ranked if expected[outcome] * draws >= _FEWEST_EXPECTED]
    rare = [outcome for outcome in ranked if expected[outcome] * draws < _FEWEST_EXPECTED]
    assert len(common) >= 2, "the law is too concentrated, or the draws are too few, for this test to see anything"
    groups = [[outcome] for outcome in common]
    groups[-1] += rare
    observed = np.array([sum(found[outcome] for outcome in group) for group in groups], np.float64)
    wanted = np.array([sum(expected[outcome] for outcome in group) * draws for group in groups], np.float64)
    return observed, wanted
