"""Budgets on the command line: `dpmine ledger`, and runs that charge one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cases import every
from support.command_line import assert_one_error, last_of_each, outcome_of, python

from dpmine.selection.recommend import MECHANISMS

LEDGER = ("--ledger", "sqlite:///budget.db")
SHOP = (*LEDGER, "--dataset", "shop")
SECRET = "kanarienvogel-9"
X = np.random.default_rng(3).uniform(-1, 1, size=(300, 2))

TOP = ("top-itemset", "sales.parquet", "--size", "1", "--mechanism", "large-margin")
HISTOGRAM = ("histogram", "people.parquet", "--column", "a", "--lower", "-1", "--upper", "1", "--bins", "4")
LABEL = ("--label", "y", "--classes", "false,true")
TRAIN = "classify people.parquet --features a,b --lambdas 0.1 --norm-bound 2 --model m.json"
CLASSIFY = (*TRAIN.split(), *LABEL)
RULE = ("hypothesis", "people.parquet", *LABEL, "--features", "a", "--lower", "-1", "--upper", "1")
SEARCH = "accuracy-first people.parquet --target b --features a --excess-risk 0.4 --regularization 0.1 --x-bound 1"
FIRST = (*SEARCH.split(), "--y-bound", "1", "--steps", "10")
NEW = (
    "dpmine: new ledger: granted ε = 20, δ = 0.001 to 'shop'; if there was one before, restore it, because its charges "
    "are not counted"
)
RUNS = {run[0]: run for run in (TOP, HISTOGRAM, CLASSIFY, RULE, FIRST)}


@pytest.fixture(autouse=True)
def shop(run: outcome_of, folder: Path) -> Path:
    """The folder, with people, and a budget of plenty for "shop"."""
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "y": (X[:, 0] > 0).tolist()}), "people.parquet")
    granted = run("ledger", "grant", *SHOP, "--epsilon", "20", "--delta", "1e-3")
    assert (granted.status, granted.lines) == (0, [NEW])
    return folder


def shown(run: outcome_of, *arguments: str) -> Any:
    outcome = run("ledger", "show", *(arguments or SHOP), "--format", "json")
    assert (outcome.status, outcome.err) == (0, "")
    return json.loads(outcome.out)["datasets"]


def corrupt(name: str) -> None:
    """The pages of data are lost; the schema at the end is not."""
    content = bytearray(Path(name).read_bytes())
    footer = int.from_bytes(content[-8:-4], "little") + 8
    content[4:-footer] = b"\x00" * (len(content) - footer - 4)
    Path(name).write_bytes(content)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_charges_what_it_guarantees(run: outcome_of, name: str) -> None:
    outcome = run(*RUNS[name], *SHOP, "--format", "json")
    assert outcome.status == 0, outcome.err
    guarantee = json.loads(outcome.out)["guarantee"]
    spent = shown(run)[0]["spent"]
    assert spent["epsilon_exact"] == guarantee.get("ex_post_epsilon_exact", guarantee["epsilon_exact"])
    assert spent["delta_exact"] == guarantee["delta_exact"]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_fails_stays_charged(run: outcome_of, name: str) -> None:
    corrupt(RUNS[name][1])
    assert_one_error(run(*RUNS[name], *SHOP))
    assert shown(run)[0]["spent"]["epsilon"] in {1, 10}


@pytest.mark.parametrize("name", RUNS)
def test_a_refused_budget_is_status_3_and_nothing_is_read_or_written(run: outcome_of, name: str) -> None:
    run("ledger", "grant", *LEDGER, "--dataset", "poor", "--epsilon", "1/3", "--delta", "1e-3")
    corrupt(RUNS[name][1])
    outcome = run(*RUNS[name], *LEDGER, "--dataset", "poor", "-o", "result.json")
    assert (outcome.status, outcome.out, len(outcome.lines)) == (3, "", 1)
    assert outcome.err.startswith("dpmine: error: The budget of 'poor' does not allow this: requested ε = 1")
    assert "remaining ε = 1/3" in outcome.err
    assert "short by ε = " in outcome.err
    assert not Path("result.json").exists()
    assert shown(run, *LEDGER, "--dataset", "poor")[0]["spent"]["epsilon"] == 0


@pytest.mark.parametrize("name", RUNS)
def test_a_column_that_is_not_there_costs_nothing(run: outcome_of, name: str) -> None:
    pq.write_table(pa.table({"other": [1.5, 2.5]}), RUNS[name][1])
    assert_one_error(run(*RUNS[name], *SHOP))
    assert shown(run)[0]["spent"]["epsilon"] == 0


@every("name", RUNS)
@every(
    "arguments",
    [
        LEDGER,
        ("--dataset", "shop"),
        (*LEDGER, "--dataset", "bazaar"),
        ("--ledger", "sqlite:///nowhere.db", "--dataset", "shop"),
        ("--ledger", "budget.db", "--dataset", "shop"),
        ("--ledger", "sqlite:///words.parquet", "--dataset", "shop"),
        ("--ledger", f"postgresql://u:{SECRET}@127.0.0.1:1/db", "--dataset", "shop"),
    ],
)
def test_unusable_ledgers_are_status_2(run: outcome_of, name: str, arguments: tuple[str, ...]) -> None:
    outcome = run(*RUNS[name], *arguments, "-o", "result.json", "--debug")
    assert outcome.status == 2
    assert outcome.out == ""
    assert outcome.lines[-1].startswith("dpmine: error: ")
    assert SECRET not in outcome.err
    assert not Path("result.json").exists()


@pytest.mark.parametrize("name", RUNS)
def test_a_full_disk_for_the_output_costs_nothing(run: outcome_of, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(28, SECRET)

    monkeypatch.setattr("dpmine.io.atomic._created", full)
    assert "Cannot write to 'result.json' (No space left on device): name a file" in assert_one_error(
        run(*RUNS[name], *SHOP, "-o", "result.json")
    )
    assert shown(run)[0]["spent"]["epsilon"] == 0


@pytest.mark.parametrize("extra", [("--mechanism", "exact", "--not-private"), ("--catalogue-from-data",)])
def test_what_is_not_private_is_refused(run: outcome_of, extra: tuple[str, ...]) -> None:
    line = assert_one_error(run(*last_of_each(*TOP, *extra, *SHOP)))
    assert "private runs only" in line
    assert shown(run)[0]["spent"]["epsilon"] == 0


def test_show_is_what_the_contract_says(run: outcome_of) -> None:
    run(*CLASSIFY, *SHOP)
    [budget] = shown(run, *LEDGER)
    assert budget["dataset"] == "shop"
    assert budget["granted"]["epsilon"] == 20
    assert budget["accounting"] == "basic"
    assert budget["spent"] == {
        "epsilon": 1.0,
        "delta": 0.0,
        "rho": 0.5,
        "approximate_delta": 0.0,
        "epsilon_exact": "1",
        "delta_exact": "0",
        "rho_exact": "1/2",
        "approximate_delta_exact": "0",
    }
    assert budget["remaining"]["epsilon"] == 19
    assert budget["remaining"]["delta_exact"] == "1/1000"


@pytest.mark.parametrize("command", ["grant", "show", "history", "verify"])
@pytest.mark.parametrize("suffix", ["json", "csv", "parquet", "txt"])
def test_formats(run: outcome_of, command: str, suffix: str) -> None:
    arguments = {
        "grant": (*SHOP, "--epsilon", "30", "--delta", "1e-3"),
        "show": LEDGER,
        "history": SHOP,
        "verify": LEDGER,
    }[command]
    outcome = run("ledger", command, *arguments, "-o", f"out.{suffix}")
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    if suffix == "parquet":
        assert pq.read_table("out.parquet").num_rows == 1
    elif suffix == "json":
        assert json.loads(Path("out.json").read_text(encoding="utf-8"))
    else:
        assert len(Path(f"out.{suffix}").read_text(encoding="utf-8").splitlines()) == 1 + (suffix == "csv")


def test_history_verify_and_export(run: outcome_of) -> None:
    assert run("ledger", "verify", *LEDGER).out == "1 entry, all as they were written\n"
    run(*CLASSIFY, *SHOP)
    lines = run("ledger", "history", *SHOP).out.splitlines()
    assert [line.split("\t")[2] for line in lines] == ["grant", "charge"]
    assert lines[1].endswith("\tε = 1, δ = 0\tunit row\tPrivateLogisticRegression")
    assert run("ledger", "verify", *LEDGER).out == "2 entries, all as they were written\n"
    [exported] = json.loads(run("ledger", "export", *LEDGER).out)["datasets"]
    assert [entry["kind"] for entry in exported["history"]] == ["grant", "charge"]


def test_history_without_a_data_set_is_that_of_all(run: outcome_of) -> None:
    run("ledger", "grant", *LEDGER, "--dataset", "barn", "--epsilon", "1")
    run(*CLASSIFY, *SHOP)
    lines = run("ledger", "history", *LEDGER).out.splitlines()
    assert [(line.split("\t")[2], line.split("\t")[4]) for line in lines] == [
        ("grant", "dataset barn"),
        ("grant", "dataset shop"),
        ("charge", "dataset shop"),
    ]
    rows = json.loads(run("ledger", "history", *LEDGER, "--format", "json").out)["history"]
    assert [row["dataset"] for row in rows] == ["barn", "shop", "shop"]


@pytest.mark.parametrize("content", [None, b""])
def test_a_lost_or_empty_ledger_is_granted_afresh_with_a_word_or_not_at_all(
    run: outcome_of, content: bytes | None
) -> None:
    again = ("ledger", "grant", *SHOP, "--epsilon", "20", "--delta", "1e-3")
    assert run(*again).err == ""
    Path("budget.db").unlink()
    if content is not None:
        Path("budget.db").write_bytes(content)
    assert "There is no ledger at sqlite:///budget.db: restore it" in assert_one_error(
        run(*again, "--ledger-must-exist")
    )
    assert run(*again).lines == [NEW]
    assert run(*again, "--ledger-must-exist").status == 0


def test_a_changed_total_is_found(run: outcome_of) -> None:
    run(*CLASSIFY, *SHOP)
    with closing(sqlite3.connect("budget.db")) as connection, connection:
        connection.execute("UPDATE dpmine_spent SET epsilon = '0'")
    assert "not what its history adds up to" in assert_one_error(run("ledger", "verify", *LEDGER))


def test_a_grant_below_what_is_spent_is_status_3(run: outcome_of) -> None:
    run(*CLASSIFY, *SHOP)
    outcome = run("ledger", "grant", *SHOP, "--epsilon", "1/2", "--delta", "1e-3")
    assert (outcome.status, len(outcome.lines)) == (3, 1)
    assert shown(run)[0]["granted"]["epsilon"] == 20


def test_a_delta_that_is_not_given_stays(run: outcome_of) -> None:
    run("ledger", "grant", *SHOP, "--epsilon", "1", "--delta", "1e-3")
    run("ledger", "grant", *SHOP, "--epsilon", "30")
    granted = shown(run)[0]["granted"]
    assert (granted["epsilon_exact"], granted["delta_exact"]) == ("30", "1/1000")


def test_a_new_grant_without_delta_says_what_will_be_rejected(run: outcome_of) -> None:
    new = (*LEDGER, "--dataset", "new", "--epsilon")
    first = run("ledger", "grant", *new, "2")
    assert first.status == 0
    assert (
        "'new' is granted δ = 0, so runs that spend δ will be rejected, such as itemsets without --catalogue."
        in first.err
    )
    pure = [name.replace("_", "-") for name, kind in MECHANISMS.items() if kind.private and not kind.approximate]
    assert f"With it {', '.join(pure)} can run (with --top also --delta 0)" in first.err
    assert "--delta 1e-6" in first.err
    assert run("ledger", "grant", *new, "3").err == ""
    for name, *said in (("pure", "--delta", "0"), ("quiet", "--quiet")):
        silent = run("ledger", "grant", *LEDGER, "--dataset", name, "--epsilon", "2", *said)
        assert (silent.status, silent.err) == (0, "")


def test_a_default_run_on_a_grant_without_delta_says_what_to_do(run: outcome_of) -> None:
    run("ledger", "grant", *LEDGER, "--dataset", "new", "--epsilon", "2")
    outcome = run(*TOP, *LEDGER, "--dataset", "new")
    assert (outcome.status, len(outcome.lines)) == (3, 1)
    assert "--delta 1e-06 or more" in outcome.err


@every(
    "arguments",
    [
        ("grant", *SHOP, "--epsilon", "0"),
        ("grant", *SHOP, "--epsilon", "20", "--delta", "1e-3", "--neighbors", "add-remove"),
        ("grant", *LEDGER, "--dataset", "a/b", "--epsilon", "1"),
        ("history",),
        ("history", *LEDGER, "--dataset", "bazaar"),
        ("grant", "--ledger", "sqlite:///lost.db", "--dataset", "shop", "--epsilon", "1", "--ledger-must-exist"),
        ("show", "--ledger", "sqlite:///nowhere.db"),
        ("verify", "--ledger", "sqlite:///words.parquet"),
    ],
)
def test_bad_requests_are_one_line(run: outcome_of, arguments: tuple[str, ...]) -> None:
    assert_one_error(run("ledger", *arguments))


def test_a_misplaced_url_shows_no_password(run: outcome_of) -> None:
    for url in (f"postgresql://u:{SECRET}@host/db", f"postgresql://host/db?password={SECRET}"):
        line = assert_one_error(run("ledger", "show", url))
        assert SECRET not in line


@pytest.mark.slow
def test_runs_without_a_ledger_do_not_load_a_database() -> None:
    runs = [list(arguments) for arguments in RUNS.values()]
    code = f"import sys; from dpmine_cli.main import run\nfor arguments in {runs!r}:\n"
    code += "    if run(arguments) or 'sqlalchemy' in sys.modules: sys.exit(f'not so: {arguments}')"
    done = python(code)
    assert done.status == 0, done.err


def test_the_text_says_for_whom_a_budget_is(run: outcome_of) -> None:
    fresh = run("ledger", "show", *SHOP).out
    assert fresh.startswith("shop\tgranted ε = 20, δ = 1/1000; spent ε = 0, δ = 0; remaining ε = 20, δ = 1/1000; ")
    assert fresh.endswith("; unit not fixed yet, neighbours replace-one\n")
    clinic = "--dataset clinic --epsilon 1 --unit patient --neighbors add-remove"
    run("ledger", "grant", *LEDGER, *clinic.split())
    assert run("ledger", "show", *LEDGER, "--dataset", "clinic").out.endswith("; per patient, neighbours add-remove\n")


def test_zcdp_accounting(run: outcome_of) -> None:
    zcdp = ("--accounting", "zcdp")
    refused = run("ledger", "grant", *LEDGER, "--dataset", "lab", "--epsilon", "3", *zcdp)
    assert refused.status == 2
    assert "delta" in refused.err
    granted = run("ledger", "grant", *LEDGER, "--dataset", "lab", "--epsilon", "3", "--delta", "1e-5", *zcdp)
    assert granted.out.startswith("lab\tgranted ρ = 0.210877, δ = 5e-06; spent ρ = 0, δ = 0; ")
    assert granted.err == ""
    run(*CLASSIFY, *LEDGER, "--dataset", "lab", "--epsilon", "0.1")
    [lab] = shown(run, *LEDGER, "--dataset", "lab")
    assert lab["accounting"] == "zcdp"
    assert lab["spent"]["rho_exact"] == "1/200"
    assert lab["remaining"]["epsilon"] == pytest.approx((2 * (0.2108765364 - 0.005)) ** 0.5)
    assert lab["guarantee"]["epsilon"] < 0.5
    assert "\tε = 1/10, δ = 0 (ρ = 0.005)\t" in run("ledger", "history", *LEDGER, "--dataset", "lab").out
    dear = run(*CLASSIFY, *LEDGER, "--dataset", "lab", "--epsilon", "1")
    assert dear.status == 3
    assert "requested ρ = 0.5, δ = 0; remaining ρ = 0.205877" in dear.err
    changed = run("ledger", "grant", *LEDGER, "--dataset", "lab", "--epsilon", "3", "--accounting", "basic")
    assert changed.status == 2
    assert "--accounting" in changed.err
