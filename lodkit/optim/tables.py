"""An optimizer in Jupyter: a line for each parameter, with its states and the settings of its group."""

from __future__ import annotations

import inspect

from ..arrays import dtype_of
from ..base.markup import box, code, folded, table, title
from ..lod.repr_text import amount
from ..registry.docstrings import paragraphs

_HEADERS = ("parameter", "dtype", "shape", "lr", "states", "size of states", "steps", "settings")


def html(optimizer):
    """Render an optimizer."""
    rows = [
        _row(optimizer, group, name, param) for group in optimizer.groups for name, param in group["params"].items()
    ]
    steps, groups = optimizer.iteration, len(optimizer.groups)
    facts = [f"{steps} step{'s' * (steps != 1)}", f"operator {optimizer.op.name}"]
    facts += [f"{groups} groups"] if groups > 1 else []
    about = folded("what it does", paragraphs(inspect.getdoc(type(optimizer)) or ""))
    return box(title(type(optimizer).__name__, *facts), table("", _HEADERS, rows), about)


def _row(optimizer, group, name, param):
    states = optimizer._states[name]
    touched = states.get("touched")
    arrays = touched.state_dict() if touched else {s: x for s, x in states.items() if s != "iteration"}
    size = sum(getattr(x, "nbytes", 0) for x in arrays.values())
    kept = ", ".join(optimizer._names(group)) or "none"
    lr = "schedule" if callable(group["lr"]) else group["lr"]
    known = ("params", "lr", "states")
    settings = ", ".join(f"{k}={v!r}" for k, v in group.items() if k not in known and optimizer.op.defaults.get(k) != v)
    kept += " (of touched rows)" if touched else ""
    return code(name), dtype_of(param), tuple(param.shape), lr, kept, amount(size), states["iteration"], settings
