"""The pages speak of the project only, keep to the words of docs/words.toml, and their sentences are short."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from markdown_it import MarkdownIt
from support.cases import every
from support.pages.prose import WORDS, sentence_lengths, unwanted_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[3]
PAGES = [
    str(path.relative_to(ROOT))
    for pattern in ("*.md", "datasets/*.md", "benchmarks/*.md", "docs/**/*.md", "docs/**/*.ipynb")
    for path in sorted(ROOT.glob(pattern))
]
PROOFS = [name for name in PAGES if name.startswith("docs/proofs/")]
IN_PROOFS = ["law", "moment", "gap"]
"""Words of the list that mathematics needs: the law and the moments of a random variable, and gaps between numbers.

Proofs keep to the rest of the list. The lengths of their sentences are not bounded: a statement with its conditions and
formulas is one sentence, and a formula counts as many words.
"""
WORDS_OF_PROOFS = {pattern: better for pattern, better in WORDS.items() if not any(map(pattern.fullmatch, IN_PROOFS))}
MEAN = 20
LONGEST = {name: 25 for name in PAGES if name not in PROOFS} | {"CHANGELOG.md": 30, "DECISIONS.md": 30}
"""Words of a sentence: on average over a page, and at most. The two lists of the project are for developers."""


class Passage(NamedTuple):
    """A paragraph, a heading or a cell of a table, without code and the targets of links."""

    line: int
    text: str
    running: bool
    """Whether it is made of sentences, as paragraphs and items of lists are, and cells and headings are not."""


def said(token: Token) -> str:
    if token.children:  # pictures have them too: what stands in their place
        return "".join(map(said, token.children))
    return {"text": token.content, "softbreak": "\n", "hardbreak": "\n", "code_inline": "`code`"}.get(token.type, "")


def passages(page: str) -> Iterator[Passage]:
    tokens = MarkdownIt("commonmark").enable("table").parse(page)
    for before, token in pairwise(tokens):
        if token.type == "inline" and token.map:
            yield Passage(token.map[0] + 1, said(token), running=before.type == "paragraph_open")


def unwanted(page: str, words: Mapping[re.Pattern[str], str] = WORDS) -> Iterator[tuple[int, str]]:
    """Lines, and what is wrong there."""
    for passage in passages(page):
        for line, wrong in unwanted_words(passage.text, words):
            yield passage.line + line, wrong


def lengths(page: str, *, running: bool) -> Iterator[tuple[int, int]]:
    """The line of the passage and the words of each of its sentences."""
    for passage in passages(page):
        if passage.running or not running:
            for words in sentence_lengths(passage.text):
                yield passage.line, words


def text(name: str) -> str:
    """A page, or the words between the cells of a notebook."""
    read = (ROOT / name).read_text(encoding="utf-8")
    if not name.endswith(".ipynb"):
        return read
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(read)["cells"] if cell["cell_type"] == "markdown")


FOREIGN = [
    r"(?<![\w.:/~-])/(?:root|work|home|Users|opt|workspace)/",  # somebody's machine
    r"\bsessions? #?\d",
    r"\b(?:issue|ticket) #?\d",
    r"\b(?:TODO|FIXME)\b",
]


@every("name", PAGES)
def test_nothing_foreign(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert page.strip()
    assert [found[0] for pattern in FOREIGN if (found := re.search(pattern, page, flags=re.IGNORECASE))] == []


@every("name", PAGES)
def test_pages_use_the_words_of_the_list(name: str) -> None:
    words = WORDS_OF_PROOFS if name in PROOFS else WORDS
    found = [f"{name}:{line}: {wrong}" for line, wrong in unwanted(text(name), words)]
    assert not found, "\n".join(found)


@every("name", LONGEST)
def test_sentences_are_short(name: str) -> None:
    page = text(name)
    long = [f"{name}:{line}: {words} words" for line, words in lengths(page, running=False) if words > LONGEST[name]]
    assert not long, "\n".join(long)
    counted = [words for _, words in lengths(page, running=True)]
    assert sum(counted) <= MEAN * len(counted), name


def test_the_required_pages_are_there() -> None:
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "DECISIONS.md"} <= set(PAGES)


def test_words_are_found_in_prose_only() -> None:
    page = "| a |\n|---|\n| [refuse](x.md) |\n\nIt is\ntold `told` [x](told.md)\n\n    told\n\n```text\ntold\n```\n"
    found = [(line, wrong.split("'")[1]) for line, wrong in unwanted(page + "\n# So\n\nMany *so\nmany*, `--gap`\n")]
    assert found == [(3, "refuse"), (6, "told"), (16, "so many")]


def test_sentences_are_counted() -> None:
    page = "# One two\n\nA b `c d` 3.5. (D e!) F\n\n- a b\n\n| a b c |\n|---|\n"
    assert list(lengths(page, running=True)) == [(3, 4), (3, 2), (3, 1), (5, 2)]
    assert list(lengths(page, running=False)) == [(1, 2), (3, 4), (3, 2), (3, 1), (5, 2), (7, 3)]
