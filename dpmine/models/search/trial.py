"""One run of a search: the candidate that it tries, and how good its model is on held-out records.

Candidates come from lists or distributions, and are drawn independently of the data. Scores are whole numbers that one
record moves by a known amount.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import _safe_indexing

from dpmine.errors import BadParameter
from dpmine.exact.noise import discrete_gaussian, discrete_laplace_of_scale
from dpmine.exact.reals import uniform_below
from dpmine.models.entries import Entries, Floats, Labels, is_same, shape_of
from dpmine.models.validation.terms import UNIT, fixed_point_mean
from dpmine.parameters import named
from dpmine.silence import no_warnings

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dpmine.exact.bits import BitSource
    from dpmine.models.search.runs import RunBudget

    Scorer = Callable[[BaseEstimator | None, Entries, Labels], "Score"]
    Term = Callable[[BaseEstimator, Entries, Labels], ArrayLike]
    """(model, X, y) → one number for each row."""

_HINT = (
    "param_grid must map names of the estimator's parameters to lists of values or to distributions with rvs, such as "
    "{'norm_bound': [1, 2]}, or be a list of such mappings."
)
_SEED_BITS = 32
_MOST_LISTED = 1000


@dataclass(frozen=True, eq=False, slots=True)
class Candidates:
    """Candidates of a search; made by `Candidates.of`.

    Attributes:
        grids: one or more mappings of parameters to lists of values, or to objects with `rvs`.
    """

    grids: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, param_grid: object) -> Candidates:
        """One mapping or several. Raises BadParameter for anything else, and for lists without values."""
        grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
        if not isinstance(grids, Sequence) or not grids or not all(isinstance(grid, Mapping) for grid in grids):
            raise BadParameter(_HINT)
        if not all(isinstance(name, str) for grid in grids for name in grid):
            raise BadParameter(_HINT)
        return cls(tuple({name: _values(values) for name, values in grid.items()} for grid in grids))

    def draw(self, *, bits: BitSource) -> dict[str, Any]:
        """One candidate, independent of the data; the number of candidates does not change the privacy loss.

        Distribution: where all values are listed, uniform over all combinations. Otherwise a uniform mapping, and
        independent values in it: uniform over a list, or the first `rvs` of a distribution for a uniform seed of 32
        bits.
        """
        if self.listed:
            number = uniform_below(self.size, bits=bits)
            for grid in self.grids:
                if number < _size(grid):
                    return _combination(grid, number)
                number -= _size(grid)
        grid = self.grids[uniform_below(len(self.grids), bits=bits)]
        return {name: _drawn(values, bits=bits) for name, values in grid.items()}

    @property
    def listed(self) -> bool:
        """Whether there are lists only."""
        return not any(_is_distribution(values) for grid in self.grids for values in grid.values())

    @property
    def size(self) -> int:
        """The number of combinations, where all values are listed."""
        return sum(map(_size, self.grids))

    @property
    def complete(self) -> bool:
        """Whether `checked` has every candidate that can be drawn."""
        return self.listed and all(_size(grid) <= _MOST_LISTED for grid in self.grids)

    def checked(self, *, bits: BitSource) -> Iterator[dict[str, Any]]:
        """Candidates to check before a run: up to 1,000 combinations of a mapping's lists, or one that is drawn."""
        if not self.listed:
            yield self.draw(bits=bits)
            return
        for grid in self.grids:
            yield from (_combination(grid, number) for number in range(min(_size(grid), _MOST_LISTED)))


def _values(values: Any) -> Any:
    if _is_distribution(values):
        return values
    if isinstance(values, np.ndarray) and values.ndim == 1:
        values = values.tolist()
    if isinstance(values, str | bytes) or not isinstance(values, Sequence) or not values:
        raise BadParameter(_HINT)
    return list(values)


def _is_distribution(values: Any) -> bool:
    return hasattr(values, "rvs")


def _size(grid: Mapping[str, Any]) -> int:
    return prod(map(len, grid.values()))


def _combination(grid: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The combination of that number: one digit for each list."""
    chosen = {}
    for name, values in grid.items():
        number, digit = divmod(number, len(values))
        chosen[name] = values[digit]
    return chosen


def _drawn(values: Any, *, bits: BitSource) -> Any:
    if _is_distribution(values):
        return values.rvs(random_state=bits.take(_SEED_BITS))
    return values[uniform_below(len(values), bits=bits)]


class ScoreName(StrEnum):
    """Scores by name, for classifiers."""

    ACCURACY = "accuracy"
    """The share of right predictions."""
    BRIER = "brier"
    """The mean of 1 − (p − [label is the second class])², p the predicted probability of the second of two classes."""
    ROC_AUC = "roc_auc"
    """The share of the m² ordered pairs of records that are of different classes and ranked right.

    It is AUC times the shares of both classes, which are the same for all models.
    """


_TRIED = 2
"""Rows of zeros that a function is tried on."""


@dataclass(frozen=True, slots=True)
class Score:
    """A score in whole numbers.

    Attributes:
        value: higher is better.
        sensitivity: what another record in the place of one moves `value` by at most, for a fixed model.
        unit: what 1 stands for in the score as it is released.
    """

    value: int
    sensitivity: int
    unit: Fraction

    def noisy(self, run: RunBudget, *, bits: BitSource) -> int:
        """The value with the noise that makes it private: discrete Laplace for ε, discrete Gaussian for ρ."""
        if run.rho is None:
            return self.value + discrete_laplace_of_scale(self.sensitivity / run.epsilon, bits=bits)
        return self.value + discrete_gaussian(self.sensitivity**2 / (2 * run.rho), bits=bits)


def scorer_of(scoring: object, estimator: BaseEstimator) -> Scorer:
    """The score of that name, "auto" for accuracy, or of a function (model, X, y) → terms in [0, 1], shape (m,).

    The model None, of a run without a result, scores 0. Whatever a row is, it causes no error: see `_each`.
    Raises BadParameter for other values, and for names where the estimator is no classifier or lacks what they need.
    """
    if callable(scoring):
        return partial(_mean, scoring)
    name = ScoreName.ACCURACY if str(scoring) == "auto" else named(ScoreName, "scoring", scoring)
    if not is_classifier(estimator):
        raise BadParameter(
            "scoring must be a function (model, X, y) that gives each row a number in [0, 1] where the estimator is no "
            "classifier, such as lambda model, X, y: 1 - np.minimum(1, abs(model.predict(X) - y))."
        )
    if not any(hasattr(estimator, needed) for needed in _NEEDED[name]):
        raise BadParameter(f"scoring='{name}' needs an estimator with {' or '.join(_NEEDED[name])}.")
    classes = getattr(estimator, "classes", None)
    if name != ScoreName.ACCURACY and classes is not None and np.size(classes) != 2:
        raise BadParameter(f"scoring='{name}' is for two classes: give accuracy or a function.")
    return _SCORERS[name]


def require_terms(scoring: Callable[..., object], X: Entries, estimator: BaseEstimator) -> None:
    """Try a function on two rows of zeros and a model that predicts the first class, or 0: nothing of the data.

    Raises BadParameter where it gives no number for each row: each row would silently score 0 after the charge.
    What it raises says nothing, as it may ask for more than such a model has.
    """
    classes = getattr(estimator, "classes", None)
    model = _Constant(np.arange(2) if classes is None else np.asarray(classes))
    zeros = _zeros(X)
    with no_warnings:
        try:
            given = scoring(model, zeros, model.predict(zeros))
        except Exception:  # noqa: BLE001 - code of others may raise anything
            return
    if not _are_numbers(given):
        raise BadParameter(
            "The function scoring gives no number for each row: let it give an array with one number in [0, 1] for "
            "each row of X, such as model.predict(X) == y."
        )


def _are_numbers(given: object) -> bool:
    """Whether they are one number for each of the rows that were tried, or one for all, as scores of scikit-learn."""
    try:
        return given is not None and np.asarray(given, np.float64).size in {1, _TRIED}
    except Exception:  # noqa: BLE001 - of foreign classes
        return False


def _zeros(X: Any) -> Any:
    """Rows as wide as those of X, as a frame of pandas where X is one."""
    zeros = np.zeros((_TRIED, *shape_of(X)[1:]))
    if type(X).__module__.startswith("pandas") and zeros.ndim == 2:
        return type(X)(zeros, columns=X.columns)
    return zeros


class _Constant:
    """A model that stands for any."""

    def __init__(self, classes: Labels) -> None:
        self.classes_ = classes

    def predict(self, X: Entries) -> Labels:
        return np.full(shape_of(X)[0], self.classes_[0])

    def predict_proba(self, X: Entries) -> Floats:
        return np.full((shape_of(X)[0], len(self.classes_)), 1 / len(self.classes_))

    def decision_function(self, X: Entries) -> Floats:
        columns = [len(self.classes_)] * (len(self.classes_) > 2)
        return np.zeros((shape_of(X)[0], *columns))


def _mean(term: Term, model: BaseEstimator, X: Entries, y: Labels) -> Score:
    """The sum of the terms in fixed point: one record moves it by at most 1/u."""
    total = fixed_point_mean(_each(term, model, X, y), least=0, most=1) * len(y) / UNIT
    return Score(int(total), int(1 / UNIT), UNIT / len(y))


def _each(term: Term, model: BaseEstimator, X: Entries, y: Labels) -> Floats:
    """A number for each row: 0 where there is no model, or none for that row.

    Models and functions of others may fail because of one row. Such rows are found one by one, and another row stands
    in for each of them. So the others keep their numbers to the last bit, which depends on a row's place in a batch.
    """
    if model is None:
        return np.zeros(len(y))
    numbers = _numbers(term, model, X, y)
    if numbers is not None:
        return numbers
    singles = [_numbers(term, model, _safe_indexing(X, [row]), y[[row]]) for row in range(len(y))]
    usable = np.array([one is not None for one in singles])
    places = np.where(usable, np.arange(len(y)), usable.argmax())
    again = _numbers(term, model, _safe_indexing(X, places), y[places])
    if again is None:  # one number for a batch, of whatever size
        return np.array([0.0 if one is None else one[0] for one in singles])
    return np.where(usable, again, 0)


def _numbers(term: Term, model: BaseEstimator, X: Entries, y: Labels) -> Floats | None:
    """One number for each row, or None."""
    try:
        numbers = np.asarray(term(model, X, y), np.float64).ravel()
    except Exception:  # noqa: BLE001 - code of others may raise anything
        return None
    return numbers if len(numbers) == len(y) else None


def _right(model: BaseEstimator, X: Entries, y: Labels) -> NDArray[np.bool_]:
    return _are(y, model.predict(X))


def _nearness(model: BaseEstimator, X: Entries, y: Labels) -> ArrayLike:
    return 1 - (np.asarray(model.predict_proba(X))[:, 1] - _second(model, y)) ** 2


def _decisions(model: BaseEstimator, X: Entries, _y: Labels) -> Any:
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)[:, 1]


def _brier(model: BaseEstimator, X: Entries, y: Labels) -> Score:
    return _mean(_nearness, _of_two(model), X, y)


def _roc_auc(model: BaseEstimator, X: Entries, y: Labels) -> Score:
    """Pairs count twice where they are ranked right, once where they tie: one record is in at most m − 1 pairs."""
    of_two = _of_two(model)
    values = np.nan_to_num(_each(_decisions, of_two, X, y))
    second = np.zeros(len(y), np.bool_) if of_two is None else _second(of_two, y)
    others = np.sort(values[~second])
    ranked = [int(np.searchsorted(others, values[second], side).sum()) for side in ("left", "right")]
    return Score(sum(ranked), max(1, 2 * (len(y) - 1)), Fraction(1, 2 * len(y) ** 2))


def _of_two(model: BaseEstimator) -> Any:
    """The model; None for one that learnt another number of classes, as rows that happen to train can make it."""
    return model if len(getattr(model, "classes_", ())) == 2 else None


def _second(model: BaseEstimator, y: Labels) -> NDArray[np.bool_]:
    """Which labels are the second class."""
    return _are(y, np.full(len(y), model.classes_[1]))


def _are(labels: Labels, predictions: Any) -> NDArray[np.bool_]:
    """Which labels are as predicted; whatever a label is, it causes no error."""
    predicted = np.asarray(predictions)
    if labels.dtype.kind == "O" or (labels.dtype.kind == "U") != (predicted.dtype.kind == "U"):
        return np.array([is_same(*pair) for pair in zip(labels, predicted, strict=True)], bool)
    return np.asarray(labels == predicted, bool)


_SCORERS: dict[ScoreName, Scorer] = {
    ScoreName.ACCURACY: partial(_mean, _right),
    ScoreName.BRIER: _brier,
    ScoreName.ROC_AUC: _roc_auc,
}
_NEEDED = {
    ScoreName.ACCURACY: ("predict",),
    ScoreName.BRIER: ("predict_proba",),
    ScoreName.ROC_AUC: ("decision_function", "predict_proba"),
}
