"""The page of an operator in Jupyter."""

from __future__ import annotations

from html import escape

from ..base.markup import box, details, folded, table
from .docstrings import describe_section, mark_code, paragraphs, sections, summary
from .representation import places


def html(op):
    """Signature, documentation, an example and the kernels of an operator, as HTML."""
    more, parts = sections(op)
    example = parts.pop("Examples", "")
    headings = [heading for heading in ("Parameters", "Returns", "Raises") if heading in parts]
    tables = "".join(describe_section(heading, parts[heading]) for heading in headings)
    documentation = paragraphs(more) + tables
    return box(
        f"<p><code>{escape(op.name + str(op.signature))}</code></p><p>{mark_code(summary(op))}</p>",
        folded("documentation", documentation) if documentation else "",
        details("example", example, opened=True) if example else "",
        folded("kernels", table("", ("device", "inputs", "place"), [*places(op)])),
    )
