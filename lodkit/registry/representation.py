"""Representation of operators: signature, and device, kinds and place of every kernel."""

from __future__ import annotations

import inspect
import re

from .kernel import place_of as place_of


class _Bare(str):
    """Annotation represented without quotes."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


def unquoted(signature):
    """Signature whose annotations are shown as they are written: text, or types without the modules of lodkit."""

    def unquote_annotation(annotation):
        if annotation is inspect.Parameter.empty:
            return annotation
        if not isinstance(annotation, str):
            annotation = re.sub(r"\blodkit\.(\w+\.)*", "", inspect.formatannotation(annotation))
        return _Bare(annotation)

    parameters = [p.replace(annotation=unquote_annotation(p.annotation)) for p in signature.parameters.values()]
    return signature.replace(parameters=parameters, return_annotation=unquote_annotation(signature.return_annotation))


def describe(op, kinds):
    """Inputs of a kernel with their kinds."""
    keys = dict(zip(op._varying, kinds, strict=False))
    fixed = ["|".join(sorted(k.__name__ for k in allowed - {type(None)})) for allowed in op.inputs.values()]
    return "(" + ", ".join(f"{name}={keys.get(i, fixed[i])}" for i, name in enumerate(op.inputs)) + ")"


def text(op):
    """Signature and kernels of an operator, as text."""
    lines = [f"  {device:5} {kinds:40} {place}" for device, kinds, place in places(op)]
    return "\n".join([f"{op.name}{op.signature}", *lines])


def places(op):
    """Device, kinds and place of every kernel."""
    for (device, kinds), kernel in op.kernels.items():
        yield device, describe(op, kinds), place_of(kernel)
    for kinds, kernel in op._few.items():
        yield kernel.device, f"{describe(op, kinds)}, few", place_of(kernel)
