"""Entry point: listens to interrupts first, then loads the commands and runs one (`dpmine_cli.program`).

Exit status: 0 done, 2 bad request or bad data, 3 budget refused, 130 interrupted, 1 a bug (or a claim that an audit
refutes).
"""

from __future__ import annotations

import sys

from dpmine_cli import interrupts


def main() -> None:
    """Run the command line of this process and exit with its status."""
    interrupts.listen()  # before anything is loaded that takes time
    # What fails inside a callback or a finaliser is printed by default, and its text may quote data.
    sys.unraisablehook = lambda _failure: None
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line; returns the exit status, and never raises."""
    from dpmine_cli import program

    return program.run(arguments)


if __name__ == "__main__":
    main()
