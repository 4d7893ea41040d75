"""What a cluster keeps for this process, and how it is let go of: at the end of a run, or when the process ends."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from socket import gethostname
from threading import Thread
from time import time_ns
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from dpmine.itemsets.spark.session import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence

_PROCESS = f"{gethostname()} {os.getpid()} {time_ns()}"
_NUMBERS = count()
_LIVE: WeakSet[Kept] = WeakSet()


@dataclass(frozen=True, eq=False)
class Kept:
    """Frames that the cluster keeps for us, until they are released."""

    session: Any
    frames: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        _LIVE.add(self)

    def keep(self, frame: Any) -> Any:
        """The frame, stored by the cluster once it is computed: in memory, else on the executors' disks."""
        from pyspark import StorageLevel
        from pyspark.sql import functions

        # Frames of one plan share what is kept, and lose it together: a condition that always holds tells them apart.
        own = frame.where(functions.lit(f"{_PROCESS} {next(_NUMBERS)}") != "")
        self.frames.append(own)
        with replacing():
            return own.persist(StorageLevel.MEMORY_AND_DISK)

    def release(self, frame: Any) -> None:
        """The cluster need not keep this frame any more."""
        self.frames[:] = [kept for kept in self.frames if kept is not frame]
        # A session that is gone has released everything.
        with suppress(Exception):
            frame.unpersist()

    def release_all(self) -> None:
        """Nothing is kept any more."""
        for frame in list(self.frames):
            self.release(frame)


def abandon(seconds: float) -> None:
    """For a process that is about to end: servers of Spark Connect cancel what they do for it, and keep nothing.

    Waits no longer than so many seconds. A Spark inside this process ends with the process.
    """
    remote = [kept for kept in list(_LIVE) if type(kept.session).__module__.startswith("pyspark.sql.connect")]
    if remote:
        letting_go = Thread(target=_let_go, args=(remote,), daemon=True)
        letting_go.start()
        letting_go.join(seconds)


def _let_go(all_kept: Sequence[Kept]) -> None:
    for kept in all_kept:
        with suppress(Exception):
            kept.session.interruptAll()
        kept.release_all()
