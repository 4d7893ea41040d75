"""Blocks without warnings: what foreign code warns of may be data, or show that one person's object is there.

Filters of warnings belong to the process. Were every thread to restore what it found, one thread could show the
warnings of another, or leave all warnings off for good.
"""

from __future__ import annotations

import warnings
from contextlib import ContextDecorator, ExitStack, contextmanager
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


class Shared(ContextDecorator):
    """A context of the whole process: the first thread that enters opens it, and the last one that leaves closes it."""

    def __init__(self, context: Callable[[], AbstractContextManager[None]]) -> None:
        self._context, self._lock, self._inside, self._opened = context, RLock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._opened.enter_context(self._context())
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._opened.close()


@contextmanager
def _ignoring() -> Iterator[None]:
    with warnings.catch_warnings():  # noqa: TID251 - the one place
        warnings.simplefilter("ignore")
        yield


no_warnings = Shared(_ignoring)
"""For `with`, and to decorate functions."""
