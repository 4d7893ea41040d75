"""Job files: TOML with a budget, named inputs and jobs. Every key is known, or rejected."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

from dpmine.errors import BadParameter, UnreadableFile
from dpmine.io.atomic import read_file
from dpmine.io.files import shown_name
from dpmine.ledger.budget import Accounting, Amount, checked_name, name_and_part
from dpmine.markup import without_passwords
from dpmine.options.tables import KEY_OF
from dpmine.parameters import below_one, exact_number, named, positive, truth
from dpmine.privacy import Neighbors
from dpmine.reporting.jobs.kinds import KINDS
from dpmine.reporting.jobs.ready import require_no_window, require_plain_conditions
from dpmine.reporting.jobs.schedule import KEYS, RESULT_KEYS, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from fractions import Fraction
    from pathlib import Path

    from dpmine.reporting.jobs.job import Job

_LONGEST = 10_000_000  # bytes
_MOST_JOBS = 1000
_LARGEST = 10**100
_OF_BUDGET = (
    "ledger",
    "dataset",
    "epsilon",
    "delta",
    "neighbors",
    "unit",
    "accounting",
    "approximate_delta",
    "unit_label",
    "create",
)
_OF_FILE = ("title", "owner", "period", "budget", "schedule", "results", "inputs", "job")
_OF_JOB = {"kind": None, "input": None, "recurs": True}
_OF_INPUT = ("path", "owner", "period")
_IRREGULAR = {"person": "people", "child": "children", "man": "men", "woman": "women"}
_WORD = re.compile(r"[a-z]+(?:[ -][a-z]+)*")
_NEEDED = {"ledger": '"sqlite:///budget.db"', "dataset": '"shop"', "epsilon": "1"}


class Create(StrEnum):
    """What is done about a data set that the ledger does not know."""

    IF_MISSING = "if_missing"
    """It is granted the file's total; a ledger is made where there is none."""
    NEVER = "never"
    """The run is rejected: a lost ledger is then no fresh budget."""


@dataclass(frozen=True, slots=True)
class UnitWords:
    """How a report calls the privacy unit, one and several: "customer" and "customers", where its column is CustomerID.

    Attributes:
        one: "customer".
        many: "customers".

    Example:
        >>> UnitWords.of("CustomerID", UnitWords.read("customer"))
        UnitWords(one='customer', many='customers')
        >>> UnitWords.of("CustomerID")
        UnitWords(one='CustomerID', many='values of CustomerID')
    """

    one: str
    many: str

    @classmethod
    def read(cls, value: object) -> Self:
        """The value of `unit_label`: a word, or a list of its singular and plural. Raises BadParameter."""
        if isinstance(value, list) and len(value) == 2:
            one, many = (checked_name("unit_label", each) for each in value)
            return cls(one, many)
        if isinstance(value, list):
            raise BadParameter('unit_label must be a word, or its singular and plural: write ["person", "people"].')
        one = checked_name("unit_label", value)
        return cls(one, plural(one))

    @classmethod
    def of(cls, unit: str, label: Self | None = None) -> Self:
        """The label; without one, the unit's name, which has a plural where it is a word in lower case."""
        if label is not None:
            return label
        return cls(unit, plural(unit) if _WORD.fullmatch(unit) else f"values of {unit}")


def plural(noun: str) -> str:
    """The English plural of a noun, by the usual rules for its ending."""
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}{'es' if re.search(r'(?:s|x|z|ch|sh)$', noun) else 's'}"


@dataclass(frozen=True, slots=True)
class BudgetTerms:
    """The budget of a job file.

    Attributes:
        ledger: URL of the ledger.
        dataset: the data set, or a part of it, that is charged.
        total: the most that the file's jobs may be charged together.
        neighbors: of all jobs.
        unit: the privacy unit; None where the jobs say it.
        accounting: what is added up; None for whatever the ledger does, and basic where it knows no such data set.
        approximate_delta: under zcdp accounting, the part of the total δ that is for approximate parts; None for the
            ledger's, or a half.
        unit_label: how the page calls the unit; None for its column.
        create: what is done about a data set that the ledger does not know.
    """

    ledger: str
    dataset: str
    total: Amount
    neighbors: Neighbors
    unit: str | None
    accounting: Accounting | None = None
    approximate_delta: Fraction | None = None
    unit_label: UnitWords | None = None
    create: Create = Create.IF_MISSING

    def total_under(self, accounting: Accounting, known: Fraction | None = None) -> Amount:
        """The total as a ledger would grant it; `known` is the approximate δ of one that was granted already."""
        if accounting is Accounting.BASIC:
            return self.total
        share, delta = self.approximate_delta, self.total.delta
        if share is None and known is not None and known < delta:
            share = known
        return Amount.granted(self.total.epsilon, delta, share)


@dataclass(frozen=True, slots=True)
class JobInput:
    """A name of [inputs]: its files, and what the job file says of them; "" for nothing."""

    paths: tuple[str, ...]
    owner: str = ""
    period: str = ""


@dataclass(frozen=True, slots=True)
class JobFile:
    """What a job file asks for, and what it says of itself.

    Attributes:
        title: of the page.
        terms: the budget.
        jobs: in order.
        name: of the file, without its folder.
        fingerprint: SHA-256 of the file, in hexadecimal; "" where the file holds a password, which a fingerprint would
            help to guess.
        owner: who answers for the data; "" where the file does not say.
        period: which the data are from; "" where the file does not say.
        inputs: by name.
        source: the bytes of the file.
        schedule: when they run and on which rows; None for once, on all of them.
    """

    title: str
    terms: BudgetTerms
    jobs: tuple[Job, ...]
    name: str = ""
    fingerprint: str = ""
    owner: str = ""
    period: str = ""
    inputs: Mapping[str, JobInput] = field(default_factory=dict)
    source: bytes = b""
    schedule: Schedule | None = None

    @property
    def window(self) -> str:
        """Which window it is for; "" where it is for all of them, or has no schedule."""
        return next((job.scheduled.window for job in self.jobs if job.scheduled and job.in_window), "")


def read_job_file(path: Path, *, here: bool = True) -> JobFile:
    """The jobs of a TOML file, their keys checked; no input is opened.

    `here`: whether its inputs are on this machine, so that a name of no file is a mistake.
    Raises UnreadableFile, or BadParameter with the place of what is wrong.
    """
    content = _content(path)
    document = _parsed(path, content)
    _require_known(document, _OF_FILE, "the job file")
    owner, period = (_optional_text(name, document, "the job file") for name in ("owner", "period"))
    terms = _terms(document.get("budget"))
    inputs = {name: _input(f"inputs.{name}", value) for name, value in _table("inputs", document.get("inputs")).items()}
    files = {name: each.paths for name, each in inputs.items()}
    entries = document.get("job")
    if not isinstance(entries, list) or not 0 < len(entries) <= _MOST_JOBS:
        raise BadParameter(f"A job file has between 1 and {_MOST_JOBS} jobs, each under [[job]].")
    jobs = tuple(_job(number, entry, files, terms) for number, entry in enumerate(entries, 1))
    _require_distinct(jobs)
    for job in jobs if here else ():
        _require_input(job, files)
    title = checked_name("title", document["title"]) if "title" in document else f"Private results of {terms.dataset}"
    fingerprint = "" if _holds_password(document) else hashlib.sha256(content).hexdigest()
    schedule = _schedule(document.get("schedule"), document.get("results"))
    _require_recurring(jobs, schedule)
    require_no_window(jobs if schedule is None else ())
    require_plain_conditions(jobs)
    return JobFile(title, terms, jobs, path.name, fingerprint, owner, period, inputs, content, schedule)


def _holds_password(document: Mapping[str, object]) -> bool:
    """Whether a text of the file is a URL with a password, a user or parameters."""
    return any(not text == without_passwords(text) == shown_name(text) for text in _texts(document))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _texts(entry)


def _optional_text(name: str, table: Mapping[str, object], where: str) -> str:
    """A text that the file may have; "" where it has none."""
    return checked_name(f"{name} of {where}", table[name]) if name in table else ""


def _input(place: str, value: object) -> JobInput:
    """A path or a list of them; or a table of path, owner and period."""
    if not isinstance(value, dict):
        return JobInput(_paths(place, value))
    where = f"[{place}]"
    _require_known(value, _OF_INPUT, where)
    if "path" not in value:
        raise BadParameter(f'path is missing in {where}: write there, for example, path = "sales.parquet".')
    return JobInput(
        _paths(f"{place}.path", value["path"]), *(_optional_text(name, value, where) for name in _OF_INPUT[1:])
    )


def _content(path: Path) -> bytes:
    try:
        content = read_file(path)
    except OSError:
        raise UnreadableFile(f"Cannot read '{path}': name a job file (TOML) that exists and is readable.") from None
    if len(content) > _LONGEST:
        raise BadParameter(f"'{path}' is too long for a job file.")
    return content


def _parsed(path: Path, content: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode(), parse_float=Decimal)
    except UnicodeDecodeError:
        raise BadParameter(f"'{path}' is not a TOML file: name the file of jobs, a text in UTF-8.") from None
    except (ValueError, RecursionError, ArithmeticError) as error:
        raise BadParameter(f"'{path}' is not a TOML file: {' '.join(str(error).split())}.") from None


def _terms(value: object) -> BudgetTerms:
    budget = _with_one_spelling(_table("budget", value))
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
        None if accounting is None else named(Accounting, "accounting", accounting),
        None if share is None else below_one("approximate_delta", share),
        UnitWords.read(budget["unit_label"]) if "unit_label" in budget else None,
        named(Create, "create", budget.get("create", Create.IF_MISSING)),
    )


def _schedule(value: object, results: object) -> Schedule | None:
    if value is None:
        if results is not None:
            raise BadParameter("[results] is for jobs with a [schedule]: leave it out; name the folder (`results=…`).")
        return None
    table, kept = _table("schedule", value), _table("results", results)
    _require_known(table, KEYS, "[schedule]")
    _require_known(kept, RESULT_KEYS, "[results]")
    return Schedule.of(table, kept)


def _job(number: int, value: object, inputs: Mapping[str, tuple[str, ...]], terms: BudgetTerms) -> Job:
    options = _with_one_spelling(_table(f"job {number}", value))
    kind, source, recurs = (options.pop(name, default) for name, default in _OF_JOB.items())
    if not isinstance(kind, str) or kind not in KINDS:
        raise BadParameter(f"The kind of job {number} must be {' or '.join(map(repr, KINDS))}.")
    name = checked_name(f"name of job {number}", options.pop("name", f"{kind} {number}"))
    where = f"job {name!r}"
    if source is None and isinstance(options.get("query"), str):
        source = shown_name(str(options.get("database", "query")))
        paths: tuple[str, ...] = ()
    elif not isinstance(source, str) or not source:
        raise BadParameter(f"The input of {where} must be a path, or a name of [inputs]; or give query and database.")
    else:
        paths = inputs.get(source, (source,))
    job = KINDS[kind]
    _require_known(options, job.known, where)
    for option, entry in options.items():
        is_table = isinstance(entry, dict) and job.known[option].kind is dict
        _require_plain(f"{option} of {where}", list(entry.values()) if is_table else entry)
    options = {"neighbors": terms.neighbors.value, **options}
    charged = {"ledger": without_passwords(terms.ledger), "dataset": terms.dataset}
    return job(name, source, paths, options, charged, recurs=truth(f"recurs of {where}", recurs))


def _require_recurring(jobs: Sequence[Job], schedule: Schedule | None) -> None:
    """That jobs which do not recur are beside some that do."""
    once = [job.name for job in jobs if not job.recurs]
    if once and schedule is None:
        raise BadParameter(f"recurs of job {once[0]!r} is for files with a [schedule]: leave it out.")
    if len(once) == len(jobs):
        raise BadParameter("No job of this file recurs: leave [schedule] out, and recurs.")
    if once and schedule and schedule.disjoint_units:
        raise BadParameter(
            f"Job {once[0]!r} does not recur, and disjoint_units = true gives each window all of the budget: give the "
            "job a file of its own, for another data set or part."
        )


def _with_one_spelling(table: Mapping[str, object]) -> dict[str, Any]:
    """The table, with `neighbors` for the other spelling, as on the command line; not where both are there."""
    if "neighbors" in table:
        return dict(table)
    return {"neighbors" if key == "neighbours" else key: value for key, value in table.items()}


def _require_input(job: Job, inputs: Mapping[str, tuple[str, ...]]) -> None:
    """BadParameter for an input that is nearly a name of [inputs], and no path."""
    near = get_close_matches(job.source, inputs, 1)
    if job.paths and job.source not in inputs and near and not os.path.lexists(job.source):
        raise BadParameter(f"There is no input {job.source!r} for job {job.name!r}: did you mean {near[0]!r}?")


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
            near = [KEY_OF[key]] if KEY_OF.get(key) in names else get_close_matches(key, names, 1)
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
        if one.content == other.content and one.recurs == other.recurs:
            raise BadParameter(f"Jobs {one.name!r} and {other.name!r} ask for the same: leave one out.")
