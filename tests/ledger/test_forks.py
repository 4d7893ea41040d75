"""A parent that leaves first: its child's charges stay."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from dpmine.ledger.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

DAEMON = """
import os, sys, time
from fractions import Fraction
from dpmine.ledger.ledger import Ledger
from dpmine.privacy import Guarantee, Neighbors

ledger = Ledger(sys.argv[1])
ledger.grant("shop", epsilon=1)
ledger.budget("shop")
parent = os.getpid()
if os.fork():
    os._exit(0) if sys.argv[2] == "hard" else sys.exit(0)
while os.getppid() == parent:
    time.sleep(0.01)
time.sleep(0.1)
guarantee = Guarantee(Fraction(9, 10), Fraction(0), Neighbors.REPLACE_ONE, "row")
(Ledger(sys.argv[1]) if sys.argv[3] == "new" else ledger).charge("shop", guarantee, job="child")
print("charged", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are for POSIX")
@pytest.mark.parametrize("leaves", ["hard", "softly"])
@pytest.mark.parametrize("which", ["new", "inherited"])
def test_what_a_child_charges_outlives_its_parent(tmp_path: Path, leaves: str, which: str) -> None:
    url = f"sqlite:///{tmp_path / 'b.db'}"
    command = [sys.executable, "-c", DAEMON, url, leaves, which]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "charged\n", done.stderr
    assert Ledger(url).budget("shop").spent.epsilon == Fraction(9, 10)
    assert Ledger(url).verify() == 2
