from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.adversary import Descent, LazyUniverse
from support.cases import every
from support.conformance.protocol import check_universe

from dpmine.selection.select import select
from dpmine.selection.universes.dense import Dense, Levels
from dpmine.selection.universes.protocol import Level, Remaining, Scaled
from dpmine.selection.universes.ranking import ArrayRanking, BestRanks, Padded, Ranking, ranking_of

if TYPE_CHECKING:
    from collections.abc import Hashable

TRUTH: dict[Hashable, Any] = {"a": 9, "b": 5, "c": 5, "d": 5, "e": 1, "f": 0, "g": 0}
SORTED = [9, 5, 5, 5, 1, 0, 0]
DESCENTS = pytest.mark.parametrize("descent", Descent)


def lazy(descent: Descent, padding: int = 0) -> LazyUniverse[Hashable]:
    return LazyUniverse(TRUTH, least=0, descent=descent, padding=padding)


def test_no_deeper_than_asked() -> None:
    universe = lazy(Descent.CRAWL)
    ranking = Ranking(universe)
    ranking.score(1)
    assert universe.floors == [9]
    ranking.score(4)
    assert min(universe.floors) == 5


@DESCENTS
def test_runs(descent: Descent) -> None:
    ranking = Ranking(lazy(descent))
    ranking.score(7)
    assert [ranking.end_of_run(rank) for rank in range(1, 8)] == [1, 4, 4, 4, 5, 7, 7]


@DESCENTS
@every("rank", range(1, 8))
def test_level_of_a_rank(descent: Descent, rank: int) -> None:
    level = Ranking(lazy(descent)).level(rank)
    assert level == Level(SORTED[rank - 1], SORTED.count(SORTED[rank - 1]))


@DESCENTS
@every("padding", [0, 9])
@every("count", range(1, 8))
def test_best_ranks_are_a_universe(descent: Descent, count: int, padding: int) -> None:
    """Dummies are ordinary candidates of score 0 there."""
    universe = BestRanks(Ranking(lazy(descent, padding=padding)), count)
    scores = [*(score for score in SORTED if score or not padding), *[0] * padding]
    check_universe(universe, dict(enumerate(scores[:count])))


def test_best_ranks_are_known_without_a_look_behind_them() -> None:
    universe = lazy(Descent.CRAWL)
    head = BestRanks(Ranking(universe), 3).head(0)
    assert head == [Level(9, 1), Level(5, 2)]
    assert min(universe.floors) == 5


@DESCENTS
def test_bounds_that_cost_nothing(descent: Descent) -> None:
    universe = lazy(descent)
    ranking = Ranking(universe)
    looked = len(universe.floors)
    assert ranking.length == 7
    for rank in range(1, 8):
        least, most = ranking.score_bounds(rank)
        assert ranking.score_at_least(rank) == least <= SORTED[rank - 1] <= most
    assert len(universe.floors) == looked
    for rank, score in enumerate(SORTED, 1):
        assert ranking.score(rank) == score == ranking.score_at_least(rank)
        assert ranking.score_bounds(rank) == (score, score)


@DESCENTS
def test_dummies_come_first_among_zeros(descent: Descent) -> None:
    universe = lazy(descent, padding=100)
    ranking = Ranking(universe)
    assert ranking.length == 100
    assert [ranking.score(rank) for rank in (1, 5, 6, 99, 100)] == [9, 1, 0, 0, 0]
    assert ranking.end_of_run(6) == 100
    assert list(ranking.head(0)) == [Level(9, 1), Level(5, 3), Level(1, 1), Level(0, 95)]
    assert ranking.level(5) == Level(1, 1)
    assert ranking.level(6) is None


def test_zeros_of_a_known_universe_are_no_dummies() -> None:
    ranking = Ranking(Dense([2, 0, 0]))
    assert ranking.level(3) == Level(0, 2)


def test_zeros_behind_dummies_do_not_count() -> None:
    """The length depends on the number of dummies alone, never on how many candidates of score 0 are known."""
    lengths = {Ranking(Levels([(3, 1), *zeros], padding=50)).length for zeros in ([], [(0, 1)], [(0, 10**9)])}
    assert lengths == {50}


def test_fewer_dummies_than_supported_candidates() -> None:
    ranking = Ranking(Levels([(3, 4), (2, 4)], padding=6))
    assert ranking.length == 6
    assert [ranking.score(rank) for rank in range(1, 7)] == [3, 3, 3, 3, 2, 2]
    assert list(BestRanks(ranking, 5).head(0)) == [Level(3, 4), Level(2, 1)]


def test_only_dummies() -> None:
    ranking = Ranking(Levels([], padding=2**128))
    assert ranking.known == ranking.length == 2**128
    assert ranking.score(2**128) == 0
    assert list(BestRanks(ranking, 10).head(0)) == [Level(0, 10)]


def test_negative_scores() -> None:
    ranking = Ranking(Dense([-3, -1, -3]))
    assert [ranking.score(rank) for rank in (1, 2, 3)] == [-1, -3, -3]


def test_more_candidates_than_dummies_leave_no_ranks_behind_the_last() -> None:
    ranking = Ranking(Levels([(3, 1), (1, 2**130)], padding=2**128))
    assert ranking.head(0) == [Level(3, 1), Level(1, 2**130)]
    assert ranking.end_of_run(2) == 2**128
    assert ranking.score(2**128) == 1


ARRAYS = {
    "floats": np.array([0.5, 7.25, 0.0, 7.25, 3.5, 0.0, 1e-300]),
    "integers": np.array([5, 0, 9, 5, 1, 0, 5], np.uint64),
    "zeros": np.zeros(7),
}


@every("name", ARRAYS)
@every("padding", [0, 2, 100])
@every("view", ["plain", "scaled", "remaining", "both"])
def test_ranks_of_an_array_are_those_of_its_levels(name: str, padding: int, view: str) -> None:
    def universe() -> Any:
        made: Any = Dense(ARRAYS[name])
        if view in {"remaining", "both"}:
            made = Remaining(made)
            made.take(3)
        if view in {"scaled", "both"}:
            made = Scaled(made, Fraction(3, 7))
        return Padded(made, padding)

    ranking, levels = ranking_of(universe()), Ranking(universe())
    assert isinstance(ranking, ArrayRanking)
    assert ranking.length == ranking.known == levels.length
    for rank in range(1, ranking.length + 1):
        score = levels.score(rank)
        assert ranking.score(rank) == ranking.score_at_least(rank) == score
        assert ranking.score_bounds(rank) == (score, score)
        assert ranking.level(rank) == levels.level(rank)
        levels.score(levels.length)
        assert ranking.end_of_run(rank) == levels.end_of_run(rank)
        assert type(ranking.score(rank)) is type(score)


def test_objects_have_no_array_to_be_ranked_by() -> None:
    assert isinstance(ranking_of(Dense([Fraction(1, 3), 2])), Ranking)


def test_no_level_is_made_of_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many distinct scores there are: a margin mechanism looks scores up, and draws from bands."""
    monkeypatch.setattr(Dense, "head", None)
    scores = np.random.default_rng(2).uniform(0, 10, 10**4)
    for mechanism in ("large_margin", "large_margin_tight", "stable_maximiser"):
        select(scores, mechanism=mechanism)
    for mechanism in ("limited_domain", "limited_domain_permute_and_flip"):
        select(scores, mechanism=mechanism, candidates="unknown")
