"""Inputs that differ in one hostile row, and what a reader of a run sees of it: nothing may differ but what is drawn.

A run is seen as its error or result without what noise decides, its notices, its warnings, what anything wrote on
stderr, and what the ledger holds of it. Exact supports of everything but the row's own items must stay as they are.
Files and databases are read by the command line too, which must end, print and charge alike.
"""

from __future__ import annotations

import json
import pickle
import warnings
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import dpmine
from dpmine.errors import DpmineError
from dpmine.io.input import Input
from dpmine.models.tables import read_columns
from support.command_line import outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pytest

    from dpmine.itemsets.release.results import TopItemsets

LEAST_ROWS = 25
"""Hostile rows that every source is tried with, at least."""
OWN = frozenset({"a", 1, "1970-01-02", "1970-01-01 00:00:00.000001", "1.00", "age<20"})
"""The items that hostile rows may hold, beside such as no other row holds."""
FEWEST = 3
"""Units of each pair of items in the base: one row's own pairs have fewer."""
USUAL = 3
"""The number that every row but a hostile one has."""
BASKETS = [["a", "b", "c", "d", "e", "f"][unit % 3 : 3 + unit % 4] for unit in range(30)]
"""Of the units that are in all data: 0, 1, 2, …"""


class Unheld(Exception):
    """A form of data cannot hold a value: its writer rejects it."""


@dataclass(frozen=True)
class Neighbours:
    """Data sets around a base.

    Attributes:
        base: makes the data.
        others: make the data and one hostile row, by what is hostile; raise Unheld where the form cannot hold it.
        options: names of columns, and what else the calls take.
    """

    base: Callable[[], Any]
    others: Mapping[str, Callable[[], Any]]
    options: dict[str, Any] = field(default_factory=dict)


def seen(data: Any, k: int = 3, **options: Any) -> tuple[Any, TopItemsets | None]:
    """What a reader of a run sees and what is not drawn, and the result."""
    told: list[str] = []
    try:
        found = dpmine.top_itemsets(data, k, epsilon=1, notice=told.append, **options)
    except DpmineError as error:
        return (type(error), str(error), told), None
    fixed = replace(found, itemsets=(), supports=None, advice="", left_out=0)
    table = found.to_arrow()
    schema = table.schema.remove_metadata() if found.item_type else table.schema.names
    length = len(found.itemsets) + found.left_out if "catalogue" in options else None
    return (pickle.dumps(fixed), schema, length, vars(found) if hasattr(found, "__dict__") else None, told), found


class Runs:
    """Everything that shows of runs on one ledger."""

    def __init__(self, url: str, capture: pytest.CaptureFixture[str]) -> None:
        self.ledger = dpmine.Ledger(url)
        for unit in ("unit", "row"):
            self.ledger.grant(unit, epsilon=10**9, delta=0.9)
        self._url = url
        self._capture = capture
        self._command = outcome_of(capture)

    def command(self, data: Any, options: Mapping[str, Any], unit: str) -> Any:
        """Exit status, stderr and kind of output of `dpmine top-itemset`; None for data that it cannot open.

        The budget is so large that no list is empty, and all that was chosen is listed: the rest would be drawn.
        """
        words = _words(data, options)
        if words is None:
            return None
        words += ["--min-support", "0"] if "release_support" in options else []
        budget = ["--epsilon", "1000", "--ledger", self._url, "--dataset", unit]
        outcome = self._command("top-itemset", *words, "--top", "3", "--format", "json", *budget)
        return outcome.status, outcome.err, _kind(outcome.out)

    def show(self, run: Callable[[], Any], unit: str) -> Any:
        """What a run gives or raises, its warnings and lines on stderr, and its entries in the ledger."""
        before = len(self.ledger.history(unit))
        self._capture.readouterr()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                result = run()
            except Exception as error:  # noqa: BLE001 - faults of ours must not depend on a row either
                result = (type(error).__name__, str(error))
        charged = [(entry.kind, entry.job, entry.unit, entry.amount) for entry in self.ledger.history(unit)[before:]]
        return result, [str(warning.message) for warning in warned], self._capture.readouterr().err, charged


def _words(data: Any, options: Mapping[str, Any]) -> list[str] | None:
    """The command line that names the data and how to read them; None for objects in memory."""
    if not isinstance(data, str | Path | Input):
        return None
    read = data if isinstance(data, Input) else Input(data)
    as_they_are = ("quotes", "query", "database", "where", "delimiter", "input_format")
    named = {**options, **{name: getattr(read, name) for name in as_they_are}}
    named["columns"] = None if read.header is None else ",".join(read.header)
    if read.types is not None:
        named["types"] = read.types if isinstance(read.types, str) else ",".join(map("=".join, read.types.items()))
    words = [str(path) for path in read.paths]
    for name, value in named.items():
        for one in value if isinstance(value, list) else [value]:
            words += [] if one is None else [f"--{name.replace('_', '-')}", *([] if one is True else [str(one)])]
    return words


def _kind(printed: str) -> Any:
    """A JSON document without what is drawn: of the itemsets how many there are, and the types of their parts."""
    if not printed:
        return None
    document = json.loads(printed)
    kinds = [{name: type(value) for name, value in found.items()} for found in document["itemsets"]]
    items = {type(item) for found in document["itemsets"] for item in found["items"]}
    return {**document, "itemsets": (kinds, items)}


def _supports(data: Any, options: dict[str, Any], known: Iterable[frozenset[Any]] | None) -> Any:
    """The supports of the itemsets that no hostile row can hold; of the known ones, where these are given."""
    warnings.filterwarnings("ignore", "lines left out")  # exact supports alone count them; until `show` ends
    found = dpmine.itemset_supports(data, size="1-2", min_support=FEWEST, **options)
    supports = dict(zip(found["itemsets"], found["support"], strict=True))
    return {itemset: supports.get(itemset) for itemset in known or supports if not itemset <= OWN}


def differing(neighbours: Neighbours, runs: Runs, **options: Any) -> dict[str, Any]:
    """The hostile rows that show in itemsets, and how: what is seen with them, and what without."""
    named = {**neighbours.options, **options}
    unit = named.get("unit", "row")
    exact = {name: value for name, value in named.items() if name != "release_support"}
    known: list[frozenset[Any]] = []

    def looked(data: Any, again: Any) -> Any:
        return (
            runs.show(lambda: seen(data, ledger=runs.ledger, dataset=unit, **named)[0], unit),
            runs.show(lambda: _supports(again, exact, known), unit),
            runs.show(lambda: runs.command(again, named, unit), unit),
        )

    base = looked(neighbours.base(), neighbours.base())
    assert base[2][0] is None or base[2][0][0] == 0, base
    assert isinstance(base[1][0], dict), base
    assert len(base[1][0]) > 5, base
    assert len(base[0][3]) == 1, base
    known.extend(base[1][0])
    return _compared(neighbours, base, looked)


def differing_in_numbers(neighbours: Neighbours, runs: Runs, number: str) -> dict[str, Any]:
    """The hostile rows that show where an estimator reads the column `number` by unit, and how."""

    def looked(data: Any, _again: Any) -> Any:
        return runs.show(lambda: _numbers(data, number), "unit")

    base = looked(neighbours.base(), None)
    assert base[0][0] == np.float64, base
    return _compared(neighbours, base, looked)


def _numbers(data: Any, name: str) -> Any:
    """The type of the numbers, and how many there are of those that every row but a hostile one has."""
    charged: list[bool] = []
    read = read_columns(data, [name], keys=["unit"], ready=lambda: charged.append(True))
    return read[name].dtype, int(np.count_nonzero(read[name] == USUAL)), read.whole, charged


def _compared(neighbours: Neighbours, base: Any, looked: Callable[[Any, Any], Any]) -> dict[str, Any]:
    found = {}
    for name, make in neighbours.others.items():
        with suppress(Unheld):
            other = looked(make(), make())
            found[name] = tuple(pair for pair in zip(other, base, strict=True) if pair[0] != pair[1])
    return {name: difference for name, difference in found.items() if difference}
