"""How large the best supports would be if items were independent: what the kind of counts is chosen by."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def likely_shares(items: Iterable[float], count: int) -> list[float]:
    """The `count` largest products of different numbers out of `items`, in [0, 1]; fewer where there are no more.

    The sets of numbers make a tree: a set's children add the number after its last one, or put that in its place.
    """
    shares = sorted((share for share in items if share > 0), reverse=True)
    queue = [(-share, 0) for share in shares[:1]]
    found: list[float] = []
    while queue and len(found) < count:
        negative, last = heappop(queue)
        found.append(-negative)
        if last + 1 < len(shares):
            heappush(queue, (negative * shares[last + 1], last + 1))
            heappush(queue, (negative / shares[last] * shares[last + 1], last + 1))
    return found
