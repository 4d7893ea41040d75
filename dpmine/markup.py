"""How results are passed on: plain documents for JSON; texts that do no harm; small escaped HTML for notebooks.

The HTML has no scripts and no styles.
"""

from __future__ import annotations

import json
import re
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Document: TypeAlias = dict[str, Any]
"""A result in a plain form for JSON."""
_PASSWORD = re.compile(r"(://[^/:\s]*:)(?:[^?\s]*(?=@)|\S*(?=@))|(password=)[^&\s'\"]*", re.IGNORECASE)
_LINES = re.compile(r"[^\n\t]+")
MOST_ROWS = 50
"""Rows of a table in a notebook; what is left out is counted below it."""


def printable(name: object) -> str:
    """An item, a column or another name on one line: characters that a terminal would obey are escaped, as in JSON."""
    text = str(name)
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def json_text(document: object, *, indent: int | None = None) -> str:
    """The document as JSON, in which characters that a terminal would obey, or that show nothing, are escaped."""
    return harmless(json.dumps(document, ensure_ascii=False, indent=indent))


def harmless(text: str) -> str:
    """A text in lines, with tabs, as a terminal may be given it; see `printable`."""
    return _LINES.sub(lambda part: printable(part[0]), text)


def without_passwords(text: str) -> str:
    """The text, with the passwords of URLs left out: all up to the last @ before parameters. They may hold @ and /."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}***", text)


def html_table(columns: Sequence[str], rows: Sequence[Sequence[str]], remarks: Sequence[str]) -> str:
    """A table with its remarks below it, line by line; no table where there are no rows.

    Requires: what is given is released already. Of many rows the first are shown, with the number of the others.
    """
    left_out = len(rows) - MOST_ROWS
    more = [f"… and {left_out:,} more"] if left_out > 0 else []
    lines = "<br>".join(escape(remark) for remark in (*more, *remarks))
    head, body = _row("th", columns), "".join(_row("td", row) for row in rows[:MOST_ROWS])
    table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>" if rows else ""
    return f"<div>{table}<p>{lines}</p></div>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


class ShownAsText:
    """What notebooks show as its text, which is a table in columns of one width already."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
