"""What the wheel holds: the two packages and nothing else."""

from __future__ import annotations

import configparser
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def _source_files(package: Path) -> set[str]:
    """Code, the mark of types, and the templates of reports."""
    return {
        str(path.relative_to(package.parent))
        for path in package.rglob("*")
        if path.suffix in {".py", ".html", ".j2", ".css"} or path.name == "py.typed"
    }


def test_top_level(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"dpmine", "dpmine_cli"}
    assert len(tops) == 3


def test_holds_all_sources_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    sources = _source_files(ROOT / "dpmine") | _source_files(ROOT / "cli" / "dpmine_cli")
    assert packed == sources


@pytest.mark.parametrize("package", ["dpmine", "dpmine_cli"])
def test_packages_are_typed(wheel: zipfile.ZipFile, package: str) -> None:
    assert f"{package}/py.typed" in wheel.namelist()


def test_entry_point(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt")]
    entries = configparser.ConfigParser()
    entries.read_string(wheel.read(name).decode())
    assert dict(entries["console_scripts"]) == {"dpmine": "dpmine_cli.main:main"}


def test_licence_is_included(wheel: zipfile.ZipFile) -> None:
    assert any(name.endswith("/LICENSE") for name in wheel.namelist())
