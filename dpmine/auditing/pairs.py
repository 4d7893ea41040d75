"""Neighbouring public profiles: the same candidates before and after one privacy unit changes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np

from dpmine.errors import BadParameter
from dpmine.privacy import Neighbors
from dpmine.selection.laws.profile import Profile

if TYPE_CHECKING:
    from dpmine.selection.laws.profile import FloatArray, LevelLaw

UNKNOWN = 2**128
"""How many dummies stand for an unknown universe."""

_GRID = 2**16


class Side(Enum):
    """Which of two neighbours."""

    BEFORE = auto()
    AFTER = auto()


@dataclass(frozen=True, slots=True)
class Group:
    """`count` candidates that have the same score and make the same move (−1, 0 or +1), in sensitivities."""

    score: float
    move: int
    count: int = 1

    def at(self, side: Side) -> float:
        """The score on one side. Exact, because scores are multiples of 2^-16 (see `on_grid`)."""
        return self.score if side is Side.BEFORE else self.score + self.move


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring profiles, and `dummies` public candidates of score 0 on both sides (0: a known universe).

    Raises BadParameter without any group, or for scores below 0.
    """

    groups: tuple[Group, ...]
    dummies: int = 0

    def __post_init__(self) -> None:
        if not self.groups or any(group.count < 1 for group in self.groups):
            raise BadParameter("A pair of neighbours needs groups of at least one candidate each.")
        if any(group.at(side) < 0 for group in self.groups for side in Side):
            raise BadParameter("The scores of a pair of neighbours must be at least 0.")

    def profile(self, side: Side) -> Profile:
        """One side, with equal scores merged into levels."""
        levels: Counter[float] = Counter()
        for group in self.groups:
            levels[group.at(side)] += group.count
        ordered = sorted(levels.items(), reverse=True)
        return Profile(tuple(score for score, _ in ordered), tuple(count for _, count in ordered), self.dummies)

    def masses(self, side: Side, law: LevelLaw) -> FloatArray:
        """The mass of every group, then that of "nothing": shape (groups + 1,).

        `law` is the law on `profile(side)`. Candidates of a level are equally likely, so a group has its share of the
        level; and candidates of a group are equally likely on both sides, so that they count as one outcome.
        """
        profile = self.profile(side)
        levels = dict(zip(profile.scores, zip(law.masses, profile.counts, strict=True), strict=True))
        shares = [(group.count, *levels[group.at(side)]) for group in self.groups]
        return np.array([*(mass * (count / total) for count, mass, total in shares), law.nothing])


@dataclass(frozen=True, slots=True)
class Scope:
    """Which pairs a mechanism's claim covers.

    Attributes:
        neighbors: the relation.
        dummies: the paddings that it is used with; 0 is a known universe.
        growth: for mechanisms of counts that start at 0, of which one unit supports at most so many; else None.
    """

    neighbors: Neighbors
    dummies: tuple[int, ...] = (0,)
    growth: int | None = None

    @property
    def moves(self) -> tuple[int, ...]:
        """What one unit may do to a score."""
        return (0, 1) if self.neighbors is Neighbors.ADD_REMOVE else (-1, 0, 1)

    def admits(self, pair: Pair) -> bool:
        """Whether the two sides are neighbours that the claim covers, in both directions.

        Under replace_one each score moves by −1, 0 or +1; under add_remove all move by 0 or +1 (read backwards: by 0 or
        −1). With `growth`, scores are whole and at most that many candidates move each way.
        """
        if pair.dummies not in self.dummies or any(group.move not in self.moves for group in pair.groups):
            return False
        if self.growth is None:
            return True
        whole = all(group.score == int(group.score) for group in pair.groups)
        return whole and all(_moving(pair, move) <= self.growth for move in (-1, 1))


def on_grid(score: float) -> float:
    """The nearest multiple of 2^-16: adding and subtracting 1 is then exact, so ties stay ties."""
    return round(score * _GRID) / _GRID


def _moving(pair: Pair, move: int) -> int:
    return sum(group.count for group in pair.groups if group.move == move)
