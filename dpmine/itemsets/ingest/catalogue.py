"""The catalogue: the items that can be bought, given by the user as public knowledge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from dpmine.errors import BadData, BadParameter, UnreadableFile, require_memory
from dpmine.io.arrow import (
    LONGEST_TEXT,
    VERIFIED,
    can_be_item,
    is_mixed,
    is_text,
    plain,
    type_name,
    without_long_texts,
)
from dpmine.io.files import NO_FILE, READ_ERRORS, ROWS_MISSING, locate, reason, shown_name
from dpmine.io.python_values import item_array
from dpmine.io.source import quoted
from dpmine.io.sources.parquet import MAGIC, read_footer
from dpmine.itemsets.ingest.encode import narrow, plain_items, sorted_items
from dpmine.later import pc
from dpmine.options.names import PARQUET

_MARK = b"\xef\xbb\xbf"  # of UTF-8, at the beginning of a file
REMARK = "# dpmine: "
"""What the first lines of a text file may begin with: they are no items, but say where the catalogue comes from."""


def read_catalogue(source: object) -> pa.Array:
    """A public list of items, sorted: int64, or string.

    `source` is a sequence of integers or texts, an Arrow array, or the path or URL of a file. A file is a Parquet file
    with one column, or a text file: UTF-8, one item per line. Empty lines, and the remarks of dpmine at the start, are
    ignored. Items of a text file are texts; `matched` reads them as integers where the data's items are.

    Raises UnreadableFile for the file. Raises BadData where the catalogue is empty, repeats an item, or holds nulls or
    other types. Raises BadParameter where `source` is none of the above.
    """
    if isinstance(source, str | PathLike):
        name = shown_name(str(source))
        return _checked(_file_items(str(source), name), f"The catalogue {name}")
    return _checked(_given_items(source), "The catalogue")


def matched(catalogue: pa.Array, kind: pa.DataType) -> pa.Array:
    """The catalogue, sorted, as items of the declared type `kind`; its own where Python values have none.

    Raises BadData where integers meet texts; texts that are all integers are read as integers.
    """
    catalogue = _checked(catalogue, "The catalogue")
    if pa.types.is_null(kind) or is_mixed(kind) or pa.types.is_integer(kind) == pa.types.is_integer(catalogue.type):
        return catalogue
    if is_text(kind):
        raise BadData("The catalogue holds integers, but the data's items are texts: give the catalogue as texts.")
    return _checked(_as_integers(catalogue), "The catalogue, read as integers,")


def _checked(items: pa.Array, owner: str) -> pa.Array:
    """The items sorted, as labels; BadData, speaking of `owner`, where they are no catalogue."""
    if isinstance(items, pa.ChunkedArray):
        items = items.combine_chunks()
    if pa.types.is_dictionary(items.type):
        items = items.cast(plain(items.type))
    _require_items(items.type, owner)
    if not len(items):
        raise BadData(f"{owner} is empty: write every item that can be bought into it, one per line.")
    if items.null_count:
        raise BadData(f"{owner} holds an entry without a value: remove it.")
    if items.type == pa.uint64() and pc.max(items).as_py() >= 2**63:
        raise BadData(f"{owner} holds integers beyond int64: make all items texts, in the data, too.")
    if without_long_texts(pa.chunked_array([items])).null_count:
        raise BadData(f"{owner} holds a text of more than {LONGEST_TEXT:,} bytes: no item of the data can be so long.")
    items = sorted_items(items.cast(pa.int64()) if pa.types.is_integer(items.type) else plain_items(items))
    try:
        items.validate(full=True)
    except pa.ArrowException:
        raise BadData(f"{owner} holds texts that are not valid UTF-8: clean it first.") from None
    if pc.any(pc.equal(items[1:], items[:-1])).as_py():
        raise BadData(f"{owner} repeats an item: list each item once.")
    return narrow(items)


def _require_items(kind: pa.DataType, owner: str) -> None:
    if not can_be_item(kind):
        raise BadData(f"{owner} holds the type {type_name(kind)}: items must be integers or texts.")


def _as_integers(items: pa.Array) -> pa.Array:
    wrong = (
        "The data's items are integers, but the catalogue holds an entry that is no integer up to 2^63 - 1: "
        "correct it, or make the data's items texts."
    )
    if not pc.all(pc.match_substring_regex(items, r"^[+-]?[0-9]+$")).as_py():
        raise BadData(wrong)
    try:
        return pc.utf8_ltrim(items, "+").cast(pa.int64())
    except pa.ArrowInvalid:
        raise BadData(wrong) from None


def _given_items(source: object) -> pa.Array:
    if isinstance(source, pa.Array | pa.ChunkedArray):
        return source
    if isinstance(source, bytes | Mapping) or not isinstance(source, Iterable):
        raise BadParameter(
            f"catalogue must not be a {type(source).__name__}: give a path, a sequence of items or an Arrow array."
        )
    items = list(source)
    if any(item is None for item in items):
        raise BadData("The catalogue holds an entry without a value: remove it.")
    return item_array(items, "The catalogue's entries")


def _file_items(path: str, name: str) -> pa.Array:
    content = _content(path, name)
    if content[:4].to_pybytes() in MAGIC:
        return _parquet_items(content, name)
    if name.endswith(PARQUET.endings):
        raise UnreadableFile(f"The catalogue {name} is no Parquet file in spite of its name: write it again.")
    return _text_items(content, name)


def _content(path: str, name: str) -> pa.Buffer:
    system, inside = locate(path)
    try:
        is_special = system.get_file_info(inside).type == fs.FileType.Unknown
        content = None if is_special else system.open_input_file(inside).read_buffer()
    except (pa.ArrowException, OSError) as error:
        require_memory(error)
        why = reason(error) if isinstance(error, FileNotFoundError | PermissionError) else "give the name of one file."
        raise UnreadableFile(f"The catalogue {name} cannot be read: {why}") from None
    if content is None:
        raise UnreadableFile(f"The catalogue {name} {NO_FILE}")
    return content


def _text_items(content: pa.Buffer, name: str) -> pa.Array:
    """The lines that are not empty, without a Python object for each."""
    marked = len(_MARK) if content[: len(_MARK)].to_pybytes() == _MARK else 0
    ends = pa.py_buffer(np.array([marked, len(content)], np.int64))
    text = pa.Array.from_buffers(pa.large_string(), 1, [None, ends, content])
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        raise UnreadableFile(f"The catalogue {name} is not UTF-8 text: convert it, or give a Parquet file.") from None
    lines = pc.replace_substring_regex(pc.split_pattern(text, "\n").flatten(), "\r$", "")
    first = 0
    while first < len(lines) and lines[first].as_py().startswith(REMARK):
        first += 1
    items = lines[first:]
    return items.filter(pc.binary_length(items).cast(pa.bool_()))


def _parquet_items(content: pa.Buffer, name: str) -> pa.Array:
    with _explained(name):
        footer = read_footer(pa.BufferReader(content))
        schema = footer.schema.to_arrow_schema()
    if len(schema) != 1:
        raise BadData(
            f"The catalogue {name} must have one column, not several: {quoted(schema.names[:20])}. Write the items "
            "alone."
        )
    _require_items(plain(schema.types[0]), f"The catalogue {name}")
    with _explained(name):
        table = pq.read_table(pa.BufferReader(content), **VERIFIED)
        if any(pa.types.is_dictionary(kind) for kind in table.schema.types):
            table.validate(full=True)  # Arrow looks up codes of a damaged page unchecked
    if table.num_rows != footer.num_rows:
        raise UnreadableFile(f"The catalogue {name} cannot be read: {ROWS_MISSING}")
    return table.column(0)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except READ_ERRORS as error:
        raise UnreadableFile(f"The catalogue {name} cannot be read: {reason(error)}") from None
