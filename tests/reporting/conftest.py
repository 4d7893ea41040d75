"""A folder with data, a ledger and job files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from reporting.jobs import Folder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)
