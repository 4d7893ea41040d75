"""Mechanisms that run in a process of their own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from dpmine.auditing import InEnvironment
from dpmine.auditing.call import audit
from dpmine.auditing.targets.sampling import Raised
from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """
import os

def echo(data):
    print("this is no answer")
    return data

def picky(data):
    if data == 1:
        raise KeyError("secret")
    return {"set": {2, 1}, "pair": (1, 2.5)}

def leaving(data):
    os._exit(3)

def claimed():
    return {"epsilon": 0.5, "delta": 1e-6}

def stepped():
    return {"profile": [[0, 0.5], [1, 0.25]]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "theirs.py").write_text(MODULE, encoding="utf-8")
    return tmp_path


def test_outcomes_pass(folder: Path) -> None:
    with InEnvironment(sys.executable, "theirs:echo", folder) as echo:
        for data in ([0.1 + 0.2, None, "é"], {"a": [1]}, 7):
            assert echo.sample(data, 2) == [data, data]
    with InEnvironment(sys.executable, "theirs:picky", folder) as picky:
        assert picky.sample(1, 1) == [Raised("KeyError")]
        assert picky.sample(2, 1) == [{"set": [1, 2], "pair": [1, 2.5]}]


def test_claims_pass(folder: Path) -> None:
    with InEnvironment(sys.executable, "theirs:echo", folder) as echo:
        assert str(echo.claim("claimed")) == "ε = 0.5, δ = 1e-06"
        profile = echo.claim("stepped").form
        assert [profile.delta(epsilon) for epsilon in (0, 0.9, 1, 5)] == [0.5, 0.5, 0.25, 0.25]


def test_an_audit(folder: Path) -> None:
    with InEnvironment(sys.executable, "theirs:echo", folder) as echo:
        assert audit(echo, "epsilon=1", [(0, 1)], samples=500).refuted


def test_what_cannot_run(folder: Path) -> None:
    with pytest.raises(BadParameter, match="module:function"):
        InEnvironment(sys.executable, "theirs", folder)
    with pytest.raises(BadParameter, match="Cannot start"):
        InEnvironment(folder / "absent", "theirs:echo", folder)
    with (
        InEnvironment(sys.executable, "theirs:leaving", folder) as leaving,
        pytest.raises(BadParameter, match="theirs:leaving ended"),
    ):
        leaving.sample(1, 1)
