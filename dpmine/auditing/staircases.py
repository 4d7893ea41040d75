"""Staircases: profiles whose margins q_ℓ follow a search's thresholds, so that every rank is a close decision."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dpmine.auditing.pairs import Group, Pair, on_grid
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpmine.selection.laws.stopping import StoppingSearch

LENGTHS = (1, 2, 3, 6, 20)
"""How many steps."""

_FLOOR = 1.0  # the lowest step, so that it may go down by 1


def staircases(search: StoppingSearch, neighbors: Neighbors, lengths: Sequence[int] = LENGTHS) -> Iterator[Pair]:
    """Pairs with q_ℓ ≈ T(ℓ) + x for ℓ = 1 … J, where the top, the steps between and the last step move."""
    for length, offset in product(lengths, _offsets(search)):
        margins = search.threshold(np.arange(1.0, length + 1)) + offset
        if margins[0] >= 0:
            for moves in _moves(neighbors):
                yield stairs(margins.tolist(), moves)


def stairs(margins: Sequence[float], moves: tuple[int, int, int] = (0, 0, 0)) -> Pair:
    """The profile with c(1) − c(ℓ+1) = margins[ℓ−1], rounded to the grid from below; moves of top, middle and last.

    Requires: margins that are not negative, in increasing order.
    """
    top, middle, last = moves
    height = on_grid(margins[-1]) + _FLOOR
    steps = [height - on_grid(margin) for margin in margins]
    groups = [Group(height, top), *(Group(step, middle) for step in steps[:-1]), Group(steps[-1], last)]
    return Pair(tuple(groups))


def _offsets(search: StoppingSearch) -> list[float]:
    """Distances from the thresholds: a few moves, and a few noise scales below."""
    return [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, -search.scale, -4 * search.scale, 2 * search.scale]


def _moves(neighbors: Neighbors) -> list[tuple[int, int, int]]:
    """Moves of the top, of the steps between, and of the last step; the reverse direction is measured anyway."""
    if neighbors is Neighbors.ADD_REMOVE:
        return [(1, 0, 0), (1, 0, 1), (1, 1, 0), (0, 1, 1), (0, 0, 1), (0, 1, 0)]
    return [(1, -1, 1), (1, -1, -1), (1, 1, -1), (1, 0, 0), (0, 1, -1), (1, 1, 1), (0, -1, 1)]
