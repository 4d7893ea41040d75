"""A batch that was checked: what is to be done with each of its jobs, what they are charged, and what is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpmine.ledger.budget import Accounting, Amount, Budget, Parts, in_part, name_and_part
from dpmine.markup import ShownAsText
from dpmine.privacy import short
from dpmine.reporting.history import Charges

if TYPE_CHECKING:
    from dpmine.privacy import Guarantee, Neighbors
    from dpmine.reporting.jobs.job import Job
    from dpmine.reporting.store import Stored


@dataclass(frozen=True, slots=True)
class Step:
    """A job, and what is to be done with it.

    Attributes:
        job: it.
        guarantee: of its result where one is stored, else the most that it can be charged.
        charge: the most that it is charged, or what it was charged.
        stored: its result, if there is one.
        failed: whether it was begun before, without a result, and is not to be run again.
    """

    job: Job
    guarantee: Guarantee
    charge: Amount
    stored: Stored | None = None
    failed: bool = False

    @property
    def pending(self) -> bool:
        """Whether it is to be charged and run."""
        return self.stored is None and not self.failed


@dataclass(frozen=True, slots=True)
class CheckedBatch(ShownAsText):
    """A batch that was checked. Its text says what each job would be charged, and what is left.

    Attributes:
        dataset: the data set's name in the ledger.
        steps: the jobs in order.
        unit: the privacy unit of all; "" for no job, where neither [budget] nor the ledger names it.
        neighbors: the relation of all.
        budget: the data set's, before the batch; None where it is yet to be granted.
        total: the most that the file's jobs may be charged together.
        accounting: by which it is counted.
        charges: of recurring jobs, in all windows so far.
    """

    dataset: str
    steps: tuple[Step, ...]
    unit: str
    neighbors: Neighbors
    budget: Budget | None
    total: Amount
    accounting: Accounting
    charges: Charges = field(default_factory=Charges)

    def __str__(self) -> str:
        left = self.budget and f"{self.budget.left_of(self.dataset)} left{in_part(self.dataset)}"
        charged = f"up to {self.to_charge.shown(self.accounting, short)} for each {self.unit}"
        return "\n".join([*self.lines, f"All together: {charged}; {left or 'the budget is yet to be granted'}."])

    @property
    def lines(self) -> list[str]:
        """What each job is charged."""
        return list(map(self._charge, self.steps))

    def _charge(self, step: Step) -> str:
        if step.pending:
            return f"{step.job.name_with_files}: a charge of up to {step.charge.shown(self.accounting, short)}"
        free = "stored already" if step.stored else "begun before, without a result"
        return f"{step.job.name}: {free}; no charge"

    @property
    def parts(self) -> Parts:
        """How the data set has to be cut into parts for the jobs."""
        return Parts.BY_UNIT if any(step.job.partition for step in self.steps) else Parts.NONE

    @property
    def notices(self) -> tuple[str, ...]:
        """What the jobs that are run have to say before they read; each once."""
        return tuple(dict.fromkeys(text for step in self.steps if step.pending for text in step.job.notices))

    @property
    def paths(self) -> list[str]:
        """The inputs of the jobs, those in queries among them, and public catalogues in files."""
        from dpmine.io.sources.query import named_files

        paths: list[str] = []
        for job in (step.job for step in self.steps):
            catalogue = job.options.get("catalogue")
            paths += [*job.paths, *named_files(job.options.get("query"), job.options.get("database"))]
            paths += [catalogue] if isinstance(catalogue, str) else []
        return paths

    @property
    def afterwards(self) -> Budget:
        """The budget once the jobs are charged; a new data set's where it is yet to be granted."""
        name, part = name_and_part(self.dataset)
        budget = self.budget or Budget(name, self.neighbors, self.parts, self.total, self.unit, self.accounting)
        return budget.charging(part, self.to_charge) if self.to_charge != Amount() else budget

    @property
    def to_charge(self) -> Amount:
        """The most that the jobs without a stored result are charged."""
        return Amount.total([step.charge for step in self.steps if step.pending])

    @property
    def together(self) -> Amount:
        """The most that all jobs are charged, including other windows and jobs without a result."""
        other = [step.charge for step in self.steps if not (step.pending or step.job.key)]
        return Amount.total([self.charges.total, self.to_charge, *other])
