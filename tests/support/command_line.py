"""The command line as tests see it: exit status, stdout, stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpmine_cli.main import run as run_command

import dpmine
from support.schemas import problems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pytest

CANARY = "kanarienvogel"
"""Part of every value in the files of the tests."""

NUMBERS = ("91827", "73646")
"""Values that are numbers."""

PROGRAM = [sys.executable, "-m", "dpmine_cli.main"]
ROOT = Path(dpmine.__file__).resolve().parents[1]


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines on stderr."""
        return self.err.splitlines()


class outcome_of:  # noqa: N801 - used as a function that remembers where output goes
    """Runs command lines in this process, and takes what they print."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *arguments: str) -> Outcome:
        self._capture.readouterr()
        status = run_command(list(arguments))
        outcome = Outcome(status, *self._capture.readouterr())
        if status == 0:
            _require_described(arguments, outcome.out)
        return outcome


_DOCUMENTS = {
    "top-itemset": ("itemsets", "dry_run"),
    "frequent-itemsets": ("frequent_itemsets", "dry_run"),
    "catalogue": ("catalogue", "dry_run"),
    "supports": ("supports", "dry_run"),
    "histogram": ("histogram", "dry_run"),
    **dict.fromkeys(("classify", "regress", "accuracy-first"), ("model", "predictions", "dry_run")),
    "hypothesis": ("hypothesis", "predictions", "dry_run"),
    **{name: (name,) for name in ("plan", "audit", "doctor", "ledger")},
}
"""The schemas of what each command writes as JSON."""


def _require_described(arguments: tuple[str, ...], printed: str) -> None:
    """Every JSON document that a command made is as a shipped schema says."""
    if arguments[:1] == ("report",):  # which prints a schema itself
        return
    named = [after for word, after in pairwise(arguments) if word in {"-o", "--output", "--model"}]
    files = [path for path in map(Path, named) if path.is_file()]
    for text in (printed, *(path.read_bytes().decode(errors="replace") for path in files)):
        if not text.startswith("{"):
            continue
        found = [problems(name, json.loads(text)) for name in _DOCUMENTS[arguments[0]]]
        assert [] in found, (arguments, found)


def last_of_each(*arguments: str) -> list[str]:
    """A command line with the last value alone of each option that is given several times."""
    dropped = {
        place + offset
        for place, word in enumerate(arguments)
        if word.startswith("--") and word in arguments[place + 1 :]
        for offset in (0, 1)
    }
    return [word for place, word in enumerate(arguments) if place not in dropped]


def environment() -> dict[str, str]:
    """For a process that runs the program from any working directory."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "cli")])}


def spawn(*arguments: str, cwd: Path | None = None, variables: Mapping[str, str] | None = None) -> Outcome:
    """Run a command line in a process of its own."""
    return ended(PROGRAM, *arguments, cwd=cwd, variables=variables)


def ended(
    program: Sequence[str],
    *arguments: str,
    cwd: Path | None = None,
    stdout: Any = subprocess.PIPE,
    timeout: int = 120,
    user: int | None = None,
    variables: Mapping[str, str] | None = None,
) -> Outcome:
    """What any program left behind that finds dpmine, with `variables` in its environment."""
    done = subprocess.run(
        [*program, *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=timeout,
        cwd=cwd,
        user=user,
        env={**environment(), **(variables or {})},
    )
    return Outcome(done.returncode, done.stdout or "", done.stderr)


def python(code: str, *arguments: str, **options: Any) -> Outcome:
    """What a Python of its own left behind that runs `code`; `options` as of `ended`."""
    return ended([sys.executable, "-c", code], *arguments, **options)


def assert_one_error(outcome: Outcome) -> str:
    """Status 2, one line that says what is wrong and shows no data, nothing on stdout; returns the line."""
    assert outcome.status == 2, outcome
    assert outcome.out == ""
    errors = [line for line in outcome.lines if not line.startswith("dpmine: ") or line.startswith("dpmine: error: ")]
    assert len(errors) == 1, outcome.err
    assert errors[0].startswith("dpmine: error: ")
    assert errors[0] == outcome.lines[-1]
    assert len(errors[0]) > len("dpmine: error: ") + 15
    assert CANARY not in outcome.err
    assert not [number for number in NUMBERS if number in outcome.err]
    return errors[0]
