"""Private hyperparameter search in scikit-learn's style."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from dpmine.errors import BadData, BadParameter, DpmineError
from dpmine.exact.bits import BitSource, SystemBits
from dpmine.models.contribution import Bounding, require_any
from dpmine.models.entries import Entries, Labels, known_features
from dpmine.models.private_estimator import PlannedFit, PrivateEstimator
from dpmine.models.search.declared import Declared, Delegating
from dpmine.models.search.runs import RunBudget, Stopping, StoppingName, run_bounds, run_budget, run_rho, stopping_of
from dpmine.models.search.trial import Candidates, Score, require_terms, scorer_of
from dpmine.models.supervised import PrivateClassifier, checked_column, checked_labels, classes_note, require_column
from dpmine.models.validation.procedure import random_split, train_size_of
from dpmine.models.validation.terms import require_replace_one
from dpmine.parameters import Number, below_one, positive, probability
from dpmine.privacy import ROW, Guarantee, Neighbors
from dpmine.silence import no_warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpmine.ledger.charging import Charge


Result = TypeVar("Result")

_NOTE = "the best of a random number of private runs, which is not released"
_OWNED = (
    *("epsilon", "delta", "rho", "ledger", "dataset", "unit", "rows_per_unit", "neighbors", "not_private"),
    "classes",  # which are the same in all runs
)
_DECLARED = ("estimator", "parameter", "delta_parameter")
"""Parameters that a guarantee rests on."""


class Scored(NamedTuple):
    """One run: a candidate, its model, and its noisy score in whole numbers."""

    score: int
    unit: Fraction
    candidate: Mapping[str, object]
    model: BaseEstimator


class SearchSettings(NamedTuple):
    """What a search needs to know, apart from data."""

    candidates: Candidates
    stopping: Stopping
    run: RunBudget
    score: Callable[[BaseEstimator | None, Entries, Labels], Score]
    validation_share: Fraction
    total: Guarantee

    def guarantee(self) -> Guarantee:
        """That of the whole search."""
        return self.total


def best_of(
    stopping: Stopping, attempt: Callable[[], Result], key: Callable[[Result], Any], *, bits: BitSource
) -> Result:
    """The best of K independent attempts, the first of equal ones; the others are forgotten.

    Output distribution: let Q be that of an attempt, its key included, and f the generating function of K. The result
    is y with probability Q(y) E f'(x), for x uniform between Q(worse than y) and Q(not better than y).
    Proof: docs/proofs/models/search.md.
    """
    best = attempt()
    for _ in range(stopping.draw(bits=bits) - 1):
        result = attempt()
        if key(result) > key(best):
            best = result
    return best


@dataclass(eq=False, repr=False)
class PrivateSearchCV(Delegating, PrivateEstimator[SearchSettings]):
    """Hyperparameter search around any private estimator: the best of a random number of private runs.

    A run draws a candidate, trains it on a public random part of the rows and scores it, with noise, on the others.
    Only the model, the parameters and the noisy score of the best run are released. The number of runs and the other
    scores are not. The number of candidates does not matter for privacy: only the mean number of `runs` does.
    There is no cross-validation, and no last training on all rows (`refit`), which would need a budget of its own.
    Classes that are not named are those of all rows with a unit, for every run; `fit` reads them before the charge.
    A run that finds nothing, or whose `Declared` estimator fails, is a run without a result: it scores 0 and may still
    be the best one, by its noise. Then `best_estimator_` has nothing to predict with.

    Args:
        estimator: an estimator of dpmine, or a `Declared` one. Its budget is set by the search.
        param_grid: parameters and lists of values to try, or a list of such mappings, as of GridSearchCV.
            Values may also be distributions with `rvs`, as of `RandomizedSearchCV`.
        epsilon: ε > 0 of the whole search, read exactly.
        delta: δ in [0, 1) of the whole search; none is spent where no candidate needs one. 0 needs runs without a δ:
            where an estimator's noise is "auto", it is "gamma" then.
        stopping: distribution of the number of runs K ≥ 1: "negative_binomial" or "poisson".
        runs: its mean, greater than 1. More runs find better candidates, and leave each run less of ε.
        shape: η of negative_binomial: 0 for the logarithmic distribution, 1 for the geometric one. Smaller values
            leave more of ε to each run, and vary the number of runs more.
        scoring: "accuracy", "brier" (two classes with probabilities) or "roc_auc" (two classes). "auto" is "accuracy",
            for classifiers. A function (model, X, y) may give each row a number in [0, 1]. It must depend on that row
            and the model only, and is first tried on rows of zeros. A row that it fails for counts as 0.
        validation_share: share of the rows, by a public random split, that score; the others train.
        budget: the parameter of a dpmine estimator that is set to the ε of a run, such as "epsilon_max".
        neighbors: "replace_one"; the numbers of rows enter the scores, so add_remove is rejected.
        unit: name of the privacy unit, such as "CustomerID". Without `fit(..., units=...)` it asserts that no customer
            has two rows: nothing checks this, and the guarantee says so. With units, each keeps one row.
        ledger: a `dpmine.Ledger` or its URL, charged before the first run, for all of them.
        dataset: the data set's name in the ledger.

    Attributes:
        best_estimator_: the model of the best run, trained on 1 − `validation_share` of the rows.
        best_params_: its candidate.
        best_score_: its noisy score, which is biased upwards: it is the largest of several. With "roc_auc" it is
            AUC times the shares of both classes, which are the same for all models. A run without a result scores 0.
        run_guarantee_: what a run may spend, by public numbers.
        guarantee_: the guarantee for the release of all these attributes.
        classes_, n_features_in_, feature_names_in_: those of `best_estimator_`.

    How long a fit takes depends on the number of runs, which is not covered by the guarantee.

    Source: Liu & Talwar 2019; Papernot & Steinke 2022. Proof: docs/proofs/models/search.md.

    See Also:
        Declared: for estimators of other libraries.
        PrivateLogisticRegression: chooses among several `lambdas` by itself.

    Example:
        >>> import numpy as np
        >>> from dpmine import PrivateLogisticRegression, PrivateSearchCV
        >>> ages = np.arange(20, 80, 0.01).reshape(-1, 1)
        >>> classifier = PrivateLogisticRegression(feature_bounds=(18, 98), classes=[False, True])
        >>> search = PrivateSearchCV(classifier, {"lambdas": [0.0001, 0.01, 1]}, epsilon=1)
        >>> print(search.fit(ages, ages[:, 0] > 50).guarantee_)
        ε = 1, δ = 0 per row, neighbours replace-one
        >>> sorted(search.best_params_)
        ['lambdas']
    """

    estimator: BaseEstimator
    param_grid: object
    _: KW_ONLY
    epsilon: Number = 1
    delta: Number = 1e-6
    stopping: str = StoppingName.NEGATIVE_BINOMIAL.value
    runs: Number = 30
    shape: Number = 0
    scoring: object = "auto"
    validation_share: Number = 0.25
    budget: str = "epsilon"
    neighbors: str = Neighbors.REPLACE_ONE.value
    rows_per_unit: int = field(init=False, default=1)
    """Estimators of other libraries know no units, so each keeps one row."""

    def _settings(self, rows: int, features: Sequence[str] | None = None) -> SearchSettings:  # noqa: ARG002
        require_replace_one(self.neighbors)
        stopping = stopping_of(self.stopping, self.runs, self.shape)
        candidates, score = Candidates.of(self.param_grid), scorer_of(self.scoring, self._require_estimator())
        run, guarantee = self._budgeted(stopping, candidates, features)
        share = probability("validation_share", self.validation_share)
        return SearchSettings(candidates, stopping, run, score, share, guarantee)

    def _budgeted(
        self, stopping: Stopping, candidates: Candidates, features: Sequence[str] | None
    ) -> tuple[RunBudget, Guarantee]:
        """What a run may spend, in the form that leaves each training the most, and the guarantee of the search.

        A form that suits some candidates only is taken where all of them were looked at: another one would be rejected
        after the charge.
        """
        epsilon, delta = positive("epsilon", self.epsilon), below_one("delta", self.delta)
        if concentrated := isinstance(self.estimator, Declared) and self.estimator.rho is not None:
            run = run_rho(stopping, epsilon, probability("delta", self.delta))
        else:
            run = run_budget(stopping, epsilon, delta)
        models = [self._candidate(one, run, features) for one in candidates.checked(bits=SystemBits())]
        guaranteed = [_guarantee_of(model, features) for model in models]
        if delta and not concentrated and candidates.complete:
            closer = run_bounds(stopping, epsilon, delta)
            if closer is not None and all(_prefers(model, closer, features) for model in models):
                run = closer
            elif not any(one.delta for one in guaranteed):
                run, delta = run_budget(stopping, epsilon, Fraction(0)), Fraction(0)
        guarantee = Guarantee(epsilon, delta, Neighbors.REPLACE_ONE, ROW)
        for assertion in dict.fromkeys(one.assertion for one in guaranteed):
            guarantee = guarantee if assertion in guarantee.assertion else guarantee.asserting(ROW, assertion)
        return run, guarantee

    def _require_estimator(self) -> BaseEstimator:
        """The estimator. Raises BadParameter for one without a guarantee, or with a ledger or a unit of its own."""
        if isinstance(self.estimator, type) or not all(
            hasattr(self.estimator, needed) for needed in ("guarantee", "fit", "predict", "get_params")
        ):
            raise BadParameter("estimator must be one of dpmine, or one of another library within dpmine.Declared.")
        given = self.estimator.get_params(deep=False)
        if given.get("ledger") is not None or given.get("unit", ROW) != ROW:
            raise BadParameter("Give ledger, dataset and unit to the search, not to its estimator.")
        return self.estimator

    @property
    def _budget_names(self) -> set[str]:
        """Of parameters, also of estimators within the estimator."""
        declared = [getattr(self.estimator, name, None) or "" for name in ("parameter", "delta_parameter")]
        return {"epsilon", "delta", "rho", "not_private", self.budget, *(name.rpartition("__")[2] for name in declared)}

    def _candidate(
        self, candidate: Mapping[str, object], run: RunBudget, features: Sequence[str] | None
    ) -> BaseEstimator:
        """The estimator with these parameters and the budget of a run.

        Raises BadParameter for unusable parameters, and where it would spend more than a run may.
        """
        if not isinstance(self.budget, str):
            raise BadParameter("budget must be the name of a parameter of the estimator, such as 'epsilon'.")
        owned = sorted(
            {self.budget, *_OWNED, *_DECLARED} & set(candidate)
            | {name for name in candidate if name.rpartition("__")[2] in self._budget_names}
        )
        if owned:
            raise BadParameter(f"param_grid may not hold {', '.join(owned)}: the guarantee of a run rests on it.")
        try:
            model = clone(self.estimator).set_params(**candidate)
            model.set_params(**_budget_of(model, self.budget, run))
            if run.bounds is not None:
                model.keep_to(run.bounds)
        except (ValueError, TypeError) as error:
            if isinstance(error, DpmineError):
                raise
            raise BadParameter("param_grid or budget names a parameter that the estimator does not have.") from None
        run.require_within(_guarantee_of(model, features))
        return model

    def _require_data(self, X: Entries, y: Entries) -> None:
        require_column(self, y, _indexed(X)[1])
        if callable(self.scoring):
            require_terms(self.scoring, X, self.estimator)
        if isinstance(self.estimator, PrivateEstimator):
            self.estimator._require_data(X, y)  # noqa: SLF001 - of its own base class

    def _require_public(self, X: Entries, y: Entries, units: Entries) -> None:
        if isinstance(self.estimator, PrivateEstimator):
            self.estimator._require_public(X, y, units)  # noqa: SLF001 - of its own base class

    def _require_places(self, settings: SearchSettings, units: int, each: int, features: Sequence[str]) -> None:  # noqa: ARG002 - one row a unit
        train = train_size_of(units, 1 - settings.validation_share) if units > 1 else units
        for one in settings.candidates.checked(bits=SystemBits()):
            model = self._candidate(one, settings.run, features)
            if isinstance(model, PrivateEstimator):
                model.require_rows(train, features)

    def _learn(self, X: Entries, y: Entries, settings: SearchSettings, bounding: Bounding, *, bits: BitSource) -> None:
        inputs, rows = _indexed(X)
        labels, features = checked_column(self, y, rows, bounding.known), known_features(X)
        classes = self._found_classes(labels)
        places = require_any(bounding.places(rows, bits=bits))
        parts = random_split(places.units, train_size_of(places.units, 1 - settings.validation_share), bits=bits)
        train, held_out = (places.rows(units) for units in parts)
        train_inputs, held_inputs = _safe_indexing(inputs, train), _safe_indexing(inputs, held_out)

        def run() -> Scored:
            candidate = settings.candidates.draw(bits=bits)
            untrained = self._candidate(candidate, settings.run, features).set_params(**classes)
            model = _trained(untrained, train_inputs, labels[train], settings.run)
            score = settings.score(model if _has_result(model) else None, held_inputs, labels[held_out])
            return Scored(score.noisy(settings.run, bits=bits), score.unit, candidate, model)

        with no_warnings:  # those of runs that are not released would disclose something
            best = best_of(settings.stopping, run, lambda scored: scored.score, bits=bits)
        self.best_estimator_ = best.model
        self.best_params_ = dict(best.candidate)
        self.best_score_ = float(best.score * best.unit)
        self.run_guarantee_ = settings.run.guarantee(settings.total)
        notes = list(best.model.guarantee_.notes) if _is_trained(best.model) else []
        if classes:
            named = classes_note(*classes.values())
            notes = [*(note for note in notes if note != named), classes_note(None)]
        self.guarantee_ = settings.total.noting(_NOTE, *notes)
        if hasattr(best.model, "spread_"):
            best.model.spread_ = None  # the noise of a model that was chosen by its score has another distribution
        self._share_guarantee()

    @property
    def labels_are_public(self) -> bool:
        """See `PrivateEstimator.labels_are_public`."""
        _, learner = self._of_classes()
        return isinstance(learner, PrivateClassifier) and learner.labels_are_public

    def _of_classes(self) -> tuple[str, object]:
        """The parameter for the classes, and the estimator that has it, if any has."""
        parameter, learner = "classes", self.estimator
        while isinstance(learner, Delegating):
            parameter, learner = f"estimator__{parameter}", learner.estimator
        return parameter, learner

    def _found_classes(self, labels: Labels) -> dict[str, Labels]:
        """The parameter that hands every run the classes of all rows with a unit: those that train would vary.

        Nothing where they are named, or the estimator learns no classes.
        """
        parameter, learner = self._of_classes()
        return {parameter: checked_labels(learner, labels, len(labels))[0]} if self.labels_are_public else {}

    def _share_guarantee(self) -> None:
        """The best model is released with the guarantee of the search: that of its run alone would be too small."""
        if _is_trained(self.best_estimator_):
            self.best_estimator_.guarantee_ = self.guarantee_

    @property
    def has_result(self) -> bool:
        """See `PrivateEstimator.has_result`."""
        return _has_result(self.best_estimator_)

    def _train(
        self,
        X: Entries,
        y: Entries,
        bounding: Bounding,
        charge: Charge,
        planned: PlannedFit[SearchSettings],
        *,
        bits: BitSource,
    ) -> Self:
        super()._train(X, y, bounding, charge, planned, bits=bits)
        self._share_guarantee()
        return self

    def _learnt(self) -> BaseEstimator:
        return getattr(self, "best_estimator_", self.estimator)


def _guarantee_of(model: BaseEstimator, features: Sequence[str] | None) -> Guarantee:
    """The most that a fit will guarantee: what is declared, or what the parameters come to."""
    guarantee: Guarantee = model.guarantee(features=features)
    return guarantee


def _prefers(model: BaseEstimator, run: RunBudget, features: Sequence[str] | None) -> bool:
    return isinstance(model, PrivateEstimator) and run.bounds is not None and model.prefers(run.bounds, features)


def _budget_of(model: BaseEstimator, name: str, run: RunBudget) -> dict[str, Fraction | str]:
    """The parameters that give a run its budget."""
    if not isinstance(model, Declared):
        parameters = model.get_params(deep=False)
        shared = {"delta": run.delta} if run.delta and "delta" in parameters else {}
        pure = {"noise": "gamma"} if not run.delta and parameters.get("noise") == "auto" else {}  # which may take δ
        return {name: run.epsilon, **shared, **pure}
    budget: dict[str, Fraction | str] = {}
    if model.parameter is not None:
        budget.update({"epsilon": run.epsilon} if run.rho is None else {"rho": run.rho})
    if model.delta_parameter is not None and run.rho is None:
        budget["delta"] = run.delta
    return budget


def _trained(model: BaseEstimator, X: Entries, y: Entries, run: RunBudget) -> BaseEstimator:
    """The model, trained; untrained where a fit of another library fails: to fail here would disclose it.

    Fits of dpmine fail by public numbers alone. Raises what those raise, and as `RunBudget.require_within`.
    """
    try:
        model.fit(X, y)
    except Exception:
        if isinstance(model, PrivateEstimator):
            raise
        return clone(model)  # without what a fit that failed left in it
    run.require_within(model.guarantee_)
    return model


def _is_trained(model: BaseEstimator) -> bool:
    return hasattr(model, "guarantee_")


def _has_result(model: BaseEstimator) -> bool:
    """Whether a run has something to predict with: those that found nothing must not fail, which would disclose it."""
    return _is_trained(model) and getattr(model, "has_result", True)


def _indexed(X: Entries) -> tuple[Any, int]:
    """X in a form whose rows can be taken, and their number. Raises BadData for what has none."""
    try:
        table = indexable(X)[0]
        rows = int(_num_samples(table))
    except (TypeError, ValueError):
        raise BadData("X must be a table or an array: one row an example, one column a feature.") from None
    if rows < 2:
        raise BadData(f"Found array with {rows} sample(s) while a minimum of 2 is required: to train and to score.")
    return table, rows
