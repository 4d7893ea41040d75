"""The locks pin what pyproject.toml asks for, users' nothing else, and nothing of the place where they were made."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from support.cases import every

from hatch_build import ZIG

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
USERS, DEVELOPERS, COMPILER = "requirements.lock", "requirements-dev.lock", "requirements-compiler.lock"
RELEASE = "release/requirements.lock"
TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in (USERS, DEVELOPERS, COMPILER, RELEASE)}


def _pins(name: str) -> dict[str, set[str]]:
    """Name -> pinned versions, with their markers: several where Python versions need different ones."""
    pins: dict[str, set[str]] = {}
    for package, version in re.findall(r"^([A-Za-z0-9._-]+)==([^\\\n]+)", TEXTS[name], flags=re.MULTILINE):
        pins.setdefault(canonicalize_name(package), set()).add(version.strip())
    return pins


def _asked_for() -> list[tuple[str, str]]:
    """Requirements of running and building, which both locks pin, and those of developing."""
    project = PROJECT["project"]
    building = [*PROJECT["build-system"]["requires"], "editables"]  # hatchling's editable installs need it
    users = [(lock, text) for lock in (USERS, DEVELOPERS) for text in (*project["dependencies"], *building)]
    developers = [(DEVELOPERS, text) for text in project["optional-dependencies"]["dev"]]
    lines = (ROOT / "release" / "requirements.in").read_text(encoding="utf-8").splitlines()
    return [*users, *developers, (COMPILER, ZIG), *((RELEASE, line) for line in lines if not line.startswith("#"))]


@every(("lock", "text"), _asked_for())
def test_requirement_is_pinned(lock: str, text: str) -> None:
    requirement = Requirement(text)
    pinned = _pins(lock).get(canonicalize_name(requirement.name), set())
    assert pinned
    assert all(Version(version.split(";")[0].strip()) in requirement.specifier for version in pinned)


def test_developers_add_to_what_users_install() -> None:
    users, developers = _pins(USERS), _pins(DEVELOPERS)
    assert users == {name: developers[name] for name in users}


def test_the_compiler_is_pinned_apart() -> None:
    """It is many times as large as dpmine, and needed only while dpmine is built where there is no other."""
    assert set(_pins(COMPILER)) == {"ziglang"}
    assert "ziglang" not in _pins(DEVELOPERS)


@every("tool", ["pytest", "hypothesis", "mypy", "ruff", "sphinx", "playwright", "polars", "duckdb"])
def test_users_get_no_tools(tool: str) -> None:
    assert tool in _pins(DEVELOPERS)
    assert tool not in _pins(USERS)


@every("lock", TEXTS)
def test_every_requirement_is_pinned_exactly(lock: str) -> None:
    requirements = [line for line in TEXTS[lock].splitlines() if line and not line.startswith((" ", "#"))]
    assert requirements
    assert all("==" in line for line in requirements)


@every("lock", TEXTS)
def test_every_pin_has_a_hash(lock: str) -> None:
    entries = re.split(r"^(?=[A-Za-z0-9])", TEXTS[lock], flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in entry for entry in entries)


@every("trace", ["--index-url", "--extra-index-url", "--find-links", "://", "file:", "@ "])
def test_no_index_is_named(trace: str) -> None:
    assert all(trace not in text for text in TEXTS.values())
