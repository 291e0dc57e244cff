"""Configuration of the site: ``sphinx-build -W --keep-going docs build/site``.

Pages are the Markdown files and notebooks of this folder, and those of docs/generate_operators.py. docs/index.md lists
them, and its headings are the parts of the sidebar; operators' pages and those in docs/api take docstrings. Pages of
``asv publish`` are copied to ``asv/`` and linked from the landing page, where they were made before.
"""

from __future__ import annotations

import importlib.util
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))  # this checkout, not an installed copy

import generate_operators
import plot_benchmarks
from sphinx import addnodes

import lodkit

generate_operators.write_pages()
project = html_title = "lodkit"
version = release = lodkit.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc", "sphinx_copybutton"]
exclude_patterns = ["**/.ipynb_checkpoints"]

myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks are run, and checked, elsewhere
autodoc_member_order = "bysource"
autodoc_type_aliases = {name: name for name in lodkit.typing.__all__}
autodoc_typehints_format = "short"
autosummary_generate = numpydoc_show_class_members = False
maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
highlight_language = "none"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = html_show_sphinx = False

DOCS = pathlib.Path(__file__).parent
ASV = DOCS.parent / "asv_benchmarks" / "html"


def tree(pages, *options):
    """A table of contents, which is a part of the sidebar too."""
    return "\n".join(["", "```{toctree}", *options, "", *pages, "```", ""])


def described(op):
    """What an operator's page says of it on the site: its whole docstring."""
    return [f"```{{eval-rst}}\n.. autofunction:: lodkit.{op.name}\n```"]


def with_trees(text):
    """A list of pages, with a part of the sidebar for every heading."""
    parts = []
    for part in re.split(r"^(?=## )", text, flags=re.M):
        heading = part.partition("\n")[0]
        if heading == "## Notebooks":
            found = [f"notebooks/{file.name}" for file in sorted(DOCS.glob("notebooks/*.ipynb"))]
            part += "".join(f"- []({name})\n" for name in found if name not in part)
        listed = re.findall(r"^- \[.*?\]\(([\w/-]+)\.(?:md|ipynb)\)", part, re.M)
        caption = [f":caption: {heading.removeprefix('## ')}"] if heading.startswith("## ") else []
        parts += [part, tree(listed, ":hidden:", *caption) if listed else ""]
    return "".join(parts)


def read_page(app, docname, source):
    """Complete what a page says where it is not read as plain Markdown."""
    source[0] = re.sub(r"(```python\n(?:(?!```).)*?)\n+```", r"\1\n```", source[0], flags=re.S)  # blank last lines
    source[0] = source[0].replace("(../CHANGELOG.md)", "(changelog.md)")
    if docname == "changelog":
        source[0] = "```{include} ../CHANGELOG.md\n```\n"
    if docname == "index" and (ASV / "index.html").exists():
        source[0] += '- <a href="asv/index.html">Speed over time</a>: every benchmark, commit by commit\n'
    if figure := plot_benchmarks.draw(docname.removeprefix("benchmarks/")):
        heading, _, rest = source[0].partition("\n\n")
        picture = f"![Speedups over the best peer, by family]({figure})"
        source[0] = f"{heading}\n\n{picture}\n\nA dot is a measurement, a bar the geometric mean.\n\n{rest}"
    if docname in ("index", "api", "decisions/index"):
        source[0] = with_trees(source[0])
    if docname == "benchmarks":
        source[0] += tree([f"benchmarks/{name}" for name in plot_benchmarks.NAMES], ":hidden:")
    if docname == "operators":
        source[0] += tree([f"operators/{group.page}" for group in generate_operators.GROUPS], ":hidden:")
    if docname == "api/torch" and not importlib.util.find_spec("torch"):
        source[0] = source[0].partition("```")[0] + "The rest of this page needs PyTorch where the site is built.\n"
    for group in generate_operators.GROUPS:
        if docname == f"operators/{group.page}":
            source[0] = generate_operators.page(group, described)


def to_numpydoc(app, what, name, thing, options, lines):
    """Head examples that follow a list of parameters; escape stars, as in (rows, *item), which emphasise nothing."""
    heads = [head for head, rule in zip(lines, lines[1:], strict=False) if re.fullmatch("-{3,}", rule)]
    first = next((i for i, line in enumerate(lines) if line.startswith(">>> ")), None)
    if heads and first is not None and "Examples" not in heads:
        lines[first:first] = ["Examples", "--------"]
    paragraphs = re.split(r"(\n\s*\n)", "\n".join(lines))
    for i, paragraph in enumerate(paragraphs):
        text, prompt, example = paragraph.partition(">>> ")
        text = re.sub(r"(``.*?``)|([*|])", lambda found: found[1] or "\\" + found[2], text, flags=re.S)
        paragraphs[i] = text + prompt + example
    lines[:] = "".join(paragraphs).split("\n")


def name_aliases(app, what, name, thing, options, signature, result):
    """Show aliases of types, which autodoc leaves as references before a ``|``, by their names."""
    return tuple(text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in (signature, result))


def list_headings_alone(app, doctree):
    """Leave operators, which have headings, out of the contents of their pages."""
    if app.env.docname.startswith("operators/"):
        for signature in doctree.findall(addnodes.desc_signature):
            signature["_toc_name"] = ""


def copy_asv(app, error):
    """Copy the pages of ``asv publish`` to the site."""
    if not error and ASV.exists():
        shutil.copytree(ASV, pathlib.Path(app.outdir) / "asv", dirs_exist_ok=True)


def setup(app):
    """Connect what is above."""
    app.connect("source-read", read_page)
    app.connect("autodoc-process-docstring", to_numpydoc, priority=100)  # before numpydoc
    app.connect("autodoc-process-signature", name_aliases)
    app.connect("doctree-read", list_headings_alone, priority=400)  # before contents are gathered
    app.connect("build-finished", copy_asv)
