"""The search shows where a word stands also without a server: beside the pages lies a script with their texts."""  # noqa: INP001

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

READS = "texts_of_a_folder.js"
TEXTS = "_static/texts.js"


def text(tree: nodes.document) -> str:
    """The words of a page as HTML, a space between parts."""
    parts = (node.astext() for node in tree.findall(nodes.Text))
    return escape(" ".join(" ".join(parts).split()), quote=False)


def use(app: Sphinx, pagename: str, _template: str, _context: dict[str, Any], _tree: Any) -> None:
    """Sphinx's `html-page-context`: the page of the search reads the texts."""
    if pagename == "search":
        app.add_js_file(READS)


def write(app: Sphinx, failure: Exception | None) -> None:
    """Sphinx's `build-finished`: the texts of all pages by their address."""
    if failure is None and app.builder.name == "html":
        uris = {
            app.builder.get_target_uri(name): text(app.env.get_doctree(name)) for name in sorted(app.env.found_docs)
        }
        written = json.dumps(uris, ensure_ascii=False)
        (Path(app.outdir) / TEXTS).write_text(f"const PAGE_TEXTS = {written};\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("html-page-context", use)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
