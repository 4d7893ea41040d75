"""A ledger for calls to charge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import dpmine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A ledger that has granted "shop" plenty."""
    made = f"sqlite:///{tmp_path}/budget.db"
    dpmine.Ledger(made).grant("shop", epsilon=100, delta="1/2")
    return made
