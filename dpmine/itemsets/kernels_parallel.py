"""Parts of one computation on a few threads; the compiled loops run without the interpreter lock."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

Part = TypeVar("Part")
Result = TypeVar("Result")

_MOST_THREADS = 8  # of one computation: the loops are bound by memory, and others use the machine too


def thread_count() -> int:
    """How many threads a large computation uses: the processors this process may run on, at most 8."""
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        usable = os.cpu_count() or 1
    return min(usable, _MOST_THREADS)


def in_parallel(work: Callable[[Part], Result], parts: Sequence[Part], threads: int) -> Generator[Result]:
    """work(part) for each part, in the order of the parts.

    The threads live as long as the iterator: nothing is shared between calls, nor inherited by a forked process. When
    the caller stops early, or is interrupted, or a part fails, the parts not yet begun are dropped.
    """
    if threads == 1 or len(parts) <= 1:
        yield from map(work, parts)
        return
    with ThreadPoolExecutor(min(threads, len(parts)), thread_name_prefix="dpmine") as pool:
        pending = [pool.submit(work, part) for part in parts]
        try:
            for result in pending:
                yield result.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
