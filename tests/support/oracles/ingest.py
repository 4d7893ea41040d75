"""Baskets as plain Python collections: an oracle for reading, and the canary that no message may contain."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dpmine.itemsets.outofcore.partitions import PartitionedBaskets
from dpmine.itemsets.transactions.interface import Baskets

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from dpmine.errors import DpmineError
    from dpmine.itemsets.transactions.interface import Transactions

CANARY = "canary-7f3a"
"""A value planted in test data."""

Item = int | str
Units = list[list[tuple[Item, ...]]]
"""For each unit its baskets, each a sorted tuple of items; units and baskets sorted."""


def expected(rows: Iterable[tuple[Hashable, Hashable, Item | None]], catalogue: Iterable[Item] | None = None) -> Units:
    """The units of (unit, basket, item) rows; keys are tuples, and None anywhere drops the row."""
    known = None if catalogue is None else set(catalogue)
    units: dict[Hashable, dict[Hashable, set[Any]]] = defaultdict(lambda: defaultdict(set))
    for unit, basket, item in rows:
        parts = [*(unit if isinstance(unit, tuple) else [unit]), *(basket if isinstance(basket, tuple) else [basket])]
        if None in parts or item is None or (known is not None and item not in known):
            continue
        units[unit][basket].add(item)
    return sorted(sorted(tuple(sorted(basket)) for basket in baskets.values()) for baskets in units.values())


def bought(units: Units) -> list[Item]:
    """The items that occur, sorted."""
    return sorted({item for baskets in units for basket in baskets for item in basket})


def contents(baskets: Transactions | Baskets) -> Units:
    """The units of what was read, in memory or in partitions, after checking what Baskets guarantee."""
    if isinstance(baskets, PartitionedBaskets):
        return sorted(unit for part in baskets.parts() for unit in contents(part))
    assert isinstance(baskets, Baskets)
    check_structure(baskets)
    labels = baskets.labels.to_pylist()
    items = [labels[code] for code in baskets.items]
    each = [tuple(items[start:end]) for start, end in _pairs(baskets.basket_starts)]
    return sorted(sorted(each[start:end]) for start, end in _pairs(baskets.unit_starts))


def check_structure(baskets: Baskets) -> None:
    """Widths, orders and ends as documented in Baskets."""
    labels = baskets.labels.to_pylist()
    assert str(baskets.labels.type) in {"int64", "uint64", "string"}
    assert labels == sorted(set(labels))
    assert baskets.items.dtype == np.int32
    assert baskets.basket_starts.dtype == baskets.unit_starts.dtype == np.int64
    assert baskets.basket_starts[0] == 0
    assert baskets.basket_starts[-1] == len(baskets.items)
    assert baskets.unit_starts[0] == 0
    assert baskets.unit_starts[-1] == len(baskets.basket_starts) - 1
    assert np.all(np.diff(baskets.basket_starts) > 0)
    assert np.all(np.diff(baskets.unit_starts) > 0)
    for start, end in _pairs(baskets.basket_starts):
        assert np.all(np.diff(baskets.items[start:end]) > 0)


@contextmanager
def refused(kind: type[DpmineError], *words: str) -> Iterator[None]:
    """Expects an error of one line that contains all `words`, and the canary nowhere in it or behind it."""
    with pytest.raises(kind) as caught:
        yield
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message
    for error in _chain(caught.value):
        assert CANARY not in str(error)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, its causes and the contexts that a traceback would show."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _pairs(starts: Any) -> list[tuple[int, int]]:
    return list(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True))
