"""How Sphinx makes a site of these pages: ``make site``."""

import re
import sys
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer
from sphinx.util.inspect import TypeAliasForwardRef

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test/py")]

import error_pages  # noqa: E402

import hlobatch  # noqa: E402

project = "hlobatch"
author = "The hlobatch authors"
release = hlobatch.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
suppress_warnings = ["myst.xref_missing"]  # links to files of the repository, which are no pages

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_type_aliases = {
    name: name for name in ("ArrayLike", "Arrays", "Axes", "DType", "Function", "LogDensity", "PyTree")
}
autodoc_typehints_description_target = "documented"
napoleon_use_ivar = True
default_role = "code"

smartquotes = False
html_theme = "furo"
html_title = "hlobatch"
html_static_path = ["_static"]
html_css_files = ["site.css"]

MESSAGES = "messages.md"
"""Made here, and not kept in the repository."""


def setup(app: Any) -> None:
    """MLIR has no colors; the page of messages is made from the tests; aliases inside of types show their names."""
    TypeAliasForwardRef.__repr__ = lambda alias: alias.name
    app.add_lexer("mlir", TextLexer)
    app.connect("include-read", _links_within_the_site)
    app.connect("autodoc-process-signature", _without_private_parameters)
    (ROOT / "docs" / MESSAGES).write_text(error_pages.messages_text(), encoding="utf-8")


def _links_within_the_site(_app: Any, _path: Path, _page: str, content: list[str]) -> None:
    """The README links to CONTRIBUTING, which is a page here, and to a folder, which is none."""
    links = {"](CONTRIBUTING.md)": "](contributing.md)", "[examples/](examples)": "`examples/`"}
    for link, own in links.items():
        content[0] = content[0].replace(link, own)


def _without_private_parameters(*event: Any) -> tuple[str | None, str | None]:
    """A class's own fields are no arguments for users."""
    *_, signature, result = event
    return signature and re.sub(r", _\w+=<factory>", "", signature), result
