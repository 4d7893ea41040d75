"""What is public about the items."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from dpmine.privacy import Guarantee

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
        from dpmine.itemsets.catalogue import read_catalogue

        items = read_catalogue(catalogue)
        if sizes[1] > len(items):
            raise BadParameter(f"size must not exceed the {len(items)} items of the catalogue.")
        return cls(items, from_data=False)

    @property
    def is_given(self) -> bool:
        """Whether candidates can be listed."""
        return self.items is not None or self.from_data

    def promise(self, guarantee: Guarantee) -> Guarantee:
        """What is left of a guarantee that was made for a public list."""
        return guarantee.without_privacy(_LEAKS) if self.from_data else guarantee

    def candidates(self, sizes: tuple[int, int]) -> int | None:
        """How many itemsets the public list allows; None where there is none."""
        return None if self.items is None else itemset_count(len(self.items), sizes)


def itemset_count(items: int, sizes: tuple[int, int]) -> int:
    """How many itemsets of the sizes so many items allow."""
    return sum(comb(items, size) for size in range(sizes[0], min(sizes[1], items) + 1))
