"""The documents speak of the project only."""

from __future__ import annotations

import re
from pathlib import Path

from support.cases import every

ROOT = Path(__file__).resolve().parents[3]
REQUIRED = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "DECISIONS.md"]
DOCUMENTS = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("*.md", "datasets/*.md", "benchmarks/*.md", "docs/**/*.md")
    for path in ROOT.glob(pattern)
)
FOREIGN = [
    r"(?<![\w.:/~-])/(?:root|work|home|Users|opt|workspace)/",  # somebody's machine
    r"\bsessions? #?\d",
    r"\b(?:issue|ticket) #?\d",
    r"\b(?:TODO|FIXME)\b",
]


@every("name", REQUIRED)
def test_document_exists_and_says_something(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8").strip()


@every("pattern", FOREIGN)
@every("name", DOCUMENTS)
def test_nothing_foreign(name: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), flags=re.IGNORECASE)
    assert found is None
