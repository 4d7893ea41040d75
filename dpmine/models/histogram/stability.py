"""How stable the score of a private histogram is, and how many records that takes.

Every bound is a rational number that is not below (for β) or not above (for counts) the real one.
Proof: docs/proofs/models/histogram.md. Source: Chaudhuri & Vinterbo 2013, Theorem 6, and sharper forms of it.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from math import ceil, log, log1p
from typing import TYPE_CHECKING

from dpmine.errors import BadData
from dpmine.exact.reals import GUARD_BITS, Ball, exact_ball, logarithm
from dpmine.exact.rounding import above
from dpmine.models.histogram.noise import GRID
from dpmine.models.validation.sensitivities import Stability
from dpmine.parameters import named

if TYPE_CHECKING:
    from collections.abc import Sequence

_PRECISION = 64 + GUARD_BITS
_STEPS = 4096  # t is a multiple of 1/4096: every t in (0, 1) gives a bound


class Form(StrEnum):
    """Which bound on the stability."""

    TIGHT = "tight"
    """β1_i = 4/((1 − ν_i)h_i), β2_i = 2/h_i, with the best ν_i of a Chernoff bound."""
    PAPER = "paper"
    """β1 = 6/((1 − ν)h_min), β2 = 2/h_min, ν = 2 ln(4k/δ)/(nα√h_min): Theorem 6 as it was published."""

    @classmethod
    def parse(cls, value: str | Form) -> Form:
        """The form of that name; BadParameter otherwise."""
        return named(cls, "stability", value)


def stabilities(
    form: Form, bins: Sequence[int], *, records: int, alpha: Fraction, failure: Fraction
) -> tuple[Stability, ...]:
    """β1 and β2 of every candidate, for n training records, budget α and failure probability δ in all.

    Raises BadData, with the number needed, where n is too small.
    """
    needed = records_needed(form, bins, alpha=alpha, failure=failure)
    if records < needed:
        raise BadData(f"Too few records to train with: stability takes at least {needed} of them for training.")
    if form is Form.PAPER:
        most = max(bins)
        left = records - records_lost_as_published(most, len(bins), alpha=alpha, failure=failure)
        return tuple(Stability(6 * most * records / left, Fraction(2 * most)) for _ in bins)
    lost = [records_lost(count, len(bins), alpha=alpha, failure=failure) for count in bins]
    return tuple(
        Stability(4 * count * records / (records - gone), Fraction(2 * count))
        for count, gone in zip(bins, lost, strict=True)
    )


def records_needed(form: Form, bins: Sequence[int], *, alpha: Fraction, failure: Fraction) -> int:
    """The least number of training records with n(1 − ν) > 0 for every candidate; the paper's form asks for 1 more."""
    lost = records_lost_as_published if form is Form.PAPER else records_lost
    most = max(lost(count, len(bins), alpha=alpha, failure=failure) for count in bins)
    return ceil(most) + 1 if form is Form.PAPER else int(most) + 1


def records_lost(bins: int, candidates: int, *, alpha: Fraction, failure: Fraction) -> Fraction:
    """nν_i: with probability ≥ 1 − δ/k the noisy counts sum to at least n − nν_i, rounded noise included.

    nν_i = (2/α) min_{0<t<1} [ln(k/δ) − s ln(1 − t²)]/t + s·grid/2, s the number of bins: the Chernoff bound
    Pr[ΣR ≤ −θ] ≤ e^{−tθ}(1 − t²)^{−s} for s standard Laplace variables.
    """
    odds = candidates / failure

    def exponent(t: Fraction) -> Ball:
        return (logarithm(odds) - bins * logarithm(1 - t * t)) / exact_ball(t)

    tail = above(lambda: exponent(_best_t(bins, float(odds))), _PRECISION)
    return 2 / alpha * tail + bins * GRID / 2


def records_lost_as_published(bins: int, candidates: int, *, alpha: Fraction, failure: Fraction) -> Fraction:
    """2 ln(4k/δ)√s/α, s the number of bins, and the rounding of the noise."""
    tail = above(lambda: logarithm(4 * candidates / failure) * exact_ball(bins).sqrt(), _PRECISION)
    return 2 / alpha * tail + bins * GRID / 2


def _best_t(bins: int, odds: float) -> Fraction:
    """Near the minimum of [ln(odds) − s ln(1 − t²)]/t, which has one: by ternary search on a grid of t."""
    low, high = 1, _STEPS - 1

    def value(step: int) -> float:
        t = step / _STEPS
        return (log(odds) - bins * log1p(-t * t)) / t

    while high - low > 2:
        left, right = low + (high - low) // 3, high - (high - low) // 3
        low, high = (low, right) if value(left) <= value(right) else (left, high)
    return Fraction(min(range(low, high + 1), key=value), _STEPS)
