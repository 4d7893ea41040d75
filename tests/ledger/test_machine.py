"""A ledger against a model of a few lines, under any order of calls; no grants trade one number for another."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule
from ledger.guarantees import at_most, bounded_range, guarantee
from support.effort import examples

from dpmine.errors import BadParameter, BudgetExceeded
from dpmine.ledger.ledger import Ledger, Receipt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpmine.ledger.budget import Amount
    from dpmine.privacy import Guarantee

NAMES = st.sampled_from(["shop", "barn"])
PARTS = st.sampled_from(["", "/north", "/south", "/east"])
KINDS = st.sampled_from(["basic", "zcdp"])
NUMBERS = st.fractions(Fraction(1, 12), 2, max_denominator=12)
DELTAS = st.fractions(0, Fraction(1, 4), max_denominator=12)
SHARES = st.fractions(0, 1, max_denominator=4)
Four = tuple[Fraction, Fraction, Fraction, Fraction]
RUNS: dict[str, Callable[[Fraction, Fraction], Guarantee]] = {
    "charge": guarantee,
    "reserve": at_most,
    "bounded range": bounded_range,
}


def rho_of(run: str, epsilon: Fraction) -> Fraction:
    """Of one charge, to 30 digits rounded up, by decimal arithmetic."""
    exact = epsilon**2 / (8 if run == "bounded range" else 2)
    return Fraction(Context(30, ROUND_CEILING).divide(Decimal(exact.numerator), Decimal(exact.denominator)))


def least_epsilon(rho: float, delta: float) -> float:
    """What ρ implies, by a plain search of orders: Canonne, Kamath & Steinke 2020, Proposition 12."""
    steps = (exp(step / 200) for step in range(-1000, 2000))
    return min(rho * (1 + t) - (log(delta) + log(1 + t)) / t - log(1 + 1 / t) for t in steps)


class Model:
    """Parts by index, kept as a list of charges that is summed afresh each time."""

    def __init__(self) -> None:
        self.kind: dict[str, str] = {}
        self.granted: dict[str, Four] = {}
        self.charges: dict[str, list[tuple[str, Four]]] = {}

    def spent(self, name: str) -> Four:
        one, two, three, four = (self._spent(name, which) for which in range(4))
        return one, two, three, four

    def _spent(self, name: str, which: int) -> Fraction:
        sums = dict[str, Fraction]()
        for part, amounts in self.charges.get(name, []):
            sums[part] = sums.get(part, Fraction()) + amounts[which]
        whole = sums.pop("", Fraction())
        return max([whole, *(whole + amount for amount in sums.values())])

    def allows(self, name: str, kind: str, granted: Four) -> bool:
        first = 0 if kind == "basic" else 2
        return all(self.spent(name)[which] <= granted[which] for which in (first, first + 1))

    def grants(self, name: str, kind: str, granted: Four) -> bool:
        """A charged total never falls: neither ε nor δ, under zCDP neither ρ nor the δ beside it."""
        if not self.charges.get(name):
            return True
        moves = [new - old for new, old in zip(granted, self.granted[name], strict=True)]
        return min(moves[:2] if kind == "basic" else moves[2:]) >= 0

    def fits(self, name: str, charge: tuple[str, Four]) -> bool:
        self.charges.setdefault(name, []).append(charge)
        fits = self.allows(name, self.kind[name], self.granted[name])
        self.charges[name].pop()
        return fits


class LedgerMachine(RuleBasedStateMachine):
    receipts = Bundle("receipts")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="dpmine-ledger-"))
        self.ledger, self.model, self.entries = Ledger(f"sqlite:///{self.folder / 'b.db'}"), Model(), 0

    def teardown(self) -> None:
        del self.ledger
        shutil.rmtree(self.folder)

    @initialize(kind=KINDS)
    def first(self, kind: str) -> None:
        self.grant("shop", kind, 2, Fraction(1, 4), Fraction(1, 2))

    @rule(name=NAMES, kind=KINDS, epsilon=st.integers(1, 6), delta=DELTAS, share=SHARES)
    def grant(self, name: str, kind: str, epsilon: int, delta: Fraction, share: Fraction) -> None:
        terms: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "parts": "by_index", "accounting": kind}
        if kind == "zcdp":
            terms["approximate_delta"] = share * delta
        impossible = kind == "zcdp" and not 0 <= share * delta < delta
        if impossible or (self.model.charges.get(name) and kind != self.model.kind[name]):
            with pytest.raises(BadParameter):
                self.ledger.grant(name, **terms)
            return
        total = self.model.granted.get(name), self.model.kind.get(name)
        try:
            granted = self.ledger.grant(name, **terms).granted
        except BudgetExceeded:
            assert name in self.model.granted
            assert not self.model.grants(name, kind, self.total(kind, epsilon, delta, share))
            assert (self.model.granted[name], self.model.kind[name]) == total
            return
        found = (granted.epsilon, granted.delta, granted.rho, granted.approximate_delta)
        assert found == self.total(kind, epsilon, delta, share)
        assert self.model.grants(name, kind, found)
        self.model.granted[name], self.model.kind[name] = found, kind
        self.entries += 1

    def total(self, kind: str, epsilon: int, delta: Fraction, share: Fraction) -> Four:
        """What is granted, ρ as another data set has it; it must be what ε is worth, to a millionth."""
        if kind == "basic":
            return Fraction(epsilon), delta, Fraction(0), Fraction(0)
        with tempfile.TemporaryDirectory() as folder:
            other = Ledger(f"sqlite:///{folder}/b.db")
            granted = other.grant("x", epsilon=epsilon, delta=delta, accounting=kind, approximate_delta=share * delta)
        worth = least_epsilon(float(granted.granted.rho), float(delta - share * delta))
        assert abs(worth - epsilon) < 1e-4 * epsilon
        return Fraction(epsilon), delta, granted.granted.rho, share * delta

    @rule(target=receipts, name=NAMES, part=PARTS, epsilon=NUMBERS, delta=DELTAS, run=st.sampled_from(sorted(RUNS)))
    def charge(self, name: str, part: str, epsilon: Fraction, delta: Fraction, run: str) -> object:
        guarantee = RUNS[run](epsilon, delta)
        charge = (part[1:], (epsilon, delta, rho_of(run, epsilon), delta))
        if name not in self.model.granted:
            with pytest.raises(BadParameter):
                self.ledger.charge(name + part, guarantee, job="")
            return multiple()
        if not self.model.fits(name, charge):
            with pytest.raises(BudgetExceeded):
                self.ledger.charge(name + part, guarantee, job="")
            return multiple()
        receipt = self.ledger.charge(name + part, guarantee, job="")
        self.model.charges.setdefault(name, []).append(charge)
        self.entries += 1
        if run == "reserve":
            return receipt, charge
        with pytest.raises(BadParameter):
            self.ledger.settle(receipt, epsilon)
        return multiple()

    @rule(reserved=consumes(receipts), share=st.fractions(0, Fraction(5, 4), max_denominator=4))
    def settle(self, reserved: tuple[Receipt, tuple[str, Four]], share: Fraction) -> None:
        receipt, charge = reserved
        settled = share * charge[1][0]
        if not 0 < share <= 1:
            with pytest.raises(BadParameter):
                self.ledger.settle(receipt, settled)
            return
        self.ledger.settle(receipt, settled)
        rows = self.model.charges[receipt.dataset]
        rows[rows.index(charge)] = (charge[0], (settled, *charge[1][1:]))
        self.entries += 1
        with pytest.raises(BadParameter):
            self.ledger.settle(receipt, settled)

    @rule()
    def reopen(self) -> None:
        self.ledger = Ledger(f"sqlite:///{self.folder / 'b.db'}")

    @invariant()
    def agrees(self) -> None:
        if not self.entries:  # before the first grant
            return
        assert self.ledger.verify() == self.entries
        for budget in self.ledger.budgets():
            assert str(budget.accounting) == self.model.kind[budget.dataset]
            assert tuple(budget.spent) == self.model.spent(budget.dataset)
            assert tuple(budget.granted) == self.model.granted[budget.dataset]
            assert self.model.allows(budget.dataset, self.model.kind[budget.dataset], tuple(budget.granted))  # type: ignore[arg-type]


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(
    max_examples=examples(20), stateful_step_count=15, derandomize=True, suppress_health_check=list(HealthCheck)
)


TOTALS = st.tuples(st.sampled_from(["1", "2", "3"]), st.sampled_from(["1e-6", "1e-5", "1e-4"]))
CHARGES = st.sampled_from([guarantee("1/2"), guarantee("1", "1e-6"), at_most("3/2")])


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
    ledger.charge("shop", guarantee("1/2"), job="")
    message = r"neither ε nor δ of its total may fall then: grant at least ε = 3, δ = 1e-06, with a larger `epsilon=…`"
    for terms in [("1", "1e-6"), ("1", "1e-4"), ("4", "1e-7"), ("1/2", "0")]:
        with pytest.raises(BudgetExceeded, match=message):
            ledger.grant("shop", epsilon=terms[0], delta=terms[1])
    assert ledger.grant("shop", epsilon=3, delta="1e-4").entries == 3
    require_rising(ledger)


@pytest.mark.parametrize("accounting", ["basic", "zcdp"])
@settings(max_examples=examples(12), deadline=None, derandomize=True)
@given(steps=st.lists(st.one_of(TOTALS, CHARGES), min_size=2, max_size=6))
@example(steps=[guarantee("1/2"), ("1", "1e-6"), ("1", "1e-4")])
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
    ledger.charge("shop", guarantee("1/2"), job="")
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
