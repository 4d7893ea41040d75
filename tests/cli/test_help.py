"""Help, its examples and choices, version, and what starting up costs."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import split
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from dpmine_cli.options import OPTIONS
from dpmine_cli.program import group
from pyarrow.feather import write_feather
from support.cases import every
from support.command_line import ROOT, last_of_each, outcome_of, python, spawn

import dpmine
from dpmine.options.names import typed_names
from dpmine.selection.recommend import MECHANISMS

if TYPE_CHECKING:
    from collections.abc import Callable

    import typer

    from dpmine.options.option import Option
    from dpmine.selection.mechanisms.mechanism import Mechanism

GROUP = group()
TOP: dict[str, typer.core.TyperCommand] = GROUP.commands
COMMANDS: dict[str, typer.core.TyperCommand] = {
    f"{name} {inner}" if inner else name: command
    for name, group in TOP.items()
    for inner, command in getattr(group, "commands", {"": group}).items()
}
HEAVY = ["numpy", "pandas", "pyarrow", "pydantic", "rich", "flint", "mlxtend", "scipy", "sqlalchemy"]


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_all_commands(run: outcome_of, flag: str) -> None:
    outcome = run(flag)
    assert (outcome.status, outcome.err) == (0, "")
    assert all(f"  {name} " in outcome.out for name in TOP)


@every("name", COMMANDS)
def test_command_has_help_and_an_example(run: outcome_of, name: str) -> None:
    outcome = run(*name.split(), "--help")
    assert (outcome.status, outcome.err) == (0, "")
    text = " ".join(outcome.out.split())
    assert text.startswith(f"Usage: dpmine {name} ")
    assert f"Example: dpmine {name} " in text or text.endswith(f"Example: dpmine {name}")


@every("name", ["", *TOP, *COMMANDS])
def test_help_fits_eighty_columns_and_cuts_nothing(run: outcome_of, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    outcome = run(*name.split(), "--help")
    assert outcome.status == 0
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert not [line for line in outcome.out.splitlines() if line.endswith("...") and not line.startswith("Usage:")]


@pytest.mark.slow
@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"FORCE_COLOR": "1"}])
def test_help_has_no_colour(variables: dict[str, str]) -> None:
    done = spawn("plan", "--help", variables=variables)
    assert done.status == 0
    assert "\x1b" not in done.out


@every("name", COMMANDS)
def test_every_option_is_explained(name: str) -> None:
    missing = [option.name for option in COMMANDS[name].params if not getattr(option, "help", None)]
    assert missing == []


@every("name", COMMANDS)
def test_command_is_on_a_page(name: str) -> None:
    pages = [
        ROOT / "README.md",
        *(ROOT / "docs" / "how-to").glob("*.md"),
        ROOT / "docs" / "reference" / "command_line.md",
    ]
    assert any(f"dpmine {name}" in page.read_text(encoding="utf-8") for page in pages)


@every("name", COMMANDS)
def test_example_is_a_valid_command_line(name: str) -> None:
    """Parsed, not run."""
    documentation = COMMANDS[name].help or ""
    example = documentation.split(f"Example: dpmine {name}")[1].split("\n")[0]
    with COMMANDS[name].make_context(name, example.split()) as context:
        assert context.args == []


def test_options_of_the_contract_exist() -> None:
    offered = {flag for option in COMMANDS["top-itemset"].params for flag in option.opts}
    wanted = (
        "--item --items --unit --basket --one-hot --size --epsilon --delta --mechanism --neighbors --catalogue "
        "--catalogue-from-data --not-private --format --output -o --quiet --debug --version"
    )
    assert set(wanted.split()) <= offered
    assert "--seed" not in offered


def test_each_form_of_a_forecast_is_explained(run: outcome_of) -> None:
    said = " ".join(run("report", "--help").out.split())
    assert re.search(r"--format <text\|json> .* text: a line for each job.* json: the same as one object", said)


@pytest.mark.parametrize("arguments", [["--version"], ["top-itemset", "--version"], ["supports", "--version"]])
def test_version(run: outcome_of, arguments: list[str]) -> None:
    outcome = run(*arguments)
    assert (outcome.status, outcome.out, outcome.err) == (0, f"dpmine {dpmine.__version__}\n", "")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["top-itemset", "--help"], ["top-itemset"]])
def test_no_heavy_import_before_there_is_work(arguments: list[str]) -> None:
    code = (
        f"import sys; from dpmine_cli.main import run; run({arguments!r})\n"
        f"print(*(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)"
    )
    done = python(code)
    assert (done.status, done.lines[-1]) == (0, "")


@pytest.mark.parametrize("name", [None, "top-itemset", "ledger"])
def test_only_the_command_that_is_named_is_made(name: str | None) -> None:
    assert set(group(name).commands) == ({name} if name else set(TOP))


# What counting does not load.

UNUSED = ["scipy", "pandas", "pydantic", "numpy.ma", "sklearn", "matplotlib", "sqlalchemy"]
STARTED = """
import sys
sys.argv = ["dpmine", {command!r}, "sales.parquet", *{options!r}, "--quiet"]
from dpmine_cli import main
try:
    main.main()
finally:
    print(*(name for name in {heavy!r} if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("top-itemset", ["--epsilon", "9"]),
        pytest.param("supports", ["--min-support", "1", "--not-private"], marks=pytest.mark.slow),
    ],
)
def test_counting_loads_nothing_that_it_does_not_use(command: str, options: list[str]) -> None:
    code = STARTED.format(command=command, options=options, heavy=UNUSED)
    done = python(code)
    assert (done.status, done.lines[-1]) == (0, "")


@pytest.mark.usefixtures("folder")
def test_a_dry_run_loads_nothing_for_its_output() -> None:
    unused = [*UNUSED, "csv", "tempfile", "hashlib", "flint", "pyarrow.csv", "pyarrow.compute"]
    done = python(STARTED.format(command="top-itemset", options=["--epsilon", "9", "--dry-run"], heavy=unused))
    assert (done.status, done.lines[-1]) == (0, "")


@pytest.mark.usefixtures("folder")
def test_reading_text_and_conditions_loads_no_pandas_and_ends_quietly() -> None:
    Path("sales.csv").write_text("u,i\n1,a\n1,b\n2,a\n2,b\n", encoding="utf-8")
    options = ["--where", "i <> 'x'", "--unit", "u", "--item", "i", "--min-support", "1", "--not-private"]
    code = STARTED.replace("sales.parquet", "sales.csv").format(command="supports", options=options, heavy=["pandas"])
    done = python(code)
    assert (done.status, done.lines[-1]) == (0, "")
    assert "leaked" not in done.err


UNUSED_DRY = [*UNUSED, "flint", "pyarrow.compute", "pyarrow.dataset", "sqlite3", "dpmine.itemsets.counting.miner"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["top-itemset", "supports"])
def test_a_dry_run_loads_nothing_that_counts_or_draws(command: str) -> None:
    options = ["--dry-run", *(["--min-support", "1", "--not-private"] if command == "supports" else [])]
    done = python(STARTED.format(command=command, options=options, heavy=UNUSED_DRY))
    assert (done.status, done.lines[-1]) == (0, "")


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_histograms_do_without_scikit_learn() -> None:
    options = ["--column", "item", "--lower", "0", "--upper", "20", "--bins", "2"]
    code = STARTED.replace("sales.parquet", "numbers.parquet").format(
        command="histogram", options=options, heavy=["sklearn"]
    )
    done = python(code)
    assert (done.status, done.lines[-1]) == (0, "")


# Every choice that --help offers can be made: no command offers what it then rejects.

LEDGER = "--ledger sqlite:///budget.db"
BOUNDS = "--lower 0 --upper 9"
TRAINING = "data.parquet --label rich --model m.json"
SEARCH = "--x-bound 1 --excess-risk 0.4 --regularization 10 --epsilon-max 1000 --model m.json"
RUNS = {
    "top-itemset": "top-itemset data.parquet --unit person --item town",
    "frequent-itemsets": "frequent-itemsets data.parquet --unit person --item town --top 1",
    "catalogue": "catalogue data.parquet --unit person --item town",
    "supports": "supports data.parquet --unit person --item town --min-support 1 --not-private",
    "histogram": f"histogram data.parquet --column age {BOUNDS}",
    "classify": f"classify {TRAINING} --features age {BOUNDS}",
    "regress": f"regress data.parquet --target pay --target-bounds 0,99 --features age {BOUNDS} --model m.json",
    "hypothesis": f"hypothesis {TRAINING} --features age {BOUNDS} --grid 11",
    "accuracy-first": f"accuracy-first data.parquet --features age --target pay --y-bound 1 {SEARCH}",
    "plan": "plan --epsilon 1",
    "audit": "audit --mechanism exponential",
    "report": "report jobs.toml --dry-run",
    "doctor": "doctor",
    "grant": f"ledger grant {LEDGER} --dataset another --epsilon 1",
    "show": f"ledger show {LEDGER}",
    "history": f"ledger history {LEDGER} --dataset shop",
    "verify": f"ledger verify {LEDGER}",
    "export": f"ledger export {LEDGER}",
}
"""A command line of each command that works."""

OTHER_RUNS = {
    "accuracy-first --model-kind logistic": f"accuracy-first data.parquet --features age --target rich {SEARCH}",
    "hypothesis --class conjunctions": f"hypothesis {TRAINING} --features age",
    "hypothesis --class separators": f"hypothesis {TRAINING} --features age,pay {BOUNDS}",
    "grant --parts by-unit": f"ledger grant {LEDGER} --dataset units --epsilon 1 --neighbors add-remove",
    "grant --parts by-index": f"ledger grant {LEDGER} --dataset places --epsilon 1",
}
"""Where a choice is for another kind of run."""


def _needed(mechanism: type[Mechanism]) -> str:
    if not mechanism.private:
        return "--not-private"
    if mechanism.needs_bounded_units:
        return "--max-items-per-unit 5"
    return "--catalogue towns.txt" if mechanism.needs_catalogue else ""


NEEDED = {
    "--accounting zcdp": "--delta 1e-6",
    "--lift-of units": "--rules --release-support auto --units 200",
    "--mechanism joint": "--catalogue towns.txt",
    "--mechanism lipschitz": "--catalogue towns.txt",
    **{f"--mechanism {typed_names(name)}": _needed(kind) for name, kind in MECHANISMS.items()},
}
"""What a choice needs beside it, where the command has such an option."""

WRITERS: dict[str, Callable[[pa.Table, str], None]] = {
    "parquet": pq.write_table,
    "csv": pacsv.write_csv,
    "tsv": lambda table, file: pacsv.write_csv(table, file, pacsv.WriteOptions(delimiter="\t")),
    "arrow": write_feather,
}
"""Of the forms of files that are tried here; tests/io tries all."""


def choices(name: str, option: Option) -> list[str]:
    """Those that the help offers: as choices, or in the text of --mechanism."""
    if name == "format" and not option.choices:
        return ["text", "json", "csv", "parquet"]
    if name == "input_format":
        return [*WRITERS]
    if name == "mechanism":
        return re.findall(r"(?<![(\w-])[a-z]+(?:-[a-z]+)*(?=[,.]| \()", option.help.split(":")[-1])
    return list(option.choices)


OFFERED = [
    (command, option.flags[0], choice)
    for command, table in OPTIONS.items()
    for name, option in table.items()
    for choice in choices(name, option)
]


def command_line(command: str, flag: str, choice: str) -> str:
    """The command line that makes the choice, with what it needs."""
    chosen = f"{flag} {choice}"
    line = OTHER_RUNS.get(f"{command} {chosen}", RUNS[command])
    if flag == "--input-format":
        line = line.replace("data.parquet", f"data.{choice}")
    if flag == "--encoding":
        line = line.replace("data.parquet", "data.csv")
    needed = NEEDED.get(chosen, "")
    known = {each for name, option in OPTIONS[command].items() for each in option.flags}
    return f"{line} {chosen} {needed if needed.split(' ')[0] in known else ''}"


@pytest.fixture
def tables(folder: Path, run: outcome_of) -> Path:
    """One table in several forms, and a ledger."""
    generator = np.random.default_rng(4)
    columns = {
        "person": np.arange(400) // 2,
        "town": [f"t{number}" for number in generator.integers(0, 3, 400)],
        "age": generator.uniform(0, 1, 400),
        "pay": generator.uniform(-1, 1, 400),
        "rich": ["no", "yes"] * 200,
    }
    table = pa.table(columns)
    for name, write in WRITERS.items():
        write(table, f"data.{name}")
    Path("towns.txt").write_text("t0\nt1\nt2\n", encoding="utf-8")
    terms = 'ledger = "sqlite:///budget.db"\ndataset = "shop"\nepsilon = 9\ndelta = 1e-5'
    job = 'kind = "top-itemset"\ninput = "data.parquet"\nunit = "person"\nitem = "town"\nsize = 1'
    Path("jobs.toml").write_text(f"[budget]\n{terms}\n[[job]]\n{job}\n", encoding="utf-8")
    assert run(*split(f"ledger grant {LEDGER} --dataset shop --epsilon 9 --delta 1e-5")).status == 0
    return folder


@pytest.mark.slow
@every("command, flag, choice", OFFERED)
@pytest.mark.usefixtures("tables")
def test_what_is_offered_is_accepted(run: outcome_of, command: str, flag: str, choice: str) -> None:
    outcome = run(*last_of_each(*split(command_line(command, flag, choice))))
    assert outcome.status == 0, outcome.err


def test_all_commands_and_the_mechanisms_are_tried() -> None:
    assert {command for command, *_ in OFFERED} == RUNS.keys() == OPTIONS.keys()
    mechanisms = {command for command, flag, _ in OFFERED if flag == "--mechanism"}
    assert mechanisms == {"top-itemset", "histogram", "classify", "hypothesis", "audit"}
    tried = {choice for command, flag, choice in OFFERED if (command, flag) == ("hypothesis", "--mechanism")}
    assert {"auto", "exponential", "stable-maximiser", "exact"} < tried
    assert ("plan", "--format", "csv") not in OFFERED
