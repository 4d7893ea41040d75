"""The three private learners of infinite classes, in scikit-learn's style."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from dpmine.errors import BadParameter
from dpmine.models.pac.classifier import HypothesisClassifier, PublicFeatures, presumed_features
from dpmine.models.pac.theory.families import Family, IntervalFamily, StumpFamily, ThresholdFamily
from dpmine.models.pac.theory.learners import LABEL_UNIT, Learner, learn, plan_cover, require_columns, too_fine
from dpmine.models.pac.theory.sample_complexity import Target
from dpmine.models.pac.theory.separator_family import SeparatorFamily
from dpmine.options.explained import OF_ESTIMATORS, explained_by
from dpmine.parameters import Number, below_one, named
from dpmine.privacy import ROW, Guarantee, Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.models.contribution import Bounding, PrivacyUnit
    from dpmine.models.entries import Entries


class LearningSettings(NamedTuple):
    """What a fit needs to know, apart from data."""

    target: Target
    learner: Learner

    def guarantee(self) -> Guarantee:
        """What learning will guarantee, before its notes."""
        unit = LABEL_UNIT if self.learner is Learner.LABEL_PRIVATE else ROW
        return Guarantee(self.target.epsilon, Fraction(0), Neighbors.REPLACE_ONE, unit)


@explained_by(OF_ESTIMATORS)
@dataclass(eq=False, repr=False)
class PrivateLearner(HypothesisClassifier[LearningSettings]):
    """A hypothesis out of an infinite class that is guaranteed to be nearly as good as the best, on records to come.

    The class is covered as finely as the number of rows allows, and one hypothesis of the cover is drawn by the
    exponential mechanism. Too few rows are rejected, with the number that it takes.

    Args:
        hypotheses: "thresholds", "intervals" (one feature), "stumps", "separators" (2 to 6 features), or a `Family`.
        accuracy: a in (0, 1): the error beyond the best hypothesis's that is allowed.
        failure: probability in (0, 1) that this error bound fails.
        lower: public lower bound of the features, one for all or one a feature; smaller values count as it.
        upper: public upper bound. The reference distribution is uniform between the bounds. For separators it is on a
            sphere, and a feature is measured in units of its larger bound. Label privacy needs bounds for separators
            only.
        learner: "private". "realizable" mostly takes fewer rows, where some hypothesis never errs. "label_private"
            needs no reference, but PROTECTS LABELS ONLY.
        best_error: a bound on the error of the best hypothesis, to bound the error on records to come
            ("label_private").
        classes: the two labels, public, the one that rules describe last; None: those that occur, sorted,
            of rows with a unit: then public, and that there are two. `fit` reads them before the charge.
        neighbors: "replace_one"; the number of rows is public, so add_remove is rejected.

    Attributes:
        hypothesis_, classes_, guarantee_: as in `HypothesisSelector`. Label privacy is called so there.
        error_bound_: the bound on the error of the hypothesis and its conditions, in numbers and words
            (`dpmine.models.pac.theory.learners.ErrorBound`).

    Example:
        >>> import numpy as np
        >>> x = np.linspace(0, 1, 20_000).reshape(-1, 1)
        >>> learner = PrivateLearner("thresholds", lower=0, upper=1, accuracy=0.1).fit(x, x[:, 0] >= 0.371)
        >>> print(learner.error_bound_.accuracy, learner.guarantee_)
        1/10 ε = 1, δ = 0 per row, neighbours replace-one

    See Also:
        HypothesisSelector: chooses the hypothesis that fits the given records best; any number of records.
        plan_learning: the number of records that each learner needs, without data.

    Source: Chaudhuri & Hsu 2011, figures 1, 2 and 3. Proofs: docs/proofs/models/private_learners.md.
    """

    hypotheses: str | Family = "thresholds"
    epsilon: Number = 1
    accuracy: Number = 0.1
    failure: Number = 0.05
    lower: Number | Sequence[Number] | None = None
    upper: Number | Sequence[Number] | None = None
    learner: str = Learner.PRIVATE.value
    best_error: Number | None = None
    classes: Sequence[object] | None = None
    neighbors: str = Neighbors.REPLACE_ONE.value
    rows_per_unit: int = field(init=False, default=1)
    """The error bound is for independent records, so no unit may have several."""

    def _settings(self, rows: int, features: Sequence[str] | None = None) -> LearningSettings:  # noqa: ARG002
        learner = self._checked_learner()
        if Neighbors.parse(self.neighbors) is not Neighbors.REPLACE_ONE:
            raise BadParameter("Private learners need the relation replace_one: the number of records is public.")
        target = Target.of(epsilon=self.epsilon, accuracy=self.accuracy, failure=self.failure)
        if learner is Learner.LABEL_PRIVATE and self.unit != ROW:
            raise BadParameter("unit is for learners that protect whole rows: leave it out with label_private.")
        if self.best_error is not None:
            below_one("best_error", self.best_error)
        names = presumed_features(self.hypotheses, self.lower, self.upper) if features is None else features
        family = self._family(names)
        if features is not None:
            require_columns(family, len(features))
        reason = None if learner is Learner.LABEL_PRIVATE else too_fine(family, target, learner.setting)
        if reason:
            raise BadParameter(reason)
        return LearningSettings(target, learner)

    def privacy_unit(self, units: str | None) -> PrivacyUnit:
        """The unit by the column `units`; see `PrivateEstimator.privacy_unit`."""
        if units is not None and self._checked_learner() is Learner.LABEL_PRIVATE:
            raise BadParameter("units are for learners that protect whole rows: leave them out with label_private.")
        return super().privacy_unit(units)

    def _require_places(self, settings: LearningSettings, units: int, each: int, features: Sequence[str]) -> None:  # noqa: ARG002 - one row a unit
        if settings.learner is not Learner.LABEL_PRIVATE:
            plan_cover(units, self._family(features), settings.target, settings.learner.setting)

    def _learn(
        self, X: Entries, y: Entries, settings: LearningSettings, bounding: Bounding, *, bits: BitSource
    ) -> None:
        records = self._records(X, y, bounding, bits=bits)
        family, target = self._family(self.names_), settings.target
        learned = learn(records, family, target, settings.learner, best_error=self.best_error, bits=bits)
        self.hypothesis_, self.error_bound_ = learned.hypothesis, learned.error_bound
        self.guarantee_ = learned.guarantee.noting(*self._data_notes())

    def _checked_learner(self) -> Learner:
        learner = named(Learner, "learner", self.learner)
        if self.best_error is not None and learner is not Learner.LABEL_PRIVATE:
            raise BadParameter("best_error is for learner='label_private': leave it out.")
        return learner

    def _family(self, names: Sequence[str]) -> Family:
        if isinstance(self.hypotheses, str):
            return _family_of(self.hypotheses, PublicFeatures(tuple(names), self.lower, self.upper))
        if not hasattr(self.hypotheses, "sample_cover"):
            raise BadParameter("hypotheses must be the name of a class, or a Family.")
        return self.hypotheses


def _family_of(name: str, public: PublicFeatures) -> Family:
    """The infinite class of that name, its reference uniform between the bounds. Raises BadParameter."""
    make = _FAMILIES.get(name)
    if make is None:
        raise BadParameter(f"hypotheses must be one of: {', '.join(_FAMILIES)}, or a Family.")
    return make(public)


def _family_of_one(kind: type[ThresholdFamily | IntervalFamily], public: PublicFeatures) -> Family:
    grid, feature = public.grid_of_one(kind.name)
    return kind(grid.lower, grid.upper, feature)


def _stump_family(public: PublicFeatures) -> Family:
    grids = public.grids()
    return StumpFamily.of([grid.lower for grid in grids], [grid.upper for grid in grids], features=public.features)


_FAMILIES: dict[str, Callable[[PublicFeatures], Family]] = {
    "thresholds": partial(_family_of_one, ThresholdFamily),
    "intervals": partial(_family_of_one, IntervalFamily),
    "stumps": _stump_family,
    "separators": lambda public: SeparatorFamily.of(
        len(public.features), bound=public.largest, features=public.features
    ),
}
