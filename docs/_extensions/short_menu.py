"""The menu names the parts of the site and their pages. What is below is found from these pages."""  # noqa: INP001

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LEVELS = 2


def shorten(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """Sphinx's `html-page-context`, before the theme makes its menu."""
    if "toctree" in context:
        whole = context["toctree"]
        context["toctree"] = lambda **options: whole(**{**options, "maxdepth": LEVELS})


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("html-page-context", shorten, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
