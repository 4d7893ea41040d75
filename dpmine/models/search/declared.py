"""Estimators of other libraries with a guarantee that is asserted, and what delegates to a fitted estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dpmine.errors import BadParameter
from dpmine.parameters import Number, below_one, positive, probability
from dpmine.privacy import ROW, Guarantee, Neighbors, Zcdp, float_below
from dpmine.zcdp import epsilon_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpmine.models.entries import Entries

Method = TypeVar("Method", bound="Callable[..., Any]")


def _if_learnt_has(name: str) -> Callable[[Method], Method]:
    """A method that is there where what learnt has it, or before a fit, what will learn."""
    decorator: Callable[[Method], Method] = available_if(lambda self: hasattr(self._learnt(), name))
    return decorator


class Delegating(MetaEstimatorMixin):  # type: ignore[misc]
    """Predicts as the estimator that it holds."""

    estimator: BaseEstimator

    def _learnt(self) -> BaseEstimator:
        """The fitted estimator, or the one to fit."""
        raise NotImplementedError

    @property
    def classes_(self) -> Any:
        """The classes of the fitted classifier."""
        return self._fitted().classes_

    @property
    def n_features_in_(self) -> int:
        """The number of features at the fit."""
        return int(self._fitted().n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """The names of the features at the fit, where there were some."""
        return self._fitted().feature_names_in_

    @_if_learnt_has("predict")
    def predict(self, X: Entries) -> Any:
        """What the fitted estimator predicts.

        Args:
            X: rows, as the estimator reads them.
        """
        return self._fitted().predict(X)

    @_if_learnt_has("predict_proba")
    def predict_proba(self, X: Entries) -> Any:
        """The probabilities of the classes by the fitted estimator.

        Args:
            X: rows, as the estimator reads them.
        """
        return self._fitted().predict_proba(X)

    @_if_learnt_has("predict_log_proba")
    def predict_log_proba(self, X: Entries) -> Any:
        """The logarithms of the probabilities that `predict_proba` gives.

        Args:
            X: rows, as the estimator reads them.
        """
        return self._fitted().predict_log_proba(X)

    @_if_learnt_has("decision_function")
    def decision_function(self, X: Entries) -> Any:
        """The decisions of the fitted estimator.

        Args:
            X: rows, as the estimator reads them.
        """
        return self._fitted().decision_function(X)

    @_if_learnt_has("score")
    def score(self, X: Entries, y: Entries) -> float:
        """The fitted estimator's own score, exact: nothing protects the rows that it is computed from.

        Args:
            X: rows, as the estimator reads them.
            y: the true answer of each row.
        """
        return float(self._fitted().score(X, y))

    def _fitted(self) -> BaseEstimator:
        check_is_fitted(self)
        return self._learnt()

    def __sklearn_tags__(self) -> Tags:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags, tags.input_tags, tags.non_deterministic = inner.target_tags, inner.input_tags, True
        return tags


@dataclass(eq=False, repr=False)
class Declared(Delegating, BaseEstimator):  # type: ignore[misc]
    """An estimator of another library whose fit is private, as the caller asserts: for `PrivateSearchCV`.

    Nothing checks the assertion. Guarantees that rest on it name it. It covers whether a fit fails: a search takes a
    fit that fails for a run without a result.

    Args:
        estimator: any estimator in scikit-learn's style. Its fit must be private for each row under replace_one, its
            number of rows being public. A fit that is ε-private under add-remove is 2ε-private under replace_one.
        epsilon: ε > 0 of a fit; None where `rho` says it.
        delta: δ in [0, 1) of a fit. With `rho`: the δ > 0 at which ε is quoted.
        rho: ρ > 0 of a fit under zero-concentrated privacy, in the place of `epsilon`.
        parameter: the parameter of `estimator` that is set to ε (or ρ) for each fit, as a float that is not above it.
            Examples: "epsilon", "clf__epsilon". None: the estimator has the noise that the declared guarantee needs,
            and a search does not change it.
        delta_parameter: the parameter that is set to δ; None where a fit has none, or a fixed one.

    Attributes:
        estimator_: the fitted estimator.
        guarantee_: the declared guarantee, with what is asserted.

    Example:
        >>> import numpy as np
        >>> from sklearn.dummy import DummyClassifier
        >>> from dpmine import Declared
        >>> coin = Declared(DummyClassifier(strategy="constant", constant=1), epsilon="0.1")
        >>> print(coin.fit(np.ones((4, 1)), [0, 1, 0, 1]).guarantee_)
        ε = 0.1, δ = 0 per row (asserted: the guarantee of DummyClassifier), neighbours replace-one
    """

    estimator: BaseEstimator
    epsilon: Number | None = None
    delta: Number = 0
    rho: Number | None = None
    parameter: str | None = None
    delta_parameter: str | None = None
    guarantee_: Guarantee = field(init=False)
    estimator_: BaseEstimator = field(init=False)

    def guarantee(self, units: str | None = None, features: Sequence[str] | None = None) -> Guarantee:  # noqa: ARG002
        """What is declared.

        Args:
            units: ignored; dpmine's own estimators have it.
            features: ignored; dpmine's own estimators have it.

        Raises BadParameter for unusable numbers, and unless one of epsilon and rho is given.
        """
        if (self.epsilon is None) is (self.rho is None):
            raise BadParameter("Declared needs epsilon, or rho with a delta: one of them.")
        if self.rho is not None:
            rho, delta = positive("rho", self.rho), probability("delta", self.delta)
            declared = Guarantee(epsilon_at(rho, delta), delta, Neighbors.REPLACE_ONE, ROW, concentrated=Zcdp(rho))
            return declared.asserting(ROW, self.assertion)
        epsilon, delta = positive("epsilon", self.epsilon or 0), below_one("delta", self.delta)
        return Guarantee(epsilon, delta, Neighbors.REPLACE_ONE, ROW).asserting(ROW, self.assertion)

    @property
    def assertion(self) -> str:
        """What nothing checks."""
        return f"the guarantee of {type(self.estimator).__name__}"

    def fit(self, X: Entries, y: Entries = None) -> Self:
        """Fit a clone of the estimator. Raises as `guarantee`, and as the estimator.

        Args:
            X: rows, as the estimator reads them.
            y: an answer for each row; None where the estimator needs none.
        """
        guarantee = self.guarantee()
        model = clone(self.estimator)
        declared_loss = guarantee.epsilon if self.rho is None else guarantee.zcdp.rho
        for name, value in ((self.parameter, declared_loss), (self.delta_parameter, guarantee.delta)):
            if name is not None:
                model.set_params(**{name: float_below(value)})
        self.estimator_ = model.fit(X, y)
        self.guarantee_ = guarantee
        return self

    def _learnt(self) -> BaseEstimator:
        return getattr(self, "estimator_", self.estimator)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "guarantee_")
