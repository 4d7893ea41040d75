"""A child that runs mutants with limits on memory: `python -m fuzz.worker TARGET FIRST STOP`.

Each line it prints tells a mutant's number before, and what came of it after.
"""

from __future__ import annotations

import os
import resource
import sys
import traceback

from fuzz.oracle import Refused
from fuzz.parquet import bare, mutant
from fuzz.targets import FORKED

MEMORY = 4 << 30  # bytes of address space


def main(target: str, first: int, stop: int) -> None:
    """Run the mutants from `first` to before `stop`; "bare:" in front of the target runs pyarrow alone."""
    if "ASAN_OPTIONS" not in os.environ:  # a sanitizer reserves terabytes, and has a limit of its own
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    name = target.removeprefix("bare:")
    run = bare if target != name else FORKED[name]
    for number in range(first, stop):
        os.write(1, f"{number} ".encode())
        data, case = mutant(name, number)
        try:
            run(data, case)
            outcome = "answered"
        except Refused:
            outcome = "refused"
        except MemoryError:
            outcome = "out of memory"
        except Exception as error:  # noqa: BLE001 - whatever else comes out is a finding
            traceback.print_exc()
            outcome = f"FAILED {type(error).__name__} {case.mutation} {case.layout}"
        os.write(1, f"{outcome}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
