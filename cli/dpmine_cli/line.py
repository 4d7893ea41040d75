"""One command line: commands made of the table of options, what a command gets when run, and a check of its files."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from inspect import Parameter, Signature
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer
from typer.core import TyperCommand, TyperGroup

from dpmine.options.names import ALL
from dpmine.options.option import OF_SOURCE
from dpmine_cli.messages import Messages, as_typed
from dpmine_cli.options import OF_COMMANDS, OPTIONS, Format, typed
from dpmine_cli.output import Destination

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from typer._click.core import Context

    from dpmine.io.files import PathName
    from dpmine.io.input import Input
    from dpmine.options.option import Option
    from dpmine.privacy import Guarantee

_ARGUMENTS = {"files", "jobs"}
"""What stands on a command line by its place."""
_LONG = 19  # digits of an integer of more than 64 bits

_WEAK = {
    "ε": (Fraction(10), "an even bet on one unit may become 99.99 % certain; 1 or less is common"),
    "δ": (Fraction(1, 1000), "with this probability it may not hold at all; 1e-6 or less is common"),
}
"""What a run may spend without a notice, and what more of it means."""


def load_arrow(*, frugal: bool) -> None:
    """Load Arrow without pandas, and where memory is limited with an allocator that returns it at once (measured).

    Arrow loads pandas, 50 MB and 0.3 s, at the first value that it makes, if pandas is there then. What
    converts to pandas loads it later. For the process of a command alone: a program may hand over frames of pandas.
    """
    if frugal:
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    import pyarrow as pa

    finder: Any = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(finder)


class _NoPandas:
    """Finds out that pandas is not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        """None, which leaves other modules to other finders."""
        if name == "pandas":
            raise ImportError


class CommandLine:
    """The options of one command line by name, where its result goes, and its messages."""

    def __init__(self, context: typer.Context) -> None:
        self._context = context
        self.options: dict[str, Any] = {
            name.rstrip("_"): value.value if isinstance(value, StrEnum) else value
            for name, value in context.params.items()
        }
        said = self.options
        if said.get("dry_run") and "ledger" in said:
            from dpmine.ledger.dry_run import in_place_of

            said["ledger"], said["dataset"] = in_place_of(said["ledger"], said["dataset"])

    def __getattr__(self, name: str) -> Any:
        """An option; none is called as an attribute of this class."""
        try:
            return vars(self)["options"][name]
        except KeyError:
            raise AttributeError(name) from None

    @cached_property
    def destination(self) -> Destination:
        """Of the result. Raises as `Destination.of`."""
        return Destination.of(self.options["format"], self.options["output"])

    @cached_property
    def messages(self) -> Messages:
        """What is said on stderr."""
        return Messages(quiet=self.options["quiet"])

    def require_source(self) -> None:
        """Raises BadParameter where there is nothing to read."""
        if not self.options["files"] and self.options["query"] is None:
            from dpmine.errors import BadParameter

            taken = self.options.get("attributes")
            if taken in {None, ALL}:
                raise BadParameter("FILE is missing: give a path or several, - for standard input, or --query.")
            put = f"--attributes took {taken!r} as its columns. Put it last, or give --attributes {ALL!r}"
            raise BadParameter(f"FILE is missing: {put}.")

    @property
    def data(self) -> Input:
        """The input that the options name. Raises BadParameter."""
        return self.input_of(self.options["files"])

    def input_of(self, files: PathName | Sequence[PathName]) -> Input:
        """Files as the options of sources describe them. Raises BadParameter."""
        named = {name: self.options[name] for name in OF_SOURCE if self.options[name] is not None}
        load_arrow(frugal=self.options.get("memory") is not None)
        from dpmine.io.input import Input

        return Input(files, **named)

    def require_apart(self, **others: Path | None) -> None:
        """Raises BadParameter unless --output and `others`, by option, are files of their own: see `io.atomic`."""
        written = {"output": self.destination.path, **others}
        if not any(written.values()):
            return  # there is nothing that could be in the way
        from dpmine.io.atomic import database_files, require_apart
        from dpmine.io.sources.query import named_files

        option = self.options.get
        kept = {**database_files(option("ledger")), **database_files(option("database"), "the database")}
        read = [*option("files", ()), *filter(None, [option("predict")])]
        read += named_files(option("query"), option("database"))
        targets = {f"--{name}": path for name, path in sorted(written.items())}  # the order of messages
        require_apart(targets, read, {"the catalogue": option("catalogue"), **kept})

    def values(self, *left_out: str) -> dict[str, Any]:
        """The options that the library's call has, by its names, without those left out and lists without an entry."""
        table = OPTIONS[self._context.info_name or ""]
        own = {*left_out, *OF_SOURCE, *OF_COMMANDS}
        passed = [name for name in table if name not in own and self.options[name] != ()]
        return {table[name].parameter or name: self.options[name] for name in passed}

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

    def caution(self, guarantee: Guarantee) -> None:
        """A notice where the guarantee of a run says little."""
        if not guarantee.private:
            return
        charged = {"ε": getattr(guarantee, "ex_post_epsilon", guarantee.epsilon), "δ": guarantee.delta}
        for name, (most, why) in _WEAK.items():
            if charged[name] > most:
                self.messages.notice(f"a guarantee with {name} = {float(charged[name]):g} says little: {why}")

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

    scores = "predict" in table  # and then needs nothing to train with

    def run(context: typer.Context, **_options: Any) -> None:
        line = CommandLine(context)
        if "query" in table and not scores:
            line.require_source()
        if "item" in table or line.options.get("dry_run"):
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts them when loaded; counting has its own
        if not line.options.get("dry_run"):
            function(line)
            return
        from dpmine.ledger.dry_run import DryRun

        try:
            function(line)
        except DryRun as done:
            print(done.to_json() if line.destination.format is Format.JSON else as_typed(str(done)))
            line.caution(done.guarantee)

    options = [_parameter(key, option, required=option.needed and not scores) for key, option in table.items()]
    context = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)
    version = Parameter("version", Parameter.KEYWORD_ONLY, annotation=Version, default=False)
    run.__signature__ = Signature([context, *options, version])  # type: ignore[attr-defined]
    run.__doc__ = function.__doc__
    app.command(name, cls=_Command, short_help=short_help)(run)


class _Command(TyperCommand):
    """A command that takes each option once, and whose values are converted here where that is easy."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """The arguments that are left. Raises BadParameter for an option of one value that is given twice."""
        _convert_here(self.get_params(ctx))
        args = _completed(args, OPTIONS[self.name or ""])
        if not ctx.resilient_parsing:  # while a shell completes the line
            _require_once(self.make_parser(ctx).parse_args(args=list(args))[2], OPTIONS[self.name or ""])
        return super().parse_args(ctx, args)


class Group(TyperGroup):
    """Commands below one name, whose values are converted here where that is easy."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """The arguments that are left for the command below."""
        _convert_here(self.get_params(ctx))
        return super().parse_args(ctx, args)


def _completed(args: Sequence[str], table: Mapping[str, Option]) -> list[str]:
    """The arguments, with the value of each option that stands alone: at the end, or before another option."""
    bare = {flag: option.bare for option in table.values() if option.bare for flag in option.flags}
    is_alone = [not following.removeprefix("-") or following.startswith("--") for following in [*args, ""][1:]]
    pairs = zip(args, is_alone, strict=True)
    return [f"{word}={bare[word]}" if alone and word in bare else word for word, alone in pairs]


def _require_once(given: Sequence[Any], table: Mapping[str, Option]) -> None:
    """Of an option that is repeated, Typer would take the last, silently: BadParameter unless that is meant."""
    single = [each for each in given if not (each.multiple or each.nargs == -1 or getattr(each, "is_flag", False))]
    for parameter in single:
        name = (parameter.name or "").rstrip("_")
        if single.count(parameter) > 1 and name in table:
            from dpmine.errors import BadParameter

            raise BadParameter(f"{parameter.opts[0]} is given more than once: give one {typed(table[name])}.")


def _convert_here(parameters: list[Any]) -> None:
    """Typer itself loads pydantic to convert a text, which takes as long as the rest of the command line."""
    for parameter in parameters:
        if hasattr(parameter, "get_runtime_param"):  # other versions of Typer convert by themselves
            vars(parameter)["get_runtime_param"] = _Conversion(parameter.get_runtime_param).get


@dataclass(frozen=True)
class _Conversion:
    """Of the texts of a command line to the values of one option."""

    typers: Callable[[], Any]

    def get(self) -> _Conversion:
        """As Typer asks for it."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value that Typer makes of it. Raises as Typer does."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        kind = param.type_descriptor.annotation
        found = _converted(value, kind)
        if found is None and isinstance(value, str):
            _require_possible(param.opts[0], value, kind, ctx.command.params)
        return self.typers().coerce(value, param=param, ctx=ctx) if found is None else found


def _converted(value: object, kind: Any) -> object:
    """The value as one of this kind; None where Typer must look at it, also to say what is wrong."""
    if kind == list[str]:
        return list(value) if isinstance(value, tuple | list) else None
    if not isinstance(value, str):
        return value if isinstance(value, kind) else None
    if kind is str:
        return value
    if kind is int:
        return int(value) if value.isascii() and value.isdecimal() and len(value) < _LONG else None
    if kind is Path:
        return Path(value) if not os.path.exists(value) or os.access(value, os.R_OK) else None  # noqa: PTH110
    return next((choice for choice in kind if choice.value == value), None) if issubclass(kind, StrEnum) else None


def _require_possible(flag: str, value: str, kind: Any, parameters: Sequence[Any]) -> None:
    """BadParameter, in words of ours, for no whole number and for none of the choices."""
    from dpmine.errors import BadParameter
    from dpmine.parameters import resembling

    if kind is int and not value.strip().lstrip("+-").isdecimal():  # what is too small or large, the library says
        one = flag.removesuffix("s")  # --units for --unit
        like = f" Did you mean '{one}'?" if one != flag and any(one in each.opts for each in parameters) else ""
        raise BadParameter(f"{flag} must be a whole number, such as 10.{like}")
    if issubclass(kind, StrEnum):
        raise BadParameter(f"{flag} must be one of: {', '.join(kind)}.{resembling(value, kind)}")


def _parameter(name: str, option: Option, *, required: bool) -> Parameter:
    """As Typer reads it from a function's signature."""
    kind: Any = StrEnum(name, {choice: choice for choice in option.choices}) if option.choices else option.kind
    kind = list[str] if kind is list else kind
    kind = kind if required or option.default is not None else Optional[kind]
    texts: Any = {"metavar": option.metavar, "help": option.help}
    if name in _ARGUMENTS:
        info = typer.Argument(**texts, show_default=False)
    else:
        info = typer.Option(*option.flags, **texts, show_default=option.shown or True)
    default = Parameter.empty if required else option.default
    spelled = f"{name}_" if iskeyword(name) else name
    return Parameter(spelled, Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info], default=default)


def _show_version(context: typer.Context, value: bool) -> None:
    if value and not context.resilient_parsing:  # not while a shell completes the line
        from dpmine import __version__

        typer.echo(f"dpmine {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
]
