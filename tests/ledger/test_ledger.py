"""What a ledger grants, charges, settles and refuses; the same in every store."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from ledger.guarantees import ADD, REPLACE, at_most, guarantee

from dpmine.errors import BadLedger, BadParameter, BudgetExceeded, NotPrivate
from dpmine.ledger import records
from dpmine.ledger.budget import Amount, kept_rho
from dpmine.ledger.ledger import Ledger, Receipt

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ledger.postgres import Cluster

    from dpmine.privacy import Guarantee


def spent(ledger: Ledger, dataset: str = "shop") -> tuple[str, str]:
    amount = ledger.budget(dataset).spent
    return str(amount.epsilon), str(amount.delta)


def test_sums_are_exact(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=1, delta="3/10")
    for _ in range(3):
        ledger.charge("shop", guarantee("1/3", "1/10"), job="top-itemset")
    assert spent(ledger) == ("1", "3/10")
    assert ledger.budget("shop").remaining == Amount()
    with pytest.raises(BudgetExceeded):
        ledger.charge("shop", guarantee(Fraction(1, 10**90)), job="one too many")
    assert ledger.verify() == 4


def test_floats_mean_their_decimals(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=0.3, delta=1e-6)
    for _ in range(3):
        ledger.charge("shop", guarantee("1/10"), job="")
    assert ledger.budget("shop").granted == Amount(Fraction(3, 10), Fraction(1, 10**6))
    assert ledger.budget("shop").remaining.epsilon == 0


def test_order_does_not_matter(ledger: Ledger) -> None:
    charges = [guarantee("1/3"), guarantee("1/7", "1/1000"), guarantee("0.1", "1/999"), guarantee("0")]
    for number, order in enumerate(permutations(charges)):
        ledger.grant(f"shop {number}", epsilon=1, delta="0.5")
        for charge in order:
            ledger.charge(f"shop {number}", charge, job="")
    epsilon, delta = sum((c.epsilon for c in charges), Fraction()), Fraction(1, 1000) + Fraction(1, 999)
    rho = sum((kept_rho(c.epsilon**2 / 2) for c in charges), Fraction())
    assert {budget.spent for budget in ledger.budgets()} == {Amount(epsilon, delta, rho, delta)}


@pytest.mark.parametrize(
    ("asked", "requested", "short"),
    [
        (guarantee("1/2"), "requested ε = 1/2, δ = 0", "short by ε = 1/4, δ = 0"),
        (guarantee("1/4", "1/10"), "requested ε = 1/4, δ = 1/10", "short by ε = 0, δ = 9/100"),
        (guarantee("1/2", "1/10"), "requested ε = 1/2, δ = 1/10", "short by ε = 1/4, δ = 9/100"),
    ],
)
def test_a_refusal_says_what_is_missing(ledger: Ledger, asked: Guarantee, requested: str, short: str) -> None:
    ledger.grant("shop", epsilon=1, delta="0.01")
    ledger.charge("shop", guarantee("3/4"), job="")
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge("shop", asked, job="")
    message = str(refusal.value)
    assert "'shop'" in message
    assert requested in message
    assert "remaining ε = 1/4, δ = 1/100" in message
    assert short in message
    assert len(message.splitlines()) == 1
    assert len(ledger.history("shop")) == 2
    assert spent(ledger) == ("3/4", "0")


def test_a_ledger_that_must_exist_is_not_made(ledger: Ledger) -> None:
    with pytest.raises(BadLedger, match=r"There is no ledger at .*: restore it if it was lost"):
        ledger.grant("shop", epsilon=1, must_exist=True)
    assert not ledger.exists()
    ledger.grant("shop", epsilon=1)
    assert ledger.exists()
    assert ledger.grant("barn", epsilon=1, must_exist=True).entries == 1
    assert [(entry.dataset, entry.kind) for entry in ledger.history()] == [("barn", "grant"), ("shop", "grant")]


def test_a_delta_that_is_not_given_stays(ledger: Ledger) -> None:
    assert ledger.grant("shop", epsilon=1).granted == Amount(Fraction(1), Fraction(0))
    ledger.grant("shop", epsilon=1, delta="0.1")
    assert ledger.grant("shop", epsilon=2).granted == Amount(Fraction(2), Fraction(1, 10))
    assert ledger.grant("shop", epsilon=2, delta=0).granted == Amount(Fraction(2), Fraction(0))
    assert ledger.verify() == 4


def test_two_relations_do_not_mix(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=1)
    with pytest.raises(BadParameter, match="name the same relation"):
        ledger.charge("shop", guarantee("0.1", neighbors=ADD), job="")
    with pytest.raises(BadParameter, match="Grant another data set"):
        ledger.grant("shop", epsilon=1, neighbors="add-remove")
    with pytest.raises(BadParameter, match="Grant another data set"):
        ledger.grant("shop", epsilon=1, parts="by-index")
    with pytest.raises(BadParameter, match="by_index needs"):
        ledger.grant("other", epsilon=1, neighbors="add-remove", parts="by_index")
    assert ledger.verify() == 1


def test_the_first_charge_fixes_the_unit(ledger: Ledger) -> None:
    assert ledger.grant("shop", epsilon=1).unit == ""
    ledger.charge("shop", guarantee("0.1"), job="")
    assert ledger.budget("shop").unit == "customer"
    with pytest.raises(BadParameter, match="'customer'"):
        ledger.charge("shop", guarantee("0.1", unit="row"), job="")
    with pytest.raises(BadParameter, match="'customer'"):
        ledger.grant("shop", epsilon=2, unit="row")
    assert ledger.grant("shop", epsilon=2, unit="customer").unit == "customer"


def test_a_refused_charge_fixes_no_unit(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=1)
    with pytest.raises(BudgetExceeded):
        ledger.charge("shop", guarantee("2", unit="row"), job="")
    assert ledger.budget("shop").unit == ""


def test_a_granted_unit_holds(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=1, unit="household")
    with pytest.raises(BadParameter, match="'household'"):
        ledger.charge("shop", guarantee("0.1"), job="")


def test_an_unknown_data_set(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=1)
    for ask in (ledger.budget, ledger.history):
        with pytest.raises(BadParameter, match="'barn'"):
            ask("barn")
    with pytest.raises(BadParameter, match="'barn'"):
        ledger.charge("barn/north", guarantee("0.1"), job="")
    with pytest.raises(BadParameter, match="'barn'"):  # what is granted is the whole
        ledger.after("barn/north", guarantee("0.1"))
    with pytest.raises(BadParameter, match="'barn'"):
        ledger.settle(Receipt("barn", "", 1), Fraction(1))


def test_what_is_not_private_is_refused(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=1)
    with pytest.raises(NotPrivate):
        ledger.charge("shop", guarantee("0.1").without_privacy("its catalogue came from the data"), job="")
    assert len(ledger.history("shop")) == 1


@pytest.mark.parametrize("amounts", [("-1", "0"), ("1/2", "-1/10"), ("-1/10", "-1/10")])
def test_no_charge_gives_budget_back(ledger: Ledger, amounts: tuple[str, str]) -> None:
    ledger.grant("shop", epsilon=1, delta="0.5")
    ledger.charge("shop", guarantee("0.5", "0.5"), job="")
    with pytest.raises(BadParameter, match="at least 0"):
        ledger.charge("shop", guarantee(*amounts), job="")
    assert spent(ledger) == ("1/2", "1/2")


@pytest.mark.parametrize("epsilon", [0, -1, "nan", "inf", "1e101"])
def test_grants_are_positive_numbers(ledger: Ledger, epsilon: str | int) -> None:
    with pytest.raises(BadParameter, match="epsilon"):
        ledger.grant("shop", epsilon=epsilon)


def test_numbers_too_long_to_be_kept_are_refused(ledger: Ledger) -> None:
    with pytest.raises(BadParameter, match="780 digits"):
        ledger.grant("shop", epsilon=1, delta="1e-999")
    ledger.grant("shop", epsilon=1)
    with pytest.raises(BadParameter, match="780 digits"):
        ledger.charge("shop", guarantee(Fraction(1, 10**5000)), job="")
    receipt = ledger.charge("shop", at_most("1/2"), job="")
    with pytest.raises(BadParameter, match="780 digits"):
        ledger.settle(receipt, Fraction(1, 10**5000))
    assert ledger.verify() == 2


def test_a_total_that_grows_too_long_is_refused_and_nothing_breaks(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=1)
    sizes = [3**700, 7**400, 11**300, 13**300]  # no common factor: the digits add up
    ledger.charge("shop", guarantee(Fraction(1, sizes[0])), job="")
    ledger.charge("shop", guarantee(Fraction(1, sizes[1])), job="")
    with pytest.raises(BadParameter, match="add up to a fraction"):
        ledger.charge("shop", guarantee(Fraction(1, sizes[2])), job="")
    with pytest.raises(BudgetExceeded):
        ledger.charge("shop", guarantee("1"), job="")
    assert ledger.budget("shop").spent.epsilon == Fraction(1, sizes[0]) + Fraction(1, sizes[1])
    assert ledger.verify() == 3


GOOD_NAMES = [
    "x",
    "x" * 200,
    "Kundschaft Zürich",
    "顧客",
    "🛒" * 200,
    'a"b',
    "O'Brien",
    "a;b",
    "x'; DROP TABLE dpmine_history; --",
]
GOOD_NAMES += ["%s", ":named", "{}", "\\", "NULL", "0", " "]
BAD_NAMES = ["", "x" * 201, "a\nb", "a\x00b", "\x1b[31m", "a\tb", "\ud800", "a\u202eb"]


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_names_are_kept_as_they_are(ledger: Ledger, name: str) -> None:
    ledger.grant(name, epsilon=1, parts="by_index")
    ledger.charge(name, guarantee("1/2", unit=name), job=name)
    ledger.charge(f"{name}/{name}", guarantee("1/4", unit=name), job=name)
    assert [budget.dataset for budget in ledger.budgets()] == [name]
    last = ledger.history(name)[-1]
    assert (last.dataset, last.part, last.unit, last.job) == (name, name, name, name)
    assert ledger.verify() == 3
    assert json.loads(ledger.export())["datasets"][0]["parts_spent"].keys() == {name}


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_cannot_be_read_are_refused(ledger: Ledger, name: str) -> None:
    ledger.grant("shop", epsilon=1, parts="by_index")
    calls: list[Callable[[], object]] = [
        lambda: ledger.grant(name, epsilon=1),
        lambda: ledger.grant("other", epsilon=1, unit=name),
        lambda: ledger.charge(name, guarantee("0.1"), job=""),
        lambda: ledger.charge(f"shop/{name}", guarantee("0.1"), job=""),
        lambda: ledger.charge("shop", guarantee("0.1", unit=name), job=""),
        lambda: ledger.budget(name),
        lambda: ledger.history(name),
    ]
    for call in calls:
        with pytest.raises(BadParameter) as refusal:
            call()
        assert str(refusal.value).isprintable()
    assert ledger.verify() == 1


def test_parts_are_charged_and_not_granted(ledger: Ledger) -> None:
    with pytest.raises(BadParameter, match="no '/'"):
        ledger.grant("shop/north", epsilon=1)
    ledger.grant("shop", epsilon=1)
    with pytest.raises(BadParameter, match="has no parts"):
        ledger.charge("shop/north", guarantee("0.1"), job="")


@pytest.mark.parametrize("name", [None, 3, b"shop"])
def test_names_are_text(ledger: Ledger, name: object) -> None:
    with pytest.raises(BadParameter, match="printable name"):
        ledger.grant(name, epsilon=1)  # type: ignore[arg-type]
    ledger.grant("shop", epsilon=1)
    with pytest.raises(BadParameter, match="printable name"):
        ledger.charge(name, guarantee("0.1"), job="")  # type: ignore[arg-type]


@pytest.mark.parametrize("job", ["a\nb", "\x00", "\ud800", "x" * 1001])
def test_jobs_are_printable(ledger: Ledger, job: str) -> None:
    ledger.grant("shop", epsilon=1)
    with pytest.raises(BadParameter, match="job"):
        ledger.charge("shop", guarantee("0.1"), job=job)


def test_a_reservation_is_spent_until_it_is_settled(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=1, delta="0.1")
    receipt = ledger.charge("shop", at_most("3/4", "0.1"), job="accuracy-first ridge")
    assert spent(ledger) == ("3/4", "1/10")
    with pytest.raises(BudgetExceeded):
        ledger.charge("shop", guarantee("1/2"), job="")
    ledger.settle(receipt, Fraction(1, 8))
    assert spent(ledger) == ("1/8", "1/10")  # δ is not given back
    ledger.charge("shop", guarantee("7/8"), job="")
    assert ledger.budget("shop").remaining == Amount()
    assert ledger.verify() == 4


def test_a_reservation_is_settled_once_and_for_less(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=1)
    receipt = ledger.charge("shop", at_most("1/2"), job="")
    for charge in [Fraction(51, 100), Fraction(0), Fraction(-1)]:
        with pytest.raises(BadParameter, match="settlement"):
            ledger.settle(receipt, charge)
    ledger.settle(receipt, Fraction(1, 2))
    with pytest.raises(BadParameter, match="open reservation"):
        ledger.settle(receipt, Fraction(1, 4))
    assert spent(ledger) == ("1/2", "0")


def test_only_reservations_are_settled(ledger: Ledger) -> None:
    grant = ledger.grant("shop", epsilon=1, parts="by_index")
    charge = ledger.charge("shop", guarantee("1/4"), job="")
    receipt = ledger.charge("shop/north", at_most("1/4"), job="")
    wrong = [charge, Receipt("shop", "", grant.entries), Receipt("shop", "", 99), Receipt("shop", "", 0)]
    wrong += [replace(receipt, part="south"), replace(receipt, part="")]  # would give back what another part spent
    for other in wrong:
        with pytest.raises(BadParameter, match="open reservation"):
            ledger.settle(other, Fraction(1, 8))
    assert spent(ledger) == ("1/2", "0")
    ledger.settle(receipt, Fraction(1, 8))
    assert spent(ledger) == ("3/8", "0")
    with pytest.raises(BadParameter, match="open reservation"):
        ledger.settle(replace(receipt, number=4), Fraction(1, 16))


def test_a_receipt_outlives_its_process(url: str) -> None:
    Ledger(url).grant("shop", epsilon=1)
    receipt = Ledger(url).charge("shop", at_most("1/2"), job="")
    again = Receipt(receipt.dataset, receipt.part, receipt.number)
    Ledger(url).settle(again, Fraction(1, 3))
    assert spent(Ledger(url)) == ("1/3", "0")


def test_the_history_tells_everything(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=1, delta="1e-3", parts="by_index")
    ledger.charge("shop", guarantee("1/4", "1e-6"), job="top-itemset --size 2")
    receipt = ledger.charge("shop/north", at_most("1/2"), job="accuracy-first ridge")
    ledger.settle(receipt, Fraction(1, 5))
    rows = [
        (e.number, e.kind, e.part, e.epsilon, e.delta, e.reservation, e.unit, e.job) for e in ledger.history("shop")
    ]
    assert rows == [
        (1, "grant", "", "1", "1/1000", 0, "", ""),
        (2, "charge", "", "1/4", "1/1000000", 0, "customer", "top-itemset --size 2"),
        (3, "reserve", "north", "1/2", "0", 0, "customer", "accuracy-first ridge"),
        (4, "settle", "north", "1/5", "0", 3, "customer", ""),
    ]
    assert {(entry.dataset, entry.neighbors, entry.parts) for entry in ledger.history("shop")} == {
        ("shop", str(REPLACE), "by_index")
    }


def test_stamps_do_not_show_how_long_a_run_took(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A charge has its day; a settlement, which is written when the run has ended, that of its reservation."""
    before = datetime.now(UTC).date()
    ledger.grant("shop", epsilon=1)
    receipt = ledger.charge("shop", at_most("1/2"), job="")
    after = datetime.now(UTC).date()
    monkeypatch.setattr(records, "_today", lambda: "2999-12-31")
    ledger.settle(receipt, Fraction(1, 4))
    grant, reserved, settled = (entry.time for entry in ledger.history("shop"))
    assert {grant, reserved} <= {before.isoformat(), after.isoformat()}
    assert settled == reserved


def test_a_refusal_for_a_grant_without_delta_says_what_to_grant(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=2)
    with pytest.raises(
        BudgetExceeded,
        match=r"The grant has δ = 0: grant again with `epsilon=[0-9/]+` `delta=1e-06` or more .*`catalogue=…`",
    ):
        ledger.charge("shop", guarantee("1", "1e-6"), job="")
    ledger.grant("shop", epsilon=2, delta="1e-6")
    with pytest.raises(BudgetExceeded, match="Ask for less"):
        ledger.charge("shop", guarantee("1", "1e-3"), job="")


def test_the_export_holds_everything(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon="1/3", delta="1e-6", parts="by_index")
    ledger.grant("barn", epsilon=2)
    ledger.charge("shop/north", guarantee("1/7"), job="histogram")
    barn, shop = json.loads(ledger.export())["datasets"]
    assert (barn["dataset"], shop["dataset"]) == ("barn", "shop")
    assert shop["granted"]["epsilon_exact"] == "1/3"
    assert shop["spent"]["epsilon_exact"] == shop["parts_spent"]["north"]["epsilon_exact"] == "1/7"
    assert shop["remaining"]["epsilon_exact"] == "4/21"
    assert (shop["unit"], barn["unit"]) == ("customer", None)
    seals = [entry.pop("seal") for entry in shop["history"]]
    assert shop["history"] == [asdict(entry) for entry in ledger.history("shop")]
    assert seals[-1] == shop["seal"] == ledger.budget("shop").seal
    assert len(set(seals)) == 2


def test_a_budget_is_read_in_one_line(ledger: Ledger) -> None:
    """In decimals; the exact fractions are those of its `repr`."""
    ledger.grant("shop", epsilon="0.3", delta="1e-6")
    ledger.charge("shop", guarantee("1/10"), job="")
    assert str(ledger.budget("shop")) == (
        "shop: granted ε = 0.3, δ = 1e-06; spent ε = 0.1, δ = 0; remaining ε = 0.2, δ = 1e-06; basic accounting; "
        "per customer, neighbours replace-one"
    )
    assert "Fraction(3, 10)" in repr(ledger.budget("shop"))
    fresh = ledger.grant("barn", epsilon=1, delta="1e-6", accounting="zcdp")
    assert str(fresh).startswith("barn: granted ρ = ")
    assert str(fresh).endswith("zcdp accounting; unit not fixed yet, neighbours replace-one")


def test_data_sets_are_apart(ledger: Ledger) -> None:
    ledger.grant("shop", epsilon=1)
    ledger.grant("barn", epsilon=2, neighbors="add_remove", unit="row")
    ledger.charge("shop", guarantee("1"), job="")
    ledger.charge("barn", guarantee("2", neighbors=ADD, unit="row"), job="")
    assert [str(budget.spent.epsilon) for budget in ledger.budgets()] == ["2", "1"]
    assert ledger.verify() == 4


def test_a_server_with_other_defaults_keeps_its_guarantees(cluster: Cluster) -> None:
    from sqlalchemy import text

    url = cluster.create("loose")
    options = "-c%20synchronous_commit%3Doff%20-c%20default_transaction_isolation%3Drepeatable%5C%20read"
    ledger = Ledger(f"{url}?options={options}")
    ledger.grant("shop", epsilon=1)
    with ledger._database.writing() as connection:
        for name, value in {"synchronous_commit": "on", "transaction_isolation": "read committed"}.items():
            assert connection.execute(text(f"SHOW {name}")).scalar() == value
    with ledger._database.reading() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar() == "off"  # the URL did say so
        assert connection.execute(text("SHOW transaction_isolation")).scalar() == "repeatable read"
        assert connection.execute(text("SHOW transaction_read_only")).scalar() == "on"


def test_a_file_is_written_through_to_the_disk(file: Path) -> None:
    ledger = Ledger(f"sqlite:///{file}")
    ledger.grant("shop", epsilon=1)
    with ledger._database.writing() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_an_excerpt_is_what_the_export_has_of_one_data_set(ledger: Ledger) -> None:
    for name in ("barn", "shop"):
        ledger.grant(name, epsilon=1, parts="by_index")
        ledger.charge(f"{name}/north", guarantee("1/2"), job="select")
    excerpt = ledger.excerpt("shop/north")
    assert excerpt == json.loads(ledger.export())["datasets"][1]
    assert records.reread(excerpt["history"]) == ledger.budget("shop")
    with pytest.raises(BadParameter):
        ledger.excerpt("mill")
