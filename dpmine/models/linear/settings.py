"""The public parameters of a linear classifier, read and checked before any data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpmine.models.linear.objective_perturbation import ObjectivePerturbation
from dpmine.models.linear.preprocessing import FeatureBounds, UnitBall
from dpmine.models.linear.search import (
    Fitted,
    Search,
    likely_regulariser,
    perturbation_of,
    regularisers,
    train_fixed,
    train_searched,
)
from dpmine.models.linear.solver import require_short, solver_note
from dpmine.models.validation.choosers import chooser_of, require_replace_one
from dpmine.models.validation.sensitivities import Sensitivities
from dpmine.parameters import Number, not_negative, positive, probability, truth
from dpmine.privacy import Guarantee, Neighbors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpmine.exact.bits import BitSource
    from dpmine.models.linear.examples import Examples
    from dpmine.models.linear.losses import Loss
    from dpmine.models.linear.release import Perturbation
    from dpmine.models.linear.search import PerturbationKind

AUTO = "auto"
"""For lambdas: by a rule of public numbers."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a fit needs to know, apart from data; made by `Settings.of`."""

    lambdas: tuple[Fraction, ...] | None
    """None: the one that `likely_regulariser` has for n, d and ε."""
    norm_bound: float
    bounds: FeatureBounds | None
    intercept: bool
    epsilon: Fraction
    loss: Loss
    kind: PerturbationKind
    search: Search

    @classmethod
    def of(
        cls,
        *,
        lambdas: Number | Iterable[Number],
        norm_bound: Number,
        feature_bounds: Any,
        epsilon: Number,
        delta: Number,
        loss: Loss,
        method: str,
        fit_intercept: bool,
        validation_share: Number,
        selection_share: Number,
        mechanism: str,
        sensitivities: str,
        caution: Number,
        neighbors: str | Neighbors,
    ) -> Settings:
        """Every number read exactly. Raises BadParameter for unusable parameters."""
        require_replace_one(neighbors)
        search = Search(
            probability("validation_share", validation_share),
            probability("selection_share", selection_share),
            probability("delta", delta),
            mechanism,
            Sensitivities.parse(sensitivities),
            not_negative("caution", caution),
        )
        listed = None if _is_auto(lambdas) else regularisers(lambdas)
        settings = cls(
            listed,
            float(positive("norm_bound", norm_bound)),
            None if feature_bounds is None else FeatureBounds.of(feature_bounds),
            truth("fit_intercept", fit_intercept),
            positive("epsilon", epsilon),
            loss,
            perturbation_of(method),
            search,
        )
        candidates = 1 if listed is None else len(listed)
        chooser_of(mechanism, epsilon=settings.epsilon, delta=search.delta, candidates=candidates)
        return settings

    def ball(self, columns: int) -> UnitBall:
        """How rows of that many features are scaled. Raises BadParameter where there are bounds of another number."""
        bounds = None if self.bounds is None else self.bounds.for_columns(columns)
        return UnitBall(self.norm_bound, self.intercept, bounds)

    def train(self, examples: Examples, *, bits: BitSource) -> Fitted:
        """Trained with the one λ there is, or with one chosen privately; the promise notes what it rests on.

        Raises BadParameter, before any training, where the solver may take too long: by public numbers alone.
        """
        last = self._last(examples.dimension)
        lambdas, budget = self._lambdas(examples), self._training_epsilon
        self._require_short(last, examples.size, lambdas)
        if len(lambdas) == 1:
            fitted = train_fixed(last, examples, lambdas[0], budget, bits=bits)
        else:
            candidates = self.kind(self.loss, examples.dimension)
            train_size = self.search.train_units(examples.units) * examples.each
            self._require_short(candidates, train_size, lambdas)
            fitted = train_searched(
                candidates, last, examples, lambdas, epsilon=self.epsilon, search=self.search, bits=bits
            )
        return Fitted(fitted.parameter, fitted.weights, fitted.guarantee.noting(self._solved(last, examples, fitted)))

    def promise(self) -> Guarantee:
        """What training will promise, before its notes."""
        delta = Fraction(0)
        if self.lambdas is not None and len(self.lambdas) > 1:
            delta = self.search.choice_delta(self.epsilon, len(self.lambdas))
        return Guarantee(self.epsilon, delta, Neighbors.REPLACE_ONE, "row")

    def _lambdas(self, examples: Examples) -> tuple[Fraction, ...]:
        if self.lambdas is not None:
            return self.lambdas
        return (likely_regulariser(self.kind, examples.size, examples.dimension, self.epsilon),)

    @property
    def _training_epsilon(self) -> Fraction:
        """What one training may spend: all of ε where there is nothing to choose."""
        alone = self.lambdas is None or len(self.lambdas) == 1
        return self.epsilon if alone else self.search.training_epsilon(self.epsilon)

    def _require_short(self, training: Perturbation, size: int, lambdas: tuple[Fraction, ...]) -> None:
        for parameter in lambdas:
            accuracy = training.release(size, parameter, self._training_epsilon).accuracy
            require_short(self.loss, accuracy, size, parameter=parameter)

    def _last(self, dimension: int) -> Perturbation:
        """The training whose weights are released."""
        if self.kind is ObjectivePerturbation:
            return ObjectivePerturbation(self.loss, dimension, relieved=self.intercept)
        return self.kind(self.loss, dimension)

    def _solved(self, training: Perturbation, examples: Examples, fitted: Fitted) -> str:
        """The same whatever the data hold, given n and λ: which of the solver's two methods ran would tell of them."""
        accuracy = training.release(examples.size, fitted.parameter, self._training_epsilon).accuracy
        return solver_note(self.loss, accuracy)


def _is_auto(lambdas: object) -> bool:
    return isinstance(lambdas, str) and lambdas == AUTO
