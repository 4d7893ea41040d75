"""What an audit of counted draws may say: confidence bounds by Clopper and Pearson."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import beta

if TYPE_CHECKING:
    from collections.abc import Sequence

FALSE_ALARM = 1e-7
"""Of one confidence bound. A statement below rests on two of them."""


def least_loss(hits: Sequence[int], draws: int) -> float:
    """ln(p/q) is certainly at least this, where events of probability p and q were seen that often in the draws."""
    low, high = _bounds(hits, draws)
    return float(np.log(max(low, 1e-300) / high))


def least_delta(hits: Sequence[int], draws: int, epsilon: float) -> float:
    """p − e^ε q is certainly at least this, likewise."""
    low, high = _bounds(hits, draws)
    return float(low - np.exp(epsilon) * high)


def _bounds(hits: Sequence[int], draws: int) -> tuple[float, float]:
    more, fewer = hits
    low = beta.ppf(FALSE_ALARM, more, draws - more + 1) if more else 0.0
    high = beta.isf(FALSE_ALARM, fewer + 1, draws - fewer) if fewer < draws else 1.0
    return low, high
