"""Random bits: the only place in dpmine that reads entropy."""

from __future__ import annotations

import os
import threading
from itertools import accumulate, repeat
from operator import mul
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

_BUFFER_BYTES = 512
_FIRST_WIDTH = 64


class BitSource(Protocol):
    """Independent fair bits on demand."""

    def take(self, count: int) -> int:
        """The next `count` ≥ 0 bits, as an integer in [0, 2^count)."""
        ...

    def widths(self) -> Iterator[int]:
        """How many bits of a uniform real to know, one attempt at a decision after the other; increasing, endless.

        The schedule changes how many bits are used, never an output distribution.
        """
        ...


class SystemBits:
    """The operating system's generator, read through a small buffer that no two threads or processes share."""

    def __init__(self) -> None:
        self._local = _Buffer()

    def take(self, count: int) -> int:
        """The next `count` bits of the operating system's generator."""
        return self._local.take(count)

    def widths(self) -> Iterator[int]:
        """64, 128, 256 and so on."""
        return accumulate(repeat(2), mul, initial=_FIRST_WIDTH)


class _Buffer(threading.local):
    """Unread bits of one thread. A fork starts a new generation, which makes every older buffer worthless."""

    generation = 0

    def __init__(self) -> None:
        self._value = 0
        self._left = 0
        self._generation = _Buffer.generation

    def take(self, count: int) -> int:
        if self._generation != _Buffer.generation:
            self._value = self._left = 0
            self._generation = _Buffer.generation
        if count > self._left:
            self._refill(count)
        self._left -= count
        value = self._value >> self._left
        self._value &= (1 << self._left) - 1
        return value

    def _refill(self, count: int) -> None:
        size = max(_BUFFER_BYTES, (count + 7) // 8)
        self._value = int.from_bytes(os.urandom(size), "big")
        self._left = 8 * size


def _forget_buffers() -> None:
    """In a forked child: bits that the parent may also use must never be used here."""
    _Buffer.generation += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_buffers)
