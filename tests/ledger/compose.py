"""The ε that dp_accounting finds for every exported composition: run where that library is installed.

Arguments: the exported file, δ. Prints a JSON list.
"""

import json
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import dp_accounting
import numpy as np
from dp_accounting.rdp import RdpAccountant

ORDERS = 1 + np.logspace(-2, 4, 20001)


def tuples(value: Any) -> Any:
    """Objects as named tuples, which the library reads."""
    if isinstance(value, dict):
        return namedtuple("Event", value)(*map(tuples, value.values()))  # noqa: PYI024
    return [tuples(each) for each in value] if isinstance(value, list) else value


def main(path: str, delta: str) -> None:
    found = []
    for composition in json.loads(Path(path).read_text(encoding="utf-8"))["datasets"]:
        accountant = RdpAccountant(orders=ORDERS)
        accountant.compose(dp_accounting.DpEvent.from_named_tuple(tuples(composition["event"])))
        found.append(accountant.get_epsilon(float(delta)))
    json.dump(found, sys.stdout)


main(*sys.argv[1:])
