"""Values as people write them on command lines and in job files: lists with commas, powers such as 2^64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpmine.errors import BadParameter

_LONGEST = 20  # digits


def listed(value: object) -> list[Any]:
    """The parts of a text with commas between them, or the entries of a list; nothing for None."""
    if value is None:
        return []
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return list(value) if isinstance(value, Sequence) else [value]


def one_or_each(value: object) -> Any:
    """A single entry by itself, several as a list, and None where there is none."""
    entries = listed(value)
    return entries[0] if len(entries) == 1 else entries or None


def whole_numbers(name: str, value: object) -> list[int]:
    """Whole numbers with commas between them, or in a list; powers may be written 2^64. BadParameter for others."""
    numbers = [_whole(entry) for entry in listed(value)]
    if any(number is None for number in numbers):
        raise BadParameter(f"{name} must be whole numbers, such as 1001 or 2^64, with commas between them.")
    return [number for number in numbers if number is not None]


def _whole(entry: object) -> int | None:
    if isinstance(entry, int) and not isinstance(entry, bool):
        return entry
    if not isinstance(entry, str):
        return None
    base, power_sign, power = entry.partition("^")
    parts = [(base, _LONGEST), (power, 2)] if power_sign else [(base, _LONGEST)]
    if not all(part.isascii() and part.isdigit() and len(part) <= most for part, most in parts):
        return None
    return int(base) ** int(power) if power_sign else int(base)
