"""Warnings of foreign code do not show, and filters are as they were, however the blocks of threads overlap."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING

from dpmine.models.contribution import Units

if TYPE_CHECKING:
    import pytest


class Loud:
    """A unit that waits until another thread has begun or ended, and warns."""

    def __init__(self, begun: Event, awaited: Event) -> None:
        self._begun, self._awaited = begun, awaited

    def __hash__(self) -> int:
        self._begun.set()
        assert self._awaited.wait(20)
        warnings.warn("a value", UserWarning, stacklevel=2)
        return 1


def test_the_last_thread_that_leaves_a_block_restores_warnings(recwarn: pytest.WarningsRecorder) -> None:
    """The second thread begins after the first one, and still warns when that has left."""
    filters, first_begun, second_begun, first_left = [*warnings.filters], Event(), Event(), Event()

    def second() -> None:
        assert first_begun.wait(20)
        Units.of([Loud(second_begun, first_left)], "unit")

    with ThreadPoolExecutor() as threads:
        running = threads.submit(second)
        Units.of([Loud(first_begun, second_begun)], "unit")
        first_left.set()
        running.result()
    assert ([*warnings.filters], [*recwarn]) == (filters, [])
