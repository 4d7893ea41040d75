"""One command line: commands made of the table of options, and what a command gets when it is run."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from dpmine_cli.messages import Messages
from dpmine_cli.options import OPTIONS
from dpmine_cli.output import Destination, Format

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.reporting.jobs.options import Option

_ARGUMENTS = {"files", "jobs"}
"""What stands on a command line by its place."""


class CommandLine:
    """The options of one command line by name, where its result goes, and its messages."""

    def __init__(self, context: typer.Context) -> None:
        self._context = context
        self.options = {name.rstrip("_"): _plain(value) for name, value in context.params.items()}
        vars(self).update(self.options)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @cached_property
    def destination(self) -> Destination:
        """Of the result. Raises as `Destination.of`."""
        return Destination.of(self.options["format"], self.options["output"])

    @cached_property
    def messages(self) -> Messages:
        """What is said on stderr."""
        return Messages(quiet=self.options["quiet"])

    def values(self, *left_out: str) -> dict[str, Any]:
        """The options that the library's call has, by its names, without those left out."""
        table = OPTIONS[self._context.info_name or ""]
        own = {*left_out, "files", "format", "output", "quiet", "debug"}
        return {option.parameter or name: self.options[name] for name, option in table.items() if name not in own}

    @property
    def given(self) -> dict[str, str]:
        """How each option is spelled that the command line has."""
        source = self._context.get_parameter_source
        named = {each.name: each.opts[0] for each in self._context.command.params if each.name is not None}
        return {
            name.rstrip("_"): spelled
            for name, spelled in named.items()
            if (found := source(name)) is not None and found.name == "COMMANDLINE"
        }

    def require_one_unit(self) -> None:
        """Raises BadParameter for options of the privacy unit that contradict each other."""
        from dpmine.errors import BadParameter

        if self.options["unit"] and self.options["one_row_per"] is not None:
            raise BadParameter("--one-row-per is for files without a column of the unit: leave it out, or --unit.")
        if self.options["rows_per_unit"] != 1 and not self.options["unit"]:
            raise BadParameter("--rows-per-unit needs --unit COL, the column of the privacy unit.")


def add(app: typer.Typer, name: str, function: Callable[[CommandLine], None], short_help: str | None = None) -> None:
    """Make a command of a function: its help is the docstring, its options are those of the table."""
    table = OPTIONS[name]

    def run(context: typer.Context, **_options: Any) -> None:
        function(CommandLine(context))

    scores = "predict" in table  # and then needs nothing to train with
    options = [_parameter(key, option, required=option.needed and not scores) for key, option in table.items()]
    context = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)
    version = Parameter("version", Parameter.KEYWORD_ONLY, annotation=Version, default=False)
    run.__signature__ = Signature([context, *options, version])  # type: ignore[attr-defined]
    run.__doc__ = function.__doc__
    app.command(name, short_help=short_help)(run)


def _parameter(name: str, option: Option, *, required: bool) -> Parameter:
    """As Typer reads it from a function's signature."""
    kind: Any = StrEnum(name, {choice: choice for choice in option.choices}) if option.choices else option.kind
    kind = list[str] if kind is list else kind
    kind = kind if required or option.default is not None else Optional[kind]
    texts: Any = {"metavar": option.metavar, "help": option.help}
    if name in _ARGUMENTS:
        info = typer.Argument(**texts, show_default=False)
    else:
        flags = option.flags or (f"--{name.replace('_', '-')}",)
        info = typer.Option(*flags, **texts, show_default=option.shown or True)
    default = Parameter.empty if required else option.default
    spelled = f"{name}_" if iskeyword(name) else name
    return Parameter(spelled, Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info], default=default)


def _plain(value: Any) -> Any:
    """The text of a choice."""
    return value.value if isinstance(value, StrEnum) and not isinstance(value, Format) else value


def _show_version(context: typer.Context, value: bool) -> None:
    if value and not context.resilient_parsing:  # not while a shell completes the line
        from dpmine import __version__

        typer.echo(f"dpmine {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
]
