"""The law of a sampler that is made of choices: run it over every list of choices, most probable first.

Where bits are enumerated, a uniform number below 3 takes two bits and a rejection. Here it is one choice among three.
What is tested for itself, a coin or a geometric number, is one choice as well.
"""

from __future__ import annotations

from functools import cache
from heapq import heappop, heappush
from math import ceil, exp
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from fractions import Fraction

    from dpmine.exact.bits import BitSource

_NEGLIGIBLE = 1e-13  # mass of one list of choices; an endless chain of rejections is not followed further
O = TypeVar("O", bound="Hashable")


class Undecided(Exception):
    """The list of choices is at its end: there are ways to go on, of these probabilities."""

    def __init__(self, ways: tuple[float, ...]) -> None:
        self.ways = ways


class Choices:
    """A source of bits that is a list of choices."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self._script = iter(script)

    def choose(self, ways: tuple[float, ...]) -> int:
        """The next choice; one that is certain is not in the list."""
        if max(ways) == 1:
            return ways.index(1)
        for choice in self._script:
            return choice
        raise Undecided(ways)

    def take(self, count: int) -> int:
        return self.choose((0.5**count,) * 2**count)

    def widths(self) -> Iterator[int]:
        raise NotImplementedError


def uniform_below(count: int, *, bits: Any) -> int:
    """To be put in the place of the function of that name, which is tested for itself."""
    return int(bits.choose((1 / count,) * count))


def exponential_coin(numerator: int, denominator: int, *, bits: Any) -> bool:
    """As above."""
    happens = exp(-numerator / denominator)
    return bool(bits.choose((1 - happens, happens)))


def geometric_of_scale(scale: Fraction, *, bits: Any) -> int:
    """As above; cut off where e^{−30} is left."""
    return int(bits.choose(_geometric_law(scale)))


@cache
def _geometric_law(scale: Fraction) -> tuple[float, ...]:
    weights = [exp(-k / scale) for k in range(ceil(30 * scale) + 1)]
    total = sum(weights)
    return tuple(weight / total for weight in weights)


def law_of_choices(sampler: Callable[[BitSource], O], *, runs: int) -> tuple[dict[O, float], float]:
    """Masses of the outcomes after so many runs, and the mass that is still undecided."""
    masses: dict[O, float] = {}
    undecided: list[tuple[float, tuple[int, ...]]] = [(-1.0, ())]
    while undecided and runs and -undecided[0][0] > _NEGLIGIBLE:
        runs -= 1
        negative_mass, script = heappop(undecided)
        try:
            outcome = sampler(Choices(script))
        except Undecided as end:
            for choice, probability in enumerate(end.ways):
                heappush(undecided, (negative_mass * probability, (*script, choice)))
        else:
            masses[outcome] = masses.get(outcome, 0.0) - negative_mass
    return masses, -sum(negative_mass for negative_mass, _ in undecided)
