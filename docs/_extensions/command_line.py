"""The page of the command line is made of what `--help` prints, at every build."""  # noqa: INP001

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpmine_cli.program import group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

PAGE = "reference/command_line"
PLACE = "<!-- commands -->\n"
WIDTH = 100


def helps(command: Any, context: Any) -> Iterator[tuple[str, str]]:
    """The path of a command and its help, and the same for all below it."""
    yield context.command_path, command.get_help(context)
    for name, below in getattr(command, "commands", {}).items():
        yield from helps(below, type(context)(below, info_name=name, parent=context, terminal_width=WIDTH))


def page() -> str:
    """All commands as Markdown, a heading each."""
    root = group()
    context = root.make_context("dpmine", [], resilient_parsing=True, terminal_width=WIDTH)
    parts = [f"## {path}\n\n```text\n{text.rstrip()}\n```\n" for path, text in helps(root, context)]
    return "\n".join(parts)


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
