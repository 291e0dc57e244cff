"""How operators show themselves: signature, and each kernel with device, kinds and place."""

from __future__ import annotations

import html
import inspect


class _Bare(str):
    """An annotation that shows without quotes."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


def unquoted(signature):
    """A signature whose annotations, which are text, show as they were written."""

    def bare(annotation):
        return _Bare(annotation) if isinstance(annotation, str) else annotation

    parameters = [p.replace(annotation=bare(p.annotation)) for p in signature.parameters.values()]
    return signature.replace(parameters=parameters, return_annotation=bare(signature.return_annotation))


def describe(op, kinds):
    """The inputs that a kernel takes, with their kinds."""
    keys = dict(zip(op._varying, kinds, strict=False))
    fixed = ["|".join(sorted(k.__name__ for k in allowed - {type(None)})) for allowed in op.inputs.values()]
    return "(" + ", ".join(f"{name}={keys.get(i, fixed[i])}" for i, name in enumerate(op.inputs)) + ")"


def text(op):
    """An operator's signature, and its kernels."""
    lines = [f"{op.name}{op.signature}"]
    for (device, kinds), kernel in op.kernels.items():
        code = inspect.unwrap(kernel).__code__
        where = "/".join(code.co_filename.replace("\\", "/").split("/")[-3:])
        lines.append(f"  {device:5} {describe(op, kinds):40} {where}:{code.co_firstlineno}")
    return "\n".join(lines)


def page(op):
    """The same for a notebook."""
    return f"<code>{html.escape(op.name + str(op.signature))}</code><br>{_kernels(op)}"


def table_of(ops):
    """All operators for a notebook."""
    rows = "".join(f"<tr><td><code>{n}</code></td><td>{_kernels(op)}</td></tr>" for n, op in sorted(ops.items()))
    return f"<table><tr><th>operator</th><th>kernels</th></tr>{rows}</table>"


def _kernels(op):
    cells = (f"<tr><td>{device}</td><td>{html.escape(describe(op, kinds))}</td></tr>" for device, kinds in op.kernels)
    return f"<table>{''.join(cells)}</table>"
