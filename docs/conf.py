"""The site: `make docs` builds it into build/docs, offline, with warnings as errors.

Pages are the Markdown files of this folder. Three things are done to them on their way: formulas
become MathML, so that no script has to be loaded; ERRATA.md, which lies at the root, becomes the
page `errata`; the page `api` is filled from the public names of the package, and the index of the
laboratory from its folder.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from types import ModuleType

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

import dudley
from dudley.core.lazy import homes

ROOT = Path(__file__).resolve().parents[1]
STUB = Path(dudley.__file__).with_suffix(".pyi")  # the list of public names

project = "dudley"
author = "The dudley developers"
project_copyright = "The dudley developers, Apache-2.0"
version = release = dudley.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["requirements.lock"]
suppress_warnings = ["myst.header"]  # a page of an experiment may start its numbers at level 4
smartquotes = False  # a prime in a formula stays a prime

myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False  # a method of a contract is told once, where it is declared
autodoc_typehints = "none"
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "dudley"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"

ANCHOR = re.compile(r'<a id="([^"]+)"></a>\n')
LINK = re.compile(r"\]\(((?:\.\./)*(?:src|results|benchmarks|proof)/[^)]*)\)")


def errata(text: str) -> str:
    """ERRATA.md as a page of this folder: anchors become targets, links start here."""
    text = (ROOT / "ERRATA.md").read_text(encoding="utf-8")
    text = ANCHOR.sub(r"(\1)=", text)
    text = re.sub(r"\]\(docs/", "](", text)
    return LINK.sub(r"](../\1)", text)


def api(text: str) -> str:
    """docs/api.md and the documentation of every public name, module by module."""
    names_of = defaultdict(list)
    for name, home in sorted(homes(STUB).items()):
        names_of[home].append(name)
    parts = [text]
    for module, names in names_of.items():
        parts.append(f"## `{module}`")
        body = [f".. py:currentmodule:: {module}", ""]
        for name in names:
            value = getattr(dudley, name)
            if isinstance(value, ModuleType):
                body += [f".. automodule:: {module}.{name}", ""]
            elif isinstance(value, type):
                body += [f".. autoclass:: {module}.{name}", "   :members:", ""]
            else:
                body += [f".. autofunction:: {module}.{name}", ""]
        parts.append("```{eval-rst}\n" + "\n".join(body) + "\n```")
    return "\n\n".join(parts) + "\n"


def laboratory(text: str) -> str:
    """docs/lab/index.md, with the pages of the experiments below it."""
    return f"{text}\n```{{toctree}}\n:hidden:\n:glob:\n\n*\n```\n"


def read(app, docname: str, source: list[str]) -> None:
    """What a page reads as, if not as its file."""
    if docname in MADE:
        source[0] = MADE[docname](source[0])
    source[0] = LINK.sub(lambda link: file_link(link, docname), source[0])


def file_link(link: re.Match, docname: str) -> str:
    """A link to a file becomes a download; a folder is no file, and is linked to its records."""
    target = (ROOT / "docs" / docname).parent / link[1]
    return f"]({link[1]}/provenance.json)" if target.is_dir() else link[0]


def mathml(latex: str, display: str) -> str:
    markup = convert(latex, display=display)
    for escaped, sign in ((r"\{", "{"), (r"\}", "}"), (r"\|", "‖")):  # left after \bigl
        markup = markup.replace(f">{escaped}<", f">{sign}<")
    return markup


def visit_inline(self, node) -> None:
    self.body.append(f'<span class="math">{mathml(node.astext(), "inline")}</span>')
    raise SkipNode


def visit_block(self, node) -> None:
    self.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>')
    raise SkipNode


def docstring(app, what, name, obj, options, lines: list[str]) -> None:
    """Docstrings are plain text: what is indented after a blank line is a formula, as it stands.

    Elsewhere a bar is a bar, and no substitution.
    """
    made, literal = [], False
    for i, line in enumerate(lines):
        starts = line.startswith("    ") and (i == 0 or not lines[i - 1].strip())
        if starts and not literal:
            made += ["::", ""]
        literal = starts or (literal and (line.startswith("    ") or not line.strip()))
        made.append(line if literal or line.startswith(">>>") else line.replace("|", r"\|"))
    lines[:] = made


MADE = {"errata": errata, "api": api, "lab/index": laboratory}


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", docstring)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
