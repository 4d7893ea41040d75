"""Jobs that count the rows of a file, with discrete Laplace noise."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from dpmine.exact.bits import SystemBits
from dpmine.exact.noise import discrete_laplace_of_scale
from dpmine.io.open import open_source
from dpmine.io.source import Columns
from dpmine.options.option import EPSILON, RELATION, SOURCE
from dpmine.parameters import positive
from dpmine.privacy import ROW, Guarantee, Neighbors
from dpmine.reporting.jobs.job import Job, Released

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpmine.ledger.charging import Account
    from dpmine.options.option import Option


class ToyJob(Job):
    """A noisy number of rows."""

    kind: ClassVar[str] = "toy"
    table: ClassVar[Mapping[str, Option]] = {**SOURCE, "epsilon": EPSILON, "neighbors": RELATION}
    procedure: ClassVar[str] = "a noisy number"
    notices: ClassVar[tuple[str, ...]] = ()

    def _checked(self) -> Guarantee:
        relation = Neighbors.parse(self.options["neighbors"])
        return Guarantee(positive("epsilon", self.options.get("epsilon", 1)), Fraction(0), relation, ROW)

    def run(self, account: Account, *, progress: Callable[[float], None]) -> Released:
        """See `Job.run`."""
        account.charge(self.guarantee, job=self.kind)
        source = open_source(self.data, Columns())
        rows = sum(batch.num_rows for batch in source.batches(source.names))
        noise = discrete_laplace_of_scale(1 / self.guarantee.epsilon, bits=SystemBits())
        progress(1.0)
        return Released({"rows": rows + noise}, self.guarantee)
