"""The table of options: its defaults are those of the library's own signatures."""

from __future__ import annotations

from fractions import Fraction
from inspect import signature
from typing import TYPE_CHECKING, Any

import pytest

import dpmine
from dpmine.models.linear.estimators import CLASSIFIERS
from dpmine.options.tables import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS: list[tuple[str, Callable[..., Any]]] = [
    ("top-itemset", dpmine.top_itemsets),
    ("histogram", dpmine.PrivateHistogram),
    ("regress", dpmine.PrivateRidge),
    ("accuracy-first", dpmine.AccuracyFirstRidge),
    ("accuracy-first", dpmine.AccuracyFirstLogistic),
    ("hypothesis", dpmine.HypothesisSelector),
    *[("classify", classifier) for classifier in CLASSIFIERS.values()],
]
OF_THE_FILE = {"unit", "one_row_per"}
"""Columns of a table, where the estimator has the name of the unit."""
COMMAND_ONLY = {"top": 10}
"""Defaults of the library that the command does not share."""


def plain(value: object) -> object:
    """A value however it is written: 0.5 and "1/2"."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return Fraction(str(value))
        except ValueError:
            return str(value).replace("-", "_")
    return value


@pytest.mark.parametrize(("kind", "call"), CALLS)
def test_defaults_are_those_of_the_library(kind: str, call: Callable[..., Any]) -> None:
    has = signature(call).parameters
    for name, option in OPTIONS[kind].items():
        library = has.get(option.parameter or name)
        if library is None or name in OF_THE_FILE or option.default is None or library.default is library.empty:
            continue
        assert plain(library.default) == plain(COMMAND_ONLY.get(name, option.default)), name
