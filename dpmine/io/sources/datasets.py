"""Arrow data sets, of files in many places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmine.io.arrow import is_list
from dpmine.io.source import ArrowSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyarrow import dataset


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
