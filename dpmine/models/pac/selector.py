"""Choose a hypothesis from a class privately, in scikit-learn's style; the choice as a JSON object, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpmine.errors import BadData, BadParameter
from dpmine.markup import json_text
from dpmine.models.entries import Entries, unnamed_features
from dpmine.models.model_file import (
    Document,
    are_classes,
    document_of,
    fitted_attributes,
    fitted_entries,
    list_of,
    natural,
    reading,
    require_classes,
    text_of,
    truth_of,
)
from dpmine.models.pac.classifier import (
    DEFAULT_GRID,
    GRIDDED,
    NAMES,
    HypothesisClassifier,
    PublicFeatures,
    class_of,
    presumed_features,
)
from dpmine.models.pac.listed import Listed
from dpmine.models.pac.thresholds import CutSide
from dpmine.models.supervised import known_classes
from dpmine.models.tables import whole_features
from dpmine.options.explained import OF_ESTIMATORS, explained_by
from dpmine.options.names import AUTO, plain_name
from dpmine.parameters import Number, exact_number, positive, probability
from dpmine.privacy import ROW, Guarantee, Neighbors
from dpmine.selection.advice import advice
from dpmine.selection.recommend import MECHANISMS, build_mechanism, unknown
from dpmine.selection.select import choose

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource
    from dpmine.models.contribution import Bounding
    from dpmine.models.pac.hypothesis import AnyClass, Hypothesis
    from dpmine.selection.mechanisms.mechanism import Mechanism


_FORMAT = "dpmine hypothesis"
_EXACT_PARAMETERS = ("lower", "upper")
_COUNT_PARAMETERS = ("grid", "width", "resolution")
_MOST_COLUMNS = 10**6  # each gets a name: a file must not ask for endless memory
_CLASS_NOTE = "which rules could be chosen (the hypothesis class) is public"

DEFAULT_MECHANISM = "max_of_exponentials"
"""Never worse than the exponential mechanism, and it needs no lead.

On a fine grid the neighbours of the best rule are nearly as good. So mechanisms that look for a margin seldom find one
(docs/proofs/models/hypothesis_classes.md).
"""


@dataclass(frozen=True, slots=True)
class PrivateChoice:
    """What a fit needs to know, apart from data: whatever the rows per unit, scores are divided by a sensitivity."""

    mechanism: Mechanism

    def guarantee(self) -> Guarantee:
        """What the choice will guarantee, before its notes."""
        return self.mechanism.guarantee().for_unit(ROW)


@explained_by(OF_ESTIMATORS)
@dataclass(eq=False, repr=False)
class HypothesisSelector(HypothesisClassifier[PrivateChoice]):
    """The hypothesis of a class that classifies the most records correctly, chosen with differential privacy.

    The score is the number of records classified correctly. So the output distribution is exactly the published one,
    even for classes of 2^64 hypotheses. Each row is one privacy unit, unless `fit` is given units.

    Args:
        hypotheses: one of

            - "thresholds" (x >= t) or "intervals" (a <= x < b)
            - "stumps": a threshold on one of several features, either side
            - "conjunctions": all of some 0/1 features
            - "separators": w·x >= 0, whole weights
            - a `HypothesisClass`, or a list of predictors that were trained on PUBLIC data (as a
              `dpmine.models.pac.listed.Listed` where the selector is to be cloned)
        delta: δ in (0, 1), used by approximate mechanisms only.
        mechanism: as in `dpmine.select`; "auto" is `DEFAULT_MECHANISM` (permute-and-flip).
        neighbors: "replace_one" (the number of units is public) or "add_remove".
        lower: public lower bound of the features, one for all or one a feature; smaller values count as it.
        upper: public upper bound; larger values count as it.
        grid: number of points of each feature's grid, 1 to 2^64, one for all or one a feature; None: 1,001.
        width: the most features of a conjunction; None: 3.
        resolution: the largest whole weight of a separator; None: 8, or less where there are many features.
        classes: the two labels, public, the one that rules describe last; None: those that occur, sorted,
            of rows with a unit: then public, and that there are two. `fit` reads them before the charge.
        not_private: opts in to the mechanism "exact".

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

    hypotheses: str | AnyClass | Sequence[object] = "stumps"
    epsilon: Number = 1
    delta: Number = 1e-6
    mechanism: str = AUTO
    neighbors: str = Neighbors.REPLACE_ONE.value
    lower: Number | Sequence[Number] | None = None
    upper: Number | Sequence[Number] | None = None
    grid: int | Sequence[int] | None = None
    width: int | None = None
    resolution: int | None = None
    classes: Sequence[object] | None = None
    not_private: bool = False

    def _learn(self, X: Entries, y: Entries, settings: PrivateChoice, bounding: Bounding, *, bits: BitSource) -> None:
        records, mechanism = self._records(X, y, bounding, bits=bits), settings.mechanism
        self.whole_ = whole_features(X)
        hypotheses = self.class_for(self.names_)
        _require_columns(hypotheses, self.names_)
        sensitivity = Fraction(bounding.rows)
        self.candidate_ = choose(mechanism, hypotheses.universe(records), sensitivity=sensitivity, bits=bits)
        self._set_hypothesis(hypotheses)
        self.mechanism_ = mechanism.name
        self.advice_ = advice(mechanism, hypotheses.size, sensitivity) if self.candidate_ is None else ""
        self.guarantee_ = settings.guarantee().noting(_CLASS_NOTE, *self._data_notes())

    def _settings(self, rows: int, features: Sequence[str] | None = None) -> PrivateChoice:  # noqa: ARG002
        if features is None and isinstance(self.hypotheses, str):
            features = presumed_features(self.hypotheses, self.lower, self.upper, self.grid, width=self.width)
        names = features or ()
        hypotheses = self.class_for(names)
        settings = PrivateChoice(self._mechanism())
        if names:
            _require_columns(hypotheses, names)
            if isinstance(hypotheses, Listed) and self.classes is not None:  # else their answers may be unknown classes
                hypotheses.require_answers(len(names))
        return settings

    def class_for(self, names: Sequence[str]) -> AnyClass:
        """The class of hypotheses about features of those names. Raises BadParameter for unusable parameters."""
        wanted = self.hypotheses
        integer_features = tuple(getattr(self, "whole_", ()))
        public_features = PublicFeatures(
            tuple(names), self.lower, self.upper, self.grid, self.width, self.resolution, integer_features
        )
        if isinstance(wanted, str):
            return class_of(wanted, public_features)
        public_features.require_unused("These hypotheses")
        if isinstance(wanted, Sequence):
            classes = getattr(self, "classes_", None) if self.classes is None else known_classes(self.classes)
            return Listed(wanted, classes=None if classes is None else tuple(classes.tolist()))
        if not hasattr(wanted, "universe"):
            raise BadParameter("hypotheses must be the name of a class, a HypothesisClass, or a list of predictors.")
        return wanted

    def to_json(self) -> str:
        """The choice, and what it takes to predict with it, as one JSON object, all covered by `guarantee_`.

        Raises BadData for classes of y that JSON cannot hold, and for hypotheses that are not of a class with a name.
        Raises it also for more columns than a model file is read with.
        """
        check_is_fitted(self)
        if not isinstance(self.hypotheses, str):
            raise BadData("Only hypotheses of a class with a name can be written to a model file.")
        if len(self.names_) > _MOST_COLUMNS:
            raise BadData(f"A model file has at most {_MOST_COLUMNS} columns: choose among fewer features.")
        (rule, parameters), hypotheses = _described(self.hypothesis_), self.class_for(self.names_)
        fitted = fitted_entries(self)
        # as it was given, or the default of classes that have grids: a file does not rest on defaults
        grid = DEFAULT_GRID if self.grid is None and self.hypotheses in GRIDDED else self.grid
        document = {
            "format": _FORMAT,
            "hypothesis": rule,
            "parameters": parameters,
            "class": {
                "name": self.hypotheses,
                "features": fitted.pop("features"),
                "columns": len(self.names_),
                **{name: _entrywise(getattr(self, name), _exact_text) for name in _EXACT_PARAMETERS},
                "grid": _entrywise(grid, int),
                **{name: getattr(hypotheses, name, None) for name in ("width", "resolution")},
                "whole": list(self.whole_),
            },
            "candidate": self.candidate_,
            "classes": require_classes(self.classes_.tolist()),
            "requested": {name: write(getattr(self, name)) for name, (write, _) in _PARAMETERS_OF_CHOICE.items()},
            "mechanism": self.mechanism_,
            **fitted,
        }
        return json_text(document)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A fitted selector out of what `to_json` gave. Raises BadData for any other text."""
        with reading("hypothesis"):
            document = document_of(text, _FORMAT)
            selector = cls(**_parameters(document))
            for name, value in _fitted(document).items():
                setattr(selector, name, value)
            selector._set_hypothesis(selector.class_for(selector.names_))
            if _described(selector.hypothesis_) != (document["hypothesis"], document["parameters"]):
                raise ValueError
        return selector

    def _set_hypothesis(self, hypotheses: AnyClass) -> None:
        self.hypothesis_ = None if self.candidate_ is None else hypotheses.hypothesis(self.candidate_)

    @property
    def least_rows(self) -> int:
        """See `PrivateEstimator.least_rows`. Under add_remove the first unit must not show; with classes, none does."""
        return 0 if self.classes is not None and Neighbors.parse(self.neighbors) is Neighbors.ADD_REMOVE else 1

    def _mechanism(self) -> Mechanism:
        wanted = plain_name(self.mechanism)
        usable = [AUTO, *(name for name, kind in MECHANISMS.items() if not kind.needs_bounded_units)]
        if wanted not in usable:
            raise unknown(wanted, usable)
        return build_mechanism(
            DEFAULT_MECHANISM if wanted == AUTO else wanted,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbors=self.neighbors,
            not_private=self.not_private,
        )


def _require_columns(hypotheses: AnyClass, names: Sequence[str]) -> None:
    if hypotheses.columns not in {None, len(names)}:
        raise BadParameter(f"These hypotheses are about {hypotheses.columns} features, one per column.")


def _described(hypothesis: Hypothesis | None) -> tuple[str | None, dict[str, Any] | None]:
    return (None, None) if hypothesis is None else (str(hypothesis), hypothesis.parameters())


def _parameters(document: Document) -> dict[str, Any]:
    """The selector's parameters, as they were given. Raises as `reading` expects."""
    class_entries, choice_entries = document["class"], document["requested"]
    if class_entries["name"] not in NAMES:
        raise ValueError
    return {
        "hypotheses": class_entries["name"],
        **{name: _entrywise(class_entries[name], _fraction) for name in _EXACT_PARAMETERS},
        **{name: _entrywise(class_entries[name], natural) for name in _COUNT_PARAMETERS},
        **{name: read(choice_entries[name]) for name, (_, read) in _PARAMETERS_OF_CHOICE.items()},
    }


def _fitted(document: Document) -> dict[str, object]:
    """The selector's fitted attributes, by name, but for the hypothesis, which the candidate stands for."""
    class_entries, columns = document["class"], natural(document["class"]["columns"])
    if not are_classes(document["classes"]) or not 0 < columns <= _MOST_COLUMNS:
        raise ValueError
    fitted = fitted_attributes({**document, "features": class_entries["features"]}, columns)
    names = unnamed_features(columns) if class_entries["features"] is None else class_entries["features"]
    integer_features = tuple(map(text_of, list_of(class_entries["whole"])))
    if not set(integer_features) <= set(names):
        raise ValueError
    return fitted | {
        "names_": names,
        "whole_": integer_features,
        "classes_": np.array(document["classes"]),
        "candidate_": _candidate(document["candidate"]),
        "mechanism_": text_of(document["mechanism"]),
        "advice_": "",
    }


def _entrywise(value: Any, convert: Callable[[Any], Any]) -> Any:
    """One value, a list of one a feature, or None: each read or written by `convert`."""
    if value is None:
        return None
    if isinstance(value, list | tuple | np.ndarray):
        return [convert(entry) for entry in value]
    return convert(value)


def _exact_text(value: Number) -> str:
    return str(exact_number("bound", value))


def _fraction(entry: object) -> Fraction:
    return exact_number("bound", text_of(entry))


def _candidate(entry: object) -> Any:
    """A whole number, or a tuple of whole numbers and sides; the class checks whether it is one of its own."""
    if isinstance(entry, list):
        return tuple(CutSide(part) if isinstance(part, str) else natural(part) for part in entry)
    return None if entry is None else natural(entry)


_PARAMETERS_OF_CHOICE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "epsilon": (_exact_text, lambda entry: positive("epsilon", text_of(entry))),
    "delta": (_exact_text, lambda entry: probability("delta", text_of(entry))),
    "mechanism": (str, text_of),
    "neighbors": (lambda value: str(Neighbors.parse(value)), lambda entry: str(Neighbors.parse(text_of(entry)))),
    "not_private": (bool, truth_of),
}
"""How the parameters of the choice are written to a model file, and read."""
