"""Many operators in little room: what ``OPS`` shows, without a kernel being loaded for it."""

from __future__ import annotations

import itertools
import textwrap

from ..markup import box, code, table
from .docstrings import brief, marked
from .kinds import Dense

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
    """Operators by name, and the gradient operator of each, which has no line of its own."""
    gradients = {}
    for name in ops:
        forward = [n for n in ops if name.endswith("_grad") and name.startswith(f"{n}_")]
        if forward:
            gradients.setdefault(max(forward, key=len), []).append(name)
    folded = {name for names in gradients.values() for name in names}
    return {name: op for name, op in sorted(ops.items()) if name not in folded}


def inputs(op):
    """Names of the inputs, with their kinds where these are not arrays; a question mark where one may be left out."""
    shown = []
    for i, (name, kinds) in enumerate(op.inputs.items()):
        names = (
            ""
            if kinds - {type(None)} == {Dense}
            else ": " + " | ".join(sorted(k.__name__ for k in kinds - {type(None)}))
        )
        last = op.variadic and i == len(op.inputs) - 1
        shown.append(f"{'*' * last}{name}{'?' * (type(None) in kinds)}{names}")
    return ", ".join(shown)


def html(ops):
    """A table of operators that can be searched: a line of documentation, inputs and devices."""
    kept = without_gradients(ops)
    rows = [
        (code(name), marked(brief(op)), inputs(op), ", ".join(op.devices()), "yes" if op.gradient_rule else "")
        for name, op in kept.items()
    ]
    found = table(f"{len(rows)} operators", ("operator", "what it does", "inputs", "devices", "gradient"), rows)
    field = (
        '<label hidden="hidden">Search: <input type="search" size="30"/></label> <span role="status"></span>'
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
    by_family = itertools.groupby(
        sorted(without_gradients(ops).items(), key=lambda x: (x[1].family, x[0])), lambda x: x[1].family
    )
    for family, found in by_family:
        names = ", ".join(name for name, _ in found)
        lines.append(textwrap.fill(names, 100, initial_indent=f"  {family + ':':22}", subsequent_indent=" " * 24))
    return "\n".join(lines)
