"""The other side of `InEnvironment`: runs a target where it is installed. It needs Python alone, and imports no dpmine.

Called as: python worker.py MODULE FUNCTION. Each line of standard input is a question in JSON, and each line of output
the answer. {"data": …, "count": n} asks for outcomes, {"claim": NAME} for what the module's function NAME claims.
"""

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

GRID = [step / 10 for step in range(161)]
"""The ε at which events of dp_accounting are evaluated."""


def plain(outcome: object) -> object:
    """The outcome as JSON has it: arrays and tuples as lists, sets in order, keys as texts."""
    if hasattr(outcome, "tolist"):
        return plain(outcome.tolist())
    if isinstance(outcome, dict):
        return {str(key): plain(value) for key, value in outcome.items()}
    if isinstance(outcome, (set, frozenset)):
        return sorted(map(plain, outcome), key=repr)
    if isinstance(outcome, (list, tuple)):
        return [plain(entry) for entry in outcome]
    return outcome if outcome is None or isinstance(outcome, (bool, int, float, str)) else repr(outcome)


def run(target: Callable[[Any], object], data: object) -> object:
    """One outcome in a list, or the name of the class of what was raised."""
    try:
        return [plain(target(data))]
    except Exception as error:  # noqa: BLE001 - whatever a stranger's code raises can be seen from outside
        return type(error).__name__


def claimed(claim: object) -> object:
    """The terms of a claim; of an event of dp_accounting its privacy profile, in steps that are never too low."""
    if isinstance(claim, dict):
        return plain(claim)
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    accountant.compose(claim)
    return {"profile": [[epsilon, float(accountant.get_delta(epsilon))] for epsilon in GRID]}


def main() -> None:
    """Answer until there are no questions."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the target prints is no answer
    sys.path[0] = str(os.getcwd())  # noqa: PTH109 - as for a script that stands there
    module = import_module(sys.argv[1])
    target = getattr(module, sys.argv[2])
    for line in sys.stdin:
        question = json.loads(line)
        if "claim" in question:
            answer = claimed(getattr(module, question["claim"])())
        else:
            answer = [run(target, question["data"]) for _ in range(question["count"])]
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
