"""The pages keep to the words of docs/words.toml, and their sentences are short."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from markdown_it import MarkdownIt
from support.cases import every

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
WORDS = {
    re.compile(rf"\b(?:{pattern})\b", flags=re.IGNORECASE): better
    for section in tomllib.loads((ROOT / "docs" / "words.toml").read_text(encoding="utf-8")).values()
    for pattern, better in section.items()
}
NOT_EDITED = {
    "docs/explanation/measured/accuracy_first.md",
    "docs/explanation/measured/classifiers.md",
    "docs/explanation/measured/histogram.md",
    "docs/explanation/measured/hypotheses.md",
    "docs/explanation/measured/itemset_lists.md",
    "docs/explanation/measured/noise.md",
    "docs/explanation/measured/regulariser.md",
    "docs/explanation/measured/ridge.md",
    "docs/explanation/measured/search.md",
    "docs/explanation/measured/several_classes.md",
}
"""Pages that may still have such words and long sentences: take a page off when it is edited, and add none."""
OTHERS = ["README.md", "THREAT_MODEL.md", "CONTRIBUTING.md", "SECURITY.md", "GOVERNANCE.md", "CODE_OF_CONDUCT.md"]
ALL = [*OTHERS, *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
PAGES = [name for name in ALL if name not in NOT_EDITED and not name.startswith("docs/proofs/")]
SHORT = [name for name in PAGES if name.startswith(("README", "docs/decide", "docs/how-to", "docs/tutorial"))]
MEAN, LONGEST = 20, 40
END = re.compile(r"(?<=[.!?])[)*\"”]*\s+(?=[^\sa-z]|dpmine)")


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


def unwanted(page: str) -> Iterator[tuple[int, str]]:
    """Lines, and what is wrong there."""
    for passage in passages(page):
        for pattern, better in WORDS.items():
            for found in pattern.finditer(passage.text.replace("\n", " ")):
                line = passage.line + passage.text.count("\n", 0, found.start())
                yield line, f"{found[0]!r}: write {better}"


def lengths(page: str, *, running: bool) -> Iterator[tuple[int, int]]:
    """The line of the passage and the words of each of its sentences."""
    for passage in passages(page):
        if passage.running or not running:
            for sentence in END.split(passage.text):
                yield passage.line, sum(bool(re.search(r"\w", word)) for word in sentence.split())


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@every("name", PAGES)
def test_pages_use_the_words_of_the_list(name: str) -> None:
    found = [f"{name}:{line}: {wrong}" for line, wrong in unwanted(text(name))]
    assert not found, "\n".join(found)


@every("name", SHORT)
def test_sentences_are_short(name: str) -> None:
    page = text(name)
    long = [f"{name}:{line}: {words} words" for line, words in lengths(page, running=False) if words > LONGEST]
    assert not long, "\n".join(long)
    counted = [words for _, words in lengths(page, running=True)]
    assert sum(counted) <= MEAN * len(counted), name


def test_the_list_of_pages_is_up_to_date() -> None:
    assert set(ALL) >= NOT_EDITED


def test_words_are_found_in_prose_only() -> None:
    page = "| a |\n|---|\n| [refuse](x.md) |\n\nIt is\ntold `told` [x](told.md)\n\n    told\n\n```text\ntold\n```\n"
    found = [(line, wrong.split("'")[1]) for line, wrong in unwanted(page + "\n# So\n\nMany *so\nmany*, `--gap`\n")]
    assert found == [(3, "refuse"), (6, "told"), (16, "so many")]


def test_sentences_are_counted() -> None:
    page = "# One two\n\nA b `c d` 3.5. (D e!) F\n\n- a b\n\n| a b c |\n|---|\n"
    assert list(lengths(page, running=True)) == [(3, 4), (3, 2), (3, 1), (5, 2)]
    assert list(lengths(page, running=False)) == [(1, 2), (3, 4), (3, 2), (3, 1), (5, 2), (7, 3)]
