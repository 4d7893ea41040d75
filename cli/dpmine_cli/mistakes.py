"""Messages on mistakes of a command line, in its own words: the options as they are typed, and what to type next."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpmine_cli.options import OPTIONS, as_typed, typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.options.tables import Option

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
    "--separator": "--delimiter",
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
        return _missing(missing, table[missing])
    if hasattr(error, "possibilities"):
        from dpmine.parameters import resembling

        known = [flag for key, option in table.items() for flag in option.flags]
        meant = _OTHER_NAMES.get(name)
        return f"{error.message}.{resembling(meant if meant in known else name, known)} {help_of}"
    text = getattr(error, "format_message", error.__str__)().replace("Value error, ", "", 1).rstrip(".")
    found = [option for key, option in table.items() if name in option.flags]
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
                return as_typed(f"{option.flags[0]} {rest}")
    return as_typed(text)


def _words(arguments: Sequence[str]) -> list[str]:
    """The command that is named, such as ledger show; none where there is no such command."""
    group = [word for word in arguments[:1] if word == "ledger"]
    named = list(arguments[: len(group) + 1])
    return named if named and named[-1] in OPTIONS else group


def _table(arguments: Sequence[str]) -> dict[str, Option]:
    words = _words(arguments)
    return OPTIONS.get(words[-1], {}) if words else {}


def _missing(name: str, option: Option) -> str:
    return f"{typed(option)} is missing: {option.help[:1].lower()}{option.help[1:].rstrip('.')}."
