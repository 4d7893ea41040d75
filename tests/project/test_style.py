"""Rules of style that the linter does not know, and that it knows the others.

Ruff and import-linter (`make check`) see to asserts in production code, unfinished marks, doors for randomness and what
the library may import.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from support.cases import every

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [path for folder in ("dpmine", "cli", "docs") for path in sorted((ROOT / folder).rglob("*.py"))]
LONGEST_FUNCTION = 60
LONGEST_FILE = 400


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from def to end, the docstring not counted."""
    first = function.body[0]
    documented = ast.get_docstring(function, clean=False) is not None
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def _long_functions(path: Path) -> list[str]:
    nodes = ast.walk(ast.parse(path.read_bytes()))
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [f"{path}: {function.name}" for function in functions if _length(function) > LONGEST_FUNCTION]


def test_functions_are_short() -> None:
    assert len(SOURCES) > 100
    too_long = [name for path in SOURCES for name in _long_functions(path)]
    assert not too_long, f"More than {LONGEST_FUNCTION} lines without the docstring: divide {too_long}."


def test_files_are_short() -> None:
    too_long = [str(path) for path in SOURCES if path.read_bytes().count(b"\n") > LONGEST_FILE]
    assert not too_long, f"More than {LONGEST_FILE} lines: divide {too_long} by what each part is about."


def test_docstrings_do_not_count_as_length() -> None:
    function = ast.parse('def f():\n    """One.\n\n    Two.\n    """\n    return 1').body[0]
    assert isinstance(function, ast.FunctionDef)
    assert _length(function) == 2


def _found(code: str, name: str) -> set[str]:
    """Codes of what ruff, as it is configured here, says of a file of this name."""
    command = [sys.executable, "-m", "ruff", "check", "--quiet", "--output-format", "concise", "--stdin-filename"]
    done = subprocess.run([*command, name, "-"], input=code, capture_output=True, text=True, check=False, cwd=ROOT)
    return {line.split()[1] for line in done.stdout.splitlines() if line.startswith(name)}


@every(
    ("code", "rule"),
    [
        ("import random", "TID251"),
        ("from random import choice", "TID251"),
        ("import secrets as s", "TID251"),
        ("import numpy.random", "TID251"),
        ("from numpy import random", "TID251"),
        ("from numpy.random import default_rng", "TID251"),
        ("import numpy as np\nnp.random.default_rng()", "TID251"),
        ("def f():\n    import os\n    return os.urandom(1)", "TID251"),
        ("from os import urandom", "TID251"),
        ("import os\nos.getrandom(1)", "TID251"),
        ("import pickle", "TID251"),
        ("import warnings\nwith warnings.catch_warnings():\n    pass", "TID251"),
        ("assert 1 + 1 == 2", "S101"),
        ("# TODO: more", "FIX002"),
        ("# FIXME", "FIX001"),
        ("eval('1')", "S307"),
    ],
)
def test_the_linter_sees(code: str, rule: str) -> None:
    assert rule in _found(code + "\n", "dpmine/selection/new.py")


def test_the_linter_sees_the_command_line_too() -> None:
    assert {"TID251", "S101"} <= _found("import random\n\nassert random\n", "cli/dpmine_cli/new.py")


def test_randomness_has_one_door() -> None:
    assert "TID251" not in _found("import os\nos.urandom(1)\n", "dpmine/exact/bits.py")
