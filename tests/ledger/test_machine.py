"""A ledger against a model of a few lines, under any order of calls."""

from __future__ import annotations

import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule
from ledger.promises import at_most, promise
from support.effort import examples

from dpmine.errors import BadParameter, BudgetExceeded
from dpmine.ledger.ledger import Ledger, Receipt

NAMES = st.sampled_from(["shop", "barn"])
PARTS = st.sampled_from(["", "/north", "/south", "/east"])
NUMBERS = st.fractions(Fraction(1, 12), 2, max_denominator=12)
DELTAS = st.fractions(0, Fraction(1, 4), max_denominator=12)
Pair = tuple[Fraction, Fraction]


class Model:
    """Parts by index, kept as a list of charges that is summed afresh each time."""

    def __init__(self) -> None:
        self.granted: dict[str, Pair] = {}
        self.charges: dict[str, list[tuple[str, Fraction, Fraction]]] = {}

    def spent(self, name: str) -> Pair:
        return self._spent(name, 1), self._spent(name, 2)

    def _spent(self, name: str, which: int) -> Fraction:
        rows = self.charges.get(name, [])
        sums = dict[str, Fraction]()
        for row in rows:
            sums[row[0]] = sums.get(row[0], Fraction()) + (row[1] if which == 1 else row[2])
        whole = sums.pop("", Fraction())
        return max([whole, *(whole + amount for amount in sums.values())])

    def fits(self, name: str, charge: tuple[str, Fraction, Fraction]) -> bool:
        self.charges.setdefault(name, []).append(charge)
        fits = all(spent <= granted for spent, granted in zip(self.spent(name), self.granted[name], strict=True))
        self.charges[name].pop()
        return fits


class LedgerMachine(RuleBasedStateMachine):
    """Every call does what the model does, or is refused where the model refuses."""

    receipts = Bundle("receipts")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="dpmine-ledger-"))
        self.ledger, self.model, self.entries = Ledger(f"sqlite:///{self.folder / 'b.db'}"), Model(), 0
        self.granting("shop", Fraction(2), Fraction(1, 4))

    def teardown(self) -> None:
        del self.ledger
        shutil.rmtree(self.folder)

    def granting(self, name: str, epsilon: Fraction, delta: Fraction) -> None:
        self.ledger.grant(name, epsilon=epsilon, delta=delta, parts="by_index")
        self.model.granted[name] = epsilon, delta
        self.entries += 1

    @rule(name=NAMES, epsilon=st.integers(1, 6), delta=DELTAS)
    def grant(self, name: str, epsilon: int, delta: Fraction) -> None:
        spent = self.model.spent(name)
        if spent[0] <= epsilon and spent[1] <= delta:
            self.granting(name, Fraction(epsilon), delta)
        else:
            with pytest.raises(BudgetExceeded):
                self.ledger.grant(name, epsilon=epsilon, delta=delta, parts="by_index")

    @rule(target=receipts, name=NAMES, part=PARTS, epsilon=NUMBERS, delta=DELTAS, settles=st.booleans())
    def charge(self, name: str, part: str, epsilon: Fraction, delta: Fraction, settles: bool) -> object:
        guarantee = at_most(epsilon, delta) if settles else promise(epsilon, delta)
        charge = (part[1:], epsilon, delta)
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
        if settles:
            return receipt, epsilon, delta
        with pytest.raises(BadParameter):
            self.ledger.settle(receipt, epsilon)
        return multiple()

    @rule(reserved=consumes(receipts), share=st.fractions(0, Fraction(5, 4), max_denominator=4))
    def settle(self, reserved: tuple[Receipt, Fraction, Fraction], share: Fraction) -> None:
        receipt, epsilon, delta = reserved
        price = share * epsilon
        if not 0 < share <= 1:
            with pytest.raises(BadParameter):
                self.ledger.settle(receipt, price)
            return
        self.ledger.settle(receipt, price)
        rows = self.model.charges[receipt.dataset]
        rows[rows.index((receipt.part, epsilon, delta))] = (receipt.part, price, delta)
        self.entries += 1
        with pytest.raises(BadParameter):
            self.ledger.settle(receipt, price)

    @rule()
    def reopen(self) -> None:
        self.ledger = Ledger(f"sqlite:///{self.folder / 'b.db'}")

    @invariant()
    def agrees(self) -> None:
        assert self.ledger.verify() == self.entries
        for budget in self.ledger.budgets():
            found = budget.spent.epsilon, budget.spent.delta
            assert found == self.model.spent(budget.dataset)
            granted = budget.granted.epsilon, budget.granted.delta
            assert granted == self.model.granted[budget.dataset]
            assert found[0] <= granted[0]
            assert found[1] <= granted[1]


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(
    max_examples=examples(15), stateful_step_count=15, derandomize=True, suppress_health_check=list(HealthCheck)
)
