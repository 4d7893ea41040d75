"""The sizes of the itemsets asked for."""

from __future__ import annotations

from typing import TypeAlias

from dpmine.errors import BadParameter
from dpmine.parameters import whole

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
