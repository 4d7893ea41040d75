"""Where results go, and in which form."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dpmine_cli.options import OPTIONS, Format
from dpmine_cli.output import Destination
from support.cases import every
from support.command_line import CANARY, PROGRAM, Outcome, assert_one_error, ended, environment, outcome_of, spawn

import dpmine

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("folder")

PAIR = [f"{CANARY} bread", f"{CANARY} butter"]
TOP = ["top-itemset", "sales.parquet", "--mechanism", "exponential", "--catalogue", "items.txt", "--epsilon", "1000"]
NOTHING = ["top-itemset", "sales.parquet", "--mechanism", "large-margin", "--epsilon", "0.001"]
NUMBERS = ["top-itemset", "numbers.parquet", "--mechanism", "large-margin", "--epsilon", "1000"]
COUNT = ["supports", "sales.parquet", "--not-private", "--min-support", "3", "--size", "1-2"]
LAYOUT = "dpmine: long layout: item = item, unit = customer (by the names of the columns)"
WEAK = (
    "dpmine: a guarantee with ε = 1000 says little: an even bet on one unit may become 99.99 % certain; "
    "1 or less is common"
)
GUARANTEE = "exponential; ε = 1000, δ = 0 per customer, neighbours replace-one"


def test_text(run: outcome_of) -> None:
    outcome = run(*TOP)
    assert outcome == Outcome(0, f"{PAIR[0]}, {PAIR[1]}\n({GUARANTEE})\n", f"{LAYOUT}\n{WEAK}\n")


def test_text_of_nothing_names_the_lead_that_was_needed(run: outcome_of) -> None:
    first, advice, guarantee = run(*NOTHING).out.splitlines()
    assert first == "Nothing stands out."
    assert advice.startswith("large_margin needs")
    assert guarantee == "(large_margin; ε = 0.001, δ = 1e-06 per customer, neighbours replace-one)"


def test_items_that_look_like_an_option_in_a_message_are_written_as_they_are(run: outcome_of) -> None:
    odd = ["`k={}`", "`memory`", "`size=3`"]
    rows = pa.table({"customer": [row // 3 for row in range(300)], "item": odd * 100})
    pq.write_table(rows, "odd.parquet")
    options = ["odd.parquet", "--unit", "customer", "--item", "item", "--epsilon", "1000"]
    top = run("top-itemset", *options, "--size", "1", "--top", "3")
    assert (top.status, sorted(top.out.splitlines()[:3])) == (0, odd)
    rules = run("top-itemset", *options, "--top", "3", "--release-support", "1000", "--rules")
    assert (rules.status, "`k={}`, `memory`: about" in rules.out, "`k={}` -> `memory`" in rules.out) == (0, True, True)
    found = run("catalogue", *options)
    assert (found.status, found.out.splitlines()[1:]) == (0, odd)


def test_json_has_exactly_the_keys_of_the_contract(run: outcome_of) -> None:
    outcome = run(*TOP, "--format", "json", "--quiet")
    assert outcome.out.count("\n") == 1
    document = json.loads(outcome.out)
    assert list(document) == ["itemsets", "sizes", "requested", "mechanism", "guarantee", "remarks", "dpmine"]
    assert document == {
        "itemsets": [{"items": PAIR, "noisy_support": None, "interval": None}],
        "sizes": [2, 2],
        "requested": "exponential",
        "mechanism": "exponential",
        "guarantee": {
            "epsilon": 1000.0,
            "delta": 0.0,
            "epsilon_exact": "1000",
            "delta_exact": "0",
            "neighbors": "replace_one",
            "unit": "customer",
            "private": True,
            "rho": 125000.0,
            "rho_exact": "125000",
            "approximate_delta_exact": "0",
            "notes": [],
        },
        "remarks": ["(exponential; ε = 1000, δ = 0 per customer, neighbours replace-one)"],
        "dpmine": dpmine.__version__,
    }


def test_json_of_nothing(run: outcome_of) -> None:
    outcome = run(*NOTHING, "--format", "json")
    assert json.loads(outcome.out)["itemsets"] == []
    assert json.loads(outcome.out)["requested"] in {"large_margin", "large-margin"}
    assert any(line.startswith("dpmine: nothing stands out: large_margin needs") for line in outcome.lines)


def test_auto_is_what_was_requested(run: outcome_of) -> None:
    document = json.loads(run("top-itemset", "sales.parquet", "--format", "json").out)
    assert document["requested"] == "auto"
    assert document["mechanism"] != "auto"


def test_csv_holds_items_as_json(run: outcome_of) -> None:
    outcome = run(*TOP, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    assert [list(row) for row in rows] == [["items", "noisy_support", "interval"]]
    assert json.loads(rows[0]["items"]) == PAIR
    assert rows[0]["noisy_support"] == rows[0]["interval"] == ""
    assert outcome.lines == [LAYOUT, WEAK, f"dpmine: {GUARANTEE}"]


def test_csv_of_nothing_is_a_header(run: outcome_of) -> None:
    assert run(*NOTHING, "--format", "csv", "-q") == Outcome(0, "items,noisy_support,interval\n", "")


def test_parquet_has_a_list_column(run: outcome_of) -> None:
    outcome = run(*TOP, "-o", "out.parquet")
    table = pq.read_table("out.parquet")
    assert table.schema.names == ["items", "noisy_support", "interval"]
    assert table["items"].to_pylist() == [PAIR]
    assert json.loads(table.schema.metadata[b"dpmine"])["guarantee"]["epsilon_exact"] == "1000"
    assert outcome == Outcome(0, "", f"{LAYOUT}\n{WEAK}\ndpmine: {GUARANTEE}\n")
    assert run(*NOTHING, "-o", "out.parquet").status == 0
    assert pq.read_table("out.parquet").num_rows == 0


def test_a_parquet_file_on_stdout_that_is_interrupted_has_no_footer(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Half a list with a footer would look whole."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"support": [3]})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Destination(Format.PARQUET, None)._write_batches(pa.schema({"support": pa.int64()}), batches())
    assert capfdbinary.readouterr().out == b""


@pytest.mark.slow
def test_parquet_to_stdout() -> None:
    done = subprocess.run(
        [*PROGRAM, *TOP, "--format", "parquet"], capture_output=True, check=True, timeout=60, env=environment()
    )
    Path("piped.parquet").write_bytes(done.stdout)
    assert pq.read_table("piped.parquet")["items"].to_pylist() == [PAIR]


@every(
    ("name", "start"),
    [
        ("out.json", '{"itemsets"'),
        ("out.JSON", '{"itemsets"'),
        ("out.csv", "items,"),
        ("out.txt", CANARY),
        ("out.TXT", CANARY),
        ("out", CANARY),
        (".hidden", CANARY),
    ],
)
def test_suffix_decides_the_format(run: outcome_of, name: str, start: str) -> None:
    outcome = run(*TOP, "-o", name)
    assert (outcome.status, outcome.out) == (0, "")
    assert Path(name).read_text(encoding="utf-8").startswith(start)
    assert outcome.lines[-1] == f"dpmine: {GUARANTEE}"


def test_integers_stay_integers_in_numeric_order(run: outcome_of) -> None:
    assert json.loads(run(*NUMBERS, "--format", "json").out)["itemsets"][0]["items"] == [9, 10]
    assert '"[9, 10]"' in run(*NUMBERS, "--format", "csv").out
    assert run(*NUMBERS).out.startswith("9, 10\n")
    assert run(*NUMBERS, "-o", "out.parquet").status == 0
    assert pq.read_table("out.parquet")["items"].to_pylist() == [[9, 10]]


def test_quiet_leaves_stderr_empty(run: outcome_of) -> None:
    for arguments in (TOP, NOTHING, COUNT, [*TOP, "-o", "out.csv"]):
        assert run(*arguments, "--quiet").err == ""
        assert run(*arguments, "-q").err == ""


def test_quiet_does_not_silence_errors(run: outcome_of) -> None:
    assert_one_error(run(*TOP, "--quiet", "--size", "0"))


def test_lack_of_privacy_is_said(run: outcome_of) -> None:
    pure = ["top-itemset", "sales.parquet", "--mechanism", "exponential", "--catalogue-from-data", "--epsilon", "1000"]
    assert "not private" in run(*pure).out
    assert json.loads(run(*pure, "--format", "json").out)["guarantee"]["private"] is False
    exact = ["top-itemset", "sales.parquet", "--mechanism", "exact", "--not-private"]
    assert "not private" in run(*exact).out
    assert json.loads(run(*exact, "--format", "json").out)["guarantee"]["private"] is False


EXPECTED_SUPPORTS = [
    ([PAIR[1]], 34),
    ([PAIR[0]], 30),
    (PAIR, 30),
    ([f"{CANARY} tea"], 4),
    ([PAIR[1], f"{CANARY} tea"], 4),
]


def test_supports_in_every_format(run: outcome_of) -> None:
    document = json.loads(run(*COUNT, "--format", "json").out)
    assert document["private"] is False
    assert [(row["items"], row["support"]) for row in document["itemsets"]] == EXPECTED_SUPPORTS
    rows = csv.DictReader(io.StringIO(run(*COUNT, "--format", "csv").out))
    assert [(json.loads(row["items"]), int(row["support"])) for row in rows] == EXPECTED_SUPPORTS
    assert run(*COUNT, "-o", "out.parquet").status == 0
    rows = pq.read_table("out.parquet").to_pylist()
    assert [(row["items"], row["support"]) for row in rows] == EXPECTED_SUPPORTS
    lines = run(*COUNT).out.splitlines()
    assert lines[-1] == "(exact supports; NOT private)"
    assert lines[:-1] == [f"{support}\t{', '.join(items)}" for items, support in EXPECTED_SUPPORTS]


def test_supports_of_a_share(run: outcome_of) -> None:
    arguments = ["supports", "sales.parquet", "--not-private", "--size", "1", "--format", "csv", "--min-support"]
    assert len(run(*arguments, "1.0").out.splitlines()) == 2
    assert len(run(*arguments, "1").out.splitlines()) == 4


def test_several_files_and_composite_units(run: outcome_of) -> None:
    table = pq.read_table("numbers.parquet")
    for shop in (1, 2):
        pq.write_table(table.append_column("shop", [[shop] * table.num_rows]), f"shop{shop}.parquet")
    arguments = ["supports", "shop1.parquet", "shop2.parquet", "--not-private", "--min-support", "1", "--item", "item"]
    outcome = run(*arguments, "--unit", "shop", "--unit", "customer", "--format", "json")
    assert json.loads(outcome.out)["itemsets"] == [{"items": [9, 10], "support": 60}]


def test_output_replaces_a_file_as_a_whole(run: outcome_of, folder: Path) -> None:
    Path("out.json").write_text("old", encoding="utf-8")
    assert run(*TOP, "-o", "out.json").status == 0
    assert json.loads(Path("out.json").read_text(encoding="utf-8"))["sizes"] == [2, 2]
    assert leftovers(folder) == []


def test_output_follows_links(run: outcome_of) -> None:
    Path("real.json").write_text("old", encoding="utf-8")
    Path("link.json").symlink_to("real.json")
    assert run(*TOP, "-o", "link.json").status == 0
    assert Path("link.json").is_symlink()
    assert Path("real.json").read_text(encoding="utf-8").startswith("{")
    Path("circle").symlink_to("circle")
    assert_one_error(run(*TOP, "-o", "circle"))


def test_output_is_readable_as_the_mask_says(run: outcome_of) -> None:
    old = os.umask(0o027)
    try:
        assert run(*TOP, "-o", "out.json").status == 0
    finally:
        os.umask(old)
    assert stat.S_IMODE(Path("out.json").stat().st_mode) == 0o640


def test_output_keeps_the_rights_of_the_file_that_it_replaces(run: outcome_of) -> None:
    Path("out.json").touch(0o600)
    assert run(*TOP, "-o", "out.json").status == 0
    assert stat.S_IMODE(Path("out.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("arguments", [[*TOP, "--size", "7"], ["top-itemset", "truncated.parquet"]])
def test_failing_run_leaves_an_existing_file_alone(run: outcome_of, folder: Path, arguments: list[str]) -> None:
    Path("out.json").write_text("old", encoding="utf-8")
    assert_one_error(run(*arguments, "-o", "out.json"))
    assert Path("out.json").read_text(encoding="utf-8") == "old"
    assert leftovers(folder) == []


@pytest.mark.parametrize("failure", [OSError("no space"), KeyboardInterrupt(), RuntimeError("surprise")])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failing_write_leaves_no_temporary_file(
    run: outcome_of, folder: Path, monkeypatch: pytest.MonkeyPatch, step: str, failure: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(*{"fsync": (os, "fsync"), "replace": (Path, "replace")}[step], fail)
    Path("out.json").write_text("old", encoding="utf-8")
    outcome = run(*TOP, "-o", "out.json")
    assert outcome.status == {OSError: 2, KeyboardInterrupt: 130, RuntimeError: 1}[type(failure)]
    assert outcome.lines[-1].startswith("dpmine: error: ")
    assert Path("out.json").read_text(encoding="utf-8") == "old"
    assert leftovers(folder) == []


def leftovers(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.startswith(".") or path.suffix == ".tmp"]


@pytest.mark.parametrize(
    "arguments",
    [
        TOP,
        *(
            pytest.param(some, marks=pytest.mark.slow)
            for some in (COUNT, ["--help"], ["--version"], ["top-itemset", "--help"])
        ),
    ],
)
def test_closed_stdout_is_no_error(arguments: list[str]) -> None:
    """As in `| head -0`: the reader is gone before anything is written."""
    reader, writer = os.pipe()
    os.close(reader)
    done = ended(PROGRAM, *arguments, stdout=writer)
    os.close(writer)
    assert done.status == 0
    assert "Broken" not in done.err
    assert all(line.startswith("dpmine: ") for line in done.lines)


@pytest.mark.slow
def test_head_of_a_long_list() -> None:
    root = Path(dpmine.__file__).resolve().parents[1]
    listing = [str(root / "datasets" / "mushroom.parquet"), "--min-support", "400", "--size", "3", "--not-private"]
    command = 'set -o pipefail; "$@" | head -n 1'
    done = ended(["bash", "-c", command, "bash"], *PROGRAM, "supports", *listing)
    assert (done.status, done.out) == (0, "7906\t34, 85, 86\n")
    assert "Traceback" not in done.err


def test_same_in_a_process_of_its_own(run: outcome_of, folder: Path) -> None:
    assert spawn(*TOP, "--format", "json", cwd=folder) == run(*TOP, "--format", "json")


@pytest.mark.slow
def test_same_error_in_a_process_of_its_own(run: outcome_of, folder: Path) -> None:
    assert spawn("top-itemset", "no.parquet", cwd=folder) == run("top-itemset", "no.parquet")


@pytest.mark.parametrize("name", ["top.xlsx", "top.csv"])
def test_the_format_decides_where_it_is_given(run: outcome_of, name: str) -> None:
    assert run(*TOP, "-o", name, "--format", "json").status == 0
    assert "itemsets" in json.loads(Path(name).read_text(encoding="utf-8"))


COMMANDS = {
    "top-itemset": TOP,
    "catalogue": ["catalogue", "sales.parquet"],
    "supports": COUNT,
    "plan": ["plan", "--size", "2", "--catalogue-size", "100"],
    "doctor": ["doctor"],
    "grant": ["ledger", "grant", "--ledger", "sqlite:///budget.db", "--dataset", "shop", "--epsilon", "1"],
    "show": ["ledger", "show", "--ledger", "sqlite:///budget.db"],
    "history": ["ledger", "history", "--ledger", "sqlite:///budget.db", "--dataset", "shop"],
    "verify": ["ledger", "verify", "--ledger", "sqlite:///budget.db"],
}


@every("command", COMMANDS)
def test_formats_that_help_offers_are_written(run: outcome_of, command: str) -> None:
    dpmine.Ledger("sqlite:///budget.db").grant("shop", epsilon=1)
    offered = OPTIONS[command]["format"].choices or tuple(Format)
    for name in Format:
        outcome = run(*COMMANDS[command], "--format", name, "-o", f"{command}-{name}")
        assert (outcome.status == 0) == (name in offered), outcome
    if Format.PARQUET in offered:
        pq.read_table(f"{command}-parquet")
    json.loads(Path(f"{command}-json").read_text(encoding="utf-8"))
