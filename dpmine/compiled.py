"""Compilation of the counting loops, with a cache on disk wherever one can be kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The machine-code form of a loop over arrays; it runs without the interpreter lock.

    Requires: the compiled functions that `function` calls stand in its own file (the cache notices changes of the file
    it caches, not of others), and it never calls itself (numba crashes when it loads such a function from the cache).
    Compilation happens at the first call. Its result is kept beside the package when that folder can be written, else
    in the user's cache directory, else in this process only.
    """
    return cast("Callable[P, R]", _dispatcher(function))


def cache_location() -> Path | None:
    """The folder where compiled loops are kept between processes; None when there is no writable one."""
    path = _dispatcher(_probe).stats.cache_path
    return None if path is None else Path(path)


def _dispatcher(function: Callable[..., Any]) -> Any:
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder can be written: numba then caches nothing
        return numba.njit(nogil=True)(function)


def _probe() -> None:
    """Stands for any loop when the cache is looked up; never compiled."""
