"""What a run of recurring jobs will do: every window that will be run, what it is charged, and what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpmine.errors import BadData, BudgetExceeded, NotReady
from dpmine.ledger.budget import Amount, composed, in_part, name_and_part
from dpmine.markup import ShownAsText
from dpmine.privacy import short
from dpmine.reporting.jobs.schedule import retrying

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.ledger.budget import Budget
    from dpmine.markup import Document
    from dpmine.reporting.checked_batch import CheckedBatch, Step


@dataclass(frozen=True, slots=True)
class WindowsForecast(ShownAsText):
    """The windows that a run will be for, checked in order, each as if those before it had been charged.

    Attributes:
        batches: of the windows that are run, in order; of the last one too where nothing is left to do for it. One
            without jobs where no window is run.
        rejected: why the budget lets no further window run; "" for none.
        waiting: why windows are not run for which it is too early; "" for none.
        lost: which jobs of other windows were charged and have no result; "" for none.
        windows_left: how many windows the schedule has beyond those that were charged, or are run.
        affordable: how many of these the ledger's budget affords.
    """

    batches: tuple[CheckedBatch, ...]
    rejected: str = ""
    waiting: str = ""
    lost: str = ""
    windows_left: int = 0
    affordable: int = 0

    def require_windows(self) -> None:
        """Raises NotReady, or BudgetExceeded, as a run does, where no window is run."""
        if not self.batches[0].steps:
            raise_foreseen(self)

    @property
    def charges(self) -> tuple[tuple[str, Amount], ...]:
        """What each job that is run is charged at most, by its name and window, in order."""
        steps = [step for batch in self.batches for step in batch.steps]
        return tuple((step.job.name, step.charge) for step in steps if step.pending)

    @property
    def to_charge(self) -> Amount:
        """What the charges come to for one unit: their sum; of disjoint windows, the largest of their sums."""
        windows: dict[str, Amount] = {}
        for batch in self.batches:
            windows[batch.dataset] = windows.get(batch.dataset, Amount()) + batch.to_charge
        return composed(Amount(), windows.values())

    @property
    def afterwards(self) -> Budget:
        """The budget once they are charged."""
        return self.batches[-1].afterwards

    @property
    def notices(self) -> tuple[str, ...]:
        """As `CheckedBatch.notices`, of all windows."""
        return tuple(dict.fromkeys(text for batch in self.batches for text in batch.notices))

    @property
    def paths(self) -> Sequence[str]:
        """As `CheckedBatch.paths`, of all windows."""
        return list(dict.fromkeys(path for batch in self.batches for path in batch.paths))

    def __str__(self) -> str:
        last, count = self.batches[-1], sum(bool(batch.steps) for batch in self.batches)
        steps = [line for batch in self.batches for line in batch.lines]
        charged = self.to_charge.shown(last.accounting, short)
        grant = "" if self.batches[0].budget is not None else "; the budget is yet to be granted"
        left = f"{self.afterwards.left_of(last.dataset)} left{in_part(last.dataset)} then{grant}."
        windows = f"{count} window{'s' if count > 1 else ''}"
        together = f"All together, {windows}: up to {charged} for each {last.unit}; {left}"
        together = together if count else f"No window is run; {left}"
        reasons = (self.rejected, self.waiting, self.lost)
        return "\n".join(filter(None, [*steps, *reasons, together, self.shortage]))

    @property
    def shortage(self) -> str:
        """That the budget ends before the schedule, as other runs were charged or windows were retried; "" else."""
        if self.affordable >= self.windows_left:
            return ""
        return (
            f"The schedule has {self.windows_left} windows left then, and the ledger affords {self.affordable}: other "
            "runs used the budget. Grant a larger one (dpmine ledger grant), or plan for the earlier end."
        )


def raise_foreseen(checked: CheckedBatch | WindowsForecast) -> None:
    """The error with which a run would end that does what was forecast; as `Report.raise_failures`."""
    batches = checked.batches if isinstance(checked, WindowsForecast) else (checked,)
    if failed := [step.job for batch in batches for step in batch.steps if step.failed]:
        raise BadData(
            f"{', '.join(repr(job.name) for job in failed)}: begun before, without a result. To run it again, which is "
            f"charged once more, give {retrying(failed)}."
        )
    if not isinstance(checked, WindowsForecast):
        return
    reasons = {BudgetExceeded: checked.rejected, NotReady: checked.waiting, BadData: checked.lost}
    for kind, reason in reasons.items():
        if reason:
            raise kind(reason)


def forecast_document(checked: CheckedBatch | WindowsForecast) -> Document:
    """What a run would be charged, and what is left then, for programs: JSON-ready."""
    batches = checked.batches if isinstance(checked, WindowsForecast) else (checked,)
    first, last = batches[0], batches[-1]
    part = name_and_part(last.dataset)[1]
    windows: Document | None = None
    if isinstance(checked, WindowsForecast):
        reasons = {name: getattr(checked, name) or None for name in ("rejected", "waiting", "lost")}
        windows = {
            "left_afterwards": checked.windows_left,
            "affordable_afterwards": checked.affordable,
            **reasons,
        }
    return {
        "dry_run": True,
        "dataset": last.dataset,
        "unit": last.unit or None,
        "accounting": str(last.accounting),
        "jobs": [_job_document(step) for batch in batches for step in batch.steps],
        "to_charge": checked.to_charge.to_dict(),
        "granted": first.budget is not None,
        "remaining_afterwards": checked.afterwards.remaining_of(part).to_dict(),
        "windows": windows,
    }


def _job_document(step: Step) -> Document:
    job, status = step.job, "stored" if step.stored else "failed" if step.failed else "to_run"
    return {
        "name": job.name,
        "window": job.scheduled.window if job.scheduled and job.in_window else None,
        "files": list(job.paths),
        "status": status,
        "charge": step.charge.to_dict() if step.pending else None,
    }
