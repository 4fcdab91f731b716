# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration. The package must be installed: the reference is read from its docstrings."""

import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "acl_attn"
author = "The acl_attn authors"
copyright = author  # noqa: A001 - Sphinx reads this name
release = importlib.metadata.version("acl_attn")
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_copybutton",
    "rule_pages",
    "performance_pages",
]
exclude_patterns = ["_build", "examples/**/README.md"]
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_validation_checks = {"all", "ES01", "SA01", "EX01", "GL01", "GL02", "GL03", "GL08", "RT02", "SS06", "PR06"}
# Constructors are documented in their classes, and those of errors in the base class. Nobody calls that of an
# enumeration, most of whose methods are int's.
numpydoc_validation_exclude = {r"\.__init__$", r"Error$", r"AntiquantMode(\.|$)"}
# Attributes are described in their class; autodoc shows them with no docstring of their own.
numpydoc_validation_overrides = {"SS01": [r"^$"]}
templates_path = ["_templates"]
default_role = "code"
nitpicky = False

# Every example starts from the same small arrays, so that pages show what matters.
doctest_global_setup = """
import numpy as np
import acl_attn
from acl_attn import *
from acl_attn.dtypes import *
from acl_attn.kvcache import *
"""

html_theme = "pydata_sphinx_theme"
html_title = f"acl_attn {release}"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
