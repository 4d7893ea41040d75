"""The audit on mechanisms whose verdict is known: broken ones, each within its time, and false alarms on sound ones.

Usage: PYTHONPATH=tests python benchmarks/audit_gallery.py [--seconds 30] [--runs 1000] [--only sparse] [--part alarms]
"""

from __future__ import annotations

import argparse
from itertools import cycle, islice
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from support.gallery.mistakes import BROKEN
from support.gallery.sound import SOUND

from dpmine import audit
from dpmine.auditing.blackbox import lower_bounds, upper_bounds

if TYPE_CHECKING:
    from support.gallery.exhibit import Exhibit

    from dpmine.auditing import TargetReport

CONFIDENCE = "0.999"
"""So that a sound mechanism is refuted in one run of 1000, at most."""


def row(exhibit: Exhibit, found: TargetReport, seconds: float) -> str:
    evidence = found.evidence
    figures = f"{evidence.measured:8.4g} {evidence.claimed:8.4g}  {evidence.figure:14}"
    return f"{exhibit.name:36} {found.verdict:12} {figures} {seconds:6.1f} s  {found.event[:60]}"


def table(exhibits: list[Exhibit], seconds: float) -> int:
    """Prints a row for each; returns how many were refuted."""
    refuted = 0
    for exhibit in exhibits:
        start = perf_counter()
        found = audit(exhibit.run, exhibit.claim, exhibit.family, confidence=CONFIDENCE, seconds=seconds)
        print(row(exhibit, found, perf_counter() - start), flush=True)
        refuted += found.refuted
    return refuted


def false_alarms(runs: int) -> None:
    """Short audits of sound mechanisms in turn, each on its own draws."""
    start, alarms = perf_counter(), list[str]()
    for number, exhibit in enumerate(islice(cycle(SOUND), runs)):
        found = audit(
            exhibit.run,
            exhibit.claim,
            exhibit.family,
            confidence=CONFIDENCE,
            samples=1000,
            pairs=6,
            steps=2,
            seed=number,
        )
        if found.refuted:
            alarms.append(exhibit.name)
        if number % 100 == 99:
            print(f"{number + 1} runs, {len(alarms)} false alarms", flush=True)
    hits = np.array(float(len(alarms)))
    low, high = lower_bounds(hits, runs, 0.025), upper_bounds(hits, runs, 0.025)
    interval = f"rate between {low:.2g} and {high:.2g} (95 %)"
    print(f"false alarms: {len(alarms)} of {runs} runs {alarms}, {interval}, in {perf_counter() - start:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30, help="for each mechanism")
    parser.add_argument("--runs", type=int, default=1000, help="short audits of sound mechanisms")
    parser.add_argument("--only", default="", help="mechanisms whose name contains this")
    parser.add_argument("--part", choices=["all", "broken", "sound", "alarms"], default="all")
    options = parser.parse_args()
    broken, sound = ([each for each in kind if options.only in each.name] for kind in (BROKEN, SOUND))
    part = options.part
    if part != "alarms":
        print(f"{'mechanism':36} {'verdict':12} {'measured':>8} {'claimed':>8}  figure")
    if part in {"all", "broken"}:
        print(f"refuted: {table(broken, options.seconds)} of {len(broken)} broken ones\n")
    if part in {"all", "sound"}:
        print(f"refuted: {table(sound, options.seconds)} of {len(sound)} sound ones\n")
    if part in {"all", "alarms"}:
        false_alarms(options.runs)


if __name__ == "__main__":
    main()
