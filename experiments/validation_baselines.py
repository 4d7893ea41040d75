"""The methods that stability-based validation is compared with, and the scores that the ramp is compared with.

Proof: docs/proofs/models/validation.md. Source: Chaudhuri & Vinterbo 2013, section 5 and Theorems 4 and 5; dataSplit is
also the tuning of Chaudhuri, Monteleoni & Sarwate 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil, inf
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.reals import uniform_below
from dpmine.models.linear.sensitivities import beta1, score_rounding, up
from dpmine.models.validation.procedure import Trained, Training, random_order, train_candidates
from dpmine.models.validation.terms import UNIT, Stability, fixed_point_mean
from dpmine.parameters import Number, positive, whole
from dpmine.privacy import ROW, Guarantee, Neighbors, of_asserted_unit
from dpmine.selection.recommend import build_mechanism
from dpmine.selection.select import choose
from dpmine.selection.universes.dense import Dense

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.models.entries import Floats
    from dpmine.models.linear.losses import Examples
    from dpmine.models.linear.perturbations import Release

Parameter = TypeVar("Parameter")
Data = TypeVar("Data")
Draw = TypeVar("Draw")
Model = TypeVar("Model")


def random_parts(records: int, parts: int, *, bits: BitSource) -> list[NDArray[np.int64]]:
    """The records in a uniform order, cut into `parts` ≥ 1 disjoint parts whose sizes differ by at most one."""
    order = random_order(records, bits=bits)
    return [np.sort(part) for part in np.array_split(order, whole("parts", parts))]


class Overlap(StrEnum):
    """Whether training and validation records are the same people's."""

    DISJOINT = "disjoint"
    """No unit is in both; which is where does not depend on the data. The methods below then are α-private."""
    SHARED = "shared"
    """A unit may be in both: alpha_split and data_split then are 2α-private."""


def alpha_split(
    training: Training[Parameter, Data, Draw, Model],
    parameters: Sequence[Parameter],
    train: Data,
    validation: Data,
    *,
    errors: Callable[[Model, Data], int],
    epsilon: Number,
    overlap: Overlap = Overlap.DISJOINT,
    unit: str = ROW,
    bits: BitSource,
) -> Trained[Parameter, Model]:
    """Every candidate trained on all training data at α/k; one of the models chosen by the exponential mechanism.

    Requires: one validation record changes `errors` (a whole number, lower is better) by at most 1.
    Law: P(i) ∝ exp(−α e_i/2). Guarantee: α, or 2α where records are shared (Theorem 5).
    Raises BadParameter for unusable parameters.
    """
    alpha = _budget(parameters, epsilon)
    models = train_candidates(training, parameters, train, alpha / len(parameters), bits=bits)
    index = _fewest_errors(models, validation, errors, alpha, bits=bits)
    return Trained(index, parameters[index], models[index], _guarantee(alpha, overlap, unit))


def data_split(
    training: Training[Parameter, Data, Draw, Model],
    parameters: Sequence[Parameter],
    parts: Sequence[Data],
    validation: Data,
    *,
    errors: Callable[[Model, Data], int],
    epsilon: Number,
    overlap: Overlap = Overlap.DISJOINT,
    unit: str = ROW,
    bits: BitSource,
) -> Trained[Parameter, Model]:
    """Candidate i trained on part i of the training data at α; one of the models chosen by the exponential mechanism.

    Requires: as `alpha_split`; the parts, one a candidate, are disjoint and cut independently of what records contain
    (`random_parts`).
    Law: P(i) ∝ exp(−α e_i/2). Guarantee: α, or 2α where records are shared (Theorem 5).
    Raises BadParameter for unusable parameters.
    """
    alpha = _budget(parameters, epsilon)
    if len(parts) != len(parameters):
        raise BadParameter(f"data_split needs one part of the training data a parameter: {len(parameters)}.")
    models = [
        train_candidates(training, [parameter], part, alpha, bits=bits)[0]
        for parameter, part in zip(parameters, parts, strict=True)
    ]
    index = _fewest_errors(models, validation, errors, alpha, bits=bits)
    return Trained(index, parameters[index], models[index], _guarantee(alpha, overlap, unit))


def random_choice(
    training: Training[Parameter, Data, Draw, Model],
    parameters: Sequence[Parameter],
    train: Data,
    *,
    epsilon: Number,
    unit: str = ROW,
    bits: BitSource,
) -> Trained[Parameter, Model]:
    """A uniform candidate, trained on all training data at α. Guarantee: α, whether or not records are shared.

    Raises BadParameter for unusable parameters.
    """
    alpha = _budget(parameters, epsilon)
    index = uniform_below(len(parameters), bits=bits)
    model = train_candidates(training, [parameters[index]], train, alpha, bits=bits)[0]
    return Trained(index, parameters[index], model, _guarantee(alpha, Overlap.DISJOINT, unit))


def control(
    training: Training[Parameter, Data, Draw, Model],
    parameters: Sequence[Parameter],
    train: Data,
    validation: Data,
    *,
    score: Callable[[Model, Data], Fraction],
    epsilon: Number,
    unit: str = ROW,
    bits: BitSource,
) -> Trained[Parameter, Model]:
    """Every candidate trained on all training data at α, the best one taken: NOT private, and its guarantee says so.

    Roughly what no private choice can beat. Raises BadParameter for unusable parameters.
    """
    alpha = _budget(parameters, epsilon)
    models = train_candidates(training, parameters, train, alpha, bits=bits)
    scores = [Fraction(score(model, validation)) for model in models]
    index = max(range(len(models)), key=scores.__getitem__)
    guarantee = _guarantee(alpha, Overlap.DISJOINT, unit)
    return Trained(
        index,
        parameters[index],
        models[index],
        guarantee.without_privacy("the best validation score was taken exactly"),
    )


def _fewest_errors(
    models: Sequence[Model],
    validation: Data,
    errors: Callable[[Model, Data], int],
    alpha: Fraction,
    *,
    bits: BitSource,
) -> int:
    relation = Neighbors.REPLACE_ONE
    chooser = build_mechanism("exponential", epsilon=alpha, delta=0, neighbors=relation)
    scores = Dense([-int(errors(model, validation)) for model in models])
    return int(choose(chooser, scores, sensitivity=Fraction(1), bits=bits))


def _budget(parameters: Sequence[Parameter], epsilon: Number) -> Fraction:
    if not len(parameters):
        raise BadParameter("There is no candidate to choose: give at least one parameter.")
    return positive("epsilon", epsilon)


def _guarantee(alpha: Fraction, overlap: Overlap, unit: str) -> Guarantee:
    total = 2 * alpha if overlap is Overlap.SHARED else alpha
    return of_asserted_unit(Guarantee(total, Fraction(0), Neighbors.REPLACE_ONE, ROW), unit, "one record each")


@dataclass(frozen=True)
class Score:
    """−(1/m) Σ g of the margins, g falling with slope at most L ≥ 0; theorem 4 beyond the ramp.

    `loss` is g, `slope` L.
    """

    loss: Callable[[Floats], Floats]
    slope: float

    def most(self, release: Release) -> float:
        """The range of g on the ball of released weights, g(−W) − g(W): at most min(g*, 2LW)."""
        ends = np.array([-release.radius, release.radius])
        return float(-np.diff(self.loss(ends))[0])

    def stability(self, release: Release) -> Stability:
        """β1 = nL‖w − w'‖, β2 = g(−W) − g(W), and the rounding of a computed term on top."""
        rounding = 2 * max(1.0, self.slope) * score_rounding(release.dimension, release.radius) + float(UNIT)
        trained = beta1(release.size, self.slope * release.moved, rounding)
        return Stability(trained, Fraction(up(self.most(release) + rounding)))

    def of(self, weights: Floats, examples: Examples, release: Release) -> Fraction:
        """The score of released weights, in fixed point; higher is better."""
        terms = self.loss(examples.signed @ weights)
        return -fixed_point_mean(terms, least=0, most=ceil(float(self.loss(np.array([-release.radius]))[0])) + 1)


def _logistic(margins: Floats, most: float = inf) -> Floats:
    return np.asarray(np.minimum(most, np.logaddexp(0, -margins)))


SCORES: dict[str, Score] = {
    "ramp": Score(lambda z: np.asarray(np.clip(1 - z, 0, 1)), 1),
    "wide ramp": Score(lambda z: np.asarray(np.clip((1 - z) / 2, 0, 1)), 0.5),
    "hinge": Score(lambda z: np.asarray(np.maximum(1 - z, 0)), 1),
    "logistic": Score(_logistic, 1),
    "logistic <= 1": Score(lambda z: _logistic(z, 1), 1),
}
"""The ramp of the library; the same over margins from −1 to 1; two losses without a bound; and one of them, cut."""
