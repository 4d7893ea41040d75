"""Bytes of a fuzzer read as choices: whatever the bytes are, they mean something."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**400, 10**5000, 0.0, -0.0, 0.1, 1e-320, 1e308,
    float("nan"), float("inf"), -float("inf"), Fraction(1, 3), Fraction(-7, 10**120), "", " ", "0", "-1", "1e9999",
    "1/0", "1/3", "nan", "inf", "0x10", "1_0", "9" * 401, "9" * 5000, "1" + "0" * 399 + "/3",
    "2-3", "3-2",
    "1-999999999",
    "4GB", "64MB", "0.0000001T", "9" * 5000 + "GB", "9" * 300 + "TiB", "é\n", "\ud800", "\x00", b"", b"1", [], [1],
    [[]], (), (2, 3), (1, 2, 3), {}, {"a": 1}, 1j, object,
)  # fmt: skip
"""Values at the edges of what parameters and entries may be."""


class Choices:
    """A stream of choices; it goes on with zeros where the bytes end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def byte(self) -> int:
        """The next byte."""
        return next(iter(self.take(1)), 0)

    def take(self, size: int) -> bytes:
        """The next bytes, at most `size`."""
        part = self._data[self._at : self._at + size]
        self._at += len(part)
        return part

    def whole(self, width: int = 2) -> int:
        """A whole number of so many bytes."""
        return int.from_bytes(self.take(width), "big")

    def one(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.whole() % len(options)]

    def text(self) -> str:
        """A text of up to 255 bytes; bytes that are no UTF-8 become lone surrogates."""
        return self.take(self.byte()).decode("utf-8", "surrogateescape")

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(len(self._data))

    def value(self) -> Any:
        """A value of any kind."""
        kind = self.byte() % 4
        if kind == 0:
            return self.one(ODD)
        if kind == 1:
            return self.text()
        return self.whole(8) - 2**62 if kind == 2 else self.whole(3) / (self.whole(2) + 1)
