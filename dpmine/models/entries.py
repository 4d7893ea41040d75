"""What arrays, frames and lists hold, each entry read by itself: none causes an error, or changes how others are read.

Shapes and declared types are public: what they rule out is rejected before a charge. Objects of Python, in columns and
in lists, have no common type, as one entry would change it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import pyarrow as pa

from dpmine.errors import BadData
from dpmine.io.python_values import as_number
from dpmine.silence import no_warnings

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = "NDArray[np.float64]"
"""Arrays of numbers, whatever their shape."""
Labels: TypeAlias = "NDArray[Any]"
"""Arrays of labels or classes, shape (n,), of whatever type."""
Entries: TypeAlias = "ArrayLike | Sequence[object] | None"
"""Rows, targets or units as callers have them: arrays, frames, columns and lists, or nothing."""

_REAL = "biuf"
"""Kinds of numpy types that hold real numbers."""
_ENCODE = "encode categories as numbers first, one 0/1 column per category (pandas.get_dummies with a public list)"


def shape_of(X: Entries) -> tuple[int, ...]:
    """The shape of an array, a frame or a list, which has one dimension unless each entry is a row.

    Raises BadData for rows of several lengths.
    """
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple):
        return shape
    rows = X if isinstance(X, list | tuple) else ()
    try:
        if rows is not X:
            return np.shape(cast("ArrayLike", X))
        lengths = {_length(row) for row in rows}
    except Exception:  # noqa: BLE001 - of foreign classes, whose words can quote the entries
        lengths = {0, 1}
    if not lengths or -1 in lengths:
        return (len(rows),)
    if len(lengths) > 1:
        raise BadData(f"Features must be numbers, in rows of equal length: {_ENCODE}.")
    return len(rows), lengths.pop()


def _length(row: Any) -> int:
    """That of a row of a table; −1 for a single entry."""
    return len(row) if isinstance(row, list | tuple) or getattr(row, "ndim", 0) == 1 else -1


def require_numbers(X: Entries) -> None:
    """Raises BadData where a type that X declares, for itself or a column, is none of numbers or of any object."""
    kinds = set(map(_kind, _types(X)))
    if "complex" in kinds:
        raise BadData("Complex data not supported: features must be real numbers.")
    if "other" in kinds:
        raise BadData(f"Features must be numbers, and texts, categories and dates are none: {_ENCODE}.")


def require_names(X: Entries) -> None:
    """Raises BadData for names of columns that are of several types."""
    from sklearn.utils.validation import _get_feature_names

    try:
        _get_feature_names(X)
    except TypeError as error:  # it names types only
        raise BadData(str(error)) from None


def known_features(X: Entries) -> list[str] | None:
    """Names of the columns, found without a look at any value; None where X is no table."""
    shape = shape_of(X)
    if len(shape) != 2 or not shape[1]:
        return None
    names = getattr(X, "columns", ())
    return list(names) if all(isinstance(name, str) for name in names) and len(names) else unnamed_features(shape[1])


def unnamed_features(columns: int) -> list[str]:
    """What features without names are called."""
    return [f"x{column}" for column in range(columns)]


def as_numbers(X: Entries) -> Floats:
    """X as float64 numbers, in its shape: NaN for what is missing or no number, infinite beyond the largest float.

    Raises BadData by shapes and types alone, as `shape_of` and `require_numbers`.
    """
    require_numbers(X)
    with no_warnings, np.errstate(all="ignore"):
        if isinstance(X, list | tuple):
            return _of_list(X, shape_of(X))
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(object), None)
        array = np.asarray(getattr(X, "toarray", lambda: X)())
        require_numbers(array)
        if array.dtype.kind in _REAL:
            return array.astype(np.float64, copy=False)
        return _each(array.ravel(), array.shape)


def entry_by_entry(column: Any) -> NDArray[Any]:
    """The entries as Python objects, shape (n,): no type is found for all of them together.

    What Python cannot hold, such as a date in the year 20000 or a text that is no UTF-8, stays a scalar of Arrow.
    """
    if hasattr(column, "to_arrow") and str(column.dtype) != "Object":  # polars' own conversion of such dates is a panic
        with suppress(Exception):  # integers of 128 bits are of no type of Arrow
            column = column.to_arrow()
    readers = ("tolist", "to_list", "to_pylist")
    reader = next((getattr(column, name) for name in readers if hasattr(column, name)), None)
    try:
        listed = column if reader is None else reader()
    except Exception:  # noqa: BLE001 - of one entry
        arrow = column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column)  # or pandas' around it
        listed = [_python(scalar) for scalar in arrow]
    return np.fromiter(listed, dtype=object, count=len(listed))


def _python(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except Exception:  # noqa: BLE001 - dates beyond Python's, texts that are no UTF-8
        return scalar


def is_same(entry: object, wanted: object) -> bool:
    """Whether two entries are equal; those that cannot say so are not."""
    try:
        return bool(entry == wanted)
    except Exception:  # noqa: BLE001 - pandas' NA, arrays, classes that compare as they like
        return False


def is_missing(entry: object) -> bool:
    """Whether an entry is missing: None, NaN, NaT, or pandas' NA, which compares as neither true nor false."""
    try:
        return entry is None or bool(entry != entry)  # noqa: PLR0124 - NaN
    except Exception:  # noqa: BLE001 - the same
        return True


def is_hashable(entry: object) -> bool:
    """Whether an entry can be looked up."""
    try:
        hash(entry)
    except Exception:  # noqa: BLE001 - of classes that hash as they like
        return False
    return True


def _types(X: Entries) -> list[Any]:
    """The types that X declares: one for all, one per column, or none."""
    schema = getattr(X, "schema", None)
    if hasattr(X, "column_names") and schema is not None:  # of Arrow
        return list(schema.types)
    declared = getattr(X, "dtypes", getattr(X, "dtype", getattr(X, "type", None)))
    if declared is None or isinstance(declared, np.dtype) or not isinstance(declared, Iterable):
        return [] if declared is None else [declared]
    return list(declared)


def _kind(declared: Any) -> str:
    """What a type holds: "real", "complex" or "other"; "real" also where it does not say."""
    if isinstance(declared, np.dtype):
        return "real" if declared.kind in _REAL + "O" else "complex" if declared.kind == "c" else "other"
    if isinstance(declared, pa.DataType):
        return "real" if holds_numbers(declared) else "other"
    if hasattr(declared, "is_numeric"):  # of polars
        wide = str(declared) in {"Int128", "UInt128"}  # which no array holds
        numeric = declared.is_numeric() or str(declared) in {"Boolean", "Null", "Object"}
        return "real" if numeric and not wide else "other"
    if type(declared).__module__.startswith("pandas"):
        from pandas.api.types import is_numeric_dtype

        return "real" if is_numeric_dtype(declared) else "other"
    return "real"


def holds_numbers(kind: pa.DataType) -> bool:
    """Whether a type of Arrow is one of numbers, booleans among them, or of nulls alone."""
    reals = (pa.types.is_null, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(holds(kind) for holds in reals)


def _of_list(rows: Sequence[Any], shape: tuple[int, ...]) -> Floats:
    """As what `_each` finds, faster where numpy finds numbers only. A row of one entry is that entry."""
    try:
        array = np.asarray(rows)
    except Exception:  # noqa: BLE001 - of foreign classes
        array = np.empty(0, object)
    if array.dtype.kind in _REAL and array.shape == shape:
        return array.astype(np.float64)
    alone = (row[0] if _length(row) == 1 else row for row in rows)
    return _each(alone if len(shape) == 1 else chain.from_iterable(rows), shape)


def _each(entries: Iterable[Any], shape: tuple[int, ...]) -> Floats:
    return np.fromiter(map(as_number, entries), np.float64, math.prod(shape)).reshape(shape)
