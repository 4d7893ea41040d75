from __future__ import annotations

import inspect

import pytest
from support.cases import every

from dpmine import errors
from dpmine.errors import (
    AlreadyCharged,
    AlreadyGranted,
    BadData,
    BadLedger,
    BadParameter,
    BudgetExceeded,
    DpmineError,
    NotPrivate,
    UnreadableFile,
)

ALL = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]


@every(
    ("kind", "builtin"),
    [
        (BadParameter, ValueError),
        (BadData, ValueError),
        (UnreadableFile, OSError),
        (NotPrivate, ValueError),
        (BadLedger, OSError),
        (BudgetExceeded, ValueError),
        (AlreadyCharged, ValueError),
        (AlreadyGranted, ValueError),
    ],
)
def test_every_error_is_also_a_builtin(kind: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(kind, builtin)
    with pytest.raises(builtin, match="why"):
        raise kind("why")


@every("kind", ALL)
def test_one_tree(kind: type[Exception]) -> None:
    assert issubclass(kind, DpmineError) != issubclass(kind, UserWarning)
    assert kind.__doc__


@every("kind", ALL)
def test_the_tree_is_drawn_at_the_top(kind: type[Exception]) -> None:
    assert kind.__name__ in str(errors.__doc__)


@every("kind", ALL)
def test_messages_are_kept_as_they_are(kind: type[Exception]) -> None:
    assert str(kind("say what to do")) == "say what to do"
