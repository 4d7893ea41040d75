"""A public grid as the data divide it: runs of thresholds between which no record lies."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dpmine.models.pac.classes.grid import Grid, Places
    from dpmine.models.pac.records import Bools
    from dpmine.models.supervised import Floats


@dataclass(frozen=True, eq=False, slots=True)
class Runs:
    """Places 0 … `last` of a grid, in increasing runs with the same records below them.

    A record lies below a place when its value is less than the grid's point there; below `points`, the place after the
    last, lie all records. That place may be 2^64: only the last run can hold it, which is why no array does.

    Attributes:
        cuts: uint64, one a run but the last: its last place, increasing. They are the places of the records.
        last: the last place of the last run.
        gains: int64, one a run: positive minus negative records below its places.
    """

    cuts: Places
    last: int
    gains: NDArray[np.int64]

    @classmethod
    def of(cls, grid: Grid, values: Floats, positive: Bools) -> Runs:
        """The runs of 0 … `points` that the values of one feature, shape (m,), make; m ≥ 0."""
        cuts, owner = np.unique(grid.places(values), return_inverse=True)
        change = np.bincount(owner, weights=np.where(positive, 1.0, -1.0), minlength=len(cuts)).astype(np.int64)
        return cls(cuts, grid.points, np.concatenate([[0], np.cumsum(change)]))

    def without_last_place(self) -> Runs:
        """The same but for place `last`."""
        if self.size(len(self) - 1) > 1:
            return Runs(self.cuts, self.last - 1, self.gains)
        return Runs(self.cuts[:-1], self.last - 1, self.gains[:-1])

    def start(self, run: int) -> int:
        """The first place of a run."""
        return int(self.cuts[run - 1]) + 1 if run else 0

    def size(self, run: int) -> int:
        """How many places a run has."""
        end = int(self.cuts[run]) if run < len(self.cuts) else self.last
        return end + 1 - self.start(run)

    def run_of(self, place: int) -> int:
        """The run of a place of 0 … `last`."""
        return int(np.searchsorted(self.cuts, np.uint64(place))) if place < self.last else len(self.cuts)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """First place and size of each run."""
        ends = (cut + 1 for cut in self.cuts.tolist())
        return ((start, end - start) for start, end in pairwise((0, *ends, self.last + 1)))

    def spans(self) -> NDArray[np.uint64]:
        """The sizes less one, which may be 2^64 themselves. Requires: `last` < 2^64."""
        spans = np.append(self.cuts, np.uint64(self.last))
        spans[1:] -= self.cuts + np.uint64(1)
        return spans

    def sizes_modulo(self, prime: int) -> NDArray[np.uint64]:
        """Residues of the sizes modulo `prime` < 2^63."""
        ends = np.append(self.cuts % np.uint64(prime), np.uint64(self.last % prime))
        starts = np.append(np.uint64(0), ends[:-1] + np.uint64(1))
        residues: NDArray[np.uint64] = (ends + np.uint64(1) + np.uint64(prime) - starts) % np.uint64(prime)
        return residues

    def __len__(self) -> int:
        return len(self.gains)
