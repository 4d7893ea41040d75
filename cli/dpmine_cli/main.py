"""Entry point: listens to interrupts first, then loads the commands and runs one (`dpmine_cli.program`).

Exit status: 0 done, 1 a bug or a claim that an audit refutes, 2 bad request or bad data.
Or 3 charge rejected, 4 too early for a window, 130 interrupted.
"""

from __future__ import annotations

import gc
import os
import sys

from dpmine_cli import messages

_NEW_OBJECTS = 100_000
"""Between two searches for cyclic garbage: loading makes many objects and no garbage, and searches take longer."""


def main() -> None:
    """Run the command line of this process and exit with its status."""
    _open_streams()  # first: a file opened before would get the descriptor of a closed stream
    messages.listen()  # before anything is loaded that takes time
    # What fails inside a callback or a finaliser is printed by default, and its text may quote data.
    sys.unraisablehook = lambda _failure: None
    gc.set_threshold(_NEW_OBJECTS)
    status = run(sys.argv[1:])
    if "duckdb" not in sys.modules:  # it prints what is not collected
        gc.freeze()  # or the end searches all that was loaded for garbage
    sys.exit(status)


def _open_streams() -> None:
    """Connect stdin, stdout and stderr to the null device where they were closed.

    Otherwise the next file that is opened would get their descriptor, and the messages. `sys.stdout` stays None, so
    that commands with a result to print can reject a closed one.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free descriptor
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def run(arguments: list[str]) -> int:
    """Run one command line; returns the exit status, and never raises."""
    from dpmine_cli import program

    return program.run(arguments)


if __name__ == "__main__":
    main()
