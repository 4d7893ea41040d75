"""Tables of numbers and labels, and estimators on them: Parquet files, Arrow, pandas, polars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from dpmine.errors import BadData, BadParameter, LayoutWarning, warn
from dpmine.io.arrow import integers, is_boolean, is_text, plain, type_name, without_views
from dpmine.io.open import open_source
from dpmine.io.source import Columns, Source, quoted
from dpmine.io.sources.frame import PandasSource
from dpmine.itemsets.ingest.column_names import names_people
from dpmine.itemsets.ingest.encode import coded
from dpmine.itemsets.ingest.layouts import check_key
from dpmine.later import pc
from dpmine.models.contribution import NO_UNIT, Units
from dpmine.models.entries import Entries, Floats, Labels, holds_numbers
from dpmine.privacy import ROW

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from pandas import DataFrame
    from sklearn.base import BaseEstimator

    from dpmine.ledger.charging import Charge

_MOST_NAMED = 20  # columns in a message
_TRUTHS = {"true": True, "false": False, "True": True, "False": False}


class NamedColumns(dict[str, "NDArray[Any]"]):
    """Arrays by the names of their columns."""

    whole: frozenset[str] = frozenset()
    """The columns of numbers whose type, whatever the values, has whole numbers only."""


def read_columns(
    data: object,
    numbers: Sequence[str],
    *,
    labels: Sequence[str] = (),
    keys: Sequence[str] = (),
    asserted: str | None = None,
    any_label: bool = False,
    progress: Callable[[float], None] | None = None,
    ready: Callable[[], object] | None = None,
) -> NamedColumns:
    """The named columns, each as an array with one entry per row.

    Args:
        data: one of

            - a path, a list of paths, a directory, a glob or a URL of Parquet, CSV or Arrow; an `Input`
            - a pyarrow Table, RecordBatchReader or Dataset; anything with `__arrow_c_stream__` (duckdb)
            - a pandas or polars frame
        numbers: columns read as float64, nulls as NaN; integers, floats, decimals and booleans are numbers.
        labels: columns read as they are: int64, bool, float64 where all are whole, or an object array of texts; none
            may hold a null. Rows with a null key are then left out, and what they hold is not looked at.
        any_label: for callers that know the classes, so that no row can cause an error. Labels are then an object array
            of whatever the column holds, None for null.
        keys: columns of integers, texts, dates or dictionaries of these, read as int64 codes: equal where the values
            are, −1 for null.
        asserted: a privacy unit that the caller asserts to have one row each; BadParameter where it is a column.
        progress: called with the share of the reading that is done, 0 to 1.
        ready: called once the columns are known to be there, before any value is read.

    Raises BadData for columns that do not exist or hold something else, UnreadableFile, and BadParameter for data that
    is no table.
    """
    wanted, source = _checked_source(data, numbers, labels, keys, asserted)
    _caution(source, keys, asserted)
    for caution in source.cautions(wanted):
        warn(f"{caution}.", LayoutWarning)
    if ready is not None:
        ready()
    table = source.read(wanted, progress or (lambda _share: None))
    codes = {name: coded(table.column(name)).codes for name in keys}
    known = np.all([column >= 0 for column in codes.values()], axis=0)
    if labels and not known.all():
        table, codes = table.filter(pa.array(known)), {name: column[known] for name, column in codes.items()}
    read = NamedColumns({name: _numbers(name, table.column(name)) for name in numbers})
    as_labels = _any_labels if any_label else _labels
    read.update({name: as_labels(name, table.column(name)) for name in labels})
    read.update(codes)
    read.whole = frozenset(name for name in numbers if _is_whole(table.column(name).type))
    return read


def require_columns(
    data: object,
    numbers: Sequence[str],
    *,
    labels: Sequence[str] = (),
    keys: Sequence[str] = (),
    asserted: str | None = None,
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Columns of numbers of whole types, and `Source.cautions` on all; no value is read. Raises as `read_columns`."""
    wanted, source = _checked_source(data, numbers, labels, keys, asserted)
    return frozenset(name for name in numbers if _is_whole(source.type_of(name))), source.cautions(wanted)


def _caution(source: Source, keys: Sequence[str], asserted: str | None) -> None:
    """A warning where people may have several rows, and nothing says how they are protected."""
    people = [name for name in source.names if names_people(name)]
    if people and not keys and asserted is None:
        public = source.header_hint is None  # names are data where a header is missing
        name, typed = (repr(people[0]), repr(people[0])) if public else ("a column", "COL")
        warn(
            f"each row is protected by itself, and {name} is named like people, who may have several rows: "
            f"to protect people, name it as the privacy unit (`unit={typed}`).",
            LayoutWarning,
        )


def _checked_source(
    data: object, numbers: Sequence[str], labels: Sequence[str], keys: Sequence[str], asserted: str | None
) -> tuple[list[str], Source]:
    """The names of all columns, and the data that have them with usable types: no value is read."""
    if mixed := sorted({*keys} & {*numbers, *labels}):
        raise BadParameter(f"The column {quoted(mixed)} names the privacy unit: it cannot be a feature.")
    wanted = list(dict.fromkeys([*numbers, *labels, *keys]))
    source = _opened(data, wanted, keys, asserted).as_numbers(numbers)
    if isinstance(source, PandasSource) and (untyped := source.untyped([*numbers, *labels, *keys])):
        raise BadData(
            f"The data frame's {quoted(untyped)} hold objects or categories, whose type one row can change: convert "
            "them first, for example with astype('Float64') or astype('string')."
        )
    for name in numbers:
        _require_numbers(name, source.type_of(name))
    for name in labels:
        _require_labels(name, source.type_of(name))
    for name in keys:
        check_key(name, source.type_of(name))
    return wanted, source


def _opened(data: object, wanted: Sequence[str], keys: Sequence[str] = (), asserted: str | None = None) -> Source:
    """The data, which have these columns, once each, and none called as the unit that is asserted."""
    others = [name for name in wanted if name not in keys]
    source = open_source(data, Columns(unit=tuple(keys), item=others[0] if others else None), others)
    missing = [name for name in wanted if name not in source.names]
    if missing:
        from dpmine.io.sources.periods import like_column, unlike_header

        listed = quoted(source.names[:_MOST_NAMED]) + (", …" if len(source.names) > _MOST_NAMED else "")
        there_is = "There is no column" if len(missing) == 1 else "There are no columns"
        where = f". The columns are: {listed}" if source.header_hint is None else f" {source.header_hint}"
        like = (like_column if source.header_hint is None else unlike_header)(missing[0], source.names)
        raise BadData(f"{there_is} {quoted(missing)}{where}.{like}")
    if repeated := [name for name in wanted if source.names.count(name) > 1]:
        raise BadData(f"The data hold several columns called {quoted(repeated)}: rename them.")
    if asserted in source.names:  # its rows can be bounded, so nothing has to be asserted
        raise BadParameter(
            f"The data have a column {asserted!r}: name it as the privacy unit (`unit={asserted!r}`). "
            "`one_row_per` is for data without that column."
        )
    return source


def _require_numbers(name: str, column_type: pa.DataType) -> None:
    kind = plain(column_type)
    if not holds_numbers(kind):
        raise BadData(
            f"Column {name!r} holds {type_name(kind)}, not numbers: encode categories as 0/1 columns, "
            "dates as numbers of days."
        )


def _numbers(name: str, column: pa.ChunkedArray) -> Floats:
    _require_numbers(name, column.type)
    kind, values = plain(column.type), _decoded(column)
    if is_boolean(kind):
        values = values.cast(pa.int8())
    return _floats(values.cast(pa.float64(), safe=False))


def _floats(column: pa.ChunkedArray) -> Floats:
    """A float64 column without pyarrow's own conversion, which imports pandas."""
    missing = pa.Array.from_buffers(pa.float64(), 1, [None, pa.py_buffer(np.array([np.nan]))])[0]
    filled = pc.coalesce(column, missing)
    chunks = filled.chunks if isinstance(filled, pa.ChunkedArray) else [filled]
    parts = [np.from_dlpack(chunk) for chunk in chunks if len(chunk)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _require_labels(name: str, column_type: pa.DataType) -> None:
    kind = plain(column_type)
    if not (is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind) or is_text(kind)):
        raise BadData(f"Column {name!r} holds {type_name(kind)}: labels are integers, texts or booleans.")


def _labels(name: str, column: pa.ChunkedArray) -> Labels:
    _require_labels(name, column.type)
    kind, values = plain(column.type), _decoded(column)
    if values.null_count:  # a dictionary may hold a null
        raise _unlabelled(name)
    if is_boolean(kind):
        return _integers(name, values.cast(pa.int8())).astype(bool)
    if pa.types.is_integer(kind):
        return _integers(name, values)
    if pa.types.is_floating(kind):
        return _whole_floats(name, values)
    return _texts(name, values)


def _any_labels(name: str, column: pa.ChunkedArray) -> Labels:
    """Total for the types that labels may have: what is no UTF-8 is some text that no class is."""
    _require_labels(name, column.type)
    values, found = _decoded(column), np.empty(len(column), dtype=object)
    if is_text(values.type):
        raw = values.cast(pa.large_string()).cast(pa.large_binary()).to_pylist()
        found[:] = [None if text is None else text.decode(errors="surrogateescape") for text in raw]
    else:
        found[:] = values.to_pylist()
    return found


def typed_labels(data: object, name: str, texts: Sequence[str]) -> list[object]:
    """Labels that were given as texts, as the column of labels holds them. No value is read.

    Raises BadParameter for a text that the column's type cannot hold, and otherwise as `require_columns`.
    """
    column_type = _opened(data, [name]).type_of(name)
    _require_labels(name, column_type)
    kind = plain(column_type)
    if is_text(kind):
        return list(texts)
    read = _TRUTHS.__getitem__ if is_boolean(kind) else int if pa.types.is_integer(kind) else float
    try:
        return [read(text.strip()) for text in texts]
    except (KeyError, ValueError):
        raise BadParameter(f"classes must be labels that column {name!r} can hold: it has {type_name(kind)}.") from None


def _texts(name: str, column: pa.ChunkedArray) -> Labels:
    texts = np.empty(len(column), dtype=object)
    try:
        texts[:] = column.to_pylist()
    except UnicodeDecodeError:
        raise BadData(f"Column {name!r} holds texts that are not valid UTF-8: clean it first.") from None
    return texts


def _whole_floats(name: str, column: pa.ChunkedArray) -> Floats:
    values = _floats(column.cast(pa.float64()))
    if np.isnan(values).any():
        raise _unlabelled(name)
    if not (np.isfinite(values) & (values == np.rint(values))).all():
        raise BadData(f"Column {name!r} holds numbers that are not whole: labels are integers, texts or booleans.")
    return values


def _unlabelled(name: str) -> BadData:
    return BadData(
        f"Column {name!r} has rows without a label: leave them out first, or name the classes with "
        "`classes=['A', 'B']`, of which such rows count as the first."
    )


def _integers(name: str, column: pa.ChunkedArray) -> NDArray[np.int64]:
    try:
        return integers(column.cast(pa.int64()))
    except pa.ArrowInvalid:
        raise BadData(f"Column {name!r} holds integers beyond 64 bits with sign: number the labels from 0.") from None


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values behind a dictionary; those of views as texts of their own, as Arrow takes none of them."""
    if not pa.types.is_dictionary(column.type):
        return column
    kind = without_views(column.type.value_type)
    return pa.chunked_array([chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks], kind)


def _is_whole(column_type: pa.DataType) -> bool:
    kind = plain(column_type)
    return bool(is_boolean(kind) or pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale <= 0))


_WHOLE = "dpmine_whole"
SomeEstimator = TypeVar("SomeEstimator", bound="BaseEstimator")
"""Estimators in scikit-learn's style."""


def fit_table(
    estimator: SomeEstimator,
    data: object,
    *,
    label: str,
    features: Sequence[str],
    units: str | Sequence[str] = (),
    progress: Callable[[float], None] | None = None,
) -> SomeEstimator:
    """The estimator, trained on the named columns of a table; it remembers their names.

    `units` are the columns that name the privacy unit of a row together; without them each row is protected by itself.
    The label of a regressor is a column of numbers. A ledger is charged once the columns are known to be there, before
    any value is read. Where no classes are named, it is charged once the labels, which are public, were looked at.

    Raises BadParameter for no features, repeated ones, or the label among them; BadData and UnreadableFile as
    `read_columns`; else as `fit`.
    """
    from sklearn.base import is_regressor

    _require_apart(features, label)
    units = [units] if isinstance(units, str) else units
    numbers, labels = ([*features, label], []) if is_regressor(estimator) else (features, [label])
    charges: list[Charge | None] = []
    any_label = getattr(getattr(estimator, "estimator", estimator), "classes", None) is not None  # of a search, too
    prepare = estimator.charge if any_label or not labels else estimator.require_budget
    columns = read_columns(
        data,
        numbers,
        labels=labels,
        keys=units,
        asserted=None if units or estimator.unit == ROW else estimator.unit,
        any_label=any_label,
        progress=progress,
        ready=lambda: charges.append(prepare(features, units=unit_name(units))),
    )
    if len(columns[label]) < estimator.least_rows:
        raise BadData(NO_UNIT if units else "The file has no rows, and training needs some.")
    rows, found, charge = _frame(columns, features), units_of(columns, units), charges[0]
    if charge is not None:
        estimator.fit_charged(rows, columns[label], charge, found)
    else:
        estimator.fit(rows, columns[label], None if found is None else found.as_column())
    estimator.label_ = label
    return estimator


def unit_name(units: Sequence[str]) -> str | None:
    """What the guarantee calls the unit that these columns name together; None for none.

    Raises BadParameter for columns that repeat.
    """
    if len(set(units)) < len(units):
        raise BadParameter("A column of the privacy unit is named twice: name each once.")
    return ", ".join(units) or None


def units_of(columns: dict[str, Labels], units: Sequence[str]) -> Units | None:
    """The units of columns that were read as keys; None for none."""
    name = unit_name(units)
    return None if name is None else Units.of_keys([columns[unit] for unit in units], name)


def predict_table(
    estimator: BaseEstimator, data: object, *, progress: Callable[[float], None] | None = None
) -> pa.Table:
    """One row a row: `prediction`, and where the classifier has them `probability`.

    That is of the later of two classes; of more classes that of the prediction.
    Requires: an estimator with named features. The guarantee protects the rows it was trained on, not these.
    Raises BadData for columns that are missing or not numbers.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise BadData("The model has no names of features: train it on a table, or with named columns.")
    frame = _frame(read_columns(data, list(names), progress=progress), list(names))
    if not len(frame):  # which scikit-learn's conventions reject
        return predict_table(estimator, pa.table({name: [0.0] for name in names})).slice(0, 0)
    columns = {"prediction": pa.array(estimator.predict(frame).tolist())}
    if hasattr(estimator, "predict_proba"):
        chances = estimator.predict_proba(frame)
        columns["probability"] = pa.array(chances[:, 1] if chances.shape[1] == 2 else chances.max(axis=1))
    return pa.table(columns)


def whole_features(X: Entries) -> tuple[str, ...]:
    """The columns of a frame made here whose type in the table was an integer type; none for other frames.

    The types of a user's frame are not used: pandas infers them from the values, so one row could change them.
    """
    return tuple(getattr(X, "attrs", {}).get(_WHOLE, ()))


def _frame(columns: NamedColumns, names: Sequence[str]) -> DataFrame:
    import pandas as pd

    frame = pd.DataFrame({name: columns[name] for name in names}, copy=False)
    frame.attrs[_WHOLE] = [name for name in names if name in columns.whole]
    return frame


def _require_apart(features: Sequence[str], label: str) -> None:
    if not features:
        raise BadParameter("Name at least one feature (`features=['a', 'b', 'c']`).")
    if len(set(features)) < len(features):
        raise BadParameter("A feature is named twice: name each column once.")
    if label in features:
        raise BadParameter(
            f"The label '{label}' is among the features, and cannot predict itself: leave it out of `features=…`."
        )
