"""Every registered mechanism has its file and its proof note."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_PRIVACY = {"exact"}
"""Makes no promise, so there is nothing to prove."""


def _mechanisms() -> set[str]:
    # Imported here: a broken engine fails these tests, not the collection of all others.
    from dpmine.selection.engine import MECHANISMS

    return set(MECHANISMS) - WITHOUT_PRIVACY


def test_mechanisms_are_registered() -> None:
    assert _mechanisms()


def test_every_mechanism_is_a_module() -> None:
    modules = {path.stem for path in (ROOT / "dpmine" / "selection").glob("*.py")}
    assert _mechanisms() <= modules


def test_every_mechanism_has_a_proof_note() -> None:
    notes = {path.stem for path in (ROOT / "docs" / "proofs").glob("*.md") if path.read_text(encoding="utf-8").strip()}
    assert _mechanisms() <= notes


def test_every_mechanism_names_its_note() -> None:
    folder = ROOT / "dpmine" / "selection"
    silent = {
        name
        for name in _mechanisms()
        if f"docs/proofs/{name}.md" not in (folder / f"{name}.py").read_text(encoding="utf-8")
    }
    assert silent == set()
