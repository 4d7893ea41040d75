"""How a `PrivateHistogram` spends its budget: a search for a grid, and a last training.

Nothing here needs scikit-learn, which takes long to import: `dpmine histogram` runs without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, log
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np

from dpmine.errors import BadData, BadParameter
from dpmine.exact.bits import BitSource, SystemBits
from dpmine.models.contribution import (
    EVERY_ROW,
    Bounding,
    Places,
    PrivacyUnit,
    PrivateCount,
    SharedBudget,
    require_any,
)
from dpmine.models.histogram.density import Density
from dpmine.models.histogram.training import (
    CLIPPING,
    GRID,
    HistogramTraining,
    Records,
    Space,
    density_score,
    records_needed,
    stabilities,
    stabilities_at_floor,
)
from dpmine.models.tables import read_columns, units_of
from dpmine.models.validation.procedure import (
    random_split,
    select_parameter,
    train_candidates,
    train_selected,
    train_size_of,
)
from dpmine.models.validation.terms import CandidateSearch, ValidationTerms, require_replace_one
from dpmine.parameters import Number, exact_number, exact_share, positive, probability
from dpmine.privacy import ROW, Guarantee, Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpmine.ledger.charging import Account
    from dpmine.models.entries import Entries, Floats

Bins: TypeAlias = "Sequence[int | Sequence[int]]"
"""Candidates: a number of bins each, or a pair of them."""
Bound: TypeAlias = "Number | Sequence[Number]"
"""Of all numbers of a record, or a pair of bounds."""


def _delta_of(delta: Number, *, needed: bool) -> Fraction:
    """δ, which only a choice spends. Raises BadParameter for a δ of 0 where one is needed."""
    if exact_number("delta", delta):
        return probability("delta", delta)
    if needed:
        raise BadParameter(
            "delta must be greater than 0, such as 1e-6, because a choice among several bins spends it; or give one "
            "number of bins."
        )
    return Fraction(0)


@dataclass(frozen=True, slots=True)
class BinSearch:
    """The parameters of a `PrivateHistogram`, read and checked; made by `BinSearch.of`.

    A privacy unit may have several records, which share its budget: `shared` has those of one record.
    `private_count` is for a private number of units, which may be 0. One candidate uses no such number; a choice among
    several uses the public number of places.
    """

    space: Space
    train_share: Fraction
    search: CandidateSearch
    shared: SharedBudget
    private_count: PrivateCount | None = None

    @classmethod
    def of(
        cls,
        *,
        bins: Bins,
        lower: Bound,
        upper: Bound,
        epsilon: Number,
        delta: Number,
        train_share: Number,
        mechanism: str,
        selection_share: Number,
        neighbors: str,
        rows: int = 1,
        private_count: PrivateCount | None = None,
    ) -> Self:
        """Raises BadParameter for the first parameter that is not usable."""
        require_replace_one(neighbors)
        space = Space.of(bins, lower, upper)
        stable = len(space.candidates) == 1 or private_count is not None
        exact_delta = _delta_of(delta, needed=not stable)
        shared = SharedBudget(positive("epsilon", epsilon), exact_delta, rows)
        if not stable:
            shared.require_delta()
        trained, share = exact_share("train_share", train_share), exact_share("selection_share", selection_share)
        choice = shared.row_delta / (1 if stable else 2) if exact_delta else exact_delta
        search = CandidateSearch(shared.row_epsilon, share, choice, str(mechanism), len(space.candidates))
        search.chooser()
        made = cls(space, trained, search, shared, private_count)
        if len(space.candidates) > 1 and private_count is not None:
            made.require_places(private_count)
        return made

    def require_places(self, count: PrivateCount) -> None:
        """BadParameter where a choice has no public number of places, or one that is too small to be divided."""
        if count.places is None:
            raise BadParameter("A choice among bins needs a public number of units: give units, or one number of bins.")
        train_size_of(count.places, self.train_share)

    @property
    def cells(self) -> tuple[int, ...]:
        """How many bins, or cells, each of them has."""
        return tuple(grid.bins for grid in self.space.grids)

    @property
    def count_error(self) -> int:
        """A released count is off by at most this, from the records that were kept, with probability 0.95 or more.

        A count's noise is Lap(2/α), rounded to a grid: beyond (2/α) ln 20 and half a step with probability 1/20.
        A negative count that is raised to 0 is nearer to the true one.
        """
        return ceil(2 * log(20) / self.search.training_epsilon + GRID)

    def guarantee(self) -> Guarantee:
        """The most that `density` will guarantee, before its notes."""
        delta = Fraction(0)
        if self.search.candidates > 1:
            delta = self.shared.row_delta if self.private_count is None else self.search.chooser().delta
        return self.shared.of_unit(Guarantee(self.shared.row_epsilon, delta, Neighbors.REPLACE_ONE, "row"))

    def density(self, x: Entries, *, bounding: Bounding = EVERY_ROW, bits: BitSource) -> Density:
        """The density of the numbers x: shape (n,) or (n, 1) on an interval, (n, 2) on a rectangle.

        `bounding` says which records share the budget.

        Raises BadData as `PrivateHistogram.fit`.
        """
        clipped = self.space.clipped(x)
        places = bounding.every(len(clipped), bits=bits)
        if bounding.units is not None and self.private_count is None:
            require_any(places)
        return (self._only if self.search.candidates == 1 else self._chosen)(clipped, places, bits=bits)

    def terms(self, train_size: int, validation_size: int) -> ValidationTerms:
        """The public terms of a validation with these numbers of records; half of δ is for an approximate chooser."""
        half = self.shared.row_delta / 2 if self.private_count is None else None
        fewest = int(np.argmin(self.cells))
        return self.search.terms(train_size, validation_size, fallback=fewest, stable_delta=half)

    def _only(self, clipped: Floats, places: Places, *, bits: BitSource) -> Density:
        """One candidate: nothing is chosen, so that all of ε and all records train."""
        if not places.units and self.private_count is None:
            raise BadData("x holds no records.")
        every, alpha = Records.of(clipped[places.rows()]), self.search.training_epsilon
        model = train_candidates(HistogramTraining(), self.space.grids, every, alpha, bits=bits)[0]
        return Density(model, self.space.candidates, None, self.guarantee().noting(CLIPPING))

    def _chosen(self, clipped: Floats, places: Places, *, bits: BitSource) -> Density:
        """Algorithm 2, on units: each trains or validates with all its records.

        A unit has at least one record, so there are at least as many as units: the size that stability rests on. Where
        their number is private it rests on a floor, and units in a public number of places choose; all are counted.
        """
        choosing, floor = self._choosing(places, bits=bits)
        size = train_size_of(choosing.units, self.train_share)
        held = (choosing.units - size) * choosing.each
        terms = self.terms(size, held)
        trained, held_out = (clipped[choosing.rows(part)] for part in random_split(choosing.units, size, bits=bits))
        selected = select_parameter(
            HistogramTraining(size if floor else 0),
            self.space.grids,
            Records.of(trained),
            Records.of(held_out, held),
            score=density_score,
            stabilities=stabilities_at_floor(self.cells)
            if floor
            else stabilities(self.cells, records=size, alpha=terms.training_epsilon, failure=terms.failure),
            terms=terms,
            bits=bits,
        )
        chosen = train_selected(HistogramTraining(), selected, Records.of(clipped[places.rows()]), terms, bits=bits)
        if chosen.model is None:  # cannot be: the terms name a fallback
            raise BadParameter("The mechanism returned no candidate, and there is no number of bins to fall back on.")
        guarantee = self.shared.of_unit(chosen.guarantee).noting(CLIPPING)
        return Density(chosen.model, self.space.candidates, terms.mechanism, guarantee)

    def _choosing(self, places: Places, *, bits: BitSource) -> tuple[Places, bool]:
        """The units that choose, and whether the score needs a floor. Raises BadData as `fit` for too few of them."""
        if self.private_count is None or self.private_count.places is None:
            self._require_enough(places.units)
            return places, False
        return places.within(self.private_count.places, bits=bits), True

    def _require_enough(self, records: int) -> None:
        """BadData, with the number needed, unless the training part is large enough for every candidate."""
        terms = self.terms(1, 1)
        needed = records_needed(self.cells, alpha=terms.training_epsilon, failure=terms.failure)
        total = least_records(needed, self.train_share)
        if records < total:
            raise BadData(
                f"Too few records: these bins, ε, δ and train_share need at least {total}. "
                "Take more records, fewer bins or a larger ε."
            )


def least_records(train_size: int, train_share: Fraction) -> int:
    """The fewest records of which `train_size` ≥ 1 train at that share."""
    total = max(2, int(train_size / train_share) - 1)
    while train_size_of(total, train_share) < train_size:
        total += 1
    return total


def density_of_column(
    search: BinSearch,
    unit: PrivacyUnit,
    account: Account,
    data: object,
    *,
    column: str,
    units: Sequence[str] = (),
    progress: Callable[[float], None] | None = None,
) -> Density:
    """The private density of a column, charged once the columns are known to be there, before any value is read.

    `search` is for `unit.rows` records per unit. Needs no scikit-learn, which takes long to import. Raises as
    `PrivateHistogram.fit`, and BadData and UnreadableFile as `read_columns`.
    """

    def charge() -> None:
        account.charge(unit.protecting(search.guarantee()), job="histogram")

    asserted = None if unit.enforced or unit.name == ROW else unit.name
    columns = read_columns(data, [column], keys=units, asserted=asserted, progress=progress, ready=charge)
    bounding = Bounding(unit.rows, units_of(columns, units))
    density = search.density(columns[column], bounding=bounding, bits=SystemBits())
    return replace(density, guarantee=unit.protecting(density.guarantee))
