"""Entry point: runs a command and turns every error into one line on stderr and an exit status.

Exit status: 0 done, 2 bad request or bad data, 3 budget refused, 130 interrupted, 1 a bug (or a claim that an audit
refutes).
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import typer
from typer.exceptions import TyperException

from dpmine_cli import (
    accuracy_first,
    audit,
    classify,
    histogram,
    hypothesis,
    interrupts,
    ledger,
    options,
    plan,
    supports,
    top_itemset,
)

app = typer.Typer(
    help="Private frequent-itemset mining: publish what goes together, so that no single person shows.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("top-itemset")(top_itemset.top_itemset)
app.command("supports")(supports.supports)
app.command("audit")(audit.audit)
app.command("plan")(plan.plan)
app.command("classify")(classify.classify)
app.command("accuracy-first")(accuracy_first.accuracy_first)
app.command("hypothesis")(hypothesis.hypothesis)
app.command("histogram")(histogram.histogram)
app.add_typer(ledger.app, name="ledger")

OK, BUG, BAD_REQUEST, NO_BUDGET = 0, 1, 2, 3


@app.callback()
def root(version: options.Version = False) -> None:
    """Private frequent-itemset mining: publish what goes together, so that no single person shows."""


def main() -> None:
    """Run the command line of this process and exit with its status."""
    interrupts.listen()
    # What fails inside a callback or a finaliser is printed by default, and its text may quote data.
    sys.unraisablehook = lambda _failure: None
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line; returns the exit status, and never raises."""
    try:
        # Not app(…): it turns an interrupt into a return value, and a closed pipe into an exit.
        command = typer.main.get_command(app)
        with command.make_context("dpmine", arguments) as context:
            command.invoke(context)
    except typer.Exit as done:
        return int(done.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _complain(interrupts.NOTHING_WRITTEN, interrupts.STATUS)
    except BrokenPipeError:  # of stdout: messages on stderr never raise
        return _closed_pipe()
    except Exception as error:  # noqa: BLE001 - the last line of defence: data must not leak through a traceback
        return _report(error, debug="--debug" in arguments)
    return OK


def _report(error: Exception, *, debug: bool) -> int:
    from dpmine.errors import BudgetExceeded, DpmineError

    if debug:
        _frames(error)
    if isinstance(error, TyperException):
        return _complain(_usage(error), BAD_REQUEST)
    if isinstance(error, BudgetExceeded):
        return _complain(str(error), NO_BUDGET)
    if isinstance(error, DpmineError):
        return _complain(str(error), BAD_REQUEST)
    if isinstance(error, MemoryError):
        return _complain("not enough memory: raise the thresholds or lower the size.", BAD_REQUEST)
    return _complain(f"a bug in dpmine ({type(error).__name__}): please report it with the output of --debug.", BUG)


def _frames(error: BaseException) -> None:
    """Where an error came from, as files and lines: never its text, which may quote data."""
    import traceback

    for frame in traceback.extract_tb(error.__traceback__):
        print(f"  {frame.filename}:{frame.lineno} in {frame.name}", file=sys.stderr)


def _usage(error: TyperException) -> str:
    """What is wrong with the command line, and where to look."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "dpmine"
    text = getattr(error, "format_message", error.__str__)().rstrip(".")
    return f"{text}. Try: {command} --help."


def _complain(text: str, status: int) -> int:
    from dpmine.accounting.accounts import without_passwords

    with suppress(OSError, ValueError):  # nobody listens
        print(f"dpmine: error: {without_passwords(' '.join(text.split()))}", file=sys.stderr)
    return status


def _closed_pipe() -> int:
    """The reader of stdout went away (`| head`): no message, and nothing left to flush."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return OK


if __name__ == "__main__":
    main()
