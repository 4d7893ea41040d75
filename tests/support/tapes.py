"""The exact law of a sampler: run it over every bit tape, shortest first.

A tape of n bits stands for probability 2^-n. Where the sampler decides on it, its outcome gets that mass; where it asks
for more, the tape is extended by one bit. So the true probability of an outcome lies in [mass, mass + undecided].
"""

from __future__ import annotations

from collections import defaultdict, deque
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping

    from dpmine.exact.bits import BitSource

O = TypeVar("O", bound="Hashable")

ROUNDING = Fraction(1, 10**7)
"""Allowance for expected laws that were computed in float64."""


class TapeExhausted(Exception):
    """A tape has no bits left: the outcome is undecided on this tape."""


class TapeBits:
    """A fixed tape of bits, for tests that enumerate tapes.

    Uniforms are revealed bit by bit, so that short tapes decide as much as they can. Raises TapeExhausted at its end.
    """

    def __init__(self, tape: int, length: int) -> None:
        self._tape = tape
        self._left = length

    def take(self, count: int) -> int:
        """The next `count` bits of the tape."""
        if count > self._left:
            raise TapeExhausted
        self._left -= count
        return (self._tape >> self._left) & ((1 << count) - 1)

    def widths(self) -> Iterator[int]:
        """1, 2, 3 and so on."""
        width = 0
        while True:
            width += 1
            yield width


def enumerate_law(
    sampler: Callable[[BitSource], O], depth: int, *, runs: int = 12_000
) -> tuple[dict[O, Fraction], Fraction]:
    """Masses of the outcomes on all tapes of up to `depth` bits, and the mass that is still undecided.

    At most `runs` tapes are tried, the most probable ones first.
    """
    masses: defaultdict[O, Fraction] = defaultdict(Fraction)
    open_tapes = deque([(0, 0)])
    undecided = Fraction(0)
    while open_tapes:
        tape, length = open_tapes.popleft()
        try:
            masses[sampler(TapeBits(tape, length))] += Fraction(1, 2**length)
        except TapeExhausted:
            if length == depth:
                undecided += Fraction(1, 2**length)
            else:
                open_tapes.extend([(2 * tape, length + 1), (2 * tape + 1, length + 1)])
        runs -= 1
        if runs <= 0:
            break
    return dict(masses), undecided + sum((Fraction(1, 2**length) for _, length in open_tapes), Fraction(0))


def assert_law(
    sampler: Callable[[BitSource], O],
    expected: Mapping[O, Fraction | float],
    *,
    depth: int,
    undecided: float,
    runs: int = 12_000,
) -> None:
    """The sampler's law is `expected`: every bracket holds its probability, and little (`undecided`) is left open."""
    masses, left = enumerate_law(sampler, depth, runs=runs)
    assert sum(masses.values()) + left == 1
    assert left <= undecided, f"too much is undecided for a test: {float(left)}"
    assert set(masses) <= set(expected)
    for outcome, probability in expected.items():
        mass = masses.get(outcome, Fraction(0))
        assert mass - ROUNDING <= Fraction(probability) <= mass + left + ROUNDING, (outcome, float(mass), float(left))
