"""All targets in turn: `python -m fuzz.run [--seconds S] [--runs N] [--first N] [TARGET …]`.

Time and runs are those of all targets together, whichever is reached first. Ends with 1 after a failure.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fuzz.children import ROOT, run_forked
from fuzz.targets import FORKED, GUIDED

_DONE = re.compile(r"Done (\d+) runs? in")
_FORMAT = "{:20} {:>10} {:>8} {:>9} {:>8}"


def _guided(name: str, runs: int, seconds: float, folder: Path) -> tuple[int, list[str]]:
    """Executions, and the files of the findings."""
    options = [f"-runs={runs}", f"-max_total_time={max(1, int(seconds))}", "-max_len=1024", "-timeout=30"]
    limits = ["-rss_limit_mb=2048", "-print_final_stats=0", f"-artifact_prefix={folder}/"]
    command = [sys.executable, "-m", "fuzz.guided", name, str(folder), *options, *limits]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
    done = _DONE.search(ended.stderr)
    findings = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.txt"))]
    if done is None:
        findings.append(f"ended with {ended.returncode}: {ended.stderr[-2000:]}")
    return int(done[1]) if done else 0, findings


def _run(name: str, options: argparse.Namespace, share: int, folder: Path) -> int:
    """One target, one line of the table. Returns the number of failures."""
    start, runs, seconds = time.monotonic(), options.runs // share, options.seconds / share
    native = 0
    if name in GUIDED:
        done, failures = _guided(name, runs, seconds, folder)
    else:
        report = run_forked(name, first=options.first, runs=runs, seconds=seconds)
        done, failures, native = report.runs, report.failures, len(report.native)
    print(_FORMAT.format(name, done, round(time.monotonic() - start), len(failures), native), flush=True)
    for failure in failures:
        print(f"    {failure.strip()}", file=sys.stderr, flush=True)
    return len(failures)


def main() -> int:
    """Fuzz, print a table, tell whether anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--runs", type=int, default=10**6)
    parser.add_argument("--first", type=int, default=0, help="number of the first Parquet mutant")
    parser.add_argument("targets", nargs="*", default=[*GUIDED, *FORKED])
    options = parser.parse_args()
    print(_FORMAT.format("target", "executions", "seconds", "failures", "native"))
    failed = 0
    for name in options.targets:
        with tempfile.TemporaryDirectory() as folder:
            failed += _run(name, options, len(options.targets), Path(folder))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
