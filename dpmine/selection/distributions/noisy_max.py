"""The distribution of the largest of many scores with independent noise: one quadrature over the winning value."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np

from dpmine.selection.distributions.profile import Rule, panels

if TYPE_CHECKING:
    from dpmine.selection.distributions.profile import FloatArray

_FLOOR = 80.0  # e^-80 is the mass that the integrals may leave out at either end
_ORDER = 16
_CELLS = 2**21  # nodes times levels at once: bounds the memory


class StandardNoise(Enum):
    """A standard noise: its log CDF, its reversed hazard density/CDF, and its quantiles."""

    LAPLACE = auto()
    EXPONENTIAL = auto()

    def log_cdf_and_rate(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ln F(y) and f(y)/F(y), elementwise; for exponential noise only at y > 0."""
        if self is StandardNoise.EXPONENTIAL:
            tail = np.exp(-y)
            log_cdf = np.where(tail < 0.5, np.log1p(-np.minimum(tail, 0.5)), np.log(-np.expm1(-y)))
            return log_cdf, tail / -np.expm1(-y)
        tail = np.exp(-np.abs(y)) / 2
        above = y > 0
        return np.where(above, np.log1p(-tail), y - np.log(2)), np.where(above, tail / (1 - tail), 1.0)

    def quantile(self, minus_log: FloatArray) -> FloatArray:
        """The y where F(y) = e^-minus_log, elementwise."""
        above = -np.expm1(-minus_log)  # 1 − F, to full relative accuracy
        if self is StandardNoise.EXPONENTIAL:
            return np.asarray(-np.log(above))
        return np.asarray(np.where(minus_log > np.log(2), np.log(2) - minus_log, -np.log(2 * above)))


def winner_masses(scores: FloatArray, log_counts: FloatArray, *, scale: float, noise: StandardNoise) -> FloatArray:
    """The probability that a member of each level has the largest score + scale · noise, shape (levels,).

    `scores` and `log_counts`, the logarithms of how many members a level has, have shape (levels,), in any order.
    Law: with L(x) = Σ n_j ln F(x − s_j), level j wins with probability ∫ n_j (f/F)(x − s_j) e^L(x) dx.
    """
    behind = (scores.max() - scores) / scale
    rule = _winner_rule(log_counts, behind, noise)
    counts = np.exp(log_counts)
    masses = np.zeros(counts.size)
    rows = max(1, _CELLS // counts.size)
    for start in range(0, rule.nodes.size, rows):
        part = slice(start, start + rows)
        log_cdf, rate = noise.log_cdf_and_rate(rule.nodes[part, None] + behind)
        masses += counts * ((np.exp(log_cdf @ counts) * rule.weights[part]) @ rate)
    return masses


def _winner_rule(log_counts: FloatArray, behind: FloatArray, noise: StandardNoise) -> Rule:
    """Where the largest noisy score lies, in noise scales above the top score, cut at the kinks of the densities."""
    low = float(np.max(noise.quantile(_FLOOR / np.exp(log_counts)) - behind))
    high = max(low, float(np.max(log_counts - behind))) + _FLOOR / 2
    kinks = -behind[(-behind > low) & (-behind < high)]
    cuts = np.concatenate(([low, high], kinks))
    return panels(cuts, step=1.5, order=_ORDER)
