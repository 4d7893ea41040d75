"""What is done to the bytes of a Parquet file, and tables that no writer means well with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

_TAIL = 8  # bytes: the footer's length and the magic


def mutated(raw: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """The file after one mutation, and its name."""
    name = str(rng.choice(list(_MUTATIONS)))
    return _MUTATIONS[name](raw, rng), name


def deep_nesting(depth: int) -> pa.Table:
    """A column "item" of lists of lists of …, and a unit."""
    values = pa.array([1], pa.int64())
    for _ in range(depth):
        values = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), values)
    return pa.table({"transaction_id": [1], "item": values})


def _footer(raw: bytes) -> tuple[int, int]:
    """Where the footer begins and ends."""
    end = len(raw) - _TAIL
    return max(4, end - int.from_bytes(raw[end : end + 4], "little")), end


def _flipped(raw: bytes, rng: np.random.Generator, start: int, end: int) -> bytes:
    changed = bytearray(raw)
    for place in rng.integers(start, max(start + 1, end), int(rng.integers(1, 9))):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _as_it_is(raw: bytes, _rng: np.random.Generator) -> bytes:
    return raw


def _bits(raw: bytes, rng: np.random.Generator) -> bytes:
    return _flipped(raw, rng, 0, len(raw))


def _page_bits(raw: bytes, rng: np.random.Generator) -> bytes:
    return _flipped(raw, rng, 4, _footer(raw)[0])


def _footer_bits(raw: bytes, rng: np.random.Generator) -> bytes:
    return _flipped(raw, rng, *_footer(raw))


def _truncated(raw: bytes, rng: np.random.Generator) -> bytes:
    return raw[: int(rng.integers(len(raw)))]


def _cut_inside(raw: bytes, rng: np.random.Generator) -> bytes:
    start, stop = sorted(rng.integers(0, len(raw), 2))
    return raw[:start] + raw[stop:]


def _huge_sizes(raw: bytes, rng: np.random.Generator) -> bytes:
    """A variable-length integer of the footer or of a page header becomes a huge one."""
    first, last = _footer(raw) if rng.integers(2) else (4, min(64, len(raw)))
    place = int(rng.integers(first, max(first + 1, last)))
    huge = b"\xff" * int(rng.integers(3, 9)) + b"\x0f"
    if rng.integers(2):  # in the place of what was there, else in front of it
        return raw[:place] + huge + raw[place + len(huge) :]
    changed = raw[:place] + huge + raw[place:]
    end = len(changed) - _TAIL
    length = int.from_bytes(changed[end : end + 4], "little") + len(huge) * (place >= _footer(raw)[0])
    return changed[:end] + length.to_bytes(4, "little") + changed[end + 4 :]


def _footer_length(raw: bytes, rng: np.random.Generator) -> bytes:
    return raw[:-_TAIL] + int(rng.integers(2**32)).to_bytes(4, "little") + raw[-4:]


_MUTATIONS: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "none": _as_it_is,
    "bits": _bits,
    "page bits": _page_bits,
    "footer bits": _footer_bits,
    "truncation": _truncated,
    "cut inside": _cut_inside,
    "huge sizes": _huge_sizes,
    "footer length": _footer_length,
}
