"""All targets in turn: `python -m fuzz.run [--seconds S] [--runs N] [--first N] [--blind] [TARGET …]`.

Time and runs are those of all targets together, whichever is reached first. Ends with 1 after a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from fuzz.children import ROOT, Report, run_forked
from fuzz.generated import OUTCOMES
from fuzz.targets import FORKED, GUIDED

_DONE = re.compile(r"Done (\d+) runs? in")
_FORMAT = "{:20} {:>10} {:>8} {:>9} {:>9} {:>9} {:>8}"
_ENOUGH = 1000  # inputs of which some must be answered
_IN_MEMORY = Path("/dev/shm")  # a file on a disk takes longer than what reads it


def _guided(name: str, runs: int, seconds: float, folder: Path, *, blind: bool) -> Report:
    """What came of a guided target's inputs."""
    options = [f"-runs={runs}", f"-max_total_time={max(1, int(seconds))}", "-max_len=1024", "-len_control=0"]
    limits = ["-timeout=30", "-rss_limit_mb=4096", "-detect_leaks=0", f"-artifact_prefix={folder}/"]
    command = [sys.executable, "-m", "fuzz.guided", name, str(folder), *options, *limits]
    settings = {**os.environ, **({"FUZZ_BLIND": "1"} if blind else {})}
    if _IN_MEMORY.is_dir():
        settings["TMPDIR"] = str(_IN_MEMORY)
    ended = subprocess.run(
        command, cwd=ROOT, env=settings, capture_output=True, text=True, errors="replace", check=False
    )
    done = _DONE.search(ended.stderr)
    findings = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.txt"))]
    if done is None:
        findings.append(f"ended with {ended.returncode}: {ended.stderr[-2000:]}")
    outcomes = Counter(json.loads(read) if (read := _read(folder / OUTCOMES)) else {})
    return Report(int(done[1]) if done else outcomes.total(), outcomes, findings)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _run(name: str, options: argparse.Namespace, share: int) -> int:
    """One target, one line of the table. Returns the number of failures."""
    start, runs, seconds = time.monotonic(), options.runs // share, options.seconds / share
    if name in GUIDED:
        with tempfile.TemporaryDirectory() as folder:
            report = _guided(name, runs, seconds, Path(folder), blind=options.blind)
    else:
        report = run_forked(name, first=options.first, runs=runs, seconds=seconds)
    outcomes = [report.outcomes[each] for each in ("answered", "refused")]
    if report.runs >= _ENOUGH and not all(outcomes):
        report.failures.append("All inputs end alike: the target tests nothing.")
    seconds, failed = round(time.monotonic() - start), len(report.failures)
    print(_FORMAT.format(name, report.runs, seconds, *outcomes, failed, len(report.native)), flush=True)
    for failure in report.failures:
        print(f"    {failure.strip()}", file=sys.stderr, flush=True)
    return failed


def main() -> int:
    """Fuzz, print a table, tell whether anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--runs", type=int, default=10**6)
    parser.add_argument("--first", type=int, default=0, help="number of the first Parquet mutant")
    parser.add_argument(
        "--blind", action="store_true", help="random inputs, without coverage: up to five times as many"
    )
    parser.add_argument("targets", nargs="*", default=[*GUIDED, *FORKED])
    options = parser.parse_args()
    print(_FORMAT.format("target", "inputs", "seconds", "answered", "refused", "failures", "native"))
    return int(sum(_run(name, options, len(options.targets)) for name in options.targets) > 0)


if __name__ == "__main__":
    sys.exit(main())
