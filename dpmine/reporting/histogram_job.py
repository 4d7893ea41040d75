"""Jobs of the kind histogram."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpmine.ledger.charging import Account
from dpmine.models.frames import unit_name
from dpmine.models.histogram.estimator import PrivateHistogram
from dpmine.models.histogram.search import density_of_column
from dpmine.models.tables import require_columns
from dpmine.parameters import whole_numbers
from dpmine.reporting.job import OF_UNIT, Job, Payer, Released

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.privacy import Guarantee

_BINS = (4, 8, 16)
_AS_GIVEN = (
    "epsilon",
    "delta",
    "neighbors",
    "mechanism",
    "train_share",
    "selection_share",
)


class HistogramJob(Job):
    """The density of a column."""

    __slots__ = ()
    kind: ClassVar[str] = "histogram"
    known: ClassVar[frozenset[str]] = frozenset({*_AS_GIVEN, *OF_UNIT, "column", "lower", "upper", "bins"})

    def promise(self) -> Guarantee:
        """See `Job.promise`."""
        promise = self._estimator().promise(unit_name(self.units()))
        require_columns(list(self.paths), [self.text("column")], keys=self.units(), asserted=self.asserted)
        return promise

    def run(self, payer: Payer, *, progress: Callable[[float], None]) -> Released:
        """See `Job.run`."""
        column, units, estimator = self.text("column"), self.units(), self._estimator()
        unit = estimator.privacy_unit(unit_name(units))
        account = Account(payer.ledger, payer.dataset)
        density = density_of_column(
            estimator.search(unit.rows), unit, account, list(self.paths), column=column, units=units, progress=progress
        )
        return Released({"column": column, **density.to_dict()}, density.guarantee, {"": density.to_arrow()})

    def _estimator(self) -> PrivateHistogram:
        return PrivateHistogram(
            bins=whole_numbers("bins", self.options.get("bins", _BINS)),
            lower=self.required("lower"),
            upper=self.required("upper"),
            **self.given(*_AS_GIVEN),
            **self.protected(),
        )
