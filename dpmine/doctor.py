"""Whether this installation works: versions, the compiled kernels, randomness, an exact choice, a ledger.

Nothing here reads data. The checks load what they need themselves, so that a broken package is found and reported.
"""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from dpmine.markup import json_text
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.exact.bits import BitSource

PACKAGES = ("numpy", "pyarrow", "python-flint", "pandas", "scikit-learn", "scipy", "matplotlib", "sqlalchemy")
"""What dpmine cannot do without, where a version changes what it does."""

_DRIVER = "psycopg"
_WITHOUT_DRIVER = "not installed; only ledgers on PostgreSQL need it: pip install 'dpmine[postgres]'"
_NUMBERS, _DIVISORS = range(1, 241), range(1, 13)
_SCORES = (16, 2, 1)
_CHOOSER = "stable_maximiser"
"""Of these scores it may choose the first, or nothing; never one of the others."""


class State(StrEnum):
    """What a check found."""

    OK = "ok"
    NOTE = "note"
    """It works, and could be better."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: its name, what was found, and a line that says so, or what to do."""

    name: str
    state: State
    detail: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that was looked at, in order."""

    python: str
    system: str
    checks: tuple[Check, ...]

    @property
    def complaint(self) -> str:
        """What fails, in one line; empty where nothing does."""
        return " ".join(f"{check.name}: {check.detail}" for check in self.checks if check.state is State.FAILED)

    def to_json(self) -> str:
        """One JSON object."""
        checks = [asdict(check) for check in self.checks]
        document = {"dpmine": __version__, "python": self.python, "system": self.system, "healthy": not self.complaint}
        return json_text({**document, "checks": checks})

    def __str__(self) -> str:
        names, states = max(len(check.name) for check in self.checks), max(map(len, State))
        lines = [f"{check.name:{names}}  {check.state:{states}}  {check.detail}" for check in self.checks]
        return "\n".join([f"dpmine {__version__}, Python {self.python}, {self.system}", "", *lines])


def diagnose(ledger: str | None = None, *, bits: BitSource) -> Diagnosis:
    """Look at this installation; at the ledger of that URL, too, where one is given: it is read and not changed.

    `bits` is the source of randomness that is looked at. Never raises for what it finds.
    """
    checks: dict[str, Callable[[], Finding]] = {
        **{name: partial(_version, name) for name in PACKAGES},
        _DRIVER: partial(_version, _DRIVER, _WITHOUT_DRIVER),
        "kernels": _kernels,
        "random source": partial(_random_source, bits),
        "exact selection": partial(_selection, bits),
        "memory": _memory,
        "temporary files": _temporary_files,
    }
    if ledger is not None:
        checks["ledger"] = partial(_ledger, ledger)
    found = tuple(_guarded(name, look) for name, look in checks.items())
    system = f"{platform.system()} {platform.machine()}"
    return Diagnosis(f"{platform.python_version()} ({platform.python_implementation()})", system, found)


Finding = tuple[State, str]


def _guarded(name: str, look: Callable[[], Finding]) -> Check:
    from dpmine.errors import DpmineError

    try:
        return Check(name, *look())
    except DpmineError as error:
        return Check(name, State.FAILED, str(error))
    except Exception as error:  # noqa: BLE001 - whatever is broken: to find that is what this is for
        return Check(name, State.FAILED, f"does not work here ({type(error).__name__}): reinstall dpmine.")


def _version(package: str, note: str = "") -> Finding:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return State.OK, version(package)
    except PackageNotFoundError:
        return (State.NOTE, note) if note else (State.FAILED, f"not installed: pip install {package}.")


def _kernels() -> Finding:
    """A search whose answer is known: unit n of N holds its divisors; a, b and c have the support N // lcm(a, b, c)."""
    from itertools import combinations
    from math import lcm

    import numpy as np
    import pyarrow as pa

    from dpmine.itemsets.counting.miner import BasketsInMemory
    from dpmine.kernels import INSTRUCTION_SETS, INSTRUCTIONS, LIBRARY

    held = np.array(_NUMBERS)[:, None] % np.array(_DIVISORS) == 0
    starts = np.concatenate([[0], held.sum(axis=1).cumsum()])
    units = np.arange(len(_NUMBERS) + 1)
    items = held.nonzero()[1].astype(np.int32)
    baskets = BasketsInMemory(pa.array(_DIVISORS), items, starts, units, unit="n")
    found = baskets.miner().itemsets(3, 1)
    counted = dict(zip(map(tuple, found.items.tolist()), found.supports.tolist(), strict=True))
    known = {
        places: support
        for places in combinations(range(len(_DIVISORS)), 3)
        if (support := len(_NUMBERS) // lcm(*(_DIVISORS[place] for place in places)))
    }
    if counted != known:
        return State.FAILED, f"{LIBRARY} counts wrongly: reinstall dpmine."
    return State.OK, f"{LIBRARY}, {INSTRUCTION_SETS[INSTRUCTIONS]}"


def _random_source(bits: BitSource) -> Finding:
    """Two draws of 256 bits are equal with probability 2^-256: then nothing random is there."""
    if bits.take(256) == bits.take(256):
        return State.FAILED, "drew the same 256 bits twice: the operating system's generator does not work."
    return State.OK, "512 bits drawn"


def _selection(bits: BitSource) -> Finding:
    """One draw against the exact output distribution, which must allow it, and whose probabilities must sum to 1."""
    from fractions import Fraction

    from dpmine.selection.recommend import build_mechanism
    from dpmine.selection.select import choose, law
    from dpmine.selection.universes.dense import Dense

    exact = law(_SCORES, mechanism=_CHOOSER, epsilon=1, delta="1e-3")
    mechanism = build_mechanism(_CHOOSER, epsilon=1, delta="1e-3", neighbors="replace_one")
    place = choose(mechanism, Dense(_SCORES), sensitivity=Fraction(1), bits=bits)
    chance = exact.nothing if place is None else exact.pmf[place]
    if not (chance > 0 and abs(exact.pmf.sum() + exact.nothing - 1) < 1e-9):
        return State.FAILED, "chose a candidate whose exact probability is 0: reinstall dpmine."
    return State.OK, "chose within its exact output distribution"


def _memory() -> Finding:
    from dpmine.itemsets.transactions.memory import physical_memory

    size = physical_memory()
    return State.OK, f"{size / 1e9:.1f} GB; a run uses at most half, or the memory that is given"


def _temporary_files() -> Finding:
    """Where the temporary files of larger inputs go: the folder that TMPDIR names, and no other where it is set."""
    import os
    import shutil
    import tempfile

    folder = os.environ.get("TMPDIR") or tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile(prefix="dpmine-", dir=folder) as file:
            file.write(b"0")
    except OSError:
        return State.FAILED, f"'{folder}' cannot be written: set TMPDIR to a folder on a disk with room."
    return State.OK, f"{folder}, {shutil.disk_usage(folder).free / 1e9:.1f} GB free"


def _ledger(url: str) -> Finding:
    from dpmine.ledger.ledger import Ledger
    from dpmine.markup import without_passwords

    count = len(Ledger(url).budgets())
    return State.OK, f"{without_passwords(url)}, {count} data {'set' if count == 1 else 'sets'}"
