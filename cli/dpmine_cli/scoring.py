"""Scoring a file with a model that was trained before: what the commands that train classifiers share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dpmine_cli.options import given_options

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import typer

    from dpmine_cli.messages import Messages
    from dpmine_cli.output import Destination

_OF_SCORING = {"files", "model", "predict", "output_format", "output", "quiet", "debug", "version"}


def score(
    context: typer.Context,
    reader: Callable[[], Callable[[str], Any]],
    model: Path | None,
    data: str,
    destination: Destination,
    messages: Messages,
) -> None:
    """Write the predictions of a model file for a Parquet file; `reader` imports what makes a model of a text."""
    from dpmine.errors import BadParameter

    if model is None:
        raise BadParameter("Give --model FILE.json: the model to score with.")
    _require_scoring_only(context)
    from dpmine.models.tables import require_apart

    require_apart({"--model": model, "--output": destination.path}, [data])
    from dpmine.models.frames import predict_table

    classifier = reader()(_text(model))
    with messages:
        table = predict_table(classifier, data, progress=messages.progress)
        destination.write_result(_Predictions(table))
        messages.notice(f"the model: {classifier.guarantee_}; it protects the rows it was trained on, not those scored")


def _require_scoring_only(context: typer.Context) -> None:
    """BadParameter, with their names, where arguments were given that only training reads."""
    from dpmine.errors import BadParameter

    given = given_options(context)
    if any(name == "files" for name, _ in given):
        raise BadParameter("Give FILE to train, or --predict FILE to score, not both.")
    if unread := [option for name, option in given if name not in _OF_SCORING]:
        raise BadParameter(f"--predict scores with a trained model: leave out {', '.join(unread)}.")


def _text(path: Path) -> str:
    from dpmine.errors import UnreadableFile
    from dpmine.io.atomic import read_file

    try:
        return read_file(path).decode()
    except (OSError, UnicodeDecodeError):
        raise UnreadableFile(f"Cannot read the model file '{path}': name one that dpmine wrote.") from None


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
