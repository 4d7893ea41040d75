"""Private linear classifiers in scikit-learn's style, and their model files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpmine.errors import BadData, BadParameter
from dpmine.models.contribution import Bounding, SharedBudget, require_any
from dpmine.models.linear.losses import CappedLogisticLoss, Examples, HuberLoss, LogisticLoss, Loss
from dpmine.models.linear.multinomial import ClassExamples, MultinomialLoss, basis
from dpmine.models.linear.preprocessing import FeatureBounds, UnitBall, within
from dpmine.models.linear.training import (
    AUTO,
    LinearSettings,
    class_weights,
    noise_named,
    perturbation_of,
    regularisers,
)
from dpmine.models.model_file import (
    Document,
    ModelFormat,
    SavedEstimator,
    finite,
    finite_row,
    finite_rows,
    fitted_attributes,
    fitted_entries,
    read_classes,
    require_classes,
)
from dpmine.models.supervised import (
    LinearClassifier,
    LogisticClassifier,
    checked_codes,
    checked_labels,
    checked_numbers,
    classes_note,
)
from dpmine.models.validation.terms import CandidateSearch, require_replace_one
from dpmine.options.explained import OF_ESTIMATORS, explained_by
from dpmine.parameters import Number, positive, probability, truth
from dpmine.privacy import Neighbors

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from dpmine.exact.bits import BitSource
    from dpmine.models.entries import Entries, Floats, Labels
    from dpmine.zcdp import RenyiBounds

_LOGISTIC_LOSSES = (AUTO, CappedLogisticLoss.name, LogisticLoss.name)
_LOSSES = (CappedLogisticLoss.name, LogisticLoss.name, HuberLoss.name)
_FORMAT = ModelFormat(
    name="dpmine linear classifier",
    command="classify",
    kind="loss",
    another="The model was trained with another loss than {}.",
    unknown="The model file holds a kind of classifier that this version does not know.",
)


@dataclass(eq=False, repr=False)
class _PrivateLinearClassifier(SavedEstimator, LinearClassifier[LinearSettings]):
    """What both classifiers share; see them for parameters and attributes."""

    lambdas: Number | Iterable[Number] = AUTO
    norm_bound: Number = 1.0
    epsilon: Number = 1
    delta: Number = 1e-6
    method: str = "objective"
    fit_intercept: bool = True
    validation_share: Number = 0.1
    selection_share: Number = 0.1
    mechanism: str = "max_of_exponentials"
    _: KW_ONLY
    classes: Sequence[object] | None = None
    neighbors: str = Neighbors.REPLACE_ONE.value
    feature_bounds: Sequence[object] | None = None
    noise: str = AUTO
    class_weight: Mapping[Any, Number] | None = None

    model_format = _FORMAT
    _has_places: ClassVar[bool] = True

    @abstractmethod
    def _loss(self) -> Loss:
        """Of the classes that are named, two where none are."""

    def _settings(self, rows: int = 1, features: Sequence[str] | None = None) -> LinearSettings:
        shared = SharedBudget(positive("epsilon", self.epsilon), probability("delta", self.delta), rows)
        loss = self._loss()
        require_replace_one(self.neighbors)
        held_out, share = (probability(name, getattr(self, name)) for name in ("validation_share", "selection_share"))
        lambdas = regularisers(self.lambdas)
        candidates = 1 if lambdas is None else len(lambdas)
        intercept = truth("fit_intercept", self.fit_intercept)
        settings = LinearSettings(
            lambdas=lambdas,
            ball=UnitBall.of(self.norm_bound, intercept=intercept, feature_bounds=self.feature_bounds),
            loss=loss,
            kind=perturbation_of(self.method),
            noise=noise_named(self.noise),
            weights=None if features is None else (len(features) + intercept) * loss.columns,
            validation_share=held_out,
            search=CandidateSearch(shared.row_epsilon, share, shared.row_delta, self.mechanism, candidates),
            shared=shared,
            class_weights=class_weights(self.class_weight, self.classes, candidates),
        )
        if self._renyi is not None:
            settings = self._within(settings, self._renyi)
        settings.search.chooser()
        if features is not None:
            settings.ball.for_columns(len(features))
        return settings

    def prefers(self, bounds: RenyiBounds, features: Sequence[str] | None = None) -> bool:
        """Whether Gaussian noise is shorter under these Rényi `bounds`, for one λ and two classes.

        The names of the `features` say how many there are.
        """
        return self._settings(1, features).prefers(bounds)

    def _within(self, settings: LinearSettings, bounds: RenyiBounds) -> LinearSettings:
        if settings.shared.rows > 1 or not settings.concentrates:
            raise BadParameter("Rényi bounds are for one λ, two classes, Gaussian noise and one row per unit.")
        return replace(settings, renyi=bounds)

    def _require_places(self, settings: LinearSettings, units: int, each: int, features: Sequence[str]) -> None:  # noqa: ARG002 - known
        settings.require_rows(units, each)

    def _learn(self, X: Entries, y: Entries, settings: LinearSettings, bounding: Bounding, *, bits: BitSource) -> None:
        features = checked_numbers(self, X, reset=True, least=self.least_rows)
        ball = settings.ball.for_columns(features.shape[1])
        fitted = settings.train(self._examples(features, y, settings, bounding, bits=bits), bits=bits)
        split = [ball.split(weights) for weights in _of_classes(fitted.weights, self.classes_)]
        self.feature_bounds_: FeatureBounds | None = ball.bounds
        self.norm_bound_: float = ball.norm_bound
        self.coef_ = np.array([coefficients for coefficients, _ in split])
        self.intercept_ = np.array([intercept for _, intercept in split])
        self.lambda_ = float(fitted.parameter)
        self.loss_: str = settings.loss.name
        directions = np.ones(1) if len(self.classes_) == 2 else np.linalg.norm(basis(len(self.classes_)), axis=1)
        self.factors_ = np.outer(directions, ball.split(np.ones(features.shape[1] + ball.intercept))[0])
        self.spread_ = fitted.spread
        notes = [] if settings.class_weights is None else ["the weights of the classes are public"]
        self.guarantee_ = fitted.guarantee.noting(ball.note, classes_note(self.classes), *notes)

    def _examples(
        self, features: Floats, y: Entries, settings: LinearSettings, bounding: Bounding, *, bits: BitSource
    ) -> Examples:
        """The rows that units keep, inside the unit ball, with their classes; sets `classes_`."""
        ball = settings.ball.for_columns(features.shape[1])
        if self.classes is not None and settings.loss.columns > 1:
            self.classes_, codes = checked_codes(self, y, len(features), self.classes)
            places = require_any(bounding.places(len(features), bits=bits))
            rows = ball.rows(places.of(features), places.filled())
            codes = places.of(codes)
            weights = None if settings.class_weights is None else settings.class_weights[codes]
            return ClassExamples(rows, codes, len(self.classes_), places.each, weights)
        self.classes_, signs = checked_labels(self, y, len(features), self.classes, bounding.known)
        places = require_any(bounding.places(len(features), bits=bits))
        kept = places.of(features)  # first: what does not fit is rejected before anything is made
        signs = places.of(signs)
        weights = None if settings.class_weights is None else settings.class_weights[(signs > 0).astype(np.intp)]
        return Examples(ball.rows(kept, signs), places.each, weights)

    def coefficient_intervals(self, level: Number = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends, each of the shape of `coef_`, that hold each coefficient with probability ≥ `level`.

        Of the coefficients that training without noise would have given on the same rows, with the same λ, clipped as
        they are: they cover the noise only, not what other rows would have given (sampling error), and not the shift
        that λ and clipping cause. Each interval by itself; free, as a function of public numbers and the release.
        For method="output". Raises BadParameter for a level that is not between 0 and 1. Raises it for
        method="objective", where the effect of the noise depends on the data. Raises it also for the best of a search,
        whose noise was chosen by its score. Raises BadData for a model from a file, which does not keep the
        distribution of the noise.
        """
        check_is_fitted(self)
        share = float(probability("level", level))
        if not hasattr(self, "spread_"):
            raise BadData("A model file does not keep what intervals need: ask the model that was trained.")
        if self.spread_ is None:
            raise BadParameter(
                "coefficient_intervals needs method='output' without a search around it: otherwise what noise does to "
                "the coefficients depends on the data."
            )
        width = np.abs(self.factors_) * self.spread_.half_width(share)
        return self.coef_ - width, self.coef_ + width

    def _inside(self, features: Floats) -> Floats:
        return within(features, self.feature_bounds_, self.norm_bound_)

    def _entries(self) -> dict[str, object]:
        two = len(self.coef_) == 1
        entries = {
            "classes": require_classes(self.classes_.tolist(), several=True),
            "coef": self.coef_[0].tolist() if two else self.coef_.tolist(),
            "intercept": float(self.intercept_[0]) if two else self.intercept_.tolist(),
            "lambda": self.lambda_,
            "trained_with": self.loss_,
            "norm_bound": self.norm_bound_,
        }
        if self.feature_bounds_ is not None:
            entries["feature_bounds"] = self.feature_bounds_.to_dict()
        return {**entries, **fitted_entries(self)}

    @classmethod
    def _attributes(cls, document: Document) -> dict[str, object]:
        classes = read_classes(document["classes"], several=cls._several)
        coefficients, intercepts = _weights_of(document, len(classes))
        columns = coefficients.shape[1]
        return {
            "coef_": coefficients,
            "intercept_": intercepts,
            "classes_": classes,
            "lambda_": float(positive("lambda", finite(document["lambda"]))),
            "loss_": _loss(document["trained_with"]),
            "feature_bounds_": None
            if "feature_bounds" not in document
            else FeatureBounds.read(document["feature_bounds"], columns),
            "norm_bound_": float(positive("norm_bound", finite(document["norm_bound"]))),
            **fitted_attributes(document, columns),
        }


def _of_classes(weights: Floats, classes: Labels) -> Floats:
    """What was trained, a row for each decision: one for two classes, (K, d) for K."""
    count = len(classes)
    return weights.reshape(1, -1) if count == 2 else basis(count) @ weights.reshape(-1, count - 1).T


def _loss(name: object) -> str:
    if name not in _LOSSES:
        raise ValueError
    return str(name)


def _weights_of(document: Document, classes: int) -> tuple[Floats, Floats]:
    if classes == 2:
        return finite_row(document["coef"]).reshape(1, -1), np.array([finite(document["intercept"])])
    coefficients, intercepts = finite_rows(document["coef"]), finite_row(document["intercept"])
    if not len(coefficients) == len(intercepts) == classes:
        raise ValueError
    return coefficients, intercepts


@explained_by(OF_ESTIMATORS)
@dataclass(eq=False, repr=False, kw_only=True)
class PrivateLogisticRegression(_PrivateLinearClassifier, LogisticClassifier[LinearSettings]):
    """Logistic regression, private for every row under replace_one; λ is chosen privately where several are given.

    More than two classes are learnt together by softmax regression, in one budget, where `classes` names them.
    Features should weigh alike: give `feature_bounds`. Scaling by the data (StandardScaler) before the fit, or a search
    over parameters around it (GridSearchCV) is not covered by `guarantee_` and voids it.

    Args:
        lambdas: "auto", or regularisation strengths λ > 0, public, to choose from privately with `selection_share` of
            ε. "auto" is a rule of public numbers: a tenth of the noise's mean length over n, or all of it with
            method="output". For n rows of d weights and gamma noise it is d/(10nε). With one λ, or "auto", all of ε
            trains. λ refers to the features as they are trained on: x/norm_bound, times √(1/2) with an intercept. With
            more than two classes, it refers to the mean loss over √2, too.
        delta: δ in (0, 1), spent by Gaussian noise and by approximate choosers; otherwise the guarantee says δ = 0.
        method: "objective" (noise in the objective) or "output" (noise on the solution).
        fit_intercept: whether to train an intercept, regularised and protected as the coefficients are.
        validation_share: share of the rows, by a public random split, that choose λ; the model is trained on all.
        mechanism: what chooses λ: a pure mechanism of `dpmine.select`, or one that may return no candidate (then the
            largest λ).
        selection_share: share of ε that chooses λ; the rest trains.
        classes: the labels, public: two, or for `PrivateLogisticRegression` up to 1000. Any other label counts as the
            first. Positive decisions mean the second of two. None: those that occur, sorted, of rows with a unit: then
            public, and that there are two. `fit` reads them before the charge.
        neighbors: "replace_one"; n and λ enter the noise, so add_remove is rejected.
        noise: "gamma", whose length grows with d and which spends no δ, or "gaussian", whose length grows with √d and
            which spends `delta`. "auto": the shorter one on average, by d, ε and δ alone. This is Gaussian from about
            15 weights on at ε = 0.3, 18 at ε = 1 and 21 at ε = 3.
        class_weight: a public weight > 0 for each of the named `classes`, such as {"no": 1, "yes": 10}; 1 for those
            left out. The loss of a row is multiplied by its class's weight over the largest. So the guarantee is the
            same, and λ refers to that loss. For one λ, or "auto". "balanced" is rejected: it would read the labels.
        loss: "logistic", or "capped" for two classes: twice the logistic loss of a margin z ≥ 0, and the straight line
            2 ln 2 − z below. Records on the wrong side of the boundary pull alike, which uses all of what the noise
            protects: more right predictions for the same ε. "auto": "capped" for two classes, "logistic" for more.
            Decisions of "logistic" are log-odds. Those of "capped" are close to log-odds where both classes are common.
            The probabilities of a rare class come out too low, so give "logistic" where they matter.

    Attributes:
        coef_: shape (1, d), in the units of the features as they were given, for rows within the bounds. For K > 2
            classes, shape (K, d), and the rows add up to 0.
        intercept_: shape (1,) or (K,); with bounds and without an intercept, it makes the decision 0 in their middle.
        feature_bounds_: `lower` and `upper` of the features, shape (d,) each; None where none were given.
        norm_bound_: the norm bound. Predictions clip rows to both bounds, as training does.
        classes_: the classes; two that were not given are those of rows with a unit: then public, and that there are
            two. `fit` reads them before the charge.
        lambda_: the regulariser that was trained with.
        loss_: the loss: "capped", "logistic" or "huber".
        spread_, factors_: the distribution of the noise on the coefficients, for `coefficient_intervals`.
        guarantee_: the guarantee for the release of all these attributes.

    Source: Chaudhuri, Monteleoni & Sarwate 2011; Chaudhuri & Vinterbo 2013; Kifer, Smith & Thakurta 2012.
    Proofs: docs/proofs/models/objective_perturbation.md, docs/proofs/models/output_perturbation.md,
    docs/proofs/models/gaussian_perturbation.md, docs/proofs/models/multinomial_perturbation.md,
    docs/proofs/models/class_weights.md.

    See Also:
        PrivateHuberSVC: the same with a smoothed hinge loss.
        AccuracyFirstLogistic: for a target error instead of a budget.

    Example:
        >>> import numpy as np
        >>> from dpmine import PrivateLogisticRegression
        >>> ages = np.arange(20, 80).reshape(-1, 1)
        >>> model = PrivateLogisticRegression(feature_bounds=(18, 98), epsilon=1).fit(ages, ages[:, 0] > 50)
        >>> model.coef_.shape
        (1, 1)
        >>> print(model.guarantee_)
        ε = 1, δ = 0 per row, neighbours replace-one
        >>> three = PrivateLogisticRegression(feature_bounds=(18, 98), classes=[0, 1, 2]).fit(ages, ages[:, 0] // 30)
        >>> three.predict_proba(ages).shape
        (60, 3)
    """

    kind = "logistic"
    _several: ClassVar[bool] = True
    loss: str = AUTO

    def _loss(self) -> Loss:
        name, classes = str(self.loss), 2 if self.classes is None else len(self.classes)
        if name not in _LOGISTIC_LOSSES:
            raise BadParameter(f"loss must be one of: {', '.join(_LOGISTIC_LOSSES)}.")
        if classes <= 2:
            return LogisticLoss() if name == LogisticLoss.name else CappedLogisticLoss()
        if name == CappedLogisticLoss.name:
            raise BadParameter("loss='capped' is for two classes: leave it out, or give loss='logistic'.")
        return MultinomialLoss(classes)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = isinstance(self.classes, Sized) and len(self.classes) > 2
        return tags


@explained_by(PrivateLogisticRegression.__doc__)
@dataclass(eq=False, repr=False, kw_only=True)
class PrivateHuberSVC(_PrivateLinearClassifier):
    """A linear support vector classifier with the Huber hinge loss, private for every row under replace_one.

    Args:
        huber: half-width h ≥ 0.001 of the rounded corner: the loss bends over margins from 1 − h to 1 + h. A
            narrow corner is closer to the hinge loss and, with objective perturbation, needs more regularisation.

    Attributes:
        loss_: the loss, "huber".

    There are no probabilities.

    See Also:
        PrivateLogisticRegression: with probabilities.

    Example:
        >>> import numpy as np
        >>> from dpmine import PrivateHuberSVC
        >>> ages = np.arange(20, 80).reshape(-1, 1)
        >>> model = PrivateHuberSVC(feature_bounds=(18, 98), epsilon=1).fit(ages, ages[:, 0] > 50)
        >>> model.predict(ages).shape
        (60,)
    """

    kind = "huber"
    huber: Number = 0.5

    def _loss(self) -> Loss:
        return HuberLoss(positive("huber", self.huber))


Classifier: TypeAlias = PrivateLogisticRegression | PrivateHuberSVC

CLASSIFIERS: dict[str, type[Classifier]] = {kind.kind: kind for kind in (PrivateLogisticRegression, PrivateHuberSVC)}


def load_classifier(text: str) -> Classifier:
    """The classifier of a model file, whatever its loss. Raises BadData for any other text."""
    return _FORMAT.load(text, CLASSIFIERS)
