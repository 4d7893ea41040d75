"""dpmine classify."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from dpmine.parameters import listed, one_or_each
from dpmine_cli import options, scoring
from dpmine_cli.messages import Messages
from dpmine_cli.output import Destination, ledger_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.models.linear.estimators import Classifier


class Loss(StrEnum):
    """Which classifier."""

    LOGISTIC = "logistic"
    HUBER = "huber"


class Method(StrEnum):
    """Where the noise goes."""

    OBJECTIVE = "objective"
    OUTPUT = "output"


NormBound = Annotated[
    Optional[str],
    typer.Option(
        "--norm-bound",
        metavar="B",
        help="Public bound on a row's Euclidean norm; longer rows are clipped. With --lower and --upper: 1.",
    ),
]
Lower = Annotated[
    Optional[str],
    typer.Option(
        "--lower", metavar="A[,A]", help="Public lower bound of the features, one for all or one each; A becomes -1."
    ),
]
Upper = Annotated[
    Optional[str],
    typer.Option(
        "--upper", metavar="B[,B]", help="Public upper bound of the features, one for all or one each; B becomes 1."
    ),
]
Lambdas = Annotated[
    str,
    typer.Option(
        "--lambdas",
        metavar="L,L|auto",
        help="Regularisation strengths; of several, one is chosen privately. auto: a rule of public numbers.",
    ),
]
LossOption = Annotated[Loss, typer.Option("--loss", help="Logistic regression, or a Huber support vector classifier.")]
MethodOption = Annotated[Method, typer.Option("--method", help="Noise in the objective, or on the output.")]
Huber = Annotated[
    Optional[str],
    typer.Option("--huber", metavar="H", help="Half-width of the Huber loss's rounded corner.", show_default="0.5"),
]
Intercept = Annotated[bool, typer.Option("--intercept/--no-intercept", help="Train an intercept, regularised too.")]
Share = Annotated[
    str, typer.Option("--validation-share", metavar="F", help="Share of the rows that choose the regulariser.")
]
Chooser = Annotated[
    str,
    typer.Option("--mechanism", metavar="NAME", help="What chooses the regulariser, such as max-of-exponentials."),
]


_AS_GIVEN = (
    "epsilon",
    "delta",
    "validation_share",
    "selection_share",
    "mechanism",
    "neighbors",
    "ledger",
    "dataset",
)
"""Options that the classifier has by the same names."""
_OF_CHOICE = {"validation_share", "selection_share"}


def classify(
    context: typer.Context,
    files: options.TrainingFiles = None,
    label: options.Label = None,
    classes: options.Classes = None,
    features: options.Features = None,
    lower: Lower = None,
    upper: Upper = None,
    norm_bound: NormBound = None,
    lambdas: Lambdas = "auto",
    loss: LossOption = Loss.LOGISTIC,
    method: MethodOption = Method.OBJECTIVE,
    huber: Huber = None,
    intercept: Intercept = True,
    validation_share: Share = "0.1",
    selection_share: options.SelectionShare = "0.1",
    mechanism: Chooser = "max-of-exponentials",
    epsilon: options.Epsilon = "1",
    delta: options.Delta = "1e-6",
    neighbors: options.ReplaceOne = "replace-one",
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
    """Train a linear classifier privately, or score a file with one.

    Example: dpmine classify people.parquet --label income --features age,hours --lower 0 --upper 120,99 --model m.json
    """
    from dpmine.errors import BadParameter

    summary = Destination.of(output_format, output)
    if predict is not None:
        scoring.score(context, _reader, model, predict, summary, Messages(quiet=quiet))
        return
    if not files or label is None or features is None:
        raise BadParameter("Training needs FILE, --label and --features; scoring needs --predict FILE.")
    _require_scale(lower, upper, norm_bound)
    if model is None and summary.format is not options.Format.JSON:
        raise BadParameter("Give --model FILE.json (or -o FILE.json): where the model is written.")
    _require_choice(context, lambdas)
    parameters = _parameters(context.params)
    target = None if model is None else Destination.of(options.Format.JSON, model)
    columns = {"label": label, "features": listed(features), "units": unit or []}
    with Messages(quiet=quiet) as messages:
        _train(files, columns, loss, parameters, (summary, target), messages)


def _require_scale(lower: str | None, upper: str | None, norm_bound: str | None) -> None:
    from dpmine.errors import BadParameter

    if (lower is None) != (upper is None):
        raise BadParameter("Give --lower and --upper together: the public bounds of the features.")
    if lower is None and norm_bound is None:
        raise BadParameter("Give --lower and --upper, the public bounds of the features (or --norm-bound).")


def _parameters(given: dict[str, Any]) -> dict[str, Any]:
    """The classifier's parameters from the options of the command line."""
    bounds = None if given["lower"] is None else (one_or_each(given["lower"]), one_or_each(given["upper"]))
    return {
        "lambdas": given["lambdas"] if given["lambdas"] == "auto" else listed(given["lambdas"]),
        "method": given["method"].value,
        "fit_intercept": given["intercept"],
        "norm_bound": "1" if given["norm_bound"] is None else given["norm_bound"],
        "feature_bounds": bounds,
        **options.protected(given["unit"], given["rows_per_unit"], given["one_row_per"]),
        **options.public_classes(given["files"], given["label"], given["classes"]),
        **_corner(given["loss"], given["huber"]),
        **{name: given[name] for name in _AS_GIVEN},
    }


def _corner(loss: Loss, huber: str | None) -> dict[str, str]:
    from dpmine.errors import BadParameter

    if huber is not None and loss is not Loss.HUBER:
        raise BadParameter("--huber needs --loss huber: logistic regression has no rounded corner.")
    return {} if huber is None else {"huber": huber}


def _require_choice(context: typer.Context, lambdas: str) -> None:
    """BadParameter for options of a choice where there is none to make."""
    from dpmine.errors import BadParameter

    if len(listed(lambdas)) > 1:
        return
    if idle := [option for name, option in options.given_options(context) if name in _OF_CHOICE]:
        raise BadParameter(f"{', '.join(idle)} belongs to a choice: give several --lambdas, or leave it out.")


def _train(
    files: list[str],
    columns: dict[str, Any],
    loss: Loss,
    parameters: dict[str, Any],
    destinations: tuple[Destination, Destination | None],
    messages: Messages,
) -> None:
    summary, model = destinations
    from dpmine.models.tables import require_apart

    targets = {"--model": model.path if model else None, "--output": summary.path}
    require_apart(targets, files, ledger_files(parameters["ledger"]))
    from dpmine.models.frames import fit_table
    from dpmine.models.linear.estimators import CLASSIFIERS
    from dpmine.models.summaries import LinearModel

    classifier: Any = CLASSIFIERS[loss.value](**parameters)
    classifier.require_parameters()
    fit_table(classifier, files, **columns, progress=messages.progress)
    trained = LinearModel(classifier, f"lambda {classifier.lambda_:g}")
    if model is not None:
        model.write_document(trained)
    summary.write_result(trained)
    if summary.path is not None or summary.format is not options.Format.TEXT:
        messages.notice(str(classifier.guarantee_))


def _reader() -> Callable[[str], Classifier]:
    from dpmine.models.linear.estimators import load_classifier

    return load_classifier
