"""Totals once anything is charged: no sequence of grants trades one number for another."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ledger.promises import at_most, promise
from support.effort import examples

from dpmine.errors import BudgetExceeded
from dpmine.ledger.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.ledger.budget import Amount

GRANTS = st.tuples(st.sampled_from(["1", "2", "3"]), st.sampled_from(["1e-6", "1e-5", "1e-4"]))
CHARGES = st.sampled_from([promise("1/2"), promise("1", "1e-6"), at_most("3/2")])


def totals(ledger: Ledger) -> list[Amount]:
    """All that were in force once anything was charged, in order."""
    history = ledger.history("shop")
    first = next((entry.number for entry in history if entry.kind != "grant"), len(history) + 1)
    grants = [entry for entry in history if entry.kind == "grant"]
    before = [entry.amount for entry in grants if entry.number < first]
    return before[-1:] + [entry.amount for entry in grants if entry.number > first]


def require_rising(ledger: Ledger) -> None:
    """The invariants: no total is smaller in any number than one before it, and what is spent fits into the last."""
    budget = ledger.budget("shop")
    assert all(new.fits(old, budget.accounting) for old, new in pairwise(totals(ledger)))
    assert budget.granted.fits(budget.spent, budget.accounting)
    assert ledger.verify() == budget.entries


def test_epsilon_is_not_exchanged_for_delta_in_two_grants(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=3, delta="1e-6")
    ledger.charge("shop", promise("1/2"), job="")
    message = r"neither ε nor δ of its total may fall then: grant at least ε = 3, δ = 1e-06, with a larger --epsilon"
    for terms in [("1", "1e-6"), ("1", "1e-4"), ("4", "1e-7"), ("1/2", "0")]:
        with pytest.raises(BudgetExceeded, match=message):
            ledger.grant("shop", epsilon=terms[0], delta=terms[1])
    assert ledger.grant("shop", epsilon=3, delta="1e-4").entries == 3
    require_rising(ledger)


@pytest.mark.parametrize("accounting", ["basic", "zcdp"])
@settings(max_examples=examples(12), deadline=None, derandomize=True)
@given(steps=st.lists(st.one_of(GRANTS, CHARGES), min_size=2, max_size=6))
@example(steps=[promise("1/2"), ("1", "1e-6"), ("1", "1e-4")])
def test_no_sequence_of_grants_and_charges_lowers_a_total(accounting: str, steps: Sequence[object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(f"sqlite:///{folder}/budget.db")
        ledger.grant("shop", epsilon=3, delta="1e-6", accounting=accounting)
        for step in steps:
            before = ledger.budget("shop")
            try:
                if isinstance(step, tuple):
                    ledger.grant("shop", epsilon=step[0], delta=step[1])
                else:
                    receipt = ledger.charge("shop", step, job="")  # type: ignore[arg-type]
                    if step == at_most("3/2"):
                        ledger.settle(receipt, Fraction(1, 10))
            except BudgetExceeded:
                assert ledger.budget("shop") == before
        require_rising(ledger)


@pytest.mark.slow
def test_processes_that_grant_at_once_trade_nothing(url: str) -> None:
    ledger = Ledger(url)
    ledger.grant("shop", epsilon=1, delta="1e-6")
    ledger.charge("shop", promise("1/2"), job="")
    code = (
        "import sys\nfrom dpmine.errors import BudgetExceeded\nfrom dpmine.ledger.ledger import Ledger\n"
        "for epsilon, delta in zip(*[iter(sys.argv[2:])] * 2):\n"
        "    try:\n        Ledger(sys.argv[1]).grant('shop', epsilon=epsilon, delta=delta)\n"
        "    except BudgetExceeded:\n        pass\n"
    )
    lists = [["4", "1e-6", "1", "1e-6", "1", "4e-6"], ["1", "5e-6", "1", "1e-6", "5", "1e-6"]] * 3
    processes = [subprocess.Popen([sys.executable, "-c", code, url, *terms], stderr=subprocess.PIPE) for terms in lists]
    assert [process.communicate(timeout=300)[1] for process in processes] == [b""] * len(lists)
    assert len(totals(ledger)) > 1
    require_rising(ledger)
