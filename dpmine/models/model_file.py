"""What was learnt, as files, texts and tables. Model files are untrusted input: JSON whose every entry is checked."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np

from dpmine.errors import BadData
from dpmine.markup import json_text
from dpmine.parameters import exact_number, positive, probability
from dpmine.privacy import ExPostGuarantee, Guarantee, Neighbors, Zcdp
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray
    from sklearn.base import BaseEstimator

    from dpmine.models.entries import Labels


Document: TypeAlias = "dict[str, Any]"
"""A JSON object that was read: each entry is checked by its reader."""


@dataclass(frozen=True, slots=True)
class ModelFormat:
    """A format of model files, shared by some kinds of estimators.

    Attributes:
        name: the entry "format" of its files.
        command: the command that writes them.
        kind: the entry that distinguishes the estimators.
        another: what is said of a file of another kind than the estimator's, which is named.
        unknown: what is said of a file of no known kind.
    """

    name: str
    command: str
    kind: str
    another: str = "The model is of another kind than {}."
    unknown: str = "The model file holds a kind of model that this version does not know."

    def load(self, text: str, kinds: Mapping[str, type[Model]]) -> Model:
        """The estimator of a model file, whatever its kind. Raises BadData for any other text."""
        with reading(self.command):
            estimator = kinds.get(str(document_of(text, self.name)[self.kind]))
        if estimator is None:
            raise BadData(self.unknown)
        return estimator.from_json(text)


class SavedEstimator:
    """An estimator that a model file can hold, beside the one base class of estimators."""

    model_format: ClassVar[ModelFormat]
    kind: str
    """The model by its name, which distinguishes model files of one format."""

    def to_json(self) -> str:
        """The fitted model as one JSON object: everything in it is covered by `guarantee_`."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        document = {"format": self.model_format.name, self.model_format.kind: self.kind, **self._entries()}
        return json_text(document, indent=2)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A fitted estimator out of what `to_json` gave. Raises BadData for any other text."""
        with reading(cls.model_format.command):
            document = document_of(text, cls.model_format.name)
            if document[cls.model_format.kind] != cls.kind:
                raise BadData(cls.model_format.another.format(cls.kind))
            attributes = cls._attributes(document)
        estimator = cls()
        for name, value in {**attributes, "_read_from_file": True}.items():
            setattr(estimator, name, value)
        return estimator

    @abstractmethod
    def _entries(self) -> dict[str, object]:
        """All that predicts, and the guarantee. Raises BadData for classes that JSON cannot hold."""

    @classmethod
    @abstractmethod
    def _attributes(cls, document: Document) -> dict[str, object]:
        """The fitted attributes by name; an error, see `reading`, unless `_entries` could have been the document."""


Json = TypeVar("Json")
Model = TypeVar("Model", bound=SavedEstimator)


@contextmanager
def reading(command: str) -> Iterator[None]:
    """BadData, which names the command that writes such files, for whatever is wrong with one."""
    try:
        yield
    except BadData:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError):
        raise BadData(f"This is not a model file of dpmine {command}: train one with `model=FILE.json`.") from None


def document_of(text: str, kind: str) -> Document:
    """The JSON object, whose "format" must be `kind`."""
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("format") != kind:
        raise ValueError
    return document


def finite(value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return float(value)


def natural(value: object) -> int:
    """A whole number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError
    return value


def text_of(value: object) -> str:
    """A text that can be printed."""
    text = _typed(str, value)
    text.encode()
    return text


def _typed(kind: type[Json], value: object) -> Json:
    if not isinstance(value, kind):
        raise TypeError
    return value


truth_of = partial(_typed, bool)
list_of = partial(_typed, list)


def read_guarantee(entry: Document) -> Guarantee:
    """What `Guarantee.to_dict` wrote."""
    delta = text_of(entry["delta_exact"])
    terms = {
        "epsilon": positive("epsilon", text_of(entry["epsilon_exact"])),
        "delta": Fraction(0) if delta == "0" else probability("delta", delta),
    }
    entries: dict[str, Any] = {
        **terms,
        "neighbors": Neighbors(text_of(entry["neighbors"])),
        "unit": text_of(entry["unit"]),
        "private": truth_of(entry["private"]),
        "notes": tuple(text_of(note) for note in list_of(entry["notes"])),
        "assertion": text_of(entry.get("asserted", "")),
        "concentrated": _read_zcdp(entry, Zcdp.implied(**terms)),
    }
    if "ex_post_epsilon_exact" not in entry:
        return Guarantee(**entries)
    charged = positive("ex_post_epsilon", text_of(entry["ex_post_epsilon_exact"]))
    if charged > entries["epsilon"]:
        raise ValueError
    return ExPostGuarantee(**entries, ex_post_epsilon=charged)


def _read_zcdp(entry: Document, implied: Zcdp) -> Zcdp | None:
    """None where no ρ is guaranteed, and for no more than what (ε, δ) implies."""
    if entry["rho_exact"] is None and entry["private"] is False:
        return None
    stated = Zcdp(*(exact_number(name, text_of(entry[f"{name}_exact"])) for name in ("rho", "approximate_delta")))
    if min(stated.rho, stated.delta) < 0:
        raise ValueError
    return None if stated == implied else stated


def are_classes(labels: object, *, several: bool = False) -> bool:
    """Two different texts, numbers or truth values of one type, that numpy keeps as they are; or more if `several`."""
    if not isinstance(labels, list) or len(labels) < 2 or (len(labels) > 2 and not several):
        return False
    if type(labels[0]) not in {str, int, float, bool} or any(type(label) is not type(labels[0]) for label in labels):
        return False
    if len(set(labels)) < len(labels):
        return False
    if isinstance(labels[0], float):
        return all(map(math.isfinite, labels))
    kept = np.array(labels)
    return kept.dtype.kind in "Uiub" and kept.tolist() == labels and "".join(map(str, labels)).isprintable()


def read_classes(labels: object, *, several: bool = False) -> Labels:
    """The two classes of a document, or more if `several`."""
    if not are_classes(labels, several=several):
        raise ValueError
    return np.array(labels)


def require_classes(labels: list[object], *, several: bool = False) -> list[object]:
    """The two classes, or more if `several`, to be written. Raises BadData for classes that JSON cannot hold."""
    if not are_classes(labels, several=several):
        raise BadData("The classes of y must be text or numbers to be written to a model file.")
    return labels


def spell_out_classes(fitted: BaseEstimator) -> None:
    """Rename classes that files and pages cannot hold, so that no charged result is lost by what its labels are."""
    labels = fitted.classes_.tolist() if hasattr(fitted, "classes_") else []
    if labels and not are_classes(labels, several=True):
        fitted.classes_ = np.array([repr(label) for label in labels])


def fitted_entries(estimator: BaseEstimator) -> dict[str, object]:
    """What every model file of a fitted estimator ends with: names, guarantee, version.

    Raises BadData for names of features that are there twice.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and len(set(names)) < len(names):
        raise BadData("A feature's name is there twice: give columns distinct names to write a model file.")
    return {
        "features": None if names is None else [str(name) for name in names],
        "label": getattr(estimator, "label_", None),
        "guarantee": estimator.guarantee_.to_dict(),
        "dpmine": __version__,
    }


def fitted_attributes(document: Document, columns: int) -> dict[str, object]:
    """The attributes, by name, that `fitted_entries` wrote of an estimator with that number of features."""
    attributes: dict[str, object] = {"guarantee_": read_guarantee(document["guarantee"]), "n_features_in_": columns}
    if document["label"] is not None:
        attributes["label_"] = text_of(document["label"])
    if document["features"] is not None:
        names = [text_of(name) for name in list_of(document["features"])]
        if not 0 < len(set(names)) == len(names) == columns:
            raise ValueError
        attributes["feature_names_in_"] = np.array(names, dtype=object)
    return attributes


def finite_rows(value: object) -> NDArray[np.float64]:
    """At least two lists of finite numbers, as many in each; shape (K, d)."""
    rows = [finite_row(row) for row in list_of(value)]
    if len(rows) < 2 or len({len(row) for row in rows}) > 1:
        raise ValueError
    return np.array(rows)


def finite_row(value: object) -> NDArray[np.float64]:
    """At least one finite number, in a list."""
    numbers = np.array([finite(entry) for entry in list_of(value)])
    if not numbers.size:
        raise ValueError
    return numbers


_ONE_CLASS = (
    "the model predicts one class whatever the features: if `classes=…` was given, check that its labels are spelled "
    "as in the data; else try a larger `epsilon=…`"
)


def _is_constant(fitted: BaseEstimator) -> bool:
    """Whether one class has the largest decision on the whole ball of clipped rows; False where no ball is known."""
    radius = getattr(fitted, "norm_bound_", None)
    if radius is None or not hasattr(fitted, "classes_"):
        return False
    weights, levels, bounds = fitted.coef_, fitted.intercept_, fitted.feature_bounds_
    if bounds is not None:  # of the features in units of the bounds, around their middle
        levels = levels + weights @ np.broadcast_to((bounds.lower + bounds.upper) / 2, weights.shape[1:])
        weights = weights * (bounds.upper - bounds.lower) / 2
    if len(weights) == 1:  # the decision of the second class over the first
        weights, levels = np.vstack([0 * weights, weights]), np.append(0.0, levels)
    best = levels.argmax()
    reach = radius * np.linalg.norm(weights - weights[best], axis=1)
    return bool(np.delete(levels[best] - levels > reach, best).all())


class LinearModel:
    """A fitted linear estimator: one weight a feature, the intercept last; with what a run has to say of it.

    Of more than two classes, those of one class after the other.
    """

    def __init__(self, fitted: BaseEstimator, *remarks: str) -> None:
        self._fitted = fitted
        self._remarks = remarks

    @property
    def notice(self) -> str:
        """The guarantee, after the remarks."""
        return "; ".join([*self._remarks, str(self._fitted.guarantee_)])

    def to_json(self) -> str:
        """The model file's own object."""
        return str(self._fitted.to_json())

    def to_arrow(self) -> pa.Table:
        """One row a coefficient: `feature`, `coefficient`, of more than two classes `class` before; perhaps no row."""
        import pyarrow as pa

        rows, classes = self._rows(), self._classes()
        columns = {
            "feature": pa.array([name for _, name, _ in rows], pa.string()),
            "coefficient": pa.array([value for _, _, value in rows], pa.float64()),
        }
        return pa.table({"class": [label for label, _, _ in rows], **columns} if classes else columns)

    def __str__(self) -> str:
        weights = [
            "\t".join([*([str(label)] if self._classes() else []), name, f"{value:.6g}"])
            for label, name, value in self._rows()
        ]
        remarks = [self.notice, *self.cautions, *self._fitted.guarantee_.notes]
        return "\n".join([*weights, *(f"({remark})" for remark in remarks)])

    @property
    def cautions(self) -> list[str]:
        """That a classifier predicts one class on all that its public bounds allow: a function of the release."""
        return [_ONE_CLASS] if _is_constant(self._fitted) else []

    def _classes(self) -> list[object]:
        """The classes with weights of their own."""
        several = np.ndim(getattr(self._fitted, "coef_", 0)) == 2 and len(self._fitted.coef_) > 1
        return self._fitted.classes_.tolist() if several else []

    def _rows(self) -> list[tuple[object, str, float]]:
        if not hasattr(self._fitted, "coef_"):
            return []
        names = [*map(str, self._fitted.feature_names_in_), "(intercept)"]
        weights = np.column_stack([np.atleast_2d(self._fitted.coef_), np.ravel(self._fitted.intercept_)])
        return [
            (label, name, float(value))
            for label, row in zip(self._classes() or [None], weights, strict=True)
            for name, value in zip(names, row, strict=True)
        ]


class ChosenHypothesis:
    """A chosen hypothesis as a document."""

    def __init__(self, selector: BaseEstimator) -> None:
        self._selector = selector

    @property
    def guarantee(self) -> str:
        """Mechanism and guarantee, in a line."""
        return f"{self._selector.mechanism_}; {self._selector.guarantee_}"

    @property
    def notices(self) -> list[str]:
        """What a run must say, and a file does not put before the user's eyes."""
        nothing = self._selector.hypothesis_ is None
        return [f"nothing stands out: {self._selector.advice_}", self.guarantee] if nothing else [self.guarantee]

    def to_json(self) -> str:
        """The model file's own object."""
        return str(self._selector.to_json())

    def to_arrow(self) -> pa.Table:
        """One row: the rule, which class it predicts, and the guarantee in words; null when nothing stood out."""
        import pyarrow as pa

        chosen = self._selector.hypothesis_
        return pa.table(
            {
                "hypothesis": pa.array([None if chosen is None else str(chosen)], pa.string()),
                "predicts": [str(self._selector.classes_[1])],
                "guarantee": [self.guarantee],
            }
        )

    def __str__(self) -> str:
        chosen = self._selector.hypothesis_
        if chosen is None:
            return f"Nothing stands out.\n{self._selector.advice_}\n({self.guarantee})"
        label = getattr(self._selector, "label_", "y")
        return f"{label} = {self._selector.classes_[1]} where {chosen}\n({self.guarantee})"
