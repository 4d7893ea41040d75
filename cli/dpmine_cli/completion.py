"""Completion of command lines by shells: Typer's scripts and answers, with errors of one line."""

from __future__ import annotations

import os
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer

_PROGRAM = "dpmine"
_VARIABLE = "_DPMINE_COMPLETE"
"""By this name in the environment a shell asks for words instead of a run; its value names shell and question."""


def is_asked_for() -> bool:
    """Whether a shell started this process to complete a command line."""
    return _VARIABLE in os.environ


def complete(command: Any) -> int:
    """Print what the shell asks for; returns the exit status, which answers fish. Raises BadParameter."""
    from typer import _completion_classes as answers
    from typer.completion import shell_complete

    from dpmine.errors import BadParameter

    answers.completion_init()
    answers._sanitize_help_text = _as_it_is  # noqa: SLF001 - rich breaks lines, and shells take each for a word
    with redirect_stderr(StringIO()):  # its complaints have no form; we have our own
        status = shell_complete(command, {}, _PROGRAM, _VARIABLE, os.environ[_VARIABLE])
    if status:
        raise BadParameter(f"{_VARIABLE} must be set by a shell's completion, such as complete_bash: unset it.")
    return status


def _as_it_is(text: str) -> str:
    return text


def _install(context: typer.Context, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from typer._completion_shared import install

        from dpmine.errors import UnreadableFile

        try:
            shell, path = install(_shell(), _PROGRAM, _VARIABLE)
        except OSError:
            raise UnreadableFile(
                "Cannot write the completion into your home folder: put what --show-completion prints where your "
                "shell finds it."
            ) from None
        typer.echo(f"Completion for {shell} is in {path}; new terminals have it.")
        raise typer.Exit


def _show(context: typer.Context, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from typer._completion_shared import get_completion_script

        names = {"prog_name": _PROGRAM, "complete_var": _VARIABLE, "shell": _shell()}
        typer.echo(get_completion_script(**names))
        raise typer.Exit


def _shell() -> str:
    """The shell that started this process, or else the user's own. Raises BadParameter where neither is known."""
    from typer._completion_shared import Shells, _get_shell_name

    from dpmine.errors import BadParameter

    for name in (_get_shell_name(), Path(os.environ.get("SHELL", "")).name):
        if name in set(Shells):
            return str(name)
    raise BadParameter("Completion is for bash, zsh, fish and PowerShell: run this from one of them.")


Install = Annotated[
    bool,
    typer.Option("--install-completion", callback=_install, is_eager=True, help="Install completion for your shell."),
]
Show = Annotated[
    bool,
    typer.Option("--show-completion", callback=_show, is_eager=True, help="Print the completion of your shell."),
]
