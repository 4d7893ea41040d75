from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from support.cases import every
from support.goodness import assert_sampled_law

from dpmine import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.models.validation.procedure import random_order, random_split, train_size_of


@every(("records", "train"), [(2, 1), (10, 3), (50_000, 20_000), (5, 0), (5, 5)])
def test_parts_are_disjoint_and_complete(records: int, train: int) -> None:
    rows, held_out = random_split(records, train, bits=SystemBits())
    assert (len(rows), len(held_out)) == (train, records - train)
    assert sorted([*rows, *held_out]) == list(range(records))


def test_order_is_uniform_whatever_ties_happen() -> None:
    """Keys of one byte, two records: all 65,536 pairs of keys, ties drawn again."""
    masses: Counter[tuple[int, ...]] = Counter()

    class Keys:
        def __init__(self, first: int) -> None:
            self._left = [first, 1]

        def take(self, count: int) -> int:
            assert count == 16
            return self._left.pop(0)

    for first in range(2**16):
        masses[tuple(random_order(2, bits=Keys(first), kind=np.uint8).tolist())] += 1  # type: ignore[arg-type]
    ties = 256
    assert masses == {(0, 1): (2**16 - ties) // 2 + ties, (1, 0): (2**16 - ties) // 2}  # ties end with the pair (0, 1)


@pytest.mark.statistical
def test_splits_are_uniform() -> None:
    """False alarms: 10^−6."""
    chances: dict[tuple[int, ...], float] = dict.fromkeys(combinations(range(5), 2), 1 / 10)
    assert_sampled_law(lambda bits: tuple(map(int, random_split(5, 2, bits=bits)[0])), chances, draws=4000)


@pytest.mark.statistical
def test_orders_are_uniform() -> None:
    """False alarms: 10^−6."""
    chances: dict[tuple[int, ...], float] = dict.fromkeys(permutations(range(4)), 1 / 24)
    assert_sampled_law(lambda bits: tuple(map(int, random_order(4, bits=bits))), chances, draws=6000)


@every(
    ("records", "share", "size"), [(10, 0.5, 5), (10, "0.9", 9), (2, 0.5, 1), (2, 0.99, 1), (3, "1/3", 1), (3, 0.01, 1)]
)
def test_sizes(records: int, share: Any, size: int) -> None:
    assert train_size_of(records, share) == size


@every(("records", "share"), [(1, 0.5), (0, 0.5), (10, 0), (10, 1), (10, "nan"), (10, 1.5)])
def test_unusable_sizes(records: int, share: Any) -> None:
    with pytest.raises(BadParameter):
        train_size_of(records, share)
