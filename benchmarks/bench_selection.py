"""How long one private selection takes, and how many random bits it spends.

    python benchmarks/bench_selection.py

Medians of 100 runs, in milliseconds. The large-margin mechanisms are to stay below 5 ms over 1,000 distinct scores with
2^128 dummies.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from statistics import mean, median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.exact.bits import SystemBits
from dpmine.exact.reals import (
    Constant,
    LaplaceNoise,
    StandardExponential,
    Uniform,
    argmax,
    draw,
    floor,
    less_than,
    uniform_below,
)
from dpmine.selection.recommend import build_mechanism
from dpmine.selection.select import choose
from dpmine.selection.universes.dense import Dense, Levels
from dpmine.selection.universes.protocol import MANY_DUMMIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpmine.exact.bits import BitSource

RUNS = 100
PURE = ("exponential", "max_of_laplaces", "max_of_exponentials")
MARGIN = ("large_margin", "large_margin_tight")


class CountingBits:
    """The system's bits, counted."""

    def __init__(self) -> None:
        self._inner = SystemBits()
        self.taken = 0

    def take(self, count: int) -> int:
        self.taken += count
        return self._inner.take(count)

    def widths(self) -> Iterator[int]:
        return self._inner.widths()


@dataclass(frozen=True)
class Cost:
    milliseconds: float
    slowest: float
    bits: float


def cost(work: Callable[[BitSource], object]) -> Cost:
    bits = CountingBits()
    times, spent = [], []
    for _ in range(RUNS):
        before, start = bits.taken, perf_counter()
        work(bits)
        times.append(1000 * (perf_counter() - start))
        spent.append(bits.taken - before)
    return Cost(median(times), max(times), mean(spent))


def show(name: str, work: Callable[[BitSource], object]) -> None:
    measured = cost(work)
    print(f"{name:<62}{measured.milliseconds:>9.3f}{measured.slowest:>9.3f}{measured.bits:>10.0f}")


def header(title: str) -> None:
    print(f"\n{title:<62}{'median':>9}{'slowest':>9}{'bits':>10}")


def margin_shapes() -> dict[str, list[tuple[int, int]]]:
    """1,000 distinct scores each."""
    return {
        "clear winner": [(5000, 1), *[(999 - i, 1) for i in range(999)]],
        "nothing stands out": [(1000 - i, 1) for i in range(1000)],
        "100 ahead": [(9000 - i, 1) for i in range(100)] + [(900 - i, 1) for i in range(900)],
        "wide staircase": [(100_000 - 100 * i, 1) for i in range(1000)],
        "power law": sorted({100_000 // (i + 1) + 1000 - i: 1 + i for i in range(1000)}.items(), reverse=True),
        "on the edge of the margin": [(1430, 1), *[(999 - i, 1) for i in range(999)]],
    }


def bench_margin() -> None:
    header("1,000 distinct scores, 2^128 dummies, ε = 1, δ = 1e-6")
    for name in MARGIN:
        for shape, levels in margin_shapes().items():
            universe = Levels(levels, padding=MANY_DUMMIES)
            show(f"{name}, {shape}", runner(name, universe))


def bench_pure() -> None:
    header("1,000 scores x 1,000 members, ε = 1")
    levels = Levels([(1000 - i, 1000) for i in range(1000)])
    for name in PURE:
        show(name, runner(name, levels))
    header("one candidate of score 200 above K zeros, noise of scale 10")
    for name in PURE:
        for exponent in (3, 6, 9, 15, 20, 30):
            universe = Levels([(200, 1), (0, 10**exponent)])
            show(f"{name}, K = 10^{exponent}", runner(name, universe, epsilon=Fraction(1, 5)))


def runner(name: str, universe: Any, epsilon: Fraction = Fraction(1)) -> Callable[[BitSource], object]:
    mechanism = build_mechanism(name, epsilon=epsilon, delta="1e-6", neighbors="replace_one")
    return lambda bits: choose(mechanism, universe, sensitivity=Fraction(1), bits=bits)


def bench_arrays() -> None:
    """Milliseconds of the mechanisms that look at ranks, which sort an array; conversion and sorting included."""
    generator = np.random.default_rng(1)
    arrays = {"distinct floats": generator.uniform(0, 10, 10**6), "integers": generator.integers(0, 10, 10**6)}
    header("a million candidates, nothing stands out, ε = 1, δ = 1e-6")
    for name in (*MARGIN, "limited_domain", "limited_domain_permute_and_flip"):
        mechanism = build_mechanism(name, epsilon=1, delta="1e-6", neighbors="replace_one")
        for kind, scores in arrays.items():

            def work(bits: BitSource, mechanism: Any = mechanism, scores: Any = scores) -> object:
                return choose(mechanism, Dense(scores), sensitivity=Fraction(1), bits=bits)

            show(f"{name}, {kind}", work)


def bench_decisions() -> None:
    header("one decision")
    laplace = LaplaceNoise(Fraction(3))
    show("U < 1/3", lambda bits: less_than(Uniform(bits=bits), Constant(Fraction(1, 3)), bits=bits))
    show("E < E'", lambda bits: less_than(StandardExponential(bits=bits), StandardExponential(bits=bits), bits=bits))
    show("Laplace < Laplace'", lambda bits: less_than(draw(laplace, bits=bits), draw(laplace, bits=bits), bits=bits))
    show("floor of E", lambda bits: floor(StandardExponential(bits=bits), bits=bits))
    show("argmax of 100 uniforms", lambda bits: argmax([Uniform(bits=bits) for _ in range(100)], bits=bits))
    show("uniform below 10^30", lambda bits: uniform_below(10**30, bits=bits))


def main() -> int:
    bench_decisions()
    bench_margin()
    bench_pure()
    bench_arrays()
    return 0


if __name__ == "__main__":
    sys.exit(main())
