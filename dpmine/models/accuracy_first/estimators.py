"""Estimators that are given a target instead of a budget, in scikit-learn's style."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpmine.errors import BadData, BadParameter
from dpmine.ledger.charging import ROW
from dpmine.models.accuracy_first.hypotheses import falling_noise
from dpmine.models.accuracy_first.logistic import LogisticBounds, LogisticObjective
from dpmine.models.accuracy_first.model_file import kind_of, read_model, write_model
from dpmine.models.accuracy_first.ridge import RidgeBounds, RidgeObjective
from dpmine.models.accuracy_first.search import search
from dpmine.models.accuracy_first.settings import DEFAULT_SLACK, DEFAULT_STEPS, Settings, given_levels
from dpmine.models.accuracy_first.units import Units
from dpmine.models.accuracy_first.variants import Method, Variant
from dpmine.models.base import forget_fit
from dpmine.models.contribution import EVERY_ROW, SharedBudget, require_any
from dpmine.models.linear.examples import Examples
from dpmine.models.linear.predictions import LogisticClassifier, linear_values
from dpmine.models.supervised import (
    PrivateEstimator,
    PrivateRegressor,
    checked_features,
    checked_labels,
    checked_targets,
    classes_note,
    finite,
)
from dpmine.parameters import positive, probability, truth
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dpmine.exact.bits import BitSource
    from dpmine.ledger.ledger import Ledger
    from dpmine.models.accuracy_first.objective import Objective
    from dpmine.models.accuracy_first.settings import Terms
    from dpmine.models.contribution import Bounding
    from dpmine.models.supervised import Floats
    from dpmine.parameters import Number
    from dpmine.privacy import ExPostGuarantee, Guarantee

_NOT_SETTINGS = (
    "epsilon_max",
    "epsilons",
    "delta",
    "keep_last",
    "classes",
    "unit",
    "rows_per_unit",
    "ledger",
    "dataset",
)
_EMPTY_PLACES = "the risk is the mean over {} places per unit; a place that a unit leaves empty is a row of zeros"


class _AccuracyFirst(PrivateEstimator):
    """What both estimators share; see them for parameters and attributes."""

    kind: str
    """The model by its name; it tells model files apart."""
    reached_: bool
    guarantee_: ExPostGuarantee
    keep_last: bool

    @abstractmethod
    def _settings(self, rows: int = 1) -> Settings:
        """The settings of one record, where `rows` records share the budget."""

    @abstractmethod
    def _keep(self, coefficients: Floats, intercept: float) -> None:
        """Set the attributes that predict."""

    def require_parameters(self) -> None:
        """Raises BadParameter for unusable parameters, before any data are read."""
        self._settings()
        truth("keep_last", self.keep_last)

    def _promise(self, rows: int) -> Guarantee:
        self.require_parameters()
        return self._shared(rows).of_unit(self._settings(rows).promise())

    def _shared(self, rows: int) -> SharedBudget:
        return SharedBudget(positive("epsilon_max", self.epsilon_max), probability("delta", self.delta), rows)

    def _of_one_record(self, rows: int) -> dict[str, Any]:
        """The parameters of `Settings.of` for one record, where `rows` of them share the budget."""
        shared = self._shared(rows)
        levels = (
            self.epsilons
            if rows == 1 or self.epsilons is None
            else [level / rows for level in given_levels(self.epsilons)]
        )
        given = {name: value for name, value in self.get_params().items() if name not in _NOT_SETTINGS}
        return {**given, "epsilon_max": shared.row_epsilon, "epsilons": levels, "delta": shared.row_delta, "rows": rows}

    @abstractmethod
    def _objective(
        self, X: Any, y: Any, settings: Settings, bounding: Bounding, *, bits: BitSource
    ) -> tuple[Objective, Terms]:
        """The risk on the checked data, and the public numbers of the search, which may be rejected before."""

    def _fit(self, X: Any, y: Any, *, bounding: Bounding = EVERY_ROW, bits: BitSource) -> Self:
        self.require_parameters()
        settings = self._settings(bounding.rows)
        forget_fit(self)
        objective, terms = self._objective(X, y, settings, bounding, bits=bits)
        self._search(objective, settings, terms, bits=bits)
        self.guarantee_ = self._shared(bounding.rows).of_unit(self.guarantee_)
        if bounding.rows > 1:
            self.guarantee_ = self.guarantee_.noting(_EMPTY_PLACES.format(bounding.rows))
        self.requested_ = self._settings().requested()
        return self

    def _search(self, objective: Objective, settings: Settings, terms: Terms, *, bits: BitSource) -> None:
        hypotheses = falling_noise(objective, settings.method, terms.epsilons, settings.delta, bits=bits)
        outcome = search(hypotheses, terms.epsilons, terms.queries(objective), terms.test, bits=bits)
        self.reached_ = outcome.step is not None
        if self.reached_ or self.keep_last:
            self._keep(*settings.units.split(outcome.weights))
        self.guarantee_ = settings.guarantee(outcome, objective.bounds).noting(*self._notes(objective.bounds))

    def _notes(self, bounds: Any) -> tuple[str, ...]:  # noqa: ARG002 - one of the two has something to say
        """What else the promise rests on."""
        return ()

    def _inside(self, features: Floats) -> Floats:
        bound = Fraction(self.requested_["x_bound"])
        return Units(bound, y_bound=None, intercept=False).inside(finite(features))

    def _require_weights(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "coef_"):
            raise BadData(
                "No hypothesis reached the target when this was fitted, so there is none to predict with. Fit again "
                "with a larger epsilon_max or excess_risk, or a smaller slack; keep_last=True keeps the last one."
            )

    def to_json(self) -> str:
        """The fitted model as one JSON object: everything in it is covered by `guarantee_`."""
        check_is_fitted(self)
        return write_model(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A fitted estimator out of what `to_json` gave. Raises BadData for any other text."""
        estimator = cls()
        for name, value in read_model(text, kind=cls.kind).items():
            setattr(estimator, name, value)
        estimator._read_from_file = True
        return estimator


class AccuracyFirstRidge(_AccuracyFirst, PrivateRegressor):
    """Ridge regression at the least privacy loss that reaches a target, private for every row under replace_one.

    Minimises L(w) = (1/2n) Σ (y_i − x_iᵀw)² + (λ/2)‖w‖² on clipped rows. Hypotheses of falling noise are tested one
    after the other; the first that passes is released, and the privacy loss is what it took to get there.

    Args:
        excess_risk: the target R > 0: L(w) − min L of the model that is accepted. In the units of L, that is of y².
        regularization: λ > 0, in the units of L: y²/x².
        failure_probability: γ in (0, 1): a model of larger excess risk is accepted with probability at most γ.
            Reaching the target is not promised.
        epsilon_max: the most that a fit may cost, tests included. A budget must reserve it.
        x_bound: public bound r > 0 on ‖x‖₁, the sum of absolute values; longer rows are shortened to it. The default
            of 1 is for rows scaled to it.
        y_bound: public bound on |y|; larger targets are clipped to it. Weights of 0 have an excess risk of at most
            y_bound²/2 (logistic regression: ln 2), so only targets below that ask for something.
        method: "covariance" (noise on XᵀX and Xᵀy), "output" (on the minimiser) or "brownian" (on the minimiser,
            Gaussian, (ε, δ)).
        delta: δ in (0, 1), spent by "brownian" only; otherwise the guarantee says δ = 0.
        steps: number T of privacy levels, geometric from the smaller of 1/n and a thousandth of the largest.
        epsilons: the levels themselves, increasing; the largest and the test must fit into epsilon_max.
        slack: how far below the target, as a share of it, the excess risk of a hypothesis at the edge of the ball must
            be so that it is passed over with probability at most γ; shorter ones need less (a half, where the norm is
            small). The test's price is proportional to 1/slack; at 2 and more, most searches pass over all.
        test: "sharp", or "paper" (Laplace noise; slack does not matter).
        radius: of the ball that holds the minimiser: "sharp", or "paper" (twice as large).
        fit_intercept: whether to append a constant column of value r, regularised and protected as any other.
        keep_last: whether a fit that reaches nothing keeps its last hypothesis, at the same charge.
        neighbors: "replace_one"; n enters the noise, so add_remove is refused.
        unit: name of the privacy unit, such as "CustomerID". Without `fit(..., units=...)` it asserts that no customer
            has two rows: nothing checks this, and the guarantee says so.
        rows_per_unit: the most rows that each unit of `fit(..., units=...)` keeps; the guarantee covers them together.
        ledger: a `dpmine.Ledger` or its URL: epsilon_max is set aside before the fit, and what it cost settled after.
        dataset: the data set's name in the ledger.

    Attributes:
        coef_: shape (p,); absent when nothing was reached and `keep_last` is False.
        intercept_: a number; 0 without an intercept.
        reached_: whether a hypothesis passed the test.
        requested_: target, λ and bounds of the fit, as exact texts.
        guarantee_: `dpmine.ExPostGuarantee`: what the fit cost, and what it could have cost.

    Source: Ligett et al. 2017, Algorithm 3, with a sharper test, a smaller ball and less noise.
    Proofs: docs/proofs/models/noise_reduction.md, docs/proofs/models/above_threshold.md,
    docs/proofs/models/excess_risk.md, docs/proofs/models/brownian_noise_reduction.md.
    """

    kind = "ridge"

    def __init__(  # noqa: PLR0917 - scikit-learn's convention
        self,
        excess_risk: Number | None = None,
        regularization: Number | None = None,
        failure_probability: Number = 0.1,
        epsilon_max: Number = 10,
        x_bound: Number | None = 1.0,
        y_bound: Number | None = 1.0,
        method: str = Method.COVARIANCE.value,
        delta: Number = 1e-6,
        steps: int = DEFAULT_STEPS,
        epsilons: Sequence[Number] | None = None,
        slack: Number = DEFAULT_SLACK,
        test: str = Variant.SHARP.value,
        radius: str = Variant.SHARP.value,
        fit_intercept: bool = False,  # noqa: FBT001, FBT002 - scikit-learn's convention
        keep_last: bool = False,  # noqa: FBT001, FBT002 - scikit-learn's convention
        neighbors: str = Neighbors.REPLACE_ONE.value,
        unit: str = ROW,
        rows_per_unit: int = 1,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.excess_risk = excess_risk
        self.regularization = regularization
        self.failure_probability = failure_probability
        self.epsilon_max = epsilon_max
        self.x_bound = x_bound
        self.y_bound = y_bound
        self.method = method
        self.delta = delta
        self.steps = steps
        self.epsilons = epsilons
        self.slack = slack
        self.test = test
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.keep_last = keep_last
        self.neighbors = neighbors
        self.unit = unit
        self.rows_per_unit = rows_per_unit
        self.ledger = ledger
        self.dataset = dataset

    def _settings(self, rows: int = 1) -> Settings:
        if self.y_bound is None:
            raise BadParameter("y_bound must be given: a public bound on |y|.")
        return Settings.of(methods=frozenset(Method), **self._of_one_record(rows))

    def _objective(
        self, X: Any, y: Any, settings: Settings, bounding: Bounding, *, bits: BitSource
    ) -> tuple[Objective, Terms]:
        features = checked_features(self, X, reset=True)
        targets = checked_targets(self, y, len(features))
        places = require_any(bounding.places(len(features), bits=bits))
        columns = features.shape[1] + settings.units.intercept
        bounds = RidgeBounds(places.size, columns, settings.ridge, settings.radius)
        terms = settings.terms(bounds)
        rows = settings.units.rows(places.of(features), places.filled())
        return RidgeObjective.of(bounds, rows, settings.units.targets(places.of(targets))), terms

    def _keep(self, coefficients: Floats, intercept: float) -> None:
        self.coef_, self.intercept_ = coefficients, intercept

    def predict(self, X: ArrayLike) -> Floats:
        """wᵀx + b for every row, shape (n,), rows longer than x_bound shortened to it as in training.

        Raises BadData as `fit`, and where nothing was reached.
        """
        self._require_weights()
        return linear_values(self, X, self._inside)


class AccuracyFirstLogistic(_AccuracyFirst, LogisticClassifier):
    """Logistic regression at the least privacy loss that reaches a target, private for every row under replace_one.

    Minimises L(w) = (1/n) Σ ln(1 + e^{−y_i x_iᵀw}) + (λ/2)‖w‖² on clipped rows, y_i = ±1.

    Args:
        method: "output" (Laplace noise on the minimiser) or "brownian".
        classes: the two labels, public, the one that positive decisions mean last; None: those that occur, sorted.

    All other parameters are those of `AccuracyFirstRidge`, without y_bound. `coef_` has shape (1, p), `intercept_`
    (1,), and `classes_` holds the two classes. Source: Ligett et al. 2017, section 3.2.
    """

    kind = "logistic"

    def __init__(  # noqa: PLR0917 - scikit-learn's convention
        self,
        excess_risk: Number | None = None,
        regularization: Number | None = None,
        failure_probability: Number = 0.1,
        epsilon_max: Number = 10,
        x_bound: Number | None = 1.0,
        method: str = Method.OUTPUT.value,
        delta: Number = 1e-6,
        steps: int = DEFAULT_STEPS,
        epsilons: Sequence[Number] | None = None,
        slack: Number = DEFAULT_SLACK,
        test: str = Variant.SHARP.value,
        radius: str = Variant.SHARP.value,
        fit_intercept: bool = False,  # noqa: FBT001, FBT002 - scikit-learn's convention
        keep_last: bool = False,  # noqa: FBT001, FBT002 - scikit-learn's convention
        classes: Sequence[Any] | None = None,
        neighbors: str = Neighbors.REPLACE_ONE.value,
        unit: str = ROW,
        rows_per_unit: int = 1,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.excess_risk = excess_risk
        self.regularization = regularization
        self.failure_probability = failure_probability
        self.epsilon_max = epsilon_max
        self.x_bound = x_bound
        self.method = method
        self.delta = delta
        self.steps = steps
        self.epsilons = epsilons
        self.slack = slack
        self.test = test
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.keep_last = keep_last
        self.classes = classes
        self.neighbors = neighbors
        self.unit = unit
        self.rows_per_unit = rows_per_unit
        self.ledger = ledger
        self.dataset = dataset

    def _settings(self, rows: int = 1) -> Settings:
        methods = frozenset({Method.OUTPUT, Method.BROWNIAN})
        return Settings.of(methods=methods, y_bound=None, **self._of_one_record(rows))

    def _objective(
        self, X: Any, y: Any, settings: Settings, bounding: Bounding, *, bits: BitSource
    ) -> tuple[Objective, Terms]:
        features = checked_features(self, X, reset=True)
        self.classes_, signs = checked_labels(self, y, len(features), self.classes, bounding.known)
        places = require_any(bounding.places(len(features), bits=bits))
        columns = features.shape[1] + settings.units.intercept
        bounds = LogisticBounds(places.size, columns, settings.ridge, settings.radius)
        bounds.require_short()
        terms = settings.terms(bounds)
        return LogisticObjective(bounds, Examples(settings.units.rows(places.of(features), places.of(signs)))), terms

    def _keep(self, coefficients: Floats, intercept: float) -> None:
        self.coef_, self.intercept_ = coefficients.reshape(1, -1), np.array([intercept])

    def _notes(self, bounds: LogisticBounds) -> tuple[str, ...]:
        return (classes_note(self.classes), bounds.solver_note)

    def decision_function(self, X: ArrayLike) -> Floats:
        """wᵀx + b for every row, shape (n,); above 0 is `classes_[1]`. Raises BadData where nothing was reached."""
        self._require_weights()
        return super().decision_function(X)


ESTIMATORS: dict[str, type[AccuracyFirstRidge | AccuracyFirstLogistic]] = {
    kind.kind: kind for kind in (AccuracyFirstRidge, AccuracyFirstLogistic)
}


def load_estimator(text: str) -> AccuracyFirstRidge | AccuracyFirstLogistic:
    """The estimator of a model file, whatever its kind. Raises BadData for any other text."""
    kind = ESTIMATORS.get(kind_of(text))
    if kind is None:
        raise BadData("The model file holds a kind of model that this version does not know.")
    return kind.from_json(text)
