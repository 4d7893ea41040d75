"""Job files: TOML with a budget, named inputs and jobs. Every key is known, or refused."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from itertools import combinations
from typing import TYPE_CHECKING, Any

from dpmine.errors import BadParameter, UnreadableFile
from dpmine.io.atomic import read_file
from dpmine.io.paths import shown_name
from dpmine.ledger.budget import Accounting, Amount, checked_name, name_and_part
from dpmine.ledger.charging import without_passwords
from dpmine.parameters import below_one, exact_number, positive
from dpmine.privacy import Neighbors
from dpmine.reporting.jobs.kinds import KINDS
from dpmine.reporting.jobs.schedule import KEYS, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction
    from pathlib import Path

    from dpmine.reporting.jobs.job import Job

_LONGEST = 10_000_000  # bytes
_MOST_JOBS = 1000
_LARGEST = 10**100
_OF_BUDGET = ("ledger", "dataset", "epsilon", "delta", "neighbors", "unit", "accounting", "approximate_delta")
_NEEDED = {"ledger": '"sqlite:///budget.db"', "dataset": '"shop"', "epsilon": "1"}


@dataclass(frozen=True, slots=True)
class BudgetTerms:
    """The budget of a job file.

    Attributes:
        ledger: URL of the ledger.
        dataset: the data set, or a part of it, that is charged.
        total: the most that the file's jobs may cost together.
        neighbors: of all jobs.
        unit: the privacy unit; None where the jobs say it.
        accounting: what is added up; None for whatever the ledger does, and basic where it knows no such data set.
        approximate_delta: under zcdp accounting, the part of the total δ that is for approximate parts; None for the
            ledger's, or a half.
    """

    ledger: str
    dataset: str
    total: Amount
    neighbors: Neighbors
    unit: str | None
    accounting: Accounting | None = None
    approximate_delta: Fraction | None = None

    def total_under(self, accounting: Accounting, known: Fraction | None = None) -> Amount:
        """The total as a ledger would grant it; `known` is the approximate δ of one that was granted already."""
        if accounting is Accounting.BASIC:
            return self.total
        share, delta = self.approximate_delta, self.total.delta
        if share is None and known is not None and known < delta:
            share = known
        return Amount.granted(self.total.epsilon, delta, share)


@dataclass(frozen=True, slots=True)
class JobFile:
    """What a job file asks for.

    Attributes:
        title: of the page.
        terms: the budget.
        jobs: in order.
        schedule: when they run and on which rows; None for once, on all of them.
    """

    title: str
    terms: BudgetTerms
    jobs: tuple[Job, ...]
    schedule: Schedule | None = None


def read_job_file(path: Path) -> JobFile:
    """The jobs of a TOML file, their keys checked; no input is opened.

    Raises UnreadableFile, or BadParameter with the place of what is wrong.
    """
    document = _parsed(path)
    _require_known(document, ("title", "budget", "schedule", "inputs", "job"), "the job file")
    terms = _terms(document.get("budget"))
    inputs = {name: _paths(f"inputs.{name}", value) for name, value in _table("inputs", document.get("inputs")).items()}
    entries = document.get("job")
    if not isinstance(entries, list) or not 0 < len(entries) <= _MOST_JOBS:
        raise BadParameter(f"A job file has between 1 and {_MOST_JOBS} jobs, each under [[job]].")
    jobs = tuple(_job(number, entry, inputs, terms) for number, entry in enumerate(entries, 1))
    _require_distinct(jobs)
    title = checked_name("title", document["title"]) if "title" in document else f"Private results of {terms.dataset}"
    return JobFile(title, terms, jobs, _schedule(document.get("schedule")))


def _parsed(path: Path) -> dict[str, Any]:
    try:
        content = read_file(path)
    except OSError:
        raise UnreadableFile(f"Cannot read '{path}': name a job file (TOML) that exists and is readable.") from None
    if len(content) > _LONGEST:
        raise BadParameter(f"'{path}' is too long for a job file.")
    try:
        return tomllib.loads(content.decode(), parse_float=Decimal)
    except UnicodeDecodeError:
        raise BadParameter(f"'{path}' is not a TOML file: name the file of jobs, a text in UTF-8.") from None
    except (ValueError, RecursionError, ArithmeticError) as error:
        raise BadParameter(f"'{path}' is not a TOML file: {' '.join(str(error).split())}.") from None


def _terms(value: object) -> BudgetTerms:
    budget = _american(_table("budget", value))
    _require_known(budget, _OF_BUDGET, "[budget]")
    for name, example in _NEEDED.items():
        if name not in budget:
            raise BadParameter(f"{name} is missing in [budget]: write there, for example, {name} = {example}.")
    name_and_part(budget["dataset"])
    unit, accounting, share = budget.get("unit"), budget.get("accounting"), budget.get("approximate_delta")
    return BudgetTerms(
        checked_name("ledger", budget["ledger"]),
        budget["dataset"],
        Amount(positive("epsilon", budget["epsilon"]), below_one("delta", budget.get("delta", 0))),
        Neighbors.parse(budget.get("neighbors", Neighbors.REPLACE_ONE)),
        None if unit is None else checked_name("unit", unit),
        None if accounting is None else Accounting.parse(accounting),
        None if share is None else below_one("approximate_delta", share),
    )


def _schedule(value: object) -> Schedule | None:
    if value is None:
        return None
    table = _table("schedule", value)
    _require_known(table, KEYS, "[schedule]")
    return Schedule.of(table)


def _job(number: int, value: object, inputs: Mapping[str, tuple[str, ...]], terms: BudgetTerms) -> Job:
    options = _american(_table(f"job {number}", value))
    kind, source = options.pop("kind", None), options.pop("input", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise BadParameter(f"The kind of job {number} must be {' or '.join(map(repr, KINDS))}.")
    name = checked_name(f"name of job {number}", options.pop("name", f"{kind} {number}"))
    where = f"job {name!r}"
    if source is None and isinstance(options.get("query"), str):
        source = shown_name(str(options.get("database", "")))
        paths: tuple[str, ...] = ()
    elif not isinstance(source, str) or not source:
        raise BadParameter(f"The input of {where} must be a path, or a name of [inputs]; or give query and database.")
    else:
        paths = _input_paths(source, inputs, where)
    job = KINDS[kind]
    _require_known(options, job.known, where)
    for option, entry in options.items():
        _require_plain(f"{option} of {where}", entry)
    options = {"neighbors": terms.neighbors.value, **options}
    charged = {"ledger": without_passwords(terms.ledger), "dataset": terms.dataset}
    return job(name, source, paths, options, charged)


def _american(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table, with `neighbors` for the other spelling, as on the command line; not where both are there."""
    if "neighbors" in table:
        return dict(table)
    return {"neighbors" if key == "neighbours" else key: value for key, value in table.items()}


def _input_paths(source: str, inputs: Mapping[str, tuple[str, ...]], where: str) -> tuple[str, ...]:
    """The files of a name of [inputs], or the path itself. BadParameter for what is nearly such a name, and no path."""
    near = get_close_matches(source, inputs, 1)
    if source not in inputs and near and not os.path.lexists(source):
        raise BadParameter(f"There is no input {source!r} for {where}: did you mean {near[0]!r}?")
    return inputs.get(source, (source,))


def _table(name: str, value: object) -> dict[str, Any]:
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise BadParameter(f"{name} must be a table, such as [{name}].")
    return value


def _paths(name: str, value: object) -> tuple[str, ...]:
    paths = [value] if isinstance(value, str) else value
    if not isinstance(paths, list) or not paths or not all(isinstance(path, str) and path for path in paths):
        raise BadParameter(f"{name} must be a path, or a list of paths.")
    return tuple(paths)


def _require_known(table: Iterable[str], known: Iterable[str], where: str) -> None:
    names = sorted(known)
    for key in table:
        if key not in names:
            near = get_close_matches(key, names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(names)}."
            raise BadParameter(f"There is no key {key!r} in {where}: {hint}")


def _require_plain(name: str, value: object) -> None:
    """A text, a truth value, a list of these, or a number that can be written: whole ones of TOML have no end."""
    if isinstance(value, list):
        for entry in value:
            _require_plain(name, entry)
    elif isinstance(value, int) and abs(value) > _LARGEST:
        raise BadParameter(f"{name} must be a number of at most 100 digits.")
    elif isinstance(value, Decimal):
        exact_number(name, value)
    elif not isinstance(value, str | int):
        raise BadParameter(f"{name} must be a text, a number, true or false, or a list of these.")


def _require_distinct(jobs: Sequence[Job]) -> None:
    names = [job.name for job in jobs]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise BadParameter(f"Several jobs are called {repeated[0]!r}: give each a name of its own.")
    for one, other in combinations(jobs, 2):
        if one.content == other.content:
            raise BadParameter(f"Jobs {one.name!r} and {other.name!r} ask for the same: leave one out.")
