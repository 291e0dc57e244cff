"""Errors for arguments that a function does not take, or lacks: with the names that it has."""

from __future__ import annotations

import inspect

from .suggesting import find_nearest

#: Arguments by other libraries' names.
_ELSEWHERE = {
    "batch_size": "size",
    "num_chunks": "parts",
    "chunks": "parts",
    "n": "parts",
    "random_state": "seed",
    "generator": "seed",
    "padding_value": "pad_value",
    "fill_value": "pad_value",
    "maxlen": "max_length",
    "total_length": "max_length",
    "padded_length": "max_length",
    "default_value": "pad_value",
    "mode": "pool",
    "combiner": "pool",
    "mask": "lengths",
    "attention_mask": "lengths",
    "row_lengths": "lengths",
    "filename": "path",
    "file": "path",
}


def is_unbound(error):
    """Whether an error says that a function does not take the arguments of a call: none of its lines has run."""
    return type(error) is TypeError and error.__traceback__ is not None and error.__traceback__.tb_next is None


def explain_binding(function, args, kwargs):
    """Return the error for arguments that a function does not take or lacks."""
    parameters = [*inspect.signature(function).parameters.values()]
    bound = parameters[:1] if parameters and parameters[0].name in ("self", "cls") else []
    parameters, given = parameters[len(bound) :], args[len(bound) :]
    name = name_method(function, args) if bound else function.__name__
    call = f"{name}({', '.join(_write_parameters(parameters))})"
    known = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    unknown = [key for key in kwargs if key not in known and not any(p.kind is p.VAR_KEYWORD for p in parameters)]
    if unknown:
        key = unknown[0]
        meant = _ELSEWHERE.get(key)
        near = [meant] if meant in known else find_nearest(key, known, most=1)
        hint = f"; did you mean {near[0]}=?" if near else f"; it is {call}"
        return TypeError(f"{name} has no argument {key!r:.80}{hint}")
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    missing = [p.name for p in positional[len(given) :] if p.default is p.empty and p.name not in kwargs]
    missing += [
        p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in kwargs
    ]
    if missing:
        return TypeError(f"{name} lacks {', '.join(missing)}; it is {call}")
    if len(given) > len(positional):
        several = len({*map(type, given)}) == 1 and len(positional) == 1
        hint = f"; pass them as one list, {name}([...])" if several else ""
        return TypeError(f"{name} takes {len(positional)} by position, got {len(given)}{hint}; it is {call}")
    return TypeError(f"{name} got an argument by position and by name; it is {call}")


def name_method(function, args):
    owner = args[0] if isinstance(args[0], type) else type(args[0])
    return owner.__name__ if function.__name__ == "__init__" else f"{owner.__name__}.{function.__name__}"


def _write_parameters(parameters):
    """Parameters as they are written in a call: optional ones with their default."""
    keyword_only = False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            if not any(other.kind is p.VAR_POSITIONAL for other in parameters):
                yield "*"
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        yield f"{star}{p.name}" + ("" if p.default is p.empty else f"={p.default!r}")
