"""Equal privacy units, whose baskets are held once."""

from __future__ import annotations

from dataclasses import dataclass

from dpmine.itemsets.transactions.interface import Baskets


@dataclass(frozen=True, eq=False)
class RepeatedUnits(Baskets):
    """Baskets of units each of which stands for `times` equal ones; for `Holdings` alone.

    Attributes:
        times: at least 1. Private.
    """

    times: int = 1

    @property
    def total_units(self) -> int:
        """All that these stand for."""
        return self.times * self.unit_count + self.empty_units
