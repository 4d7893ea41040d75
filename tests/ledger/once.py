"""A process that charges every week once, as fast as it can, beside others. Arguments: URL, file for its successes."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

from dpmine.errors import AlreadyCharged
from dpmine.ledger.ledger import Ledger
from dpmine.privacy import Guarantee, Neighbors

WEEKS = 12
SHARE = Fraction(1, 13)


def main(url: str, path: str) -> None:
    ledger = Ledger(url)
    with Path(path).open("w", encoding="utf-8") as won:
        for week in range(WEEKS):
            try:
                guarantee = Guarantee(SHARE, Fraction(0), Neighbors.REPLACE_ONE)
                ledger.once(f"pairs week {week}").charge("shop", guarantee, job="top-itemset")
                won.write(f"{week}\n")
            except AlreadyCharged:
                continue


if __name__ == "__main__":
    main(*sys.argv[1:])
