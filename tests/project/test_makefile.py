"""The Makefile agrees with pyproject.toml and describes itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def _value(name: str) -> str:
    found = re.search(rf"^{name} := (.*)$", MAKEFILE, flags=re.MULTILINE)
    assert found is not None
    return found[1]


def test_fast_and_marked_tests_are_all_tests() -> None:
    """A marker missing here would put its tests among the fast ones."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    registered = {line.split(":")[0] for line in settings["tool"]["pytest"]["ini_options"]["markers"]}
    assert set(_value("MARKED").split(" or ")) == registered


def test_help_knows_every_target() -> None:
    described = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, flags=re.MULTILINE))
    phony = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, flags=re.MULTILINE)
    assert described == {target for line in phony for target in line.split()}


def test_pages_of_measurements_have_commands() -> None:
    """Each page of its folder; files and targets exist."""
    folder = ROOT / "docs" / "explanation" / "measured"
    rows = re.findall(r"^\| \[[^]]*\]\((.*?)\) \| (.*?) \|", (folder / "index.md").read_text("utf-8"), re.MULTILINE)
    pages = {(folder / page).resolve() for page, _ in rows}
    assert pages >= set(folder.glob("*.md")) - {folder / "index.md"}
    commands = [command.split() for _, cell in rows for command in re.findall(r"`(.*?)`", cell)]
    targets = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, flags=re.MULTILINE))
    assert len(commands) >= len(rows)
    assert all(page.is_file() for page in pages)
    assert all((ROOT / name).is_file() if by == "python" else name in targets for by, name, *_ in commands)


def test_continuous_integration_runs_the_tests_and_the_checks() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    lines = re.findall(r"^timed make (.*)$", script, flags=re.MULTILINE)
    steps = {step for line in lines for step in line.split() if step[0] not in "-."}
    assert steps == {"check", "test", "test-marked", "test-spark", "workflows", "sbom", "reproducible"}
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100


def test_the_readme_finds_the_results_of_make_demo_report() -> None:
    """Results lie beside the page: written elsewhere, the same jobs would be charged again, and be rejected."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.compile(r"dpmine (report examples/online_retail\.toml .*)")
    assert command.findall(readme) == command.findall(MAKEFILE)
