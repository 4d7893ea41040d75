"""What a search tries: candidates from lists or distributions, drawn independently of the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.errors import BadParameter
from dpmine.exact.reals import uniform_below

if TYPE_CHECKING:
    from dpmine.exact.bits import BitSource

_HINT = (
    "param_grid must map names of the estimator's parameters to lists of values or to distributions with rvs, such as "
    "{'norm_bound': [1, 2]}, or be a list of such mappings."
)
_SEED_BITS = 32
_MOST_LISTED = 1000


@dataclass(frozen=True, eq=False, slots=True)
class Candidates:
    """Candidates of a search; made by `Candidates.of`.

    Attributes:
        grids: one or more mappings of parameters to lists of values, or to objects with `rvs`.
    """

    grids: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, param_grid: object) -> Candidates:
        """One mapping or several. Raises BadParameter for anything else, and for lists without values."""
        grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
        if not isinstance(grids, Sequence) or not grids or not all(isinstance(grid, Mapping) for grid in grids):
            raise BadParameter(_HINT)
        if not all(isinstance(name, str) for grid in grids for name in grid):
            raise BadParameter(_HINT)
        return cls(tuple({name: _values(values) for name, values in grid.items()} for grid in grids))

    def draw(self, *, bits: BitSource) -> dict[str, Any]:
        """One candidate, independent of the data; the number of candidates does not change the privacy loss.

        Distribution: where all values are listed, uniform over all combinations. Otherwise a uniform mapping, and
        independent values in it: uniform over a list, or the first `rvs` of a distribution for a uniform seed of 32
        bits.
        """
        if self.listed:
            number = uniform_below(self.size, bits=bits)
            for grid in self.grids:
                if number < _size(grid):
                    return _combination(grid, number)
                number -= _size(grid)
        grid = self.grids[uniform_below(len(self.grids), bits=bits)]
        return {name: _drawn(values, bits=bits) for name, values in grid.items()}

    @property
    def listed(self) -> bool:
        """Whether there are lists only."""
        return not any(_is_distribution(values) for grid in self.grids for values in grid.values())

    @property
    def size(self) -> int:
        """The number of combinations, where all values are listed."""
        return sum(map(_size, self.grids))

    @property
    def complete(self) -> bool:
        """Whether `checked` has every candidate that can be drawn."""
        return self.listed and all(_size(grid) <= _MOST_LISTED for grid in self.grids)

    def checked(self, *, bits: BitSource) -> Iterator[dict[str, Any]]:
        """Candidates to check before a run: up to 1,000 combinations of a mapping's lists, or one that is drawn."""
        if not self.listed:
            yield self.draw(bits=bits)
            return
        for grid in self.grids:
            yield from (_combination(grid, number) for number in range(min(_size(grid), _MOST_LISTED)))


def _values(values: Any) -> Any:
    if _is_distribution(values):
        return values
    if isinstance(values, np.ndarray) and values.ndim == 1:
        values = values.tolist()
    if isinstance(values, str | bytes) or not isinstance(values, Sequence) or not values:
        raise BadParameter(_HINT)
    return list(values)


def _is_distribution(values: Any) -> bool:
    return hasattr(values, "rvs")


def _size(grid: Mapping[str, Any]) -> int:
    product = 1
    for values in grid.values():
        product *= len(values)
    return product


def _combination(grid: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The combination of that number: one digit for each list."""
    chosen = {}
    for name, values in grid.items():
        number, digit = divmod(number, len(values))
        chosen[name] = values[digit]
    return chosen


def _drawn(values: Any, *, bits: BitSource) -> Any:
    if _is_distribution(values):
        return values.rvs(random_state=bits.take(_SEED_BITS))
    return values[uniform_below(len(values), bits=bits)]
