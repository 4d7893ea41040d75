"""Choose a hypothesis from a class privately, in scikit-learn's style."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from sklearn.utils.validation import check_is_fitted

from dpmine.errors import BadParameter
from dpmine.ledger.charging import ROW
from dpmine.models.contribution import EVERY_ROW
from dpmine.models.frames import whole_features
from dpmine.models.model_file import reading
from dpmine.models.pac.classes.listed import Listed
from dpmine.models.pac.classifier import HypothesisClassifier
from dpmine.models.pac.features import PublicFeatures, class_of, presumed_features
from dpmine.models.pac.model_file import described, read_model, write_model
from dpmine.privacy import Neighbors
from dpmine.selection.mechanisms.bounded_growth import BoundedGrowth
from dpmine.selection.select import AUTO, advice, build_mechanism, choose, guarantee_of, plain_name

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.ledger.ledger import Ledger
    from dpmine.models.contribution import Bounding
    from dpmine.models.pac.hypothesis import HypothesisClass
    from dpmine.parameters import Number
    from dpmine.privacy import Guarantee
    from dpmine.selection.mechanisms.base import Mechanism

_NOTE = "the hypothesis class is public"

DEFAULT_MECHANISM = "max_of_exponentials"
"""Never worse than the exponential mechanism, and it needs no lead: on a fine grid the neighbours of the best rule are
nearly as good, so mechanisms that look for a margin seldom find one (docs/proofs/models/hypothesis_classes.md)."""


class HypothesisSelector(HypothesisClassifier):
    """The hypothesis of a class that classifies the most records correctly, chosen with differential privacy.

    The score is the number of records classified correctly, so classes of 2^64 hypotheses are chosen from with exactly
    the published law. Each row is one privacy unit, unless `fit` is given units.

    Args:
        hypotheses: "thresholds" (x >= t), "intervals" (a <= x < b), "stumps" (a threshold on one of several features,
            either side), "conjunctions" (all of some 0/1 features), "separators" (w·x >= 0, whole weights); a
            `HypothesisClass`; or a list of predictors that were trained on PUBLIC data (as a
            `dpmine.models.pac.classes.listed.Listed` where the selector is to be cloned).
        epsilon: ε > 0, read exactly.
        delta: δ in (0, 1), used by approximate mechanisms only.
        mechanism: as in `dpmine.select`; "auto" is `DEFAULT_MECHANISM` (permute-and-flip).
        neighbors: "replace_one" (the number of units is public) or "add_remove".
        lower: public lower bound of the features, one for all or one a feature; smaller values count as it.
        upper: public upper bound; larger values count as it.
        grid: number of points of each feature's grid, 1 to 2^64, one for all or one a feature; None: 1,001.
        width: the most features of a conjunction; None: 3.
        resolution: the largest whole weight of a separator; None: 8, or less where there are many features.
        classes: the two labels, public, the one that rules describe last; None: those that occur, sorted.
        not_private: opts in to the mechanism "exact".
        unit: name of the privacy unit, such as "CustomerID". Without `fit(..., units=...)` it asserts that no customer
            has two rows: nothing checks this, and the guarantee says so.
        rows_per_unit: the most rows that each unit of `fit(..., units=...)` keeps; the guarantee covers them together.
        ledger: a `dpmine.Ledger` or its URL, charged before the fit.
        dataset: the data set's name in the ledger.

    Attributes:
        hypothesis_: the chosen one, readable with `str`; None when an approximate mechanism returned none.
        names_: names of the features: of the columns, or x0, x1, …
        whole_: the features of integer type in a table; rules cut them at whole numbers.
        classes_: the two classes; the rule of a hypothesis describes the second.
        candidate_: the hypothesis as its class numbers it; None when the mechanism returned none.
        mechanism_: the mechanism that chose.
        guarantee_: of the release of these attributes.
        advice_: when the mechanism returned none, what would have been needed; else "".

    Example:
        >>> import numpy as np
        >>> age = np.arange(5000).reshape(-1, 1) % 90
        >>> selector = HypothesisSelector("thresholds", lower=0, upper=120, grid=121).fit(age, age[:, 0] >= 41)
        >>> print(selector.guarantee_)
        ε = 1, δ = 0 per row, neighbours replace-one

    See Also:
        PrivateLearner: bounds the error on records to come, given enough records.
        PrivateLogisticRegression: a linear classifier with real weights, trained privately.

    Source: Chaudhuri, Hsu & Song 2014, section 4.2. Proof: docs/proofs/models/hypothesis_classes.md.
    """

    def __init__(  # noqa: PLR0917 - scikit-learn's convention
        self,
        hypotheses: str | HypothesisClass[Any] | Sequence[Any] = "stumps",
        epsilon: Number = 1,
        delta: Number = 1e-6,
        mechanism: str = AUTO,
        neighbors: str = Neighbors.REPLACE_ONE.value,
        lower: Number | Sequence[Number] | None = None,
        upper: Number | Sequence[Number] | None = None,
        grid: int | Sequence[int] | None = None,
        width: int | None = None,
        resolution: int | None = None,
        classes: Sequence[Any] | None = None,
        not_private: bool = False,  # noqa: FBT001, FBT002 - scikit-learn's convention
        unit: str = ROW,
        rows_per_unit: int = 1,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.hypotheses = hypotheses
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.neighbors = neighbors
        self.lower = lower
        self.upper = upper
        self.grid = grid
        self.width = width
        self.resolution = resolution
        self.classes = classes
        self.not_private = not_private
        self.unit = unit
        self.rows_per_unit = rows_per_unit
        self.ledger = ledger
        self.dataset = dataset

    def _fit(self, X: Any, y: Any, *, bounding: Bounding = EVERY_ROW, bits: BitSource) -> Self:
        records = self._records(X, y, bounding, bits=bits)
        self.whole_ = whole_features(X)
        hypotheses = self.class_for(self.names_)
        mechanism = self._mechanism(hypotheses.size)
        _require_columns(hypotheses, self.names_)
        step = Fraction(bounding.rows)
        self.candidate_ = choose(mechanism, hypotheses.universe(records), sensitivity=step, bits=bits)
        self._settle(hypotheses)
        self.mechanism_ = mechanism.name
        self.advice_ = advice(mechanism, hypotheses.size, step) if self.candidate_ is None else ""
        self.guarantee_ = guarantee_of(mechanism).for_unit(ROW).noting(_NOTE, *self._data_notes())
        return self

    def _require_usable(self, features: Sequence[str] | None) -> None:
        super()._require_usable(features)
        if features is None and isinstance(self.hypotheses, str):
            features = presumed_features(self.hypotheses, self.lower, self.upper, self.grid, width=self.width)
        self.require_parameters(features or ())

    def _promise(self, rows: int) -> Guarantee:  # noqa: ARG002 - scores are divided by their sensitivity
        return guarantee_of(self._mechanism(1)).for_unit(ROW)

    def class_for(self, names: Sequence[str]) -> HypothesisClass[Any]:
        """The class of hypotheses about features of those names. Raises BadParameter for unusable parameters."""
        wanted = self.hypotheses
        known = tuple(getattr(self, "whole_", ()))
        public = PublicFeatures(tuple(names), self.lower, self.upper, self.grid, self.width, self.resolution, known)
        if isinstance(wanted, str):
            return class_of(wanted, public)
        public.require_unused("These hypotheses")
        if isinstance(wanted, Sequence):
            classes = getattr(self, "classes_", None)
            return Listed(wanted, classes=None if classes is None else tuple(classes.tolist()))
        if not hasattr(wanted, "universe"):
            raise BadParameter("hypotheses must be the name of a class, a HypothesisClass, or a list of predictors.")
        return wanted

    def require_parameters(self, names: Sequence[str]) -> None:
        """Raises BadParameter for unusable parameters, before any data are read; `names` are those of the features."""
        hypotheses = self.class_for(names)
        self._mechanism(hypotheses.size)
        if names:
            _require_columns(hypotheses, names)

    def to_json(self) -> str:
        """The choice as one JSON object: everything in it is covered by `guarantee_`."""
        check_is_fitted(self)
        return write_model(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A fitted selector out of what `to_json` gave. Raises BadData for any other text."""
        with reading("hypothesis"):
            parameters, fitted, hypothesis = read_model(text)
            selector = cls(**parameters)
            for name, value in fitted.items():
                setattr(selector, name, value)
            selector._settle(selector.class_for(selector.names_))
            if described(selector.hypothesis_) != hypothesis:
                raise ValueError
        return selector

    def _settle(self, hypotheses: HypothesisClass[Any]) -> None:
        """The hypothesis that the candidate stands for."""
        self.hypothesis_ = None if self.candidate_ is None else hypotheses.hypothesis(self.candidate_)

    def _mechanism(self, size: int) -> Mechanism:
        wanted = plain_name(self.mechanism)
        if wanted == BoundedGrowth.name:
            raise BadParameter("bounded_growth is for itemsets, where a unit supports few candidates: take another.")
        return build_mechanism(
            DEFAULT_MECHANISM if wanted == AUTO else wanted,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbors=self.neighbors,
            candidates=size,
            not_private=self.not_private,
        )


def _require_columns(hypotheses: HypothesisClass[Any], names: Sequence[str]) -> None:
    if hypotheses.columns not in {None, len(names)}:
        raise BadParameter(f"These hypotheses are about {hypotheses.columns} features, one a column.")
