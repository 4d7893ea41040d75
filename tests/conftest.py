"""Every test sees the same entropy in every run, so that no release of a test run hangs on luck."""

from __future__ import annotations

import gc
import hashlib
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from ledger.postgres import Cluster, running
from support.effort import PROFILE, SEED, Profile, examples

from dpmine.exact import bits

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEMORY, _ROOM = Path("/dev/shm"), 8 * 2**30

# Libraries are loaded when first used, and machines stall: nothing here is about time.
for profile in Profile:
    settings.register_profile(
        profile.value,
        max_examples=examples(100, profile),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(PROFILE.value)


def pytest_configure(config: pytest.Config) -> None:
    """A run of fast tests has its folders in memory, where there is room and programs may be run.

    A disk's syncs take a third of the time of ledgers' tests, and show nothing while the machine stays on.
    """
    if not re.search(r"\bnot \(?slow\b", config.getoption("markexpr")) or not os.access(_MEMORY, os.W_OK):
        return
    if not os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC and shutil.disk_usage(_MEMORY).free > _ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


def pytest_collection_finish() -> None:
    """What was loaded and collected is no garbage: each search through all of it would take half a second."""
    gc.freeze()


class _Stream:
    """The bytes of SHAKE-256 of a name, in turn: as good as random, and the same for the same name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls = 0

    def read(self, size: int) -> bytes:
        self._calls += 1
        return hashlib.shake_256(f"{self._name} {self._calls}".encode()).digest(size)


@pytest.fixture(autouse=True, scope="module")
def repeatable_entropy_of_fixtures(request: pytest.FixtureRequest) -> Iterator[None]:
    """What the tests of a module share has a stream of its own: it does not depend on which of them runs first."""
    with pytest.MonkeyPatch.context() as patch:
        _seed(patch, request.node.nodeid)
        yield


@pytest.fixture(autouse=True)
def repeatable_entropy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system's generator, for dpmine alone, replaced by a stream that the test's name seeds."""
    _seed(monkeypatch, request.node.nodeid)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A server of PostgreSQL, for databases and schemas of their own names."""
    yield from running()


def _seed(patch: pytest.MonkeyPatch, name: str) -> None:
    patch.setattr(bits, "os", SimpleNamespace(urandom=_Stream(f"{SEED} {name}").read))
    bits._forget_buffers()
