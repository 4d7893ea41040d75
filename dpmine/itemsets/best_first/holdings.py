"""Which privacy units hold which itemsets of a few items: a bit a basket, so that one more support takes microseconds.

A unit holds an itemset if one of its baskets contains all of it. Nothing here is private.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from dpmine.itemsets.outofcore.spill import SpillFile
from dpmine.itemsets.transactions.repeated import RepeatedUnits
from dpmine.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from dpmine.itemsets.transactions.interface import Baskets

    Words = NDArray[np.uint64]

WORD = 64
"""Baskets, or units: a bit each."""
_RESIDENT = 1 << 23
"""Words that stay in memory, 64 MB: the rest is in a temporary file, or `memory` would not hold."""
_AT_ONCE = 1 << 12
"""Words whose cells are counted at once: 2 MB for each item."""

_set_bits = kernel("set_bits")


@dataclass(frozen=True, eq=False)
class HeldItems:
    """The items of some units.

    Attributes:
        words: uint64[m, width]: bit b of words[i] says whether basket b contains item number i. Bits behind the last
            basket are 0.
        unit_starts: int64[units + 1]: unit u owns the baskets unit_starts[u] … unit_starts[u + 1] − 1; None where each
            unit has one basket.
        times: how many equal units each stands for.
    """

    words: Words
    unit_starts: NDArray[np.int64] | None
    times: int

    @classmethod
    def of(cls, baskets: Baskets, codes: Sequence[int], file: SpillFile | None = None) -> HeldItems:
        """The items `codes` of these baskets, numbered 0, 1, … in this order; in the file, where there is one."""
        shape = words_of(baskets, codes)
        words = np.zeros(shape, np.uint64) if file is None else file.zeros(shape, np.uint64)
        width = shape[1]
        offsets = np.full(baskets.catalogue_size, len(codes) * width, np.int64)  # the last row is of all other items
        offsets[np.asarray(codes, np.int64)] = np.arange(len(codes)) * width
        _set_bits(baskets.items, baskets.basket_starts, offsets, words.reshape(-1))
        times = baskets.times if isinstance(baskets, RepeatedUnits) else 1
        return cls(words[:-1], None if baskets.one_basket_each else baskets.unit_starts, times)

    @property
    def width(self) -> int:
        """Words that a bit a unit takes."""
        return self.words.shape[1] if self.unit_starts is None else -(-(len(self.unit_starts) - 1) // WORD)

    def holders(self, itemset: Sequence[int]) -> Words:
        """A bit a unit: whether it holds the itemset, given as item numbers."""
        both: Words = np.bitwise_and.reduce(self.words[list(itemset)])
        if self.unit_starts is None:
            return both
        bits = np.unpackbits(both.view(np.uint8), bitorder="little")
        return _packed(np.bitwise_or.reduceat(bits, self.unit_starts[:-1]))

    def odd(self, itemset: Sequence[int]) -> Words:
        """A bit a unit: whether it has an odd number of these items. Requires: each unit has one basket."""
        odd: Words = np.bitwise_xor.reduce(self.words[list(itemset)])
        return odd

    def count(self, bits: Words) -> int:
        """How many units these bits stand for."""
        return self.times * int(np.bitwise_count(bits).sum(dtype=np.int64))


def words_of(baskets: Baskets, codes: Sequence[int]) -> tuple[int, int]:
    """Rows and columns of the bits of these baskets and items: a row more than items."""
    return len(codes) + 1, -(-baskets.basket_count // WORD)


class Holdings:
    """The items of all units, and the supports of itemsets of them."""

    def __init__(self, parts: Iterable[Baskets], codes: Sequence[int]) -> None:
        """Requires: the parts share no unit, and their item codes. The items are numbered 0, 1, … as in `codes`."""
        self.units = 0
        """How many there are, those with empty baskets alone included."""
        self.parts: list[HeldItems] = []
        room, file = _RESIDENT, None
        for part in parts:
            self.units += part.total_units
            room -= prod(words_of(part, codes))
            file = SpillFile() if file is None and room < 0 else file
            self.parts += [HeldItems.of(part, codes, file)] if part.basket_count else []

    def support(self, itemset: Sequence[int]) -> int:
        """How many units hold the itemset: all of them, where it is empty."""
        return self.units if not itemset else sum(part.count(part.holders(itemset)) for part in self.parts)

    def odd(self, itemset: Sequence[int]) -> int:
        """How many units have an odd number of its items. Requires: each unit has one basket."""
        return sum(part.count(part.odd(itemset)) for part in self.parts)

    def cells(self, items: Sequence[int]) -> NDArray[np.int64]:
        """int64[2^l]: how many units have exactly these of the l `items`: bit i of a place says it of items[i].

        Requires: each unit has one basket.
        """
        counts = np.zeros(1 << len(items), np.int64)
        for part in self.parts:
            for start in range(0, part.width, _AT_ONCE):
                words = part.words[list(items), start : start + _AT_ONCE]
                bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
                places = (bits.astype(np.int64) << np.arange(len(items))[:, None]).sum(axis=0)
                counts += part.times * np.bincount(places, minlength=len(counts))
        counts[0] = self.units - counts[1:].sum()  # behind the last basket, bits are 0; some units have no basket
        return counts

    def capped(self, most: int) -> CappedSupports:
        """Supports to which each unit adds `most` ≥ 1 times at most."""
        return CappedSupports(self, [Tally(most, part.width) for part in self.parts])


@dataclass(frozen=True, eq=False)
class CappedSupports:
    """Supports to which each unit adds a few times at most, in the order of the calls.

    A unit that holds the itemset counts if it counted fewer times before. What another unit has does not matter: so
    neighbouring data sets differ in what one unit adds alone, whatever was asked. Equal units count alike, so that one
    tally serves all of them.
    """

    holdings: Holdings
    tallies: Sequence[Tally]

    def support(self, itemset: Sequence[int]) -> int:
        """How many units hold the itemset and may still count; they have counted once more now."""
        return sum(part.count(tally.admitted(part.holders(itemset))) for part, tally in self._pairs())

    @property
    def spent(self) -> int:
        """How many units may count no more."""
        return sum(part.count(tally.spent) for part, tally in self._pairs())

    def _pairs(self) -> Iterator[tuple[HeldItems, Tally]]:
        return zip(self.holdings.parts, self.tallies, strict=True)


class Tally:
    """How often each unit counted, as binary digits: bit u of digit d is that of unit u.

    Every number begins at 2^d − `most`, for d digits, so that a unit carries out of the last one when it counted `most`
    times.
    """

    def __init__(self, most: int, width: int) -> None:
        self.spent: Words = np.zeros(width, np.uint64)
        digits = most.bit_length()
        bits = [((1 << digits) - most) >> place & 1 for place in range(digits)]
        self._digits = [np.full(width, ~np.uint64(0) if bit else np.uint64(0)) for bit in bits]

    def admitted(self, holders: Words) -> Words:
        """Those of the holders that counted fewer than `most` times so far; they count once more now."""
        admitted = carried = holders & ~self.spent
        for place, digit in enumerate(self._digits):
            self._digits[place], carried = digit ^ carried, digit & carried
        self.spent |= carried
        return admitted


def _packed(bits: NDArray[np.uint8]) -> Words:
    """Bits as words; those that fill the last one are 0."""
    filled = np.zeros(-(-len(bits) // WORD) * WORD // 8, np.uint8)
    packed = np.packbits(bits, bitorder="little")
    filled[: len(packed)] = packed
    return filled.view(np.uint64)
