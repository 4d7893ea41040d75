"""Help, examples, version, and what starting up costs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from dpmine_cli.program import group
from support.cases import every
from support.command_line import PROGRAM, ROOT, environment, outcome_of

import dpmine

if TYPE_CHECKING:
    import typer

GROUP = group()
TOP: dict[str, typer.core.TyperCommand] = GROUP.commands
COMMANDS: dict[str, typer.core.TyperCommand] = {
    f"{name} {inner}" if inner else name: command
    for name, group in TOP.items()
    for inner, command in getattr(group, "commands", {"": group}).items()
}
HEAVY = ["numpy", "pandas", "pyarrow", "pydantic", "rich", "flint", "mlxtend", "scipy", "sqlalchemy"]


def test_there_are_commands() -> None:
    assert {"top-itemset", "supports"} <= set(COMMANDS)


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
    command = [*PROGRAM, "plan", "--help"]
    done = subprocess.run(command, capture_output=True, check=True, env={**environment(), **variables})
    assert b"\x1b" not in done.stdout


@every("name", COMMANDS)
def test_every_option_is_explained(name: str) -> None:
    missing = [option.name for option in COMMANDS[name].params if not getattr(option, "help", None)]
    assert missing == []


@every("name", COMMANDS)
def test_command_is_in_the_readme(name: str) -> None:
    assert f"dpmine {name}" in (ROOT / "README.md").read_text(encoding="utf-8")


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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    assert done.stderr.splitlines()[-1] == ""


@pytest.mark.parametrize("name", [None, "top-itemset", "ledger"])
def test_only_the_command_that_is_named_is_made(name: str | None) -> None:
    assert set(group(name).commands) == ({name} if name else set(TOP))


def test_unknown_names_are_refused_and_help_is_named(run: outcome_of) -> None:
    assert "Try: dpmine --help." in run("bottom-itemset").err
    assert "Try: dpmine top-itemset --help." in run("top-itemset", "a", "--bottom").err
