"""Candidates of any universe in the order of score + independent noise, made only as far as they are asked for.

Levels: the noises of the M members of a level, in descending order, sit at t = V_1 < V_2 < …. Here
V_k = Σ_{j ≤ k} E_j/(M − j + 1) (see `dpmine.exact.reals`). The members that carry them come in uniform order.
Tail: its noises are made in the same way. Each goes to a uniform candidate of the tail not met before. It is made only
once that noise on the best score that the tail can have would come next.
Arrays: bands of scores, each of which is such a tail with a bound of its own (see `dpmine.selection.universes.crowds`).
The output distribution is that of the enumerated universe. Proof: docs/proofs/selection/noisy_max.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from sys import maxsize
from typing import TYPE_CHECKING, Any

from dpmine.exact.reals import Formula, Real, exact_ball
from dpmine.selection.contest import Contest
from dpmine.selection.universes.crowds import crowds_of
from dpmine.selection.universes.ranking import array_behind, worthwhile_floor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from dpmine.exact.bits import BitSource
    from dpmine.exact.reals import Noise
    from dpmine.selection.contest import Rival
    from dpmine.selection.universes.protocol import C, Score, Universe
    from dpmine.selection.universes.ranking import AnyRanking


def noisy_order(
    universe: Universe[C],
    noise: Noise,
    *,
    bits: BitSource,
    count: int = 1,
    floor: Score | None = None,
    rival: Rival | None = None,
) -> Iterator[C | None]:
    """At most `count` candidates, largest score + noise first, None for a dummy; they end where the rival comes.

    Requires: `universe.size` is known.
    Law: the order of c_i + X_i, X_i independent draws of `noise`, ties of scores included. `floor` (by default one that
    keeps the work small) divides head from tail and changes running time only.
    """
    if floor is None and (race := _of_array(universe, noise, count, bits, rival)) is not None:
        return islice(race.in_order(), min(count, maxsize))
    crowds = crowds_of(universe, worthwhile_floor(universe, noise.scale, count) if floor is None else floor)
    return islice(Contest(crowds, noise, bits, rival=rival).in_order(), min(count, maxsize))


def draws_from_best(
    universe: Universe[C],
    ranking: AnyRanking[C],
    kept: int,
    noise: Noise,
    *,
    places: int,
    bits: BitSource,
    rival: Rival | None = None,
) -> Iterator[C | None]:
    """At most `places` different ones of the `kept` best, by decreasing c_i + noise, None for a dummy.

    They end where the rival comes. Where only a part of a level belongs to the `kept` best, uniform members of the
    whole level are drawn. Ties are broken by a uniform permutation, so every member is in that part equally often.
    """
    taken: set[C] = set()
    for place in noisy_order(ranking.best(kept), noise, count=places, bits=bits, rival=rival):
        level = None if place is None else ranking.level(place + 1)
        if level is None:
            yield None
            continue
        while (candidate := universe.member(level, bits=bits)) in taken:
            pass  # a uniform one of those left, by rejection
        taken.add(candidate)
        yield candidate


@dataclass(frozen=True, slots=True)
class KnownRival:
    """A rival whose noisy score is known."""

    noisy_score: Real

    def bounds(self) -> tuple[Real, Real]:
        """The noisy score, twice."""
        return self.noisy_score, self.noisy_score

    def sharpen(self) -> None:
        """Nothing is left to find out."""


def _of_array(
    universe: Universe[C], noise: Noise, count: int, bits: BitSource, rival: Rival | None
) -> Contest[Any] | None:
    """The contest of an array's crowds; None where there is no array of numbers.

    Scores that were divided by a sensitivity have the order that the array has with so much more noise.
    """
    array, sensitivity, gone = array_behind(universe)
    wide = replace(noise, scale=noise.scale * sensitivity)  # type: ignore[type-var]
    race = None if array is None else array.crowds(wide.scale, count, gone)
    if race is None:
        return None
    origin, crowds = race
    moved = None if rival is None else _MovedRival(rival, sensitivity, origin)
    return Contest(crowds, wide, bits, rival=moved, gone=gone)


@dataclass(frozen=True, slots=True)
class _MovedRival:
    """A rival in the units of an array, counted from its origin."""

    rival: Rival
    sensitivity: Fraction
    origin: Score

    def bounds(self) -> tuple[Real, Real]:
        """Those of the rival, moved."""
        low, high = self.rival.bounds()
        moved = self._moved(low)
        return moved, moved if high is low else self._moved(high)

    def sharpen(self) -> None:
        """The rival's."""
        self.rival.sharpen()

    def _moved(self, score: Real) -> Real:
        return Formula(lambda ball: ball * exact_ball(self.sensitivity) - exact_ball(self.origin), score)
