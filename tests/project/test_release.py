"""What is released: the source archive, the wheel that is built from it, and that it installs."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import hatch_build

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LIBRARY = f"dpmine/kernels/{hatch_build.LIBRARY.name}"
FOLDERS = {
    ".ci", ".github", "benchmarks", "cli", "datasets", "docs", "dpmine", "examples", "experiments", "fuzz", "release",
    "tests",
}  # fmt: skip
FILES = {
    ".gitignore", "CHANGELOG.md", "CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "DECISIONS.md",
    "GOVERNANCE.md", "LICENSE", "LICENSES.md", "Makefile", "PKG-INFO", "README.md", "SECURITY.md", "THREAT_MODEL.md",
    "hatch_build.py", "pyproject.toml", "requirements.lock", "requirements-compiler.lock", "requirements-dev.lock",
    "requirements-spark.txt",
}  # fmt: skip
LEFT_OVER = re.compile(
    r"__pycache__|\.py[co]$|libkernels\.|\.egg-info|(^|/)\.(hypothesis|mypy|ruff|pytest|venv)|/results/|\.db$"
)
NO_REGISTRY = re.compile(
    r"NewConnectionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError|HTTP error 5"
    r"|Temporary failure in name resolution"
)


def build(place: Path, target: str, folder: Path) -> Path:
    """Run the build backend in `place`; the archive is put into `folder`."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=place, check=True, capture_output=True)
    (archive,) = folder.iterdir()
    return archive


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(build(ROOT, "wheel", tmp_path_factory.mktemp("wheel")))


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, unpacked."""
    archive = build(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (place,) = folder.iterdir()
    return place


def _files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}


def test_sources_are_complete(sources: Path) -> None:
    tops = {path.name for path in sources.iterdir()}
    assert {name for name in FOLDERS if (ROOT / name).exists()} | FILES == tops
    for name in ("dpmine", "cli", "fuzz"):
        kept = {file for file in _files(ROOT / name) if not LEFT_OVER.search(f"/{file}")}
        assert _files(sources / name) == kept


def test_sources_hold_nothing_that_was_left_over(sources: Path) -> None:
    assert [name for name in _files(sources) if LEFT_OVER.search(name)] == []


def test_the_tests_and_their_data_are_there(sources: Path) -> None:
    assert (sources / "tests" / "project" / Path(__file__).name).read_bytes() == Path(__file__).read_bytes()
    assert (sources / "datasets" / "mushroom.parquet").is_file()
    assert (sources / ".ci" / "run").stat().st_mode & 0o100


def test_a_wheel_from_the_sources_is_the_wheel(sources: Path, wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    if not hatch_build.compiler():
        pytest.skip("no C compiler is here")
    with zipfile.ZipFile(build(sources, "wheel", tmp_path)) as again:
        assert sorted(again.namelist()) == sorted(wheel.namelist())
        assert [name for name in wheel.namelist() if again.read(name) != wheel.read(name)] == []


def about(wheel: zipfile.ZipFile, name: str) -> str:
    """The text of that name that describes the wheel."""
    (path,) = [path for path in wheel.namelist() if path.endswith(f".dist-info/{name}")]
    return wheel.read(path).decode()


def test_metadata_of_the_wheel(wheel: zipfile.ZipFile) -> None:
    text = about(wheel, "METADATA")
    assert Path(str(wheel.filename)).name == (
        f"dpmine-{PROJECT['project']['version']}-py3-none-{hatch_build.PLATFORM}.whl"
    )
    assert "License-Expression: MIT\n" in text
    assert "License-File: LICENSE\n" in text
    assert about(wheel, "licenses/LICENSE") == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert f"Requires-Python: {PROJECT['project']['requires-python']}\n" in text
    asked = {
        line.split(": ")[1] for line in text.splitlines() if line.startswith("Requires-Dist") and "extra" not in line
    }
    assert asked == set(PROJECT["project"]["dependencies"])
    entries = configparser.ConfigParser()
    entries.read_string(about(wheel, "entry_points.txt"))
    assert dict(entries["console_scripts"]) == {"dpmine": "dpmine_cli.main:main"}


def test_one_wheel_for_every_python_of_a_platform(wheel: zipfile.ZipFile) -> None:
    lines = about(wheel, "WHEEL").splitlines()
    assert [line for line in lines if line.startswith("Tag: ")] == [f"Tag: py3-none-{hatch_build.PLATFORM}"]
    assert "Root-Is-Purelib: false" in lines


def source_files(package: Path) -> set[str]:
    """Code, the mark of types, the templates of reports, and the schemas."""
    return {
        str(path.relative_to(package.parent))
        for path in package.rglob("*")
        if path.suffix in {".py", ".html", ".j2", ".css", ".json"} or path.name == "py.typed"
    }


def test_the_wheel_holds_all_sources_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == {*source_files(ROOT / "dpmine"), *source_files(ROOT / "cli" / "dpmine_cli"), LIBRARY}
    assert {"dpmine/py.typed", "dpmine_cli/py.typed"} <= packed
    assert len({name.split("/")[0] for name in wheel.namelist()}) == 3


def test_kernels_load_from_the_wheel_alone(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """Unpacked as pip does it, in front of everything else; numpy is this environment's."""
    assert hatch_build.sources().encode() in wheel.read(LIBRARY)
    wheel.extractall(tmp_path)
    code = "from dpmine.kernels import LIBRARY, SOURCES; print(LIBRARY); print(SOURCES)"
    clean = {name: value for name, value in os.environ.items() if name != "DPMINE_KERNELS"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env={**clean, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == [str(tmp_path / LIBRARY), hatch_build.sources()]


@pytest.mark.slow
def test_the_wheel_installs_and_runs(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """In an empty environment, from the package registry, with the versions that are pinned."""
    venv.create(tmp_path / "fresh")
    python = tmp_path / "fresh" / "bin" / "python"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^[A-Za-z0-9._-]+==[^\\\n]+", lock, flags=re.MULTILINE)
    (tmp_path / "pins.txt").write_text("\n".join(pins), encoding="utf-8")

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=900, env=clean
        )

    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install"]
    installed = run(*pip, "--no-compile", "--only-binary", ":all:", "--constraint", "pins.txt", str(wheel.filename))
    if installed.returncode and NO_REGISTRY.search(installed.stderr):
        pytest.skip("no package registry can be reached")
    assert installed.returncode == 0, installed.stderr
    program = str(python.with_name("dpmine"))
    top = run(program, "top-itemset", str(ROOT / "datasets" / "mushroom.parquet"), "--size", "1", "--epsilon", "20")
    assert (top.returncode, top.stdout.splitlines()[0]) == (0, "85")
    doctor = run(program, "doctor")
    assert doctor.returncode == 0, doctor.stderr
    assert str(ROOT) not in doctor.stdout


def test_the_change_log_keeps_its_form() -> None:
    """Keep a Changelog 1.1, with a heading of our own: what changes a guarantee."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    named = [version for version in versions if version != "Unreleased"]
    assert named[0].startswith(PROJECT["project"]["version"])
    headings = set(re.findall(r"^### (.*)$", text, flags=re.MULTILINE))
    assert headings <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Privacy"}


def test_nothing_is_signed_or_published_before_all_tests_of_that_commit_passed() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    _, *parts = re.split(r"^  (\w+):$", text.partition("\njobs:\n")[2], flags=re.MULTILINE)
    jobs = dict(zip(parts[::2], parts[1::2], strict=True))
    needs = {
        job: re.findall(r"\w+", " ".join(re.findall(r"^    needs: (.*)$", jobs[job], re.MULTILINE))) for job in jobs
    }

    def before(job: str) -> set[str]:
        return {job}.union(*(before(needed) for needed in needs[job]))

    assert "uses: $/.github/workflows/ci.yml" in jobs["test"]
    writing = {job for job in jobs if re.search(r"^      [\w-]+: write", jobs[job], re.MULTILINE)}
    assert writing == {"attest", "publish", "announce"}
    for job in writing:
        assert {"test", "build", "try"} <= before(job)
