"""dpmine doctor."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from dpmine_cli import options
from dpmine_cli.output import Destination

Url = Annotated[
    Optional[str], typer.Option("--ledger", metavar="URL", help="Look whether this ledger can be read, too.")
]


def doctor(
    ledger: Url = None,
    output_format: options.OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Say whether dpmine works here: versions, caches, randomness, a ledger. Exit status 2 where something does not.

    Example: dpmine doctor --ledger sqlite:///budget.db
    """
    destination = Destination.of(output_format, output)
    destination.require_document()
    from dpmine.doctor import diagnose
    from dpmine.errors import DpmineError
    from dpmine.exact.bits import SystemBits

    diagnosis = diagnose(ledger, bits=SystemBits())
    destination.write_document(diagnosis)
    if diagnosis.complaint:
        raise DpmineError(diagnosis.complaint)
