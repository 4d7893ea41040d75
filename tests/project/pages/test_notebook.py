"""The notebook of the tutorial runs, and what it holds is what running it gives."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from support.pages.notebook import code_cells, prepare, run

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOK = ROOT / "docs" / "tutorial" / "shop.ipynb"


def kinds(outputs: list[dict[str, Any]]) -> list[Any]:
    return [(output["output_type"], sorted(output.get("data", {}))) for output in outputs]


@pytest.mark.slow
def test_the_notebook_shows_what_running_it_gives(tmp_path: Path) -> None:
    cells = code_cells(NOTEBOOK)
    prepare(tmp_path, ROOT)
    with contextlib.chdir(tmp_path / "docs" / "tutorial"):
        found = run(cells)
    for cell, outputs in zip(cells, found, strict=True):
        if "random" in cell["metadata"].get("tags", []):
            assert kinds(outputs) == kinds(cell["outputs"])
        else:
            assert outputs == cell["outputs"]


def test_the_notebook_is_small_was_run_in_order_and_needs_no_script() -> None:
    cells = code_cells(NOTEBOOK)
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    assert NOTEBOOK.stat().st_size < 100_000
    assert "<script" not in NOTEBOOK.read_text(encoding="utf-8")
    assert "(shop.ipynb)" in (NOTEBOOK.parent / "index.md").read_text(encoding="utf-8")
