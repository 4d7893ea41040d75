"""Train a linear classifier privately: with the one λ that is given, or with one chosen on held-out examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.linear.losses import ramp
from dpmine.models.linear.objective_perturbation import ObjectivePerturbation
from dpmine.models.linear.output_perturbation import OutputPerturbation
from dpmine.models.validation.choosers import chooser_of
from dpmine.models.validation.procedure import Terms, select_parameter, train_candidates
from dpmine.models.validation.scores import fixed_point_mean
from dpmine.models.validation.split import random_split, rows_of_units, train_size_of
from dpmine.parameters import Number, exact_number
from dpmine.privacy import Guarantee, Neighbors
from dpmine.selection.select import MECHANISMS, plain_name

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.models.linear.examples import Examples
    from dpmine.models.linear.release import Perturbation
    from dpmine.models.supervised import Floats

PerturbationKind: TypeAlias = type[ObjectivePerturbation] | type[OutputPerturbation]

PERTURBATIONS: dict[str, PerturbationKind] = {kind.name: kind for kind in (ObjectivePerturbation, OutputPerturbation)}
_LEAST, _MOST = Fraction(1, 10**9), Fraction(10**9)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A trained classifier: λ, the weights in the unit ball's coordinates, and the promise for both."""

    parameter: Fraction
    weights: Floats
    guarantee: Guarantee


@dataclass(frozen=True, slots=True)
class Search:
    """How λ is chosen.

    Attributes:
        validation_share: share of the examples that are held out, in (0, 1).
        selection_share: share of ε that chooses, in (0, 1).
        delta: δ, spent by approximate choosers only.
        mechanism: name of the chooser.
        sensitivities: "candidate", every candidate its own; or "uniform", the paper's.
        caution: how much small λ are held back for their sensitivity (see `dpmine.models.validation.terms.Terms`).
    """

    validation_share: Fraction
    selection_share: Fraction
    delta: Fraction
    mechanism: str
    sensitivities: str
    caution: Fraction

    def train_units(self, units: int) -> int:
        """How many of the units train. Raises BadParameter where there are too few to hold any out."""
        return train_size_of(units, 1 - self.validation_share)

    def training_epsilon(self, epsilon: Fraction) -> Fraction:
        """α1: what is left of ε for each training."""
        return epsilon * (1 - self.selection_share)

    def choice_delta(self, epsilon: Fraction, candidates: int) -> Fraction:
        """The δ that the choice spends: none where the chooser is pure."""
        share = epsilon * self.selection_share
        chooser = chooser_of(self.mechanism, epsilon=share, delta=self.delta, candidates=candidates)
        return self.delta if chooser.approximate else Fraction(0)

    def terms(self, train_size: int, validation_size: int, epsilon: Fraction, *, fallback: int) -> Terms:
        """The terms of a validation with ε for training and choice together."""
        kind = MECHANISMS.get(plain_name(self.mechanism))
        pure = kind is not None and not kind.approximate
        return Terms.of(
            train_size=train_size,
            validation_size=validation_size,
            failure=0,
            training_epsilon=self.training_epsilon(epsilon),
            selection_epsilon=epsilon * self.selection_share,
            selection_delta=0 if pure else self.delta,
            mechanism=self.mechanism,
            sensitivities=self.sensitivities,
            caution=self.caution,
            fallback=fallback,
        )


def perturbation_of(method: str) -> PerturbationKind:
    """The training procedure of that name; BadParameter otherwise."""
    kind = PERTURBATIONS.get(str(method))
    if kind is None:
        raise BadParameter(f"method must be one of: {', '.join(PERTURBATIONS)}.")
    return kind


def likely_regulariser(kind: PerturbationKind, size: int, dimension: int, epsilon: Fraction) -> Fraction:
    """λ in proportion to the mean length of the noise, d/(nε): a rule of public numbers."""
    return min(_MOST, max(_LEAST, kind.usual * Fraction(dimension, size) / epsilon))


def regularisers(lambdas: Number | Iterable[Number]) -> tuple[Fraction, ...]:
    """The candidates, read exactly; one number stands for a list of one.

    Raises BadParameter when there is none, when one is there twice, and unless each lies between 1e-9 and 1e9.
    """
    if lambdas is None:
        raise BadParameter("lambdas is None: give at least one regulariser, such as 0.01, or 'auto'.")
    if isinstance(lambdas, Iterator):
        raise BadParameter("lambdas must be a list or a number: an iterator can be read only once.")
    if isinstance(lambdas, np.ndarray):
        lambdas = list(np.atleast_1d(lambdas))
    listed = list(lambdas) if isinstance(lambdas, Iterable) and not isinstance(lambdas, str) else [lambdas]
    values = tuple(exact_number("lambdas", value) for value in listed)
    if not values:
        raise BadParameter("lambdas is empty: give at least one regulariser, such as 0.01.")
    if len(set(values)) < len(values):
        raise BadParameter("lambdas names a regulariser twice: give each once.")
    if min(values) <= 0:
        raise BadParameter("Every one of lambdas must be greater than 0: without it no amount of noise is enough.")
    if not _LEAST <= min(values) <= max(values) <= _MOST:
        raise BadParameter("Every one of lambdas must lie between 1e-9 and 1e9.")
    return values


def train_fixed(
    training: Perturbation, examples: Examples, parameter: Fraction, epsilon: Fraction, *, bits: BitSource
) -> Fitted:
    """All examples and all of ε for one training."""
    weights = train_candidates(training, [parameter], examples, epsilon, bits=bits)[0]
    return Fitted(parameter, weights, Guarantee(epsilon, Fraction(0), Neighbors.REPLACE_ONE, "row"))


def train_searched(
    candidates: Perturbation,
    final: Perturbation,
    examples: Examples,
    parameters: tuple[Fraction, ...],
    *,
    epsilon: Fraction,
    search: Search,
    bits: BitSource,
) -> Fitted:
    """Algorithm 2 with the ramp score: λ chosen on a public random part of the examples, then trained on all of them.

    The candidates are not released: their
    stability alone protects the choice, so the last training may be another α1-private one, `final`, and may see all
    examples: a record of either part pays for the choice and for that training (docs/proofs/models/validation.md).
    The ramp's bounds hold for every draw, so a pure chooser leaves δ = 0. Where an approximate chooser says nothing,
    the largest λ is taken, which is public.
    """
    parts = random_split(examples.units, search.train_units(examples.units), bits=bits)
    train, held = (examples.take(rows_of_units(units, examples.each)) for units in parts)
    terms = search.terms(train.size, held.size, epsilon, fallback=parameters.index(max(parameters)))
    alpha = terms.training_epsilon
    stabilities = [candidates.release(train.size, parameter, alpha).stability for parameter in parameters]
    found = select_parameter(
        candidates, parameters, train, held, score=ramp_score, stabilities=stabilities, terms=terms, bits=bits
    )
    if found.parameter is None:
        raise BadParameter("The chooser named no candidate: take max_of_exponentials, which always names one.")
    weights = train_candidates(final, [found.parameter], examples, alpha, bits=bits)[0]
    return Fitted(found.parameter, weights, terms.promise(alpha + found.guarantee.epsilon, found.guarantee.delta))


def ramp_score(weights: Floats, examples: Examples) -> Fraction:
    """−(1/m) Σ min(1, max(0, 1 − y wᵀx)), each term in fixed point: higher is better."""
    return -fixed_point_mean(ramp(examples.signed @ weights), least=0, most=1)
