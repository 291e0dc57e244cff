"""Gradient rules that follow from the signature of the operator that computes the gradient."""

from __future__ import annotations

import functools

from ..base.errors import LodkitError
from ..lod import LoDTensor
from ..lod.lod_tensor import values_of


def write_rule(forward, backward):
    """Write the gradient rule of an operator that is one call of another, ``backward``.

    An input of ``backward`` is the input of its name; ``out`` is the first result, ``grad`` the values of the gradient
    by it. Where it takes no LoDTensor, it gets the values. Attributes go by their names. The results of ``backward``
    are for the first inputs, in order. A gradient by another result raises. The rule is compiled from text, so that a
    call costs no more than one that is written out.

    Raises
    ------
    TypeError
        ``backward`` has an input or attribute that ``forward`` has not.
    """
    places = {name: i for i, name in enumerate(forward.inputs)}
    last = len(places) - 1 if forward.variadic else None
    args = []
    for name, kinds in backward.inputs.items():
        if name == "grad":
            args.append("values_of(grad)")
        elif name in places and places[name] == last:
            args.append(f"*call.inputs[{last}:]")
        elif name == "out" or name in places:
            given = "call.outputs[0]" if name == "out" else _input(places[name], forward.required)
            args.append(given if LoDTensor in kinds else f"values_of({given})")
        else:
            raise TypeError(f"{backward.name} has an input {name!r} that {forward.name}{forward.signature} has not")
    if unknown := [name for name in backward._checks if name not in forward._checks]:
        raise TypeError(f"{backward.name} has an attribute {unknown[0]!r} that {forward.name} has not")
    if [*backward._checks] == [*forward._checks]:
        args += ["**call.attrs"] if backward._checks else []
    else:
        args += [f"{name}=call.attrs[{name!r}]" for name in backward._checks]
    scope = {"values_of": values_of, "backward": backward, "__name__": backward.definition.__module__}
    scope["check_others"] = functools.partial(_check_others, forward)
    lines = ["def rule(call, grad, *others):", "    if others: check_others(others)"]
    exec("\n".join([*lines, f"    return backward({', '.join(args)})"]), scope)
    rule = scope["rule"]
    rule.__qualname__ = f"{forward.name}.gradient"
    return rule


def _check_others(forward, others):
    """Refuse gradients by further results, which the rule has no place for."""
    for i, other in enumerate(others, 1):
        if other is not None:
            raise LodkitError(
                f"{forward.name} has no gradient by its result {i}: its rule follows from gradient_of=, which takes "
                f"that by the first; register one by @{forward.name}.gradient"
            )


def _input(place, required):
    given = f"call.inputs[{place}]"
    return given if place < required else f"({given} if len(call.inputs) > {place} else None)"
