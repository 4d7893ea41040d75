"""Independent oracles of a search: probabilities of K, and of the best of K draws, by sums over k in float64."""

from __future__ import annotations

from math import exp, expm1, lgamma, log
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

MOST = 300
"""Runs beyond which the oracles take no mass: the laws tested have less than 1e-12 there."""


def negative_binomial(shape: float, gamma: float, most: int = MOST) -> NDArray[np.float64]:
    """Pr[K = k] for k = 0 … most, from the definition with gamma functions."""
    runs = range(1, most + 1)
    if shape == 0:
        masses = [exp(k * log(1 - gamma)) / (k * log(1 / gamma)) for k in runs]
    else:
        scale = log(abs(shape)) - log(abs(expm1(-shape * log(gamma)))) - lgamma(1 + shape)
        masses = [exp(k * log(1 - gamma) + lgamma(k + shape) - lgamma(k + 1) + scale) for k in runs]
    return np.array([0.0, *masses])


def truncated_poisson(rate: float, most: int = MOST) -> NDArray[np.float64]:
    return np.array(
        [0.0, *(exp(k * log(rate) - lgamma(k + 1) - log(expm1(rate))) for k in range(1, most + 1))],
    )


def best_law(masses: NDArray[np.float64], outcomes: Sequence[float | Fraction]) -> NDArray[np.float64]:
    """The law of the best of K draws, where the outcomes stand in increasing order of their scores.

    Pr[best ≤ i] = Σ_k Pr[K = k] Pr[one ≤ i]^k.
    """
    below = np.cumsum(np.array([0.0, *map(float, outcomes)]))
    runs = np.arange(len(masses))
    reached = np.array([float(masses @ np.minimum(1.0, share) ** runs) for share in below])
    return np.diff(reached)


def losses(law: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """|ln P/P'| of every outcome."""
    found: NDArray[np.float64] = np.abs(np.log(law) - np.log(other))
    return found


def delta_of(law: NDArray[np.float64], other: NDArray[np.float64], epsilon: float) -> float:
    """The least δ for which P(S) ≤ e^ε P'(S) + δ for all S, in both directions."""
    return max(float(np.maximum(0, a - exp(epsilon) * b).sum()) for a, b in ((law, other), (other, law)))
