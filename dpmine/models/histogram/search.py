"""A private density of given numbers, its number of bins chosen privately: parameters, terms and the run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpmine.errors import BadData, BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.ledger.charging import ROW
from dpmine.models.contribution import EVERY_ROW, Bounding, SharedBudget, require_any
from dpmine.models.histogram.density import Density
from dpmine.models.histogram.training import (
    CLIPPING,
    BinGrid,
    Bounds,
    Floats,
    HistogramTraining,
    Values,
    as_values,
    bin_counts,
    density_score,
    records_needed,
    stabilities,
)
from dpmine.models.tables import read_columns, units_of
from dpmine.models.validation.procedure import train_candidates, train_validated
from dpmine.models.validation.split import random_split, train_size_of
from dpmine.models.validation.terms import ValidationTerms, chooser_of, require_replace_one
from dpmine.parameters import Number, exact_share, positive, probability
from dpmine.privacy import Guarantee, Neighbors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpmine.exact.bits import BitSource
    from dpmine.ledger.charging import Account
    from dpmine.models.contribution import Places, PrivacyUnit
    from dpmine.selection.mechanisms.base import Mechanism


@dataclass(frozen=True, slots=True)
class BinSearch:
    """The parameters of a `PrivateHistogram`, read and checked; made by `BinSearch.of`.

    A privacy unit may have several records, which share its budget: `shared` has those of one record.
    """

    bins: tuple[int, ...]
    bounds: Bounds
    train_share: Fraction
    mechanism: str
    selection_share: Fraction
    shared: SharedBudget

    @classmethod
    def of(
        cls,
        *,
        bins: Sequence[int],
        lower: Number,
        upper: Number,
        epsilon: Number,
        delta: Number,
        train_share: Number,
        mechanism: str,
        selection_share: Number,
        neighbors: str,
        rows: int = 1,
    ) -> Self:
        """Raises BadParameter for the first parameter that is not usable."""
        require_replace_one(neighbors)
        bounds = Bounds.of(lower, upper)
        counts = bin_counts(bins)
        for count in counts:
            bounds.edges(count)
        shared = SharedBudget(positive("epsilon", epsilon), probability("delta", delta), rows)
        if len(counts) > 1:
            shared.require_delta()
        shares = exact_share("train_share", train_share), exact_share("selection_share", selection_share)
        search = cls(counts, bounds, shares[0], str(mechanism), shares[1], shared)
        search.chooser()
        return search

    def promise(self) -> Guarantee:
        """The most that `density` will promise, before its notes."""
        delta = Fraction(0) if len(self.bins) == 1 else self.shared.row_delta
        return self.shared.of_unit(Guarantee(self.shared.row_epsilon, delta, Neighbors.REPLACE_ONE, "row"))

    def density(self, x: Any, *, bounding: Bounding = EVERY_ROW, bits: BitSource) -> Density:
        """The density of the numbers x, shape (n,) or (n, 1); `bounding` says which records share the budget.

        Raises BadData as `PrivateHistogram.fit`.
        """
        clipped = self.bounds.clipped(as_values(x))
        places = bounding.places(clipped.size, bits=bits)
        if bounding.units is not None:
            require_any(places)
        return (self._only if len(self.bins) == 1 else self._chosen)(clipped, places, bits=bits)

    def chooser(self) -> Mechanism:
        """What chooses the bins; "auto" is settled by public numbers."""
        epsilon, delta = self.shared.row_epsilon * self.selection_share, self.shared.row_delta / 2
        return chooser_of(self.mechanism, epsilon=epsilon, delta=delta, candidates=len(self.bins))

    def terms(self, train_size: int, validation_size: int) -> ValidationTerms:
        """The public terms of a validation with so many records."""
        chooser = self.chooser()
        choice = self.shared.row_delta / 2 if chooser.approximate else Fraction(0)
        return ValidationTerms.of(
            train_size=train_size,
            validation_size=validation_size,
            failure=self.shared.row_delta - choice,
            training_epsilon=self.shared.row_epsilon * (1 - self.selection_share),
            selection_epsilon=self.shared.row_epsilon * self.selection_share,
            selection_delta=choice,
            mechanism=chooser.name,
            caution=0,
            fallback=int(np.argmin(self.bins)),
        )

    def _only(self, clipped: Floats, places: Places, *, bits: BitSource) -> Density:
        """One candidate: nothing is chosen, so that all of ε and all records train."""
        if not places.units:
            raise BadData("x holds no records.")
        every = Values.of(clipped[places.rows()])
        model = train_candidates(HistogramTraining(), self._grids(), every, self.shared.row_epsilon, bits=bits)[0]
        return Density(model, self.bins, None, self.promise().noting(CLIPPING))

    def _chosen(self, clipped: Floats, places: Places, *, bits: BitSource) -> Density:
        """Algorithm 2, on units: each trains or validates with all its records.

        A unit has at least one record, so there are at least as many as units: the size that stability rests on.
        """
        self._require_enough(places.units)
        size = train_size_of(places.units, self.train_share)
        held = (places.units - size) * places.each
        terms = self.terms(size, held)
        trained, held_out = (clipped[places.rows(part)] for part in random_split(places.units, size, bits=bits))
        found = train_validated(
            HistogramTraining(),
            self._grids(),
            Values.of(trained),
            Values.of(held_out, held),
            score=density_score,
            stabilities=stabilities(self.bins, records=size, alpha=terms.training_epsilon, failure=terms.failure),
            terms=terms,
            final=Values.of(clipped[places.rows()]),
            bits=bits,
        )
        if found.model is None:  # cannot be: the terms name a fallback
            raise BadParameter("The mechanism returned no candidate, and there is no number of bins to fall back on.")
        guarantee = self.shared.of_unit(found.guarantee).noting(CLIPPING)
        return Density(found.model, self.bins, terms.mechanism, guarantee)

    def _grids(self) -> list[BinGrid]:
        return [BinGrid(self.bounds, count) for count in self.bins]

    def _require_enough(self, records: int) -> None:
        """BadData, with the number needed, unless the training part is large enough for every candidate."""
        terms = self.terms(1, 1)
        needed = records_needed(self.bins, alpha=terms.training_epsilon, failure=terms.failure)
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
    data: Any,
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
        account.charge(unit.protecting(search.promise()), job="histogram")

    asserted = None if unit.enforced or unit.name == ROW else unit.name
    read = read_columns(data, [column], keys=units, asserted=asserted, progress=progress, ready=charge)
    bounding = Bounding(unit.rows, units_of(read, units))
    found = search.density(read[column], bounding=bounding, bits=SystemBits())
    return replace(found, guarantee=unit.protecting(found.guarantee))
