"""Every registered mechanism has its file and its proof note."""

from __future__ import annotations

import inspect
from pathlib import Path

import dpmine

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_PRIVACY = {"exact"}
"""Makes no guarantee, so there is nothing to prove."""


def _mechanisms() -> set[str]:
    # Imported here: a broken engine fails these tests, not the collection of all others.
    from dpmine.selection.select import MECHANISMS

    return set(MECHANISMS) - WITHOUT_PRIVACY


def test_mechanisms_are_registered() -> None:
    assert _mechanisms()


def test_every_mechanism_has_a_proof_note() -> None:
    folder = ROOT / "docs" / "proofs" / "selection"
    notes = {path.stem for path in folder.glob("*.md") if path.read_text(encoding="utf-8").strip()}
    assert _mechanisms() <= notes


def test_every_mechanism_names_its_note() -> None:
    from dpmine.selection.select import MECHANISMS

    texts = {name: inspect.getsource(inspect.getmodule(MECHANISMS[name]) or dpmine) for name in _mechanisms()}
    assert [name for name, text in texts.items() if f"docs/proofs/selection/{name}.md" not in text] == []
