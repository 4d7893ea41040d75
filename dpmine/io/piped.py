"""Standard input: text is read once, as it comes; other forms are kept in a temporary file first."""

from __future__ import annotations

import io
import sys
import tempfile
from typing import TYPE_CHECKING, Any
from weakref import finalize

import pyarrow as pa

from dpmine.errors import BadParameter, UnreadableFile
from dpmine.io.files import STDIN, DataFile
from dpmine.io.forms import form_beginning
from dpmine.options.names import CSV

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpmine.io.input import Input
    from dpmine.options.names import Form

_BEGINNING = 2**16  # bytes of standard input that are looked at before the rest
_LONGEST_HEADER = 2**26  # characters


def piped(given: Input) -> tuple[Form, DataFile]:
    """Standard input, and its form: the one that is named, or the one that its first bytes say.

    Raises BadParameter where other files, or options of another form, are given with it.
    """
    if len(given.paths) > 1:
        raise BadParameter(f"{STDIN} (standard input) stands alone: leave the other files out.")
    stdin = sys.stdin.buffer
    beginning = stdin.read(_BEGINNING)
    guessed = form_beginning(beginning)
    if guessed is None and not {*b"\r\n"} & {*beginning}:
        beginning += stdin.readline(_LONGEST_HEADER)
    form = given.form or guessed or CSV
    whole = io.BufferedReader(_Joined(beginning, stdin))
    if "types" in form.options:
        opened = iter([io.BytesIO(beginning), whole])  # the header, and all
        return form, DataFile(STDIN, lambda: _next(opened), repeatable=False)
    if given.kinds:
        raise BadParameter(f"`types` are for columns of text, and files of {form.name} have types: leave it out.")
    content = _Kept(whole)
    return form, DataFile(STDIN, lambda: pa.OSFile(content.name))


def _next(streams: Iterator[io.BufferedIOBase]) -> io.BufferedIOBase:
    stream = next(streams, None)
    if stream is None:
        raise UnreadableFile("Standard input can be read once, and was: give its content as a file.")
    return stream


class _Kept:
    """A temporary file with the content of a stream: formats with a footer are not read from their beginning.

    It vanishes with the object. Raises UnreadableFile where the disk is full.
    """

    def __init__(self, stream: io.BufferedIOBase) -> None:
        from shutil import copyfileobj

        try:
            file = tempfile.NamedTemporaryFile(prefix="dpmine-")  # noqa: SIM115 - lives as long as its owner
            finalize(self, file.close)
            self.name = file.name
            copyfileobj(stream, file)
            file.flush()
        except OSError:
            raise UnreadableFile(
                "The disk for temporary files is full, or cannot be written: set TMPDIR to a folder with room."
            ) from None


class _Joined(io.RawIOBase):
    """The beginning of a stream that was read already, and the rest of it."""

    def __init__(self, beginning: bytes, rest: Any) -> None:
        self._beginning, self._rest = io.BytesIO(beginning), rest

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        return self._beginning.readinto(target) or int(self._rest.readinto(target))
