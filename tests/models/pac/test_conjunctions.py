"""Conjunctions against enumeration: scores, draws, laws, and what is rejected."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from math import comb, exp
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every
from support.conformance.protocol import check_universe
from support.effort import examples
from support.goodness import assert_sampled_law
from support.tapes import enumerate_law

from dpmine import BadData, BadParameter
from dpmine.itemsets.counting.miner import _affordable
from dpmine.models.pac.conjunctions import MOST, Conjunctions, _baskets, _memory_for_all
from dpmine.models.pac.hypothesis import HypothesisClass, Records
from dpmine.privacy import Neighbors
from dpmine.selection.recommend import build_mechanism
from dpmine.selection.select import law

if TYPE_CHECKING:
    from dpmine.selection.universes.protocol import Level, Score

VALUES = [0.0, 0.0, 1.0, -1.0, 0.25, float("nan")]
Row = tuple[tuple[float, ...], bool]
Truth = dict[Any, int]


def class_of(features: int, width: int) -> Conjunctions:
    return Conjunctions(tuple(f"f{i}" for i in range(features)), width)


def records_of(rows: list[Row], features: int) -> Records:
    return Records(
        np.array([row for row, _ in rows], np.float64).reshape(len(rows), features),
        np.array([label for _, label in rows], np.bool_),
    )


def truth_of(rows: list[Row], features: int, width: int) -> Truth:
    """Correct records of every conjunction, one record after the other."""
    every = [chosen for size in range(1, width + 1) for chosen in combinations(range(features), size)]
    return {chosen: sum(all(row[column] > 0 for column in chosen) == label for row, label in rows) for chosen in every}


def random_records(seed: int, rows: int, features: int, density: float, positive: float = 0.4) -> Records:
    generator = np.random.default_rng(seed)
    return Records((generator.random((rows, features)) < density).astype(np.float64), generator.random(rows) < positive)


def rows_of(records: Records) -> list[Row]:
    return [(tuple(row), bool(label)) for row, label in zip(records.features, records.positive, strict=True)]


@st.composite
def instances(draw: st.DrawFn) -> tuple[list[Row], int, int]:
    features = draw(st.integers(1, 4))
    row = st.tuples(st.tuples(*[st.sampled_from(VALUES)] * features), st.booleans())
    return draw(st.lists(row, max_size=9)), features, draw(st.integers(1, features))


@given(instances())
@settings(max_examples=examples(80))
def test_levels_and_their_members_are_those_of_enumeration(instance: tuple[list[Row], int, int]) -> None:
    rows, features, width = instance
    truth = truth_of(rows, features, width)
    known = class_of(features, width)
    universe = known.universe(records_of(rows, features))
    levels = universe.head(universe.least)
    assert {level.score: level.count for level in levels} == Counter(truth.values())
    assert known.size == universe.size == len(truth)
    for level in levels:
        masses, left = enumerate_law(lambda bits, level=level: universe.member(level, bits=bits), 12, runs=600)  # type: ignore[misc]
        assert set(masses) == {chosen for chosen, score in truth.items() if score == level.score}
        assert all(mass <= 1 / level.count <= mass + left for mass in masses.values())


@pytest.mark.parametrize("density", [0.03, 0.3, 0.97, 1.0])
def test_scores_of_many_records(density: float) -> None:
    """Thin and thick records are searched in different ways."""
    records = random_records(3, 700, 12, density)
    universe = class_of(12, 3).universe(records)
    truth = truth_of(rows_of(records), 12, 3)
    assert {level.score: level.count for level in universe.head(universe.least)} == Counter(truth.values())
    scores = class_of(12, 3).correct(records).tolist()
    assert {class_of(12, 3).positions(number): score for number, score in enumerate(scores)} == truth


UNIVERSES = {
    "mixed": [((1.0, 0.0, 1.0), True), ((1.0, 1.0, 0.0), False), ((0.0, 0.0, 1.0), True), ((1.0, 0.0, 0.0), True)],
    "nothing is ever true": [((0.0, -1.0, 0.0), True), ((0.0, 0.0, 0.0), False)],
    "all is always true": [((1.0, 1.0, 1.0), True), ((2.0, 3.0, 1.0), False), ((1.0, 1.0, 1.0), False)],
    "positives only": [((1.0, 0.0, 1.0), True), ((0.0, 0.0, 1.0), True)],
    "negatives only": [((1.0, 0.0, 1.0), False), ((0.0, 0.0, 1.0), False)],
    "no records": [],
}


@every("name", UNIVERSES)
@every("width", [1, 2, 3])
def test_the_universe_keeps_its_protocol(name: str, width: int) -> None:
    rows: list[Row] = UNIVERSES[name]  # type: ignore[assignment]
    check_universe(class_of(3, width).universe(records_of(rows, 3)), truth_of(rows, 3, width))


@every(("items", "width"), [(1, 1), (5, 1), (5, 2), (6, 6), (9, 4), (30, 3)])
def test_numbers_of_subsets_are_a_bijection(items: int, width: int) -> None:
    numbering = class_of(items, width)
    known: dict[int, tuple[int, ...]] = {}
    for size in range(1, width + 1):
        every = list(combinations(range(items), size))
        known |= dict(zip(numbering.numbers(np.array(every, np.int32)).tolist(), every, strict=True))
    assert sorted(known) == list(range(numbering.size))
    assert all(numbering.positions(number) == chosen for number, chosen in known.items())


@pytest.mark.slow
@pytest.mark.parametrize(("items", "width"), [(464, 3), (5792, 2), (24, 24), (2**16, 1)])
def test_numbers_of_the_largest_classes(items: int, width: int) -> None:
    numbering = class_of(items, width)
    assert numbering.size <= MOST
    generator = np.random.default_rng(5)
    for number in [0, numbering.size - 1, *generator.integers(0, numbering.size, 200).tolist()]:
        chosen = numbering.positions(number)
        assert 1 <= len(chosen) <= width
        assert list(chosen) == sorted(set(chosen))
        assert 0 <= chosen[0] <= chosen[-1] < items
        assert numbering.numbers(np.array([chosen], np.int32)).tolist() == [number]


@every("neighbors", list(Neighbors))
@every("mechanism", ["exponential", "max_of_exponentials", "large_margin", "large_margin_tight"])
def test_laws_are_those_of_the_enumerated_class(mechanism: str, neighbors: Neighbors) -> None:
    records = random_records(11, 400, 6, 0.4)
    truth = truth_of(rows_of(records), 6, 3)
    universe = class_of(6, 3).universe(records)
    options: dict[str, Any] = {"epsilon": 8, "delta": 1e-3, "mechanism": mechanism, "neighbors": neighbors}
    implicit = law(universe, **options)
    one_by_one = law(list(truth.values()), **options)
    by_score: Counter[int] = Counter()
    for score, probability in zip(truth.values(), one_by_one.pmf.tolist(), strict=True):
        by_score[score] += probability
    assert implicit.pmf.tolist() == pytest.approx([by_score[score] for score in sorted(by_score, reverse=True)])
    assert implicit.nothing == one_by_one.nothing == 0


@pytest.mark.statistical
def test_the_exponential_mechanism_draws_from_its_law() -> None:
    """False alarms: 1e-6; the seed is fixed. Expected: weights written out, conjunctions that never hold included."""
    records = random_records(2, 40, 6, 0.15)
    truth = truth_of(rows_of(records), 6, 3)
    weights = {chosen: exp(score / 4) for chosen, score in truth.items()}
    expected = {chosen: weight / sum(weights.values()) for chosen, weight in weights.items()}
    universe = class_of(6, 3).universe(records)
    mechanism = build_mechanism("exponential", epsilon=0.5, delta=1e-6, neighbors="replace_one")
    assert_sampled_law(lambda bits: mechanism.choose(universe, bits=bits), expected, draws=4000)


@pytest.mark.statistical
def test_members_and_tails_are_uniform() -> None:
    """False alarms: 1e-6 each; most conjunctions hold for no record here, and share their level with some that do."""
    records = random_records(8, 25, 8, 0.12)
    truth = truth_of(rows_of(records), 8, 3)
    universe = class_of(8, 3).universe(records)
    negatives = int((~records.positive).sum())
    level: Level = next(level for level in universe.head(universe.least) if level.score == negatives)
    never = {c for c in truth if not (records.features[:, c] > 0).all(axis=1).any()}
    members = {c: 1 / level.count for c, score in truth.items() if score == negatives}
    assert len(never) > 20
    assert never < set(members)
    assert_sampled_law(lambda bits: universe.member(level, bits=bits), members, draws=4000)
    tail = [(c, score) for c, score in truth.items() if score < negatives + 1]
    expected: dict[tuple[Any, Score], float] = dict.fromkeys(tail, 1 / len(tail))
    assert_sampled_law(lambda bits: universe.tail(negatives + 1, bits=bits), expected, draws=4000)


def test_a_conjunction_predicts_what_its_score_says() -> None:
    records = random_records(4, 200, 7, 0.5)
    known: HypothesisClass[tuple[int, ...]] = class_of(7, 3)
    for chosen, score in truth_of(rows_of(records), 7, 3).items():
        predicted = known.hypothesis(chosen).predict(records.features)
        assert predicted.dtype == np.bool_
        assert int((predicted == records.positive).sum()) == score


def test_a_conjunction_can_be_read() -> None:
    rule = Conjunctions(("married", "employed", "educated"), 2).hypothesis((0, 2))
    assert str(rule) == "married and educated"
    assert json.loads(json.dumps(rule.parameters())) == {"features": ["married", "educated"]}
    assert rule.predict(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.5, 0, 7], [1, 1, -1]])).tolist() == [1, 0, 1, 0]


def test_candidates_that_the_class_does_not_have_are_rejected() -> None:
    known = class_of(4, 2)
    assert known.columns == 4
    assert known.hypothesis((1, 3)).features == ("f1", "f3")
    odd: list[Any] = [
        (),
        (0, 1, 1),
        (0, 1, 2),
        (1, 0),
        (1, 1),
        (4,),
        (-1,),
        (10**30,),
        (0, "a"),
        (True,),
        (0.0,),
        3,
        "ab",
    ]
    for candidate in odd:
        with pytest.raises((LookupError, ValueError, TypeError)):
            known.hypothesis(candidate)


@every(
    ("features", "width", "message"),
    [
        ((), 1, "one or more names"),
        (("a", "a"), 1, "all different"),
        (("a", "b"), 0, "width must be a whole number of at least 1"),
        (("a", "b"), True, "width must be a whole number"),
        (("a", "b"), 1.5, "width must be a whole number"),
        (("a", "b"), 3, "width must be at most the number of features, 2"),
    ],
)
def test_unusable_parameters(features: Any, width: Any, message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        Conjunctions(features, width)


@every(("features", "width"), [(100, 5), (25, 25), (466, 3), (5793, 2), (20_000, 20_000)])
def test_classes_too_large_are_rejected_by_public_numbers(features: int, width: int) -> None:
    with pytest.raises(BadParameter, match=r"more than 16777216 conjunctions .* smaller width or fewer features"):
        class_of(features, width)


@every(("features", "width"), [(100, 4), (24, 24), (464, 3), (5792, 2)])
def test_classes_just_small_enough(features: int, width: int) -> None:
    assert class_of(features, width).size == sum(comb(features, size) for size in range(1, width + 1)) <= MOST


@every(("items", "size"), [(1, 1), (464, 3), (5792, 2), (24, 12), (24, 24), (100, 4)])
def test_the_miner_may_list_every_conjunction(items: int, size: int) -> None:
    """Its own limit would reject some data and not others."""
    assert _affordable(size, _memory_for_all(items, size)) >= comb(items, size)


def test_records_without_a_true_feature_are_in_no_basket() -> None:
    """`Baskets` guarantees that none is empty."""
    baskets = _baskets(np.array([[0, 0, 0], [1, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0]], np.bool_))
    assert baskets.items.tolist() == [0, 2, 1]
    assert baskets.basket_starts.tolist() == [0, 2, 3]
    assert baskets.unit_starts.tolist() == [0, 1, 2]
    assert baskets.catalogue_size == 3


def test_records_with_other_columns_are_rejected_without_their_values() -> None:
    canary = 987654321.125
    with pytest.raises(BadData, match="one column a feature: 3 columns") as caught:
        class_of(3, 2).universe(Records(np.full((4, 2), canary), np.array([True, False, True, False])))
    assert "98765" not in str(caught.value)


def test_no_number_is_rejected() -> None:
    odd = [float("nan"), float("inf"), float("-inf"), -0.0, 5e-324]
    universe = class_of(5, 1).universe(Records(np.array([odd]), np.array([True])))
    assert [(level.score, level.count) for level in universe.head(0)] == [(1, 2), (0, 3)]
