"""Contribution bounding: whom an estimator protects, and how many rows of one privacy unit reach it.

Estimators are proved private for one record under replace_one. Here records become privacy units: every unit keeps at
most M of its rows, and a guarantee for one record at ε/M is one at ε for the M places of a unit. Estimators call this
between their parameters and their data; `dpmine.charged` and `dpmine.supervised` are its callers.
Proof: docs/proofs/contribution_bounding.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from dpmine.accounting.accounts import ROW, of_asserted_unit
from dpmine.accounting.names import checked_name
from dpmine.errors import BadData, BadParameter
from dpmine.exact.balls import GUARD_BITS, exact_ball
from dpmine.exact.rounding import below
from dpmine.parameters import LEAST_PROBABILITY, whole
from dpmine.privacy import ExPostGuarantee, Guarantee
from dpmine.validation.words import random_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource

    Codes: TypeAlias = NDArray[np.int64]

Promise = TypeVar("Promise", bound=Guarantee)
MOST_ROWS = 10_000
"""Rows of one unit that a fit may keep: each of them divides the budget."""
_PRECISION = 64 + GUARD_BITS


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """Whom a fit protects; made by `PrivacyUnit.of`.

    Attributes:
        name: what the guarantee calls the unit.
        rows: M, the most rows of one unit that are kept.
        enforced: whether the rows of each unit are known, so that M is a bound and not an assertion.
    """

    name: str
    rows: int
    enforced: bool

    @classmethod
    def of(cls, unit: str, rows_per_unit: int, column: str | None) -> PrivacyUnit:
        """`unit` is the estimator's parameter, `column` the name of the units that the data bring; None for none.

        Raises BadParameter for an unusable name or number, and for several rows per unit where no units are given.
        """
        name, rows = checked_name("unit", unit), whole("rows_per_unit", rows_per_unit)
        if rows > MOST_ROWS:
            raise BadParameter(f"rows_per_unit must be at most {MOST_ROWS:,}.")
        if column is not None:
            return cls(checked_name("unit", column) if name == ROW else name, rows, enforced=True)
        if rows > 1:
            raise BadParameter(
                "rows_per_unit needs the units: give fit(..., units=...), or the column with --unit COL."
            )
        return cls(name, 1, enforced=False)

    def protecting(self, promise: Promise) -> Promise:
        """The guarantee, with the unit that it holds for and what makes it hold."""
        if self.enforced:
            kept = "one row" if self.rows == 1 else f"at most {self.rows:,} rows"
            note = (
                f"every {self.name} keeps {kept}, drawn at random from its own; rows without a {self.name} are dropped"
            )
            return promise.for_unit(self.name).noting(note)
        return of_asserted_unit(promise, self.name, "one row each")


@dataclass(frozen=True, eq=False, slots=True)
class Units:
    """Which rows belong together.

    Attributes:
        name: what the privacy unit is called.
        codes: int64, shape (n,): equal for rows of the same unit, −1 for rows that belong to none.
    """

    name: str
    codes: Codes

    @classmethod
    def of(cls, units: Any, name: str) -> Units:
        """`units` has shape (n,): integers, texts, dates or other hashable values; None and NaN stand for no unit.

        Values that are equal are one unit. Raises BadData for anything else.
        """
        import pandas as pd

        values = np.asarray(units)
        if values.ndim != 1:
            raise BadData("units must have one dimension: one privacy unit per row.")
        try:
            codes, _ = pd.factorize(values)
        except (TypeError, ValueError):
            raise BadData("units must hold integers, texts or dates: one privacy unit per row.") from None
        return cls(name, codes.astype(np.int64, copy=False))

    @classmethod
    def of_keys(cls, keys: Sequence[Codes], name: str) -> Units:
        """The units that one or several columns of codes name together; −1 in any of them stands for no unit."""
        whole_key, *others = keys
        codes = whole_key
        for other in others:
            missing = (codes < 0) | (other < 0)
            pairs = codes * (other.max(initial=0) + 1) + other  # both are below the number of rows
            codes = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
            codes[missing] = -1
        return cls(name, codes)


@dataclass(frozen=True, eq=False, slots=True)
class Places:
    """Where each unit's kept rows are: M places per unit, the first ones filled, the units in a uniform order.

    Attributes:
        positions: int64, shape (units, M): positions of rows, −1 for an empty place; None where every row is its own
            unit, in the order of the rows.
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
        return np.ones(self.size) if self.positions is None else (self.positions.ravel() >= 0).astype(np.float64)

    def rows(self, units: Codes | slice = slice(None)) -> Codes:
        """Positions of the kept rows of these units; shape (rows,)."""
        if self.positions is None:
            return np.arange(self.units)[units]
        kept = self.positions[units].ravel()
        return kept[kept >= 0]

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of the kept rows, zeros in empty places; shape (size, …)."""
        if self.positions is None:
            return values
        placed = values[self.positions.ravel()]
        placed[self.positions.ravel() < 0] = 0
        return placed


@dataclass(frozen=True, eq=False, slots=True)
class Bounding:
    """What a fit does with the rows of one unit: `rows` = M places for each of the `units`; None for rows alone."""

    rows: int = 1
    units: Units | None = None

    def places(self, records: int, *, bits: BitSource) -> Places:
        """The places of so many rows.

        Law: each unit keeps a uniform subset of min(M, its rows) rows, drawn for each unit by itself. The units are in
        a uniform order, so that neighbours differ in the M places of one unit and in nothing else.
        Raises BadData unless there is one unit per record.
        """
        if self.units is None:
            return Places(None, records, 1)
        if len(self.units.codes) != records:
            raise BadData(f"X and units have inconsistent numbers of samples: {records} and {len(self.units.codes)}.")
        return _kept(self.units.codes, self.rows, bits=bits)


EVERY_ROW = Bounding()
"""Each row by itself."""


def _kept(codes: Codes, most: int, *, bits: BitSource) -> Places:
    """The first rows of each unit, in a uniform order of all rows; the units in another."""
    present = np.flatnonzero(codes >= 0)
    shuffled = present[random_order(len(present), bits=bits)]
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    starts = np.diff(codes[order], prepend=-1) != 0
    unit = np.cumsum(starts) - 1
    place = np.arange(len(order)) - np.flatnonzero(starts)[unit]
    count = int(starts.sum())
    positions = np.full((count, most), -1, np.int64)
    kept = place < most
    positions[unit[kept], place[kept]] = order[kept]
    return Places(positions[random_order(count, bits=bits)], count, most)


def row_budget(epsilon: Fraction, delta: Fraction, rows: int) -> tuple[Fraction, Fraction]:
    """(ε/M, δ') for one record, so that M records together have (ε, δ): δ' Σ_{j<M} e^{jε/M} ≤ δ.

    δ' is at least 1e-100: `for_group` rejects what would need less.
    """
    if rows == 1:
        return epsilon, delta
    return epsilon / rows, max(LEAST_PROBABILITY, _row_delta(epsilon, delta, rows))


def for_group(promise: Promise, delta: Fraction, rows: int) -> Promise:
    """What a guarantee for one record, made with `row_budget`, is for M records: M·ε, and δ where it has any.

    Group privacy, also for ex-post guarantees. Raises BadParameter where δ' would lie below 1e-100.
    """
    if rows == 1:
        return promise
    epsilon = promise.epsilon * rows
    if promise.delta and _row_delta(epsilon, delta, rows) < LEAST_PROBABILITY:
        raise BadParameter(
            "epsilon is too large for several rows per unit with this mechanism: take epsilon below 100."
        )
    grouped = replace(promise, epsilon=epsilon, delta=delta if promise.delta else Fraction(0))
    if isinstance(grouped, ExPostGuarantee):
        return replace(grouped, ex_post_epsilon=grouped.ex_post_epsilon * rows)
    return grouped


def _row_delta(epsilon: Fraction, delta: Fraction, rows: int) -> Fraction:
    """δ (e^{ε/M} − 1)/(e^ε − 1), rounded down."""
    if epsilon > 1000:
        return Fraction(0)

    def formula() -> Any:
        return exact_ball(delta) * exact_ball(epsilon / rows).expm1() / exact_ball(epsilon).expm1()

    return max(Fraction(0), below(formula, _PRECISION))
