"""Arrays and Arrow tables in a temporary file that no other user can open and that never outlives the process.

The file has no name where the system allows it (O_TMPFILE, or unlinked at once), so that it vanishes with the process
whatever ends it, a kill included, and is readable by its owner only. It stands in the folder for temporary files,
which the environment variable TMPDIR names.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from dpmine.errors import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Number = TypeVar("Number", bound=np.generic)

_ADVICE = "set TMPDIR to a folder on a disk with room, or raise memory (--memory)."


@dataclass(frozen=True)
class Extent:
    """A stretch of the file, in bytes."""

    start: int
    length: int


class SpillFile:
    """A temporary file to which arrays and tables are appended, and from which they are read back.

    Raises UnreadableFile where the disk is full or the folder for temporary files cannot be written.
    """

    def __init__(self) -> None:
        try:
            folder = os.environ.get("TMPDIR") or None  # tempfile would take another one where this cannot be written
            self._file: Any = tempfile.TemporaryFile(buffering=0, prefix="dpmine-", dir=folder)  # noqa: SIM115 - lives as long as its owner
        except OSError:
            raise UnreadableFile(f"The folder for temporary files cannot be written: {_ADVICE}") from None
        self.close: Callable[[], Any] = weakref.finalize(self, self._file.close)
        """Gives the disk space back; the file cannot be used any more. Happens by itself when nobody uses the file."""
        self._end = 0

    def append(self, content: Any) -> Extent:
        """Write the bytes of a contiguous buffer at the end."""
        view = memoryview(content).cast("B")
        extent = Extent(self._end, len(view))
        try:
            self._file.seek(self._end)
            while view:
                view = view[self._file.write(view) :]
        except OSError:
            self.close()
            raise UnreadableFile(f"A temporary file cannot be written, the disk may be full: {_ADVICE}") from None
        self._end += extent.length
        return extent

    def append_table(self, table: pa.Table) -> Extent:
        """Write a table as an Arrow stream."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return self.append(sink.getvalue())

    def read_array(self, extent: Extent, kind: type[Number]) -> NDArray[Number]:
        """The numbers of an extent."""
        numbers = np.empty(extent.length // np.dtype(kind).itemsize, kind)
        self._read_into(extent, numbers.view(np.uint8).data)
        return numbers

    def read_table(self, extent: Extent) -> pa.Table:
        """The table of an extent."""
        content = self.read_array(extent, np.uint8)
        with pa.ipc.open_stream(pa.py_buffer(content)) as reader:
            return reader.read_all()

    def _read_into(self, extent: Extent, view: memoryview) -> None:
        try:
            self._file.seek(extent.start)
            while view:
                view = view[self._filled(view) :]
        except (OSError, EOFError):
            raise UnreadableFile(f"A temporary file cannot be read back: {_ADVICE}") from None

    def _filled(self, view: memoryview) -> int:
        count = int(self._file.readinto(view))
        if not count:
            raise EOFError
        return count
