"""Operators in Jupyter and as text: what ``OPS`` shows, without a kernel being loaded for it, and the page of one."""

from __future__ import annotations

import itertools
import textwrap
from html import escape

from ..base.markup import box, code, details, folded, table
from .docstrings import brief, describe_section, mark_code, paragraphs, sections, summary
from .kinds import Dense
from .representation import places

_LISTED = 40  # operators with a line each, as text
#: Shows the search box, which stays hidden where scripts do not run, and hides the rows without all of its words.
_SCRIPT = """
for (const box of document.querySelectorAll(".lodkit-ops")) {
  const field = box.querySelector("input"), rows = [...box.querySelectorAll("tbody tr")];
  box.querySelector("label").hidden = false;
  field.oninput = () => {
    const words = field.value.toLowerCase().split(" ");
    for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
    box.querySelector("[role=status]").textContent = rows.filter(row => !row.hidden).length + " shown";
  };
}
"""


def without_gradients(ops):
    """Operators by name, but for the gradients of others among them."""
    forward = [name for name in ops if not name.endswith("_grad")]
    return {
        name: op
        for name, op in sorted(ops.items())
        if not (name.endswith("_grad") and any(name.startswith(f"{other}_") for other in forward))
    }


def inputs(op):
    """Names of the inputs, with their kinds where these are not arrays; a question mark where one may be left out."""
    shown = []
    for i, (name, kinds) in enumerate(op.inputs.items()):
        star = "*" * (op.variadic and i == len(op.inputs) - 1)
        mark = "?" * (type(None) in kinds)
        taken = " | ".join(sorted(kind.__name__ for kind in kinds - {type(None)}))
        shown.append(f"{star}{name}{mark}" + (f": {taken}" if taken != Dense.__name__ else ""))
    return ", ".join(shown)


def html(ops):
    """A table of operators that can be searched: a line of documentation, inputs and devices."""
    kept = without_gradients(ops)
    rows = [
        (code(name), mark_code(brief(op)), inputs(op), ", ".join(op.devices()), "yes" if op.gradient_rule else "")
        for name, op in kept.items()
    ]
    found = table(f"{len(rows)} operators", ("operator", "what it does", "inputs", "devices", "gradient"), rows)
    field = (
        '<label hidden="hidden">Search: <input type="search" size="30" style="color:inherit;background:none"/></label>'
        ' <span role="status"></span>'
        '<div style="max-height:30em;overflow:auto" tabindex="0" role="region" aria-label="operators">'
    )
    help = "<p><code>OPS[name]</code> shows one with its documentation, <code>OPS.search(words)</code> finds some.</p>"
    return box(f'<div class="lodkit-ops">{field}{found}</div>{help}</div><script>{_SCRIPT}</script>')


def text(ops):
    """A line for each of some operators; many by family, names only."""
    if not ops:
        return "0 operators"
    count = f"{len(ops)} operator{'s' * (len(ops) > 1)}"
    if len(ops) <= _LISTED:
        width = max(map(len, ops))
        return "\n".join([count, *(f"  {name:{width}}  {brief(op, 96)}" for name, op in ops.items())])
    lines = [f"{count}; OPS.search(words) finds some, help(lodkit.sgd) explains one; X_grad is the gradient of X"]
    kept = sorted(without_gradients(ops).values(), key=lambda op: (op.family, op.name))
    for family, found in itertools.groupby(kept, lambda op: op.family):
        names = ", ".join(op.name for op in found)
        lines.append(textwrap.fill(names, 100, initial_indent=f"  {family + ':':22}", subsequent_indent=" " * 24))
    return "\n".join(lines)


def operator_html(op):
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
