"""Jobs that learn a model from a table: classify, accuracy-first and hypothesis."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import is_regressor

from dpmine.errors import BadData, BadParameter
from dpmine.itemsets.results import printable
from dpmine.models.accuracy_first.estimators import ESTIMATORS
from dpmine.models.frames import fit_table, unit_name
from dpmine.models.linear.estimators import CLASSIFIERS
from dpmine.models.pac.selector import HypothesisSelector
from dpmine.models.summaries import ChosenHypothesis, LinearModel
from dpmine.models.tables import require_columns
from dpmine.parameters import listed, one_or_each, whole_numbers
from dpmine.reporting.job import OF_UNIT, Job, Payer, Released

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.privacy import Guarantee


class ModelJob(Job):
    """What they share: an estimator of features and a label."""

    __slots__ = ()
    label: ClassVar[str] = "label"
    """The option that names the column to be predicted."""

    def promise(self) -> Guarantee:
        """See `Job.promise`."""
        estimator, features, label = self.estimator(), self._features(), self.text(self.label)
        self.require_parameters(estimator, features)
        numbers, labels = ([*features, label], []) if is_regressor(estimator) else (features, [label])
        require_columns(list(self.paths), numbers, labels=labels, keys=self.units(), asserted=self.asserted)
        promise: Guarantee = estimator.promise(unit_name(self.units()))
        return promise

    def run(self, payer: Payer, *, progress: Callable[[float], None]) -> Released:
        """See `Job.run`."""
        estimator = self.estimator(ledger=payer.ledger, dataset=payer.dataset)
        label, features, units = self.text(self.label), self._features(), self.units()
        fit_table(estimator, list(self.paths), label=label, features=features, units=units, progress=progress)
        table = self.summary(estimator).to_arrow()
        model = _model_file(estimator)
        return Released(json.loads(model), estimator.guarantee_, {"": table}, model)

    @abstractmethod
    def estimator(self, **account: Any) -> Any:
        """The estimator, with the options of the job."""

    def require_parameters(self, estimator: Any, features: list[str]) -> None:  # noqa: ARG002 - some classes look
        """Raises BadParameter for parameters that are not usable."""
        estimator.require_parameters()

    def summary(self, estimator: Any) -> Any:
        """What is written as a table."""
        return LinearModel(estimator)

    def _features(self) -> list[str]:
        features = listed(self.required("features"))
        if not features or not all(isinstance(name, str) for name in features):
            raise BadParameter("features must be names of columns, such as ['age', 'hours'].")
        if len(set(features)) < len(features) or self.options.get(self.label) in features:
            raise BadParameter(f"features must be different columns, and {self.label} none of them.")
        return features


def _model_file(estimator: Any) -> str:
    """The model as JSON; labels that JSON and pages cannot hold are spelled out, so that no paid result is lost."""
    try:
        return str(estimator.to_json())
    except BadData:
        estimator.classes_ = np.array([printable(repr(label)) for label in estimator.classes_.tolist()])
        return str(estimator.to_json())


class ClassifyJob(ModelJob):
    """A linear classifier."""

    __slots__ = ()
    kind: ClassVar[str] = "classify"
    _as_given: ClassVar[tuple[str, ...]] = (
        "method",
        "huber",
        "classes",
        "validation_share",
        "selection_share",
        "mechanism",
        "epsilon",
        "delta",
        "neighbors",
    )
    known: ClassVar[frozenset[str]] = frozenset(
        {*_as_given, *OF_UNIT, "label", "features", "lower", "upper", "norm_bound", "lambdas", "loss", "intercept"}
    )

    def estimator(self, **account: Any) -> Any:
        """See `ModelJob.estimator`."""
        name = self.options.get("loss", "logistic")
        kind = CLASSIFIERS.get(name) if isinstance(name, str) else None
        if kind is None:
            raise BadParameter(f"loss must be {' or '.join(map(repr, CLASSIFIERS))}.")
        if "huber" in self.options and self.options.get("loss") != "huber":
            raise BadParameter("huber needs loss = 'huber': logistic regression has no rounded corner.")
        given = self.given(*self._as_given) | self.protected()
        if "lambdas" in self.options:
            given["lambdas"] = one_or_each(self.options["lambdas"])
        if "intercept" in self.options:
            given["fit_intercept"] = self.options["intercept"]
        return kind(**self._scale(), **given, **account)

    def _scale(self) -> dict[str, Any]:
        """The public bounds: those of the features, the norm bound, or both."""
        scale, bounds = self.given("norm_bound"), self.given("lower", "upper")
        if not scale and not bounds:
            raise BadParameter("lower and upper are missing, the public bounds of the features (or norm_bound).")
        if bounds:
            scale["feature_bounds"] = tuple(one_or_each(self.required(name)) for name in ("lower", "upper"))
        return scale

    def require_parameters(self, estimator: Any, features: list[str]) -> None:
        """See `ModelJob.require_parameters`."""
        estimator.require_parameters(features)


class AccuracyFirstJob(ModelJob):
    """The least privacy loss that reaches a target."""

    __slots__ = ()
    kind: ClassVar[str] = "accuracy-first"
    label: ClassVar[str] = "target"
    _as_given: ClassVar[tuple[str, ...]] = (
        "excess_risk",
        "regularization",
        "epsilon_max",
        "x_bound",
        "y_bound",
        "failure_probability",
        "method",
        "delta",
        "steps",
        "slack",
        "keep_last",
        "classes",
        "neighbors",
    )
    known: ClassVar[frozenset[str]] = frozenset({*_as_given, *OF_UNIT, "target", "features", "model_kind", "intercept"})

    def estimator(self, **account: Any) -> Any:
        """See `ModelJob.estimator`."""
        name = self.options.get("model_kind", "ridge")
        kind = ESTIMATORS.get(name) if isinstance(name, str) else None
        if kind is None:
            raise BadParameter(f"model_kind must be {' or '.join(map(repr, ESTIMATORS))}.")
        for needed in ("excess_risk", "regularization", "x_bound", *(["y_bound"] if name == "ridge" else [])):
            self.required(needed)
        if "classes" in self.options and name == "ridge":
            raise BadParameter("classes are for model_kind = 'logistic': ridge regression predicts a number.")
        if "y_bound" in self.options and name != "ridge":
            raise BadParameter("y_bound is for model_kind = 'ridge': classes have no bound.")
        if "delta" in self.options and self.options.get("method") != "brownian":
            raise BadParameter("delta is for method = 'brownian': other methods spend none.")
        given: dict[str, Any] = self.given(*self._as_given) | self.protected()
        if "intercept" in self.options:
            given["fit_intercept"] = self.options["intercept"]
        return kind(**given, **account)


class HypothesisJob(ModelJob):
    """A rule out of a class of rules."""

    __slots__ = ()
    kind: ClassVar[str] = "hypothesis"
    _as_given: ClassVar[tuple[str, ...]] = (
        "width",
        "resolution",
        "classes",
        "mechanism",
        "epsilon",
        "delta",
        "neighbors",
    )
    known: ClassVar[frozenset[str]] = frozenset(
        {*_as_given, *OF_UNIT, "label", "class", "features", "lower", "upper", "grid"}
    )

    def estimator(self, **account: Any) -> HypothesisSelector:
        """See `ModelJob.estimator`."""
        return HypothesisSelector(
            hypotheses=self.options.get("class", "stumps"),
            lower=one_or_each(self.options.get("lower")),
            upper=one_or_each(self.options.get("upper")),
            grid=one_or_each(whole_numbers("grid", self.options.get("grid"))),
            **self.given(*self._as_given),
            **self.protected(),
            **account,
        )

    def require_parameters(self, estimator: Any, features: list[str]) -> None:
        """See `ModelJob.require_parameters`."""
        if not isinstance(estimator.hypotheses, str):
            raise BadParameter("class must be the name of a class of rules, such as 'stumps'.")
        estimator.require_parameters(features)

    def summary(self, estimator: Any) -> Any:
        """See `ModelJob.summary`."""
        return ChosenHypothesis(estimator)
