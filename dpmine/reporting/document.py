"""JSON objects read by name and type: what is missing or of another type is no document of dpmine.

Stored results, evidence and excerpts of ledgers are read so. All else that goes wrong is a fault of the code.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    Label: TypeAlias = str | float


_LARGEST = 10**100  # no number of a result is beyond it; sums and products of a few such numbers are finite
_EXACT = re.compile(r"[0-9]+(/[0-9]+)?")


class Altered(Exception):
    """A document is not as dpmine wrote it. Callers name its file."""


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON object. Its methods raise Altered for an entry that is missing or of another type.

    A default stands for an entry that is missing or null.

    Example:
        >>> Document({"items": ["bread", 7], "support": 3}).labels("items")
        ('bread', 7)
    """

    entries: Mapping[str, object]

    @classmethod
    def of(cls, value: object) -> Self:
        """The object that a parsed value is."""
        if not isinstance(value, dict):
            raise Altered
        return cls(value)

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """The object that a text in UTF-8 holds."""
        try:
            return cls.of(json.loads(content.decode()))
        except (ValueError, RecursionError):
            raise Altered from None

    def __getitem__(self, name: str) -> object:
        """An entry of any type."""
        if name not in self.entries:
            raise Altered
        return self.entries[name]

    def has(self, name: str) -> bool:
        """Whether there is such an entry that is not null."""
        return self.entries.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """A text."""
        value = self._entry(name, default)
        if not isinstance(value, str):
            raise Altered
        return value

    def flag(self, name: str, *, default: bool | None = None) -> bool:
        """A truth value."""
        value = self._entry(name, default)
        if not isinstance(value, bool):
            raise Altered
        return value

    def whole(self, name: str, default: int | None = None) -> int:
        """A whole number."""
        return _whole(self._entry(name, default))

    def number(self, name: str) -> float:
        """A finite number."""
        return _number(self[name])

    def fraction(self, name: str) -> Fraction:
        """A number above 0 that is written exactly, as text."""
        text = self.text(name)
        if not _EXACT.fullmatch(text):
            raise Altered
        try:
            number = Fraction(text)
        except (ValueError, ZeroDivisionError):
            raise Altered from None
        if not 1 / Fraction(_LARGEST) <= number <= _LARGEST:
            raise Altered
        return number

    def values(self, name: str) -> Sequence[object]:
        """A list of anything."""
        return _values(self[name])

    def labels(self, name: str) -> tuple[Label, ...]:
        """A list of texts, numbers and truth values."""
        labels = [value for value in self.values(name) if isinstance(value, str | int | float)]
        if len(labels) < len(self.values(name)):
            raise Altered
        return tuple(labels)

    def numbers(self, name: str) -> list[float]:
        """A list of finite numbers."""
        return list(map(_number, self.values(name)))

    def rows_of_numbers(self, name: str) -> list[list[float]]:
        """A list of lists of finite numbers."""
        return [list(map(_number, _values(row))) for row in self.values(name)]

    def pair(self, name: str) -> tuple[int, int]:
        """Two whole numbers."""
        values = self.values(name)
        if len(values) != 2:
            raise Altered
        return _whole(values[0]), _whole(values[1])

    def part(self, name: str) -> Document:
        """An object within this one."""
        return Document.of(self[name])

    def parts(self, name: str, default: Sequence[object] | None = None) -> list[Document]:
        """A list of objects."""
        return [Document.of(value) for value in _values(self._entry(name, default))]

    def _entry(self, name: str, default: object) -> object:
        return self[name] if default is None or self.has(name) else default


def _values(value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise Altered
    return value


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _LARGEST:
        raise Altered
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:  # nor NaN
        raise Altered
    return float(value)
