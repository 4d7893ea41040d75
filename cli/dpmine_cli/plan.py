"""dpmine plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from dpmine_cli import options
from dpmine_cli.messages import Messages
from dpmine_cli.options import given_options
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
Learn = Annotated[
    Optional[str],
    typer.Option("--learn", metavar="CLASS", help="Records to learn thresholds, intervals, stumps or separators."),
]
Accuracy = Annotated[
    Optional[str], typer.Option("--accuracy", metavar="A", help="With --learn: error allowed beyond the best rule's.")
]
Failure = Annotated[str, typer.Option("--failure", metavar="P", help="With --learn: probability of missing it.")]
Smoothness = Annotated[
    str, typer.Option("--smoothness", metavar="K", help="With --learn: how far data may be from the reference.")
]
Dimension = Annotated[
    Optional[int],
    typer.Option("--dimension", metavar="D", help="With --learn: number of features.", show_default=False),
]
BestError = Annotated[str, typer.Option("--best-error", metavar="B", help="With --learn: error of the best rule.")]
_OF_ITEMSETS = {"size", "catalogue_size", "units", "delta", "neighbors", "gap", "success", "plot"}
_OF_LEARNING = {"accuracy", "failure", "smoothness", "dimension", "best_error"}


def plan(
    context: typer.Context,
    size: options.Size = "2",
    catalogue_size: CatalogueSize = "unknown",
    units: Units = None,
    epsilon: options.Epsilon = "1",
    delta: options.Delta = "1e-6",
    neighbors: options.Relation = "replace-one",
    gap: Gap = None,
    success: Success = "0.95",
    plot: Plot = None,
    learn: Learn = None,
    accuracy: Accuracy = None,
    failure: Failure = "0.05",
    smoothness: Smoothness = "1",
    dimension: Dimension = None,
    best_error: BestError = "0",
    output_format: options.OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Say what every mechanism needs and achieves, without touching data; or how many records learning takes.

    Example: dpmine plan --catalogue-size 4000 --units 25900 --epsilon 0.5 --gap 100
    """
    destination = Destination.of(output_format, output)
    destination.require_document()
    _require_fit(context, learn)
    if learn is not None:
        destination.write_document(_learning(learn, accuracy, epsilon, failure, smoothness, dimension, best_error))
        return
    from dpmine.io.atomic import require_apart
    from dpmine.io.figures import picture_target
    from dpmine.planning.planner import plan as make_plan

    picture = picture_target(plot) if plot else None
    require_apart({"--output": destination.path, "--plot": picture}, ())
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


def _learning(learn: str, accuracy: str | None, *others: Any) -> Any:
    from dpmine.errors import BadParameter
    from dpmine.planning.learning import plan_learning

    if accuracy is None:
        raise BadParameter("--learn needs --accuracy, the error allowed beyond the best rule's, such as 0.05.")
    names = ("epsilon", "failure", "smoothness", "dimension", "best_error")
    return plan_learning(learn, accuracy=accuracy, **dict(zip(names, others, strict=True)))


def _require_fit(context: typer.Context, learn: str | None) -> None:
    """BadParameter, with their names, for options of the other kind of plan."""
    from dpmine.errors import BadParameter

    foreign = _OF_LEARNING if learn is None else _OF_ITEMSETS
    if unread := [option for name, option in given_options(context) if name in foreign]:
        about = "belongs to --learn" if learn is None else "does not belong to --learn"
        raise BadParameter(f"{', '.join(unread)} {about}: leave it out.")


def _catalogue_size(text: str) -> int | None:
    from dpmine.errors import BadParameter

    if text == "unknown":
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise BadParameter("--catalogue-size must be a whole number of items, or unknown.")
    return int(text)
