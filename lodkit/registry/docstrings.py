"""Parts of a docstring in numpydoc's style."""

from __future__ import annotations

import inspect
import re
import textwrap
from html import escape

from ..base.markup import Markup, table

_HEADING = re.compile(r"^(\S.*)\n-{3,}\n", re.M)
_COLUMNS = {"Parameters": ("parameter", "type", "meaning"), "Returns": ("result", "type", "meaning")}


def summary(x):
    """The first paragraph, in one line."""
    return (inspect.getdoc(x) or "").partition("\n\n")[0].replace("\n", " ")


def brief(x, most=110):
    """The first paragraph, in one line of so many characters."""
    return textwrap.shorten(summary(x), most, placeholder=" ...")


def sections(x):
    """What follows the first paragraph, and the sections by heading; an example without a heading gets its own."""
    _, _, rest = (inspect.getdoc(x) or "").partition("\n\n")
    if "Examples\n--------\n" not in rest:
        rest = re.sub(r"(\A|\n\n)(?=>>> )", r"\1Examples\n--------\n", rest, count=1)
    text, *pairs = _HEADING.split(rest)
    return text.strip("\n"), {h: part.strip("\n") for h, part in zip(pairs[::2], pairs[1::2], strict=True)}


def entries(section):
    """Name, type and text of the entries of a section as Parameters or Raises."""
    for part in re.split(r"\n(?=\S)", section):
        first, _, text = part.partition("\n")
        name, _, kind = first.partition(" : ")
        yield name, kind, " ".join(text.split())


def mark_code(text):
    """Text as HTML: ``code`` in double backticks."""
    return Markup(re.sub(r"``(.+?)``", r"<code>\1</code>", escape(text, quote=False)))


def paragraphs(text):
    return "".join(f"<p>{mark_code(' '.join(part.split()))}</p>" for part in text.split("\n\n") if part.strip())


def describe_section(heading, section):
    """A section as a table."""
    headers = _COLUMNS.get(heading, ("error", "", "when"))
    quote = "" if heading == "Returns" else "``"
    rows = [(mark_code(f"{quote}{name}{quote}"), kind, mark_code(text)) for name, kind, text in entries(section)]
    keep = [0, *(i for i in (1, 2) if any(row[i] for row in rows))]
    return table(heading, [headers[i] for i in keep], [[row[i] for i in keep] for row in rows])
