"""dpmine classify, regress, accuracy-first, hypothesis and histogram: training on a table, and scoring a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dpmine.options.option import OF_SOURCE
from dpmine.parameters import listed
from dpmine_cli.options import OPTIONS, Format, typed
from dpmine_cli.output import Destination, Prepared

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dpmine.reporting.jobs.tables import ModelJob
    from dpmine_cli.line import CommandLine

_OF_SCORING = {"model", "predict", "format", "output", "quiet", "debug", *OF_SOURCE} - {"query", "database"}
_OF_CHOICE = {"validation_share", "selection_share"}
_NOT_SEARCHED = ("column", "bins", "unit", "rows_per_unit", "one_row_per", "ledger", "dataset", "plot")


def classify(line: CommandLine) -> None:
    """Train a linear classifier privately, or score a file with one.

    Example: dpmine classify people.parquet --label income --features age,hours --lower 0 --upper 120,99 --model m.json
    """
    from dpmine.models.model_file import LinearModel

    if line.predict is not None:
        from dpmine.models.linear.estimators import load_classifier

        _score(line, load_classifier)
        return
    job = _job(line, "classify")
    _require_file(line)
    _require_choice(line)
    trained = _trained(line, job, lambda fitted: f"lambda {fitted.lambda_:g}")
    _notice(line, *LinearModel(trained).cautions, str(trained.guarantee_))


def regress(line: CommandLine) -> None:
    """Train ridge regression of a number privately, or score a file with one.

    Example: dpmine regress people.parquet --target hours --target-bounds 0,99 --features age,education --lower 0
    --upper 120,16 --model m.json
    """
    if line.predict is not None:
        from dpmine.models.linear.ridge import PrivateRidge

        _score(line, PrivateRidge.from_json)
        return
    job = _job(line, "regress")
    _require_file(line)
    trained = _trained(line, job, lambda fitted: f"lambda {fitted.regularization_:g}")
    _notice(line, str(trained.guarantee_))


def accuracy_first(line: CommandLine) -> None:
    """Train ridge or logistic regression to a target, at the least privacy loss that reaches it; or score a file.

    Example: dpmine accuracy-first scaled.parquet --model-kind logistic --target income --features age,education,married
    --excess-risk 0.1 --regularization 0.001 --x-bound 3 -o income.json
    """
    if line.predict is not None:
        from dpmine.models.accuracy_first.estimators import load_estimator

        _score(line, load_estimator)
        return
    trained = _trained(line, _job(line, "accuracy-first"), _reached)
    _notice(line, f"{_reached(trained)}; {trained.guarantee_}")
    if line.model is None and line.destination.path is not None and line.destination.format is not Format.JSON:
        line.messages.notice("this file cannot be scored with: --model FILE.json writes the model as well")


def hypothesis(line: CommandLine) -> None:
    """Choose a rule that predicts a label, privately, from a class of rules; or score a file with one.

    Example: dpmine hypothesis people.parquet --label income --class stumps --features age,hours --lower 0 --upper 120
    """
    from dpmine.models.model_file import ChosenHypothesis
    from dpmine.models.pac.selector import HypothesisSelector

    if line.predict is not None:
        _score(line, HypothesisSelector.from_json)
        return
    selector = _trained(line, _job(line, "hypothesis"), None, not_private=line.not_private)
    _notice(line, *ChosenHypothesis(selector).notices)


def histogram(line: CommandLine) -> None:
    """Estimate the density of a column, privately, with a bin width chosen privately.

    Example: dpmine histogram people.parquet --column age --lower 0 --upper 120 --bins 12,24,40 --plot age.svg
    """
    destination = line.destination
    from dpmine.io.atomic import new_figure, picture_target, write_picture
    from dpmine.ledger.charging import Account
    from dpmine.models.contribution import PrivacyUnit
    from dpmine.models.histogram.bin_search import BinSearch, density_of_column
    from dpmine.models.tables import unit_name
    from dpmine.parameters import whole_numbers
    from dpmine.privacy import ROW

    picture = picture_target(line.plot) if line.plot else None
    line.require_apart(plot=picture)
    line.require_one_unit()
    column, units = line.column, line.unit or []
    unit = PrivacyUnit.of(ROW if line.one_row_per is None else line.one_row_per, line.rows_per_unit, unit_name(units))
    search = BinSearch.of(bins=whole_numbers("--bins", line.bins), rows=unit.rows, **line.values(*_NOT_SEARCHED))
    account = Account.of(line.ledger, line.dataset)
    with line.messages as messages:
        density = density_of_column(
            search, unit, account, line.data, column=column, units=units, progress=messages.progress
        )
    if picture:
        figure = new_figure(8, 4.5)
        density.plot(figure.subplots()).set_xlabel(f"{column} (outside the bounds: counted at the nearest)")
        write_picture(figure, picture, f"Histogram of {column}, with noise; {density.guarantee}")
    destination.write_result(density)
    line.caution(density.guarantee)
    if destination.path is not None or destination.format is not Format.TEXT:
        messages.notice(str(density.guarantee))


def _reached(estimator: Any) -> str:
    return "the target was reached" if estimator.reached_ else "NOTHING reached the target"


def _notice(line: CommandLine, *texts: str) -> None:
    """Say what a result does not put before the user's eyes."""
    if line.destination.path is not None or line.destination.format is not Format.TEXT:
        for text in texts:
            line.messages.notice(text)


def _job(line: CommandLine, kind: str) -> ModelJob:
    """The job that the options ask for. Raises BadParameter, with the names of all that are missing."""
    from dpmine.errors import BadParameter
    from dpmine.reporting.jobs.kinds import KINDS

    if not line.files and line.query is None:
        raise BadParameter("Training needs FILE; scoring needs --model and --predict FILE.")
    given = {name: line.options[name] for name in line.given if name in KINDS[kind].known}
    job = cast("ModelJob", KINDS[kind]("", "", tuple(line.files), given))
    if missing := job.missing():
        table = OPTIONS[kind]
        raise BadParameter(f"Training needs {', '.join(typed(table[name]) for name in missing)} as well.")
    job.require_options()
    line.require_one_unit()
    return job


def _require_file(line: CommandLine) -> None:
    """BadParameter where the model would be lost."""
    from dpmine.errors import BadParameter

    if line.model is None and line.destination.format is not Format.JSON:
        raise BadParameter("Give --model FILE.json (or -o FILE.json): where the model is written.")


def _require_choice(line: CommandLine) -> None:
    """BadParameter for options of a choice where there is none to make."""
    from dpmine.errors import BadParameter

    if len(listed(line.lambdas)) > 1:
        return
    if idle := [spelled for name, spelled in line.given.items() if name in _OF_CHOICE]:
        raise BadParameter(f"{', '.join(idle)} belongs to a choice: give several --lambdas, or leave it out.")


def _trained(line: CommandLine, job: ModelJob, remark: Callable[[Any], str] | None, **options: Any) -> Any:
    """The estimator, trained and written. All that can be checked before any row is read is checked before."""
    from dpmine.models.tables import typed_labels

    result, model = line.destination, None if line.model is None else Destination.of(Format.JSON, line.model)
    line.require_apart(model=model.path if model else None)
    if (classes := line.options.get("classes")) is not None:
        options["classes"] = typed_labels(job.data, job.text(job.label), listed(classes))
    estimator = job.estimator(ledger=line.ledger, dataset=line.dataset, **options)
    estimator.require_parameters(listed(line.features))
    with line.messages as messages:
        job.fit(estimator, messages.progress)
        summary = job.summary(estimator, *([remark(estimator)] if remark else []))
        if model is not None:
            model.write_document(summary)
        result.write_result(summary)
    line.caution(estimator.guarantee_)
    return estimator


def _score(line: CommandLine, read: Callable[[str], Any]) -> None:
    """Write the predictions of a model file for a file; `read` makes a model of a text."""
    from dpmine.errors import BadParameter
    from dpmine.models.tables import predict_table

    destination = line.destination
    if line.model is None:
        raise BadParameter("Give --model FILE.json: the model to score with.")
    if "files" in line.given:
        raise BadParameter("Give FILE to train, or --predict FILE to score, not both.")
    if unread := [spelled for name, spelled in line.given.items() if name not in _OF_SCORING]:
        raise BadParameter(f"--predict scores with a trained model: leave out {', '.join(unread)}.")
    line.require_apart(model=line.model)
    model = read(_text(line.model))
    with line.messages as messages:
        table = predict_table(model, line.input_of(line.predict), progress=messages.progress)
        text = "\n".join(map(str, table.column("prediction").to_pylist()))
        destination.write_result(Prepared(table.to_pydict(), table, text))
        messages.notice(f"the model: {model.guarantee_}; it protects the rows it was trained on, not those scored")


def _text(path: Path) -> str:
    from dpmine.errors import UnreadableFile
    from dpmine.io.atomic import read_file

    try:
        return read_file(path).decode()
    except (OSError, UnicodeDecodeError):
        raise UnreadableFile(f"Cannot read the model file '{path}': name one that dpmine wrote.") from None
