"""LICENSES.md names every dependency, with the licence that its installed files state."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support.cases import every

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGE = (ROOT / "LICENSES.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| ([a-z0-9-]+) \| ([^|]+) \|", PAGE, flags=re.MULTILINE)[1:])
EXTRAS = {name: texts for name, texts in PROJECT["optional-dependencies"].items() if name != "dev"}
DIRECT = [Requirement(text) for texts in (PROJECT["dependencies"], *EXTRAS.values()) for text in texts]
FAMILIES = {
    "MIT": ["MIT", "MIT-CMU", "MIT License"],
    "BSD": ["BSD", "0BSD", "BSD-3-Clause", "BSD-2-Clause", "BSD License", "BSD 3-Clause"],
    "Apache": ["Apache-2.0", "Apache", "Apache Software License"],
    "PSF": ["PSF-2.0", "Python Software Foundation License"],
    "LGPL": ["LGPL-3.0-only", "LGPL-3.0-or-later"],
    "other free": ["Zlib", "CC0-1.0", "HPND", "MPL-2.0", "ISC License (ISCL)", "Unlicense"],
}
KNOWN = {spelling: family for family, spellings in FAMILIES.items() for spelling in spellings}
LESSER = {"python-flint", "psycopg", "psycopg-binary"}
"""The packages that may be, or hold, libraries under the LGPL: the page says what that means."""


def families(name: str) -> set[str]:
    """The kinds of licence that an installed package states; KeyError for one that is not known here."""
    stated = metadata(name)
    expressions = stated.get_all("License-Expression")  # [] warns from 3.12 on where there is none
    if expressions:
        return {KNOWN[part.strip("() ")] for part in re.split(r" AND | OR ", expressions[0])}
    classifiers = [c.split(" :: ")[-1] for c in stated.get_all("Classifier") or [] if c.startswith("License ::")]
    return {KNOWN[text] for text in classifiers or [stated["License"]]}


def installed() -> set[str]:
    """All packages that running dpmine brings along, with its extras."""
    found: set[str] = set()
    waiting = [(canonicalize_name(r.name), extra) for r in DIRECT for extra in ("", *r.extras)]
    while waiting:
        name, extra = waiting.pop()
        texts = _requires(name)
        if texts is None:
            continue
        found.add(name)
        for requirement in map(Requirement, texts):
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
            pairs = [(canonicalize_name(requirement.name), other) for other in ("", *requirement.extras)]
            if applies and pairs[0][0] not in found:
                waiting += pairs
    return found


def _requires(name: str) -> list[str] | None:
    try:
        return requires(name) or []
    except PackageNotFoundError:  # an extra that is not installed here
        return None


def test_every_dependency_has_its_row() -> None:
    assert sorted(ROWS) == sorted({requirement.name for requirement in DIRECT})


@every("name", sorted(ROWS))
def test_the_row_says_what_the_package_says(name: str) -> None:
    if _requires(name) is None:
        pytest.skip(f"{name} is not installed")
    named = {family for family in families(name) if family != "other free"}
    assert {family for family in ("MIT", "BSD", "Apache", "PSF", "LGPL") if family in ROWS[name]} == named


@every("name", sorted(installed()))
def test_no_licence_asks_for_more(name: str) -> None:
    assert "LGPL" not in families(name) or name in LESSER


def test_what_is_installed_is_seen() -> None:
    assert {"numpy", "joblib", "psycopg-binary"} <= installed()
