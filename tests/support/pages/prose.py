"""What texts are checked for: the words of docs/words.toml, and the lengths of sentences."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LIST = Path(__file__).resolve().parents[3] / "docs" / "words.toml"
WORDS = {
    re.compile(rf"\b(?:{pattern})\b", flags=re.IGNORECASE): better
    for section in tomllib.loads(_LIST.read_text(encoding="utf-8")).values()
    for pattern, better in section.items()
}
"""Expressions of what texts must not have, each with what to write instead."""
_ANY = re.compile("|".join(pattern.pattern for pattern in WORDS), flags=re.IGNORECASE)
"""One search where, as nearly always, there is nothing."""
_END = re.compile(r"(?<=[.!?])[)*\"”]*\s+(?=[^\sa-z]|dpmine)")


def unwanted_words(text: str, words: Mapping[re.Pattern[str], str] = WORDS) -> Iterator[tuple[int, str]]:
    """Lines of the text, from 0, and what is wrong there."""
    line = text.replace("\n", " ")
    if words is WORDS and not _ANY.search(line):
        return
    for pattern, better in words.items():
        for found in pattern.finditer(line):
            yield text.count("\n", 0, found.start()), f"{found[0]!r}: write {better}"


def sentence_lengths(text: str) -> Iterator[int]:
    """The words of each sentence."""
    for sentence in _END.split(text):
        yield sum(bool(re.search(r"\w", word)) for word in sentence.split())
