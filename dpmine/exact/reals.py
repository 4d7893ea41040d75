"""Real numbers known by balls that shrink on demand, and the random reals of the mechanisms.

A `Real` hands out enclosures: `ball(width)` contains the number, and shrinks to it as `width` grows. The random bits
behind a number are drawn once and kept, so all enclosures speak of the same number. Balls are computed inside
`dpmine.exact.decisions`, which sets the working precision; nothing else turns a Real into an answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from dpmine.exact.balls import Ball, dyadic_interval, exact_ball

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from dpmine.exact.bits import BitSource


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
