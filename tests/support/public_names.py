"""Everything that users may name, as one text: what the reference pages show, the command line, files and statuses.

`PYTHONPATH=tests python -m support.public_names` writes it to tests/project/public_names.txt.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import dpmine
from support.schemas import schemas

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "tests" / "project" / "public_names.txt"
MODULES = ("dpmine", "dpmine.auditing", "dpmine.planning", "dpmine.frequent_patterns")
"""What users import from. Other modules may move; what they hold is named in results only."""
_HEAD = """\
Names that dpmine guarantees to its users; tests/project/test_public_names.py compares them with the code.
Written by: PYTHONPATH=tests .venv/bin/python -m support.public_names
"""
RESULTS = ["AuditReport", "AuditRow", "Law", "ListPlan", "ListRow", "Need", "Plan", "Row", "Selection", "TargetReport"]
"""Classes that only calls make: their members are guaranteed, their parameters are not."""
NOT_GUARANTEED = {"validation.md"}
"""Reference pages on names that may change in any version, and say so."""
_DIRECTIVE = re.compile(r"^\.\. auto(?:class|function):: (\S+)\n((?:   :.*\n)*)", flags=re.MULTILINE)
_WIDTH = 118


class Shown(NamedTuple):
    """A directive of a reference page.

    Attributes:
        name: the whole name.
        members: those that it lists; none for all that have a docstring, None for no members.
        inherited: whether members of bases are shown, too.
    """

    name: str
    members: tuple[str, ...] | None
    inherited: bool


def public_names() -> str:
    """The text."""
    sections = {
        **{f"module {name}": _module(name) for name in MODULES},
        "results: names of their members; where their classes are may change": _results(),
        "errors and warnings": _errors(),
        "mechanisms": _mechanisms(),
        "command line": _commands(),
        "job files and JSON documents, by their schemas": _documents(),
        "model files, stored results and ledgers": _formats(),
        "pytest": _pytest(),
        "entry points": _entry_points(),
        "exit statuses": _statuses(),
    }
    return "\n".join([_HEAD, *(f"[{title}]\n" + "\n".join(lines) + "\n" for title, lines in sections.items())])


def shown() -> list[Shown]:
    """The directives of all reference pages, in order."""
    found = []
    for path in sorted((ROOT / "docs" / "reference").glob("*.md")):
        if path.name in NOT_GUARANTEED:
            continue
        for name, options in _DIRECTIVE.findall(path.read_text(encoding="utf-8")):
            said = re.search(r":members:(.*)", options)
            members = None if said is None else tuple(part for part in re.split(r"[,\s]+", said[1]) if part)
            found.append(Shown(name, members, ":inherited-members:" in options))
    return found


def _module(name: str) -> Iterator[str]:
    """What one imports from it: functions and classes with their parameters, and what is shown of them."""
    module = importlib.import_module(name)
    pages = {each.name.rpartition(".")[2]: each for each in shown()}
    names = [each for each in module.__all__ if name == "dpmine" or each not in dpmine.__all__]
    for each in sorted(names, key=str.lower):
        value = getattr(module, each)
        if inspect.isclass(value) and issubclass(value, (Exception, Warning)):
            continue
        yield from _wrapped(each if each in RESULTS else each + _parameters(value))
        if inspect.isclass(value):
            yield from _members(value, pages.get(each, Shown(each, None, inherited=False)))


def _results() -> Iterator[str]:
    """Classes that no public module has: what calls return."""
    imported = {each for name in MODULES for each in importlib.import_module(name).__all__}
    for page in sorted(shown(), key=lambda each: each.name.rpartition(".")[2].lower()):
        module, _, name = page.name.rpartition(".")
        if name not in imported:
            value = getattr(importlib.import_module(module), name)
            assert inspect.isclass(value), f"{page.name} is no result: put it into one of {', '.join(MODULES)}"
            yield name
            yield from _members(value, page)


def _parameters(value: Any) -> str:
    """Names, kinds and defaults of parameters, without their types."""
    if inspect.isclass(value) and (issubclass(value, enum.Enum) or getattr(value, "_is_protocol", False)):
        return ""
    signature = inspect.signature(value)
    bare = [_bare(each) for each in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _bare(parameter: inspect.Parameter) -> inspect.Parameter:
    """Without its type; a default that is one of some names as the text that it stands for."""
    default = parameter.default
    shown = default.value if isinstance(default, enum.Enum) else _Bare(default) if inspect.isclass(default) else default
    default = default if default is inspect.Parameter.empty else shown
    return parameter.replace(annotation=inspect.Parameter.empty, default=default)


class _Bare:
    """A class as a default, which is shown by its name."""

    def __init__(self, kind: type) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return self.kind.__name__


def _members(kind: type, page: Shown) -> Iterator[str]:
    if issubclass(kind, enum.Enum):
        yield from _wrapped(" | ".join(f"{each.value}" for each in kind), "    values: ")
        return
    attributes = _attributes(kind)
    if attributes:
        yield from _wrapped(" ".join(attributes), "    attributes: ")
    for name in page.members or (_documented(kind, page) if page.members is not None else ()):
        value = inspect.getattr_static(kind, name, None)
        if name in attributes or value is None:
            continue
        if isinstance(value, property) or not callable(getattr(kind, name)):
            yield f"    .{name}"
        else:
            yield from _wrapped(f"    .{name}{_method(getattr(kind, name))}")


def _method(value: Any) -> str:
    return _parameters(value).replace("(self, ", "(").replace("(self)", "()")


def _attributes(kind: type) -> list[str]:
    """Names of the docstring's list of attributes."""
    text = inspect.getdoc(kind) or ""
    listed = re.search(r"^Attributes:\n((?:(?:    .*)?\n)*)", text + "\n", flags=re.MULTILINE)
    heads = re.findall(r"^    (\w[\w, ]*):", listed[1], flags=re.MULTILINE) if listed else []
    return [name for head in heads for name in re.split(r"[, ]+", head)]


def _documented(kind: type, page: Shown) -> list[str]:
    """Public members with a docstring, as the reference shows them."""
    kinds = [each for each in kind.__mro__ if each.__module__.startswith("dpmine")] if page.inherited else [kind]
    names = sorted({name for each in kinds for name in vars(each) if not name.startswith("_")})
    return [name for name in names if inspect.getdoc(getattr(kind, name, None))]


def _errors() -> Iterator[str]:
    for name in dpmine.__all__:
        value = getattr(dpmine, name)
        if inspect.isclass(value) and issubclass(value, Exception):
            yield f"{name} ({', '.join(base.__name__ for base in value.__bases__)})"


def _mechanisms() -> Iterator[str]:
    from dpmine.options import names

    yield from _wrapped(" ".join(sorted(each.name for each in names.MECHANISMS)))
    yield f"of lists, too: {' '.join(sorted(each.name for each in names.WAYS))}"


def _commands() -> Iterator[str]:
    from dpmine_cli.program import group

    commands = group().commands
    of_ledger = {f"ledger {name}": command for name, command in commands["ledger"].commands.items()}
    for name, command in sorted({**commands, **of_ledger}.items()):
        if not hasattr(command, "commands"):
            yield from _wrapped("; ".join(map(_option, command.params)), f"dpmine {name}: ")


def _option(option: Any) -> str:
    """How it is spelled, the names that it may have, and its default."""
    spelled = "/".join([*option.opts, *option.secondary_opts]) if option.param_type_name == "option" else option.name
    choices = "|".join(map(str, getattr(getattr(option, "type", None), "choices", None) or ()))
    default = "" if option.default in (None, False, (), []) or callable(option.default) else f"= {option.default}"
    return " ".join(filter(None, [spelled, choices, default]))


def _documents() -> Iterator[str]:
    for name, schema in sorted(schemas().items()):
        places: dict[str, set[str]] = {}
        _collect(schema, schema, "", places, ())
        yield f"{name}.json"
        for place, names in sorted(places.items()):
            yield from _wrapped(" ".join(sorted(names)), f"    {place}: " if place else "    ")


def _collect(node: Any, root: Any, place: str, places: dict[str, set[str]], met: tuple[str, ...]) -> None:
    """The keys of every object of a schema, by its place."""
    if not isinstance(node, dict):
        return
    reference = node.get("$ref", "")
    if reference.startswith("#/$defs/") and reference not in met:
        _collect(root["$defs"][reference.removeprefix("#/$defs/")], root, place, places, (*met, reference))
    for name, value in node.get("properties", {}).items():
        places.setdefault(place, set()).add(name)
        _collect(value, root, f"{place}.{name}".lstrip("."), places, met)
    _collect(node.get("items"), root, f"{place}[]", places, met)
    for key in ("then", "else", "additionalProperties"):
        _collect(node.get(key), root, place, places, met)
    for key in ("anyOf", "oneOf", "allOf"):
        for each in node.get(key, []):
            _collect(each, root, place, places, met)


def _formats() -> Iterator[str]:
    from dpmine.ledger.tables import METADATA

    found = set()
    for path in (ROOT / "dpmine" / "schemas").glob("*.json"):
        found |= set(re.findall(r'"const": "(dpmine [a-z ]+)"', path.read_text(encoding="utf-8")))
    yield from sorted(found)
    yield f"ledger with the tables {' '.join(sorted(METADATA.tables))}"


def _pytest() -> Iterator[str]:
    from dpmine.pytest_plugin import Auditor

    yield f"fixture dpmine_audit: called with {_method(Auditor.__call__)}"
    yield f"    .report{_method(Auditor.report)}"
    yield "marker dpmine_audit(**options of dpmine.audit)"


def _entry_points() -> Iterator[str]:
    from importlib.metadata import distribution

    for each in sorted(distribution("dpmine").entry_points):
        yield f"{each.group}: {each.name}"


def _statuses() -> Iterator[str]:
    from dpmine_cli import messages, program

    yield f"{program.OK} done"
    yield f"{program.BUG} a bug in dpmine; of audit: a claim is refuted"
    yield f"{program.BAD_REQUEST} a request or data that cannot be used"
    yield f"{program.NO_BUDGET} the budget is exhausted"
    yield f"{messages.STATUS} interrupted"


def _wrapped(text: str, first: str = "") -> list[str]:
    margin = " " * (len(text) - len(text.lstrip()) + 8)
    return textwrap.wrap(
        first + text,
        _WIDTH,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


if __name__ == "__main__":
    STORED.write_text(public_names(), encoding="utf-8")
    sys.stdout.write(f"{STORED} is written: see the difference, and choose the version by it.\n")
