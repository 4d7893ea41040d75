"""What is public about the candidates: the sizes of the itemsets, and the list of all items where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dpmine.errors import BadParameter
from dpmine.parameters import whole

if TYPE_CHECKING:
    import pyarrow as pa

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

    items: pa.Array | None
    from_data: bool

    @classmethod
    def of(cls, catalogue: object, sizes: tuple[int, int]) -> PublicCatalogue:
        """Read from whatever the user gave; BadParameter when no itemset of the sizes can be made of it."""
        if catalogue is None or (isinstance(catalogue, str) and catalogue == FROM_DATA):
            return cls(None, catalogue is not None)
        from dpmine.itemsets.ingest.catalogue import read_catalogue

        items = read_catalogue(catalogue)
        require_possible(sizes, len(items))
        return cls(items, from_data=False)

    def weakened(self, guarantee: Guarantee) -> Guarantee:
        """What is left of a guarantee that was made for a public list."""
        return guarantee.without_privacy(_LEAKS) if self.from_data else guarantee


def require_possible(sizes: tuple[int, int], items: int) -> None:
    """BadParameter where no itemset of the largest size can be made of so few items."""
    if sizes[1] > items:
        raise BadParameter(
            f"size must not exceed the {items} items of the catalogue: give at most that (`size={items}`), or a longer "
            "catalogue."
        )
