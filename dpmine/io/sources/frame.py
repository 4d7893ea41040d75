"""Data frames of pandas and polars, data sets and streams of Arrow; not arrays, which have no names.

Types come from the frame where it declares them, else from the options.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpmine.errors import BadData, require_memory
from dpmine.io.arrow import MIXED, is_list
from dpmine.io.python_values import item_array, object_array, valid_text
from dpmine.io.source import BATCH_ROWS, FOREIGN_ERRORS, ArrowSource, Columns, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    import polars as pl
    from numpy.typing import NDArray
    from pyarrow import dataset

_PLAIN_KINDS = "biuM"  # numpy kinds whose Arrow type is known without looking at the values


class PandasSource(Source):
    """The columns of a data frame, its index left out, converted as they are needed.

    Column labels may be integers, as item labels of a one-hot frame are; columns are then named by their text. What the
    user named, `columns`, decides how objects are read.
    """

    repeatable = True

    def __init__(self, frame: pd.DataFrame, columns: Columns) -> None:
        if frame.columns.nlevels > 1:
            raise BadData("The data frame's columns have several levels: flatten them to one name a column.")
        self._frame, self._named = frame, columns
        self._converted: dict[str, pa.ChunkedArray] = {}

    @property
    def rows(self) -> int:
        """Rows of the frame."""
        return len(self._frame)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column labels as texts, in order."""
        return tuple(map(str, self._labels))

    @cached_property
    def _labels(self) -> list[str]:
        return self._frame.columns.tolist()

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def _kinds(self) -> list[object]:
        return list(self._frame.dtypes)

    @cached_property
    def _plain_types(self) -> dict[Any, pa.DataType]:
        """Arrow's types of those kinds of the columns that need no look at the values."""
        plain = {kind for kind in set(self._kinds) if isinstance(kind, np.dtype) and kind.kind in _PLAIN_KINDS}
        return {kind: pa.from_numpy_dtype(kind) for kind in plain}

    def type_of(self, name: str) -> pa.DataType:
        """Arrow type of a column, by its dtype and the options alone; BadData where Arrow does not know the dtype."""
        kind = self._kinds[self._positions[name]]
        if _is_untyped(kind):
            return self._type_of_objects(name)
        known = self._plain_types.get(kind)
        return self._column(name).type if known is None else known

    def _type_of_objects(self, name: str) -> pa.DataType:
        """As what `object_array` is to read the values: a value that decided would decide for those of others, too."""
        if self._named.one_hot and name not in self._named.unit:
            return pa.int64()
        are_lists = self._named == Columns() and self.names == (name,) and name in self.objects
        return pa.large_list(MIXED) if are_lists or name == self._named.items else MIXED

    @cached_property
    def objects(self) -> frozenset[str]:
        """See `Source.objects`."""
        return frozenset(name for name, kind in zip(self.names, self._kinds, strict=True) if _is_object(kind))

    def untyped(self, names: Sequence[str]) -> list[str]:
        """Those of the columns whose type the frame does not declare apart from the values: objects and categories."""
        return [name for name in names if _is_untyped(self._kinds[self._positions[name]])]

    def labels(self, names: Sequence[str]) -> pa.Array:
        """The column labels, integers kept; BadData where they are neither all integers nor all texts."""
        if self._are_all(names):
            return self._all_labels
        return _frame_labels([self._labels[self._positions[name]] for name in names])

    @cached_property
    def _all_labels(self) -> pa.Array:
        return _frame_labels(self._labels)

    def are_boolean(self, names: Sequence[str]) -> bool:
        """Whether all these columns hold booleans."""
        return self._kinds_of(names) == {np.dtype(np.bool_)} or super().are_boolean(names)

    def are_plain(self, names: Sequence[str]) -> bool:
        """Whether these columns are all booleans, or all integers of one width, that numpy holds: no value is null."""
        kinds = self._kinds_of(names)
        return len(kinds) == 1 and all(isinstance(kind, np.dtype) and kind.kind in "biu" for kind in kinds)

    def _kinds_of(self, names: Sequence[str]) -> set[Any]:
        return set(self._kinds if self._are_all(names) else [self._kinds[self._positions[name]] for name in names])

    def _are_all(self, names: Sequence[str]) -> bool:
        """Whether these are all columns, which then need not be looked up one by one."""
        return names == self.names

    def values(self, names: Sequence[str], first: int, end: int) -> NDArray[Any]:
        """A matrix of the rows from `first` to `end` and these columns, which `are_plain`; a view where that is one."""
        matrix: NDArray[Any] = self._frame.iloc[first:end, self._places(names)].to_numpy()
        return matrix

    def _places(self, names: Sequence[str]) -> slice | list[int]:
        """Where the columns stand: a slice of a frame need not be copied."""
        if self._are_all(names):
            return slice(None)
        places = [self._positions[name] for name in names]
        is_range = places == list(range(places[0], places[0] + len(places)))
        return slice(places[0], places[-1] + 1) if is_range else places

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - as they are
        """The named columns."""
        table = pa.table({name: self._column(name) for name in names})
        return iter(table.to_batches(max_chunksize=BATCH_ROWS))

    def _column(self, name: str) -> pa.ChunkedArray:
        if name not in self._converted:
            series = self._frame.iloc[:, self._positions[name]]
            known = self._type_of_objects(name) if _is_untyped(series.dtype) else None
            self._converted[name] = _typed(series, name) if known is None else _objects(series, known)
        return self._converted[name]


def _is_object(kind: object) -> bool:
    """Whether values are objects of Python, also in sparse columns."""
    return bool(getattr(kind, "subtype", kind) == np.dtype(object))


def _is_untyped(kind: object) -> bool:
    """Whether a dtype leaves open what the values are: the categories of a column depend on its values, too."""
    return _is_object(kind) or hasattr(kind, "categories")


def _objects(series: pd.Series[Any], kind: pa.DataType) -> pa.ChunkedArray:
    """Each value by itself. Whole floats among categories are integers: beside a 2.5, pandas makes them of integers."""
    if not hasattr(series.dtype, "categories"):
        return pa.chunked_array([object_array(series.astype(object).to_numpy().tolist(), kind)])
    codes, categories = series.cat.codes.to_numpy(), series.cat.categories.astype(object).tolist()
    exact = [int(value) if isinstance(value, float) and value.is_integer() else value for value in categories]
    return pa.chunked_array([object_array(exact, kind).take(pa.array(codes, mask=codes < 0))])


def _frame_labels(labels: Sequence[object]) -> pa.Array:
    return item_array(labels, "The data frame's column labels")


def _typed(series: Any, name: str) -> pa.ChunkedArray:
    """The series in Arrow, whose dtype says what it holds."""
    if hasattr(series.dtype, "fill_value"):
        series = series.sparse.to_dense()
    try:
        column = _arrow_array(series)
    except FOREIGN_ERRORS as error:
        require_memory(error)
        raise BadData(
            f"Column {name!r} has a type that Arrow does not know: convert it first, for example with "
            "astype('Int64') or astype(str)."
        ) from None
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _arrow_array(series: pd.Series[Any]) -> pa.Array | pa.ChunkedArray:
    """The series in Arrow, with U+FFFD for what is no Unicode in its texts."""
    try:
        return pa.array(series, from_pandas=True)
    except UnicodeError:
        valid = series.map(valid_text, na_action="ignore").astype(series.dtype)
        return pa.array(valid, from_pandas=True)


def holds_lists(series: pd.Series[Any]) -> bool:
    """Whether a series can be one of baskets, by its dtype: objects, which `basket_lists` reads, or lists of Arrow."""
    kind = getattr(series.dtype, "pyarrow_dtype", None)
    return _is_object(series.dtype) if kind is None else is_list(kind)


def open_lazy(frame: pl.LazyFrame) -> ArrowSource:
    """A query of polars, run for the columns that are read, in pieces."""

    def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
        for piece in frame.select(names).collect_batches():
            yield from pa.RecordBatchReader.from_stream(piece)

    try:
        schema = pa.RecordBatchReader.from_stream(frame.collect_schema().to_frame()).schema
    except FOREIGN_ERRORS as error:
        require_memory(error)
        raise BadData("The LazyFrame has no schema: what it reads may be missing, or its query is wrong.") from None
    return ArrowSource(schema, batches, repeatable=True)


def open_dataset(data: dataset.Dataset, *, repeatable: bool) -> ArrowSource:
    """The columns of a data set of Arrow's."""
    return ArrowSource(data.schema, lambda names: _scanned(data, names), repeatable=repeatable)


def _scanned(data: dataset.Dataset, names: list[str]) -> Iterator[pa.RecordBatch]:
    """The named columns of a data set. Raises ValueError where Arrow leaves rows out, as it may where lists are."""
    done = 0
    scanner = data.scanner(columns=names, use_threads=False)  # threads hold more row groups at once
    for batch in scanner.to_batches():
        yield batch
        done += batch.num_rows
    if any(is_list(data.schema.field(name).type) for name in names) and done != data.count_rows():
        raise ValueError


def stream_of(data: Any) -> pa.RecordBatchReader:
    """The batches of what gives a stream of Arrow's. Raises BadData."""
    if isinstance(data, pa.RecordBatchReader):
        return data
    try:
        return pa.RecordBatchReader.from_stream(data)
    except FOREIGN_ERRORS as error:
        require_memory(error)
        raise BadData(
            f"A {type(data).__name__} is not a table of columns: give a data frame (series.to_frame())."
        ) from None


def require_no_array(data: object) -> None:
    """BadData for arrays, matrices and series, by their type: items need names, and units columns.

    An array of one dimension that holds Python objects is a sequence of baskets.
    """
    kind = type(data)
    if isinstance(data, np.ndarray) and data.dtype == object and data.ndim == 1:
        return
    is_array = hasattr(kind, "dtype") or hasattr(kind, "__arrow_c_array__")
    if not is_array and (hasattr(kind, "__arrow_c_stream__") or not hasattr(kind, "ndim")):
        return
    way = ", such as series.to_frame()" if hasattr(kind, "to_frame") else ""
    if isinstance(data, np.ndarray) or hasattr(kind, "tocsr"):
        way = ", or the names of its columns, items=[names]"
    raise BadData(f"A {kind.__name__} is not a table of columns with names: give a data frame{way}.")
