"""A chosen hypothesis as a JSON object, and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.errors import BadData
from dpmine.models.model_file import (
    are_classes,
    document_of,
    fitted_attributes,
    list_of,
    natural,
    require_classes,
    text_of,
    truth_of,
)
from dpmine.models.pac.classes.thresholds import CutSide
from dpmine.models.pac.features import DEFAULT_GRID, GRIDDED, NAMES
from dpmine.models.supervised import unnamed_features
from dpmine.parameters import exact_number, positive, probability
from dpmine.privacy import Neighbors
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from dpmine.models.pac.hypothesis import Hypothesis

FORMAT = "dpmine hypothesis"
_NUMBERS = ("lower", "upper")
_COUNTS = ("grid", "width", "resolution")
_MOST_COLUMNS = 10**6  # each gets a name: a file must not ask for endless memory


def write_model(selector: Any) -> str:
    """One JSON object with the hypothesis, what it takes to predict with it, and the guarantee.

    Raises BadData for classes of y that JSON cannot hold, for hypotheses that are not of a class with a name, and for
    more columns than a model file is read with.
    """
    if not isinstance(selector.hypotheses, str):
        raise BadData("Only hypotheses of a class with a name can be written to a model file.")
    if len(selector.names_) > _MOST_COLUMNS:
        raise BadData(f"A model file has at most {_MOST_COLUMNS} columns: choose among fewer features.")
    (rule, parameters), hypotheses = described(selector.hypothesis_), selector.class_for(selector.names_)
    document = {
        "format": FORMAT,
        "hypothesis": rule,
        "parameters": parameters,
        "class": {
            "name": selector.hypotheses,
            "features": None if getattr(selector, "feature_names_in_", None) is None else selector.names_,
            "columns": len(selector.names_),
            **{name: _plain(getattr(selector, name), _exact_text) for name in _NUMBERS},
            "grid": _plain(_grid_of(selector), int),
            **{name: getattr(hypotheses, name, None) for name in ("width", "resolution")},
            "whole": list(selector.whole_),
        },
        "candidate": selector.candidate_,
        "label": getattr(selector, "label_", None),
        "classes": require_classes(selector.classes_.tolist()),
        "requested": {
            "epsilon": _exact_text(selector.epsilon),
            "delta": _exact_text(selector.delta),
            "mechanism": str(selector.mechanism),
            "neighbors": str(Neighbors.parse(selector.neighbors)),
            "not_private": bool(selector.not_private),
        },
        "mechanism": selector.mechanism_,
        "guarantee": selector.guarantee_.to_dict(),
        "dpmine": __version__,
    }
    return json.dumps(document, ensure_ascii=False)


def described(hypothesis: Hypothesis | None) -> tuple[str | None, dict[str, Any] | None]:
    """The text of a hypothesis, and its parameters."""
    return (None, None) if hypothesis is None else (str(hypothesis), hypothesis.parameters())


def read_model(text: str) -> tuple[dict[str, Any], dict[str, Any], tuple[Any, Any]]:
    """Parameters of the selector by name, its fitted attributes by name, and the hypothesis as `described` in the file.

    The hypothesis is to be made anew from the candidate, and must be described the same. Raises as `reading` expects.
    """
    document = document_of(text, FORMAT)
    about, columns = document["class"], natural(document["class"]["columns"])
    if about["name"] not in NAMES or not are_classes(document["classes"]) or not 0 < columns <= _MOST_COLUMNS:
        raise ValueError
    parameters = {
        "hypotheses": about["name"],
        **{name: _read(about[name], _fraction) for name in _NUMBERS},
        **{name: _read(about[name], natural) for name in _COUNTS},
        **_requested(document["requested"]),
    }
    fitted = fitted_attributes({**document, "features": about["features"]}, columns)
    names = unnamed_features(columns) if about["features"] is None else about["features"]
    fitted |= {
        "names_": names,
        "whole_": _whole(about.get("whole", []), names),
        "classes_": np.array(document["classes"]),
        "candidate_": _candidate(document["candidate"]),
        "mechanism_": text_of(document["mechanism"]),
        "advice_": "",
    }
    return parameters, fitted, (document["hypothesis"], document["parameters"])


def _whole(entry: Any, names: list[str]) -> tuple[str, ...]:
    """Some of the features; files of version 0.1.0 do not say which have whole numbers only."""
    if not set(map(text_of, list_of(entry))) <= set(names):
        raise ValueError
    return tuple(entry)


def _requested(entry: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the choice, as they were given."""
    numbers = {
        "epsilon": positive("epsilon", text_of(entry["epsilon"])),
        "delta": probability("delta", text_of(entry["delta"])),
    }
    texts = {name: text_of(entry[name]) for name in ("mechanism", "neighbors")}
    return {**numbers, **texts, "not_private": truth_of(entry["not_private"])}


def _grid_of(selector: Any) -> Any:
    """As it was given, or the default of classes that have grids: a file does not rest on defaults."""
    return DEFAULT_GRID if selector.grid is None and selector.hypotheses in GRIDDED else selector.grid


def _plain(value: Any, kind: Callable[[Any], Any]) -> Any:
    """One value, a list of one a feature, or None: as JSON holds them."""
    if value is None:
        return None
    if isinstance(value, list | tuple | np.ndarray):
        return [kind(entry) for entry in value]
    return kind(value)


def _exact_text(value: Any) -> str:
    return str(exact_number("bound", value))


def _read(entry: Any, kind: Callable[[Any], Any]) -> Any:
    return None if entry is None else [kind(part) for part in entry] if isinstance(entry, list) else kind(entry)


def _fraction(entry: Any) -> Fraction:
    return exact_number("bound", text_of(entry))


def _candidate(entry: Any) -> Any:
    """A whole number, or a tuple of whole numbers and sides; the class checks whether it is one of its own."""
    if isinstance(entry, list):
        return tuple(CutSide(part) if isinstance(part, str) else natural(part) for part in entry)
    return None if entry is None else natural(entry)
