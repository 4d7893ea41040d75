"""The families of neighbours: only neighbours, the same for the same seed, and the special cases among them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.cases import every

from dpmine.auditing import CountTables, RowSets, ScoreVectors
from dpmine.auditing.targets.neighbours import GivenPairs, SeededBits, as_family
from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from collections.abc import Iterator


def tried(family: Any, climbs: int = 20, steps: int = 30) -> Iterator[tuple[Any, Any]]:
    """All starts, and walks from some of them."""
    starts, bits = list(family.starts()), SeededBits(7)
    yield from (pair.sides() for pair in starts)
    for climb in range(climbs):
        pair = starts[climb * 7 % len(starts)]
        for _ in range(steps):
            pair = family.changed(pair, bits) or pair
            yield pair.sides()


@every("sensitivity", [1, "0.5", 3])
def test_scores_move_by_the_sensitivity_at_most(sensitivity: Any) -> None:
    for before, after in tried(ScoreVectors(sensitivity)):
        assert len(before) == len(after) > 0
        assert 0 < max(abs(one - other) for one, other in zip(before, after, strict=True)) <= float(sensitivity)


def test_under_add_remove_scores_move_one_way() -> None:
    for before, after in tried(ScoreVectors(neighbors="add-remove")):
        assert {other - one for one, other in zip(before, after, strict=True)} <= {0, 1}


@every("neighbors", ["replace_one", "add_remove"])
@every("moving", [1, 3])
def test_counts_move_one_by_one(neighbors: str, moving: int) -> None:
    for before, after in tried(CountTables(neighbors=neighbors, moving=moving)):
        moves = Counter(other - one for one, other in zip(before, after, strict=True))
        assert min(before + after) >= 0
        assert moves[1] <= moving
        assert moves[-1] <= (moving if neighbors == "replace_one" else 0)
        assert moves.keys() <= {-1, 0, 1}


def test_sparse_tables_hold_no_zero() -> None:
    pairs = list(tried(CountTables(sparse=True, neighbors="add_remove")))
    assert all(count > 0 for pair in pairs for table in pair for count in table.values())
    assert ({}, {"a0": 1}) in pairs


@every("neighbors", ["replace_one", "add_remove"])
def test_rows_differ_by_one(neighbors: str) -> None:
    for before, after in tried(RowSets([0.0, 1.0, 0.5], neighbors)):
        lost, won = Counter(before) - Counter(after), Counter(after) - Counter(before)
        assert (lost.total(), won.total()) == ((1, 1) if neighbors == "replace_one" else (0, 1))


def test_the_form_is_the_callers() -> None:
    before, after = next(ScoreVectors(form=np.array).starts()).sides()
    assert isinstance(before, np.ndarray)
    assert before.dtype == after.dtype == np.int64
    assert isinstance(next(ScoreVectors("0.5").starts()).sides()[0][0], float)


def test_a_seed_determines_the_stream() -> None:
    one, other, third = SeededBits(1), SeededBits(1), SeededBits(2)
    drawn = [one.take(13) for _ in range(1000)]
    assert drawn == [other.take(13) for _ in range(1000)] != [third.take(13) for _ in range(1000)]
    assert 3700 < np.mean(drawn) < 4500  # 4095.5 expected, a standard error of 75


def test_pairs_of_the_caller() -> None:
    family = as_family([([1], [2])])
    assert isinstance(family, GivenPairs)
    assert [pair.sides() for pair in family.starts()] == [([1], [2])]
    with pytest.raises(BadParameter, match="pairs"):
        list(as_family([1, 2, 3]).starts())  # type: ignore[list-item]
    with pytest.raises(BadParameter, match="neighbours"):
        as_family(3)  # type: ignore[arg-type]


@every(
    ("family", "options"),
    [
        (ScoreVectors, {"sensitivity": 0}),
        (ScoreVectors, {"neighbors": "nobody"}),
        (ScoreVectors, {"sizes": []}),
        (ScoreVectors, {"sizes": [0]}),
        (ScoreVectors, {"sizes": [1000]}),
        (CountTables, {"moving": 0}),
        (RowSets, {"values": [1]}),
        (RowSets, {"values": [], "neighbors": "add_remove"}),
    ],
)
def test_unusable_families(family: Any, options: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        family(**options)
