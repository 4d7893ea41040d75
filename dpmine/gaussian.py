"""The Gaussian mechanism's exact privacy profile: how much noise (ε, δ) needs, certified.

One number describes the mechanism: A = Δ/σ, the L2 sensitivity in standard deviations of the noise. Linear models
size their Gaussian noise by it (`dpmine.models.linear.noise`). Numbers are searched in floats; what is returned was
checked in balls. Source: Balle & Wang 2018, Theorem 8. Proof: docs/proofs/models/gaussian_perturbation.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from dpmine.exact.reals import Ball, above, exact_ball, working_precision
from dpmine.parameters import exact_share, not_negative, positive

if TYPE_CHECKING:
    from collections.abc import Callable

_BITS = 256  # of the balls: the two tails nearly cancel where ε is small
_STEPS = 40  # of the bisection, to a relative width of 2^-_NARROW
_NARROW = 2.0**-24
_REMEMBERED = 4096
_LEAST = Fraction(1, 2**1024)  # what is below counts as this: its digits could fill the memory


def profile(epsilon: Fraction, ratio: Fraction) -> Fraction:
    """The δ(ε) of Gaussian noise at A = `ratio`, rounded up: Q(ε/A − A/2) − e^ε Q(ε/A + A/2), Q the normal upper tail.

    At least 2^−1024.
    Raises BadParameter for ε < 0 or A ≤ 0.

    Example:
        >>> float(profile(Fraction(1), Fraction(1, 4)))
        2.924272...e-06

    See Also:
        ratio_at: the largest A for an (ε, δ).
    """
    delta, least = _delta(not_negative("epsilon", epsilon), positive("ratio", ratio)), exact_ball(_LEAST)

    return min(Fraction(1), above(lambda: max(delta(), least), _BITS))


@lru_cache(_REMEMBERED)
def ratio_at(epsilon: Fraction, delta: Fraction, distance: Fraction = Fraction(0)) -> Fraction:
    """The largest A found, to a relative 2^−24, at which Gaussian noise is (ε, δ)-private and ε/A − A/2 ≥ `distance`.

    Noise of standard deviation Δ/A is then enough for an L2 sensitivity of Δ, and it is A²/2-zCDP.
    Raises BadParameter for ε ≤ 0, a δ that is not between 0 and 1, or a negative distance.

    Example:
        >>> float(ratio_at(Fraction(1), Fraction(1, 10**6)))
        0.2367...
    """
    loss, exact_delta = positive("epsilon", epsilon), exact_share("delta", delta)
    least = not_negative("distance", distance)

    def suffices(ratio: float) -> bool:
        step = Fraction(ratio)
        if loss < step * (step / 2 + least):
            return False
        with working_precision(_BITS):
            return bool(_delta(loss, step)() <= exact_ball(exact_delta))

    low = high = min(1.0, float(loss))
    while not suffices(low):
        low, high = low / 2.0, low
    while suffices(high):
        low, high = high, high * 2.0
    for _ in range(_STEPS):
        if high - low <= low * _NARROW:
            break
        middle = (low + high) / 2.0
        low, high = (middle, high) if suffices(middle) else (low, middle)
    return Fraction(low)


def _delta(epsilon: Fraction, ratio: Fraction) -> Callable[[], Ball]:
    """The formula of `profile`, to be evaluated at a precision."""

    def formula() -> Ball:
        centre, half = exact_ball(epsilon / ratio), exact_ball(ratio / 2)
        root = exact_ball(2).sqrt()
        near, far = ((centre + side) / root for side in (-half, half))
        return (near.erfc() - exact_ball(epsilon).exp() * far.erfc()) / 2

    return formula
