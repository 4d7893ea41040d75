"""dpmine hypothesis."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from dpmine.parameters import listed, one_or_each, whole_numbers
from dpmine_cli import options, scoring
from dpmine_cli.messages import Messages
from dpmine_cli.output import Destination, ledger_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.models.pac.selector import HypothesisSelector


class Kind(StrEnum):
    """Which class of hypotheses."""

    THRESHOLDS = "thresholds"
    INTERVALS = "intervals"
    STUMPS = "stumps"
    CONJUNCTIONS = "conjunctions"
    SEPARATORS = "separators"


MechanismOption = Annotated[
    str,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="auto (max-of-exponentials), exponential, max-of-laplaces, large-margin, large-margin-tight, "
        "stable-maximiser, exact.",
    ),
]
ClassOption = Annotated[Kind, typer.Option("--class", help="The rules to choose from.")]
Lower = Annotated[
    Optional[str],
    typer.Option("--lower", metavar="A[,A]", help="Public lower bound of the features, one for all or one each."),
]
Upper = Annotated[
    Optional[str],
    typer.Option("--upper", metavar="B[,B]", help="Public upper bound of the features, one for all or one each."),
]
GridPoints = Annotated[
    Optional[str],
    typer.Option("--grid", metavar="N[,N]", help="Points of the grid between the bounds, up to 2^64 (default 1001)."),
]
Width = Annotated[
    Optional[int],
    typer.Option("--width", metavar="W", help="The most features of a conjunction (default 3).", show_default=False),
]
Resolution = Annotated[
    Optional[int],
    typer.Option("--resolution", metavar="K", help="The largest weight of a separator (default 8)", show_default=False),
]


def hypothesis(
    context: typer.Context,
    files: options.TrainingFiles = None,
    label: options.Label = None,
    classes: options.Classes = None,
    kind: ClassOption = Kind.STUMPS,
    features: options.Features = None,
    lower: Lower = None,
    upper: Upper = None,
    grid: GridPoints = None,
    width: Width = None,
    resolution: Resolution = None,
    mechanism: MechanismOption = "auto",
    epsilon: options.Epsilon = "1",
    delta: options.Delta = "1e-6",
    neighbors: options.Relation = "replace-one",
    not_private: options.NotPrivate = False,
    unit: options.RowUnit = None,
    rows_per_unit: options.RowsPerUnit = 1,
    one_row_per: options.OneRowPer = None,
    ledger: options.LedgerUrl = None,
    dataset: options.Dataset = None,
    model: options.Model = None,
    predict: options.Predict = None,
    output_format: options.OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Choose a rule that predicts a label, privately, from a class of rules; or score a file with one.

    Example: dpmine hypothesis people.parquet --label income --class stumps --features age,hours --lower 0 --upper 120
    """
    from dpmine.errors import BadParameter

    destination, messages = Destination.of(output_format, output), Messages(quiet=quiet)
    if predict is not None:
        scoring.score(context, _reader, model, predict, destination, messages)
        return
    if not files or label is None or features is None:
        raise BadParameter("Choosing needs FILE, --label and --features; scoring needs --model and --predict FILE.")
    from dpmine.models.pac.selector import HypothesisSelector

    selector = HypothesisSelector(
        hypotheses=kind.value,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        neighbors=neighbors,
        lower=one_or_each(lower),
        upper=one_or_each(upper),
        grid=one_or_each(whole_numbers("--grid", grid)),
        width=width,
        resolution=resolution,
        not_private=not_private,
        **options.protected(unit, rows_per_unit, one_row_per),
        **options.public_classes(files, label, classes),
        ledger=ledger,
        dataset=dataset,
    )
    target = None if model is None else Destination.of(options.Format.JSON, model)
    columns = {"label": label, "features": listed(features), "units": unit or []}
    _choose(selector, files, columns, (destination, target), messages)


def _choose(
    selector: HypothesisSelector,
    files: list[str],
    columns: dict[str, Any],
    destinations: tuple[Destination, Destination | None],
    messages: Messages,
) -> None:
    result, model = destinations
    from dpmine.models.frames import fit_table
    from dpmine.models.summaries import ChosenHypothesis
    from dpmine.models.tables import require_apart

    targets = {"--model": model.path if model else None, "--output": result.path}
    require_apart(targets, files, ledger_files(selector.ledger))
    selector.require_parameters(columns["features"])
    with messages:
        fit_table(selector, files, **columns, progress=messages.progress)
        chosen = ChosenHypothesis(selector)
        if model is not None:
            model.write_document(chosen)
        result.write_result(chosen)
        if result.path is not None or result.format is not options.Format.TEXT:
            for line in chosen.untold:
                messages.notice(line)


def _reader() -> Callable[[str], HypothesisSelector]:
    from dpmine.models.pac.selector import HypothesisSelector

    return HypothesisSelector.from_json
