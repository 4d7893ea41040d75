"""What each window of a schedule may charge, and the job file for one window.

What a window may charge is a public function of the job file. The file's total, less what jobs that do not recur are
charged, is divided once, before anything is released. So no result decides what a later window gets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter, BudgetExceeded, DpmineError
from dpmine.exact.reals import decimal_below
from dpmine.ledger.budget import Accounting, Amount, name_and_part
from dpmine.options.tables import as_keys
from dpmine.privacy import Neighbors, short
from dpmine.reporting.jobs.job import ONCE, Scheduled
from dpmine.reporting.jobs.ready import names_window, path_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpmine.privacy import Guarantee
    from dpmine.reporting.jobs.file import BudgetTerms, JobFile
    from dpmine.reporting.jobs.job import Job
    from dpmine.reporting.jobs.schedule import Schedule, Window

_DIGITS = 4  # of an ε that was computed from ρ
_STEPS = 6  # of that computation
_CLOSE = 0.9999  # of what ρ allows: ε is rounded down, and ρ grows nearly as its square


@dataclass(frozen=True)
class Recurring:
    """A job file with a schedule; `at` gives it for one window.

    Attributes:
        job_file: as it was read.
        schedule: its schedule.
    """

    job_file: JobFile
    schedule: Schedule

    @cached_property
    def terms(self) -> BudgetTerms:
        """Those of the file, with everything fixed that could depend on a ledger. Raises BadParameter."""
        terms = self.job_file.terms
        accounting = terms.accounting or Accounting.BASIC
        if accounting is Accounting.BASIC:
            return replace(terms, accounting=accounting)
        share = terms.total.delta / 2 if terms.approximate_delta is None else terms.approximate_delta
        return replace(terms, accounting=accounting, approximate_delta=share)

    @cached_property
    def accounting(self) -> Accounting:
        """By which the total is divided."""
        return self.terms.accounting or Accounting.BASIC

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs, each with its part of what a window may charge, where the file leaves that to the schedule.

        Raises BadParameter for jobs that cannot recur, BudgetExceeded where all runs together exceed [budget].
        """
        self._require_disjoint_possible()
        for job in self._recurring:
            if job.obstacle:
                raise BadParameter(f"job {job.name!r} cannot recur: {job.obstacle}")
        jobs = tuple(self._with_budget(job) for job in self.job_file.jobs)
        window = _largest_charge(jobs)
        runs = 1 if self.schedule.disjoint_units else self.schedule.runs
        needed = Amount(*(number * runs for number in window)) + self._once
        if not self._total.fits(needed, self.accounting):
            raise BudgetExceeded(
                f"{runs} windows are charged up to {needed.shown(self.accounting, short)} together, with what does not "
                f"recur, and [budget] allows {self._total.shown(self.accounting, short)}: leave epsilon and delta of "
                "the jobs that recur out, and [schedule] divides the budget."
            )
        return jobs

    @cached_property
    def window_charge(self) -> Amount:
        """The most that one window is charged, without jobs that do not recur. Raises as `jobs`."""
        return _largest_charge(self.jobs)

    def at(self, window: Window, *, once: bool = True) -> JobFile:
        """The file for one window: its rows, its name, and with disjoint units its part of the data set.

        `once`: whether the jobs that do not recur are in it.
        """
        terms, schedule = self.terms, self.schedule
        if schedule.disjoint_units:
            terms = replace(terms, dataset=f"{terms.dataset}/{window}")
        charged = {"dataset": terms.dataset}
        jobs = tuple(
            replace(self._scheduled(job, asked, window), charged=charged)
            for job, asked in zip(self.jobs, self.job_file.jobs, strict=True)
            if job.recurs or once
        )
        return replace(self.job_file, title=f"{self.job_file.title}, {window}", terms=terms, jobs=jobs)

    def _scheduled(self, job: Job, asked: Job, window: Window) -> Job:
        """The job in that window; `asked`: as in the file. Raises BadParameter for paths that are not for windows."""
        named, every, paths = any(map(names_window, job.paths)), str(window.every), job.paths
        if not job.recurs:
            if named:
                raise BadParameter(f"Job {job.name!r} does not recur, so nothing in braces may stand in its input.")
            return replace(job, scheduled=Scheduled(every, ONCE, None, asked.options, asked.name))
        if named:
            where = f"The input of job {job.name!r}"
            paths = tuple(path_at(where, path, str(window), window.first) for path in paths)
        days = window.days(self.schedule.column)
        scheduled = Scheduled(every, str(window), days, asked.options, asked.name, paths if named else ())
        return replace(job, name=f"{job.name} {window}", paths=paths, scheduled=scheduled)

    @cached_property
    def _recurring(self) -> tuple[Job, ...]:
        return tuple(job for job in self.job_file.jobs if job.recurs)

    @cached_property
    def _total(self) -> Amount:
        return self.terms.total_under(self.accounting)

    @cached_property
    def _once(self) -> Amount:
        """The most that jobs which do not recur are charged. Raises BadParameter where one does not say how much."""
        once = [job for job in self.job_file.jobs if not job.recurs]
        for job in once:
            if job.loss not in job.options:
                raise BadParameter(
                    f"job {job.name!r} does not recur, so [schedule] gives it no part of the budget: give its own "
                    f"{job.loss} (and delta)."
                )
        return Amount.total([Amount.of(_guarantee(job)) for job in once])

    @cached_property
    def _share(self) -> Amount:
        """What one job of one window may charge. Raises BudgetExceeded where nothing is left for windows."""
        if self._total.compared(self.accounting)[0] <= self._once.compared(self.accounting)[0] or not self._total.fits(
            self._once, self.accounting
        ):
            raise BudgetExceeded(
                f"Jobs that do not recur are charged up to {self._once.shown(self.accounting, short)}, and [budget] "
                f"allows {self._total.shown(self.accounting, short)} with all windows: lower their epsilon (and delta)."
            )
        window = self.schedule.share(self._total - self._once)
        return Amount(*(number / len(self._recurring) for number in window))

    def _with_budget(self, job: Job) -> Job:
        if not job.recurs or self._is_stated:
            return job
        share = self._share
        if job.options.get("release_support", "auto") != "auto":
            raise BadParameter(
                f"release_support of job {job.name!r} must be 'auto', because [schedule] says what a window may "
                "charge: or give epsilon and delta in every job."
            )
        delta = share.compared(self.accounting)[1]
        if self.accounting is Accounting.BASIC:
            return job.charging(share.epsilon, delta)
        return job.charging(_largest(job, share, delta), delta)

    @property
    def _is_stated(self) -> bool:
        """Whether the jobs say themselves what they charge. BadParameter where only some do."""
        stated = [not job.options.keys().isdisjoint({job.loss, "delta"}) for job in self._recurring]
        if any(stated) and not all(job.loss in job.options for job in self._recurring):
            raise BadParameter(
                "Some jobs of this schedule have epsilon or delta, and others do not: give epsilon (and delta) in "
                "every job, or in none; [schedule] then divides the budget equally."
            )
        return any(stated)

    def _require_disjoint_possible(self) -> None:
        if not self.schedule.disjoint_units:
            return
        if self.terms.neighbors is not Neighbors.ADD_REMOVE:
            raise BadParameter(
                'disjoint_units = true needs neighbors = "add-remove" in [budget]: a replaced unit may leave its '
                "window and enter another, and the budgets of both would have to add up."
            )
        if name_and_part(self.terms.dataset)[1]:
            raise BadParameter(
                "disjoint_units = true makes a part of each window: give dataset without '/' in [budget]."
            )


def _largest_charge(jobs: Iterable[Job]) -> Amount:
    return Amount.total([Amount.of(_guarantee(job)) for job in jobs if job.recurs])


def _guarantee(job: Job) -> Guarantee:
    """That of a job, before its unit is known. Raises with the name of the job."""
    try:
        return job.guarantee_at()
    except DpmineError as error:
        raise type(error)(f"job {job.name!r}: {as_keys(str(error))}") from None


def _largest(job: Job, share: Amount, delta: Fraction) -> Fraction:
    """An ε of few digits whose run charges at most the share's ρ, close to the largest.

    √(2ρ) suffices for every mechanism. ρ grows about as ε²; a step that goes too far is halved.
    """
    best = decimal_below(Fraction(sqrt(2 * share.rho)) * Fraction(_CLOSE), _DIGITS)
    rho = Amount.of(_guarantee(job.charging(best, delta))).rho
    step = Fraction(sqrt(share.rho / rho)) * Fraction(_CLOSE)
    for _ in range(_STEPS):
        trial = decimal_below(best * step, _DIGITS)
        if trial <= best:
            break
        charge = Amount.of(_guarantee(job.charging(trial, delta)))
        if share.fits(charge, Accounting.ZCDP):
            best, step = trial, Fraction(sqrt(share.rho / charge.rho)) * Fraction(_CLOSE)
        else:
            step = (1 + step) / 2
    return best
