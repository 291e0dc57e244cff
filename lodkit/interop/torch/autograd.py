"""Operators under torch.autograd: one Function for all of them, made of the registry's gradient rules.

``lodkit.interop.torch.<operator>`` takes what the operator takes, with tensors in place of arrays, and gives tensors,
LoDTensors over tensors, or tuples of them. A table's gradient is a sparse COO tensor, not coalesced (``is_sparse``).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.autograd import forward_ad

from ...arrays.recorded import state
from ...arrays.tensors import plain_array_of, refuse_duals, shares_storage
from ...base.errors import LodkitError
from ...base.tracebacks import shorten
from ...lod import LoDTensor, SelectedRows
from ...registry.open_tapes import Call, no_grad
from ...registry.usage import RENAMED, rename_attributes
from . import library
from .operands import CONSTANT, PLAIN_FRAME, array, cut, cut_results, join_frames, keep_constants, take_inputs, tensor

if TYPE_CHECKING:
    from ...registry.operators import Op, P

_functions: dict = {}


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


def differentiable(op: Op[P, Any]) -> Callable[P, Any]:
    """Return an operator as a function of tensors that torch.autograd differentiates.

    Parameters
    ----------
    op : lodkit.registry.Op
        With a gradient; ``lodkit.interop.torch.<name>`` is this for the operators of the registry.

    Returns
    -------
    callable
        Takes the operator's inputs and attributes. Tensors, LoDTensors and SelectedRows over tensors, jagged nested and
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
    adapted, compiled, is_renamed = op.full is not op, library.overload(op), op.name in RENAMED
    unsaved = None if op.reads_outputs else library.Unsaved(op)

    def function(*inputs, **attrs):
        if is_renamed:
            attrs = rename_attributes(op, attrs)
        if adapted:
            inputs, attrs = op.taken(inputs, attrs)
        if torch.compiler.is_compiling():
            made = library.trace_call(op, compiled, inputs, attrs)
            return op.shown(made, attrs) if adapted else made
        try:
            if state.open:
                with no_grad():
                    made = _run(op, unsaved, inputs, attrs)
            else:
                made = _run(op, unsaved, inputs, attrs)
            return op.shown(made, attrs) if adapted else made
        except Exception as error:
            shorten(error)
            raise

    function.__name__ = function.__qualname__ = op.name
    function.__module__ = "lodkit.interop.torch"
    function.__doc__ = op.__doc__
    function.__signature__ = op.signature  # type: ignore[attr-defined]
    function.differentiates = op  # type: ignore[attr-defined]
    _functions[op] = function
    return function


def _run(op, unsaved, inputs, attrs):
    frames, tensors, inputs = cut(inputs)
    if torch._C._are_functorch_transforms_active():
        raise TypeError(f"{op.name}: torch.func and vmap are not supported; use torch.autograd")
    if forward_ad._current_level >= 0:
        refuse_duals(op.name, tensors)
    if torch.is_grad_enabled():
        for t in tensors:
            if t.requires_grad:
                kept = frames if len(frames) == len(tensors) else keep_constants(frames)
                step = Step(op, inputs, kept, attrs, unsaved)
                made = _apply(step, *tensors)
                if step.results is None:
                    return made
                return _results(step.results, made if type(made) is tuple else (made,), step.several)
    taken, inputs = take_inputs(frames, tensors, inputs)
    result = op.full(*inputs, **attrs)
    several = type(result) is tuple
    return _results(*cut_results(result if several else (result,), tensors, taken), several)


def _results(frames, tensors, several):
    values = join_frames(frames, tensors)
    return tuple(values) if several else values[0]


class Step:
    """One call, from forward to backward: the operator, its attributes and the frames of inputs and results.

    ``inputs`` are there until forward has read them. ``results`` is None for the usual case of one new tensor.
    ``unsaved`` is what a gradient rule has for outputs that it does not read; None if it reads them.
    """

    __slots__ = ("attrs", "frames", "inputs", "op", "results", "several", "unsaved")

    def __init__(self, op, inputs, frames, attrs, unsaved):
        self.op, self.inputs, self.frames, self.attrs = op, inputs, frames, attrs
        self.unsaved, self.results, self.several = unsaved, None, False


class Recorded(torch.autograd.Function):
    """Any operator; forward returns the tensors of its results, ``step.results`` says what they are wrapped in."""

    @staticmethod
    def forward(ctx, step, *tensors):
        # PyTorch records nothing here, so that operators take tensors that require grad.
        taken, inputs = take_inputs(step.frames, tensors, step.inputs)
        result = step.op.full(*inputs, **step.attrs)
        ctx.step, step.inputs = step, None
        if type(result) is torch.Tensor and result.is_floating_point() and not shares_storage(result, tensors):
            made = (result,)
        else:
            ctx.set_materialize_grads(False)
            step.several = type(result) is tuple
            step.results, made = cut_results(result if step.several else (result,), tensors, taken)
            ctx.mark_non_differentiable(*[t for t in made if not t.is_floating_point()])
        if step.unsaved is None:
            ctx.save_for_backward(*tensors, *made)
        else:
            ctx.save_for_backward(*tensors)
        return made[0] if len(made) == 1 else tuple(made)

    @staticmethod
    def backward(ctx, *grads):
        if torch.is_grad_enabled():
            return _guard_gradients(ctx, *grads)
        return _backward(ctx, *grads)


def _backward(ctx, *grads):
    step, saved, needed = ctx.step, ctx.saved_tensors, ctx.needs_input_grad
    count = len(needed) - 1
    if grads[0] is None and all(g is None for g in grads):
        return (None,) * (count + 1)
    op, frames = step.op, step.frames
    # Most are ordinary tensors: one call less for each.
    arrays = [array(t) if (a := plain_array_of(t)) is None else a for t in saved]
    given = [None if g is None else array(g) if (a := plain_array_of(g)) is None else a for g in grads]
    inputs, outputs = tuple(join_frames(frames, arrays)), step.unsaved
    if outputs is None:
        outputs = tuple(join_frames(step.results or (PLAIN_FRAME,), arrays[count:]))
    call = Call(op, inputs, {**op.defaults, **step.attrs}, outputs)
    call.wanted = needed[1:] if count == len(inputs) else _needs_gradients(frames, needed)
    by_result = _gradients_by_result(step.results, given) if step.several else given
    if state.open:
        with no_grad():
            found = op.gradient_rule(call, *by_result)
    else:
        found = op.gradient_rule(call, *by_result)
    if type(found) is not tuple:
        found = (found,)
    made, others = [None], arrays + given
    for (kind, _), g in zip(frames, found, strict=False):
        if kind != CONSTANT:
            at = len(made)
            made.append(_gradient(g, saved[at - 1], others) if needed[at] and g is not None else None)
    made += [None] * (count + 1 - len(made))
    return tuple(made)


def _needs_gradients(frames, needed):
    """Whether each input needs a gradient, constants included."""
    slots = iter(needed[1:])
    return tuple([kind != CONSTANT and next(slots) for kind, _ in frames])


def _gradients_by_result(frames, grads):
    """A gradient for each result: those that are no tensors have none."""
    slots = iter(grads)
    return [None if kind == CONSTANT else next(slots) for kind, _ in frames]


#: ``Recorded.apply`` without its check for transforms of torch.func: forward refuses tensors without memory itself.
_apply = super(torch.autograd.Function, Recorded).apply


def _guard_gradients(ctx, *grads):
    """With create_graph=True: the gradients may be used, and differentiating them again raises."""
    with torch.no_grad():
        found = _backward(ctx, *grads)
    watched = [t for t in (*grads, *ctx.saved_tensors) if t is not None and t.requires_grad]
    places = [i for i, g in enumerate(found) if g is not None]
    if not watched or not places:
        return found
    made = Once.apply(ctx.step.op.name, len(places), *[found[i] for i in places], *watched)
    given = dict(zip(places, made, strict=True))
    return tuple([given.get(i) for i in range(len(found))])


class Once(torch.autograd.Function):
    """Gradients that depend on tensors which PyTorch watches, and have no gradient of their own."""

    @staticmethod
    def forward(ctx, name, count, *tensors):
        ctx.name = name
        return tuple([t.detach() for t in tensors[:count]])

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError(
            f"lodkit's {ctx.name} can be differentiated once: its gradient has no gradient; compute what is to be "
            "differentiated twice with PyTorch's own operators"
        )


def _gradient(g, like, others):
    """The gradient of an input as a tensor of its own memory: torch adds to gradients in place."""
    if type(g) is SelectedRows:
        rows, values = g._rows, _copy_if_shared(g._value, others)
        if type(rows) is np.ndarray:
            rows, values = torch.from_numpy(np.array(rows, ndmin=2)), torch.from_numpy(values)
        else:
            rows, values = torch.as_tensor(rows).clone().unsqueeze(0), tensor(values)
        if values.dtype is not like.dtype:
            values = values.to(like.dtype)
        return torch.sparse_coo_tensor(rows, values, like.shape, check_invariants=False)
    made = tensor(_copy_if_shared(g._values if type(g) is LoDTensor else g, others))
    return made if made.dtype is like.dtype else made.to(like.dtype)


def _copy_if_shared(g, others):
    """``g``, or a copy if it may be written through another array; noted among the others."""
    if type(g) is not np.ndarray:
        return g.clone() if isinstance(g, torch.Tensor) else g
    flags = g.flags
    if not flags.writeable:
        g = g.copy()
    elif flags.owndata:
        for a in others:
            if a is g:
                g = g.copy()
                break
    elif any(type(a) is np.ndarray and np.may_share_memory(g, a) for a in others):
        g = g.copy()
    others.append(g)
    return g
