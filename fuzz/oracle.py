"""What every target asks for: the right answer, or one clean line that quotes nothing out of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dpmine import DpmineError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
CANARY = "zqx7canary"
"""Planted in values, never in names: no message may hold it."""
_LONGEST = 2000  # characters of a message


class Finding(AssertionError):
    """Neither a clean error nor a right answer."""


class Refused(Exception):
    """A clean error: the input is done with."""


def ask(call: Callable[[], T]) -> T:
    """The answer. Raises Refused for a clean error, Finding for one that is not; anything else goes through."""
    try:
        return call()
    except DpmineError as error:
        text = str(error)
    if len(text.splitlines()) != 1 or len(text) > _LONGEST:
        raise Finding(f"An error is not one short line: {text[:200]!r}")
    if CANARY in text:
        raise Finding("An error quotes data.")
    raise Refused(text)


def require(holds: bool, what: str) -> None:  # noqa: FBT001 - a check reads best as a sentence
    """Finding, named `what`, unless it holds."""
    if not holds:
        raise Finding(what)
