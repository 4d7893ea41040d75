"""Contribution bounding: keep at most so many items of each privacy unit."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dpmine.itemsets.baskets import Baskets


def truncated(baskets: Baskets, max_items_per_unit: int) -> Baskets:
    """The baskets with at most `max_items_per_unit` ≥ 1 distinct items of each unit, over all its baskets.

    A unit keeps the items that most of its baskets hold; ties are broken by a hash of the unit's items, so that no item
    is favoured by its name. Both depend on the unit's own data alone, so neighbouring data sets stay neighbours.
    Baskets left empty are dropped; a unit keeps at least one.
    """
    unit_of = np.repeat(baskets.unit_of_basket, np.diff(baskets.basket_starts))
    return baskets.keeping(_kept(unit_of, baskets.items, _hashes(baskets.labels), max_items_per_unit))


def _kept(
    units: np.ndarray[tuple[int], np.dtype[np.int64]],
    items: np.ndarray[tuple[int], np.dtype[np.int32]],
    hashes: np.ndarray[tuple[int], np.dtype[np.uint64]],
    limit: int,
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which occurrences survive: those whose item is among the unit's `limit` most frequent ones."""
    catalogue = max(1, len(hashes))
    pairs, pair_of, frequency = np.unique(units * catalogue + items, return_inverse=True, return_counts=True)
    owners = pairs // catalogue
    order = np.lexsort((_lots(owners, hashes[pairs % catalogue]), -frequency, owners))
    first = np.searchsorted(owners, owners[order])  # owners are sorted, and so is owners[order]
    place = np.empty(len(pairs), np.int64)
    place[order] = np.arange(len(pairs)) - first
    return (place < limit)[pair_of]


def _lots(
    owners: np.ndarray[tuple[int], np.dtype[np.int64]], hashes: np.ndarray[tuple[int], np.dtype[np.uint64]]
) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """A number for every item of every unit, scrambled by the sum of the unit's hashes (Steele et al. 2014, mix64)."""
    sums = np.zeros(int(owners.max(initial=-1)) + 1, np.uint64)
    np.add.at(sums, owners, hashes)
    lots = sums[owners] ^ hashes
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        lots = (lots ^ (lots >> np.uint64(shift))) * np.uint64(factor)
    return lots ^ (lots >> np.uint64(31))


def _hashes(labels: Any) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """A public 64-bit hash of every label."""
    digests = (blake2b(str(label).encode(), digest_size=8).digest() for label in labels.to_pylist())
    return np.frombuffer(b"".join(digests), np.uint64)
