"""`help` explains every argument of every public call, each with words of its own."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from typing import TYPE_CHECKING, Any

import pytest
from support.cases import every
from support.public_names import MODULES, RESULTS, shown

from dpmine.options.explained import explained_by

if TYPE_CHECKING:
    from collections.abc import Iterator

ENTRY = re.compile(r"^ {4}\**([\w, ]+): \S", flags=re.MULTILINE)
ELSEWHERE = re.compile(r"(?:parameters?|arguments?)\b[^.\n]*\b(?:those of|says more)|says more of")


def calls() -> Iterator[tuple[str, Any]]:
    """The functions, and the classes that users make."""
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            call = getattr(module, name)
            made = inspect.isclass(call) and (
                name in RESULTS
                or issubclass(call, (Exception, Warning, enum.Enum))
                or getattr(call, "_is_protocol", False)
            )
            if not made and call.__module__.startswith("dpmine."):
                yield f"{module.__name__}.{name}", call


def methods() -> Iterator[tuple[str, Any]]:
    """The public methods of all classes that users make or get."""
    imported = (f"{module}.{name}" for module in MODULES for name in importlib.import_module(module).__all__)
    for full in (*imported, *(page.name for page in shown())):
        module, _, name = full.rpartition(".")
        kind = getattr(importlib.import_module(module), name)
        if inspect.isclass(kind) and not issubclass(kind, (Exception, Warning, enum.Enum)):
            for member in (each for each in dir(kind) if each[0] != "_"):
                method = getattr(kind, member)
                if inspect.isroutine(method) and (method.__module__ or "").startswith("dpmine."):
                    yield f"{name}.{member}", method


def parameters(call: Any) -> list[str]:
    return [name for name in inspect.signature(call).parameters if name not in {"self", "cls"}]


CALLS, METHODS = dict(calls()), dict(methods())


@every("name", CALLS)
def test_every_argument_has_an_entry(name: str) -> None:
    documentation = inspect.getdoc(CALLS[name]) or ""
    entries = {each for names in ENTRY.findall(documentation) for each in names.split(", ")}
    assert [each for each in parameters(CALLS[name]) if each not in entries] == []
    assert ELSEWHERE.search(documentation) is None


OF_OTHERS = [name for name in METHODS if name.startswith(("Universe.", "Declared."))]
"""Methods that users write, or that call what users wrote."""


@every("name", OF_OTHERS)
def test_every_argument_of_what_users_write_has_an_entry(name: str) -> None:
    entries = {each for names in ENTRY.findall(inspect.getdoc(METHODS[name]) or "") for each in names.split(", ")}
    assert [each for each in parameters(METHODS[name]) if each not in entries] == []


@every("name", METHODS)
def test_methods_speak_of_their_arguments(name: str) -> None:
    words = set(re.findall(r"\w+", inspect.getdoc(METHODS[name]) or ""))
    assert [each for each in parameters(METHODS[name]) if each not in words] == []


def test_most_calls_are_looked_at() -> None:
    assert len(CALLS) > 30
    assert len(METHODS) > 250
    assert len(OF_OTHERS) > 10


SHARED = """Shared.

    Args:
        first: of the
            shared ones.

            - a list
        second: more.
        third: unused.

    Raises nothing.
    """


def test_entries_are_added_in_the_order_of_the_signature() -> None:
    @explained_by(SHARED)
    def call(second: int, own: int, first: int) -> None:
        """Does it.

        Args:
            own: an own one.
            second: other words.

        Example:
            >>> 1
            1
        """

    assert call.__doc__ == (
        "Does it.\n\nArgs:\n    second: other words.\n    own: an own one.\n"
        "    first: of the\n        shared ones.\n\n        - a list\n\nExample:\n    >>> 1\n    1"
    )


def test_a_section_is_made_where_there_is_none() -> None:
    @explained_by(SHARED)
    def call(second: int) -> None:
        """Does it.

        More words.
        """

    assert call.__doc__ == "Does it.\n\nArgs:\n    second: more.\n\nMore words."


def test_classes_get_attributes_too() -> None:
    source = "S.\n\nArgs:\n    first: one.\n\nAttributes:\n    a_: an attribute.\n    b_, c_: two.\n"

    @explained_by(source)
    class Kind:
        """K.

        Attributes:
            a_: another.
        """

        def __init__(self, first: int) -> None:
            del first

    assert Kind.__doc__ == "K.\n\nArgs:\n    first: one.\n\nAttributes:\n    a_: another.\n    b_, c_: two.\n"


@pytest.mark.parametrize("texts", [(), (None,), ("No section.",)])
def test_without_sources_the_words_stay(texts: tuple[str | None, ...]) -> None:
    @explained_by(*texts)
    def call() -> None:
        """Does it."""

    assert call.__doc__ is not None
    assert call.__doc__ == "Does it."
