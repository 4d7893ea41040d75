from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.cases import every
from support.goodness import assert_sampled_law
from support.toy_training import SignedMean, signed_score

from dpmine import BadParameter
from dpmine.exact.bits import BitSource, SystemBits
from experiments.validation_baselines import Overlap, alpha_split, control, data_split, random_choice, random_parts

TRAIN = [Fraction(1), Fraction(0), Fraction(1), Fraction(1)]
VALIDATION = [Fraction(1), Fraction(0)]
PARAMETERS = [3, -2]
ALPHA = Fraction(1, 2)


def _errors(model: tuple[int, Fraction], validation: list[Fraction]) -> int:
    return (5 if model[0] < 0 else 1) + len(validation) - 2


def _run(name: str, bits: BitSource | None = None, overlap: Overlap = Overlap.DISJOINT, **changes: Any) -> Any:
    """Any of the four, with the training it used."""
    training = SignedMean()
    source = bits or SystemBits()
    parameters = changes.get("parameters", PARAMETERS)
    epsilon = changes.get("epsilon", ALPHA)
    if name == "alpha_split":
        found = alpha_split(
            training, parameters, TRAIN, VALIDATION, errors=_errors, epsilon=epsilon, overlap=overlap, bits=source
        )
    elif name == "data_split":
        parts = changes.get("parts", [TRAIN[:2], TRAIN[2:]])
        found = data_split(
            training, parameters, parts, VALIDATION, errors=_errors, epsilon=epsilon, overlap=overlap, bits=source
        )
    elif name == "random_choice":
        found = random_choice(training, parameters, TRAIN, epsilon=epsilon, bits=source)
    else:
        found = control(training, parameters, TRAIN, VALIDATION, score=signed_score, epsilon=epsilon, bits=source)
    return found, training.trained


@pytest.mark.parametrize(
    ("name", "trained"),
    [
        ("alpha_split", [(3, ALPHA / 2), (-2, ALPHA / 2)]),
        ("data_split", [(3, ALPHA), (-2, ALPHA)]),
        ("control", [(3, ALPHA), (-2, ALPHA)]),
    ],
)
def test_budgets_of_the_trainings(name: str, trained: list[tuple[int, Fraction]]) -> None:
    assert _run(name)[1] == trained


def test_random_trains_one_candidate_only() -> None:
    found, trained = _run("random_choice")
    assert trained == [(found.parameter, ALPHA)]
    assert found.model == (found.parameter, found.parameter * Fraction(3, 4))


def test_data_split_trains_on_the_parts() -> None:
    models = {_run("data_split")[0].model for _ in range(60)}
    assert models <= {(3, Fraction(3, 2)), (-2, Fraction(-2))}


@pytest.mark.parametrize("name", ["alpha_split", "data_split"])
def test_guarantees(name: str) -> None:
    """Theorem 5."""
    assert _run(name)[0].guarantee.epsilon == ALPHA
    assert _run(name, overlap=Overlap.SHARED)[0].guarantee.epsilon == 2 * ALPHA
    assert _run(name)[0].guarantee.delta == 0


def test_guarantee_of_random() -> None:
    guarantee = _run("random_choice")[0].guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.private) == (ALPHA, 0, True)


def test_control_is_not_private_and_says_so() -> None:
    found, _ = _run("control")
    assert (found.index, found.parameter) == (0, 3)
    assert not found.guarantee.private
    assert found.guarantee.notes


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["alpha_split", "data_split"])
def test_law_of_the_choice(name: str) -> None:
    """P(i) ∝ e^{−α e_i/2}, errors 1 and 5. False alarms: 10^−6 each."""
    from math import exp

    first = 1 / (1 + exp(-float(ALPHA) * 4 / 2))
    assert_sampled_law(lambda bits: _run(name, bits)[0].index, {0: first, 1: 1 - first}, draws=3000)


@pytest.mark.statistical
def test_law_of_random() -> None:
    """False alarms: 10^−6."""
    assert_sampled_law(lambda bits: _run("random_choice", bits)[0].index, {0: 0.5, 1: 0.5}, draws=3000)


@every("name", ["alpha_split", "data_split", "random_choice", "control"])
@every("changes", [{"parameters": []}, {"epsilon": 0}, {"epsilon": "nan"}])
def test_unusable_parameters(name: str, changes: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        _run(name, **changes)


def test_every_candidate_needs_its_part() -> None:
    with pytest.raises(BadParameter, match="one part"):
        _run("data_split", parts=[TRAIN])


def test_random_parts_are_disjoint_and_even() -> None:
    parts = random_parts(11, 3, bits=SystemBits())
    assert sorted(map(len, parts)) == [3, 4, 4]
    assert sorted(np.concatenate(parts).tolist()) == list(range(11))
