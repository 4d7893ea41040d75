"""Every test sees the same entropy in every run, so that no release of a test run hangs on luck."""

from __future__ import annotations

import hashlib
import os
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings
from support.effort import PROFILE, Profile, examples

from dpmine.exact import bits

# Compiled loops are loaded or compiled when first called, and machines stall: nothing here is about time.
for profile in Profile:
    settings.register_profile(
        profile.value,
        max_examples=examples(100, profile),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(PROFILE.value)

SEED = os.environ.get("DPMINE_TEST_SEED", "0")
"""Another seed is another run: many of them show which tests rely on luck."""


class _Stream:
    """The bytes of SHAKE-256 of a name, in turn: as good as random, and the same for the same name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls = 0

    def read(self, size: int) -> bytes:
        self._calls += 1
        return hashlib.shake_256(f"{self._name} {self._calls}".encode()).digest(size)


@pytest.fixture(autouse=True)
def repeatable_entropy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system's generator, for dpmine alone, replaced by a stream that the test's name seeds."""
    stream = _Stream(f"{SEED} {request.node.nodeid}")
    monkeypatch.setattr(bits, "os", SimpleNamespace(urandom=stream.read))
    bits._forget_buffers()
