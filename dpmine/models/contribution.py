"""Contribution bounding: the privacy unit of an estimator, and how many rows of one unit it uses.

Estimators are proved private for one record under replace_one. Here records become privacy units. Every unit keeps at
most M of its rows. A guarantee for one record at ε/M is then one at ε for the M places of a unit.
`dpmine.models.private_estimator` calls this between the parameters of a fit and its data.
Proof: docs/proofs/models/contribution_bounding.md.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from dpmine.errors import BadData, BadParameter
from dpmine.exact.reals import GUARD_BITS, below, exact_ball
from dpmine.ledger.budget import checked_name
from dpmine.models.entries import Entries, Labels, entry_by_entry, is_hashable, is_missing, shape_of
from dpmine.models.validation.procedure import random_order
from dpmine.parameters import LEAST_PROBABILITY, whole
from dpmine.privacy import ROW, ExPostGuarantee, SomeGuarantee, of_asserted_unit
from dpmine.silence import no_warnings

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import Series

    from dpmine.exact.bits import BitSource
    from dpmine.privacy import Neighbors

    Codes: TypeAlias = NDArray[np.int64]

MOST_ROWS = 10_000
"""The most rows of one unit that a fit may keep: they share the unit's budget."""
NO_UNIT = "No row has a privacy unit: name the column that holds it."
_MOST_NUMBERS = 2**30  # of places times features: 8 GB
_NO_UNITS = (
    "units must have one dimension and hold integers, texts or dates, one privacy unit per row: give the column "
    "itself, such as units=visits['patient']."
)
_PRECISION = 64 + GUARD_BITS
_LARGEST_EPSILON = 1000  # beyond it δ' is below 1e-100 for any δ and several rows


@dataclass(frozen=True, slots=True)
class PrivateCount:
    """That the number of units is private, as it is in a window of time.

    Attributes:
        neighbors: the relation of the guarantee; a unit may also be replaced, enter or leave under replace_one.
        places: N, the public number of units that a fit makes room for; None for fits that use no number of units.
        use: what the places are for.
    """

    neighbors: Neighbors
    places: int | None = None
    use: str = "training"

    @classmethod
    def of(cls, neighbors: Neighbors, units: object, use: str = "training") -> Self:
        """`units` is the public number that a user declares. Raises BadParameter."""
        places = whole("units", units, least=2)
        if places > _MOST_NUMBERS:
            raise BadParameter(f"units must be at most {_MOST_NUMBERS:,}.")
        return cls(neighbors, places, use)

    def protecting(self, guarantee: SomeGuarantee) -> SomeGuarantee:
        """The guarantee under the relation, with a note on the units that are used."""
        under = replace(guarantee, neighbors=self.neighbors)
        if self.places is None:
            return under
        return under.noting(
            f"{self.use} has {self.places:,} places, a public number: of more units, that many are drawn at random; of "
            "fewer, the other places stay empty"
        )

    def require_room(self, rows: int, features: int) -> None:
        """Raises BadParameter where N places of that many rows and features do not fit into memory."""
        if self.places is not None and self.places * rows * features > _MOST_NUMBERS:
            raise BadParameter("units is too large for the number of rows per unit and features: give a smaller one.")


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """The privacy unit of a fit; made by `PrivacyUnit.of`.

    Attributes:
        name: what the guarantee calls the unit.
        rows: M, the most rows of one unit that are kept.
        enforced: whether the rows of each unit are known, so that M is a bound and not an assertion.
        private_count: where the number of units is private; None where it is public.
    """

    name: str
    rows: int
    enforced: bool
    private_count: PrivateCount | None = None

    @classmethod
    def of(cls, unit: str, rows_per_unit: int, column: str | None) -> PrivacyUnit:
        """`unit` is the estimator's parameter, `column` the name of the units that the data bring; None for none.

        Raises BadParameter for an unusable name or number, and for several rows per unit where no units are given.
        """
        name, rows = checked_name("unit", unit), whole("rows_per_unit", rows_per_unit)
        if rows > MOST_ROWS:
            raise BadParameter(f"rows_per_unit must be at most {MOST_ROWS:,}.")
        if column == ROW:
            raise BadParameter("A unit called 'row' would read as a guarantee for each row: rename the column.")
        if column is not None:
            return cls(checked_name("unit", column) if name == ROW else name, rows, enforced=True)
        if rows > 1:
            raise BadParameter(
                "rows_per_unit needs the units: give fit(..., units=...), or the column with `unit=COL`."
            )
        return cls(name, 1, enforced=False)

    def protecting(self, guarantee: SomeGuarantee) -> SomeGuarantee:
        """The guarantee for this unit, with a note on what makes it true."""
        if self.private_count is not None:
            guarantee = self.private_count.protecting(guarantee)
        if self.enforced:
            kept = "one row" if self.rows == 1 else f"at most {self.rows:,} rows"
            note = (
                f"every {self.name} keeps {kept}, drawn at random from its own; rows without a {self.name} are dropped"
            )
            return guarantee.for_unit(self.name).noting(note)
        return of_asserted_unit(guarantee, self.name, "one row each")


@dataclass(frozen=True, eq=False, slots=True)
class Units:
    """The privacy unit of each row.

    Attributes:
        name: what the privacy unit is called.
        codes: int64, shape (n,): equal for rows of the same unit, −1 for rows that belong to none.
    """

    name: str
    codes: Codes

    @classmethod
    def of(cls, units: Entries, name: str) -> Units:
        """`units` has shape (n,): integers, texts, dates or other hashable values.

        None and NaN stand for no unit, and so does what cannot be hashed. Two values are one unit where they are equal,
        whatever else there is: no type is found for all of them together.
        """
        import pandas as pd

        with no_warnings:  # of foreign classes, which are compared and hashed as they like
            try:
                codes, _ = pd.factorize(_entries(units))
            except Exception:  # noqa: BLE001 - the same
                entries = entry_by_entry(units)
                entries[[is_missing(entry) or not is_hashable(entry) for entry in entries]] = None
                codes, _ = pd.factorize(entries)
        return cls(name, codes.astype(np.int64, copy=False))

    @classmethod
    def of_keys(cls, keys: Sequence[Codes], name: str) -> Units:
        """The units that one or several columns of codes name together; −1 in any of them stands for no unit."""
        whole_key, *others = keys
        codes = whole_key
        for other in others:
            missing = (codes < 0) | (other < 0)
            pairs = codes * (other.max(initial=0) + 1) + other  # far below 2^63: codes are near the number of rows
            codes = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
            codes[missing] = -1
        return cls(name, codes)

    def as_column(self) -> Series:
        """The units as `fit` takes them, of rows that all have one."""
        import pandas as pd

        return pd.Series(self.codes, name=self.name)


def require_units(units: Entries, X: Entries) -> None:
    """Check the form of units before a charge: one dimension, one entry per row. No entry is read. Raises BadData."""
    shape = getattr(units, "shape", None)
    if isinstance(units, str | bytes) or not isinstance(units, Sized) or (shape is not None and len(shape) != 1):
        raise BadData(_NO_UNITS)
    if len(units) != shape_of(X)[0]:
        raise BadData("X and units have inconsistent numbers of samples: give one unit per row.")


def _entries(units: Entries) -> Any:
    """Units in a form whose types pandas keeps: arrays and columns unchanged, anything else entry by entry."""
    import pandas as pd

    if isinstance(units, pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        return units
    if isinstance(units, np.ndarray) and not isinstance(units, np.ma.MaskedArray):
        return units
    return entry_by_entry(units)


@dataclass(frozen=True, eq=False, slots=True)
class Places:
    """Where each unit's kept rows are: M places per unit, the first ones filled, the units in a uniform order.

    Attributes:
        positions: int64, shape (units, w), w ≤ M the most places that a unit fills: positions of rows, −1 for an empty
            place. None where every row is its own unit, in the order of the rows.
        units: their number.
        each: M.
    """

    positions: Codes | None
    units: int
    each: int

    @property
    def size(self) -> int:
        """The number of places, which is public under replace_one; that of the rows is not."""
        return self.units * self.each

    def filled(self) -> NDArray[np.float64]:
        """1.0 for a place with a row, 0.0 for an empty one; shape (size,)."""
        return np.ones(self.size) if self.positions is None else self._placed((self.positions >= 0).astype(np.float64))

    def rows(self, units: Codes | slice = slice(None)) -> Codes:
        """Positions of the kept rows of these units; shape (rows,)."""
        if self.positions is None:
            return np.arange(self.units)[units]
        kept = self.positions[units].ravel()
        return kept[kept >= 0]

    def of(self, values: Labels) -> Labels:
        """The values of the kept rows, zeros in empty places; shape (size, …).

        Raises BadParameter, by public numbers alone, where the places do not fit into memory.
        """
        if self.positions is None:
            return values
        if self.size * prod(values.shape[1:]) > _MOST_NUMBERS:
            raise BadParameter("rows_per_unit is too large for the number of units and features: give a smaller one.")
        kept = np.zeros((*self.positions.shape, *values.shape[1:]), values.dtype)
        filled = self.positions >= 0
        kept[filled] = values[self.positions[filled]]
        return self._placed(kept)

    def within(self, units: int, *, bits: BitSource) -> Places:
        """As many units, whatever their number is: of more a uniform part, of fewer with empty ones between them.

        Law: the units and empty ones, max(`units`, n) together, are in a uniform order, of which the first are taken.
        One unit more or less is therefore one that is replaced (docs/proofs/models/contribution_bounding.md).
        """
        own = np.arange(self.units)[:, np.newaxis] if self.positions is None else self.positions
        order = random_order(max(units, self.units), bits=bits)[:units]
        filled = order < self.units
        positions = np.full((units, own.shape[1]), -1, np.int64)
        positions[filled] = own[order[filled]]
        return Places(positions, units, self.each)

    def _placed(self, kept: Labels) -> Labels:
        """Entries by unit and place, with zeros up to M places."""
        if kept.shape[1] == self.each:
            return kept.reshape(self.size, *kept.shape[2:])
        placed = np.zeros((self.units, self.each, *kept.shape[2:]), kept.dtype)
        placed[:, : kept.shape[1]] = kept
        return placed.reshape(self.size, *kept.shape[2:])


@dataclass(frozen=True, eq=False, slots=True)
class Bounding:
    """How a fit bounds units: `rows` = M places for each of the `units`; None where each row is its own unit.

    `declared` = N units have places where their true number is private; None for all that there are.
    """

    rows: int = 1
    units: Units | None = None
    declared: int | None = None

    def places(self, records: int, *, bits: BitSource) -> Places:
        """The places of the rows, of which there are `records`.

        Law: each unit keeps a uniform subset of min(M, its rows) rows, drawn for each unit by itself. The units are in
        a uniform order, so that neighbours differ in the M places of one unit and in nothing else. Of `declared` units
        as `Places.within`.
        Raises BadData unless there is one unit per record.
        """
        every = self.every(records, bits=bits)
        return every if self.declared is None else every.within(self.declared, bits=bits)

    def every(self, records: int, *, bits: BitSource) -> Places:
        """`places` of all units that there are."""
        if self.units is None:
            return Places(None, records, 1)
        require_units(self.units.codes, range(records))
        return _kept(self.units.codes, self.rows, bits=bits)

    @property
    def known(self) -> NDArray[np.bool_] | None:
        """Which rows have a unit; None where each row is one."""
        return None if self.units is None else self.units.codes >= 0


def require_any(places: Places) -> Places:
    """The places, if there are any: for estimators that take the number of units as public. Raises BadData."""
    if not places.units:
        raise BadData(NO_UNIT)
    return places


EVERY_ROW = Bounding()
"""Each row is its own unit."""


def _kept(codes: Codes, most: int, *, bits: BitSource) -> Places:
    """The first rows of each unit, in a uniform order of all rows; the units in another."""
    present = np.flatnonzero(codes >= 0)
    shuffled = present[random_order(len(present), bits=bits)]
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    starts = np.diff(codes[order], prepend=-1) != 0
    unit = np.cumsum(starts) - 1
    place = np.arange(len(order)) - np.flatnonzero(starts)[unit]
    count = int(starts.sum())
    positions = np.full((count, min(most, int(place.max(initial=0)) + 1)), -1, np.int64)
    kept = place < most
    positions[unit[kept], place[kept]] = order[kept]
    return Places(positions[random_order(count, bits=bits)], count, most)


@dataclass(frozen=True)
class SharedBudget:
    """A unit's ε and δ, and the number M of records that share them.

    One record gets ε/M and the δ' for which δ' Σ_{j<M} e^{jε/M} ≤ δ: group privacy gives ε and δ back for M records.
    """

    epsilon: Fraction
    delta: Fraction
    rows: int

    @cached_property
    def row_epsilon(self) -> Fraction:
        """ε/M."""
        return self.epsilon / self.rows

    @cached_property
    def row_delta(self) -> Fraction:
        """δ', at least 1e-100: `of_unit` rejects what would need less."""
        return max(LEAST_PROBABILITY, self._row_delta)

    @cached_property
    def _row_delta(self) -> Fraction:
        """δ (e^{ε/M} − 1)/(e^ε − 1), rounded down."""
        if self.rows == 1:
            return self.delta
        if self.epsilon > _LARGEST_EPSILON:
            return Fraction(0)

        def formula() -> Any:
            return exact_ball(self.delta) * exact_ball(self.row_epsilon).expm1() / exact_ball(self.epsilon).expm1()

        return max(Fraction(0), below(formula, _PRECISION))

    @property
    def spendable(self) -> bool:
        """Whether δ' is large enough for mechanisms that spend one."""
        return self.rows == 1 or self._row_delta >= LEAST_PROBABILITY

    def require_delta(self) -> None:
        """Raises BadParameter where δ' is not `spendable`."""
        if not self.spendable:
            raise BadParameter("With several rows per unit this needs a smaller epsilon: take one below 100.")

    def of_unit(self, guarantee: SomeGuarantee) -> SomeGuarantee:
        """What a guarantee for one record, made with ε/M and δ', is for M of them; ex-post guarantees too.

        Raises BadParameter as `require_delta` where the guarantee spends a δ.
        """
        if self.rows == 1:
            return guarantee
        if guarantee.delta:
            self.require_delta()
        delta = self.delta if guarantee.delta else Fraction(0)
        grouped = guarantee.grouped(self.rows, delta)
        if isinstance(grouped, ExPostGuarantee):
            return replace(grouped, ex_post_epsilon=grouped.ex_post_epsilon * self.rows)
        return grouped
