"""requirements.lock pins what pyproject.toml asks for, and nothing of the place where it was made."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from support.cases import every

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

PINS: dict[str, list[Version]] = {}
"""Name -> pinned versions: several where Python versions need different ones."""
for _name, _version in re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", LOCK, flags=re.MULTILINE):
    PINS.setdefault(canonicalize_name(_name), []).append(Version(_version))


def _asked_for() -> list[str]:
    """Requirements of running, developing and building."""
    project = PROJECT["project"]
    return [
        *project["dependencies"],
        *project["optional-dependencies"]["dev"],
        *PROJECT["build-system"]["requires"],
        "editables",  # hatchling's editable installs need it
    ]


@every("text", _asked_for())
def test_requirement_is_pinned(text: str) -> None:
    requirement = Requirement(text)
    pinned = PINS.get(canonicalize_name(requirement.name), [])
    assert pinned
    assert all(version in requirement.specifier for version in pinned)


def test_every_requirement_is_pinned_exactly() -> None:
    requirements = [line for line in LOCK.splitlines() if line and not line.startswith((" ", "#"))]
    assert requirements
    assert all("==" in line for line in requirements)


def test_every_pin_has_a_hash() -> None:
    entries = re.split(r"^(?=[A-Za-z0-9])", LOCK, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in entry for entry in entries)


@every("trace", ["--index-url", "--extra-index-url", "--find-links", "://", "file:", "@ "])
def test_no_index_is_named(trace: str) -> None:
    assert trace not in LOCK
