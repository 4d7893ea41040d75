"""Measured privacy of the choice between neighbours, the draws of the training fixed; broken twins must be caught."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.cases import every
from support.toy_training import SignedMean, signed_score

from dpmine import law
from dpmine.models.validation.terms import Sensitivities, Stability, comparable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ALPHA2 = Fraction(1, 2)
SIZE = 8
Data = tuple[list[Fraction], list[Fraction]]
"""Training and validation records."""


def _law(
    parameters: Sequence[int], data: Data, kind: Sensitivities, share: Fraction = Fraction(1)
) -> NDArray[np.float64]:
    """The law of Algorithm 1's index without noise in training; `share` of the true stability is declared."""
    train, validation = data
    scores = [signed_score(SignedMean().fit(train, p, Fraction(1), 0), validation) for p in parameters]
    steps = [Stability(share * abs(p), share * abs(p)).sensitivity(len(train), len(validation)) for p in parameters]
    found = comparable(scores, steps, epsilon=ALPHA2, kind=kind)
    return law(list(found.scores), epsilon=ALPHA2, mechanism="max_of_exponentials", sensitivity=found.sensitivity).pmf


def _measured(here: NDArray[np.float64], there: NDArray[np.float64]) -> float:
    return float(np.abs(np.log(here) - np.log(there)).max())


def _data(training: int, validation: int, *, size: int = SIZE) -> Data:
    return [Fraction(int(i < training)) for i in range(size)], [Fraction(int(i < validation)) for i in range(size)]


PAIRS = [(_data(4, 4), _data(5, 4)), (_data(4, 4), _data(4, 5)), (_data(8, 8), _data(7, 8)), (_data(0, 8), _data(0, 7))]
"""One record changed, in the one part or in the other."""


@every("kind", list(Sensitivities))
@every("parameters", [(1, -1), (1, -1, 2), (1, 5, -20, 3), (100, -1, 1)])
@every("pair", PAIRS)
def test_the_choice_is_private(pair: tuple[Data, Data], parameters: tuple[int, ...], kind: Sensitivities) -> None:
    here, there = (_law(parameters, data, kind) for data in pair)
    assert _measured(here, there) <= float(ALPHA2) * (1 + 1e-6)


def test_the_measure_is_tight() -> None:
    """Scores that lie far apart and move in opposite directions lose nearly the whole budget."""
    here, there = _data(8, 8), _data(7, 8)
    loss = _measured(_law((1, -1), here, Sensitivities.UNIFORM), _law((1, -1), there, Sensitivities.UNIFORM))
    assert loss > 0.9 * float(ALPHA2)


@pytest.mark.parametrize(
    ("parameters", "kind"), [((1, -1), Sensitivities.UNIFORM), ((1, -1, 5), Sensitivities.CANDIDATE)]
)
def test_a_halved_sensitivity_is_caught(parameters: tuple[int, ...], kind: Sensitivities) -> None:
    losses = [_measured(*(_law(parameters, data, kind, share=Fraction(1, 2)) for data in pair)) for pair in PAIRS]
    assert max(losses) > 1.2 * float(ALPHA2)


def test_the_same_records_in_both_parts_are_caught() -> None:
    """A record that trains and validates moves the score by β1/n + β2/m."""
    here, there = _data(8, 8), _data(7, 7)
    loss = _measured(_law((1, -1), here, Sensitivities.UNIFORM), _law((1, -1), there, Sensitivities.UNIFORM))
    assert loss > 1.8 * float(ALPHA2)


@pytest.mark.parametrize("pair", PAIRS, ids=range(4))
def test_the_index_with_its_model_is_private(pair: tuple[Data, Data]) -> None:
    """Release of the winner's own model costs α1 + α2: T = integer noise of law ∝ e^{−α1 |r|}, laws written out.

    Two candidates; the joint law of index and model is summed over the loser's noise.
    """
    alpha1 = 0.7
    here, there = (_joint(*data, alpha1) for data in pair)
    losses = [abs(np.log(here[key]) - np.log(there[key])) for key in here if key in there]
    assert len(losses) > 20
    assert max(losses) <= alpha1 + float(ALPHA2) + 1e-6


def _joint(train: list[Fraction], validation: list[Fraction], alpha1: float) -> dict[tuple[int, int], float]:
    """Pr[index, nθ·mean + r]: noise on the sum of the training records, whose sensitivity is 1."""
    reach = range(-40, 41)
    masses = {r: float(np.exp(-alpha1 * abs(r))) for r in reach}
    total = sum(masses.values())
    joint: dict[tuple[int, int], float] = {}
    for own in range(-6, 7):
        for other in reach:
            for winner, noise in enumerate([(own, other), (other, own)]):
                models = [p * int(sum(train)) + z for p, z in zip((1, -1), noise, strict=True)]
                scores = [model + p * int(sum(validation)) for model, p in zip(models, (1, -1), strict=True)]
                lead = float(ALPHA2) / 2 * (scores[winner] - scores[1 - winner])
                key = winner, models[winner]
                joint[key] = joint.get(key, 0.0) + masses[own] * masses[other] / total**2 / (1 + np.exp(-lead))
    return joint
