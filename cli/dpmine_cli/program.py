"""The commands, and how a command line is run or completed: each error becomes one line on stderr and a status.

Messages on mistakes speak of the options as they are typed, and say what to type next.
"""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stderr, suppress
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.exceptions import TyperException

from dpmine_cli import itemsets, ledger, messages, models, plan, report
from dpmine_cli.line import Group, Version, add
from dpmine_cli.options import OPTIONS, typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer._click import Command

    from dpmine.options.option import Option

_PROGRAM = "dpmine"
_VARIABLE = "_DPMINE_COMPLETE"
"""By this name in the environment a shell asks for words instead of a run; its value names shell and question."""


def complete(command: Command) -> int:
    """Print what the shell asks for; returns the exit status, which answers fish. Raises BadParameter."""
    from typer import _completion_classes as answers
    from typer.completion import shell_complete

    from dpmine.errors import BadParameter

    answers.completion_init()
    answers._sanitize_help_text = lambda text: text  # noqa: SLF001 - rich breaks lines, and shells take each for a word
    with redirect_stderr(StringIO()):  # its complaints have no form; we have our own
        status = shell_complete(command, {}, _PROGRAM, _VARIABLE, os.environ[_VARIABLE])
    if status:
        raise BadParameter(f"{_VARIABLE} must be set by a shell's completion, such as complete_bash: unset it.")
    return status


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


_COMMANDS = {
    "top-itemset": (itemsets.top_itemset, "Choose the top itemsets of transactions, privately."),
    "frequent-itemsets": (itemsets.frequent_itemsets, "List all frequent itemsets of any size, privately."),
    "catalogue": (itemsets.catalogue, "Find the items that may be named, privately: a catalogue for later runs."),
    "supports": (itemsets.supports, "Print exact supports. NOT private."),
    "audit": (plan.audit, "Measure the privacy of mechanisms against their claims."),
    "plan": (plan.plan, "Predict accuracy and the ε required, without reading data."),
    "classify": (models.classify, "Train a linear classifier, privately."),
    "regress": (models.regress, "Train ridge regression of a number, privately."),
    "accuracy-first": (models.accuracy_first, "Train to a target, at the least privacy loss."),
    "hypothesis": (models.hypothesis, "Choose a rule that predicts a label, privately."),
    "histogram": (models.histogram, "Estimate the density of a column, privately."),
    "report": (report.report, "Run a file of jobs, and write one page."),
    "doctor": (plan.doctor, "Say whether dpmine works here."),
}
_LEDGER = "Grant, show and check budgets that many runs share."

_NO_MEMORY = (
    "there is not enough memory: close other programs, or give a lower --memory (larger data are then streamed)."
)
OK, BUG, BAD_REQUEST, NO_BUDGET, TOO_EARLY = 0, 1, 2, 3, 4


def root(
    version: Version = False,
    install_completion: Install = False,
    show_completion: Show = False,
) -> None:
    """Private frequent-itemset mining: publish what goes together, so that no single person shows.

    Example: dpmine top-itemset sales.parquet --unit customer --item product
    """


def group(named: str | None = None) -> Any:
    """All commands as Typer runs them; only the one that is named, if there is one of this name: it starts earlier."""
    app = typer.Typer(
        cls=Group,
        add_completion=False,  # it stands here, with errors of one line
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    names = {*_COMMANDS, "ledger"}
    wanted = names & {named} or names
    for name, (function, short_help) in _COMMANDS.items():
        if name in wanted:
            add(app, name, function, short_help)
    if "ledger" in wanted:
        app.add_typer(ledger.commands(), name="ledger", short_help=_LEDGER)
    return typer.main.get_command(app)


def run(arguments: list[str]) -> int:
    """Run one command line, or answer a shell that completes one; returns the exit status, and never raises."""
    try:
        messages.begin()
        _require_utf8(arguments)
        if _VARIABLE in os.environ:
            return complete(group())
        # Not group(…)(…): it turns an interrupt into a return value, and a closed pipe into an exit.
        command = group(*arguments[:1])
        with command.make_context("dpmine", arguments) as context:
            command.invoke(context)
    except (typer.Exit, SystemExit) as done:
        return _status(done)
    except (typer.Abort, KeyboardInterrupt):
        return _complain(messages.message(), messages.STATUS)
    except BrokenPipeError:  # of stdout, whose reader went away (`| head`): messages on stderr never raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to flush
    except Exception as error:  # noqa: BLE001 - the last line of defence: data must not leak through a traceback
        if "--debug" in arguments:
            _print_frames(error)
        text, status = _answer(error, arguments)
        return _complain(text + messages.staying(), status)
    return OK


def _require_utf8(arguments: list[str]) -> None:
    """Raises BadParameter for bytes that are not UTF-8: they can neither be shown nor stored in results and ledgers."""
    from dpmine.errors import BadParameter

    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            shown = argument.encode(errors="replace").decode()
            raise BadParameter(f"The argument '{shown}' is not valid UTF-8: rename the file.") from None


def _status(done: typer.Exit | SystemExit) -> int:
    code = done.exit_code if isinstance(done, typer.Exit) else done.code
    return code if isinstance(code, int) else OK


def _answer(error: Exception, arguments: list[str]) -> tuple[str, int]:
    """The message on an error, and the exit status."""
    from dpmine.errors import BudgetExceeded, DpmineError, NotReady

    if isinstance(error, TyperException):
        return usage(error, arguments), BAD_REQUEST
    if isinstance(error, BudgetExceeded):
        return explained(str(error), arguments), NO_BUDGET
    if isinstance(error, NotReady):
        return explained(str(error), arguments), TOO_EARLY
    if isinstance(error, DpmineError):
        return explained(str(error), arguments), BAD_REQUEST
    if isinstance(error, MemoryError):
        return _NO_MEMORY, BAD_REQUEST
    return f"a bug in dpmine ({type(error).__name__}): please report it with the output of --debug.", BUG


def _print_frames(error: BaseException) -> None:
    """Where an error came from, as files and lines: never its text, which may quote data."""
    import traceback

    for frame in traceback.extract_tb(error.__traceback__):
        print(f"  {frame.filename}:{frame.lineno} in {frame.name}", file=sys.stderr)


def _complain(text: str, status: int) -> int:
    from dpmine.markup import without_passwords

    with suppress(OSError, ValueError):  # stderr is closed
        print(f"dpmine: error: {without_passwords(messages.on_one_line(text))}", file=sys.stderr)
    return status


_REQUIREMENT = "must "
_OTHER_NAMES = {
    "--user": "--unit",
    "--person": "--unit",
    "--id": "--unit",
    "--target": "--label",
    "--label": "--target",
    "--k": "--top",
    "--where": "--query",
    "--sep": "--delimiter",
    "--supports": "--release-support",
    "--bin-width": "--bins",
    "--patients": "--units",
    "--check": "--dry-run",
}
"""What options are called elsewhere, and here where the command has that one."""


def usage(error: Any, arguments: Sequence[str]) -> str:
    """What is wrong with the form of a command line; `error` is Typer's."""
    table, help_of = _table(arguments), f"Try: {' '.join(['dpmine', *_words(arguments), '--help'])}."
    name = str(getattr(error, "option_name", ""))
    if (missing := _without_value(error)) in table:
        wanted = table[missing].help.rstrip(".")
        return f"{typed(table[missing])} is missing: {wanted[:1].lower()}{wanted[1:]}."
    if hasattr(error, "possibilities"):
        from dpmine.parameters import resembling

        known = [flag for option in table.values() for flag in option.flags]
        meant = _OTHER_NAMES.get(name)
        return f"{error.message}.{resembling(meant if meant in known else name, known)} {help_of}"
    text = getattr(error, "format_message", error.__str__)().replace("Value error, ", "", 1).rstrip(".")
    found = [option for option in table.values() if name in option.flags]
    if found and text.endswith("requires an argument"):
        return f"{name} needs a value: give {typed(replace(found[0], flags=(name,)))}. {help_of}"
    return f"{text}{'' if text.endswith('?') else '.'} {help_of}"


def _without_value(error: Any) -> str:
    """The name of the option or argument that is missing; "" for other mistakes."""
    return error.param.name.rstrip("_") if hasattr(error, "param_type") and error.param is not None else ""


def explained(text: str, arguments: Sequence[str]) -> str:
    """A message of the library, with options as they are typed: also where it begins with what a parameter must be."""
    name, _, rest = text.partition(" ")
    if rest.startswith(_REQUIREMENT):
        for key, option in _table(arguments).items():
            if name in {key, option.parameter}:
                return messages.as_typed(f"{option.flags[0]} {rest}")
    return messages.as_typed(text)


def _words(arguments: Sequence[str]) -> list[str]:
    """The command that is named, such as ledger show; none where there is no such command."""
    group = [word for word in arguments[:1] if word == "ledger"]
    named = list(arguments[: len(group) + 1])
    return named if named and named[-1] in OPTIONS else group


def _table(arguments: Sequence[str]) -> dict[str, Option]:
    words = _words(arguments)
    return OPTIONS.get(words[-1], {}) if words else {}
