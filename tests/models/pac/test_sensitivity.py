"""What guarantees for hypotheses rest on: one record moves no score by more than 1, and an added one lowers none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from models.pac.oracles import some_records
from support.cases import every

from dpmine.models.pac.conjunctions import Conjunctions
from dpmine.models.pac.hypothesis import HypothesisClass, Records
from dpmine.models.pac.intervals import Intervals
from dpmine.models.pac.listed import Listed
from dpmine.models.pac.separators import Separators
from dpmine.models.pac.thresholds import CutSide, PublicGrid, Stumps, Thresholds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpmine.models.entries import Floats

GRID = PublicGrid.of("-1/2", "5/4", 6)
CLASSES: dict[str, tuple[HypothesisClass[Any], int, Iterable[Any]]] = {
    "thresholds": (Thresholds(GRID), 1, [(0, j, CutSide.AT_LEAST) for j in range(6)]),
    "intervals": (Intervals(GRID), 1, [(i, j) for j in range(7) for i in range(j)]),
    "stumps": (Stumps((GRID, GRID), ("a", "b")), 2, [(c, j, s) for c in range(2) for j in range(6) for s in CutSide]),
    "conjunctions": (Conjunctions(("a", "b", "c"), 2), 3, [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]),
    "separators": (Separators.of(2, 2, bound=3), 2, range(Separators.of(2, 2).size)),
    "predictors": (Listed([lambda x: x[:, 0] > 0, lambda x: x[:, 0] > 1]), 1, range(2)),
}


def scores(hypotheses: HypothesisClass[Any], candidates: Iterable[Any], records: Records) -> np.ndarray:
    """By prediction; that universes say the same is tested for each class."""
    told = [hypotheses.hypothesis(candidate).predict(records.features) == records.positive for candidate in candidates]
    return np.array([int(right.sum()) for right in told])


def level_counts(hypotheses: HypothesisClass[Any], records: Records) -> dict[int, int]:
    universe = hypotheses.universe(records)
    return {int(level.score): level.count for level in universe.head(universe.least)}


def worst_moves(hypotheses: HypothesisClass[Any], candidates: Iterable[Any], columns: int) -> tuple[int, int, int]:
    """The largest move by a replacement, and the least and the largest by an addition, over random neighbours."""
    replaced, lowest, highest = 0, 1, 0
    for seed in range(30):
        records, other = some_records(7, columns, seed), some_records(1, columns, 100 + seed)
        features, positive = records.features.copy(), records.positive.copy()
        features[seed % 7], positive[seed % 7] = other.features[0], other.positive[0]
        wider = Records(np.vstack([records.features, other.features]), np.append(records.positive, other.positive))
        here = scores(hypotheses, candidates, records)
        replaced = max(replaced, int(np.abs(scores(hypotheses, candidates, Records(features, positive)) - here).max()))
        added = scores(hypotheses, candidates, wider) - here
        lowest, highest = min(lowest, int(added.min())), max(highest, int(added.max()))
    return replaced, lowest, highest


@pytest.mark.parametrize("name", CLASSES)
def test_scores_are_counts(name: str) -> None:
    hypotheses, columns, candidates = CLASSES[name]
    assert worst_moves(hypotheses, list(candidates), columns) == (1, 0, 1)


@every("name", CLASSES)
def test_universes_have_those_scores(name: str) -> None:
    hypotheses, columns, candidates = CLASSES[name]
    for seed in range(10):
        records = some_records(9, columns, seed)
        values, counts = np.unique(scores(hypotheses, list(candidates), records), return_counts=True)
        assert level_counts(hypotheses, records) == dict(zip(values.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize(
    "rule", [lambda x: x[:, 0] >= x[:, 0].mean(), lambda x: np.arange(len(x)) < np.argmax(x[:, 0])]
)
def test_predictors_that_look_at_other_rows_are_caught(rule: Callable[[Floats], Any]) -> None:
    """The broken twin: its score moves by more than its sensitivity, which the check above must see."""
    assert worst_moves(Listed([rule]), [0], 1)[0] > 1
