"""What every job of a batch is: a call of the library with its options, and what it released."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from dpmine.errors import BadParameter
from dpmine.io.paths import shown_name
from dpmine.parameters import exact_number, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from dpmine.ledger.ledger import Ledger
    from dpmine.privacy import Guarantee


_LISTS = {"features", "lambdas", "lower", "upper", "bins", "grid"}
OF_UNIT = frozenset({"unit", "rows_per_unit", "one_row_per"})
"""Options of jobs on tables that state the privacy unit."""
_NAMES = {"neighbors", "mechanism"}


@dataclass(frozen=True, slots=True)
class Payer:
    """Who pays for jobs: a data set's budget in a ledger."""

    ledger: Ledger
    dataset: str


@dataclass(frozen=True, slots=True)
class Released:
    """What a job released.

    Attributes:
        document: as the command prints it in JSON.
        guarantee: what it promises.
        tables: Arrow tables by the suffix of their file's name; "" for the main one.
        model: a model file, for jobs that learn one.
    """

    document: dict[str, Any]
    guarantee: Guarantee
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    model: str = ""


@dataclass(frozen=True, slots=True)
class Job(ABC):
    """One entry of a job file.

    Attributes:
        name: its title.
        source: the input as the job file calls it.
        paths: the Parquet files that are read.
        options: the options by name, as the job file gives them.
    """

    kind: ClassVar[str]
    known: ClassVar[frozenset[str]]
    """The options that the kind has."""

    name: str
    source: str
    paths: tuple[str, ...]
    options: Mapping[str, Any]

    @abstractmethod
    def promise(self) -> Guarantee:
        """The most that `run` will promise; everything that can be checked without reading a value is checked.

        Raises BadParameter, BadData for columns that are missing or of the wrong type, UnreadableFile.
        """

    @abstractmethod
    def run(self, payer: Payer, *, progress: Callable[[float], None]) -> Released:
        """Charge the ledger, read the data, release. Raises whatever the library's call raises."""

    def content(self) -> dict[str, Any]:
        """What is asked, whatever it is called: two jobs of the same content are the same job."""
        options = {name: plain(self.spelled(name)) for name in sorted(self.options)}
        if self.known >= OF_UNIT and "unit" in options:  # it named an assertion once, in results that may be stored
            options["unit columns"] = options.pop("unit")
        return {"kind": self.kind, "input": [shown_name(path) for path in self.paths], "options": options}

    def spelled(self, name: str) -> Any:
        """An option, in one of its spellings: lists with commas as lists, dashes as underscores."""
        value = self.options[name]
        if name in _LISTS and isinstance(value, str):
            return [_number_or_text(entry) for entry in listed(value)]
        return str(value).replace("-", "_") if name in _NAMES and isinstance(value, str) else value

    def given(self, *names: str) -> dict[str, Any]:
        """Those of the options that the job file has."""
        return {name: self.options[name] for name in names if name in self.options}

    def required(self, name: str) -> Any:
        """An option that must be there. Raises BadParameter."""
        if name not in self.options:
            raise BadParameter(f"{name} is missing: jobs of the kind {self.kind} need it.")
        return self.options[name]

    def protected(self) -> dict[str, Any]:
        """The estimator's parameters for the privacy unit of a table. Raises BadParameter."""
        if "unit" in self.options and "one_row_per" in self.options:
            raise BadParameter("one_row_per is for tables without a column of the unit: leave it out, or unit.")
        named = {} if self.asserted is None else {"unit": self.asserted}
        return {**self.given("rows_per_unit"), **named}

    @property
    def asserted(self) -> str | None:
        """The privacy unit of which the job file asserts that it has one row each; None for none."""
        return self.options.get("one_row_per")

    def units(self) -> list[str]:
        """The columns that name the privacy unit of a row; none where each row is one. Raises BadParameter."""
        columns = self.options.get("unit", [])
        columns = [columns] if isinstance(columns, str) else columns
        if not isinstance(columns, list) or not all(isinstance(name, str) and name for name in columns):
            raise BadParameter("unit must be a column of the table, or a list of them; to assert it, take one_row_per.")
        return columns

    def text(self, name: str) -> str:
        """An option that must be there, as text. Raises BadParameter."""
        value = self.required(name)
        if not isinstance(value, str) or not value:
            raise BadParameter(f"{name} must be text.")
        return value


def _number_or_text(text: str) -> Any:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else text


def plain(value: Any) -> Any:
    """A value of a job file for JSON: numbers that are equal are written alike."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return str(exact_number("value", value))
