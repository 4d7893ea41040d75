"""dpmine classify."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from dpmine_cli import options
from dpmine_cli.messages import Messages
from dpmine_cli.output import Destination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpmine.linear.frames import Classifier

_OF_SCORING = {"files", "model", "predict", "output_format", "output", "quiet", "debug", "version"}


class Loss(StrEnum):
    """Which classifier."""

    LOGISTIC = "logistic"
    HUBER = "huber"


class Method(StrEnum):
    """Where the noise goes."""

    OBJECTIVE = "objective"
    OUTPUT = "output"


Files = Annotated[
    Optional[list[str]],
    typer.Argument(metavar="[FILE...]", help="Training data: Parquet files, a directory, a glob or a URL."),
]
Label = Annotated[Optional[str], typer.Option("--label", metavar="COL", help="Column of the two classes.")]
Features = Annotated[
    Optional[str], typer.Option("--features", metavar="COL,COL", help="Columns of numbers, separated by commas.")
]
NormBound = Annotated[
    Optional[str],
    typer.Option("--norm-bound", metavar="B", help="Public bound on a row's Euclidean norm; longer rows are clipped."),
]
Lambdas = Annotated[
    str,
    typer.Option(
        "--lambdas", metavar="L,L|auto", help="Regularisers to choose from, privately; one or auto: no choice."
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
SelectionShare = Annotated[
    str, typer.Option("--selection-share", metavar="F", help="Share of ε that chooses the regulariser.")
]
Chooser = Annotated[
    str, typer.Option("--mechanism", metavar="NAME", help="Who chooses the regulariser, such as max-of-exponentials.")
]
Model = Annotated[
    Optional[Path], typer.Option("--model", metavar="FILE.json", help="Model file: written, or read with --predict.")
]
Predict = Annotated[
    Optional[str], typer.Option("--predict", metavar="FILE", help="Score this Parquet file with the model.")
]


def classify(
    context: typer.Context,
    files: Files = None,
    label: Label = None,
    features: Features = None,
    norm_bound: NormBound = None,
    lambdas: Lambdas = "0.001,0.01,0.1",
    loss: LossOption = Loss.LOGISTIC,
    method: MethodOption = Method.OBJECTIVE,
    huber: Huber = None,
    intercept: Intercept = True,
    validation_share: Share = "0.1",
    selection_share: SelectionShare = "0.1",
    mechanism: Chooser = "max-of-exponentials",
    sensitivities: options.Sensitivities = "candidate",
    caution: options.Caution = "0",
    epsilon: options.Epsilon = "1",
    delta: options.Delta = "1e-6",
    neighbors: options.Relation = "replace-one",
    model: Model = None,
    predict: Predict = None,
    output_format: options.OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Train a linear classifier, privately, its regulariser chosen privately too; or score a file with one.

    Example: dpmine classify people.parquet --label income --features age,hours --norm-bound 120 --model income.json
    """
    from dpmine.errors import BadParameter

    if model is None:
        raise BadParameter("Give --model FILE.json: where the model is written, or with --predict, read from.")
    if predict is not None:
        _require_scoring_only(context)
        _predict(model, predict, Destination.of(output_format, output), Messages(quiet=quiet))
        return
    if not files or label is None or features is None or norm_bound is None:
        raise BadParameter("Training needs FILE, --label, --features and --norm-bound; scoring needs --predict FILE.")
    parameters: dict[str, Any] = {
        "lambdas": lambdas if lambdas == "auto" else _listed(lambdas),
        "norm_bound": norm_bound,
        "epsilon": epsilon,
        "delta": delta,
        "method": method.value,
        "fit_intercept": intercept,
        "validation_share": validation_share,
        "selection_share": selection_share,
        "mechanism": mechanism,
        "sensitivities": sensitivities,
        "caution": caution,
        "neighbors": neighbors,
    }
    if huber is not None:
        if loss is not Loss.HUBER:
            raise BadParameter("--huber needs --loss huber: logistic regression has no rounded corner.")
        parameters["huber"] = huber
    destinations = Destination.of(output_format, output), Destination.of(options.Format.JSON, model)
    with Messages(quiet=quiet) as messages:
        _train(files, label, _listed(features), loss, parameters, destinations, messages)


def _train(
    files: list[str],
    label: str,
    features: list[str],
    loss: Loss,
    parameters: dict[str, Any],
    destinations: tuple[Destination, Destination],
    messages: Messages,
) -> None:
    summary, model = destinations
    from dpmine.tables import require_apart

    require_apart({"--model": model.path, "--output": summary.path}, files)
    from dpmine.linear.frames import CLASSIFIERS, fit_table

    classifier: Any = CLASSIFIERS[loss.value](**parameters)
    classifier.require_parameters()
    fit_table(classifier, files, label=label, features=features, progress=messages.progress)
    trained = _Trained(classifier)
    model.write_document(trained)
    summary.write_result(trained)
    if summary.path is not None or summary.format is not options.Format.TEXT:
        messages.notice(str(classifier.guarantee_))


def _require_scoring_only(context: typer.Context) -> None:
    """BadParameter, with their names, where arguments were given that only training reads."""
    from dpmine.errors import BadParameter

    given = [option for option in context.command.params if _is_given(context, option.name)]
    if any(option.name == "files" for option in given):
        raise BadParameter("Give FILE to train, or --predict FILE to score, not both.")
    if unread := [option.opts[0] for option in given if option.name not in _OF_SCORING]:
        raise BadParameter(f"--predict scores with a trained model: leave out {', '.join(unread)}.")


def _is_given(context: typer.Context, name: str | None) -> bool:
    source = None if name is None else context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _predict(model: Path, data: str, destination: Destination, messages: Messages) -> None:
    from dpmine.tables import require_apart

    require_apart({"--model": model, "--output": destination.path}, [data])
    from dpmine.linear.frames import load_classifier, predict_table

    classifier = load_classifier(_text(model))
    with messages:
        table = predict_table(classifier, data, progress=messages.progress)
        destination.write_result(_Predictions(table))
        messages.notice(f"the model: {classifier.guarantee_}; it protects the rows it was trained on, not those scored")


def _text(path: Path) -> str:
    from dpmine.errors import UnreadableFile

    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UnreadableFile(f"Cannot read the model file '{path}': name one that dpmine classify wrote.") from None


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


class _Trained:
    """A trained classifier as a document."""

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier

    def to_json(self) -> str:
        """The model file's own object."""
        return self._classifier.to_json()

    def to_arrow(self) -> Any:
        """One row a coefficient, the intercept last."""
        import pyarrow as pa

        names, values = zip(*self._coefficients(), strict=True)
        return pa.table({"feature": list(names), "coefficient": list(values)})

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        fitted = self._classifier
        for name, value in self._coefficients():
            yield f"{name}\t{value:.6g}"
        yield f"(lambda {fitted.lambda_:g}; {fitted.guarantee_})"
        yield from (f"({note})" for note in fitted.guarantee_.notes)

    def _coefficients(self) -> list[tuple[str, float]]:
        names = [*map(str, self._classifier.feature_names_in_), "(intercept)"]
        return list(zip(names, [*self._classifier.coef_[0], *self._classifier.intercept_], strict=True))


class _Predictions:
    """One prediction a row scored."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def to_arrow(self) -> Any:
        """The table of predictions."""
        return self._table

    def to_json(self) -> str:
        """One list a column."""
        return json.dumps(self._table.to_pydict(), ensure_ascii=False)

    def __str__(self) -> str:
        return "\n".join(map(str, self._table.column("prediction").to_pylist()))
