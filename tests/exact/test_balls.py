from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import flint
import pytest
from support.adversary import quiet_fork
from support.cases import every

from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import (
    Constant,
    Formula,
    argmax,
    dyadic_interval,
    exact_ball,
    less_than,
    logarithm,
    working_precision,
)

TINY = Fraction(1, 2**400)


def close_numbers() -> list[Constant]:
    """Reals that only a precision of more than 400 bits tells apart; number 3 is the largest."""
    return [Constant(Fraction(1, 3) + k * TINY) for k in (0, 1, -1, 3, 2)]


def nested_largest() -> int:
    """An argmax whose formulas set precisions of their own, down and up again."""

    def disturbed(ball: object) -> object:
        with working_precision(20):
            exact_ball(Fraction(1, 7)).exp()
        with working_precision(2000):
            exact_ball(Fraction(1, 7)).exp()
        return ball

    return argmax([Formula(disturbed, number) for number in close_numbers()], bits=SystemBits())


def test_precision_is_set_and_restored() -> None:
    before = flint.ctx.prec
    with working_precision(200):
        assert flint.ctx.prec == 200
        with working_precision(50):
            assert flint.ctx.prec == 50
        assert flint.ctx.prec == 200
    assert flint.ctx.prec == before


def test_precision_is_restored_after_an_error() -> None:
    before = flint.ctx.prec

    def fail() -> None:
        with working_precision(333):
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert flint.ctx.prec == before
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(nested_largest).result(timeout=30) == 3


def test_eight_threads_decide_correctly() -> None:
    before = flint.ctx.prec

    def hammer(_: int) -> bool:
        return all(nested_largest() == 3 for _ in range(40))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(hammer, range(8)))
    assert flint.ctx.prec == before


def test_threads_see_their_own_precision() -> None:
    def look(bits: int) -> bool:
        for _ in range(200):
            with working_precision(bits):
                if flint.ctx.prec != bits:
                    return False
                with working_precision(2 * bits):
                    if flint.ctx.prec != 2 * bits:
                        return False
                if flint.ctx.prec != bits:
                    return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(look, range(60, 68)))


@pytest.mark.slow
def test_fork_beside_a_computing_thread_does_not_deadlock() -> None:
    """The child computes too; an alarm ends it where it would wait for ever."""
    done = threading.Event()

    def compute() -> None:
        while not done.is_set():
            nested_largest()

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        statuses = [forked_status() for _ in range(15)]
    finally:
        done.set()
        thread.join()
    assert statuses == [0] * 15


def forked_status() -> int:
    child = quiet_fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if nested_largest() == 3 and flint.ctx.prec == 53 else 1)
    return os.waitpid(child, 0)[1]


def test_fork_inside_a_computation_leaves_the_parent_the_lock() -> None:
    with working_precision(100):
        child = quiet_fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if less_than(Constant(1), Constant(2), bits=SystemBits()) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert flint.ctx.prec == 100
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(nested_largest).result(timeout=30) == 3


@every("value", [0, 7, -(10**40), Fraction(1, 3), Fraction(-22, 7), Fraction(10**50, 3)])
def test_exact_ball_holds_its_value(value: Fraction | int) -> None:
    for bits in (10, 53, 300):
        with working_precision(bits):
            error = exact_ball(value) * value.denominator - flint.fmpz(value.numerator)
            assert error.contains(0)
            assert float(error.rad()) <= abs(float(value.numerator)) * 2.0 ** (3 - bits)


@every(("numerator", "width"), [(0, 1), (1, 1), (5, 3), (2**64 - 1, 64), (12345, 200)])
def test_dyadic_interval_holds_both_ends_and_no_more(numerator: int, width: int) -> None:
    with working_precision(400):
        ball = dyadic_interval(numerator, width)
        ends = [flint.arb(flint.fmpq(end, 2**width)) for end in (numerator, numerator + 1)]
        assert all(ball.contains(end) for end in ends)
        assert float(ball.rad()) <= 2.0 ** (-width - 1) * (1 + 2.0**-20)


def test_dyadic_intervals_of_a_longer_prefix_are_inside() -> None:
    with working_precision(400):
        for digits in range(8):
            outer = dyadic_interval(digits, 3)
            assert all(outer.contains(dyadic_interval(4 * digits + more, 5)) for more in range(4))


def test_logarithm() -> None:
    with working_precision(100):
        assert logarithm(Fraction(1, 2)).overlaps(-flint.arb.const_log2())
        assert logarithm(1).contains(0)
