"""Real numbers known by balls that shrink on demand, and the random reals of the mechanisms.

A `Real` hands out enclosures: `ball(width)` contains the number, and shrinks to it as `width` grows. The random bits
behind a number are drawn once and kept, so all enclosures speak of the same number. Balls are computed inside
`dpmine.exact.decisions`, which sets the working precision; nothing else turns a Real into an answer.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import flint
from flint import arb, fmpq, fmpz

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction
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
        return arb(fmpz(value.numerator))
    return arb(fmpq(value.numerator, value.denominator))


def dyadic_interval(numerator: int, width: int) -> Ball:
    """The interval [numerator, numerator + 1] / 2^width."""
    return arb(2 * numerator + 1, 1) * _two_to_minus(width + 1)


@cache
def _two_to_minus(power: int) -> Ball:
    """2^−power, which is exact at any precision."""
    return arb((1, -power))


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

    def __init__(self, *, bits: BitSource) -> None:
        super().__init__()
        self._uniform = Uniform(bits=bits)

    def _enclosure(self, width: int) -> Ball:
        return -self._uniform.ball(width).log()
