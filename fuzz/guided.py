"""One target led by coverage: `python -m fuzz.guided TARGET FOLDER [options of libFuzzer]`.

A finding does not end the run: the first input of each kind is kept in the folder.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import atheris

if TYPE_CHECKING:
    from collections.abc import Callable

with atheris.instrument_imports(include=["dpmine"]):
    from fuzz.oracle import Refused
    from fuzz.targets import GUIDED


def _kept(target: Callable[[bytes], None], folder: Path) -> Callable[[bytes], None]:
    """The target, whose findings are written down instead of raised."""

    def run(data: bytes) -> None:
        try:
            target(data)
        except Refused:
            return
        except Exception as error:  # noqa: BLE001 - whatever else comes out is a finding
            where = traceback.extract_tb(error.__traceback__)[-1]
            name = hashlib.sha256(f"{type(error).__name__} {where.filename} {where.lineno}".encode()).hexdigest()[:12]
            if not (folder / f"{name}.bin").exists():
                (folder / f"{name}.bin").write_bytes(data)
                (folder / f"{name}.txt").write_text(traceback.format_exc(), encoding="utf-8", errors="replace")

    return run


def main(name: str, folder: str, *options: str) -> None:
    """Fuzz until libFuzzer has enough; it ends the process. What the first call loads is no slow input."""
    target = _kept(GUIDED[name], Path(folder))
    target(b"")
    atheris.Setup([f"fuzz.{name}", *options], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
