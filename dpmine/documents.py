"""Model files, which are untrusted input: JSON objects whose every entry is checked.

Entries that are not what they should be raise TypeError, ValueError or KeyError; `reading` turns them into one error.
"""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmine.errors import BadData
from dpmine.parameters import positive, probability
from dpmine.privacy import Guarantee, Neighbors

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def reading(command: str) -> Iterator[None]:
    """BadData, which names the command that writes such files, for whatever is wrong with one."""
    try:
        yield
    except BadData:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError):
        raise BadData(f"This is not a model file of dpmine {command}: train one with --model FILE.json.") from None


def document_of(text: str, kind: str) -> dict[str, Any]:
    """The JSON object, whose "format" must be `kind`."""
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("format") != kind:
        raise ValueError
    return document


def finite(value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return float(value)


def natural(value: Any) -> int:
    """A whole number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError
    return value


def text_of(value: Any) -> str:
    """A text that can be printed."""
    if not isinstance(value, str):
        raise TypeError
    value.encode()
    return value


def truth_of(value: Any) -> bool:
    """A truth value."""
    if not isinstance(value, bool):
        raise TypeError
    return value


def list_of(value: Any) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise TypeError
    return value


def distinct_texts(value: Any) -> list[str]:
    """A list of different texts, at least one."""
    names = [text_of(name) for name in list_of(value)]
    if not 0 < len(set(names)) == len(names):
        raise ValueError
    return names


def read_guarantee(entry: dict[str, Any]) -> Guarantee:
    """What `Guarantee.to_dict` wrote."""
    delta = text_of(entry["delta_exact"])
    return Guarantee(
        positive("epsilon", text_of(entry["epsilon_exact"])),
        Fraction(0) if delta == "0" else probability("delta", delta),
        Neighbors(text_of(entry["neighbors"])),
        text_of(entry["unit"]),
        truth_of(entry["private"]),
        tuple(text_of(note) for note in list_of(entry["notes"])),
    )


def are_classes(labels: Any) -> bool:
    """Two different texts, numbers or truth values, both of one type, that numpy keeps as they are."""
    if not isinstance(labels, list) or len(labels) != 2 or type(labels[0]) is not type(labels[1]):
        return False
    if type(labels[0]) not in {str, int, float, bool} or labels[0] == labels[1]:
        return False
    if isinstance(labels[0], float):
        return all(map(math.isfinite, labels))
    kept = np.array(labels)
    return kept.dtype.kind in "Uiub" and kept.tolist() == labels and "".join(map(str, labels)).isprintable()


def require_classes(labels: Any) -> list[Any]:
    """The two classes, to be written. Raises BadData for classes that JSON cannot hold."""
    if not are_classes(labels):
        raise BadData("The classes of y must be text or numbers to be written to a model file.")
    return list(labels)
