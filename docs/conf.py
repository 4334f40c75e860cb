"""Sphinx settings. Everything is local: no fonts, no scripts and no inventories from elsewhere."""

from talekeeper import __version__

project = "Talekeeper"
author = "The Talekeeper authors"
project_copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
nitpicky = False

myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"Talekeeper {release}"
html_show_sourcelink = False
html_copy_source = False
