"""How far data may be from a reference distribution, and how large a class is under it: the known cases.

D is κ-smooth to U if Pr_D[A] ≤ κ Pr_U[A] for every event A. Every κ and every size here is a rational number that is
not below the real one, and very near.
Proof: docs/proofs/models/sample_complexity.md. Source: Chaudhuri & Hsu 2011, examples 1 to 3 and section 5.2.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from flint import arb

from dpmine.errors import BadParameter
from dpmine.exact.reals import GUARD_BITS, Ball, exact_ball, logarithm, working_precision
from dpmine.exact.rounding import above
from dpmine.parameters import exact_share, positive, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.parameters import Number

_PRECISION = 512 + GUARD_BITS
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
    with working_precision(_PRECISION):
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


def _cap_share(dimension: int, angle: Ball) -> Ball:
    return _beta_share(angle.sin() ** 2, Fraction(dimension - 1, 2), Fraction(1, 2)) / 2


def _beta_share(x: Ball, a: Fraction, b: Fraction) -> Ball:
    """I_x(a, b): the probability that a Beta(a, b) variable is at most x, from the side that can be computed."""
    first, second = exact_ball(a), exact_ball(b)
    share = x.beta_lower(first, second, regularized=True)
    return share if share.is_finite() else 1 - (1 - x).beta_lower(second, first, regularized=True)


def _above(formula: Callable[[], Ball]) -> Fraction:
    try:
        return above(formula, _PRECISION)
    except OverflowError:
        raise BadParameter(
            "dimension is too large for this shape: its share of the sphere cannot be computed."
        ) from None
