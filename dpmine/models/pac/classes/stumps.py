"""Decision stumps: a threshold on one of several features, on either side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpmine.models.pac.classes.thresholds import Place, Side, Threshold, ThresholdUniverse, checked_place

if TYPE_CHECKING:
    from dpmine.models.pac.classes.grid import Grid
    from dpmine.models.pac.records import Records


@dataclass(frozen=True, slots=True)
class Stumps:
    """x_f >= t and x_f < t for every feature f and every point t of its public grid.

    Attributes:
        grids: one a feature.
        features: their names.
    """

    grids: tuple[Grid, ...]
    features: tuple[str, ...]
    name = "stumps"

    @property
    def columns(self) -> int:
        """The number of features."""
        return len(self.grids)

    @property
    def size(self) -> int:
        """Twice the number of points of all grids."""
        return 2 * sum(grid.points for grid in self.grids)

    def universe(self, records: Records) -> ThresholdUniverse:
        """At most two blocks for each different value of each feature, and two more a feature."""
        return ThresholdUniverse(records, self.grids, tuple(Side))

    def hypothesis(self, candidate: Place) -> Threshold:
        """The threshold at that place. Raises LookupError, ValueError or TypeError for what is no candidate."""
        column, place, side = checked_place(candidate, self.grids, tuple(Side))
        return Threshold(self.grids[column], place, side, column, self.features[column])
