"""Crowds: the itemsets of support 1 that one row holds behind a prefix, counted and drawn from without a limit.

A single basket of 100 items has C(100, 20) ≈ 5·10^20 itemsets of 20 items, more than 64 bits can count. The compiled
search counts such crowds by their shape (`Sink.alone`), and what follows is done with Python's integers.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpmine.itemsets.counting.field import new_sink

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmine.itemsets.counting.arrays import Sink
    from dpmine.itemsets.counting.field import Field


class Crowd(NamedTuple):
    """The itemsets of a prefix and `more` of the `rest` items behind it, for each of `prefixes` prefixes."""

    more: int
    rest: int
    prefixes: int

    @property
    def ways(self) -> int:
        """Itemsets of one prefix."""
        return comb(self.rest, self.more)

    @property
    def size(self) -> int:
        """Itemsets of all prefixes."""
        return self.prefixes * self.ways


def crowds_of(sink: Sink) -> list[Crowd]:
    """What a search counted apart."""
    return [Crowd(int(more), int(rest), int(sink.alone[more, rest])) for more, rest in np.argwhere(sink.alone)]


def searched(field: Field, sink: Sink) -> Sink:
    """The whole field, one part after the other: numberings go through all of them."""
    for part in field.parts():
        if sink.found[0] < sink.stop:
            field.search(part, sink)
    return sink


def in_a_crowd(field: Field, counted: Sink, n: int) -> NDArray[np.int32]:
    """int32[0 or 1, size]: itemset number n out of the crowds that a search of the field counted."""
    size = counted.itemsets.shape[1]
    for crowd in crowds_of(counted):
        if n < crowd.size:
            number, place = divmod(n, crowd.ways)
            sink = new_sink(size, 1, highest=1, longest=counted.alone.shape[1] - 1)
            sink.wanted[:] = crowd.more, crowd.rest, number
            found = searched(field, sink).crowd[: size - crowd.more + crowd.rest]
            prefix, rest = np.split(found, [size - crowd.more])
            return np.sort(np.append(prefix, rest[_combination(place, crowd.rest, crowd.more)]))[None, :]
        n -= crowd.size
    return np.empty((0, size), np.int32)


def _combination(n: int, items: int, size: int) -> list[int]:
    """Number n < C(items, size) of the ways to choose `size` out of 0 … items − 1, in lexicographic order."""
    chosen: list[int] = []
    for item in range(items):
        with_item = comb(items - item - 1, size - len(chosen) - 1) if len(chosen) < size else 0
        if n < with_item:
            chosen.append(item)
        else:
            n -= with_item
    return chosen
