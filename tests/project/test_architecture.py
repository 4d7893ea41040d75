"""The map of the code is true: what the documents name is there, and every room is on the map."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "DECISIONS.md", "THREAT_MODEL.md")]
FOLDERS = "dpmine|cli|tests|docs|benchmarks|experiments|fuzz|examples|datasets"
PATH = re.compile(rf"(?<![\w./-])(?:{FOLDERS})/[\w./-]*\w/?")
MOST_FILES = 20


def test_paths_in_documents_exist() -> None:
    named = {
        (page.name, path)
        for page in [*DOCUMENTS, *(ROOT / "docs").rglob("*.md")]
        for path in PATH.findall(page.read_text(encoding="utf-8"))
        if "NAME" not in path
    }
    made = re.compile(r"datasets/generate|benchmarks/results|docs/(?:tutorial|how-to)/?$")
    missing = sorted((page, path) for page, path in named if not (ROOT / path).exists() and not made.match(path))
    assert missing == []


def test_decisions_are_short() -> None:
    entries = [entry for entry in DOCUMENTS[2].read_text(encoding="utf-8").split("\n\n") if entry.startswith("**")]
    assert entries
    assert [entry.partition("\n")[0] for entry in entries if len(entry) > 600] == []


def test_every_room_is_drawn() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawing = page.partition("```text")[2].partition("```")[0]
    rooms = {path.stem for path in (ROOT / "dpmine").iterdir() if path.name[0] != "_"} - {"py"}
    assert [room for room in sorted(rooms) if not re.search(rf"\b{room}\b", drawing)] == []


def test_no_folder_is_too_full() -> None:
    counts = {
        folder: sum(path.is_file() and path.suffix not in {".so", ".pyc"} for path in folder.iterdir())
        for top in FOLDERS.split("|")
        for folder in [ROOT / top, *(path for path in (ROOT / top).rglob("*") if path.is_dir())]
    }
    full = {str(folder.relative_to(ROOT)): count for folder, count in counts.items() if count > MOST_FILES}
    assert not full, f"More than {MOST_FILES} files: divide {full} by what they are about."
