"""Reads the scores given to `dpmine.select`, and names the chosen candidate.

The order, the number and the types of labels that were found in the data are private. Only the chosen label is
released, in a form that depends on that label alone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any, Protocol, TypeAlias, TypeGuard, cast, runtime_checkable

import numpy as np

from dpmine.errors import BadParameter
from dpmine.parameters import Number
from dpmine.selection.universes.crowds import Numbers
from dpmine.selection.universes.dense import Dense, Levels
from dpmine.selection.universes.protocol import Universe
from dpmine.selection.universes.ranking import Padded


@runtime_checkable
class Labelled(Protocol):
    """Scores with labels, as a pandas Series has them."""

    @property
    def index(self) -> Any:
        """The labels; an index may have `is_unique`, which says whether none repeats."""
        ...

    def items(self) -> Iterable[tuple[Hashable, Number]]:
        """Labels and scores."""
        ...

    def __len__(self) -> int: ...


Scores: TypeAlias = Sequence[Number] | Numbers | Mapping[Any, Number] | Labelled | Universe[Hashable]

_PLAIN = (np.ndarray, list, tuple, dict)
_WHOLE = 2**53  # floats from here on are whole numbers
_NO_SCORES = "scores must be numbers in one dimension, a mapping to numbers, or a Universe."


def is_universe(scores: Scores) -> TypeGuard[Universe[Hashable]]:
    """Whether it is one. To ask a protocol takes long, so the common types are sorted out first."""
    return type(scores) not in _PLAIN and isinstance(scores, Universe)


def require_form(scores: Scores, *, hidden: bool) -> None:
    """Check what may be checked before a charge: the shape and, of a public list, its length and labels. No score.

    `hidden`: the list of candidates is not public. Then neither its length nor its labels may cause an error: two
    entries of a Series that have the same label are two candidates. Raises BadParameter.
    """
    if is_universe(scores):
        return
    if (
        isinstance(scores, str | bytes | AbstractSet)
        or not hasattr(scores, "__len__")
        or getattr(scores, "ndim", 1) != 1
    ):
        raise BadParameter(_NO_SCORES)
    if hidden:
        return
    if not number_of(scores):
        raise BadParameter("There is nothing to select from: give at least one candidate.")
    if _is_labelled(scores) and not getattr(scores.index, "is_unique", True):
        raise BadParameter("scores must have one entry per label, and labels repeat: add the entries up first.")


def number_of(scores: Scores) -> int | None:
    """How many candidates there are, dummies not counted, no score looked at; None for a universe without a size."""
    if is_universe(scores):
        return scores.size
    try:
        return len(cast("Sized", scores))
    except TypeError:
        raise BadParameter(_NO_SCORES) from None


def labelled_universe(scores: Scores, padding: int = 0) -> tuple[Universe[Hashable], list[Hashable] | None]:
    """The universe, and the labels of its candidates if `scores` is a mapping or a Series."""
    if is_universe(scores):
        return Padded(scores, padding) if padding else scores, None
    if isinstance(scores, Mapping) or _is_labelled(scores):
        entries = list(scores.items())
        return Dense([score for _, score in entries], padding), [label for label, _ in entries]
    return Dense(scores if isinstance(scores, np.ndarray) else _plain(cast("Sequence[Number]", scores)), padding), None


def released(scores: Scores, labels: list[Hashable] | None, choice: Any, *, hidden: bool) -> tuple[Hashable, Hashable]:
    """The index and the label of a choice that may be shown; (None, None) for nothing.

    The place of a label in a mapping or Series can depend on the data. So can the place of a group of `Levels` where
    the list of candidates is not public.
    """
    if choice is None or (hidden and isinstance(scores, Levels)):
        return None, None
    if labels is None:
        return choice, choice
    return None, one_form(labels[choice]) if hidden else labels[choice]


def one_form(label: Hashable) -> Hashable:
    """The same object for equal labels: which of 1, 1.0 and True comes first in the data would show.

    Numbers become int where they are whole, else float where a float is exact, else Fraction. Scalars of numpy and
    pandas become Python's. So does what is inside tuples and frozensets. Other labels stay: their type is public.
    """
    if isinstance(label, tuple):
        return tuple(map(one_form, label))
    if isinstance(label, frozenset):
        return frozenset(map(one_form, label))
    if isinstance(label, np.generic):
        plain = label.item()
        label = label if isinstance(label, np.datetime64 | np.timedelta64) and isinstance(plain, int) else plain
    return next((form(label) for kinds, form in _FORMS if isinstance(label, kinds)), label)


def _one_complex(label: complex) -> complex | Fraction:
    return label if label.imag else _one_real(label.real)


def _one_time(label: dt.datetime) -> dt.datetime:
    """In UTC where there is a time zone, for equal times may name different ones."""
    if not _is_micro(label):
        return label
    zone = label.tzinfo
    moment = label if zone is None else label.astimezone(dt.UTC)
    clock = (moment.hour, moment.minute, moment.second, moment.microsecond)
    return dt.datetime(moment.year, moment.month, moment.day, *clock, tzinfo=None if zone is None else dt.UTC)


def _is_micro(label: object) -> bool:
    """Whether Python's own types hold it: those of pandas may have nanoseconds."""
    return not getattr(label, "nanosecond", 0) and not getattr(label, "nanoseconds", 0)


def _one_real(label: float | np.floating | Rational | Decimal) -> int | float | Fraction:
    try:
        exact = Fraction(label) if isinstance(label, Rational) else Fraction(*label.as_integer_ratio())
    except (ValueError, OverflowError):  # infinite or not a number
        return float(label)
    if exact.denominator == 1:
        return int(exact)
    if abs(exact) < _WHOLE and Fraction(float(exact)) == exact:
        return float(exact)
    return exact


def _one_span(label: dt.timedelta) -> dt.timedelta:
    return dt.timedelta(label.days, label.seconds, label.microseconds) if _is_micro(label) else label


_FORMS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, str.__str__),  # a plain one, also of enums of texts
    (bytes, bytes.__bytes__),
    (Integral, int),
    ((float, np.floating, Rational, Decimal), _one_real),
    (complex, _one_complex),
    (dt.datetime, _one_time),
    (dt.timedelta, _one_span),
)


def _is_labelled(scores: Scores) -> TypeGuard[Labelled]:
    return type(scores) not in _PLAIN and isinstance(scores, Labelled)


def _plain(scores: Sequence[Number]) -> Numbers | list[Number]:
    """Entries one by one, but for what makes an array of itself: numpy would round integers beside floats."""
    try:
        return np.asarray(scores) if hasattr(scores, "__array__") else list(scores)
    except Exception:  # noqa: BLE001 - of a foreign class, whose words can quote the entries
        raise BadParameter(_NO_SCORES) from None
