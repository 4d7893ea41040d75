"""Links that work on the code host and in the site.

Pages link to files of the repository by relative paths, as the code host follows them. Some of those files are
shown in the site by pages of `docs/project`, which hold nothing but a link to the file: here the page gets the
file's text, and every link to the file leads to the page. Links to folders lead to their `index.md`.
"""  # noqa: INP001

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)")
"""A Markdown link's relative target and its anchor."""
HERE = Path(__file__).resolve().parents[1]
SHOWN = HERE / "project"


def shown_files() -> dict[Path, Path]:
    """The files of the repository that have a page, and that page."""
    pages = (page for page in SHOWN.glob("*.md") if page.stem != "index")
    return {_target(page, _only_link(page)): page for page in pages}


def _only_link(page: Path) -> str:
    (link,) = LINK.findall(page.read_text(encoding="utf-8"))
    return str(link[0])


def _target(page: Path, link: str) -> Path:
    return (page.parent / link).resolve()


def relinked(text: str, written: Path, shown: Path, pages: dict[Path, Path]) -> str:
    """The text of the file `written` with its links as the page `shown` needs them.

    Links to what does not exist stay as they are: Sphinx complains of them.
    """

    def link(match: re.Match[str]) -> str:
        target = _target(written, match[1])
        if target.is_dir() and target.is_relative_to(HERE):
            target /= "index.md"
        target = pages.get(target, target)
        if not target.exists():
            return match[0]
        return f"]({os.path.relpath(target, shown.parent)}{match[2] or ''})"

    return LINK.sub(link, text)


def show(app: Sphinx, docname: str, source: list[str]) -> None:
    """Sphinx's `source-read`: change the source of one page."""
    page = Path(app.env.doc2path(docname)).resolve()
    pages = shown_files()
    written = next((file for file, its_page in pages.items() if its_page == page), page)
    if written != page:
        app.env.note_dependency(str(written))
        source[0] = written.read_text(encoding="utf-8")
    source[0] = relinked(source[0], written, page, pages)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("source-read", show)
    return {"parallel_read_safe": True}
