"""What is public about the candidates: the sizes of the itemsets, and the list of all items where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from dpmine.errors import BadParameter
from dpmine.itemsets.ways.universe import itemset_count
from dpmine.parameters import whole

if TYPE_CHECKING:
    from dpmine.privacy import Guarantee


Sizes: TypeAlias = int | str | tuple[int, int]
"""A size r, a range as text ("2-3") or as a pair (2, 3)."""


def parse_sizes(size: Sizes) -> tuple[int, int]:
    """The smallest and the largest size asked for; BadParameter unless 1 ≤ smallest ≤ largest."""
    low, high = _pair(size)
    if not 1 <= low <= high:
        raise BadParameter("size must be at least 1, and a range must run upwards: 2, or 2-3.")
    return low, high


def _pair(size: Sizes) -> tuple[int, int]:
    if isinstance(size, str):
        low, dash, high = size.strip().partition("-")
        if not _is_whole(low) or (dash and not _is_whole(high)):
            raise BadParameter("size must be a whole number of at least 1 (2) or a range of them (2-3).")
        return int(low), int(high or low)
    if isinstance(size, tuple):
        if len(size) != 2:
            raise BadParameter("A range of sizes is a pair (smallest, largest).")
        return whole("size", size[0]), whole("size", size[1])
    return whole("size", size), whole("size", size)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


FROM_DATA = "from-data"
_LEAKS = "the catalogue was taken from the data, which shows that its items exist"


@dataclass(frozen=True, slots=True)
class PublicCatalogue:
    """A list of all items (an Arrow array), nothing, or (not private) whatever the data hold."""

    items: Any
    from_data: bool

    @classmethod
    def of(cls, catalogue: Any, sizes: tuple[int, int]) -> PublicCatalogue:
        """Read from whatever the user gave; BadParameter when no itemset of the sizes can be made of it."""
        if catalogue is None or (isinstance(catalogue, str) and catalogue == FROM_DATA):
            return cls(None, catalogue is not None)
        from dpmine.itemsets.ingest.catalogue import read_catalogue

        return cls._holding(read_catalogue(catalogue), sizes)

    @classmethod
    def of_length(cls, length: int, sizes: tuple[int, int]) -> PublicCatalogue:
        """A list of which only the length is known, to plan with. Raises as `of`."""
        return cls._holding(range(length), sizes)

    @classmethod
    def _holding(cls, items: Any, sizes: tuple[int, int]) -> PublicCatalogue:
        if sizes[1] > len(items):
            raise BadParameter(
                f"size must not exceed the {len(items)} items of the catalogue: give at most that "
                f"(`size={len(items)}`), or a longer catalogue."
            )
        return cls(items, from_data=False)

    @property
    def is_given(self) -> bool:
        """Whether candidates can be listed."""
        return self.items is not None or self.from_data

    def weakened(self, guarantee: Guarantee) -> Guarantee:
        """What is left of a guarantee that was made for a public list."""
        return guarantee.without_privacy(_LEAKS) if self.from_data else guarantee

    def candidates(self, sizes: tuple[int, int]) -> int | None:
        """How many itemsets the public list allows; None where there is none."""
        return None if self.items is None else itemset_count(len(self.items), sizes)
