"""Parquet files: their columns in the types that hold the values of all files, partition keys among them."""

from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpmine.errors import BadData, UnreadableFile, require_memory
from dpmine.io.arrow import VERIFIED, common_type, first_types, integer_array, is_text, text_array, type_name
from dpmine.io.files import READ_ERRORS, ROWS_MISSING, Encrypted, reason
from dpmine.io.source import Source
from dpmine.later import pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dpmine.io.files import DataFile
    from dpmine.io.input import Input


_LARGEST_DICTIONARY = 2**17  # texts: a larger dictionary takes longer to repeat than a batch to read
MAGIC = (b"PAR1", b"PARE")
"""How Parquet files begin and end; the second where the footer is encrypted."""
_TAIL = 8  # bytes behind a footer: its length, and the magic word
_SIGNATURE = 28  # bytes behind a readable footer of a file with encrypted columns, counted in the footer's length
_ARROW_SCHEMA = b"ARROW:schema"
_READING = {**VERIFIED, "coerce_int96_timestamp_unit": "us"}  # far timestamps overflow in nanoseconds
_MANY_ROWS = 2**18  # in a batch with dictionaries, which are made again for every batch, or of numbers that are kept
_FEW_ROWS = 2**16  # in a batch of other values, which take more memory
_FEWEST_ROWS = 2**13  # in one of texts or lists that is read piece by piece: footers do not tell their length
_FEW_COLUMNS = 4
_MOST_THREADED = 64  # columns: reading is slower with threads where there are hundreds (measured)


@dataclass(frozen=True, eq=False)
class File:
    """One Parquet file whose footer was read.

    Attributes:
        found: where it is.
        footer: Parquet metadata.
        schema: the columns inside it.
        keys: the partition keys of its path that are not columns inside it.
    """

    found: DataFile
    footer: pq.FileMetaData
    schema: pa.Schema
    keys: Keys

    def batches(
        self, names: Sequence[str], *, dictionaries: Sequence[str] = (), threads: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """The named columns inside the file; UnreadableFile where it is damaged, or where Arrow leaves rows out.

        Those in `dictionaries` come as dictionaries, as long as their texts repeat. A writer gives a dictionary up when
        it grows too large, and Arrow then makes a larger and larger one, again for every batch.
        """
        done = 0
        try:
            with self.found.open() as stream:
                for batch in self._read(stream, list(names), list(dictionaries), threads=threads):
                    _require_known_codes(batch, [*dictionaries, *self._dictionaries.intersection(names)])
                    yield batch
                    done += batch.num_rows
        except READ_ERRORS as error:
            raise UnreadableFile(f"{self.found.shown} cannot be read: {reason(error)}") from None
        if done != self.footer.num_rows:
            raise UnreadableFile(f"{self.found.shown} cannot be read: {ROWS_MISSING}")

    @cached_property
    def _dictionaries(self) -> frozenset[str]:
        """The columns that Arrow reads as dictionaries without being asked to."""
        kinds = zip(self.schema.names, self.schema.types, strict=True)
        return frozenset(name for name, kind in kinds if pa.types.is_dictionary(kind))

    def _are_few_numbers(self, names: Sequence[str]) -> bool:
        """Whether many rows of these columns take a few MB."""
        kinds = first_types(self.schema)
        return len(names) <= _FEW_COLUMNS and all(pa.types.is_primitive(kinds[name]) for name in names)

    def _rows_of(self, names: Sequence[str], *, whole: bool) -> int:
        """How many rows of these columns are read at a time."""
        if self._are_few_numbers(names):
            return _MANY_ROWS if whole else _FEW_ROWS
        return _FEW_ROWS if whole else _FEWEST_ROWS

    def _read(
        self,
        stream: pa.NativeFile,
        names: list[str],
        dictionaries: list[str],
        *,
        threads: bool,
    ) -> Iterator[pa.RecordBatch]:
        done = 0
        reading = {**_READING, "pre_buffer": "://" in self.found.shown}  # row groups ahead, which remote files need
        reader = pq.ParquetFile(stream, metadata=self.footer, read_dictionary=dictionaries, **reading)
        for batch in reader.iter_batches(
            batch_size=_MANY_ROWS if dictionaries else self._rows_of(names, whole=threads),
            columns=names,
            use_threads=threads and len(names) <= _MOST_THREADED,
        ):
            yield batch
            done += batch.num_rows
            coded = [batch.column(name) for name in dictionaries]
            if any(
                len(column.dictionary) > _LARGEST_DICTIONARY for column in coded if pa.types.is_dictionary(column.type)
            ):
                plain = pq.ParquetFile(stream, metadata=self.footer, **reading)
                yield from _behind(done, plain.iter_batches(batch_size=_FEW_ROWS, columns=names, use_threads=threads))
                return


@dataclass(frozen=True, eq=False)
class FileSource(Source):
    """The columns of Parquet files, the keys of hive partitions among them."""

    files: tuple[File, ...]
    repeatable = True

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names of the first file, then its partition keys."""
        return (*self.files[0].schema.names, *self.files[0].keys)

    @cached_property
    def _kinds(self) -> list[dict[str, pa.DataType]]:
        """The types of the columns by name, for each of the different schemas and sets of keys among the files."""
        first, *others = self.files
        different = [
            first,
            *(file for file in others if file.keys != first.keys or not file.schema.equals(first.schema)),
        ]
        return [first_types(file.schema) | dict.fromkeys(file.keys, KEY_TYPE) for file in different]

    def type_of(self, name: str) -> pa.DataType:
        """The type that holds a column's values in all files; BadData where there is none."""
        kinds = [kinds[name] for kinds in self._kinds if name in kinds]
        if len(kinds) < len(self._kinds):
            raise BadData(f"Column {name!r} is missing in some of the files: leave out those without it.")
        kind = kinds[0] if len(kinds) == 1 else common_type(kinds)
        if kind is None:
            several = ", ".join(dict.fromkeys(map(type_name, kinds)))
            raise BadData(f"Column {name!r} has different types in different files ({several}): convert them to one.")
        return kind

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.footer.num_rows for file in self.files)

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:
        """The named columns, file by file, in the types that hold the values of all files.

        Read as a whole, texts that repeat stay the dictionaries of the files: three times faster (measured). Piece
        by piece, there is one thread: Arrow's allocator keeps about 30 MB for several (measured), and counting takes
        longer than reading.
        """
        kinds = {name: self.type_of(name) for name in names}
        coded = {name for name, kind in kinds.items() if whole and is_text(kind)}
        schema = pa.schema(
            [(name, pa.dictionary(pa.int32(), kind) if name in coded else kind) for name, kind in kinds.items()]
        )
        for file in self.files:
            inside = [name for name in names if name not in file.keys]
            texts = [name for name in inside if name in coded or pa.types.is_dictionary(kinds[name])]
            for batch in file.batches(inside, dictionaries=texts, threads=whole):
                if batch.schema.equals(schema):
                    yield batch.replace_schema_metadata(None)
                    continue
                columns = [self._column(file, batch, field) for field in schema]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def require_room(self, names: Sequence[str], limit: int) -> None:
        """UnreadableFile where a column takes more than `limit` bytes in one row group, as the footers say.

        A row group may be read at once only, and no value is longer than what its row group takes.
        """
        for file in self.files:
            try:
                largest = _largest_chunk(file.footer, {*names})
            except READ_ERRORS as error:
                raise UnreadableFile(f"{file.found.shown} cannot be read: {reason(error)}") from None
            if largest > limit:
                raise UnreadableFile(
                    f"{file.found.shown} has a row group that does not fit into the memory limit: raise `memory`, "
                    "or write the file with smaller row groups."
                )

    def _column(self, file: File, batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        if field.name not in file.keys:
            return _cast(batch.column(field.name), field.type)
        return _cast(key_column(file.keys[field.name], batch.num_rows), field.type)


def _require_known_codes(batch: pa.RecordBatch, names: Iterable[str]) -> None:
    """ArrowInvalid where a damaged page has codes that its dictionary has no text for: Arrow does not look."""
    for column in map(batch.column, names):
        if not pa.types.is_dictionary(column.type):
            continue
        bounds = pc.min_max(column.indices)
        if bounds["min"].is_valid and not 0 <= bounds["min"].as_py() <= bounds["max"].as_py() < len(column.dictionary):
            raise pa.ArrowInvalid


def _behind(rows: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches without the first rows."""
    for batch in batches:
        if rows < batch.num_rows:
            yield batch.slice(rows)
        rows = max(0, rows - batch.num_rows)


def open_parquet(_given: Input, files: Iterable[DataFile]) -> Source:
    """The columns of Parquet files; only footers are read here. Raises UnreadableFile where one is no Parquet file."""
    return FileSource(tuple(map(open_file, files)))


def open_file(found: DataFile) -> File:
    """A file with its footer; UnreadableFile where that cannot be read."""
    try:
        with found.open() as stream:
            footer = read_footer(stream)
            schema = _schema(stream, footer)
            if any(pa.types.is_dictionary(kind.value_type) for kind in schema.types if hasattr(kind, "value_type")):
                footer = _plain_footer(stream)
                schema = _schema(stream, footer)
            inside = set(schema.names)
    except READ_ERRORS as error:
        raise UnreadableFile(f"{found.shown} cannot be read: {reason(error)}") from None
    keys = {key: value for key, value in partition_keys(found.path, found.base).items() if key not in inside}
    return File(found, footer, schema, keys)


def _schema(stream: pa.NativeFile, footer: pq.FileMetaData) -> pa.Schema:
    return pq.ParquetFile(stream, metadata=footer, **_READING).schema_arrow.remove_metadata()


def read_footer(stream: pa.NativeFile) -> pq.FileMetaData:
    """The metadata of an open file. Raises Encrypted, also where columns alone are: Arrow would end the process there.

    Raises what Arrow raises for damaged files.
    """
    stream.seek(max(0, stream.size() - _TAIL))
    tail = stream.read(_TAIL)
    if tail.endswith(MAGIC[1]):
        raise Encrypted
    footer = pq.read_metadata(stream)
    if int.from_bytes(tail[:4], "little") == footer.serialized_size + _SIGNATURE:
        raise Encrypted
    return footer


def _plain_footer(stream: pa.NativeFile) -> pq.FileMetaData:
    """The footer without the schema that Arrow adds: lists of dictionaries are then lists of their values.

    As dictionaries, Arrow reads them from one row group at a time only.
    """
    stream.seek(stream.size() - _TAIL)
    length = int.from_bytes(stream.read(4), "little")
    stream.seek(stream.size() - _TAIL - length)
    content = stream.read(length + _TAIL)
    before, key, after = content.rpartition(_ARROW_SCHEMA)
    return pq.ParquetFile(pa.BufferReader(MAGIC[0] + before + key.lower() + after)).metadata


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """In the type that all files share; a value that it cannot hold is missing: no row may stop a charged run."""
    if column.type == kind:
        return column
    try:
        return column.cast(kind)
    except pa.ArrowInvalid as error:
        require_memory(error)
    if len(column) == 1:
        return pa.nulls(1, kind)
    half = len(column) // 2
    return pa.concat_arrays([_cast(column[:half], kind), _cast(column[half:], kind)])


Keys: TypeAlias = dict[str, str | None]
"""Partition keys of one file with their values, None for null."""

_NULL = "__HIVE_DEFAULT_PARTITION__"


def partition_keys(path: str, base: str) -> Keys:
    """The keys that the folders between `base` and the file give."""
    folders = PurePosixPath(path.removeprefix(base).strip("/")).parts[:-1]
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return {unquote(key): None if value == _NULL else unquote(value) for key, value in pairs}


KEY_TYPE = pa.dictionary(pa.int64(), pa.large_string())
"""The type of every partition key: text, also where all values look like integers.

A type found from the values would depend on single rows. One unit's folder "tattoo" would turn the other items from 9
into "9" in a released result.
"""


def key_column(value: str | None, rows: int) -> pa.Array:
    """A key's column of `rows` equal values."""
    if value is None:
        return pa.nulls(rows, KEY_TYPE)
    return pa.DictionaryArray.from_arrays(integer_array(np.zeros(rows, np.int64)), text_array([value]))


class _RowsWanted(Exception):
    """The entry is sound: the reader came as far as the rows."""


class _NoRows(io.RawIOBase):
    """In place of the file."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return offset + 2**62 * (whence == io.SEEK_END)

    def tell(self) -> int:
        return 2**62

    def read(self, *_: object) -> bytes:
        raise _RowsWanted


def _largest_chunk(footer: pq.FileMetaData, names: set[str]) -> int:
    """The most bytes that one of the columns, or a part of a nested one, takes in a row group before compression.

    Raises what Arrow raises for damaged files. Of the file itself nothing is read. Arrow ends the process where Python
    asks for a damaged entry of a footer: its C++ throws where nothing catches. While it reads rows it does catch. So
    each entry is first met by a reader that gets no row.
    """
    if not names:
        return 0
    paths = [footer.schema.column(place).path for place in range(footer.num_columns)]
    places = [place for place, path in enumerate(paths) if names.intersection(_prefixes(path))]
    reader = pq.ParquetFile(_NoRows(), metadata=footer)
    largest = 0
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for place in places:
            with suppress(_RowsWanted):
                reader.read_row_group(number, columns=[paths[place]], use_threads=False)
            largest = max(largest, group.column(place).total_uncompressed_size)
    return largest


def _prefixes(path: str) -> Iterator[str]:
    """The column and all that it may be a part of; a column's own name may contain dots."""
    parts = path.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts) + 1))
