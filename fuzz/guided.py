"""One target led by coverage: `python -m fuzz.guided TARGET FOLDER [options of libFuzzer]`.

A finding does not end the run: the first input of each kind is kept in the folder, beside how many inputs ended how.
With FUZZ_BLIND in the environment all inputs are random ones, without the work of counting coverage.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
import traceback
import warnings
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import atheris

if TYPE_CHECKING:
    from collections.abc import Callable

BLIND = "FUZZ_BLIND" in os.environ

with nullcontext() if BLIND else atheris.instrument_imports(include=["dpmine"]):
    from fuzz.generated import OUTCOMES, generated
    from fuzz.oracle import Refused
    from fuzz.targets import GUIDED

_EVERY = 64  # inputs after which the outcomes are written: libFuzzer ends the process without a word


def _kept(target: Callable[[bytes], None], folder: Path) -> Callable[[bytes], None]:
    """The target, whose findings are written down instead of raised."""
    outcomes: Counter[str] = Counter()

    def run(data: bytes) -> None:
        outcomes[_outcome(target, data, folder)] += 1
        if outcomes.total() % _EVERY == 0:
            (folder / OUTCOMES).write_text(json.dumps(outcomes), encoding="utf-8")

    return run


def _outcome(target: Callable[[bytes], None], data: bytes, folder: Path) -> str:
    """What came of one input."""
    try:
        target(data)
    except Refused:
        return "refused"
    except Exception as error:  # noqa: BLE001 - whatever else comes out is a finding
        where = traceback.extract_tb(error.__traceback__)[-1]
        name = hashlib.sha256(f"{type(error).__name__} {where.filename} {where.lineno}".encode()).hexdigest()[:12]
        if not (folder / f"{name}.bin").exists():
            (folder / f"{name}.bin").write_bytes(data)
            (folder / f"{name}.txt").write_text(traceback.format_exc(), encoding="utf-8", errors="replace")
        return "failed"
    return "answered"


def _next_input(target: str) -> Callable[[bytes, int, int], bytes]:
    """A mutator for libFuzzer: half of the inputs are new ones, the others are mutated from what it kept."""

    def mutated(data: bytes, largest: int, seed: int) -> bytes:
        rng = Random(seed)
        fresh = generated(target, rng)[:largest] if BLIND or rng.randrange(2) else b""
        return fresh if BLIND or fresh else bytes(atheris.Mutate(data, largest))

    return mutated


def main(name: str, folder: str, *options: str) -> None:
    """Fuzz until libFuzzer has enough; it ends the process. What the first call loads is no slow input."""
    warnings.simplefilter("ignore")  # each would be looked up in the sources and written
    target = _kept(GUIDED[name], Path(folder))
    target(b"")
    gc.freeze()  # what is loaded stays
    atheris.Setup([f"fuzz.{name}", *options], target, custom_mutator=_next_input(name))
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
