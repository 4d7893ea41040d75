"""Rules of style that the linter does not know."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from support.cases import every

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(str(path.relative_to(ROOT)) for folder in ("dpmine", "cli") for path in (ROOT / folder).rglob("*.py"))
LIBRARY = [name for name in SOURCES if name.startswith("dpmine/")]
LONGEST_FUNCTION = 60
LONGEST_FILE = 400
ENTROPY = {"random", "secrets", "numpy.random", "np.random", "os.urandom", "os.getrandom"}
THE_DOOR = "dpmine/exact/bits.py"
TERMINAL = {"typer", "rich", "click"}


@cache
def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def _nodes(name: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(_text(name))))


def _imports(nodes: tuple[ast.AST, ...]) -> Iterator[str]:
    """Dotted names of the modules, and of what is taken out of them; relative ones are the project's own."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _attributes(nodes: tuple[ast.AST, ...]) -> Iterator[str]:
    """Two-part dotted names in use, such as np.random."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"


def _entropy(nodes: tuple[ast.AST, ...]) -> set[str]:
    names = {*_imports(nodes), *_attributes(nodes)}
    return {name for name in names if any(name == source or name.startswith(f"{source}.") for source in ENTROPY)}


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from def to end, the docstring not counted."""
    first = function.body[0]
    documented = ast.get_docstring(function, clean=False) is not None
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


@every("name", SOURCES)
def test_functions_are_short(name: str) -> None:
    functions = [node for node in _nodes(name) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert [function.name for function in functions if _length(function) > LONGEST_FUNCTION] == []


@every("name", SOURCES)
def test_files_are_short(name: str) -> None:
    lines = _text(name).count("\n")
    assert lines <= LONGEST_FILE


@every("name", SOURCES)
def test_production_code_raises_and_does_not_assert(name: str) -> None:
    assert [node.lineno for node in _nodes(name) if isinstance(node, ast.Assert)] == []


@every("name", [name for name in SOURCES if name != THE_DOOR])
def test_randomness_has_one_door(name: str) -> None:
    assert _entropy(_nodes(name)) == set()


@every("name", SOURCES)
def test_no_unfinished_marks(name: str) -> None:
    assert re.findall(r"\b(?:TODO|FIXME)\b", _text(name)) == []


@every("name", LIBRARY)
def test_library_does_not_know_the_terminal(name: str) -> None:
    assert {module for module in _imports(_nodes(name)) if module.split(".")[0] in TERMINAL} == set()


@every(
    "code",
    [
        "import random",
        "from random import choice",
        "import secrets as s",
        "import numpy.random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "np.random.default_rng()",
        "def f():\n    import os\n    return os.urandom(1)",
        "from os import urandom",
    ],
)
def test_every_spelling_of_randomness_is_seen(code: str) -> None:
    assert _entropy(tuple(ast.walk(ast.parse(code))))


def test_docstrings_do_not_count_as_length() -> None:
    function = ast.parse('def f():\n    """One.\n\n    Two.\n    """\n    return 1').body[0]
    assert isinstance(function, ast.FunctionDef)
    assert _length(function) == 2
