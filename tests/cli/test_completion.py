"""Completion: what a shell is answered, as it asks, and the scripts that it is given."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest
from dpmine_cli.program import group
from support.cases import every
from support.command_line import Outcome, ended, outcome_of

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = set(group().commands)
PRIVATE = ["--epsilon", "--delta", "--mechanism", "--neighbors", "--release-support"]


class Shell:
    """Asks as the scripts of a shell do."""

    def __init__(self, run: outcome_of, monkeypatch: pytest.MonkeyPatch) -> None:
        self._run = run
        self._environment = monkeypatch

    def ask(self, shell: str, line: str, *, fish: str = "get-args") -> Outcome:
        """The answer to a completion of `line`, whose last word is not finished."""
        asked = {
            "_DPMINE_COMPLETE": f"complete_{shell}",
            "COMP_WORDS": line,
            "COMP_CWORD": str(line.count(" ")),
            "_TYPER_COMPLETE_ARGS": line,
            "_TYPER_COMPLETE_FISH_ACTION": fish,
        }
        with self._environment.context() as environment:
            for name, value in asked.items():
                environment.setenv(name, value)
            return self._run()

    def words(self, shell: str, line: str) -> set[str]:
        """What bash or fish would offer."""
        outcome = self.ask(shell, line)
        assert (outcome.status, outcome.err) == (0, "")
        return {offered.split("\t")[0] for offered in outcome.out.splitlines()} - {""}


@pytest.fixture
def shell(run: outcome_of, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(run, monkeypatch)


@pytest.mark.parametrize("name", ["bash", "fish"])
def test_commands_and_options_are_offered(shell: Shell, name: str) -> None:
    assert shell.words(name, "dpmine ") == COMMANDS
    assert shell.words(name, "dpmine hi") == {"histogram"}
    assert shell.words(name, "dpmine ledger ") == {"grant", "show", "history", "verify", "export"}
    assert set(PRIVATE) <= shell.words(name, "dpmine top-itemset sales.parquet --")
    assert shell.words(name, "dpmine top-itemset --rel") == {"--release-support"}
    assert shell.words(name, "dpmine top-itemset --format ") == {"text", "json", "csv", "parquet"}
    assert shell.words(name, "dpmine no-such-command") == set()


def test_zsh_gets_names_with_their_help(shell: Shell) -> None:
    outcome = shell.ask("zsh", "dpmine ledger hi")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith('_arguments \'*: :(("history":"Print every grant, charge and settlement')
    assert outcome.out.count("\n") == 1
    offered = shell.ask("zsh", "dpmine top-itemset --").out
    assert all(f'"{option}":"' in offered for option in PRIVATE)
    assert shell.ask("zsh", "dpmine top-itemset ").out == "_files\n"


def test_one_word_a_line_for_fish(shell: Shell) -> None:
    """Help that was broken into lines would be offered as words."""
    outcome = shell.ask("fish", "dpmine top-itemset --")
    assert all(line.startswith("-") and "\t" in line for line in outcome.out.splitlines())


def test_fish_learns_where_files_are_wanted(shell: Shell) -> None:
    assert shell.ask("fish", "dpmine l", fish="is-args").status == 0
    assert shell.ask("fish", "dpmine top-itemset ", fish="is-args").status == 1


def test_a_version_that_is_asked_for_is_not_printed_in_between(shell: Shell) -> None:
    assert shell.ask("bash", "dpmine --version top").out == "top-itemset\n"


@every("instruction", ["nonsense", "", "complete_csh", "frobnicate_bash"])
def test_unusable_questions_are_one_line(run: outcome_of, monkeypatch: pytest.MonkeyPatch, instruction: str) -> None:
    monkeypatch.setenv("_DPMINE_COMPLETE", instruction)
    outcome = run()
    assert (outcome.status, outcome.out) == (2, "")
    assert len(outcome.lines) == 1
    assert outcome.err.startswith("dpmine: error: _DPMINE_COMPLETE ")


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of the test's own; the user's shell is what decides, whoever runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("typer._completion_shared._get_shell_name", lambda: None)
    return tmp_path


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_scripts_are_shown_and_installed(
    run: outcome_of, at_home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("SHELL", f"/usr/bin/{name}")
    shown = run("--show-completion")
    assert (shown.status, shown.err) == (0, "")
    assert f"complete_{name}" in shown.out
    installed = run("--install-completion")
    assert (installed.status, installed.err, installed.out.count("\n")) == (0, "", 1)
    written = [path.read_text(encoding="utf-8") for path in at_home.rglob("*") if path.is_file()]
    assert any(shown.out.strip() in text for text in written)


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize("option", ["--show-completion", "--install-completion"])
def test_unknown_shells_are_one_line(run: outcome_of, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    monkeypatch.setenv("SHELL", "/bin/csh")
    outcome = run(option)
    assert (outcome.status, outcome.out, len(outcome.lines)) == (2, "", 1)
    assert "bash, zsh, fish" in outcome.err


def test_a_home_that_cannot_be_written_is_one_line(
    run: outcome_of, at_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/fish")
    (at_home / ".config").write_text("in the way", encoding="utf-8")
    outcome = run("--install-completion")
    assert (outcome.status, outcome.out, len(outcome.lines)) == (2, "", 1)
    assert "--show-completion" in outcome.err


BASH = """
eval "$(dpmine --show-completion)"
COMP_WORDS=(dpmine ledger hi) COMP_CWORD=2
_dpmine_completion dpmine
echo "${COMPREPLY[@]}"
"""
FISH = """
dpmine --show-completion | source
complete -C 'dpmine ledger hi' | string split -f 1 \\t
"""


@pytest.mark.parametrize(("name", "script"), [("bash", BASH), ("fish", FISH)])
def test_a_real_shell(tmp_path: Path, name: str, script: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"needs {name}")
    program = tmp_path / "dpmine"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dpmine_cli.main "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    place = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    assert ended([name, "-c", script], variables=place) == Outcome(0, "history\n", "")
