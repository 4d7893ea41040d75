"""Real numbers known by balls that shrink on demand, the random reals of the mechanisms, and decisions about them.

A `Real` hands out enclosures: `ball(width)` contains the number, and shrinks to it as `width` grows. The random bits
behind a number are drawn once and kept, so all enclosures speak of the same number.

Decisions refine balls until the answer is certain; they set the working precision, and nothing else turns a Real into
an answer. An undecided comparison of balls is False in both directions, so `not (x < y)` is never read as `x ≥ y`.
Required of every decision: the numbers compared are not equal (with continuous noise, equality has probability 0). Two
equal constants would be compared for ever: compare exact scores as rationals first.

Continuous noise is given by its quantiles, which take t = −ln q > 0 instead of q. The largest of M independent draws
has q = U^{1/M}, that is t = E/M for a standard exponential E. So one random real gives the maximum of any number of
draws, even of 10^30.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import ceil, inf, log2, nextafter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from dpmine.later import flint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from dpmine.exact.bits import BitSource


Ball: TypeAlias = Any
"""A python-flint `arb`: an interval that certainly contains the real number it stands for."""

GUARD_BITS = 64
"""Working precision beyond the bits of the uniforms, so that rounding is far below what the uniforms leave open."""

_lock = threading.RLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class working_precision:  # noqa: N801 - reads as a statement: with working_precision(128)
    """Hold the ball library at a precision (in bits) for the length of a with block; nested blocks restore it."""

    __slots__ = ("_before", "_bits")

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def __enter__(self) -> None:
        _lock.acquire()
        try:
            self._before = flint.ctx.prec
            flint.ctx.prec = self._bits
        except BaseException:
            _lock.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        flint.ctx.prec = self._before
        _lock.release()


def exact_ball(value: Fraction | int) -> Ball:
    """The rational `value`, as exactly as the working precision allows."""
    if value.denominator == 1:
        return flint.arb(flint.fmpz(value.numerator))
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def dyadic_interval(numerator: int, width: int) -> Ball:
    """The interval [numerator, numerator + 1] / 2^width."""
    return flint.arb(2 * numerator + 1, 1) * power_of_two(-width - 1)


@cache
def power_of_two(power: int) -> Ball:
    """2^power, which is exact at any precision."""
    return flint.arb((1, power))


def logarithm(value: Fraction | int) -> Ball:
    """Ln value, for a rational value > 0."""
    return exact_ball(value).log()


class Real(ABC):
    """A fixed real number, known as closely as asked for."""

    __slots__ = ("_ball", "_width")

    def __init__(self) -> None:
        self._width = 0
        self._ball: Ball = None

    def ball(self, width: int) -> Ball:
        """An enclosure of this number, using `width` ≥ 1 bits of every uniform real behind it."""
        if self._width != width:
            self._ball = self._enclosure(width)
            self._width = width
        return self._ball

    @abstractmethod
    def _enclosure(self, width: int) -> Ball: ...


class Constant(Real):
    """A rational number."""

    __slots__ = ("_value",)

    def __init__(self, value: Fraction | int) -> None:
        super().__init__()
        self._value = value

    def _enclosure(self, width: int) -> Ball:  # noqa: ARG002 - a constant reveals nothing
        return exact_ball(self._value)


class Formula(Real):
    """A continuous function of other reals, written in ball arithmetic."""

    __slots__ = ("_function", "_parts")

    def __init__(self, function: Callable[..., Ball], *parts: Real) -> None:
        super().__init__()
        self._function = function
        self._parts = parts

    def _enclosure(self, width: int) -> Ball:
        return self._function(*[part.ball(width) for part in self._parts])


class Uniform(Real):
    """A uniform real in (0, 1), its binary digits revealed as they are needed."""

    __slots__ = ("_bits", "_digits", "_known")

    def __init__(self, digits: int = 0, known: int = 0, *, bits: BitSource) -> None:
        """With the first `known` digits given, as a whole number, where they were drawn elsewhere."""
        super().__init__()
        self._bits = bits
        self._digits = digits
        self._known = known

    def _enclosure(self, width: int) -> Ball:
        if width > self._known:
            more = width - self._known
            self._digits = (self._digits << more) | self._bits.take(more)
            self._known = width
        return dyadic_interval(self._digits, self._known)


class StandardExponential(Real):
    """A standard exponential real: −ln U, mean 1."""

    __slots__ = ("_uniform",)

    def __init__(self, digits: int = 0, known: int = 0, *, bits: BitSource) -> None:
        """With the first `known` digits of U given, as for `Uniform`."""
        super().__init__()
        self._uniform = Uniform(digits, known, bits=bits)

    def _enclosure(self, width: int) -> Ball:
        return -self._uniform.ball(width).log()


def above(formula: Callable[[], Ball], bits: int) -> Fraction:
    """A number not below the real number that the formula stands for, computed with that many bits.

    Raises OverflowError where the ball has no finite end.
    """
    with working_precision(bits):
        return _rational(formula().upper())


def below(formula: Callable[[], Ball], bits: int) -> Fraction:
    """Not above the real number; as `above`."""
    with working_precision(bits):
        return _rational(formula().lower())


def decimal_above(value: Fraction, digits: int) -> Fraction:
    """The least decimal number with `digits` significant digits that is not below `value` > 0."""
    unit = Fraction(10) ** (power_below(value, 10) + 1 - digits)
    return ceil(value / unit) * unit


def decimal_below(value: Fraction, digits: int) -> Fraction:
    """The largest decimal number with `digits` significant digits that is not above `value` > 0."""
    unit = Fraction(10) ** (power_below(value, 10) + 1 - digits)
    return value // unit * unit


def power_below(value: Fraction, base: int = 2) -> int:
    """The largest k with base^k ≤ `value`, for `value` > 0 and `base` ≥ 2. Raises ValueError for other values."""
    if value <= 0:
        raise ValueError("only numbers above 0 lie above a power")
    bits = value.numerator.bit_length() - value.denominator.bit_length()  # value < 2^(bits + 1)
    power = ceil((bits + 1) / log2(base))
    while Fraction(base) ** power > value:
        power -= 1
    return power


def _rational(end: Ball) -> Fraction:
    if not end.is_finite():
        raise OverflowError("the number is too large to be written out")
    mantissa, power = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(power)


def less_than(x: Real, y: Real, *, bits: BitSource) -> bool:
    """Whether x < y."""
    widths = bits.widths()
    while True:
        width = next(widths)
        with working_precision(width + GUARD_BITS):
            left, right = x.ball(width), y.ball(width)
            if left < right:
                return True
            if right < left:
                return False


def float_bounds(x: Real, *, bits: BitSource) -> tuple[float, float]:
    """Two floats with x certainly between them, from the first bits alone; infinite where these settle nothing."""
    width = next(bits.widths())
    with working_precision(width + GUARD_BITS):
        return float_ends(x.ball(width))


def float_ends(ball: Ball) -> tuple[float, float]:
    """Two floats with all of the ball between them; infinite where it has no ends."""
    if not ball.is_finite():
        return -inf, inf
    return nextafter(float(ball.lower()), -inf), nextafter(float(ball.upper()), inf)


def argmax(reals: Sequence[Real], *, bits: BitSource) -> int:
    """Index of the largest of at least one real; only those that can still be the largest are refined."""
    contenders = list(range(len(reals)))
    widths = bits.widths()
    while True:
        width = next(widths)
        if len(contenders) == 1:
            return contenders[0]
        with working_precision(width + GUARD_BITS):
            contenders = _not_beaten(contenders, [reals[i].ball(width) for i in contenders])


def floor(x: Real, *, bits: BitSource) -> int:
    """The largest integer ≤ x; x must not be an integer itself."""
    widths = bits.widths()
    while True:
        width = next(widths)
        with working_precision(width + GUARD_BITS):
            whole = x.ball(width).floor().unique_fmpz()
            if whole is not None:
                return int(whole)


def floors_of_sums(terms: Sequence[Real], *, bits: BitSource) -> list[int]:
    """The floors of x_1, x_1 + x_2, x_1 + x_2 + x_3 and so on; none of these sums may be an integer.

    One loop over all of them: as formulas of each other, a thousand sums would be a thousand calls deep.
    """
    widths = bits.widths()
    while True:
        width = next(widths)
        with working_precision(width + GUARD_BITS):
            sums = accumulate(term.ball(width) for term in terms)
            wholes = [total.floor().unique_fmpz() for total in sums]
        if None not in wholes:
            return [int(whole) for whole in wholes]


def uniform_below(count: int, *, bits: BitSource) -> int:
    """A uniform integer in [0, count), count ≥ 1, by rejection: fewer than two attempts on average."""
    length = (count - 1).bit_length()
    while True:
        value = bits.take(length)
        if value < count:
            return value


def uniform_subset(size: int, count: int, *, bits: BitSource) -> list[int]:
    """A uniform set of `count` ≤ `size` of the integers in [0, size), in ascending order (Floyd 1987)."""
    chosen: set[int] = set()
    for last in range(size - count, size):
        number = uniform_below(last + 1, bits=bits)
        chosen.add(last if number in chosen else number)
    return sorted(chosen)


def _not_beaten(indices: list[int], balls: list[Ball]) -> list[int]:
    """The indices whose ball does not certainly lie below another one; a ball of NaN is never certain."""
    leader = balls[0]
    for ball in balls:
        if leader < ball or not leader.is_finite():
            leader = ball
    return [index for index, ball in zip(indices, balls, strict=True) if not ball < leader]


class Noise(Protocol):
    """A continuous noise distribution on the real line."""

    @property
    def scale(self) -> Fraction:
        """The scale parameter b, in units of the score."""

    def quantile(self, t: Ball) -> Ball:
        """F^{-1}(e^{−t}) for t > 0; decreasing in t. Balls of t that contain 0 give balls that settle nothing."""


@dataclass(frozen=True, slots=True)
class GumbelNoise:
    """F(x) = exp(−e^{−x/b})."""

    scale: Fraction

    def quantile(self, t: Ball) -> Ball:
        """−b ln t."""
        return -exact_ball(self.scale) * t.log()


@dataclass(frozen=True, slots=True)
class ExponentialNoise:
    """F(x) = 1 − e^{−x/b}, x ≥ 0."""

    scale: Fraction

    def quantile(self, t: Ball) -> Ball:
        """−b ln(1 − e^{−t})."""
        return -exact_ball(self.scale) * (-(-t).expm1()).log()


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Density e^{−|x|/b}/(2b)."""

    scale: Fraction

    def quantile(self, t: Ball) -> Ball:
        """B ln(2q) below the median, −b ln(2(1 − q)) above it, the hull of both where the ball holds the median."""
        half = flint.arb.const_log2()
        below = half - t
        if t > half:
            return exact_ball(self.scale) * below
        above = -(-2 * (-t).expm1()).log()
        if t < half:
            return exact_ball(self.scale) * above
        return exact_ball(self.scale) * below.union(above)


def draw(noise: Noise, *, bits: BitSource) -> Real:
    """One draw of the noise."""
    return Formula(noise.quantile, StandardExponential(bits=bits))


def laplace_cdf(y: Ball) -> Ball:
    """F(y) of the standard Laplace distribution, relatively accurate far below the median."""
    below = y.exp() / 2
    if y < 0:
        return below
    above = 1 - (-y).exp() / 2
    return above if y > 0 else below.union(above)


def laplace_log_survival(y: Ball) -> Ball:
    """ln(1 − F(y)) of the standard Laplace distribution, relatively accurate everywhere."""
    below = (-(y.exp() / 2)).log1p()
    if y < 0:
        return below
    above = -y - flint.arb.const_log2()
    return above if y > 0 else below.union(above)


def standard_normals(count: int, *, bits: BitSource) -> list[Real]:
    """Independent standard normal reals, in pairs. Source: Box & Muller 1958."""
    normals: list[Real] = []
    while len(normals) < count:
        radius = Formula(lambda half_square: (2 * half_square).sqrt(), StandardExponential(bits=bits))
        angle = Uniform(bits=bits)
        normals.append(Formula(lambda r, turn: r * (2 * turn).cos_pi(), radius, angle))
        normals.append(Formula(lambda r, turn: r * (2 * turn).sin_pi(), radius, angle))
    return normals[:count]
