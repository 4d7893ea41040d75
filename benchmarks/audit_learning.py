"""What private learning shows of one record, measured from outside, beside what it claims: every estimator.

Each form of training runs on two neighbouring data sets, chosen so that nothing hides the record, and one number of
what it releases is looked at. A bound above the claim would be a fault, with an error of 10^−6. One far below it means
a weak test, or more noise than the claim needs.
Usage: PYTHONPATH=tests python benchmarks/audit_learning.py [--runs 40000] [--only capped]
"""

from __future__ import annotations

import argparse
import warnings
from time import perf_counter

from support.gallery.learning import forms, shown


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40_000, help="runs on each side, after the pilot")
    parser.add_argument("--only", default="", help="forms whose name contains this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of the few records that are trained on
    print(f"{'form':36} claim ε, δ       shown ε  share   runs a side: {options.runs}")
    for name, form in forms().items():
        if options.only not in name:
            continue
        start, (claim, delta) = perf_counter(), form.claim
        found = shown(form, options.runs)
        verdict = "ABOVE THE CLAIM" if found > claim else ""
        took = perf_counter() - start
        print(
            f"{name:36} {claim:<5g} {delta:<9g} {found:7.2f}  {found / claim:5.2f}  {took:6.0f} s {verdict}", flush=True
        )


if __name__ == "__main__":
    main()
