"""The steps of a walk backwards: the gradient rule of a call, sums, and gradients as their sources are."""

from __future__ import annotations

import copy

import numpy as np

from ..arrays import from_lists, is_array, is_floating, may_share_memory, to_dtype
from ..base.errors import DTypeError, LodkitError, ShapeMismatchError
from ..lod import LoDTensor, SelectedRows
from ..registry.catalogue import OPS
from ..registry.explaining import explain
from ..registry.kinds import numbers_of
from ..registry.open_tapes import Call, no_grad
from .halves import Widened, computes_in_float32, rounded_like, widen_halves


def backward(call, wanted, grads):
    if call.op.gradient_rule is None:
        raise LodkitError(f"{call.op.name} has no gradient, but it lies between the target and a source")
    view = Call(call.op, call.inputs, call.attrs, call.outputs)
    view.wanted = wanted
    with no_grad():
        grads = [g.to_dense() if isinstance(g, SelectedRows) else g for g in grads]
        if computes_in_float32(call):
            view.inputs, view.outputs = Widened(call.inputs), Widened(call.outputs)
            grads = list(map(widen_halves, grads))
        else:
            grads = [rounded_like(x, g) for x, g in zip(tuple.__iter__(call.outputs), grads, strict=True)]
        try:
            result = call.op.gradient_rule(view, *grads)
        except Exception as error:
            if clear := explain(call.op, call.inputs, call.attrs, error):
                raise clear from error
            raise
    gradients = result if isinstance(result, tuple) else (result,)
    _check_gradients(call, wanted, gradients)
    return gradients


def _check_gradients(call, wanted, gradients):
    """Refuse what a rule returns in place of one gradient per input, each of the shape of its input."""
    rule = f"the gradient rule of {call.op.name} returned"
    taken = max(len(call.inputs), len(getattr(call.op, "inputs", ())))  # some may be left out
    if len(gradients) > taken:
        raise LodkitError(f"{rule} {len(gradients)} gradients, one for each input would be {taken} at most")
    for i, (x, gradient) in enumerate(zip(tuple.__iter__(call.inputs), gradients, strict=False)):
        if gradient is None or not wanted[i]:
            continue
        rows = isinstance(gradient, SelectedRows) and not isinstance(x, SelectedRows)  # of a table
        found = getattr(gradient if rows else numbers_of(gradient), "shape", None)
        expected = getattr(numbers_of(x), "shape", ())
        if found is None:
            raise LodkitError(
                f"{rule} {type(gradient).__name__} for {_label(call, i)}; return an array, a LoDTensor or SelectedRows "
                "per input, None for no gradient, several as a tuple"
            )
        if found != expected:
            raise ShapeMismatchError(
                f"{rule} a gradient of shape {tuple(found)} for {_label(call, i)} of shape {tuple(expected)}"
            )


def _label(call, i):
    return call.op._label(i) if hasattr(call.op, "_label") else f"input {i}"  # a function of NumPy's has none


class Readable(tuple):
    """Inputs or results of a call, some of which were overwritten since: to read these raises."""

    lost: list[bool]
    name: str

    def __new__(cls, values, lost, name):
        made = super().__new__(cls, values)
        made.lost, made.name = lost, name
        return made

    def __getitem__(self, i):
        if any(self.lost[i]) if isinstance(i, slice) else self.lost[i]:
            raise LodkitError(
                f"the gradient of {self.name} reads numbers that were overwritten since (by out=, or by an update in "
                "place); ask for it before that, or write elsewhere"
            )
        return super().__getitem__(i)

    def __iter__(self):
        return (self[i] for i in range(len(self)))


def separate(gradients, given):
    """Copy gradients that share memory with others or with the given ones: users may scale them in place."""
    seen = [numbers_of(g) for g in given if g is not None]
    for i, g in enumerate(gradients):
        if g is not None:
            broadcast = isinstance(numbers_of(g), np.ndarray) and not numbers_of(g).flags.writeable
            if broadcast or any(may_share_memory(numbers_of(g), other) for other in seen if is_array(other)):
                gradients[i] = g = copy.deepcopy(g)
            seen.append(numbers_of(g))
    return gradients


def seed(target, given):
    values = numbers_of(target)
    on_cpu = isinstance(values, np.ndarray)
    if given is None and not on_cpu:
        return _ones_on_gpu(values)
    if given is None:
        return np.full(values.shape, to_dtype(np.ones((), np.float32), values.dtype), values.dtype)
    given = given.values if isinstance(given, LoDTensor) else given
    if isinstance(given, SelectedRows):
        return given.value if isinstance(target, SelectedRows) else given
    if not on_cpu:
        from ..arrays.cuda import grad_output_like

        return grad_output_like(values, given)
    given = from_lists(given, "an output gradient") if isinstance(given, list | tuple) else np.asarray(given)
    if given.dtype.kind not in "iu" and not is_floating(given.dtype):
        raise DTypeError(f"an output gradient must hold floating numbers, not {given.dtype}")
    if given.shape != values.shape:
        raise ValueError(f"output gradient of shape {given.shape} for a target of shape {values.shape}")
    return to_dtype(given, values.dtype)


def _ones_on_gpu(values):
    from ..arrays.cuda import full_like

    return full_like(values, 1)


def add_to(found, key, gradient):
    gradient = gradient.values if isinstance(gradient, LoDTensor) else gradient
    if key in found:
        parts = found[key], gradient
        # SelectedRows of one type are appended, and nothing is rounded.
        appends = all(isinstance(x, SelectedRows) for x in parts)
        if not appends or parts[0].dtype != parts[1].dtype:
            parts = map(widen_halves, parts)
        with no_grad():
            gradient = OPS["sum"](*parts)
    found[key] = gradient


def like_source(source, gradient):
    if isinstance(source, LoDTensor) and is_array(gradient):
        return source.with_values(gradient)
    return gradient
