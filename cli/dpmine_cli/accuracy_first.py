"""dpmine accuracy-first."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from dpmine.parameters import listed
from dpmine_cli import options, scoring
from dpmine_cli.messages import Messages
from dpmine_cli.output import Destination, ledger_files

if TYPE_CHECKING:
    from collections.abc import Callable


class ModelKind(StrEnum):
    """Which model."""

    RIDGE = "ridge"
    LOGISTIC = "logistic"


class Method(StrEnum):
    """What the noise is on."""

    COVARIANCE = "covariance"
    OUTPUT = "output"
    BROWNIAN = "brownian"


ModelKindOption = Annotated[
    ModelKind, typer.Option("--model-kind", help="Ridge regression of a number, or logistic regression of two classes.")
]
Target = Annotated[
    Optional[str], typer.Option("--target", metavar="COL", help="Column to predict.", show_default=False)
]
ExcessRisk = Annotated[
    Optional[str],
    typer.Option(
        "--excess-risk", metavar="R", help="Excess risk to reach; only below y_bound²/2 (logistic: 0.69) it asks much."
    ),
]
Regularization = Annotated[
    Optional[str],
    typer.Option("--regularization", metavar="L", help="Weight of the penalty L/2·|w|², in the units of the risk."),
]
EpsilonMax = Annotated[
    str, typer.Option("--epsilon-max", metavar="E", help="The most that the run may cost, its tests included.")
]
XBound = Annotated[
    Optional[str],
    typer.Option("--x-bound", metavar="B", help="Public bound on the sum of a row's absolute values; longer: clipped."),
]
YBound = Annotated[
    Optional[str],
    typer.Option("--y-bound", metavar="B", help="Ridge: public bound on the target's absolute value; more is clipped."),
]
Failure = Annotated[
    str, typer.Option("--failure-probability", metavar="P", help="Chance of accepting a model above the target risk.")
]
MethodOption = Annotated[
    Optional[Method],
    typer.Option(
        "--method",
        help="Noise on sufficient statistics (ridge only), on the minimiser, or Brownian.",
        show_default=False,
    ),
]
Steps = Annotated[int, typer.Option("--steps", metavar="T", help="Number of privacy levels to try.")]
Slack = Annotated[
    str, typer.Option("--slack", metavar="S", help="Share of the target spent on cheap tests instead of the model.")
]
Intercept = Annotated[bool, typer.Option("--intercept/--no-intercept", help="Train an intercept, regularised too.")]
KeepLast = Annotated[
    bool, typer.Option("--keep-last", help="Keep the last model where none reaches the target, at the same price.")
]

_AS_GIVEN = (
    "excess_risk",
    "regularization",
    "failure_probability",
    "epsilon_max",
    "x_bound",
    "delta",
    "steps",
    "slack",
    "keep_last",
    "neighbors",
    "ledger",
    "dataset",
)
"""Options that the estimator has by the same names."""


def accuracy_first(
    context: typer.Context,
    files: options.TrainingFiles = None,
    model_kind: ModelKindOption = ModelKind.RIDGE,
    target: Target = None,
    classes: options.Classes = None,
    features: options.Features = None,
    excess_risk: ExcessRisk = None,
    regularization: Regularization = None,
    epsilon_max: EpsilonMax = "10",
    x_bound: XBound = None,
    y_bound: YBound = None,
    failure_probability: Failure = "0.1",
    method: MethodOption = None,
    delta: options.Delta = "1e-6",
    steps: Steps = 100,
    slack: Slack = "1",
    intercept: Intercept = False,
    keep_last: KeepLast = False,
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
    """Train ridge or logistic regression to a target, at the least privacy loss that reaches it; or score a file.

    Example: dpmine accuracy-first scaled.parquet --model-kind logistic --target income --features age,education,married
    --excess-risk 0.1 --regularization 0.001 --x-bound 3 -o income.json
    """
    destination, messages = Destination.of(output_format, output), Messages(quiet=quiet)
    if predict is not None:
        scoring.score(context, _reader, model, predict, destination, messages)
        return
    _require_all(context.params)
    _require_delta_of_use(context, method)
    parameters = _parameters(context.params)
    model_file = None if model is None else Destination.of(options.Format.JSON, model)
    columns = {"label": target or "", "features": listed(features or ""), "units": unit or []}
    _train(model_kind, files or [], columns, parameters, (destination, model_file), messages)


def _require_all(given: dict[str, Any]) -> None:
    """BadParameter, with the names of all that are missing."""
    from dpmine.errors import BadParameter

    if not given["files"]:
        raise BadParameter("Training needs FILE; scoring needs --model and --predict FILE.")
    needed = ["target", "features", "excess_risk", "regularization", "x_bound"]
    needed += ["y_bound"] if given["model_kind"] is ModelKind.RIDGE else []
    if missing := ["--" + name.replace("_", "-") for name in needed if given[name] is None]:
        raise BadParameter(f"Training needs {', '.join(missing)} as well.")


def _parameters(given: dict[str, Any]) -> dict[str, Any]:
    """The estimator's parameters from the options of the command line."""
    return {
        "fit_intercept": given["intercept"],
        **options.protected(given["unit"], given["rows_per_unit"], given["one_row_per"]),
        **{name: given[name] for name in _AS_GIVEN},
        **_of_kind(given["model_kind"], given["y_bound"], given["method"], given["classes"]),
        **options.public_classes(given["files"], given["target"], given["classes"]),
    }


def _require_delta_of_use(context: typer.Context, method: Method | None) -> None:
    from dpmine.errors import BadParameter

    if method is not Method.BROWNIAN and any(name == "delta" for name, _ in options.given_options(context)):
        raise BadParameter("--delta is for --method brownian: other methods spend none.")


def _of_kind(kind: ModelKind, y_bound: str | None, method: Method | None, classes: str | None) -> dict[str, Any]:
    """The parameters that only one kind has, or that its own default stands for."""
    from dpmine.errors import BadParameter

    chosen = {} if method is None else {"method": method.value}
    if kind is ModelKind.RIDGE:
        if classes is not None:
            raise BadParameter("--classes is for --model-kind logistic: ridge regression predicts a number.")
        return {"y_bound": y_bound, **chosen}
    if y_bound is not None:
        raise BadParameter("--y-bound is for --model-kind ridge: classes have no bound.")
    return chosen


def _train(
    kind: ModelKind,
    files: list[str],
    columns: dict[str, Any],
    parameters: dict[str, Any],
    destinations: tuple[Destination, Destination | None],
    messages: Messages,
) -> None:
    result, model = destinations
    from dpmine.models.tables import require_apart

    targets = {"--model": model.path if model else None, "--output": result.path}
    require_apart(targets, files, ledger_files(parameters["ledger"]))
    from dpmine.models.accuracy_first.estimators import ESTIMATORS
    from dpmine.models.frames import fit_table
    from dpmine.models.summaries import LinearModel

    estimator: Any = ESTIMATORS[kind.value](**parameters)
    estimator.require_parameters()
    with messages:
        fit_table(estimator, files, **columns, progress=messages.progress)
        remark = "the target was reached" if estimator.reached_ else "NOTHING reached the target"
        fitted = LinearModel(estimator, remark)
        if model is not None:
            model.write_document(fitted)
        result.write_result(fitted)
        if result.path is not None or result.format is not options.Format.TEXT:
            messages.notice(fitted.told)
        if model is None and result.path is not None and result.format is not options.Format.JSON:
            messages.notice("this file cannot be scored with: --model FILE.json writes the model as well")


def _reader() -> Callable[[str], Any]:
    from dpmine.models.accuracy_first.estimators import load_estimator

    return load_estimator
