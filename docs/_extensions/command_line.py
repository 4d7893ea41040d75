"""The page of the command line is made of what `--help` says, at every build."""  # noqa: INP001

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dpmine_cli.program import group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

PAGE = "reference/command_line"
PLACE = "<!-- commands -->\n"
MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$^])")
EXAMPLE = "Example: "


def literal(text: str) -> str:
    """Markdown of a paragraph of help: examples are code, all else is taken literally."""
    words = " ".join(text.split())
    if words.startswith(EXAMPLE):
        return f"```text\n{words.removeprefix(EXAMPLE)}\n```"
    return MARKUP.sub(r"\\\1", words)


def definitions(records: list[tuple[str, str]]) -> str:
    """A definition list: what is typed, and what it means."""
    entries = (
        f"`` {typed.removesuffix(' <list[str]>')} ``\n: {literal(meaning) or '—'}\n" for typed, meaning in records
    )
    return "\n".join(["{.options}", *entries]) if records else ""


def helps(command: Any, context: Any) -> Iterator[str]:
    """A command and all below it, a heading each: what it does, how it is typed, its arguments and options."""
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    about = (literal(paragraph) for paragraph in re.split(r"\n\s*\n", command.help or ""))
    below = {name: each for name, each in getattr(command, "commands", {}).items() if not each.hidden}
    records = [record for each in command.get_params(context) if (record := each.get_help_record(context))]
    records += [(name, each.get_short_help_str(limit=1000)) for name, each in below.items()]
    yield "\n\n".join([f"## {context.command_path}", *about, f"```text\n{usage}\n```", definitions(records)])
    for name, each in below.items():
        yield from helps(each, type(context)(each, info_name=name, parent=context))


def page() -> str:
    """All commands as Markdown."""
    root = group()
    return "\n\n".join(helps(root, root.make_context("dpmine", [], resilient_parsing=True)))


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Sphinx's `source-read`: put the commands where the page wants them."""
    if docname == PAGE:
        app.env.note_reread()  # the command line may have changed
        if PLACE not in source[0]:
            raise ValueError(f"{PAGE} does not say where the commands stand")
        source[0] = source[0].replace(PLACE, page())


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("source-read", fill)
    return {"parallel_read_safe": True}
