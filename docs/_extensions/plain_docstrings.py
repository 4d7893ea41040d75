"""Docstrings are plain text with Google's sections: what else reStructuredText reads into them is switched off."""  # noqa: INP001

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

CODE = re.compile(r"(`[^`]*`)")
MARKUP = re.compile(r"[*|\\]|(?<=\w)_(?!\w)")
"""Emphasis, substitutions, escapes; and the underscore at the end of coef_, which would be a reference."""

PAGE = re.compile(r"\bdocs/([\w/-]+)\.md\b")


def plain(line: str) -> str:
    """The line with everything outside backticks taken literally."""
    if line.lstrip().startswith((">>>", "...")):
        return line
    parts = CODE.split(line)
    return "".join(part if part.startswith("`") else _literal(part) for part in parts)


def _literal(text: str) -> str:
    """Escaped, but for names of pages, which become links."""
    return PAGE.sub(r":doc:`/\1`", MARKUP.sub(r"\\\g<0>", text))


def escape(_app: Sphinx, what: str, _name: str, _value: Any, _options: Any, lines: list[str]) -> None:
    """Sphinx's `autodoc-process-docstring`, before napoleon's."""
    lines[:] = [plain(line) for line in lines]
    if what in {"attribute", "property"}:
        lines.insert(0, "")  # napoleon takes the first line's words before a colon for a type


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", escape, priority=400)
    return {"parallel_read_safe": True}
