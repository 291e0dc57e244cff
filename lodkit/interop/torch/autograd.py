"""Operators under torch.autograd: one Function for all of them, made of the registry's gradient rules.

``lodkit.interop.torch.<operator>`` takes what the operator takes, with tensors in place of arrays, and gives tensors,
LoDTensors over tensors, or tuples of them. A table's gradient is a sparse COO tensor, not coalesced (``is_sparse``).
"""

from __future__ import annotations

import difflib

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from ...arrays.recorded import state
from ...errors import LodkitError
from ...lod import LoDTensor, SelectedRows
from ...registry.recording import Call, no_grad
from .operands import CONSTANT, PLAIN, array, cut, cut_results, joined, tensor

_functions = {}


def operator(name):
    """The differentiable function of an operator, by name."""
    from ... import ops  # noqa: F401  fills the registry
    from ...registry import OPS

    if name in OPS and OPS[name].gradient_rule:
        return differentiable(OPS[name])
    names = [n for n, op in OPS.items() if op.gradient_rule]
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    if name in OPS:
        hint = f": the operator has no gradient; call lodkit.{name}"
    raise AttributeError(f"module 'lodkit.interop.torch' has no attribute {name!r}{hint}")


def differentiable(op):
    """Return an operator as a function of tensors that torch.autograd differentiates.

    Parameters
    ----------
    op : lodkit.registry.Op
        With a gradient; ``lodkit.interop.torch.<name>`` is this for the operators of the registry.

    Returns
    -------
    callable
        Of the operator's inputs and attributes. Tensors, LoDTensors and SelectedRows over tensors, jagged nested and
        sparse COO tensors may require grad; arrays, lists and None are constants.

    Raises
    ------
    LodkitError
        The operator has no gradient.

    Examples
    --------
    >>> import torch
    >>> relu = differentiable(lodkit.relu)
    >>> x = torch.tensor([-1.0, 2.0], requires_grad=True)
    >>> relu(x).sum().backward()
    >>> x.grad
    tensor([0., 1.])
    """
    if op in _functions:
        return _functions[op]
    if op.gradient_rule is None:
        raise LodkitError(f"{op.name} has no gradient; call lodkit.{op.name} with tensors that do not require grad")
    reads_outputs = "outputs" in _names_of(op.gradient_rule)

    def function(*inputs, **attrs):
        if len(inputs) and state.open:
            with no_grad():
                return _run(op, reads_outputs, inputs, attrs)
        return _run(op, reads_outputs, inputs, attrs)

    function.__name__ = function.__qualname__ = op.name
    function.__module__ = "lodkit.interop.torch"
    function.__doc__ = op.__doc__
    function.__signature__ = op.signature
    _functions[op] = function
    return function


def _names_of(rule):
    """Names that a gradient rule reads, itself or in functions of its module."""
    todo, names = [rule.__code__], set()
    while todo:
        code = todo.pop()
        todo += [c for c in code.co_consts if hasattr(c, "co_names")]
        for name in set(code.co_names) - names:
            called = rule.__globals__.get(name)
            if getattr(called, "__module__", None) == rule.__module__ and hasattr(called, "__code__"):
                todo.append(called.__code__)
        names.update(code.co_names)
    return names


def _run(op, reads_outputs, inputs, attrs):
    frames, tensors = cut(inputs)
    if torch.is_grad_enabled():
        for t in tensors:
            if t.requires_grad:
                step = Step(op, frames, attrs, reads_outputs)
                made = Recorded.apply(step, *tensors)
                made = made if type(made) is tuple else (made,)
                return _results(step.results, made, step.several)
    arrays = [array(t) for t in tensors]
    result = op(*joined(frames, arrays), **attrs)
    several = type(result) is tuple
    frames, made = cut_results(result if several else (result,), tensors, arrays)
    return _results(frames, made, several)


def _results(frames, tensors, several):
    if not several and frames[0][0] == PLAIN:
        return tensors[0]
    values = joined(frames, tensors)
    return tuple(values) if several else values[0]


class Step:
    """One call, from forward to backward: the operator, its attributes and the frames of inputs and results."""

    __slots__ = ("attrs", "frames", "op", "reads_outputs", "results", "several")

    def __init__(self, op, frames, attrs, reads_outputs):
        self.op, self.frames, self.attrs, self.reads_outputs = op, frames, attrs, reads_outputs
        self.results = self.several = None


class Recorded(torch.autograd.Function):
    """Any operator; forward returns the tensors of its results, ``step.results`` says what they are wrapped in."""

    @staticmethod
    def forward(ctx, step, *tensors):
        arrays = [array(t) for t in tensors]
        result = step.op(*joined(step.frames, arrays), **step.attrs)
        step.several = type(result) is tuple
        step.results, made = cut_results(result if step.several else (result,), tensors, arrays)
        ctx.step = step
        ctx.set_materialize_grads(False)
        if step.reads_outputs:
            ctx.save_for_backward(*tensors, *made)
        else:
            ctx.save_for_backward(*tensors)
        fixed = [t for t in made if not t.is_floating_point()]
        if fixed:
            ctx.mark_non_differentiable(*fixed)
        return made[0] if len(made) == 1 else tuple(made)

    @staticmethod
    @once_differentiable
    def backward(ctx, *grads):
        step, saved, needed = ctx.step, ctx.saved_tensors, ctx.needs_input_grad[1:]
        count = len(needed)
        if all(g is None for g in grads):
            return (None,) * (count + 1)
        arrays = [array(t) for t in saved]
        inputs = joined(step.frames, arrays[:count])
        outputs = tuple(joined(step.results, arrays[count:])) if step.reads_outputs else Unsaved(step.op)
        call = Call(step.op, tuple(inputs), {**step.op.defaults, **step.attrs}, outputs)
        slots = iter(needed)
        call.wanted = tuple([kind != CONSTANT and next(slots) for kind, _ in step.frames])
        given = [None if g is None else array(g) for g in grads]
        if step.several and len(given) != len(step.results):  # results that are no tensors have no gradient
            rest = iter(given)
            given = [None if kind == CONSTANT else next(rest) for kind, _ in step.results]
        with no_grad():
            found = step.op.gradient_rule(call, *given)
        found = found if type(found) is tuple else (found,)
        found = (*found, *[None] * (len(step.frames) - len(found)))
        made, seen = [None], [a for a in (*arrays, *given) if isinstance(a, np.ndarray)]
        for (kind, _), g in zip(step.frames, found, strict=False):
            if kind != CONSTANT:
                at = len(made) - 1
                made.append(_gradient(g, saved[at], seen) if needed[at] and g is not None else None)
        return tuple(made)


class Unsaved:
    """In place of results that a gradient rule was found not to read: they were not kept."""

    def __init__(self, op):
        self.op = op

    def __getitem__(self, i):
        raise LodkitError(
            f"the gradient rule of {self.op.name} reads call.outputs unseen; name them in the rule itself"
        )

    def __len__(self):
        return self[0]


def _gradient(g, like, seen):
    """The gradient of an input as a tensor of its own memory: torch adds to gradients in place."""
    if type(g) is SelectedRows:
        values = _apart(g.value, seen)
        rows = torch.from_numpy(g.rows.copy()) if type(g.rows) is np.ndarray else torch.as_tensor(g.rows).clone()
        values = tensor(values, like if like.dtype is torch.bfloat16 else None)
        return torch.sparse_coo_tensor(rows.unsqueeze(0), values, g.shape, check_invariants=False)
    g = g.values if type(g) is LoDTensor else g
    made = tensor(_apart(g, seen))
    return made if made.dtype is like.dtype else made.to(like.dtype)


def _apart(g, seen):
    if isinstance(g, np.ndarray):
        if not g.flags.writeable or (not g.flags.owndata and any(np.may_share_memory(g, s) for s in seen)):
            g = g.copy()
        elif any(g is s for s in seen):
            g = g.copy()
        seen.append(g)
        return g
    return g.clone() if isinstance(g, torch.Tensor) else g
