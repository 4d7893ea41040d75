"""The folder of reference data beside the project, where it exists."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def shared_path(relative: str) -> Path:
    """`relative` inside the shared folder; the calling test is skipped where that folder is missing."""
    path = ROOT.parent / "shared" / relative
    if not path.exists():
        pytest.skip(f"needs shared/{relative} beside the project")
    return path
