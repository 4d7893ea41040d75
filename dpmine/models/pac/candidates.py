"""Candidates as they may come out of a file: checked before anything is made of them."""

from __future__ import annotations

from operator import index
from typing import Any


def candidate_number(candidate: Any, size: int) -> int:
    """The candidate as an integer. Raises TypeError for what is none, IndexError outside 0 … `size` − 1."""
    if isinstance(candidate, bool):
        raise TypeError("a candidate is a whole number")
    number = index(candidate)
    if not 0 <= number < size:
        raise IndexError(f"the class has candidates 0 to {size - 1} only")
    return number
