"""Histories as events of dp_accounting, and what that library finds them to cost."""

from __future__ import annotations

import json
import subprocess
import venv
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from dpmine_cli.main import run
from ledger.guarantees import ADD, at_most, bounded_range, guarantee

from dpmine.errors import BadLedger, BadParameter
from dpmine.ledger.ledger import Ledger
from dpmine.ledger.records import Entry, dp_event
from dpmine.zcdp import epsilon_at

COMPOSE = Path(__file__).with_name("compose.py")


@pytest.fixture
def filled(file: Path) -> Ledger:
    """Both kinds of accounting, parts, a settled and an open reservation, and a data set without charges."""
    ledger = Ledger(f"sqlite:///{file}")
    ledger.grant("shop", epsilon=9, delta="1e-5", accounting="zcdp", parts="by_index")
    for _ in range(3):
        ledger.charge("shop", bounded_range("0.1"), job="exponential")
    ledger.charge("shop/south", guarantee("1/3", "1e-7"), job="top-itemset")
    ledger.settle(ledger.charge("shop/north", at_most("1/2", "1e-6"), job="search"), "1/10")
    ledger.charge("shop/north", at_most("1/2"), job="search")
    ledger.charge("shop", guarantee("1/20"), job="select")
    ledger.grant("barn", epsilon=2, delta="1e-5", neighbors="add_remove")
    ledger.charge("barn", guarantee("2/3", "1e-6", neighbors=ADD), job="top-itemset")
    ledger.grant("cellar", epsilon=2)
    return ledger


def zcdp(rho: float, count: int) -> dict[str, Any]:
    own = {"module_name": "dp_accounting.dp_event"}
    event = {**own, "class_name": "ZCDpEvent", "rho": rho, "xi": 0.0}
    return {**own, "class_name": "SelfComposedDpEvent", "event": event, "count": count}


def test_the_export_as_events(filled: Ledger) -> None:
    compositions = json.loads(filled.export("dp-event"))["datasets"]
    places = [(each["dataset"], each["part"], each["neighbors"], each["unit"]) for each in compositions]
    assert places == [
        ("barn", "", "add_remove", "customer"),
        ("cellar", "", "replace_one", None),
        ("shop", "", "replace_one", "customer"),
        ("shop", "north", "replace_one", "customer"),
        ("shop", "south", "replace_one", "customer"),
    ]
    barn, cellar, shop, north, south = (each["event"] for each in compositions)
    assert {event["class_name"] for event in (barn, cellar, shop, north, south)} == {"ComposedDpEvent"}
    assert cellar["events"] == []
    assert shop["events"] == [zcdp(0.00125, 4)]  # of bounded range at 1/10, and any run at 1/20
    assert north["events"] == [zcdp(0.125, 2)]  # at its most, settled or not
    for composed, rho in ((south, Fraction(1, 18)), (barn, Fraction(2, 9))):
        assert 0 <= Fraction(composed["events"][0]["event"]["rho"]) - rho < Fraction(1, 10**16)
    assert [each["approximate_delta"] for each in compositions] == pytest.approx([1e-6, 0, 0, 1e-6, 1e-7], rel=1e-15)


@pytest.mark.parametrize("text", ["1/3", "1/10", "1/7", "3/1000", "1/800", "12345678901234567890123/7"])
def test_floats_are_never_below(text: str) -> None:
    entry = Entry("shop", 2, "charge", "", "1", text, 0, "", "replace_one", "none", "", "", "zcdp", text, text, "")
    (composition,) = dp_event([entry])
    for found in (composition["event"]["events"][0]["event"]["rho"], composition["approximate_delta"]):
        assert Fraction(text) <= Fraction(found) <= Fraction(text) * (1 + Fraction(1, 2**52))


def test_the_command_writes_the_same(filled: Ledger, file: Path, tmp_path: Path) -> None:
    url, out = f"sqlite:///{file}", tmp_path / "events.json"
    for form in ("json", "dp-event"):
        assert run(["ledger", "export", "--ledger", url, "--format", form, "-o", str(out)]) == 0
        assert out.read_text(encoding="utf-8") == f"{filled.export(form)}\n"
    assert run(["ledger", "export", "--ledger", url, "-o", str(out)]) == 0
    assert out.read_text(encoding="utf-8") == f"{filled.export()}\n"


@pytest.mark.parametrize("command", ["show", "verify", "history"])
def test_no_other_command_writes_events(
    filled: Ledger, file: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert filled.verify()
    line = ["ledger", command, "--ledger", f"sqlite:///{file}", "--dataset", "shop", "--format", "dp-event"]
    assert run(line if command != "verify" else [*line[:4], *line[-2:]]) == 2
    assert "--format must be one of: text, json, csv, parquet" in capsys.readouterr().err


def test_forms_and_entries_that_are_none(filled: Ledger) -> None:
    with pytest.raises(BadParameter, match="form"):
        filled.export("csv")
    entry = Entry("shop", 2, "charge", "", "1", "0", 0, "", "replace_one", "none", "", "", "zcdp", "0.5", "0", "")
    with pytest.raises(BadLedger, match="Entry 2 of 'shop' was changed by hand"):
        dp_event([entry])


@pytest.fixture(scope="module")
def other_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that has dp-accounting, which is no dependency of ours."""
    folder = tmp_path_factory.mktemp("dp-accounting")
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "dp-accounting>=0.4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        pytest.skip(f"dp-accounting cannot be installed: {(done.stderr.splitlines() or ['pip failed'])[-1][:200]}")
    return python


@pytest.mark.slow
def test_dp_accounting_agrees(filled: Ledger, tmp_path: Path, other_python: str) -> None:
    """Its RDP accountant, with a fine grid of orders, finds the same ε for the same ρ."""
    for _ in range(100):
        filled.charge("shop", bounded_range("0.07"), job="many")
    path, delta = tmp_path / "events.json", Fraction(1, 10**6)
    path.write_text(filled.export("dp-event"), encoding="utf-8")
    command = [other_python, "-I", str(COMPOSE), str(path), str(float(delta))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    charged = {
        (budget.dataset, part): amount.rho for budget in filled.budgets() for part, amount in budget.charged.items()
    }
    places = [("barn", ""), ("cellar", ""), ("shop", ""), ("shop", "north"), ("shop", "south")]
    expected = [float(epsilon_at(charged.get(place, Fraction(0)), delta)) for place in places]
    assert json.loads(done.stdout) == pytest.approx(expected, rel=1e-4)
    assert min(expected[0], *expected[2:]) > 0.1
