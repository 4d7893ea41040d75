"""Any finite list of predictors, trained on PUBLIC data.

Proof: docs/proofs/models/hypothesis_classes.md, section "Lists".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.exceptions import NotFittedError

from dpmine.errors import BadParameter
from dpmine.models.entries import Floats, Labels, entry_by_entry, is_missing
from dpmine.models.pac.hypothesis import Bools, Records, candidate_number
from dpmine.selection.universes.dense import Dense
from dpmine.silence import no_warnings

if TYPE_CHECKING:
    from collections.abc import Iterable


Pair: TypeAlias = "tuple[object, object]"
"""First and second class."""
_PAIRS_OF_NUMBERS = ((0, 1), (-1, 1))
"""First and second class, where the classes are not given."""
_FAILED = "failed: it must accept any rows with the features that the records have."
_NO_CLASSES = (
    "must answer with one label per row, in one dimension, out of two: False and True, 0 and 1, −1 and 1, or the two "
    "classes where they are given."
)
_UNFITTED = (
    "is not fitted: fit it on public data; wrap a list of fitted estimators in Listed so that clone keeps them fitted."
)


@dataclass(frozen=True, slots=True)
class ListedHypothesis:
    """One predictor of a list.

    Attributes:
        position: in the list, from 0.
        name: type, function name or rule, made different by the position.
        predictor: a callable, or an object with `predict`.
        pairs: the pairs (first class, second class) that its answers may be in, truth values apart.
    """

    position: int
    name: str
    predictor: Any
    pairs: tuple[Pair, ...]

    def predict(self, features: Floats) -> Bools:
        """Whether the predictor says second class for each row of `features`, shape (n, d).

        No row causes an error. Where the predictor fails for all rows together, or an answer is no class, each row is
        asked by itself. A row that it fails for is of the first class.
        """
        if len(features) == 0:  # many estimators reject an empty array
            return np.zeros(0, np.bool_)
        answers = self._answers_for(features)
        if isinstance(answers, str):
            alone = (self._answers_for(features[row : row + 1]) for row in range(len(features)))
            return np.array([not isinstance(one, str) and one[0] for one in alone])
        return answers

    def require_answer(self, columns: int) -> None:
        """Raises BadParameter where the predictor fails for a row of zeros, or does not answer with a class.

        The message names the position of the predictor and nothing else.
        """
        answers = self._answers_for(np.zeros((1, columns)))
        if isinstance(answers, str):
            raise BadParameter(f"predictors[{self.position}] {answers}")

    def _answers_for(self, features: Floats) -> Bools | str:
        """Which rows are of the second class, or what is wrong with the answers."""
        answers = _answers(self.predictor, features)
        return answers if isinstance(answers, str) else _read(answers, len(features), self.pairs)

    def parameters(self) -> dict[str, Any]:
        """Name and position, and the predictor's own parameters where it is a hypothesis."""
        about = {"predictor": self.name, "position": self.position}
        return {**about, **self.predictor.parameters()} if _is_hypothesis(self.predictor) else about

    def __str__(self) -> str:
        return self.name


class Listed:
    """A list of predictors: functions X -> labels, fitted scikit-learn estimators, or hypotheses.

    THE PREDICTORS MUST BE PUBLIC: trained on public data, or written down without a look at the private data.
    Predictors trained on the same private data void the guarantee, because the list itself then depends on the data.

    A predictor must answer for each row by that row alone. One that looks at the other rows (ranks them, say, or
    subtracts their mean) changes many answers when one record changes. Then scores have no sensitivity of 1, and the
    guarantee is void. Its answers must not be random. None of this can be checked: the caller asserts it. A row that it
    fails for counts as one of the first class.

    Attributes:
        predictors: as given, a tuple.
        columns: None: what features the predictors see is for them to say.
    """

    columns: int | None = None

    def __init__(self, predictors: Iterable[object], classes: Pair | None = None) -> None:
        """`classes`: the two labels, second class last, for predictors that answer with them.

        Truth values are always understood; 0 and 1, and −1 and 1, are where no classes are given or the classes are
        texts.
        Raises BadParameter for an empty list, for what cannot predict, and for unusable classes.
        """
        self.predictors = _require_predictors(predictors)
        self._pairs = _pairs(classes)

    @property
    def size(self) -> int:
        """The number of predictors."""
        return len(self.predictors)

    def universe(self, records: Records) -> Dense:
        """All predictors with their numbers of correct records; a candidate is a position in the list.

        Every predictor is asked once, about all records at once, on a copy of their features. Raises BadParameter as
        `require_answers` does, where there are records.
        """
        if len(records.features):
            self.require_answers(records.features.shape[1])
        return Dense([records.correct(self.hypothesis(position)) for position in range(self.size)])

    def require_answers(self, columns: int) -> None:
        """Raises BadParameter where a predictor cannot answer a row of that number of zeros."""
        for position in range(self.size):
            self.hypothesis(position).require_answer(columns)

    def hypothesis(self, candidate: int) -> ListedHypothesis:
        """The predictor at that position; TypeError or IndexError where there is none."""
        position = candidate_number(candidate, self.size)
        predictor = self.predictors[position]
        name = f"predictors[{position}]: {_description(predictor)}"
        return ListedHypothesis(position, name, predictor, self._pairs)


def _require_predictors(predictors: Iterable[object]) -> tuple[object, ...]:
    try:
        listed = tuple(predictors)
    except TypeError:
        raise BadParameter("predictors must be a list of callables, fitted estimators or hypotheses.") from None
    if not listed:
        raise BadParameter("predictors must hold at least one predictor.")
    for position, predictor in enumerate(listed):
        if isinstance(predictor, type) or not (callable(predictor) or callable(getattr(predictor, "predict", None))):
            raise BadParameter(f"predictors[{position}] must be a callable, a fitted estimator or a hypothesis.")
    return listed


def _description(predictor: Any) -> str:
    if _is_hypothesis(predictor):
        return str(predictor)
    own = getattr(predictor, "__name__", None)
    return own if isinstance(own, str) else type(predictor).__name__


def _is_hypothesis(predictor: Any) -> bool:
    return callable(getattr(predictor, "predict", None)) and callable(getattr(predictor, "parameters", None))


def _pairs(classes: Pair | None) -> tuple[Pair, ...]:
    """How answers that are no truth values are read; no value is in two pairs as different classes.

    So a row's answer means the same whatever the answers for other rows are.
    """
    if classes is None:
        return _PAIRS_OF_NUMBERS
    try:
        first, second = classes
        usable = bool(first != second) and not (is_missing(first) or is_missing(second))
    except (TypeError, ValueError):
        usable = False
    if not usable:
        raise BadParameter("classes must be the two labels, different ones, the second class last.")
    are_texts = isinstance(first, str) and isinstance(second, str)
    return ((first, second), *_PAIRS_OF_NUMBERS) if are_texts else ((first, second),)


def _answers(predictor: Any, features: Floats) -> Labels | str:
    """What the predictor says, on a copy that it may spoil; what is wrong with it, where it fails.

    Its errors and warnings may quote data, so nothing is kept of them, nor of their place among causes.
    """
    try:
        with no_warnings:
            answers = getattr(predictor, "predict", predictor)(features.copy())
            return answers if isinstance(answers, np.ndarray) else entry_by_entry(answers)
    except NotFittedError:
        return _UNFITTED
    except Exception:  # noqa: BLE001 - code of others may raise anything
        return _FAILED


def _read(answers: Labels, rows: int, pairs: tuple[Pair, ...]) -> Bools | str:
    """Which answers mean the second class; what is wrong where they are not `rows` answers in one pair of classes."""
    if answers.shape != (rows,):
        return _NO_CLASSES
    if answers.dtype.kind == "b":
        return answers
    for first, second in pairs:
        is_first, is_second = _equal(answers, first), _equal(answers, second)
        if (is_first | is_second).all():
            return is_second
    return _NO_CLASSES


def _equal(answers: Labels, label: object) -> Bools:
    """Where the answers are this label; nowhere, if they cannot be compared."""
    nowhere = np.zeros(len(answers), np.bool_)
    try:
        with no_warnings:
            equal = np.asarray(answers == label)
    except Exception:  # noqa: BLE001 - objects may compare as they like
        return nowhere
    return equal if equal.shape == nowhere.shape and equal.dtype == np.bool_ else nowhere
