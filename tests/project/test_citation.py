"""CITATION.cff is valid in the Citation File Format 1.2.0, as far as its schema asks for what stands there."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.cases import every

import dpmine

yaml: Any = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[2]
CITATION: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

TOP = {
    "abstract", "authors", "cff-version", "commit", "contact", "date-released", "doi", "identifiers", "keywords",
    "license", "license-url", "message", "preferred-citation", "references", "repository", "repository-artifact",
    "repository-code", "title", "type", "url", "version",
}  # fmt: skip
PERSON = {
    "address", "affiliation", "alias", "email", "family-names", "given-names", "name-particle", "name-suffix", "orcid",
}  # fmt: skip
ENTITY = {"address", "alias", "city", "country", "email", "location", "name", "orcid", "website"}
REFERENCE = {
    "authors", "collection-title", "conference", "doi", "editors", "end", "journal", "pages", "publisher", "start",
    "title", "type", "url", "volume", "year",
}  # fmt: skip
TYPES = {"article", "book", "conference-paper", "proceedings", "report", "software", "thesis"}
PAPERS = [
    ("The Large Margin Mechanism for Differentially Private Maximization", 2014, ["Chaudhuri", "Hsu", "Song"]),
    (
        "A Stability-based Validation Procedure for Differentially Private Machine Learning",
        2013,
        ["Chaudhuri", "Vinterbo"],
    ),
    ("Sample Complexity Bounds for Differentially Private Learning", 2011, ["Chaudhuri", "Hsu"]),
    (
        "Accuracy First: Selecting a Differential Privacy Level for Accuracy-Constrained ERM",
        2017,
        ["Ligett", "Neel", "Roth", "Waggoner", "Wu"],
    ),
]


def require_author(author: dict[str, str]) -> None:
    assert set(author) <= (ENTITY if "name" in author else PERSON)
    assert "name" in author or {"family-names", "given-names"} <= set(author)
    assert all(isinstance(value, str) and value for value in author.values())


def test_the_file() -> None:
    assert set(CITATION) <= TOP
    assert {"authors", "cff-version", "message", "title"} <= set(CITATION)
    assert CITATION["cff-version"] == "1.2.0"
    assert CITATION["type"] in {"software", "dataset"}
    assert all(isinstance(word, str) for word in CITATION["keywords"])
    assert len(set(CITATION["keywords"])) == len(CITATION["keywords"])
    for author in CITATION["authors"]:
        require_author(author)


def test_it_is_this_version() -> None:
    assert str(CITATION["version"]) == dpmine.__version__ == PROJECT["version"]
    assert CITATION["license"] == PROJECT["license"]


@every("reference", CITATION["references"])
def test_references(reference: dict[str, Any]) -> None:
    assert {"authors", "title", "type"} <= set(reference) <= REFERENCE
    assert reference["type"] in TYPES
    assert all(isinstance(reference[name], int) for name in ("year", "start", "end") if name in reference)
    assert set(reference["conference"]) <= ENTITY | {"date-start", "date-end"}
    for author in reference["authors"]:
        require_author(author)


def test_the_papers_are_there() -> None:
    found = [
        (entry["title"], entry["year"], [author["family-names"] for author in entry["authors"]])
        for entry in CITATION["references"]
    ]
    assert found == PAPERS
