"""Estimators that are given a target instead of a budget, in scikit-learn's style, and their model files."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpmine.errors import BadData, BadParameter
from dpmine.models.accuracy_first.noisy_hypotheses import Method, falling_noise
from dpmine.models.accuracy_first.objectives import (
    LogisticBounds,
    LogisticObjective,
    Objective,
    RidgeBounds,
    RidgeObjective,
)
from dpmine.models.accuracy_first.settings import (
    DEFAULT_SLACK,
    DEFAULT_STEPS,
    PUBLIC_ROWS,
    AccuracySettings,
    UnitBox,
    given_levels,
    given_number,
    whole_steps,
)
from dpmine.models.accuracy_first.threshold_search import search
from dpmine.models.contribution import Bounding, Places, SharedBudget, require_any
from dpmine.models.linear.losses import Examples
from dpmine.models.model_file import (
    Document,
    ModelFormat,
    SavedEstimator,
    finite_row,
    fitted_attributes,
    fitted_entries,
    natural,
    read_classes,
    require_classes,
    text_of,
    truth_of,
)
from dpmine.models.model_file import finite as finite_number
from dpmine.models.private_estimator import PrivateEstimator
from dpmine.models.supervised import (
    LogisticClassifier,
    PrivateRegressor,
    checked_features,
    checked_labels,
    checked_targets,
    classes_note,
    finite,
    linear_values,
)
from dpmine.models.validation.terms import require_replace_one
from dpmine.options.explained import OF_ESTIMATORS, explained_by
from dpmine.parameters import Number, named, positive, probability, truth
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dpmine.exact.bits import BitSource
    from dpmine.models.entries import Entries, Floats

_FORMAT = ModelFormat(name="dpmine accuracy-first model", command="accuracy-first", kind="model_kind")
_EMPTY_PLACES = "the risk is the mean over {} places per unit; a place that is left empty is a row of zeros"


@dataclass(eq=False, repr=False)
class _AccuracyFirst(SavedEstimator, PrivateEstimator[AccuracySettings]):
    """What both estimators share; see them for parameters and attributes."""

    excess_risk: Number | None = None
    regularization: Number | None = None
    failure_probability: Number = 0.1
    epsilon_max: Number = 10
    x_bound: Number | None = 1.0
    _: KW_ONLY
    method: str = Method.OUTPUT.value
    delta: Number = 1e-6
    steps: int = DEFAULT_STEPS
    epsilons: Sequence[Number] | None = None
    slack: Number = DEFAULT_SLACK
    fit_intercept: bool = False
    keep_last: bool = False
    neighbors: str = Neighbors.REPLACE_ONE.value

    model_format = _FORMAT
    _has_places: ClassVar[bool] = True
    _methods = frozenset(Method)
    _requested: ClassVar[tuple[str, ...]] = (
        "excess_risk",
        "regularization",
        "failure_probability",
        "epsilon_max",
        "x_bound",
    )
    """Parameters that say what the model is, exact in a file."""

    def _settings(self, rows: int = 1, features: Sequence[str] | None = None) -> AccuracySettings:  # noqa: ARG002
        shared = SharedBudget(positive("epsilon_max", self.epsilon_max), probability("delta", self.delta), rows)
        truth("keep_last", self.keep_last)
        require_replace_one(self.neighbors, PUBLIC_ROWS)
        method = named(Method, "method", self.method)
        if method not in self._methods:
            raise BadParameter("method must be 'output' or 'brownian': covariances do not make a logistic regression.")
        levels, steps = None if self.epsilons is None else given_levels(self.epsilons), whole_steps(self.steps)
        return AccuracySettings(
            given_number("excess_risk", self.excess_risk, "the excess risk to reach"),
            given_number("regularization", self.regularization, "λ of the penalty (λ/2)‖w‖²"),
            probability("failure_probability", self.failure_probability),
            shared,
            shared.row_delta if method is Method.BROWNIAN else Fraction(0),
            method,
            None if levels is None else tuple(level / rows for level in levels),
            steps if levels is None else len(levels),
            positive("slack", self.slack),
            UnitBox(
                given_number("x_bound", self.x_bound, "a public bound on the L1 norm of a row"),
                self._target_bound(),
                truth("fit_intercept", self.fit_intercept),
            ),
        )

    def _target_bound(self) -> Fraction | None:
        """The public bound on the targets; None for classes."""
        return None

    @abstractmethod
    def _answers(self, y: Entries, rows: int, bounding: Bounding) -> Floats:
        """Checked targets, or signs of the classes."""

    @staticmethod
    @abstractmethod
    def _bounds(size: int, dimension: int, ridge: float) -> Any:
        """The public side of the risk. Raises BadParameter where a search on it is rejected."""

    @staticmethod
    @abstractmethod
    def _objective(bounds: Any, units: UnitBox, places: Places, features: Floats, answers: Floats) -> Objective:
        """The risk on the rows in their places."""

    def _require_places(self, settings: AccuracySettings, units: int, each: int, features: Sequence[str]) -> None:
        settings.terms(self._bounds(units * each, len(features) + settings.units.intercept, settings.ridge))

    def _learn(
        self, X: Entries, y: Entries, settings: AccuracySettings, bounding: Bounding, *, bits: BitSource
    ) -> None:
        features = checked_features(self, X, reset=True, least=self.least_rows)
        answers = self._answers(y, len(features), bounding)
        places = require_any(bounding.places(len(features), bits=bits))
        bounds = self._bounds(places.size, features.shape[1] + settings.units.intercept, settings.ridge)
        terms = settings.terms(bounds)
        objective = self._objective(bounds, settings.units, places, features, answers)
        hypotheses = falling_noise(objective, settings.method, terms.epsilons, settings.delta, bits=bits)
        outcome = search(hypotheses, terms.epsilons, terms.queries(objective), terms.test, bits=bits)
        self.reached_ = outcome.step is not None
        if self.reached_ or self.keep_last:
            self.coef_, self.intercept_ = self._shaped(*settings.units.split(outcome.weights))
        empty = [_EMPTY_PLACES.format(bounding.rows)] if bounding.rows > 1 or bounding.declared else []
        self.guarantee_ = settings.realised(outcome, bounds).noting(*self._notes(bounds), *empty)
        self.requested_ = {name: str(positive(name, getattr(self, name))) for name in self._requested}

    @staticmethod
    def _shaped(coefficients: Floats, intercept: float) -> tuple[Any, Any]:
        """`coef_` and `intercept_`, in the shapes that scikit-learn has them in."""
        return coefficients, intercept

    def _notes(self, bounds: Any) -> tuple[str, ...]:  # noqa: ARG002 - one of the two has something to say
        """What else the guarantee rests on."""
        return ()

    def _inside(self, features: Floats) -> Floats:
        bound = Fraction(self.requested_["x_bound"])
        return UnitBox(bound, y_bound=None, intercept=False).inside(finite(features))

    @property
    def has_result(self) -> bool:
        """See `PrivateEstimator.has_result`."""
        return hasattr(self, "coef_")

    def _require_weights(self) -> None:
        check_is_fitted(self)
        if not self.has_result:
            raise BadData(
                "No hypothesis reached the target when this was fitted, so there is none to predict with. Fit again "
                "with a larger epsilon_max or excess_risk, or a smaller slack; keep_last=True keeps the last one."
            )

    def _entries(self) -> dict[str, object]:
        has_weights = self.has_result
        return {
            "reached": self.reached_,
            "requested": self.requested_,
            "columns": self.n_features_in_,
            "coef": np.ravel(self.coef_).tolist() if has_weights else None,
            "intercept": float(np.ravel(self.intercept_)[0]) if has_weights else None,
            **fitted_entries(self),
        }

    @classmethod
    def _attributes(cls, document: Document) -> dict[str, object]:
        columns, reached = natural(document["columns"]), truth_of(document["reached"])
        parameters = {name: positive(name, text_of(document["requested"][name])) for name in cls._requested}
        requested = {name: str(value) for name, value in parameters.items()}
        attributes = {
            "reached_": reached,
            "requested_": requested,
            **parameters,
            **fitted_attributes(document, columns),
        }
        if not columns:
            raise ValueError
        if document["coef"] is None:
            if reached or document["intercept"] is not None:
                raise ValueError
            return attributes
        coefficients, intercept = cls._shaped(finite_row(document["coef"]), finite_number(document["intercept"]))
        if np.size(coefficients) != columns:
            raise ValueError
        return {**attributes, "coef_": coefficients, "intercept_": intercept}


@explained_by(OF_ESTIMATORS)
@dataclass(eq=False, repr=False)
class AccuracyFirstRidge(_AccuracyFirst, PrivateRegressor[AccuracySettings]):
    """Ridge regression at the least privacy loss that reaches a target, private for every row under replace_one.

    Minimises L(w) = (1/2n) Σ (y_i − x_iᵀw)² + (λ/2)‖w‖² on clipped rows. Hypotheses of falling noise are tested one
    after the other. The first that passes is released. The privacy loss is that of all tests up to it.

    Args:
        excess_risk: the target R > 0: L(w) − min L of the model that is accepted. In the units of L, that is of y².
        regularization: λ > 0, in the units of L: y²/x².
        failure_probability: γ in (0, 1): a model of larger excess risk is accepted with probability at most γ.
            Reaching the target is not guaranteed.
        epsilon_max: the most that a fit may be charged, tests included. A budget must reserve it.
        x_bound: public bound r > 0 on ‖x‖₁, the sum of absolute values; longer rows are shortened to it. The default
            of 1 is for rows scaled to it.
        y_bound: public bound on |y|; larger targets are clipped to it. Weights of 0 have an excess risk of at most
            y_bound²/2 (logistic regression: ln 2), so they meet any larger target.
        method: "covariance" (noise on XᵀX and Xᵀy), "output" (on the minimiser) or "brownian" (on the minimiser,
            Gaussian, (ε, δ)).
        delta: δ in (0, 1), spent by "brownian" only; otherwise the guarantee says δ = 0.
        steps: number T of privacy levels, geometric from the smaller of 1/n and a thousandth of the largest.
        epsilons: the levels themselves, increasing; the largest and the test must fit into epsilon_max.
        slack: a share of the target. A hypothesis whose excess risk is this share below the target passes, except with
            probability γ, even at the edge of the ball. Shorter ones need less: half where the norm is small.
            The test's charge is proportional to 1/slack; at 2 and more, most searches pass over all.
        fit_intercept: whether to append a constant column of value r, regularised and protected as any other.
        keep_last: whether a fit that reaches nothing keeps its last hypothesis, at the same charge.
        neighbors: "replace_one"; n enters the noise, so add_remove is rejected.
        ledger: a `dpmine.Ledger` or its URL: epsilon_max is set aside before the fit, and the realised ε settled after.

    Attributes:
        coef_: shape (p,); absent when nothing was reached and `keep_last` is False.
        intercept_: a number; 0 without an intercept.
        reached_: whether a hypothesis passed the test.
        requested_: target, λ and bounds of the fit, as exact texts.
        guarantee_: `dpmine.ExPostGuarantee`: the realised ε of the fit, and the largest that it could have had.

    Source: Ligett et al. 2017, Algorithm 3, with a sharper test, a smaller ball and less noise.
    Proofs: docs/proofs/models/noise_reduction.md, docs/proofs/models/above_threshold.md,
    docs/proofs/models/excess_risk.md, docs/proofs/models/brownian_noise_reduction.md.

    See Also:
        AccuracyFirstLogistic: for two classes.

    Example:
        >>> import numpy as np
        >>> from dpmine import AccuracyFirstRidge
        >>> x = np.linspace(-1, 1, 4000).reshape(-1, 1)
        >>> model = AccuracyFirstRidge(excess_risk=0.05, regularization=0.1, keep_last=True).fit(x, x[:, 0] / 2)
        >>> model.coef_.shape
        (1,)
        >>> model.guarantee_.ex_post_epsilon <= 10
        True
    """

    y_bound: Number | None = 1.0
    _: KW_ONLY
    method: str = Method.COVARIANCE.value

    kind = "ridge"
    _bounds = RidgeBounds
    _requested: ClassVar[tuple[str, ...]] = (*_AccuracyFirst._requested, "y_bound")  # noqa: SLF001 - of its base

    def _target_bound(self) -> Fraction:
        return given_number("y_bound", self.y_bound, "a public bound on |y|")

    def _answers(self, y: Entries, rows: int, bounding: Bounding) -> Floats:  # noqa: ARG002 - no class is learnt
        return checked_targets(self, y, rows)

    @staticmethod
    def _objective(bounds: RidgeBounds, units: UnitBox, places: Places, features: Floats, answers: Floats) -> Objective:
        rows = units.rows(places.of(features), places.filled())
        return RidgeObjective.of(bounds, rows, units.targets(places.of(answers)))

    def predict(self, X: ArrayLike) -> Floats:
        """wᵀx + b for every row of X, shape (n,), rows longer than x_bound shortened to it as in training.

        Raises BadData as `fit`, and where nothing was reached.
        """
        self._require_weights()
        return linear_values(self, X, self._inside)


@explained_by(AccuracyFirstRidge.__doc__)
@dataclass(eq=False, repr=False)
class AccuracyFirstLogistic(_AccuracyFirst, LogisticClassifier[AccuracySettings]):
    """Logistic regression at the least privacy loss that reaches a target, private for every row under replace_one.

    Minimises L(w) = (1/n) Σ ln(1 + e^{−y_i x_iᵀw}) + (λ/2)‖w‖² on clipped rows, y_i = ±1 (Ligett et al. 2017, 3.2).

    Args:
        method: "output" (Laplace noise on the minimiser) or "brownian".
        classes: the two labels, public, the one that positive decisions mean last; None: those that occur,
            sorted, of rows with a unit: then public, and that there are two. `fit` reads them before the charge.

    Attributes:
        coef_: shape (1, p).
        intercept_: shape (1,).
        classes_: the two classes.

    See Also:
        AccuracyFirstRidge: for a number instead of two classes.
        PrivateLogisticRegression: for a budget instead of a target.

    Example:
        >>> import numpy as np
        >>> from dpmine import AccuracyFirstLogistic
        >>> x = np.linspace(-1, 1, 4000).reshape(-1, 1)
        >>> model = AccuracyFirstLogistic(excess_risk=0.05, regularization=0.1, keep_last=True).fit(x, x[:, 0] > 0)
        >>> model.guarantee_.ex_post_epsilon <= 10
        True
    """

    _: KW_ONLY
    classes: Sequence[object] | None = None

    kind = "logistic"
    _methods = frozenset({Method.OUTPUT, Method.BROWNIAN})

    def _answers(self, y: Entries, rows: int, bounding: Bounding) -> Floats:
        self.classes_, signs = checked_labels(self, y, rows, self.classes, bounding.known)
        return signs

    @staticmethod
    def _bounds(size: int, dimension: int, ridge: float) -> LogisticBounds:
        bounds = LogisticBounds(size, dimension, ridge)
        bounds.require_short()
        return bounds

    @staticmethod
    def _objective(
        bounds: LogisticBounds, units: UnitBox, places: Places, features: Floats, answers: Floats
    ) -> Objective:
        return LogisticObjective(bounds, Examples(units.rows(places.of(features), places.of(answers))))

    @staticmethod
    def _shaped(coefficients: Floats, intercept: float) -> tuple[Any, Any]:
        return coefficients.reshape(1, -1), np.array([intercept])

    def _notes(self, bounds: LogisticBounds) -> tuple[str, ...]:
        return (classes_note(self.classes), bounds.solver_note)

    def decision_function(self, X: ArrayLike) -> Floats:
        """wᵀx + b for every row of X, shape (n,); above 0 is `classes_[1]`. Raises BadData if nothing was reached."""
        self._require_weights()
        return super().decision_function(X)

    def _entries(self) -> dict[str, object]:
        return {**super()._entries(), "classes": require_classes(self.classes_.tolist())}

    @classmethod
    def _attributes(cls, document: Document) -> dict[str, object]:
        return {**super()._attributes(document), "classes_": read_classes(document["classes"])}


ESTIMATORS: dict[str, type[AccuracyFirstRidge | AccuracyFirstLogistic]] = {
    kind.kind: kind for kind in (AccuracyFirstRidge, AccuracyFirstLogistic)
}


def load_estimator(text: str) -> AccuracyFirstRidge | AccuracyFirstLogistic:
    """The estimator of a model file, whatever its kind. Raises BadData for any other text."""
    return _FORMAT.load(text, ESTIMATORS)
