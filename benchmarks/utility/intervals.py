"""95 % confidence intervals of bench_utility.py for means of values in [0, 1]: valid for every law and number of runs.

The k places of one run are not independent, the runs are: a run's precision is one value.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

MISSED = 0.05
_ENORMOUS = 500.0  # a capital's logarithm: further up, floats overflow
_BETS = np.arange(1, 400) / 400
_MEANS = np.arange(1, 1000) / 1000


def betting_interval(values: list[float]) -> tuple[float, float]:
    """Of the mean of independent values with one mean: all means that a bet against them does not refute.

    A bettor who stakes a share of the capital on values above the mean m multiplies it by 1 + b (x/m − 1) a value; over
    all shares b on average the capital has expectation 1 if m is the mean, so that it exceeds 2/0.05 with probability
    at most 0.05/2 (Markov); likewise for values below. Source: Waudby-Smith & Ramdas 2024, with an even mixture of b.
    """
    held = np.array(values)
    low = _refuted(held)
    high = 1 - _refuted(1 - held)
    return low, high


def _refuted(values: np.ndarray) -> float:
    """The largest m up to which the mean is refuted as being too small; 0 for none."""
    growth = np.log1p(_BETS[None, :, None] * (values[None, None, :] / _MEANS[:, None, None] - 1)).sum(axis=2)
    capital = np.exp(np.minimum(growth, _ENORMOUS)).mean(axis=1)
    kept = np.flatnonzero(capital < 2 / MISSED)
    return float(_MEANS[kept[0] - 1]) if len(kept) and kept[0] else 0.0


def hoeffding(count: int) -> float:
    """The half-width for the mean of so many independent values with means of their own."""
    return sqrt(log(2 / MISSED) / (2 * count))
