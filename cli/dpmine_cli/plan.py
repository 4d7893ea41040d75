"""dpmine plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from dpmine_cli import options
from dpmine_cli.messages import Messages
from dpmine_cli.output import Destination

CatalogueSize = Annotated[
    str, typer.Option("--catalogue-size", metavar="N|unknown", help="Items in the public catalogue, or unknown.")
]
Units = Annotated[Optional[int], typer.Option("--units", metavar="N", help="Public number of units, for shares.")]
Gap = Annotated[
    Optional[int], typer.Option("--gap", metavar="G", help="Ask about this lead of the best over the second, in units.")
]
Success = Annotated[str, typer.Option("--success", metavar="P", help="Wanted probability of finding the best.")]
Plot = Annotated[
    Optional[Path], typer.Option("--plot", metavar="FILE", help="Draw success against lead (.svg or .png).")
]


def plan(
    size: options.Size = "2",
    catalogue_size: CatalogueSize = "unknown",
    units: Units = None,
    epsilon: options.Epsilon = "1",
    delta: options.Delta = "1e-6",
    neighbors: options.Relation = "replace-one",
    gap: Gap = None,
    success: Success = "0.95",
    plot: Plot = None,
    output_format: options.OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Say what every mechanism needs and achieves, without touching data.

    Example: dpmine plan --catalogue-size 4000 --units 25900 --epsilon 0.5 --gap 100
    """
    destination = Destination.of(output_format, output)
    destination.require_document()
    from dpmine.pictures import picture_target
    from dpmine.planning.planner import plan as make_plan

    picture = picture_target(plot) if plot else None
    with Messages(quiet=quiet) as messages:
        result: Any = make_plan(
            size=size,
            catalogue_size=_catalogue_size(catalogue_size),
            units=units,
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            gap=gap,
            success=success,
            progress=messages.progress,
        )
    if picture:
        result.plot(picture)
    destination.write_document(result)


def _catalogue_size(text: str) -> int | None:
    from dpmine.errors import BadParameter

    if text == "unknown":
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise BadParameter("--catalogue-size must be a whole number of items, or unknown.")
    return int(text)
