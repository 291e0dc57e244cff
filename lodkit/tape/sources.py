"""What gradients may be asked for: arrays of which a tape saw all that was computed."""

from __future__ import annotations

import numpy as np

from ..arrays import dtype_of, is_array, is_floating, may_share_memory, zeros_like
from ..arrays.recorded import Parameter, RecordedArray
from ..base.errors import DTypeError, LodkitError
from ..lod import LoDTensor, SelectedRows
from ..registry.kinds import numbers_of


def aligned_arguments(target, sources, output_gradients):
    """Check the arguments of ``Tape.gradient``; return targets, sources, and an output gradient or None per target."""
    targets = list(target) if isinstance(target, list | tuple) else [target]
    if not isinstance(sources, list | tuple):
        raise TypeError(f"sources must be a list of arrays, got {type(sources).__name__}; pass [source]")
    for x in targets:
        if isinstance(x, np.generic | int | float):
            raise LodkitError(
                f"the target is {x!r:.80}, a plain number: this tape did not see how it was computed. Compute it "
                "inside the with statement, of parameters (W = lodkit.parameter(W)) and of results, by operators and "
                "NumPy's functions; float(x), math and lists of results lose the gradient (np.stack takes them)"
            )
    for what, values in (("target", targets), ("sources", sources)):
        for i, x in enumerate(values):
            if not isinstance(x, LoDTensor | SelectedRows) and not is_array(x):
                raise TypeError(f"{what}[{i}] must be an array, a LoDTensor or SelectedRows, got {type(x).__name__}")
    if output_gradients is None:
        return targets, sources, [None] * len(targets)
    given = list(output_gradients) if isinstance(target, list | tuple) else [output_gradients]
    if len(given) != len(targets):
        raise ValueError(f"{len(given)} output_gradients for {len(targets)} targets")
    return targets, sources, given


def check_sources(tape, variables, sources, made):
    """Refuse sources of which NumPy may have computed what the tape did not see.

    ``variables`` are the arrays, LoDTensors and SelectedRows behind recorded ones, ``made`` those that calls returned.
    """
    for i, (variable, source) in enumerate(zip(variables, sources, strict=True)):
        if any(numbers_of(variable) is array for array in tape._moved):
            raise LodkitError("a source is of a table that grew since; ask for gradients by its earlier values")
        _check_source(tape, i, variable, source, made)


def _check_source(tape, i, source, given, made):
    array = numbers_of(source)
    if not isinstance(array, np.ndarray):
        return
    if not is_floating(array.dtype):
        raise DTypeError(
            f"{_describe_source(i, array)}, has no gradient, which only floating numbers have; leave it out"
        )
    result = (id(array), tape._versions.get(id(array))) in made
    if result or any(array is x for x, *_ in tape._watched):
        return
    kind = type(numbers_of(given))
    if not issubclass(kind, RecordedArray):
        if isinstance(given, LoDTensor | SelectedRows):
            return  # their values are recorded while a tape is open
        raise LodkitError(
            f"{_describe_source(i, array)}, is a plain array: a tape does not see what NumPy computes of it, and the "
            "gradient might lack that. Make it a parameter before the tape is opened, W = lodkit.parameter(W), or "
            "watch it on this tape alone, W = tape.watch(W), and compute the target from that"
        )
    if kind is Parameter and id(array) not in tape._parameters and _is_read(tape, array):
        raise LodkitError(
            f"{_describe_source(i, array)}, is a parameter, but the tape read the plain array that shares its memory, "
            "and does not see what NumPy computes of that; compute the target from the parameter: W = "
            "lodkit.parameter(W), before the tape"
        )


def _describe_source(i, array):
    return f"sources[{i}], {dtype_of(array)} of shape {tuple(array.shape)}"


def check_unconnected(unconnected):
    """Refuse what ``unconnected`` may not be."""
    if unconnected not in ("raise", "none", "zero"):
        raise ValueError(f'unconnected must be "raise", "none" or "zero", got {unconnected!r:.200}')


def total_or_default(tape, i, source, total, unconnected):
    """The gradient by a source; for one from which no call leads to the target, what ``unconnected`` says."""
    array = numbers_of(source)
    if total is not None or unconnected == "none":
        return total
    if unconnected == "zero":
        return zeros_like(array)
    reason = "what was computed of it does not reach it" if _is_read(tape, array) else "this tape did not read it"
    raise LodkitError(
        f"{_describe_source(i, array)}, has no path to the target: {reason} "
        '(np.asarray and stop_gradient detach). Leave it out, or pass unconnected="none" or "zero"'
    )


def refuse_views(tape, needed, sources, made):
    """Raise if a target depends on an array that no call has made, which shares memory with a source.

    ``needed`` are the variables of the targets, ``made`` those that calls returned.
    """
    for call in reversed(tape._calls):
        if needed.isdisjoint(call.output_keys):
            continue
        needed.update(call.input_keys)
        for x, key in zip(map(numbers_of, call.inputs), call.input_keys, strict=True):
            if key in made or key[0] in tape._constants or not is_array(x) or any(x is s for s in sources):
                continue
            if any(may_share_memory(x, s) for s in sources):
                raise LodkitError(
                    f"{call.op.name} read a view of a source that was made outside this tape, so the gradient by the "
                    "source would be incomplete; make the view of the parameter inside the tape"
                )


def _is_read(tape, array):
    """Whether a call on the tape read an array."""
    return any(key[0] == id(array) for call in tape._calls for key in call.input_keys)
