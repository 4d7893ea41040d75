"""The compiled loops, a C library beside this file, and the one place where arrays are handed to it.

A kernel is declared once, in C: `KERNEL(count_items, Int32s items; Int64sOut counts;)` in a file of this folder. The
declaration is part of the library. It is read here, and every argument of a call is checked against it: its type, and
that the kernel may write where it writes. The kernel itself checks that the lengths fit together, and so do the numbers
that stand for places. The searches trust the rows and bitmaps of other kernels. Kernels run without the interpreter's
lock.
"""

from __future__ import annotations

import os
import sys
from ctypes import CDLL, POINTER, addressof, c_char, c_int64, c_uint64, string_at
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.errors import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_SUFFIX = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
_VARIABLE = "DPMINE_KERNELS"
LIBRARY = Path(os.environ.get(_VARIABLE) or Path(__file__).with_name(f"libkernels.{_SUFFIX}")).absolute()
"""The file of the compiled loops; the environment variable names another one, as the sanitizers' tests do."""

_TYPES = {
    "Bytes": np.uint8,
    "Int32s": np.int32,
    "Int64s": np.int64,
    "Uint64s": np.uint64,
    "Doubles": np.float64,
}
TO_READ, TO_WRITE = 0x101, 0x501  # numpy's flags: contiguous and aligned; and writeable
_START = c_char * 0
_NO_MEMORY = -1

INSTRUCTION_SETS = ("baseline", "AVX2", "AVX-512")
"""What some kernels are compiled for, besides what all processors have; their callers set which to use at most."""

_NUMBER = None
ArgumentKind = tuple[np.dtype[Any], int] | None


def _unusable() -> UnreadableFile:
    given = f"unset {_VARIABLE}, which names it, or " if os.environ.get(_VARIABLE) else ""
    return UnreadableFile(
        f"The compiled loops of dpmine cannot be loaded from {LIBRARY}: {given}reinstall dpmine "
        "(pip install --force-reinstall dpmine); in a checkout, compile them: make kernels."
    )


def _loaded() -> CDLL:
    try:
        return CDLL(str(LIBRARY))
    except OSError:
        raise _unusable() from None


def _keep_freed_memory() -> None:
    """Lets malloc of glibc keep up to twice this much freed memory, instead of giving it back after every search.

    It adapts by itself when a block of up to 32 MiB is freed. Small searches, repeated in one process, lost a third of
    their time where the pages of their arrays were given back and allocated again each time.
    """
    np.empty(31 << 20, np.uint8)


_LIBRARY = _loaded()
_keep_freed_memory()


def kernel(name: str) -> Callable[..., int]:
    """A kernel of the library: called with its arguments in order, records as their fields, it returns a number ≥ 0.

    An array that is read may be of a narrower type, or not contiguous: then it is copied.

    Raises UnreadableFile where the library has no such kernel. The call raises MemoryError where the kernel finds too
    little memory. It raises TypeError for arrays of other types than declared, and ValueError for arrays that do not
    fit together. Both are faults of dpmine itself.
    """
    kinds = argument_kinds(name)
    words = sum(1 if kind is _NUMBER else 2 for kind in kinds)
    block = c_uint64 * words
    function = _LIBRARY[f"dpmine_{name}"]  # it is there, as its declaration is
    function.restype, function.argtypes = c_int64, [POINTER(block)]

    def call(*arguments: Any) -> int:
        if len(arguments) != len(kinds):
            raise TypeError(f"The kernel {name} takes {len(kinds)} arguments, not {len(arguments)}.")
        values: list[int] = []
        arrays = []  # they live until the kernel returns, copies too
        for kind, argument in zip(kinds, arguments, strict=True):
            if kind is _NUMBER:
                values.append(index(argument) % 2**64)
            else:
                arrays.append(array := _taken(argument, *kind, name))
                values += _address(array), array.size
        found: int = function(block(*values))
        if found < 0:
            raise MemoryError if found == _NO_MEMORY else ValueError(f"The arrays of the kernel {name} do not fit.")
        return found

    return call


def argument_kinds(name: str) -> list[ArgumentKind]:
    """The kinds of a kernel's arguments: None for a number; for an array its type, and the flags of numpy it needs."""
    return _kinds(_text(f"dpmine_{name}_arguments"))


def _taken(array: NDArray[Any], dtype: np.dtype[Any], flags: int, name: str) -> NDArray[Any]:
    """The array as the kernel `name` takes it."""
    if array.dtype == dtype and array.flags.num & flags == flags:
        return array
    if flags == TO_WRITE or not np.can_cast(array.dtype, dtype):
        raise TypeError(f"The kernel {name} was not given arrays as it declares them: {dtype} was wanted.")
    return np.require(array, dtype, ["C", "A"])


def _address(array: NDArray[Any]) -> int:
    """Where the numbers of the array are, by the way that takes a third of the time where it may be written."""
    if array.flags.writeable:
        return addressof(_START.from_buffer(array.data))
    address: int = array.__array_interface__["data"][0]
    return address


def _kinds(declaration: str) -> list[ArgumentKind]:
    """The kinds of the fields of a declaration: `Int32s items; int64_t first; Sink sink;`, records field by field."""
    kinds: list[ArgumentKind] = []
    for field in declaration.split(";")[:-1]:
        name = field.split()[0]
        plain = name.removesuffix("Out")
        if name == "int64_t":
            kinds.append(_NUMBER)
        elif plain in _TYPES:
            kinds.append((np.dtype(_TYPES[plain]), TO_READ if plain == name else TO_WRITE))
        else:
            kinds += _kinds(_text(f"dpmine_{name}_fields"))
    return kinds


def _text(name: str) -> str:
    """A text that the library exports under this name."""
    try:
        return string_at(addressof(c_char.in_dll(_LIBRARY, name))).decode()
    except ValueError:  # it is another library, or an old one
        raise _unusable() from None


INSTRUCTIONS = kernel("instructions")(len(INSTRUCTION_SETS) - 1)
"""The best of `INSTRUCTION_SETS` that this processor has, as a number."""

SOURCES = _text("dpmine_sources")
"""A hash of what the library was compiled from, as `hatch_build.py` computes it."""
