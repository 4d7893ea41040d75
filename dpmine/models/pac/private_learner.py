"""The three private learners of infinite classes, in scikit-learn's style."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dpmine.errors import BadParameter
from dpmine.ledger.charging import ROW
from dpmine.models.contribution import EVERY_ROW
from dpmine.models.pac.classifier import HypothesisClassifier
from dpmine.models.pac.features import Scope, family_of
from dpmine.models.pac.learners import LABEL_UNIT, learn, learn_labels, learn_realizable, require_columns, too_fine
from dpmine.models.pac.sample_complexity import Setting, Target
from dpmine.parameters import below_one, named
from dpmine.privacy import Guarantee, Neighbors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.ledger.ledger import Ledger
    from dpmine.models.contribution import Bounding, PrivacyUnit
    from dpmine.models.pac.covers.family import Family
    from dpmine.models.pac.learners import Learned
    from dpmine.models.pac.records import Records
    from dpmine.parameters import Number


class Learner(StrEnum):
    """Which of the three."""

    PRIVATE = "private"
    """Rows are protected; the data must be smooth to the reference distribution."""
    REALIZABLE = "realizable"
    """The same, mostly with fewer rows, where some hypothesis of the class never errs."""
    LABEL_PRIVATE = "label_private"
    """Labels are protected. THIS IS NOT FULL PRIVACY: the result may reveal the features of a row."""


class PrivateLearner(HypothesisClassifier):
    """A hypothesis out of an infinite class that is promised to be nearly as good as the best, on records to come.

    The class is covered as finely as the number of rows can pay for, and one of the cover is drawn by the exponential
    mechanism. Too few rows are refused, with the number that it takes.

    Args:
        hypotheses: "thresholds", "intervals" (one feature), "stumps", "separators" (2 to 6 features), or a `Family`.
        epsilon: ε > 0, read exactly.
        accuracy: a in (0, 1): the error beyond the best hypothesis's that is allowed.
        failure: probability in (0, 1) that the promise fails.
        lower: public lower bound of the features, one for all or one a feature; smaller values count as it.
        upper: public upper bound. The reference distribution is uniform between the bounds; for separators it is on a
            sphere, and a feature is measured in units of its larger bound. Label privacy needs no bounds but for those.
        learner: "private"; "realizable", which mostly takes fewer rows, where some hypothesis never errs; or
            "label_private", which needs no reference, but PROTECTS LABELS ONLY.
        best_error: a bound on the error of the best hypothesis, for a promise about records to come ("label_private").
        classes: the two labels, public, the one that rules describe last; None: those that occur, sorted.
        neighbors: "replace_one"; the number of rows is public, so add_remove is refused.
        unit: name of the privacy unit, such as "CustomerID". Without `fit(..., units=...)` it asserts that no customer
            has two rows: nothing checks this, and the guarantee says so.
        ledger: a `dpmine.Ledger` or its URL, charged before the fit.
        dataset: the data set's name in the ledger.

    Attributes:
        hypothesis_, classes_, guarantee_: as in `HypothesisSelector`. Label privacy is called so there.
        promise_: `dpmine.models.pac.learners.Promise`: what is promised, under which conditions, in numbers and words.

    Source: Chaudhuri & Hsu 2011, figures 1, 2 and 3. Proofs: docs/proofs/models/private_learners.md.
    """

    def __init__(  # noqa: PLR0917 - scikit-learn's convention
        self,
        hypotheses: str | Family = "thresholds",
        epsilon: Number = 1,
        accuracy: Number = 0.1,
        failure: Number = 0.05,
        lower: Number | Sequence[Number] | None = None,
        upper: Number | Sequence[Number] | None = None,
        learner: str = Learner.PRIVATE.value,
        best_error: Number | None = None,
        classes: Sequence[Any] | None = None,
        neighbors: str = Neighbors.REPLACE_ONE.value,
        unit: str = ROW,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.hypotheses = hypotheses
        self.epsilon = epsilon
        self.accuracy = accuracy
        self.failure = failure
        self.lower = lower
        self.upper = upper
        self.learner = learner
        self.best_error = best_error
        self.classes = classes
        self.neighbors = neighbors
        self.unit = unit
        self.ledger = ledger
        self.dataset = dataset

    rows_per_unit = 1
    """The error bound is for independent records, so no unit may have several."""

    def _promise(self, rows: int) -> Guarantee:  # noqa: ARG002 - one
        learner = self._checked_learner()
        if Neighbors.parse(self.neighbors) is not Neighbors.REPLACE_ONE:
            raise BadParameter("Private learners need neighbors replace_one: the number of records is public.")
        target = Target.of(epsilon=self.epsilon, accuracy=self.accuracy, failure=self.failure)
        labels_only = learner is Learner.LABEL_PRIVATE
        if labels_only and self.unit != ROW:
            raise BadParameter("unit is for learners that protect whole rows: leave it out with label_private.")
        unit = LABEL_UNIT if labels_only else ROW
        return Guarantee(target.epsilon, Fraction(0), Neighbors.REPLACE_ONE, unit)

    def _require_usable(self, features: Sequence[str] | None) -> None:
        super()._require_usable(features)
        learner = self._checked_learner()
        if self.best_error is not None:
            below_one("best_error", self.best_error)
        names = Scope.presumed(self.hypotheses, lower=self.lower, upper=self.upper) if features is None else features
        family = self._family(names)
        if features is not None:
            require_columns(family, len(features))
        target = Target.of(epsilon=self.epsilon, accuracy=self.accuracy, failure=self.failure)
        setting = Setting.REALIZABLE if learner is Learner.REALIZABLE else Setting.AGNOSTIC
        refusal = None if learner is Learner.LABEL_PRIVATE else too_fine(family, target, setting)
        if refusal:
            raise BadParameter(refusal)

    def privacy_unit(self, units: str | None) -> PrivacyUnit:
        """See `ChargedEstimator.privacy_unit`."""
        if units is not None and self._checked_learner() is Learner.LABEL_PRIVATE:
            raise BadParameter("units are for learners that protect whole rows: leave them out with label_private.")
        return super().privacy_unit(units)

    def _fit(self, X: Any, y: Any, *, bounding: Bounding = EVERY_ROW, bits: BitSource) -> Self:
        found = self._learned(self._checked_learner(), self._records(X, y, bounding, bits=bits), bits=bits)
        self.hypothesis_, self.promise_ = found.hypothesis, found.promise
        self.guarantee_ = found.guarantee.noting(*self._data_notes())
        return self

    def _checked_learner(self) -> Learner:
        learner = named(Learner, "learner", self.learner)
        if self.best_error is not None and learner is not Learner.LABEL_PRIVATE:
            raise BadParameter("best_error is for learner='label_private': leave it out.")
        return learner

    def _learned(self, learner: Learner, records: Records, *, bits: BitSource) -> Learned:
        terms: dict[str, Any] = {
            "epsilon": self.epsilon,
            "accuracy": self.accuracy,
            "failure": self.failure,
            "neighbors": self.neighbors,
        }
        family = self._family(self.names_)
        if learner is Learner.LABEL_PRIVATE:
            return learn_labels(records, family, best_error=self.best_error, bits=bits, **terms)
        return (learn_realizable if learner is Learner.REALIZABLE else learn)(records, family, bits=bits, **terms)

    def _family(self, names: Sequence[str]) -> Family:
        if not isinstance(self.hypotheses, str):
            if not hasattr(self.hypotheses, "sample_cover"):
                raise BadParameter("hypotheses must be the name of a class, or a Family.")
            return self.hypotheses
        return family_of(self.hypotheses, Scope(tuple(names), self.lower, self.upper))
