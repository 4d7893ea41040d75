"""How Sphinx builds the pages of this folder: `make docs`."""  # noqa: INP001

from __future__ import annotations

import sys
from pathlib import Path

from dpmine import __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "dpmine"
release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "command_line",
    "plain_docstrings",
    "repository_pages",
    "search_texts",
    "short_menu",
]
exclude_patterns = ["_extensions", "_static"]

html_theme = "furo"
html_title = f"dpmine {__version__}"
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_js_files = ["landmarks.js"]
html_css_files = ["site.css"]

myst_enable_extensions = ["attrs_block", "deflist"]  # of the options of commands
myst_heading_anchors = 3
highlight_language = "none"  # blocks say their language; indented ones are often shell and Python mixed

smartquotes = False  # quotes in docstrings are code
maximum_signature_line_length = 100
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
napoleon_use_ivar = True
napoleon_use_rtype = False
default_role = "code"  # docstrings put one backtick around code
python_use_unqualified_type_names = True

# Types in signatures: Python's, numpy's and internal aliases have no page here; inventories would need a network.
nitpick_ignore_regex = [("py:class", r"(?!dpmine\.).*")]
