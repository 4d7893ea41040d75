"""Training data as the solvers see them: one row y·x for each example."""

from __future__ import annotations

from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpmine.models.supervised import Floats

_SMALLEST_BLOCK = 256
THINNING = 16
"""A thin sample has every sixteenth row."""


class Examples:
    """Rows y_i x_i with labels y_i ∈ {−1, 1} and exact norms ‖x_i‖₂ ≤ 1 (see `dpmine.models.linear.preprocessing`).

    All losses depend on the margin y wᵀx alone, so labels need no column of their own; a sign is exact in floats.
    """

    def __init__(self, signed: Floats, each: int = 1) -> None:
        """`signed`: shape (n, d), n ≥ 1, float64; `each` consecutive rows are one unit's, zeros where it has fewer."""
        self.signed = np.ascontiguousarray(signed, dtype=np.float64)
        self.each = each

    @property
    def size(self) -> int:
        """The number n of examples."""
        return len(self.signed)

    @property
    def units(self) -> int:
        """The number of privacy units."""
        return self.size // self.each

    @property
    def dimension(self) -> int:
        """The length d of a row."""
        return int(self.signed.shape[1])

    def take(self, rows: slice | np.ndarray[tuple[int], np.dtype[np.intp]]) -> Examples:
        """The examples at those positions."""
        return Examples(self.signed[rows], self.each)

    @cached_property
    def thinned(self) -> Examples:
        """Every sixteenth example: a rough picture, shared by every candidate that is trained on these."""
        return self.take(slice(None, None, THINNING))

    @cached_property
    def gram(self) -> Floats:
        """(1/n) Σ x xᵀ, shared as well."""
        return self.signed.T @ self.signed / self.size

    def weighted_mean(self, weights: Floats) -> Floats:
        """(1/n) Σ weight_i · row_i, summed in blocks of about √n rows so that rounding grows with √n, not with n."""
        block = _block(self.size)
        whole = self.size // block * block
        blocks = self.signed[:whole].reshape(-1, block, self.dimension)
        parts = np.matmul(weights[:whole].reshape(-1, 1, block), blocks)[:, 0, :]
        return np.asarray((parts.sum(axis=0) + weights[whole:] @ self.signed[whole:]) / self.size)


def additions(size: int) -> int:
    """The longest chain of rounded operations behind one entry of `weighted_mean` of n examples: public."""
    block = _block(size)
    return block + size // block + 3


def _block(size: int) -> int:
    return max(_SMALLEST_BLOCK, isqrt(size))
