"""datasets/SOURCES.md speaks of the files that are there."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from support.cases import every

FOLDER = Path(__file__).resolve().parents[2] / "datasets"
FILES = sorted(path.name for path in FOLDER.glob("*.parquet"))


def _section(name: str) -> str:
    """The part of SOURCES.md under the heading `name`, empty if there is none."""
    sections = re.split(r"^## ", (FOLDER / "SOURCES.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return next((section for section in sections if section.splitlines()[0] == name), "")


def test_there_are_data_sets() -> None:
    assert {"online_retail.parquet", "mushroom.parquet"} <= set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_checksum_matches(name: str) -> None:
    stated = re.search(r"sha256: `([0-9a-f]{64})`", _section(name))
    assert stated is not None
    assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == stated[1]


@every("name", FILES)
@every("line", ["publisher", "citation", "doi", "licence", "changed"])
def test_source_is_complete(name: str, line: str) -> None:
    assert re.search(rf"^- {line}.*: \S", _section(name), flags=re.MULTILINE)


@pytest.mark.parametrize("name", FILES)
def test_licence_allows_passing_on(name: str) -> None:
    assert "- licence: CC BY 4.0" in _section(name)


def test_folder_is_no_package() -> None:
    assert not (FOLDER / "__init__.py").exists()
