"""The site of these pages and the reference of the API: ``make docs-site``."""

import re
from pathlib import Path

from sphinx.application import Sphinx

project = "Arctic"
root_doc = "site/index"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "Arctic"
html_copy_source = False
html_extra_path = ["index.html"]  # leads to the first page
# Anchors as GitHub makes them, so that a link holds on both.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_use_rtype = False
autodoc_typehints_description_target = "documented_params"
# Shows output that is no program, and diagrams, as they are.
highlight_language = "none"

suppress_warnings = ["misc.highlighting_failure"]  # a template of SQL, a picture as text

_ROOT = Path(__file__).parent.parent.parent
_PAGE = re.compile(r"\]\(docs/([^)]+)\)")
_FILE = re.compile(r"\[([^\]]+)\]\((?!https?:|#|\.\./)[^)]+\)")


def setup(app: Sphinx) -> None:
    """Show the README as the first page, without links to files that are no pages."""
    app.connect("source-read", _read_index)


def _read_index(app: Sphinx, name: str, source: list[str]) -> None:
    if name == root_doc:
        readme = (_ROOT / "README.md").read_text(encoding="utf-8")
        source[0] = _FILE.sub(r"\1", _PAGE.sub(r"](../\1)", readme)) + source[0]
