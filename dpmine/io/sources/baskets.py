"""Files with a basket on each line, as FIMI, SPMF and arules have them: items between blanks or a delimiter.

A line decides about itself alone, whatever bytes it holds. Files have a header only where the user says that they are
SPMF's. Its lines start with "@", and "@ITEM=85=odor: none" says what 85 stands for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dpmine.errors import UnreadableFile
from dpmine.io.arrow import text_array
from dpmine.io.files import READ_ERRORS
from dpmine.io.source import BASKETS_COLUMN, Source, share_of
from dpmine.io.sources.delimited import LONGEST_ROW, records, text_of, why_unreadable
from dpmine.io.sources.text_columns import require_declared, typed
from dpmine.io.unfit import UNSEEN, Unfit
from dpmine.later import pc
from dpmine.options.names import ENCODINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dpmine.io.files import DataFile
    from dpmine.io.input import Input

_NOTICE = (
    "each line is a basket; an empty one, one of more than 1 MiB, and one that starts with #, % or @ is left out; "
    "quotation marks are part of an item"
)
_HEADER_NOTICE = "the lines before the first basket that start with @ are public: they name items"
_NO_BASKET = r"^(\s*$|[#%@])"
_UNCOUNTED = r"^(\s*$|@(ITEM|CONVERTED))"
_NAMED = "@ITEM="
_HEADER = "@"
_NO_TEXT = "it is no text with a basket a line; write it again."


def open_baskets(given: Input, files: Iterable[DataFile]) -> BasketFiles:
    """The baskets as one column of lists; only the beginnings of files are read here.

    Raises UnreadableFile where that is not possible, and BadData for types of other columns.
    """
    opened = list(files)
    _headers(given, opened)  # raises before anything is charged
    return _baskets(given, opened, [{} for _ in opened], (_NOTICE,))


def open_spmf(given: Input, files: Iterable[DataFile]) -> BasketFiles:
    """The same for files with a header. Raises as above."""
    opened = list(files)
    return _baskets(given, opened, _headers(given, opened), (_NOTICE, _HEADER_NOTICE))


def _headers(given: Input, files: Sequence[DataFile]) -> list[dict[str, str]]:
    return [_item_names(file, given.encoding or ENCODINGS[0]) for file in files]


def _baskets(
    given: Input, files: Sequence[DataFile], item_names: Sequence[dict[str, str]], notices: tuple[str, ...]
) -> BasketFiles:
    hint = f"in files of baskets, whose only column is {BASKETS_COLUMN!r}"
    require_declared([BASKETS_COLUMN], given.kinds, hint)
    kind = given.kinds.get(BASKETS_COLUMN, pa.string())
    encoding = given.encoding or ENCODINGS[0]
    return BasketFiles(files, item_names, given.separator, encoding, kind, notices, given.formats)


@dataclass(eq=False)
class BasketFiles(Source):
    """Baskets of files.

    Attributes:
        files: they are read one after the other.
        item_names: what items stand for, by file.
        delimiter: what separates items; None for blanks.
        encoding: of the text.
        kind: of the items.
        notices: on the lines: see `Source.cautions`.
        formats: how items are written that are dates, by the only column.
        unfit: what is done with lines that are left out, apart from blank ones and headers.
    """

    files: Sequence[DataFile]
    item_names: Sequence[dict[str, str]]
    delimiter: str | None
    encoding: str
    kind: pa.DataType
    notices: tuple[str, ...]
    formats: Mapping[str, str] = field(default_factory=dict)
    unfit: Unfit = UNSEEN
    rows: int | None = None
    header_hint: str | None = None
    _read: int = field(default=0, init=False)

    @property
    def names(self) -> tuple[str, ...]:
        """One column."""
        return (BASKETS_COLUMN,)

    @property
    def repeatable(self) -> bool:
        """Whether all files are."""
        return all(file.repeatable for file in self.files)

    def type_of(self, name: str) -> pa.DataType:  # noqa: ARG002 - there is one column
        """Lists of items."""
        return pa.list_(self.kind)

    def handling(self, unfit: Unfit) -> BasketFiles:
        """See `Source.handling`."""
        return replace(self, unfit=unfit)

    def cautions(self, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002 - there is one column
        """See `Source.cautions`."""
        return self.notices

    def share(self, done: int) -> float | None:  # noqa: ARG002 - rows are not counted
        """See `Source.share`."""
        total = sum(size or 0 for size in self._sizes)
        return None if None in self._sizes or not total else share_of(self._read, total)

    @cached_property
    def _sizes(self) -> list[int | None]:
        return [file.size() for file in self.files]

    def batches(self, names: Sequence[str], *, whole: bool = False) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - lists
        """The baskets, piece by piece. Raises UnreadableFile."""
        before = 0
        self.unfit.begin()
        for file, item_names, size in zip(self.files, self.item_names, self._sizes, strict=True):
            try:
                with file.open() as stream:
                    for lines in records(text_of(file, stream, self.encoding), across_lines=False):
                        self._read = before + (stream.tell() if file.path else 0)
                        lists = self._lists(self._kept(lines), item_names)
                        yield pa.RecordBatch.from_arrays([lists], names=[BASKETS_COLUMN])
            except READ_ERRORS as error:
                raise UnreadableFile(f"{file.shown} cannot be read: {why_unreadable(error, _NO_TEXT)}") from None
            before += size or 0

    def _kept(self, lines: pa.Array) -> pa.Array:
        """Those that are baskets, as text."""
        short = lines.filter(pc.less_equal(pc.binary_length(lines), LONGEST_ROW)).cast(pa.string())
        is_none = pc.match_substring_regex(short, _NO_BASKET)
        kept, uncounted = short.filter(pc.invert(is_none)), pc.match_substring_regex(short.filter(is_none), _UNCOUNTED)
        self.unfit.leave_out(len(lines) - len(kept) - (pc.sum(uncounted).as_py() or 0))
        return kept

    def _lists(self, lines: pa.Array, item_names: dict[str, str]) -> pa.ListArray:
        """The items of each line."""
        blanks = self.delimiter is None
        parts = pc.ascii_split_whitespace(lines) if blanks else pc.split_pattern(lines, self.delimiter)
        items = pc.utf8_trim_whitespace(parts.flatten())
        is_item = pc.not_equal(items, "")
        lengths = np.bincount(pc.list_parent_indices(parts).filter(is_item), minlength=len(lines))
        items = items.filter(is_item)
        if item_names:
            places = pc.index_in(items, text_array(list(item_names)).cast(items.type))
            items = pc.coalesce(text_array(list(item_names.values())).cast(items.type).take(places), items)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return pa.ListArray.from_arrays(
            pa.array(offsets), typed(items, self.kind, written=self.formats.get(BASKETS_COLUMN, ""))
        )


def _item_names(file: DataFile, encoding: str) -> dict[str, str]:
    """What the header says of items."""
    named: dict[str, str] = {}
    try:
        with file.open() as stream:
            text = text_of(file, stream, encoding)
            while (line := text.readline(LONGEST_ROW)).startswith(_HEADER):
                item, _, name = line.rstrip("\r\n").removeprefix(_NAMED).partition("=")
                if line.startswith(_NAMED) and name:
                    named.setdefault(item, name)  # or a basket that looks like a header would rename what has a name
    except READ_ERRORS as error:
        raise UnreadableFile(f"{file.shown} cannot be read: {why_unreadable(error, _NO_TEXT)}") from None
    return named
