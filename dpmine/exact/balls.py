"""Ball arithmetic at a chosen precision: the only place that sets the precision of the ball library.

python-flint keeps one precision for the whole process, so whoever computes holds a lock. A fork waits for the lock:
a child never starts while another thread is half-way through a computation.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import flint
from flint import arb, fmpq, fmpz

if TYPE_CHECKING:
    from fractions import Fraction
    from types import TracebackType

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
