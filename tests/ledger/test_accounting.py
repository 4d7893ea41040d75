"""zCDP accounting: how many runs fit, which terms may change, and what a budget says of itself."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from ledger.guarantees import ADD, at_most, guarantee
from sqlalchemy import event

import dpmine
from dpmine.errors import BadParameter, BudgetExceeded
from dpmine.ledger import records
from dpmine.ledger.budget import Accounting, Amount, Budget, Parts, kept_rho
from dpmine.ledger.ledger import Ledger
from dpmine.ledger.records import Kind
from dpmine.privacy import Guarantee, Neighbors, Zcdp
from dpmine.selection.top_k import OneShot
from dpmine.zcdp import epsilon_at, rho_at

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.fixture
def local(file: Path) -> Ledger:
    """Of this machine: what is asked here does not depend on the store."""
    return Ledger(f"sqlite:///{file}")


def exponential(epsilon: str) -> Guarantee:
    """What `dpmine.select` reports of one run of the exponential mechanism."""
    return dpmine.select([90, 20], mechanism="exponential", epsilon=epsilon, unit="customer").guarantee


def fitting(epsilon: str, delta: str, run: Guarantee, share: str = "0") -> int:
    """How many of these runs a new grant takes, by the budget's own rule."""
    granted = Amount.granted(Fraction(epsilon), Fraction(delta), Fraction(share))
    budget = Budget("shop", Neighbors.REPLACE_ONE, Parts.NONE, granted, accounting=Accounting.ZCDP)
    amount, count = Amount.of(run), 0
    while True:
        try:
            budget, count = budget.charging("", amount), count + 1
        except BudgetExceeded:
            return count


@pytest.mark.parametrize(
    ("grant", "epsilon", "least"),
    [(("3", "1e-5"), "0.1", 175), (("3", "1e-5"), "0.05", 700), (("2.1", "1e-6"), "0.1", 52)],
)
def test_small_runs_are_many(grant: tuple[str, str], epsilon: str, least: int) -> None:
    count = fitting(*grant, exponential(epsilon))
    assert count >= least
    rho = Fraction(epsilon) ** 2 / 8
    assert (
        epsilon_at(count * rho, Fraction(grant[1]))
        <= Fraction(grant[0])
        < epsilon_at((count + 1) * rho, Fraction(grant[1]))
    )
    assert count > Fraction(grant[0]) / Fraction(epsilon)  # what basic accounting allows


@pytest.mark.parametrize("accounting", [pytest.param("basic", id="basic"), "zcdp"])
def test_a_ledger_takes_as_many(ledger: Ledger, accounting: str) -> None:
    ledger.grant("shop", epsilon=1, delta="1e-5", accounting=accounting, approximate_delta=None)
    run = exponential("0.2")
    count = 5 if accounting == "basic" else fitting("1", "1e-5", run, "5e-6")
    for number in range(count):
        ledger.charge("shop", run, job=f"run {number}")
    with pytest.raises(BudgetExceeded, match=r"requested .* remaining .* short by"):
        ledger.charge("shop", run, job="one too many")
    assert ledger.verify() == count + 1


def test_what_a_run_costs_is_what_its_mechanism_proves(local: Ledger) -> None:
    """Of bounded range: ε²/8; of any other: ε²/2, and its δ."""
    local.grant("shop", epsilon=3, delta="1e-5", accounting="zcdp")
    runs = {
        "exponential": ("1/5", Fraction(1, 25) / 8, Fraction(0)),
        "max_of_exponentials": ("1/5", Fraction(1, 25) / 2, Fraction(0)),
        "stable_maximiser": ("1/5", Fraction(1, 25) / 2, Fraction(1, 10**6)),
    }
    for number, (mechanism, (epsilon, rho, delta)) in enumerate(runs.items(), start=1):
        dpmine.select(
            [900, 20], mechanism=mechanism, epsilon=epsilon, delta=delta, unit="x", ledger=local, dataset="shop"
        )
        entry = local.history("shop")[number]
        assert (entry.accounting, Fraction(entry.rho), Fraction(entry.approximate_delta)) == ("zcdp", rho, delta)
    assert local.verify() == 4


def test_a_list_costs_what_its_rounds_do(local: Ledger) -> None:
    """k rounds at ε_0, of bounded range, and nothing of δ: that is slack of the list's own composition."""
    local.grant("shop", epsilon=3, delta="1e-5", accounting="zcdp", approximate_delta=0)
    chooser = OneShot.of(20, Fraction(1), Fraction(1, 10**6), Neighbors.REPLACE_ONE)
    local.charge("shop", chooser.guarantee(), job="list")
    spent = local.budget("shop").spent
    assert (spent.epsilon, spent.delta) == (Fraction(1), Fraction(1, 10**6))
    assert spent.approximate_delta == 0
    assert spent.rho == kept_rho(20 * chooser.mechanism.epsilon**2 / 8) < Fraction(1, 2)


def test_approximate_runs_use_their_own_share_of_delta(local: Ledger) -> None:
    local.grant("shop", epsilon=3, delta="1e-5", accounting="zcdp", approximate_delta="2e-6")
    local.charge("shop", guarantee("0.1", "1e-6"), job="")
    local.charge("shop", guarantee("0.1", "1e-6"), job="")
    with pytest.raises(
        BudgetExceeded, match=r"ρ is left, but not enough of the δ .* `catalogue=…`.* `approximate_delta=…`"
    ):
        local.charge("shop", guarantee("0.1", "1e-9"), job="")
    with pytest.raises(BudgetExceeded, match="Ask for less"):
        local.charge("shop", guarantee("3", "1e-9"), job="")
    local.charge("shop", guarantee("0.1"), job="")
    remaining = local.budget("shop").remaining
    assert remaining.delta == remaining.approximate_delta == 0
    assert remaining.rho > 0
    assert local.grant("shop", epsilon=3, delta="2e-5", approximate_delta="3e-6").remaining.delta == Fraction(1, 10**6)
    assert local.verify() == 5


def test_a_share_of_nothing_takes_no_approximate_run(local: Ledger) -> None:
    local.grant("shop", epsilon=3, delta="1e-5", accounting="zcdp", approximate_delta=0)
    with pytest.raises(BudgetExceeded, match="ρ is left"):
        local.charge("shop", guarantee("0.1", "1e-30"), job="")
    local.charge("shop", guarantee("0.1"), job="")


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({}, "needs a delta above 0"),
        ({"delta": 0}, "needs a delta above 0"),
        ({"delta": "1e-5", "approximate_delta": "1e-5"}, "less than it"),
        ({"delta": "1e-5", "approximate_delta": "1/2"}, "less than it"),
        ({"delta": "1e-5", "approximate_delta": 1}, "approximate_delta"),
        ({"delta": "1e-5", "approximate_delta": -1}, "approximate_delta"),
        ({"delta": "1e-5", "approximate_delta": "1e-999"}, "780 digits"),
        ({"epsilon": "1e-60", "delta": "1e-99"}, "No ρ is left"),
        ({"accounting": "rdp"}, "accounting"),
        ({"accounting": "basic", "delta": "1e-5", "approximate_delta": "1e-6"}, "belongs to zcdp accounting"),
        ({"accounting": None, "approximate_delta": "1e-6"}, "belongs to zcdp accounting"),
    ],
)
def test_totals_that_make_no_sense(local: Ledger, terms: dict[str, object], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        local.grant("shop", **{"epsilon": 1, "accounting": "zcdp", **terms})  # type: ignore[arg-type]
    local.grant("other", epsilon=1)
    assert local.known("shop") is None


def test_the_first_charge_fixes_the_accounting(ledger: Ledger) -> None:
    assert ledger.grant("shop", epsilon=1, delta="1e-5").accounting is Accounting.BASIC
    assert ledger.grant("shop", epsilon=1, accounting="zcdp").granted.approximate_delta == Fraction(1, 200000)
    assert ledger.grant("shop", epsilon=2).accounting is Accounting.ZCDP
    ledger.charge("shop", guarantee("0.1"), job="")
    with pytest.raises(BadParameter, match="charges under zcdp accounting, which the first charge fixed"):
        ledger.grant("shop", epsilon=1, delta="1e-5", accounting="basic")
    assert ledger.grant("shop", epsilon=3).accounting is Accounting.ZCDP
    ledger.grant("barn", epsilon=1, delta="1e-5", accounting="zcdp")
    assert ledger.grant("barn", epsilon=1, accounting="basic").granted == Amount(Fraction(1), Fraction(1, 10**5))
    ledger.charge("barn", guarantee("0.1"), job="")
    with pytest.raises(BadParameter, match="charges under basic accounting"):
        ledger.grant("barn", epsilon=1, accounting="zcdp")
    assert ledger.verify() == 8


def test_a_run_of_no_cost_fixes_it_too(local: Ledger) -> None:
    local.grant("shop", epsilon=1, delta="1e-5", accounting="zcdp")
    local.charge("shop", guarantee("0"), job="")
    with pytest.raises(BadParameter, match="first charge fixed"):
        local.grant("shop", epsilon=1, accounting="basic")


def test_a_regrant_without_delta_keeps_its_share(local: Ledger) -> None:
    local.grant("shop", epsilon=1, delta="1e-5", accounting="zcdp", approximate_delta="1e-6")
    first = local.budget("shop").granted
    assert local.grant("shop", epsilon=1).granted == first
    more = local.grant("shop", epsilon=2).granted
    assert (more.delta, more.approximate_delta) == (first.delta, first.approximate_delta)
    assert more.rho > first.rho
    assert local.grant("shop", epsilon=2, delta="1e-4").granted.approximate_delta == Fraction(1, 20000)


def test_a_regrant_never_falls_below_the_first(local: Ledger) -> None:
    local.grant("shop", epsilon=2, delta="1e-5", accounting="zcdp", approximate_delta="5e-6")
    for _ in range(5):
        local.charge("shop", guarantee("0.1", "1e-6"), job="")
    for terms in (
        {"epsilon": "0.1", "delta": "1e-5"},
        {"epsilon": 2, "delta": "1e-5", "approximate_delta": "4e-6"},
        {"epsilon": 2, "delta": "5e-6"},
    ):
        with pytest.raises(BudgetExceeded, match=r"may fall then: grant at least ρ = .*, δ = 5e-06"):
            local.grant("shop", **terms)
    assert local.grant("shop", epsilon="2.5", delta="1e-5", approximate_delta="5e-6").entries == 7


@pytest.mark.parametrize(
    "terms", [("1", "1e-5", "1e-6"), ("2", "1e-5", "9e-6"), ("3", "2e-5", "1e-7"), ("1.5", "2e-5", "5e-6")]
)
def test_a_charged_total_is_never_exchanged(ledger: Ledger, terms: tuple[str, str, str]) -> None:
    """ρ given up for δ after a result was seen, or the other way: together they would allow more than either total."""
    epsilon, delta, share = terms
    ledger.grant("shop", epsilon=2, delta="1e-5", accounting="zcdp", approximate_delta="1e-6")
    ledger.grant("shop", epsilon=2, delta="1e-5", accounting="zcdp", approximate_delta="5e-6")
    ledger.charge("shop", guarantee("0.1"), job="")
    with pytest.raises(BudgetExceeded, match="neither ρ nor the δ for approximate parts of its total may fall"):
        ledger.grant("shop", epsilon=epsilon, delta=delta, approximate_delta=share)
    assert ledger.grant("shop", epsilon=2, delta="2e-5", approximate_delta="5e-6").entries == 4
    assert ledger.verify() == 4


@pytest.mark.parametrize(("rule", "neighbors"), [("by_unit", ADD), ("by_index", Neighbors.REPLACE_ONE)])
def test_parts_count_once_rho_and_delta_apart(ledger: Ledger, rule: str, neighbors: Neighbors) -> None:
    terms: dict[str, Any] = {"accounting": "zcdp", "approximate_delta": "1e-2", "neighbors": neighbors, "parts": rule}
    ledger.grant("shop", epsilon=3, delta="2e-2", **terms)
    charges = [("", "0.3", "1e-3"), ("/north", "0.4", "2e-3"), ("/south", "0.6", "1e-3"), ("/north", "0.2", "0")]
    for part, epsilon, delta in charges:
        ledger.charge(f"shop{part}", guarantee(epsilon, delta, neighbors), job="")
    budget = ledger.budget("shop")
    assert budget.charged["north"].rho == Fraction(10, 100)
    assert budget.spent.rho == Fraction(45, 1000) + Fraction(18, 100)
    assert budget.spent.approximate_delta == Fraction(3, 1000)
    assert budget.remaining_of("north").rho - budget.remaining.rho == Fraction(8, 100)
    assert budget.remaining_of("south").delta - budget.remaining.delta == Fraction(1, 1000)
    ledger.charge("shop/west", guarantee("0.6", "1e-3", neighbors), job="")
    assert ledger.budget("shop").spent == budget.spent
    assert ledger.verify() == 6


def test_a_search_that_does_not_fit_says_where_it_does(local: Ledger) -> None:
    local.grant("shop", epsilon=1, delta="1e-5", accounting="zcdp")
    with pytest.raises(BudgetExceeded, match=r"requested ρ = 50, .*searches on a data set with basic accounting"):
        local.charge("shop", at_most("10"), job="search")
    assert local.budget("shop").entries == 1


def test_a_reservation_keeps_its_rho(ledger: Ledger) -> None:
    """What a run came to, by its outcome, bounds no Rényi divergence: only ε is given back."""
    ledger.grant("shop", epsilon=3, delta="1e-5", accounting="zcdp")
    receipt = ledger.charge("shop", at_most("1/2", "1e-6"), job="search")
    reserved = ledger.budget("shop").spent
    assert reserved == Amount(Fraction(1, 2), Fraction(1, 10**6), Fraction(1, 8), Fraction(1, 10**6))
    ledger.settle(receipt, "1/10")
    settled = ledger.budget("shop").spent
    assert settled == Amount(Fraction(1, 10), Fraction(1, 10**6), Fraction(1, 8), Fraction(1, 10**6))
    last = ledger.history("shop")[-1]
    assert (last.kind, last.epsilon, last.rho, last.approximate_delta) == ("settle", "1/10", "1/8", "1/1000000")
    with pytest.raises(BadParameter, match="open reservation"):
        ledger.settle(receipt, "1/20")
    assert ledger.verify() == 3


def test_sums_stay_short(local: Ledger) -> None:
    """ρ has 30 digits at most, rounded up, whatever ε was: sums of any number of them can be kept."""
    local.grant("shop", epsilon=9, delta="1e-5", accounting="zcdp")
    runs = [Fraction(1, 3**7), Fraction(22, 7**5), Fraction(1, 10**60), Fraction(1, 997), Fraction(10**15 + 1, 10**16)]
    for epsilon in runs:
        local.charge("shop", guarantee(epsilon), job="")
    spent = local.budget("shop").spent.rho
    exact = sum((epsilon**2 / 2 for epsilon in runs), Fraction())
    assert 0 <= spent - exact < Fraction(1, 10**29)
    assert len(str(spent)) < 240
    for entry in local.history("shop")[1:]:
        digits = str(Fraction(entry.rho) * 10**131).strip("0")
        assert "/" not in digits
        assert len(digits) <= 30
    assert json.dumps(local.budget("shop").to_dict())
    assert local.verify() == 6


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**390), Fraction(3**400 + 1, 3**401), Fraction(1, 7**400)])
@pytest.mark.parametrize("accounting", ["basic", "zcdp"])
def test_numbers_of_many_digits_are_kept(local: Ledger, epsilon: Fraction, accounting: str) -> None:
    local.grant("shop", epsilon=9, delta="1e-5", accounting=accounting)
    local.charge("shop", guarantee(epsilon), job="")
    spent = local.budget("shop").spent
    assert spent.epsilon == epsilon
    assert epsilon**2 / 2 <= spent.rho
    assert local.verify() == 2
    assert json.loads(local.export())["datasets"][0]["spent"]["epsilon_exact"] == str(epsilon)


@pytest.mark.parametrize("order", list(permutations(range(4)))[::5])
def test_the_order_of_charges_does_not_matter(local: Ledger, order: Sequence[int]) -> None:
    runs = [guarantee("1/3"), guarantee("1/7", "1/10000"), exponential("1/11"), at_most("1/9", "1/999999")]
    local.grant("shop", epsilon=3, delta="1e-2", accounting="zcdp")
    for number in order:
        local.charge("shop", runs[number], job="")
    spent = local.budget("shop").spent
    assert spent == Amount.total(map(Amount.of, runs))
    assert spent.rho == sum(
        map(kept_rho, [Fraction(1, 18), Fraction(1, 98), Fraction(1, 968), Fraction(1, 162)]), Fraction()
    )


def test_what_remains_can_be_spent(local: Ledger) -> None:
    """The ε that is said to remain is that of one more pure run; a little more does not fit."""
    local.grant("shop", epsilon=1, delta="1e-5", accounting="zcdp", approximate_delta=0)
    for _ in range(3):
        remaining = local.budget("shop").remaining
        assert remaining.epsilon**2 / 2 <= remaining.rho
        with pytest.raises(BudgetExceeded):
            local.charge("shop", guarantee(remaining.epsilon * Fraction(10**9 + 1, 10**9)), job="")
        local.charge("shop", guarantee(remaining.epsilon * Fraction(9, 10)), job="")
    local.charge("shop", guarantee(local.budget("shop").remaining.epsilon), job="all")
    assert local.budget("shop").remaining.rho < Fraction(1, 10**14)


def test_the_guarantee_of_all_charges(local: Ledger) -> None:
    local.grant("shop", epsilon=1, delta="1e-5", accounting="zcdp", approximate_delta="1e-6")
    assert local.budget("shop").guarantee == Amount()
    last = Fraction()
    for _ in range(8):
        local.charge("shop", exponential("0.1"), job="")
        found = local.budget("shop").guarantee
        assert last < found.epsilon
        assert found.delta == Fraction(9, 10**6)  # no run had a δ of its own
        last = found.epsilon
    rho = 8 * Fraction(1, 800)
    exact = epsilon_at(rho, Fraction(9, 10**6))
    assert exact <= last <= exact * (1 + Fraction(1, 10**13))
    local.charge("shop", guarantee(local.budget("shop").remaining.epsilon), job="all")
    assert local.budget("shop").guarantee.epsilon <= 1


def test_the_guarantee_under_basic_accounting(local: Ledger) -> None:
    local.grant("shop", epsilon=1, delta="1e-5")
    local.charge("shop", guarantee("1/3", "1e-6"), job="")
    assert local.budget("shop").guarantee == Amount(Fraction(1, 3), Fraction(1, 10**6))
    assert local.budget("shop").remaining == Amount(Fraction(2, 3), Fraction(9, 10**6))


def test_a_budget_as_json(local: Ledger) -> None:
    local.grant("shop", epsilon=1, delta="1e-5", accounting="zcdp", approximate_delta="1e-6")
    local.charge("shop", guarantee("1/5", "1e-7"), job="")
    local.grant("barn", epsilon=1)
    barn, shop = (budget.to_dict() for budget in local.budgets())
    assert (barn["accounting"], shop["accounting"]) == ("basic", "zcdp")
    assert barn["granted"].keys() == {"epsilon", "delta", "epsilon_exact", "delta_exact"}
    assert shop["granted"].keys() == shop["spent"].keys() == shop["remaining"].keys() == barn["spent"].keys()
    assert (shop["granted"]["epsilon_exact"], shop["granted"]["delta_exact"]) == ("1", "1/100000")
    assert (shop["spent"]["rho"], shop["spent"]["rho_exact"]) == (0.02, "1/50")
    assert shop["remaining"]["approximate_delta_exact"] == "9/10000000"
    assert shop["guarantee"]["epsilon"] > 0.2
    assert shop["guarantee"]["delta_exact"] == "91/10000000"
    assert json.loads(json.dumps(shop)) == shop


@pytest.mark.parametrize("proved", [Zcdp(Fraction(-1)), Zcdp(Fraction(0), Fraction(-1, 2)), Zcdp(float("nan"))])  # type: ignore[arg-type]
def test_no_proof_gives_budget_back(local: Ledger, proved: Zcdp) -> None:
    local.grant("shop", epsilon=1, delta="1e-5", accounting="zcdp")
    with pytest.raises(BadParameter):
        local.charge("shop", Guarantee(Fraction(1, 2), Fraction(0), Neighbors.REPLACE_ONE, concentrated=proved), job="")
    assert len(local.history("shop")) == 1


@pytest.mark.parametrize(
    ("rho", "share", "accounting"),
    [("1/2", "0", "basic"), ("0", "1/9", "basic"), ("9", "0", "zcdp"), ("0", "0", "zcdp"), ("1/99", "1/5", "zcdp")],
)
def test_totals_that_epsilon_and_delta_do_not_bear_out(rho: str, share: str, accounting: str) -> None:
    amount = Amount(Fraction(1), Fraction(1, 10), Fraction(rho), Fraction(share))
    assert not amount.is_total(Accounting(accounting))


@pytest.mark.parametrize("epsilon", ["1e-20", "1e-3", "1", "7", "1e6"])
@pytest.mark.parametrize("delta", ["1e-90", "1e-6", "1/2"])
def test_what_is_granted_is_borne_out(epsilon: str, delta: str) -> None:
    try:
        granted = Amount.granted(Fraction(epsilon), Fraction(delta))
    except BadParameter:
        assert (epsilon, delta) == ("1e-20", "1e-90")
        return
    assert granted.is_total(Accounting.ZCDP)
    assert granted.rho > rho_at(Fraction(epsilon), Fraction(delta) / 2) * (1 - Fraction(1, 10**14)), "15 digits"


def test_a_charge_writes_no_key(local: Ledger) -> None:
    """Or SQLite would look at every entry that refers to it, and charges would slow down as a history grows."""
    local.grant("shop", epsilon=1)
    local.charge("shop", guarantee("1/10"), job="")
    written = []
    with local._database.writing() as connection:
        event.listen(connection, "before_cursor_execute", lambda *told: written.append(told[2]))
        budget = records.find(connection, "shop")
        assert budget is not None
        amount = Amount.of(guarantee("1/10"))
        records.append(connection, budget.charging("", amount), Kind.CHARGE, "", amount)
    updates = [statement.partition(" WHERE ")[0] for statement in written if statement.startswith("UPDATE")]
    assert len(updates) == 2
    assert [key for key in ("dataset=", "part=") for update in updates if key in update.replace(" ", "")] == []
