"""The audit on mechanisms of other libraries, each in its own environment.

OpenDP's issue 2911 reports a noisy max that is permute-and-flip under the ρ of the exponential mechanism. The wheels of
0.15.0 and 0.15.1 sample the exponential mechanism there, so that nothing is to be refuted; a twin of what is reported
is in the gallery. Issue 2922, a threshold whose own probability is missing from δ, is in all of these versions.

OpenDP 0.15.1 and dp-accounting are in .venv-peers-audit, OpenDP 0.16 and diffprivlib in .venv-peers (see the Makefile).
Usage: python benchmarks/audit_peers.py [--seconds 50] [--only opendp]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from dpmine import audit
from dpmine.auditing import Claim, InEnvironment, RowSets, ScoreVectors

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks" / "peers"
OLD, NEW = (ROOT / name / "bin" / "python" for name in (".venv-peers-audit", ".venv-peers"))
CONFIDENCE = "0.999"


@dataclass(frozen=True)
class Case:
    """A target, its environment and claim: terms, or the name of a function that states them."""

    name: str
    python: Path
    target: str
    claim: Claim | str
    family: Any
    options: dict[str, Any]


FEW = ScoreVectors(sizes=(2, 3))
LABELS = RowSets(["a", "b"], "add_remove", sizes=(0, 1))
SMALL = RowSets([0, 1], sizes=(0, 2))
FLOATS = RowSets([0.0, 1.0], sizes=(0, 2))
SIZE: dict[str, Any] = {"float_bits": False}
CASES = [
    Case(
        "OpenDP 0.15.1, noisy max under zCDP",
        OLD,
        "noisy_max",
        "noisy_max_claim",
        ScoreVectors(sizes=(2, 3)),
        {},
    ),
    Case("OpenDP 0.16.0, noisy max under zCDP", NEW, "noisy_max", "noisy_max_claim", FEW, {}),
    Case("OpenDP 0.15.1, stable histogram (2922)", OLD, "stable_histogram", "stable_histogram_claim", LABELS, {}),
    Case("OpenDP 0.16.0, stable histogram (2922)", NEW, "stable_histogram", "stable_histogram_claim", LABELS, {}),
    Case("diffprivlib, geometric", NEW, "geometric_count", Claim(1), SMALL, {}),
    Case("diffprivlib, Laplace", NEW, "laplace_sum", Claim(1), FLOATS, {}),
    Case("diffprivlib, exponential", NEW, "exponential", Claim(1), ScoreVectors(), {}),
    Case("float Gaussian, event of its σ", OLD, "gaussian_sum", "gaussian_event", FLOATS, SIZE),
    Case("float Gaussian, event of 1.5 σ", OLD, "gaussian_sum", "too_private_event", FLOATS, SIZE),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=50, help="for each mechanism")
    parser.add_argument("--only", default="", help="mechanisms whose name contains this")
    options = parser.parse_args()
    print(f"{'mechanism':44} {'verdict':12} {'measured':>8} {'claimed':>8}  figure")
    for case in (case for case in CASES if options.only in case.name):
        start = perf_counter()
        with InEnvironment(case.python, f"audit_targets:{case.target}", FOLDER) as mechanism:
            claim = mechanism.claim(case.claim) if isinstance(case.claim, str) else case.claim
            found = audit(mechanism, claim, case.family, confidence=CONFIDENCE, seconds=options.seconds, **case.options)
        evidence, took = found.evidence, perf_counter() - start
        figures = f"{evidence.measured:8.4g} {evidence.claimed:8.4g}  {evidence.figure:18}"
        print(f"{case.name:44} {found.verdict:12} {figures} {took:5.1f} s  {found.event[:60]}", flush=True)


if __name__ == "__main__":
    main()
