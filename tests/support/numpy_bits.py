"""Fast, reproducible bits for sampling tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpmine.exact.bits import SystemBits

if TYPE_CHECKING:
    from collections.abc import Iterator


class NumpyBits:
    """The bits of numpy's generator: the same in every run with the same seed."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def take(self, count: int) -> int:
        whole = (count + 7) // 8
        return int.from_bytes(self._generator.bytes(whole), "big") >> (8 * whole - count)

    def widths(self) -> Iterator[int]:
        return SystemBits().widths()
