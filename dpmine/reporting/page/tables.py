"""Tables of a page, as its templates draw them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class PageTable:
    """Texts in rows; the columns from `numbers` on are aligned as numbers. A folded one is shown when asked for."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int = 1
    folded: bool = False

    @classmethod
    def of(cls, caption: str, columns: Mapping[str, Sequence[str]], *, numbers: int = 1, folded: bool = False) -> Self:
        """The table of these columns, by their heads. Raises ValueError unless they are equally long."""
        return cls(caption, tuple(columns), tuple(zip(*columns.values(), strict=True)), numbers, folded)
