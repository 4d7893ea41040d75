"""Stylised supports: three shapes of a universe, each known by the gap between its best two candidates.

They say what a mechanism can be expected to do before any data are touched. Nothing here is read from data.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from dpmine.selection.laws.profile import Profile
from dpmine.selection.universes.base import MANY_DUMMIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_RUNNERS_UP = 10
_DECAY = 0.25  # shop baskets, customers and web clicks have 0.2 to 0.4 over their first million itemsets
_SUPPORTED = 2**20  # candidates above zero where nobody knows how many there are
_SINGLE = 8  # ranks below this are levels of their own in the power law, the others stand in blocks
_BLOCK = 4
_MOST = 2**400  # candidates: 10^120; more are counted as so many


class Shape(StrEnum):
    """What the candidates below the best look like."""

    ALONE = "alone"
    """All others have score 0."""
    NEAR_TIES = "near_ties"
    """Ten runners-up with nine tenths of the best score; all others have score 0."""
    POWER_LAW = "power_law"
    """The j-th best has j^(−1/4) times the best score, as supports in real baskets do."""

    @property
    def top(self) -> float:
        """The best score, in gaps between the best and the second."""
        return {Shape.ALONE: 1.0, Shape.NEAR_TIES: 10.0, Shape.POWER_LAW: 1 / (1 - 2**-_DECAY)}[self]


def stylised(shape: Shape, gap: float, candidates: int | None) -> Profile:
    """The profile of that shape whose best candidate leads the second by `gap` > 0, in sensitivities.

    `candidates` ≥ 1 is how many there are; None for an unknown universe: dummies then stand for those without support.
    """
    count = _SUPPORTED if candidates is None else min(candidates, _MOST)
    levels = _first(count, _levels(shape, shape.top * gap, count))
    if candidates is None:
        return _profile([(score, size) for score, size in levels if score > 0], MANY_DUMMIES)
    return _profile(levels)


def head(profile: Profile, size: int = _SINGLE) -> Profile:
    """The `size` best candidates alone, without dummies.

    No mechanism chooses the best candidate less often among fewer rivals, so this bounds its success from above; it
    costs a margin mechanism a hundredth of the time.
    """
    return _profile(_first(size, zip(profile.scores, profile.counts, strict=True)))


def _profile(levels: list[tuple[float, int]], dummies: int = 0) -> Profile:
    return Profile(tuple(score for score, _ in levels), tuple(count for _, count in levels), dummies)


def _first(size: int, levels: Iterable[tuple[float, int]]) -> list[tuple[float, int]]:
    """The levels, cut after `size` candidates."""
    kept: list[tuple[float, int]] = []
    for score, count in levels:
        if size <= 0:
            break
        kept.append((score, min(count, size)))
        size -= count
    return kept


def _levels(shape: Shape, top: float, candidates: int) -> Iterator[tuple[float, int]]:
    """The levels in order, of at least `candidates` candidates."""
    yield top, 1
    if shape is Shape.POWER_LAW:
        yield from _power_law(top, candidates)
        return
    if shape is Shape.NEAR_TIES:
        yield 0.9 * top, _RUNNERS_UP
    yield 0.0, candidates


def _power_law(top: float, candidates: int) -> Iterator[tuple[float, int]]:
    """Ranks from 2 on; a block of ranks has the score of its first."""
    rank = 2
    while rank <= candidates:
        size = 1 if rank < _SINGLE else (_BLOCK - 1) * rank
        yield top * rank**-_DECAY, size
        rank += size
