"""What the wheel holds: the two packages, the compiled kernels, and nothing else."""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import hatch_build

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = f"dpmine/kernels/{hatch_build.LIBRARY.name}"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def _source_files(package: Path) -> set[str]:
    """Code, the mark of types, the templates of reports, and the schemas."""
    return {
        str(path.relative_to(package.parent))
        for path in package.rglob("*")
        if path.suffix in {".py", ".html", ".j2", ".css", ".json"} or path.name == "py.typed"
    }


def test_top_level(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"dpmine", "dpmine_cli"}
    assert len(tops) == 3


def test_holds_all_sources_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    sources = _source_files(ROOT / "dpmine") | _source_files(ROOT / "cli" / "dpmine_cli")
    assert packed == sources | {LIBRARY}


def test_one_wheel_for_every_python_of_a_platform(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/WHEEL")]
    lines = wheel.read(name).decode().splitlines()
    assert [line for line in lines if line.startswith("Tag: ")] == [f"Tag: py3-none-{hatch_build.PLATFORM}"]
    assert "Root-Is-Purelib: false" in lines


def test_the_library_is_made_from_these_sources(wheel: zipfile.ZipFile) -> None:
    assert hatch_build.sources().encode() in wheel.read(LIBRARY)


def test_kernels_load_from_the_wheel_alone(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """Unpacked as pip does it, in front of everything else; numpy is this environment's."""
    wheel.extractall(tmp_path)
    code = "from dpmine.kernels import LIBRARY, SOURCES; print(LIBRARY); print(SOURCES)"
    clean = {name: value for name, value in os.environ.items() if name != "DPMINE_KERNELS"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env={**clean, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == [str(tmp_path / LIBRARY), hatch_build.sources()]


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
