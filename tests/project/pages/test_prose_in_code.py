"""Docstrings, messages and help texts keep to the words of docs/words.toml, as the pages do."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from support.cases import every
from support.pages.prose import sentence_lengths, unwanted_words

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
NOT_EDITED: set[str] = set()
PATHS = sorted(path.relative_to(ROOT) for folder in ("dpmine", "cli") for path in (ROOT / folder).rglob("*.py"))
NAMES = [str(path) for path in PATHS if not {str(path), str(path.parent)} & NOT_EDITED]
EXCEPTIONS = {
    r"power[ -]law": "a term of statistics, for how supports fall off",
    r"\bregularization\b": "a parameter's name",
    r"^Law Selection law select$|^ExPostGuarantee Guarantee Neighbors$": "public names, in a table of them",
}
"""What is no prose although it has a word of the list, as regular expressions, and why."""
LONGEST = 25
"""Words of a sentence in a public docstring; a formula is a word."""
PRIVATE = re.compile(r"\._")
PARTS = re.compile(r"\n\s*\n|\n +(?=- )|\f|\n(?=.*\S {2,}\S| *[├└])")
"""Between paragraphs, items of lists and rows of tables, which end without a full stop."""
NO_PROSE = [
    re.compile(pattern, flags=re.DOTALL | re.MULTILINE)
    for pattern in [
        r"^ *>>>.*?(?=^\s*$|\Z)",  # an example, and what it prints
        r"``.*?``|`[^`]*`",
        r"\bhttps?://\S+|\bdocs/[\w/.]*\w",
        r"(?<!\w)--[a-z][\w-]*",  # options as typed
        r"\bdpmine\.[\w.]*\w",
        r"\b\w+ ?=(?= ?[\w'\"])",  # parameters as typed
        *EXCEPTIONS,
    ]
]
FIELD = re.compile(r"^ +[\w*]+(?:, [\w*]+)*: (?=\S)", flags=re.MULTILINE)
"""The name of a parameter or an attribute, in a docstring's list of them."""

OTHER_WORDS = re.compile(r"(?<![^\W_])(?:promis|pric|refus|pay(?!load)|paid)", re.IGNORECASE)
"""How words begin that stand for "guarantee", "charge" and "reject" nowhere, not in identifiers either."""


class Passage(NamedTuple):
    """A text of the code: "`code`" stands in it for what is no prose, and a form feed for the name of a parameter."""

    line: int
    text: str
    documents: str | None
    """The dotted name of what it is the docstring of, "" for the module; None for other texts."""


def prose(text: str) -> str:
    """The text of a passage, on the same lines."""
    text = FIELD.sub("\f", text)
    for pattern in NO_PROSE:
        text = pattern.sub(lambda found: "\n" * found[0].count("\n") + "`code` ", text)
    return text


def docstrings(tree: ast.AST, name: str = "") -> Iterator[tuple[ast.Constant, str]]:
    """Texts that stand alone, as those of attributes do, and the names of what they are in."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Expr(ast.Constant(str()) as text):
                yield text, name
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from docstrings(node, f"{name}.{node.name}")
            case _:
                yield from docstrings(node, name)


def template(text: ast.JoinedStr) -> str:
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "`code`" for part in text.values)


@cache
def passages(code: str) -> list[Passage]:
    """Docstrings, all other texts of several words, and comments."""
    return [*_passages(code)]


def _passages(code: str) -> Iterator[Passage]:
    tree = ast.parse(code)
    documented = {id(text): name for text, name in docstrings(tree)}
    formatted = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    documented |= dict.fromkeys((id(part) for text in formatted for part in text.values), "(part)")
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr():
                yield Passage(node.lineno, prose(template(node)), None)
            case ast.Constant(str() as text) if " " in text and documented.get(id(node)) != "(part)":
                yield Passage(node.lineno, prose(text), documented.get(id(node)))
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            yield Passage(token.start[0], prose(token.string), None)


def unwanted(code: str) -> Iterator[tuple[int, str]]:
    """Lines, and what is wrong there."""
    for passage in passages(code):
        for line, wrong in unwanted_words(passage.text):
            yield passage.line + line, wrong


def too_long(code: str) -> Iterator[tuple[int, str]]:
    """Lines of public docstrings, and the lengths of their long sentences."""
    for passage in passages(code):
        if passage.documents is not None and not PRIVATE.search(passage.documents):
            for part in PARTS.split(passage.text):
                yield from ((passage.line, f"{n} words") for n in sentence_lengths(part) if n > LONGEST)


def source(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@every("name", NAMES)
def test_code_uses_the_words_of_the_list(name: str) -> None:
    found = [f"{name}:{line}: {wrong}" for line, wrong in unwanted(source(name))]
    assert not found, "\n".join(found)


@every("name", NAMES)
def test_identifiers_have_one_word_for_a_charge_and_a_guarantee(name: str) -> None:
    tokens = tokenize.generate_tokens(io.StringIO(source(name)).readline)
    found = {token.string for token in tokens if token.type == tokenize.NAME and OTHER_WORDS.search(token.string)}
    assert not found, f"{name}: {', '.join(sorted(found))}"


@every("name", NAMES)
def test_sentences_of_docstrings_are_short(name: str) -> None:
    found = [f"{name}:{line}: {wrong}" for line, wrong in too_long(source(name))]
    assert not found, "\n".join(found)


def test_the_list_of_folders_is_up_to_date() -> None:
    assert {str(path) for path in PATHS} | {str(path.parent) for path in PATHS} >= NOT_EDITED
    assert len(PATHS) > 200


EXAMPLE = '''"""A door."""
law = "law", "no law", f"told {law} told"  # promises

def f(law):
    """One `law`,
    told.

    Args:
        law: a law, --gap, gap=3.
        gap: such as

    Example:
        >>> law = 1
        law and order

    As such.
    """
    raise ValueError(
        f"{law} with "
        "a gap")
'''


def test_words_are_found_in_prose_only() -> None:
    found = sorted((line, wrong.split("'")[1]) for line, wrong in unwanted(EXAMPLE))
    assert found == [
        (1, "door"),
        (2, "law"),
        (2, "promises"),
        (2, "told"),
        (2, "told"),
        (6, "told"),
        (9, "law"),
        (16, "As such"),
        (19, "gap"),
    ]


def test_sentences_of_public_docstrings_are_counted() -> None:
    long = "Word " * (LONGEST + 1)
    code = f'"""{long}"""\nclass A:\n    """Short. {long}\n\n    {long}"""\n    def _b(): "{long}"\nx = "{long}"'
    assert list(too_long(code)) == [(1, "26 words"), (3, "26 words"), (3, "26 words")]
    assert list(too_long(f'"""    a: {long[5:]}\n    b: {long[5:]}"""')) == []
