"""dpmine audit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from dpmine_cli import options
from dpmine_cli.messages import Messages
from dpmine_cli.output import Destination

Mechanism = Annotated[Optional[str], typer.Option("--mechanism", metavar="NAME", help="Audit this one only.")]
Thorough = Annotated[bool, typer.Option("--thorough", help="Search longer, and around the given ε and δ: minutes.")]
Lists = Annotated[
    bool, typer.Option("--lists", help="Audit choices of the 2 and 3 best candidates in place of single ones.")
]
Plot = Annotated[
    Optional[Path], typer.Option("--plot", metavar="FILE", help="Draw claimed against measured ε (.svg or .png).")
]

_REFUTED = 1


def audit(
    mechanism: Mechanism = None,
    epsilon: options.Epsilon = "1",
    delta: options.Delta = "1e-6",
    thorough: Thorough = False,
    lists: Lists = False,
    plot: Plot = None,
    output_format: options.OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Measure the privacy of the mechanisms against what they claim. Exit status 1 when a claim does not hold.

    Example: dpmine audit --mechanism large-margin-tight --epsilon 1 --delta 1e-6
    """
    destination = Destination.of(output_format, output)
    destination.require_document()
    from dpmine.auditing.run import audit as run_audit
    from dpmine.io.atomic import require_apart
    from dpmine.io.figures import picture_target

    picture = picture_target(plot) if plot else None
    require_apart({"--output": destination.path, "--plot": picture}, ())
    with Messages(quiet=quiet) as messages:
        report: Any = run_audit(
            mechanism, epsilon=epsilon, delta=delta, thorough=thorough, lists=lists, progress=messages.progress
        )
    if picture:
        report.plot(picture)
    destination.write_document(report)
    if not report.holds:
        raise typer.Exit(_REFUTED)
