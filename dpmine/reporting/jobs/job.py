"""What every job of a batch is: a call of the library with its options, and what it released."""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpmine.errors import BadParameter
from dpmine.io.files import identity_of
from dpmine.options.option import OF_SOURCE
from dpmine.options.tables import OPTIONS
from dpmine.parameters import count_or_share, exact_number, listed, parse_sizes, whole_numbers
from dpmine.privacy import short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    import pyarrow as pa

    from dpmine.io.input import Days
    from dpmine.ledger.charging import Account
    from dpmine.options.option import Option
    from dpmine.privacy import Guarantee


@dataclass(frozen=True, slots=True)
class Released:
    """What a job released.

    Attributes:
        document: as the command prints it in JSON.
        guarantee: of the result.
        tables: Arrow tables by the suffix of their file's name; "" for the main one.
        model: a model file, for jobs that learn one.
    """

    document: dict[str, Any]
    guarantee: Guarantee
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    model: str = ""


ONCE = "once"
"""In the place of a window, for a job of a schedule that does not recur."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """The window of a recurring job; or `ONCE`, for a job beside recurring ones.

    Attributes:
        every: how long it is.
        window: its name.
        days: the rows that are read; None for all of them, once.
        written: the options as the job file has them, without what the schedule gives to a window.
        title: the job's name in the job file, whatever the window.
        paths: its files, where the job file names them by the window; none where all windows read the same.
    """

    every: str
    window: str
    days: Days | None
    written: Mapping[str, Any]
    title: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job(ABC):
    """One entry of a job file, or the options of one command.

    Attributes:
        name: its title.
        source: the input as the job file calls it.
        paths: the files that are read; none where a query is.
        options: the options that are given, by name.
        charged: ledger and data set that are charged, as stored results name them.
        scheduled: the window whose rows are read, of a recurring job.
        recurs: whether it does, in a file with a schedule.
    """

    kind: ClassVar[str]
    table: ClassVar[Mapping[str, Option]]
    """Its options; those of the command of the same name, unless the class says otherwise."""
    known: ClassVar[Mapping[str, Option]] = {}
    """The options that a job file may have; a subclass adds those that are not in the table."""
    loss: ClassVar[str] = "epsilon"
    """The option that says how much ε the job may be charged."""
    procedure: ClassVar[str] = ""
    """For evidence: how results come about that name no mechanism; {} stands for the option `method`."""
    learns: ClassVar[bool] = False
    """Whether it releases a model, and not statistics."""

    name: str
    source: str
    paths: tuple[str, ...]
    options: Mapping[str, Any]
    charged: Mapping[str, str] = field(default_factory=dict)
    scheduled: Scheduled | None = None
    recurs: bool = True

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):
            cls.table = vars(cls).get("table") or OPTIONS[cls.kind]
            cls.known = {**{name: option for name, option in cls.table.items() if option.in_jobs}, **cls.known}

    @cached_property
    def guarantee(self) -> Guarantee:
        """The most that `run` will be charged; everything that can be checked without reading a value is checked, once.

        Raises BadParameter, BadData for columns that are missing or of the wrong type, UnreadableFile.
        """
        return self._checked()

    @abstractmethod
    def _checked(self) -> Guarantee:
        """See `guarantee`."""

    @property
    @abstractmethod
    def notices(self) -> tuple[str, ...]:
        """What is said before the job is run, by options and types of columns. Raises as `guarantee`."""

    def guarantee_at(self) -> Guarantee:
        """The guarantee, before the unit is known; no input is opened. For jobs that can recur. Raises BadParameter."""
        return self.guarantee

    def charging(self, epsilon: Fraction, delta: Fraction) -> Self:
        """The same job with this budget."""
        return replace(self, options={**self.options, self.loss: short(epsilon), "delta": short(delta)})

    @property
    def partition(self) -> str:
        """What is asserted of the parts of the data set that are charged in its place; "" where the whole is."""
        return ""

    @property
    def obstacle(self) -> str:
        """Why the job cannot recur as it is, and what to do; "" where it can."""
        return ""

    @abstractmethod
    def run(self, account: Account, *, progress: Callable[[float], None]) -> Released:
        """Charge the ledger, read the data, release. Raises whatever the library's call raises."""

    @cached_property
    def content(self) -> dict[str, object]:
        """What is asked, whatever it is called: two jobs of the same content are the same job.

        A recurring job is the same on every machine, wherever its input and its ledger are, and whatever part of the
        budget its window gets.
        """
        given = self.options if self.scheduled is None else self.scheduled.written
        options = {
            name: value
            for name in sorted(given)
            if (option := self.known[name]).asks and (value := _canonical(option, given[name])) != _default_of(option)
        }
        if self.scheduled is None:
            return {"kind": self.kind, "input": list(map(identity_of, self.paths)), "options": options, **self.charged}
        window = {"window": self.scheduled.window}
        if self.scheduled.days is not None:
            window |= {"every": self.scheduled.every, "column": self.scheduled.days.column}
        asked = {"kind": self.kind, "input": [identity_of(self.source)], "options": options, **window}
        return {**asked, "dataset": self.charged["dataset"]}

    @property
    def in_window(self) -> bool:
        """Whether it reads the rows of a window alone."""
        return self.scheduled is not None and self.scheduled.days is not None

    @property
    def name_with_files(self) -> str:
        """Its name, and the files of its window, where each window has its own."""
        paths = ", ".join(map(repr, self.scheduled.paths)) if self.scheduled else ""
        return f"{self.name} ({paths})" if paths else self.name

    @property
    def key(self) -> str:
        """By which a ledger charges a job of a schedule once: its window, and a digest of it; "" for other jobs."""
        if self.scheduled is None:
            return ""
        return key_of(self.content)

    @cached_property
    def stem(self) -> str:
        """How the names of its result's files begin: its name, as far as it is safe everywhere, and `digest`."""
        return f"{re.sub(r'[^a-z0-9]+', '-', self.name.lower()).strip('-')[:40] or 'job'}-{self.digest}"

    @cached_property
    def digest(self) -> str:
        """Of what is asked, in 16 hexadecimal digits."""
        return _digest(self.content)

    def given(self, *left_out: str) -> dict[str, Any]:
        """The options that are given, by the library's names, without those left out."""
        renamed = {name: option.parameter for name, option in self.table.items() if option.parameter}
        left_out = (*left_out, *OF_SOURCE)
        return {renamed.get(name, name): value for name, value in self.options.items() if name not in left_out}

    @cached_property
    def data(self) -> Any:
        """What is read, as the library's calls take it. Raises BadParameter for options that contradict each other."""
        source_options = {name: self.options[name] for name in OF_SOURCE if name in self.options}
        if self.scheduled is not None and self.scheduled.days is not None:
            from dpmine.io.input import WindowedInput

            return WindowedInput(self.paths, **source_options, days=self.scheduled.days)
        from dpmine.io.input import Input

        return Input(self.paths, **source_options)

    def missing(self) -> list[str]:
        """The options that are needed and not given."""
        return [
            name
            for name, option in self.table.items()
            if option.needed and option.in_jobs and name not in self.options and self._agrees(option)
        ]

    def require_options(self) -> None:
        """Raises BadParameter where an option is missing, or one is given that belongs to another choice."""
        for name, option in self.table.items():
            if name in self.options and option.only_with is not None and not self._agrees(option):
                other, value, reason = option.only_with
                raise BadParameter(f"`{name}=…` is for `{other}={value!r}`: {reason}")
        if missing := self.missing():
            raise BadParameter(f"{missing[0]} is missing: jobs of the kind {self.kind} need it.")

    def _agrees(self, option: Option) -> bool:
        """Whether another option has the value that this one is for."""
        if option.only_with is None:
            return True
        other, value, _ = option.only_with
        return bool(self.options.get(other, self.table[other].default) == value)

    def choice(self, name: str) -> str:
        """One of the names that an option may have. Raises BadParameter."""
        option = self.table[name]
        value = self.options.get(name, option.default)
        if value not in option.choices:
            raise BadParameter(f"{name} must be {' or '.join(map(repr, option.choices))}.")
        return str(value)


def key_of(content: Mapping[str, object]) -> str:
    """`Job.key` of the job of a schedule that has this content."""
    return f"{content['window']} {_digest({**content, 'window': '', 'dataset': ''})}"


def _digest(content: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _default_of(option: Option) -> object:
    """What an option has that is not given, as far as `--help` says it."""
    default = option.shown if option.default is None else option.default
    return None if default is None else _canonical(option, default)


def _canonical(option: Option, value: Any) -> object:
    """An option's value in one of its spellings, for JSON: values that ask for different things stay different."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if option.has_numbers:
        return _numbers(option, value)
    if isinstance(value, str) and (option.metavar == "URL" or option.kind is Path):
        return identity_of(value)
    if option.metavar in {"RELATION", "MECHANISM"}:
        return str(value).replace("-", "_")
    return _plain(_entries(option, value) if option.has_list else value)


def _numbers(option: Option, value: Any) -> object:
    """Equal numbers are written alike, but a count is no share; what is no number stands for itself, such as "auto"."""
    try:
        if option.metavar == "N|F":
            support = count_or_share("value", value, least=0)
            return support if isinstance(support, int) else str(support)
        if option.metavar == "R|R1-R2":
            return list(parse_sizes(value))
        if option.metavar in {"N,N,…", "N[,N]"}:
            return whole_numbers("value", value)
        entries = [str(exact_number("value", entry)) for entry in (listed(value) if option.has_list else [value])]
    except BadParameter:
        return _plain(value)
    return entries if option.has_list else entries[0]


def _entries(option: Option, value: Any) -> object:
    """A list of texts; a single whole number may say how many there are."""
    if isinstance(value, list | tuple):
        return value
    if option.kind is list or (option.bare and value is True):
        return [option.bare or value]
    return str(value) if str(value).isdigit() else listed(str(value))


def _plain(value: Any) -> object:
    """For JSON; a number that is not whole is no text."""
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value if isinstance(value, str | int) else {"number": str(value)}
