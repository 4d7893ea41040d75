"""What an audit of counted draws may say: confidence bounds by Clopper and Pearson."""

from __future__ import annotations

import numpy as np
from scipy.stats import beta

FALSE_ALARM = 1e-7
"""Of one confidence bound. A statement below rests on two of them."""


def least_loss(more: int, fewer: int, draws: int) -> float:
    """ln(p/q) is certainly at least this, where one event of probability p was seen `more` times, the other `fewer`."""
    low, high = _bounds(more, fewer, draws)
    return float(np.log(max(low, 1e-300) / high))


def least_delta(more: int, fewer: int, draws: int, epsilon: float) -> float:
    """p − e^ε q is certainly at least this, likewise."""
    low, high = _bounds(more, fewer, draws)
    return float(low - np.exp(epsilon) * high)


def _bounds(more: int, fewer: int, draws: int) -> tuple[float, float]:
    low = beta.ppf(FALSE_ALARM, more, draws - more + 1) if more else 0.0
    high = beta.isf(FALSE_ALARM, fewer + 1, draws - fewer) if fewer < draws else 1.0
    return low, high
