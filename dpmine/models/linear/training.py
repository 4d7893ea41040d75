"""Train a linear classifier privately: with the one λ that is given, or with one chosen on held-out examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.errors import BadParameter
from dpmine.models.entries import Floats, is_same
from dpmine.models.linear.losses import Examples, Loss, ramp
from dpmine.models.linear.multinomial import noise_for
from dpmine.models.linear.noise import GammaNoise, GaussianNoise, RenyiNoise, VectorNoise
from dpmine.models.linear.perturbations import ObjectivePerturbation, OutputPerturbation, Perturbation, Spread
from dpmine.models.linear.solver import require_short, solver_note
from dpmine.models.validation.procedure import (
    random_split,
    rows_of_units,
    select_parameter,
    train_candidates,
    train_selected,
    train_size_of,
)
from dpmine.models.validation.terms import CandidateSearch, fixed_point_mean
from dpmine.parameters import Number, exact_number, positive
from dpmine.privacy import Guarantee, Neighbors, Zcdp

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.models.contribution import SharedBudget
    from dpmine.models.linear.preprocessing import UnitBall
    from dpmine.zcdp import RenyiBounds

PERTURBATIONS: dict[str, type[Perturbation]] = {kind.name: kind for kind in (ObjectivePerturbation, OutputPerturbation)}
AUTO = "auto"
"""For lambdas and noise: by a rule of public numbers."""
NOISES = (AUTO, GammaNoise.name, GaussianNoise.name)
_LEAST, _MOST = Fraction(1, 10**9), Fraction(10**9)
_LIGHTEST = 1e-9  # of the weights of classes, over the largest


@dataclass(frozen=True, slots=True)
class Fitted:
    """A trained classifier: λ, the weights in the unit ball's coordinates, and the guarantee for both.

    `spread` is the distribution of the noise on the weights; None where that depends on the data.
    """

    parameter: Fraction
    weights: Floats
    guarantee: Guarantee
    spread: Spread | None


@dataclass(frozen=True)
class LinearSettings:
    """What a fit needs to know, apart from data; `PrivateLogisticRegression` makes it of its parameters."""

    lambdas: tuple[Fraction, ...] | None
    """None: the one that `likely_regulariser` has for n, d and ε."""
    ball: UnitBall
    """How rows are scaled, of whatever number of features."""
    loss: Loss
    kind: type[Perturbation]
    noise: str
    """One of NOISES."""
    weights: int | None
    """Their number, the intercept included; None where it is not known before the data are read."""
    validation_share: Fraction
    """Of the examples that are held out, in (0, 1), where there are several λ."""
    search: CandidateSearch
    shared: SharedBudget
    class_weights: Floats | None = None
    """ω of each class, in (0, 1]; None: 1."""
    renyi: RenyiBounds | None = None
    """What a training with one λ keeps to, as a run of a search; None: (ε, δ)."""

    def guarantee(self) -> Guarantee:
        """What training will guarantee, before its notes; at most, where the number of weights is not known yet."""
        return self._guaranteed(self._last(self.weights or 1))

    @cached_property
    def vector_noise(self) -> VectorNoise:
        """The noise of every training.

        "auto" takes the shorter one on average: by the numbers of weights and candidates, ε and δ alone. Where the
        number of weights was not known when the fit was charged, it is the Gaussian one, whatever the number is.
        Neither of the two charges less than the other in all that a ledger adds up.
        """
        if self.renyi is not None:
            return RenyiNoise(self.renyi)
        several = self.search.candidates > 1
        shared = several and self.search.chooser().approximate  # with the choice
        gaussian = noise_for(self.loss, GaussianNoise(self.shared.row_delta / 2 if shared else self.shared.row_delta))
        if self.noise == GaussianNoise.name:
            self.shared.require_delta()
            return gaussian
        if self.noise == GammaNoise.name or not self.shared.spendable:
            return GammaNoise()
        if self.weights is None:
            return gaussian
        count = self.weights
        return min(GammaNoise(), gaussian, key=lambda noise: self.kind(self.loss, count, noise).length(self._alpha))

    @property
    def _alpha(self) -> Fraction:
        """ε of one training, or the smallest of its Rényi bounds."""
        return self.search.training_epsilon if self.renyi is None else self.renyi.least

    @property
    def concentrates(self) -> bool:
        """Whether noise for Rényi bounds is proved and allowed: for one λ, two classes, and not gamma noise."""
        return self.search.candidates == self.loss.columns == 1 and self.noise != GammaNoise.name

    def prefers(self, bounds: RenyiBounds) -> bool:
        """Whether noise for these bounds is allowed here, and shorter than that for (ε, δ) where the choice is ours."""
        if not self.concentrates:
            return False
        if self.weights is None or self.noise == GaussianNoise.name:
            return True
        return replace(self, renyi=bounds).length(self.weights) < self.length(self.weights)

    def length(self, dimension: int) -> float:
        """The mean length of a training's noise for a change of length 1."""
        return self._last(dimension).length(self._alpha)

    def _search(self, noise: VectorNoise) -> CandidateSearch:
        """The search, with what the noise leaves of δ."""
        if not noise.delta:
            return self.search
        return replace(self.search, mechanism=self.search.chooser().name, delta=self.search.delta - noise.delta)

    def _guaranteed(self, last: Perturbation) -> Guarantee:
        """For a unit: a choice, where there is one, and a training."""
        if self.renyi is not None:
            delta = self.shared.row_delta
            return Guarantee(self.renyi.epsilon_at(delta), delta, Neighbors.REPLACE_ONE, "row")
        noise, several = last.noise, self.search.candidates > 1
        choice = self._search(noise).chooser().delta if several else Fraction(0)
        row = Guarantee(self.shared.row_epsilon, choice + noise.delta, Neighbors.REPLACE_ONE, "row")
        guarantee, rho = self.shared.of_unit(row), last.rho(self._alpha)
        if rho is None or choice:
            return guarantee
        rest = Zcdp.implied((self.shared.row_epsilon - self._alpha) * self.shared.rows, Fraction(0))
        return replace(guarantee, concentrated=Zcdp(rho * self.shared.rows**2) + rest)

    def train(self, examples: Examples, *, bits: BitSource) -> Fitted:
        """Trained with the one λ there is, or with one chosen privately; the guarantee notes what it rests on.

        Raises BadParameter, before any training, where the solver may take too long: by public numbers alone.
        """
        last, size, alpha = self._last(examples.dimension), examples.size, self._alpha
        lambdas = self._require_short(examples.dimension, examples.units, examples.each)
        if len(lambdas) == 1:
            parameter, weights = lambdas[0], train_candidates(last, lambdas, examples, alpha, bits=bits)[0]
        else:
            parameter, weights = self._searched(last, examples, lambdas, alpha, bits=bits)
        # the same whatever the data hold, given n and λ: which of the two methods ran would disclose something
        release = last.release(size, parameter, alpha)
        guarantee = self._guaranteed(last).noting(solver_note(self.loss, release.accuracy), *last.noise.notes)
        return Fitted(parameter, weights, guarantee, last.spread(release))

    def _searched(
        self,
        last: Perturbation,
        examples: Examples,
        lambdas: tuple[Fraction, ...],
        alpha: Fraction,
        *,
        bits: BitSource,
    ) -> tuple[Fraction, Floats]:
        """Algorithm 2 with the ramp score: λ chosen on a public random part of the units, then trained on all of them.

        The candidates are not released: their stability alone protects the choice, so the last training may be another
        α1-private one, and may see all examples: a record of either part is charged for the choice and for that
        training (docs/proofs/models/validation.md). The ramp's bounds hold for every draw, so they spend no δ.
        Where the mechanism returns no candidate, the largest λ is taken, which is public.
        """
        candidates = self.kind(self.loss, examples.dimension, last.noise)
        train_units = train_size_of(examples.units, 1 - self.validation_share)
        parts = random_split(examples.units, train_units, bits=bits)
        train, held = (examples.take(rows_of_units(units, examples.each)) for units in parts)
        terms = self._search(last.noise).terms(train.size, held.size, fallback=lambdas.index(max(lambdas)))
        selected = select_parameter(
            candidates,
            lambdas,
            train,
            held,
            score=ramp_score,
            stabilities=[candidates.release(train.size, parameter, alpha).stability for parameter in lambdas],
            terms=terms,
            bits=bits,
        )
        trained = train_selected(last, selected, examples, terms, bits=bits)
        if trained.parameter is None or trained.model is None:  # cannot be: the terms name a fallback
            raise BadParameter("The chooser named no candidate: take max_of_exponentials, which always names one.")
        return trained.parameter, trained.model

    def require_rows(self, units: int, each: int = 1) -> None:
        """`train`'s errors of public numbers, for that many units with `each` rows of the features that were named."""
        if self.weights is not None:
            self._require_short(self.weights, units, each)

    def _require_short(self, dimension: int, units: int, each: int) -> tuple[Fraction, ...]:
        """The candidates for λ, with which no training takes too long."""
        last = self._last(dimension)
        lambdas = self.lambdas or (likely_regulariser(last, units * each, self._alpha),)
        trainings = [(last, units)]
        if len(lambdas) > 1:
            candidates = self.kind(self.loss, dimension, last.noise)
            trainings.append((candidates, train_size_of(units, 1 - self.validation_share)))
        for training, size in trainings:
            for parameter in lambdas:
                accuracy = training.release(size * each, parameter, self._alpha).accuracy
                require_short(self.loss, accuracy, size * each, parameter=parameter)
        return lambdas

    def _last(self, dimension: int) -> Perturbation:
        """The training whose weights are released."""
        if self.kind is ObjectivePerturbation:
            return ObjectivePerturbation(self.loss, dimension, self.vector_noise, relieved=self.ball.intercept)
        return self.kind(self.loss, dimension, self.vector_noise)


def perturbation_of(method: str) -> type[Perturbation]:
    """The training procedure of that name; BadParameter otherwise."""
    kind = PERTURBATIONS.get(str(method))
    if kind is None:
        raise BadParameter(f"method must be one of: {', '.join(PERTURBATIONS)}.")
    return kind


def noise_named(noise: str) -> str:
    """The name, checked. Raises BadParameter for another."""
    if str(noise) not in NOISES:
        raise BadParameter(f"noise must be one of: {', '.join(NOISES)}.")
    return str(noise)


def likely_regulariser(training: Perturbation, size: int, epsilon: Fraction) -> Fraction:
    """λ in proportion to the mean length of the noise, d/(nε) for gamma noise: a rule of public numbers."""
    return min(_MOST, max(_LEAST, training.usual * Fraction(training.length(epsilon)) / size))


def regulariser(name: str, value: Number) -> Fraction:
    """One λ > 0, read exactly. Raises BadParameter unless it lies between 1e-9 and 1e9."""
    strength = positive(name, value)
    if not _LEAST <= strength <= _MOST:
        raise BadParameter(f"{name} must lie between 1e-9 and 1e9.")
    return strength


def regularisers(lambdas: Number | Iterable[Number]) -> tuple[Fraction, ...] | None:
    """The candidates, read exactly; one number stands for a list of one, None for "auto".

    Raises BadParameter when there is none, when one is there twice, and unless each lies between 1e-9 and 1e9.
    """
    if isinstance(lambdas, str) and lambdas == AUTO:
        return None
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
        raise BadParameter(
            "Every one of lambdas must be greater than 0: without it no amount of noise is enough. Give "
            "one such as 0.01."
        )
    if not _LEAST <= min(values) <= max(values) <= _MOST:
        raise BadParameter("Every one of lambdas must lie between 1e-9 and 1e9.")
    return values


def ramp_score(weights: Floats, examples: Examples) -> Fraction:
    """−(1/m) Σ min(1, max(0, 1 − y wᵀx)), each term in fixed point: higher is better."""
    return -fixed_point_mean(ramp(examples.margins(weights)), least=0, most=1)


def class_weights(given: Any, classes: Sequence[object] | None, candidates: int) -> Floats | None:
    """ω of each class, shape (K,): its weight over the largest one; None where none are given.

    Requires: `classes`, where given, are usable. Raises BadParameter for weights that are no public ones of these
    classes, and where several `candidates` for λ would have to be compared by a score that knows no weights.
    """
    if given is None:
        return None
    if isinstance(given, str) and given == "balanced":
        raise BadParameter(
            "class_weight='balanced' would read the labels, which no part of the budget covers: give public weights, "
            "such as {'no': 1, 'yes': 10}."
        )
    if not isinstance(given, Mapping):
        raise BadParameter("class_weight must map labels to public weights, such as {'no': 1, 'yes': 10}.")
    if classes is None:
        raise BadParameter("class_weight needs classes=[...]: which labels occur is not public.")
    if candidates > 1:
        raise BadParameter("class_weight needs one λ, or lambdas='auto': the choice among several weighs rows alike.")
    if any(not any(is_same(label, known) for known in classes) for label in given):
        raise BadParameter("class_weight names a label that is not among the classes.")
    weights = [_weight_of(label, given) for label in classes]
    shares = np.array([float(weight / max(weights)) for weight in weights])
    if shares.min() < _LIGHTEST:
        raise BadParameter("class_weight: no weight may be less than 1e-9 times the largest.")
    return shares


def _weight_of(label: Any, given: Mapping[Any, Any]) -> Fraction:
    weights = [weight for named, weight in given.items() if is_same(named, label)]
    return positive("class_weight", weights[0] if weights else 1)
