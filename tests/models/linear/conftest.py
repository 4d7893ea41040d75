"""What tests of broken twins share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dpmine.models.linear import perturbations

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def fresh_terms() -> Iterator[None]:
    """The public numbers are remembered; a broken twin's must not be."""
    cache = perturbations._cached_release  # which a test may replace
    cache.cache_clear()
    yield
    cache.cache_clear()
