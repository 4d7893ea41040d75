"""Private linear classifiers in scikit-learn's style."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpmine.ledger.charging import ROW
from dpmine.models.base import forget_fit
from dpmine.models.contribution import EVERY_ROW, SharedBudget, require_any
from dpmine.models.linear.examples import Examples
from dpmine.models.linear.losses import HuberLoss, LogisticLoss
from dpmine.models.linear.model_file import read_model, write_model
from dpmine.models.linear.predictions import LinearClassifier, LogisticClassifier
from dpmine.models.linear.preprocessing import within
from dpmine.models.linear.settings import AUTO, Settings
from dpmine.models.supervised import checked_labels, checked_numbers, classes_note, known_features
from dpmine.parameters import Number, positive, probability
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.ledger.ledger import Ledger
    from dpmine.models.contribution import Bounding
    from dpmine.models.linear.losses import Loss
    from dpmine.models.linear.preprocessing import FeatureBounds
    from dpmine.models.supervised import Floats
    from dpmine.privacy import Guarantee

_NOT_SETTINGS = {"epsilon", "delta", "huber", "classes", "unit", "rows_per_unit", "ledger", "dataset"}


class _PrivateLinearClassifier(LinearClassifier):
    """What both classifiers share; see them for parameters and attributes."""

    kind: str
    """The loss by its name; it tells model files apart."""
    feature_bounds_: FeatureBounds | None
    norm_bound_: float | None

    def __init__(  # noqa: PLR0917 - scikit-learn's convention
        self,
        lambdas: Number | Iterable[Number] = AUTO,
        norm_bound: Number = 1.0,
        epsilon: Number = 1,
        delta: Number = 1e-6,
        method: str = "objective",
        fit_intercept: bool = True,  # noqa: FBT001, FBT002 - scikit-learn's convention
        validation_share: Number = 0.1,
        selection_share: Number = 0.1,
        mechanism: str = "max_of_exponentials",
        sensitivities: str = "candidate",
        caution: Number = 0,
        classes: Sequence[Any] | None = None,
        neighbors: str = Neighbors.REPLACE_ONE.value,
        unit: str = ROW,
        rows_per_unit: int = 1,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
        feature_bounds: Sequence[Any] | None = None,
    ) -> None:
        self.lambdas = lambdas
        self.norm_bound = norm_bound
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.fit_intercept = fit_intercept
        self.validation_share = validation_share
        self.selection_share = selection_share
        self.mechanism = mechanism
        self.sensitivities = sensitivities
        self.caution = caution
        self.classes = classes
        self.neighbors = neighbors
        self.unit = unit
        self.rows_per_unit = rows_per_unit
        self.ledger = ledger
        self.dataset = dataset
        self.feature_bounds = feature_bounds

    @abstractmethod
    def _loss(self) -> Loss: ...

    def _fit(self, X: Any, y: Any, *, bounding: Bounding = EVERY_ROW, bits: BitSource) -> Self:
        settings = self._settings(bounding.rows)
        forget_fit(self)
        features = checked_numbers(self, X, reset=True)
        self.classes_, signs = checked_labels(self, y, len(features), self.classes, bounding.known)
        ball, places = settings.ball(features.shape[1]), require_any(bounding.places(len(features), bits=bits))
        rows = ball.rows(places.of(features), places.of(signs))
        fitted = settings.train(Examples(rows, each=places.each), bits=bits)
        coefficients, intercept = ball.split(fitted.weights)
        self.feature_bounds_, self.norm_bound_ = ball.bounds, ball.norm_bound
        self.coef_ = coefficients.reshape(1, -1)
        self.intercept_ = np.array([intercept])
        self.lambda_ = float(fitted.parameter)
        promise = self._shared(bounding.rows).of_unit(fitted.guarantee)
        self.guarantee_ = promise.noting(ball.note, classes_note(self.classes))
        return self

    def _inside(self, features: Floats) -> Floats:
        if self.norm_bound_ is None:  # a model file of version 0.1
            return super()._inside(features)
        return within(features, self.feature_bounds_, self.norm_bound_)

    def require_parameters(self, features: Sequence[str] | None = None) -> None:
        """Raises BadParameter for unusable parameters, before any data are read; `features` where they are known."""
        settings = self._settings()
        if features is not None:
            settings.ball(len(features))

    def _features_of(self, X: Any) -> list[str] | None:
        return known_features(X)

    def _require_usable(self, features: Sequence[str] | None) -> None:
        super()._require_usable(features)
        self.require_parameters(features)

    def _promise(self, rows: int) -> Guarantee:
        return self._shared(rows).of_unit(self._settings(rows).promise())

    def _shared(self, rows: int) -> SharedBudget:
        return SharedBudget(positive("epsilon", self.epsilon), probability("delta", self.delta), rows)

    def _settings(self, rows: int = 1) -> Settings:
        """The settings of one record, where `rows` records share the budget."""
        shared = self._shared(rows)
        parameters = {name: value for name, value in self.get_params().items() if name not in _NOT_SETTINGS}
        return Settings.of(loss=self._loss(), epsilon=shared.row_epsilon, delta=shared.row_delta, **parameters)

    def to_json(self) -> str:
        """The fitted model as one JSON object: everything in it is covered by `guarantee_`."""
        check_is_fitted(self)
        return write_model(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A fitted classifier out of what `to_json` gave. Raises BadData for any other text."""
        model = read_model(text, kind=cls.kind)
        classifier = cls()
        for name, value in model.items():
            setattr(classifier, name, value)
        classifier._read_from_file = True
        return classifier


class PrivateLogisticRegression(_PrivateLinearClassifier, LogisticClassifier):
    """Logistic regression, private for every row under replace_one; λ is chosen privately where several are given.

    Features should weigh alike: give `feature_bounds`. Scaling by the data (StandardScaler) before the fit, or a search
    over parameters around it (GridSearchCV) is not covered by `guarantee_` and voids it.

    Args:
        lambdas: "auto", which is d/(10nε) for n rows of d weights (d/(nε) with method="output"), a rule of public
            numbers; or regularisation strengths λ > 0, public, to choose from privately with `selection_share` of ε.
            With one λ, or "auto", all of ε trains. λ refers to the features as they are trained on:
            x/norm_bound, times √(1/2) with an intercept.
        norm_bound: public bound r > 0 on ‖x‖₂; longer rows are shortened to it. With `feature_bounds` it refers to the
            mapped features.
        epsilon: ε > 0, read exactly.
        delta: δ in (0, 1), spent by approximate choosers only; otherwise the guarantee says δ = 0.
        method: "objective" (noise in the objective) or "output" (noise on the solution).
        fit_intercept: whether to train an intercept, regularised and protected as the coefficients are.
        validation_share: share of the rows, by a public random split, that choose λ; the model is trained on all.
        mechanism: who chooses λ: a pure mechanism of `dpmine.select`, or one that may say nothing (then the largest λ).
        selection_share: share of ε that chooses λ; the rest trains.
        sensitivities: "candidate" (every λ its own) or "uniform" (the largest for all, as the paper has it).
        caution: how much small λ, whose scores one row moves more, are held back: 0 not at all, which finds good ones
            more often; 1 has an accuracy bound (see `dpmine.models.validation.terms.Terms`). All are private.
        classes: the two labels, public; positive decisions mean the second, and any other label counts as the first.
            None: those that occur, sorted.
        neighbors: "replace_one"; n and λ enter the noise, so add_remove is refused.
        unit: name of the privacy unit, such as "CustomerID". Without `fit(..., units=...)` it asserts that no customer
            has two rows: nothing checks this, and the guarantee says so.
        rows_per_unit: the most rows that each unit of `fit(..., units=...)` keeps; the guarantee covers them together.
        ledger: a `dpmine.Ledger` or its URL, charged before the fit.
        dataset: the data set's name in the ledger.
        feature_bounds: (lower, upper), each one public number or one for each feature. A feature is clipped to its
            bounds and mapped to [−1, 1], in training and in predictions; a missing value counts as the middle. None:
            features are taken as they are, a missing value as 0.

    Attributes:
        coef_: shape (1, d), in the units of the features as they were given, for rows within the bounds.
        intercept_: shape (1,); with bounds and without an intercept, it makes the decision 0 in their middle.
        feature_bounds_: `lower` and `upper` of the features, shape (d,) each; None where none were given.
        norm_bound_: the norm bound. Predictions clip rows to both bounds, as training does.
        classes_: the two classes; treated as public, and that both occur, unless they were given.
        lambda_: the regulariser that was trained with.
        guarantee_: what the release of all these attributes promises.

    Source: Chaudhuri, Monteleoni & Sarwate 2011; Chaudhuri & Vinterbo 2013.
    Proofs: docs/proofs/models/objective_perturbation.md, docs/proofs/models/output_perturbation.md.
    """

    kind = "logistic"

    def _loss(self) -> Loss:
        return LogisticLoss()


class PrivateHuberSVC(_PrivateLinearClassifier):
    """A linear support vector classifier with the Huber hinge loss, private for every row under replace_one.

    Args:
        huber: half-width h ≥ 0.001 of the rounded corner: the loss bends over margins from 1 − h to 1 + h. A
            narrow corner is closer to the hinge loss and, with objective perturbation, needs more regularisation.

    All other parameters and the attributes are those of `PrivateLogisticRegression`. There are no probabilities.
    """

    kind = "huber"

    def __init__(  # noqa: PLR0917 - scikit-learn's convention
        self,
        lambdas: Number | Iterable[Number] = AUTO,
        norm_bound: Number = 1.0,
        epsilon: Number = 1,
        delta: Number = 1e-6,
        method: str = "objective",
        fit_intercept: bool = True,  # noqa: FBT001, FBT002 - scikit-learn's convention
        validation_share: Number = 0.1,
        selection_share: Number = 0.1,
        mechanism: str = "max_of_exponentials",
        sensitivities: str = "candidate",
        caution: Number = 0,
        classes: Sequence[Any] | None = None,
        neighbors: str = Neighbors.REPLACE_ONE.value,
        huber: Number = 0.5,
        unit: str = ROW,
        rows_per_unit: int = 1,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
        feature_bounds: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(
            lambdas=lambdas,
            norm_bound=norm_bound,
            epsilon=epsilon,
            delta=delta,
            method=method,
            fit_intercept=fit_intercept,
            validation_share=validation_share,
            selection_share=selection_share,
            mechanism=mechanism,
            sensitivities=sensitivities,
            caution=caution,
            classes=classes,
            neighbors=neighbors,
            unit=unit,
            rows_per_unit=rows_per_unit,
            ledger=ledger,
            dataset=dataset,
            feature_bounds=feature_bounds,
        )
        self.huber = huber

    def _loss(self) -> Loss:
        return HuberLoss(positive("huber", self.huber))
