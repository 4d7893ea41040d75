"""Validation as a procedure on any training, and the split that it starts from."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from support.cases import every
from support.goodness import assert_sampled_law
from support.oracles.mechanisms import softmax
from support.tapes import assert_law
from support.toy_training import SignedMean, signed_score

from dpmine import BadParameter, Neighbors, law
from dpmine.exact.bits import BitSource, SystemBits
from dpmine.models.validation.procedure import (
    Trained,
    random_order,
    random_split,
    select_parameter,
    train_selected,
    train_size_of,
)
from dpmine.models.validation.terms import Stability, ValidationTerms, allowed
from dpmine.selection.recommend import MECHANISMS

TRAIN = [Fraction(i % 3, 2) for i in range(20)]
VALIDATION = [Fraction(i % 2) for i in range(10)]
BASE: dict[str, Any] = {
    "train_size": 20,
    "validation_size": 10,
    "failure": "1e-6",
    "training_epsilon": "1/3",
    "selection_epsilon": "1/5",
}


def _stable(parameters: list[int]) -> list[Stability]:
    return [Stability(Fraction(abs(p)), Fraction(abs(p))) for p in parameters]


def _select(
    parameters: list[int],
    training: SignedMean | None = None,
    bits: BitSource | None = None,
    **terms: Any,
) -> Trained[int, Any]:
    return select_parameter(
        training or SignedMean(),
        parameters,
        TRAIN,
        VALIDATION,
        score=signed_score,
        stabilities=_stable(parameters),
        terms=ValidationTerms.of(**{**BASE, **terms}),
        bits=bits or SystemBits(),
    )


def _train(
    parameters: list[int],
    training: SignedMean,
    final: Any = None,
    last: SignedMean | None = None,
    **terms: Any,
) -> Trained[int, Any]:
    public = ValidationTerms.of(**{**BASE, **terms})
    selected = _select(parameters, training, **terms)
    return train_selected(last or training, selected, final or TRAIN, public, bits=SystemBits())


@every("kind", ["uniform", "candidate"])
@every("mechanism", ["max_of_exponentials", "exponential", "max_of_laplaces"])
def test_the_best_candidate_is_found_when_the_budget_is_large(mechanism: str, kind: str) -> None:
    found = _select([-1, 5, 1], mechanism=mechanism, sensitivities=kind, selection_epsilon=500)
    assert (found.index, found.parameter) == (1, 5)
    assert found.model == (5, 5 * sum(TRAIN) / 20)


@pytest.mark.parametrize("name", [name for name in allowed() if MECHANISMS[name].approximate])
def test_approximate_choosers(name: str) -> None:
    found = _select([-9, 9], mechanism=name, selection_epsilon=5000, selection_delta="1e-7")
    assert found.index == 1
    assert found.guarantee.delta == Fraction(1, 10**6) + Fraction(1, 10**7)


def test_guarantee_of_the_index() -> None:
    guarantee = _select([1, 2]).guarantee
    assert (guarantee.epsilon, guarantee.delta) == (Fraction(1, 5), Fraction(1, 10**6))
    assert (guarantee.neighbors, guarantee.unit, guarantee.private) == (Neighbors.REPLACE_ONE, "row", True)


def test_guarantee_of_the_whole_procedure_and_what_was_trained() -> None:
    training = SignedMean()
    found = _train([-1, 5, 1], training, selection_epsilon=500)
    assert found.guarantee.epsilon == Fraction(1, 3) + 500
    assert found.guarantee.delta == Fraction(1, 10**6)
    third = Fraction(1, 3)
    assert training.trained == [(-1, third), (5, third), (1, third), (5, third)]


def test_the_last_training_draws_afresh() -> None:
    training = SignedMean(noise_bits=64)
    models = {_train([5], training).model for _ in range(3)}
    assert len(models) == 3


def test_the_last_training_may_see_all_records() -> None:
    found = _train([-1, 5], SignedMean(), final=[*TRAIN, *VALIDATION], selection_epsilon=500)
    assert found.model == (5, 5 * (sum(TRAIN) + sum(VALIDATION)) / 30)


def test_the_last_training_may_be_another() -> None:
    candidates, last = SignedMean(), SignedMean()
    found = _train([-1, 5], candidates, last=last, selection_epsilon=500)
    assert found.parameter == 5
    assert (len(candidates.trained), last.trained) == (2, [(5, Fraction(1, 3))])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["uniform", "candidate"])
def test_law_of_the_choice(kind: str) -> None:
    """Every bit tape, against a softmax written out: scores 2θ/2, n = 20, m = 10, so that Δ = |θ|/10."""
    scores = {1: 1.0, -1: -1.0} if kind == "uniform" else {1: 1.0, -4: -4.0}
    if kind == "uniform":
        expected = softmax([10 * score for score in scores.values()], 0.1 / 2)
    else:
        t = 2 * 3.6889 / 0.1  # 2 ln(2/0.05)/ε, up to the rounding that the tolerance below allows for
        lowered = [1 - t * 0.1, -4 - t * 0.4]
        expected = softmax([0, -(lowered[0] - lowered[1]) / 0.5], 0.1 / 2)
    parameters = list(scores)

    def sampler(bits: BitSource) -> int:
        found = _select(parameters, bits=bits, mechanism="exponential", sensitivities=kind, selection_epsilon="0.1")
        assert found.index is not None
        return found.index

    assert_law(sampler, dict(enumerate(map(float, expected))), depth=14, undecided=0.05, runs=6000)


@pytest.mark.parametrize("failure", [0.5, 0.1, 0.01])
def test_utility_of_the_uniform_form(failure: float) -> None:
    """Theorem 3, by the exact law: q ≥ max q − (2β/α2) ln(k/δ_0) with probability ≥ 1 − δ_0."""
    from math import log

    scores = [Fraction(i * i, 50) for i in range(12)]
    pmf = law(scores, epsilon="1/2", mechanism="max_of_exponentials", sensitivity="1/20").pmf
    bound = float(scores[-1]) - 2 * (1 / 20) / 0.5 * log(12 / failure)
    assert sum(p for p, q in zip(pmf, scores, strict=True) if float(q) < bound) <= failure


def test_a_silent_chooser_releases_nothing() -> None:
    terms: dict[str, Any] = {"mechanism": "large_margin", "selection_delta": "1e-9"}
    assert _select([1, 2], **terms).index is not None  # public candidates without dummies: a margin is not needed
    silent: dict[str, Any] = {"mechanism": "stable_maximiser", "selection_delta": "1e-9", "selection_epsilon": "1e-9"}
    found = _select([1, 1], **silent)
    assert (found.index, found.parameter, found.model) == (None, None, None)
    trained = _train([1, 1], SignedMean(), **silent)
    assert (trained.index, trained.model) == (None, None)
    assert trained.guarantee.epsilon == Fraction(1, 3) + Fraction(1, 10**9)


def test_a_public_fallback() -> None:
    silent: dict[str, Any] = {"mechanism": "stable_maximiser", "selection_delta": "1e-9", "selection_epsilon": "1e-9"}
    found = _select([1, 1], fallback=1, **silent)
    assert (found.index, found.parameter) == (1, 1)


@every(
    ("name", "reason"),
    [("limited_domain", "dummies"), ("bounded-growth", "counts"), ("exact", "not private"), ("guess", "one of")],
)
def test_other_choosers_are_rejected_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(BadParameter, match=reason):
        _select([1, 2], mechanism=name, selection_delta="1e-6")


def test_an_approximate_chooser_needs_its_own_delta() -> None:
    with pytest.raises(BadParameter, match="large_margin needs a δ"):
        _select([1, 2], mechanism="large_margin")


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_auto_is_settled_by_public_numbers(delta: str) -> None:
    assert ValidationTerms.of(**{**BASE, "mechanism": "auto", "selection_delta": delta}).chooser(2).name in allowed()


@every(
    "terms",
    [
        {"train_size": 0},
        {"train_size": 1.5},
        {"validation_size": -1},
        {"validation_size": True},
        {"failure": -1},
        {"failure": "nan"},
        {"training_epsilon": 0},
        {"selection_epsilon": -1},
        {"selection_delta": 1},
        {"fallback": 2},
        {"fallback": -1},
    ],
)
def test_unusable_terms(terms: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        _select([1, 2], **terms)


def test_an_empty_validation_part_is_named() -> None:
    with pytest.raises(BadParameter, match="validation part has no records"):
        _select([1, 2], validation_size=0)


def test_no_candidates() -> None:
    with pytest.raises(BadParameter, match="at least one parameter"):
        _select([])


def test_every_candidate_needs_a_stability() -> None:
    with pytest.raises(BadParameter, match="stabilities"):
        select_parameter(
            SignedMean(),
            [1, 2],
            TRAIN,
            VALIDATION,
            score=signed_score,
            stabilities=_stable([1]),
            terms=ValidationTerms.of(**BASE),
            bits=SystemBits(),
        )
    with pytest.raises(BadParameter, match="greater than 0"):
        _select([0, 1])


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
