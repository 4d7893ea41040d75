"""Bounds on private learning that no learner uses: by dimensions and margins, and the known cases of smoothness.

The bounds that learners use stand in `dpmine.models.pac.theory.sample_complexity`; the notation is the same here.
D is κ-smooth to U if Pr_D[A] ≤ κ Pr_U[A] for every event A. Every κ and every size here is a rational number that is
not below the real one, and very near.
Proof: docs/proofs/models/sample_complexity.md. Source: Chaudhuri & Hsu 2011, where no other is named.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

from flint import arb

from dpmine.errors import BadParameter
from dpmine.exact.reals import GUARD_BITS, Ball, above, below, exact_ball, logarithm, working_precision
from dpmine.models.pac.theory.sample_complexity import PRECISION, Setting, Target, converged, float_above, whole_above
from dpmine.parameters import Number, exact_number, exact_share, not_negative, positive, probability, whole
from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.mechanism import lead_sensitivity

if TYPE_CHECKING:
    from collections.abc import Callable

_SHAPE_PRECISION = 512 + GUARD_BITS
_LARGEST_EXPONENT = 10**6
"""κ beyond e^(10^6) is not written out."""

THRESHOLD_DIMENSION = Fraction(1)
"""Doubling dimension of the thresholds on an interval under a reference distribution without atoms."""


def needle_smoothness(records: int, epsilon: Number) -> Fraction:
    """Example 1: 5 + 3e^{εm}, for data half of which lies uniformly in a window of width 2η/3, η = 1/(6 + 4e^{εm}).

    The reference is uniform on [0, 1], as is the other half. Raises BadParameter, also where εm is above 10^6.
    """
    loss = positive("epsilon", epsilon) * whole("records", records)
    if loss > _LARGEST_EXPONENT:
        raise BadParameter("records times epsilon must be at most 1000000: this smoothness is too large to write out.")
    return _above(lambda: 5 + 3 * exact_ball(loss).exp())


def band_smoothness(dimension: int, half_width: Number) -> Fraction:
    """Example 2: 1/I_{γ²}(1/2, (n − 1)/2), for data uniform on the part of the unit sphere of ℝⁿ with |u·x| ≤ γ.

    `dimension` is n ≥ 2, `half_width` γ in (0, 1); the reference is uniform on the sphere, where (u·x)² has the law
    Beta(1/2, (n − 1)/2). Raises BadParameter.
    """
    count, width = whole("dimension", dimension, least=2), exact_share("half_width", half_width)
    return _above(lambda: 1 / _beta_share(exact_ball(width**2), Fraction(1, 2), Fraction(count - 1, 2)))


def band_smoothness_as_published(dimension: int, half_width: Number) -> Fraction:
    """Lemma 20: 1/(1 − 2e^{−nγ²/2}), a bound on `band_smoothness`. Raises BadParameter where γ² ≤ 2 ln 2/n."""
    count, width = whole("dimension", dimension, least=2), exact_share("half_width", half_width)
    with working_precision(_SHAPE_PRECISION):
        if not exact_ball(count * width**2) > 2 * logarithm(2):
            raise BadParameter("half_width must be greater than sqrt(2 ln 2/dimension) for the published bound.")
    return _above(lambda: 1 / (1 - 2 * (-exact_ball(count * width**2 / 2)).exp()))


def caps_smoothness(dimension: int, half_width: Number) -> Fraction:
    """Example 3: 1/I_{1−γ²}((n − 1)/2, 1/2), for data uniform on the part of the unit sphere of ℝⁿ with |u·x| > γ.

    `dimension` is n ≥ 2, `half_width` γ in (0, 1); the reference is uniform on the sphere. Raises BadParameter.
    """
    count, width = whole("dimension", dimension, least=2), exact_share("half_width", half_width)
    return _above(lambda: 1 / _beta_share(exact_ball(1 - width**2), Fraction(count - 1, 2), Fraction(1, 2)))


def caps_smoothness_as_published(dimension: int, half_width: Number) -> Fraction:
    """Lemma 21: (2/(1 − γ))^{(n−1)/2}, a bound on `caps_smoothness`, far above it. Raises BadParameter."""
    count, width = whole("dimension", dimension, least=2), exact_share("half_width", half_width)
    return _above(lambda: exact_ball(2 / (1 - width)) ** exact_ball(Fraction(count - 1, 2)))


def threshold_grid_dimension(points: int) -> Fraction:
    """Doubling dimension of the thresholds at `points` places whose neighbours disagree equally: log₂ min(points, 3).

    At the scale of one step a threshold and both its neighbours need three balls of half that radius.
    """
    most = min(3, whole("points", points))
    return _above(lambda: logarithm(most) / logarithm(2)) if most == 3 else Fraction(most - 1)


def separator_dimension(dimension: int) -> tuple[Fraction, Fraction]:
    """Bounds on the doubling dimension of the separators through the origin of ℝⁿ: n − 1 and (n − 1) log₂ 5.

    Under a distribution that no rotation changes, two separators disagree by their angle over π. `dimension` is n ≥ 2.
    What is enough takes the upper bound, what is too few the lower. Raises BadParameter.
    """
    count = whole("dimension", dimension, least=2)
    return Fraction(count - 1), _above(lambda: (count - 1) * logarithm(5) / logarithm(2))


def separator_packing(dimension: int, radius: Number) -> int:
    """The most separators of ℝⁿ any two of which disagree by more than r: at most 1/σ(πr/2), σ a cap's share.

    σ(φ) = I_{sin²φ}((n − 1)/2, 1/2)/2 is the share of the sphere within angle φ ≤ π/2 of a point. `dimension` is n ≥ 2,
    `radius` r in (0, 1). Caps of half the distance do not meet. Raises BadParameter.
    """
    count, distance = whole("dimension", dimension, least=2), exact_share("radius", radius)
    return floor(_above(lambda: 1 / _cap_share(count, exact_ball(distance) * arb.pi() / 2)))


def records_for_dimension(
    target: Target, dimension: Number, smoothness: Number, setting: Setting = Setting.AGNOSTIC
) -> int:
    """Records that are enough for any cover that is a packing as well: `records_for_cover` at |G| = (16κ/a)^d.

    Requires: d = `dimension` ≥ 0 bounds the doubling dimension of the class under the reference distribution, and
    κ = `smoothness` ≥ 1 as there. Realizable: (64κ/a)^d.
    Source: theorems 8 and 9 with lemma 14. Raises BadParameter.
    """
    rate, doubling = target.records_per_nat(setting), not_negative("dimension", dimension)
    ratio, odds = 4 / target.radius(smoothness, setting), 4 / target.failure
    return whole_above(lambda: exact_ball(rate) * (logarithm(odds) + exact_ball(doubling) * logarithm(ratio)))


def errors_lost_by_large_margin(near_best: int, *, epsilon: Number, failure: Number) -> int:
    """Errors on the sample beyond the best hypothesis's, at most, with probability 1 − η: (6/ε) ln(2ℓ*/η), a count.

    Requires: at most ℓ* = `near_best` hypotheses, the best one included, make at most `large_margin_reach` errors more
    than the best one on the sample: a property of the data that cannot be looked up privately.
    Source: Chaudhuri, Hsu & Song 2014, theorem 3. Raises BadParameter.
    """
    odds = 2 * whole("near_best", near_best) / probability("failure", failure)
    rate = 6 / positive("epsilon", epsilon)
    return floor(above(lambda: exact_ball(rate) * logarithm(odds), PRECISION))


def large_margin_reach(near_best: int, *, epsilon: Number, delta: Number, failure: Number) -> int:
    """γ* = (21/ε) ln(3/η) + T(ℓ*), in errors: how far from the best a hypothesis counts as near it. Rounded up.

    `delta` is that of the guarantee, T the threshold in docs/proofs/selection/large_margin.md. Source: theorem 3 there.
    """
    rank, rate = whole("near_best", near_best), 1 / positive("epsilon", epsilon)
    exact_delta, eta = probability("delta", delta), probability("failure", failure)

    def reach() -> Ball:
        nats = 21 * logarithm(3 / eta) + 3 * logarithm(3 / (2 * exact_delta)) + 6 * logarithm(3 / exact_delta)
        nats += 12 * logarithm(3 * rank * (rank + 1) / exact_delta) + 6 * logarithm(3 * rank / exact_delta)
        return 6 + exact_ball(rate) * nats

    return whole_above(reach)


def records_for_class(target: Target, size: int, neighbors: str | Neighbors = Neighbors.REPLACE_ONE) -> int:
    """Records that are enough for the exponential mechanism over a finite class, whatever the distribution.

    ln(2|H|/δ) (1 + √(1 + 2au/ε))²/(2a²), u = 2, or 1 under add_remove. No reference distribution is needed.
    Source: Hoeffding's inequality and `errors_lost_by_exponential`, δ/2 each. Raises BadParameter.
    """
    count, rate = whole("size", size), lead_sensitivity(Neighbors.parse(neighbors)) / target.epsilon
    odds = 2 * count / target.failure
    return whole_above(lambda: _generalising(target, logarithm(odds), exact_ball(rate) * logarithm(odds)))


def records_for_large_margin(target: Target, size: int, near_best: int) -> int:
    """Records that are enough for large_margin over a finite class, on samples that meet its requirement.

    (√(2L) + √(2L + 4aE))²/(4a²), L = ln(2|H|/δ), E = (6/ε) ln(4ℓ*/δ).
    Requires: `errors_lost_by_large_margin` at η = δ/2, for the sample drawn: failing to draw such a sample comes on top
    of δ. Source: Hoeffding's inequality and Chaudhuri, Hsu & Song 2014, theorem 3. Raises BadParameter.
    """
    odds, near = 2 * whole("size", size) / target.failure, 4 * whole("near_best", near_best) / target.failure
    return whole_above(lambda: _generalising(target, logarithm(odds), exact_ball(6 / target.epsilon) * logarithm(near)))


def packing_success(records: int, packing: int, epsilon: Number) -> float:
    """1/(1 + (P − 1)e^{−εm}), from above: no ε-private learner succeeds more often than that on all P targets.

    Success is an error of at most a. Requires: P = `packing` hypotheses, any two of which disagree by more than 2a; the
    learner may be label-private only. Holds for m = `records` ≥ 0 of any kind. Source: the proof of theorem 12.
    """
    others, loss = whole("packing", packing) - 1, positive("epsilon", epsilon) * whole("records", records, least=0)
    return min(1.0, float_above(lambda: 1 / (1 + others * (-exact_ball(loss)).exp())))


def records_too_few_for_dimension(dimension: Number, epsilon: Number) -> int:
    """With so many records, or fewer, some target is missed by more than a with probability ≥ 1/2: (d″ − 1) ln 2/ε.

    Requires: d″ = `dimension` ≥ 1 is the doubling dimension at scale 4a and a ≤ half the diameter; the learner may be
    label-private only. Source: theorem 12. Raises BadParameter.
    """
    doubling, rate = exact_number("dimension", dimension), positive("epsilon", epsilon)
    if doubling < 1:
        raise BadParameter("dimension must be at least 1.")
    return floor(below(lambda: exact_ball((doubling - 1) / rate) * logarithm(2), PRECISION))


def label_records_too_few(vc: int, packing: int, *, epsilon: Number, accuracy: Number) -> int:
    """With so many records, or fewer, some target is missed by more than a with probability ≥ 1/8; 0 says nothing.

    The largest m < ln(P/2 − 1)/(32εa), if it has (8V ln(2em/V) + 4 ln 16)/m ≤ a/3 and m ≥ V/2; else 0.
    Requires: the class has VC dimension at most V = `vc`; P = `packing` hypotheses within 12a of some hypothesis, any
    two of which disagree by more than 6a; the learner may be label-private only.
    Practically vacuous: classes of VC dimension V have no packings that meet both conditions unless ε < 1/768.
    Source: theorem 10, whose own constants are unnamed. Raises BadParameter.
    """
    shatters, targets = whole("vc", vc), whole("packing", packing)
    budget = probability("accuracy", accuracy)
    rate, odds = 32 * positive("epsilon", epsilon) * budget, Fraction(targets, 2) - 1
    if odds <= 1:
        return 0
    most = ceil(below(lambda: logarithm(odds) / exact_ball(rate), PRECISION)) - 1
    enough = 2 * most >= shatters and converged(most, shatters, 2, Fraction(16), budget / 3)
    return most if enough else 0


def _generalising(target: Target, nats: Ball, lost: Ball) -> Ball:
    """The m at which 2√(L/(2m)) + E/m = a: uniform convergence on both sides, and E errors lost."""
    root = (2 * nats).sqrt() + (2 * nats + 4 * exact_ball(target.accuracy) * lost).sqrt()
    return (root / (2 * exact_ball(target.accuracy))) ** 2


def _cap_share(dimension: int, angle: Ball) -> Ball:
    return _beta_share(angle.sin() ** 2, Fraction(dimension - 1, 2), Fraction(1, 2)) / 2


def _beta_share(x: Ball, a: Fraction, b: Fraction) -> Ball:
    """I_x(a, b): the probability that a Beta(a, b) variable is at most x, from the side that can be computed."""
    first, second = exact_ball(a), exact_ball(b)
    share = x.beta_lower(first, second, regularized=True)
    return share if share.is_finite() else 1 - (1 - x).beta_lower(second, first, regularized=True)


def _above(formula: Callable[[], Ball]) -> Fraction:
    try:
        return above(formula, _SHAPE_PRECISION)
    except OverflowError:
        raise BadParameter(
            "dimension is too large for this shape: its share of the sphere cannot be computed."
        ) from None
