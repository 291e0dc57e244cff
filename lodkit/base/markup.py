"""Static HTML and SVG for Jupyter, in the notebook's own colours, light and dark, and with what screen readers say.

Text and lines have the colour around them (``currentColor``), areas a transparent grey; pictures have a title, tables a
caption and headers with a scope.
"""

from __future__ import annotations

from html import escape

STROKE = 'fill="none" stroke="currentColor"'
_MAX_FOLDED_CHARACTERS = 3000
_STYLE = (  # the class stands twice to outweigh Jupyter's own rules, which align text on the right
    ".lodkit.lodkit table{table-layout:auto;margin:.3em 0;border-collapse:collapse}"
    ".lodkit.lodkit caption{text-align:left;font-weight:bold;padding:.3em 0;color:inherit}"
    ".lodkit.lodkit th,.lodkit.lodkit td{text-align:left;vertical-align:top;padding:.15em 1em .15em .3em}"
    ".lodkit.lodkit thead th{font-weight:bold;border-bottom:1px solid rgba(128,128,128,.6)}"
    ".lodkit.lodkit tbody th{font-weight:normal}"
    ".lodkit.lodkit pre,.lodkit.lodkit code{background:none;color:inherit;padding:0;font-family:monospace}"
    ".lodkit.lodkit pre{white-space:pre-wrap}"
    ".lodkit.lodkit svg{max-width:100%;height:auto}"
)


def box(*parts):
    """Join parts into one piece of HTML with the style of tables."""
    return f'<div class="lodkit"><style>{_STYLE}</style>{"".join(parts)}</div>'


def title(name, *facts):
    """The first line: the name of a type, and facts."""
    return f"<b>{escape(name)}</b> {escape(' · '.join(facts))}<br/>"


def table(caption, headers, rows):
    """A table of text, whose first column names the rows; cells that are ``Markup`` are put in as they are."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{escape(h)}</th>' for h in headers)
    body = "".join(
        f'<tr><th scope="row">{_cell(first)}</th>{"".join(f"<td>{_cell(c)}</td>" for c in rest)}</tr>'
        for first, *rest in rows
    )
    caption = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def code(text):
    return Markup(f"<code>{escape(str(text))}</code>")


def _cell(x):
    return x if isinstance(x, Markup) else escape(str(x))


def svg(said, width, height, inner, anchor="middle"):
    """A picture; ``said`` is what a screen reader says, and a pointer that rests on it shows."""
    text = f'font-family="monospace" font-size="11" text-anchor="{anchor}" fill="currentColor"'
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} {text}><title>{escape(said)}</title>{inner}</svg>'
    )


def details(heading, text, opened=False):
    """Text that is folded away until somebody asks."""
    text = text if len(text) <= _MAX_FOLDED_CHARACTERS else text[:_MAX_FOLDED_CHARACTERS] + " ..."
    return folded(heading, f"<pre>{escape(text)}</pre>", opened)


def folded(heading, inner, opened=False):
    shown = ' open="open"' if opened else ""
    return f"<details{shown}><summary>{escape(heading)}</summary>{inner}</details>"
