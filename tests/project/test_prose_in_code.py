"""Docstrings, messages and help texts keep to the words of docs/words.toml, as the pages do."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from support.cases import every
from support.prose import END, WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(str(path.relative_to(ROOT)) for folder in ("dpmine", "cli") for path in (ROOT / folder).rglob("*.py"))
CODE = re.compile(r"``.*?``|`[^`]*`|\bdocs/[\w/.]*\w|https?://\S+|--[a-z][\w-]*", flags=re.DOTALL)
EXAMPLE = re.compile(r"^ *>>>.*(?:\n *\S.*)*", flags=re.MULTILINE)
FIELD = re.compile(r"^( +)[\w*]+(?:, [\w*]+)*(?=: )", flags=re.MULTILINE)
"""The name of a parameter or an attribute, in a docstring's list of them."""


class Passage(NamedTuple):
    line: int
    text: str
    documents: str | None
    """The qualified name of what it is the docstring of; None for another text."""


def blanked(text: str) -> str:
    """The text without code, as long as before in lines."""
    for pattern in (EXAMPLE, CODE):
        text = pattern.sub(lambda found: "`code`" + "\n" * found[0].count("\n"), text)
    return FIELD.sub(r"\1`name`", text)


def docstrings(tree: ast.Module) -> dict[int, str]:
    found = {}
    def visit(node, name):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for before, statement in zip([None, *node.body], node.body):
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str):
                    own = name
                    if isinstance(before, ast.Assign): own = f"{name}.{ast.unparse(before.targets[0])}"
                    if isinstance(before, ast.AnnAssign): own = f"{name}.{ast.unparse(before.target)}"
                    found[id(statement.value)] = own
        for child in ast.iter_child_nodes(node):
            visit(child, f"{name}.{child.name}" if hasattr(child, "name") and isinstance(child.name, str) else name)
    visit(tree, "")
    return found


def passages(code: str) -> Iterator[Passage]:
    tree = ast.parse(code)
    names = docstrings(tree)
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(v) for v in node.values}
            text = "".join(v.value if isinstance(v, ast.Constant) else "`code`" for v in node.values)
            yield Passage(node.lineno, text, None)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield Passage(node.lineno, node.value, names.get(id(node)))
