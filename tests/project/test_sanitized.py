"""The tests that run kernels, once more on a library that ends the process at a fault of memory or arithmetic."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hatch_build

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "sanitized" / hatch_build.LIBRARY.name
TESTS = ["tests/itemsets/counting", "tests/itemsets/ingest", "tests/itemsets/outofcore", "tests/models/pac"]


def gcc_file(name: str) -> str:
    """Where GCC has this library; the bare name where it has not."""
    line = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    """The environment of a process that loads the sanitized library."""
    if sys.platform != "linux" or shutil.which("gcc") is None or not Path(gcc_file("libasan.so")).is_absolute():
        pytest.skip("GCC and its sanitizers are not here")
    line = [sys.executable, str(ROOT / "hatch_build.py"), "--sanitize"]
    subprocess.run(line, check=True, env={**os.environ, "CC": "gcc"})
    return {
        **os.environ,
        "DPMINE_KERNELS": str(LIBRARY),
        "DPMINE_TEST_PROFILE": "quick",  # each example takes ten times as long, and `make fuzz` tries others
        # Python is no C++ program: without its library the sanitizer would stop at the first exception of pyarrow.
        "LD_PRELOAD": f"{gcc_file('libasan.so')} {gcc_file('libstdc++.so.6')}",
        "ASAN_OPTIONS": "detect_leaks=0",
    }


@pytest.mark.slow
def test_the_sanitized_library_is_the_one_that_is_tested(settings: dict[str, str]) -> None:
    code = "from dpmine.kernels import LIBRARY; print(LIBRARY)"
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, env=settings, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(LIBRARY)
    assert b"__asan_report_load" in LIBRARY.read_bytes()
    assert b"__ubsan_handle" in LIBRARY.read_bytes()


@pytest.mark.slow
def test_sanitizers_find_no_fault(settings: dict[str, str]) -> None:
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-m", "not (statistical or slow or spark)", *TESTS]
    done = subprocess.run(line, env=settings, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
