"""Stability-based validation: train every candidate on the same data, choose privately, train the chosen one again.

Here is also the public random split, made of random orders of records, with an exact distribution.
Proofs: docs/proofs/models/validation.md. Source: Chaudhuri & Vinterbo 2013, Algorithms 1 and 2, Theorems 1 to 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.noise import words
from dpmine.models.validation.terms import Stability, ValidationTerms, comparable
from dpmine.parameters import Number, exact_share, whole
from dpmine.selection.select import choose
from dpmine.selection.universes.dense import Dense

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.privacy import Guarantee


Parameter = TypeVar("Parameter")
Data = TypeVar("Data")
Draw = TypeVar("Draw")
Model = TypeVar("Model")
Parameter_contra = TypeVar("Parameter_contra", contravariant=True)
Data_contra = TypeVar("Data_contra", contravariant=True)
Model_co = TypeVar("Model_co", covariant=True)


class Training(Protocol[Parameter_contra, Data_contra, Draw, Model_co]):
    """A private training procedure T = (G, F), its randomness taken apart from its computation.

    Requires: `fit(data, parameter, alpha, draw(parameter, alpha))` is alpha-private for one record of `data` under
    replace_one.
    """

    def draw(self, parameter: Parameter_contra, alpha: Fraction, /, *, bits: BitSource) -> Draw:
        """R ~ G: all randomness of one training. Depends on the parameter, on alpha and on public sizes only."""

    def fit(self, data: Data_contra, parameter: Parameter_contra, alpha: Fraction, draw: Draw, /) -> Model_co:
        """F(data, θ, α, R): a function, the same result for the same arguments."""


@dataclass(frozen=True, slots=True)
class Trained(Generic[Parameter, Model]):
    """A chosen parameter and a model of it.

    Attributes:
        index: position of the chosen parameter; None when the mechanism returned no candidate and there is no fallback.
        parameter: the chosen parameter, or None.
        model: trained with it, or None.
        guarantee: for the release of what the function that returns this says.
    """

    index: int | None
    parameter: Parameter | None
    model: Model | None
    guarantee: Guarantee


def select_parameter(
    training: Training[Parameter, Data, Draw, Model],
    parameters: Sequence[Parameter],
    train: Data,
    validation: Data,
    *,
    score: Callable[[Model, Data], Fraction],
    stabilities: Sequence[Stability],
    terms: ValidationTerms,
    bits: BitSource,
) -> Trained[Parameter, Model]:
    """Algorithm 1: train every candidate on all training data, and choose one by its validation score.

    Requires: `train` (n records) and `validation` (m records) share no unit, and the split does not depend on the
    content of records. Each unit has one record. Parameters, stabilities and terms do not depend on data. For every
    pair of neighbouring data sets, all scores are as stable as `stabilities` say, with probability ≥ 1 − δ_s over all
    draws together.

    Args:
        training: T = (G, F).
        parameters: k ≥ 1 public candidates.
        train: training data.
        validation: validation data.
        score: q(h, V), exact; higher is better (see `dpmine.models.validation.terms`).
        stabilities: β1 and β2, one pair per candidate.
        terms: sizes, budgets and chooser.
        bits: source of all randomness.

    Guarantee: (α2, δ_s + δ_c) for the index and the parameter; it does not cover `model`, h_i as the search trained it.
    Utility: with max_of_exponentials or exponential, uniform sensitivities
    and β = max_i max(β1_i/n, β2_i/m), q(chosen) ≥ max q − (2β/α2) ln(k/δ_0) with probability ≥ 1 − δ_0.
    Raises BadParameter for unusable parameters.
    """
    chooser = terms.chooser(len(parameters))
    steps = _steps(stabilities, len(parameters), terms)
    models = train_candidates(training, parameters, train, terms.training_epsilon, bits=bits)
    scores = [Fraction(score(model, validation)) for model in models]
    compared = comparable(scores, steps, epsilon=chooser.epsilon, kind=terms.sensitivities, caution=terms.caution)
    chosen = choose(chooser, Dense(compared.scores), sensitivity=compared.sensitivity, bits=bits)
    index = terms.fallback if chosen is None else chosen
    return Trained(
        index,
        None if index is None else parameters[index],
        None if index is None else models[index],
        terms.guarantee(chooser.epsilon, terms.failure + chooser.delta),
    )


def train_selected(
    training: Training[Parameter, Data, Draw, Model],
    selected: Trained[Parameter, Model],
    final: Data,
    terms: ValidationTerms,
    *,
    bits: BitSource,
) -> Trained[Parameter, Model]:
    """Algorithm 2: what `select_parameter` chose by these terms, trained with a draw of its own.

    Requires: `training` is α1-private. It may be another than that of the candidates, which are not released. `final`
    is what it sees: the training data (the paper's form), or all records. It must differ in one record where the data
    differ in one record. The charge is the same, as the budgets of both steps add up for any records.
    Guarantee: (α1 + α2, δ_s + δ_c) for the parameter and the model.
    """
    guarantee = terms.guarantee(selected.guarantee.epsilon + terms.training_epsilon, selected.guarantee.delta)
    if selected.parameter is None:
        return Trained(None, None, None, guarantee)
    (model,) = train_candidates(training, [selected.parameter], final, terms.training_epsilon, bits=bits)
    return Trained(selected.index, selected.parameter, model, guarantee)


def train_candidates(
    training: Training[Parameter, Data, Draw, Model],
    parameters: Sequence[Parameter],
    train: Data,
    alpha: Fraction,
    *,
    bits: BitSource,
) -> list[Model]:
    """h_i = F(train, θ_i, α, R_i), with independent draws R_i, in the order of the parameters.

    Nothing here is released: a release of a model spends α.
    """
    draws = [training.draw(parameter, alpha, bits=bits) for parameter in parameters]
    return [training.fit(train, parameter, alpha, draw) for parameter, draw in zip(parameters, draws, strict=True)]


def _steps(stabilities: Sequence[Stability], candidates: int, terms: ValidationTerms) -> list[Fraction]:
    """Δ_i of every candidate; BadParameter unless there is one > 0 for each."""
    if len(stabilities) != candidates:
        raise BadParameter(f"stabilities must have one entry a parameter: {candidates}, not {len(stabilities)}.")
    steps = [stability.sensitivity(terms.train_size, terms.validation_size) for stability in stabilities]
    if min(steps) <= 0:
        raise BadParameter("A stability must be greater than 0 for training or for validation.")
    return steps


def random_order(count: int, *, bits: BitSource, kind: type[Any] = np.uint64) -> NDArray[np.int64]:
    """A uniform permutation of 0 … count − 1; `kind` is the type of words that has at least twice as many values.

    The order of independent keys is uniform given that no two are equal: where two are, all are drawn again.
    """
    while True:
        keys = words(count, kind, bits=bits)
        order = np.argsort(keys)
        ranked = keys[order]
        if not (ranked[1:] == ranked[:-1]).any():
            return order


def train_size_of(records: int, train_share: Number) -> int:
    """How many of the records train: the share, rounded down, and at least one record on each side.

    Raises BadParameter unless 0 < share < 1 and there are at least 2 records (the number of records is public).
    """
    share = exact_share("train_share", train_share)
    if whole("records", records, least=0) < 2:
        raise BadParameter("Validation needs at least 2 records: one to train, one to validate.")
    return min(max(1, int(records * share)), records - 1)


def random_split(records: int, train_size: int, *, bits: BitSource) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the training and of the validation records: disjoint, together all, each in increasing order.

    Requires: 0 ≤ train_size ≤ records; each record belongs to a unit of its own.
    Distribution: a uniform subset of that size, whatever the records contain. A neighbour has the same record replaced
    on the same side, so the two parts compose in parallel.
    """
    order = random_order(records, bits=bits)
    return np.sort(order[:train_size]), np.sort(order[train_size:])


def rows_of_units(units: NDArray[np.int64], each: int) -> NDArray[np.int64]:
    """Positions of the records of these units, where each unit has `each` consecutive ones."""
    return np.asarray((units[:, np.newaxis] * each + np.arange(each)).ravel())
