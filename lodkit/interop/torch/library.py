"""Operators as ``torch.library`` custom operators, which torch.compile traces without a graph break.

``torch.ops.lodkit.<operator>(tensors, call) -> tensors``: LoDTensors are their values followed by the offsets of each
level, and ``call`` holds everything else (see ``write_call``). The functions of ``lodkit.interop.torch``
call these by themselves where torch.compile traces them; offsets are checked at every run.
"""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch.autograd.function import once_differentiable
from torch.fx.experimental.symbolic_shapes import guard_scalar

from ...arrays.tensors import numbers_of, rounded_like, traced_array_of
from ...base.errors import LodkitError
from ...lod import LoDTensor, SelectedRows
from ...lod import levels as _levels
from ...registry import VarDesc
from ...registry.open_tapes import Call, no_grad
from . import fakes
from .operands import array, tensor

_library = torch.library.Library("lodkit", "FRAGMENT")
_defined: dict = {}
MAX_CALLS = 4096
#: (operator, call of its gradient) -> the levels of each result, which infer takes 60 us for.
_levels_of: dict = {}


class Unsaved:
    """Placeholder for results that were not saved, because the gradient rule does not declare that it reads them."""

    def __init__(self, op):
        self.op = op

    def __getitem__(self, i):
        name = self.op.name
        raise LodkitError(
            f"the gradient rule of {name} reads call.outputs; declare it: @{name}.gradient(reads_outputs=True)"
        )

    def __len__(self):
        return self[0]


def overload(op):
    """Define the custom operators of an operator and of its gradient, once. Returns the first.

    ``<operator>_detached`` is the same without a rule for torch.autograd, which takes 10 us of every call: compiled
    graphs are traced below autograd, and call this one.
    """
    if op.name in _defined:
        return _defined[op.name]
    forward, fake = functools.partial(_forward, op), functools.partial(fakes.forward, op)
    call = "(Tensor[] tensors, str call) -> Tensor[]"
    recorded, detached = (_define(name, call, forward, fake) for name in (op.name, f"{op.name}_detached"))
    gradient = _define(
        f"{op.name}_backward",
        "(Tensor[] saved, Tensor[] grads, str call) -> Tensor[]",
        functools.partial(_backward, op),
        functools.partial(fakes.backward, op),
    )

    def record(tensors, call):
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
            return [*Recorded.apply(op, detached, gradient, call, *tensors)]
        return detached(tensors, call)

    _library.impl(op.name, record, "Autograd")
    _defined[op.name] = recorded
    return recorded


def _define(name, schema, run, fake):
    _library.define(f"{name}{schema}")
    for key in ("CPU", "CUDA"):
        _library.impl(name, run, key)
    torch.library.register_fake(f"lodkit::{name}", fake, lib=_library)
    return getattr(torch.ops.lodkit, name).default


class Recorded(torch.autograd.Function):
    """Any custom operator where torch.autograd records, also while torch.compile traces."""

    @staticmethod
    def forward(ctx, op, run, gradient, call, *tensors):
        made = run([*tensors], call)
        ctx.op, ctx.gradient, ctx.call, ctx.count = op, gradient, call, len(tensors)
        ctx.save_for_backward(*tensors, *(made if op.reads_outputs else ()))
        ctx.mark_non_differentiable(*[t for t in made if not t.is_floating_point()])
        return tuple(made)

    @staticmethod
    @once_differentiable
    def backward(ctx, *grads):
        saved, call = ctx.saved_tensors, fakes.parse_call(ctx.call)
        tensors = saved[: ctx.count]
        needs = [n and t.is_floating_point() for n, t in zip(ctx.needs_input_grad[4:], tensors, strict=True)]
        mask = [g is not None and g.is_floating_point() for g in grads]
        given = [g.contiguous() for g, m in zip(grads, mask, strict=True) if m]
        flat = iter(ctx.gradient([*saved], given, repr((*call, tuple(needs), tuple(mask)))))
        made = []
        for at, (t, needed) in enumerate(zip(tensors, needs, strict=True)):
            if needed and fakes.is_sparse(ctx.op, call[0], call[1], at):
                rows, values = next(flat), next(flat)
                made.append(torch.sparse_coo_tensor(rows.unsqueeze(0), values, t.shape, check_invariants=False))
            else:
                made.append(next(flat) if needed else None)
        return None, None, None, None, *made


def write_call(inputs, attrs):
    """Flatten inputs: their tensors, and the string that says how to put them together again.

    ``([None, 0, 1, ...], {attributes})``: for each input None, 0 for a tensor, or the number of levels. Third, where
    there are any, names of attributes whose numbers are the last tensors: scalars of NumPy are tensors of a graph.
    """
    tensors, frames = [], []
    for x in inputs:
        if x is None:
            frames.append(None)
            continue
        if isinstance(x, LoDTensor):
            tensors.append(torch.as_tensor(x._values))
            tensors += [torch.as_tensor(level) for level in x._lod]
            frames.append(len(x._lod))
        elif isinstance(x, torch.Tensor) and x.is_nested:
            tensors.append(x.values())
            tensors.append(x.offsets())
            frames.append(1)
        elif isinstance(x, SelectedRows):
            raise TypeError("torch.compile takes no SelectedRows; call the operator outside the compiled function")
        else:
            tensors.append(torch.as_tensor(x))
            frames.append(0)
    known, names = {}, []
    for name, value in attrs.items():
        # Dynamo joins no types by ``|``.
        if type(value) is np.ndarray or isinstance(value, np.generic):
            names.append(name)
            tensors.append(_number(name, value))
        elif isinstance(value, torch.Tensor):
            raise TypeError(f"{name} is a tensor, which a graph has no number of; pass a number")
        else:
            known[name] = guard_scalar(value) if type(value) in (int, float) else value
    return tensors, repr((tuple(frames), known, tuple(names)) if names else (tuple(frames), known))


def _number(name, value):
    """A floating scalar of NumPy as a tensor; others, which sizes may follow from, have to be known to the graph."""
    value = torch.as_tensor(value)
    if value.ndim or not value.is_floating_point():
        raise TypeError(
            f"{name} is a scalar or an array of NumPy, whose numbers torch.compile does not know; make it a number "
            f"outside of the compiled function: {name} = {name}.item()"
        )
    return value


def trace_call(op, run, inputs, attrs):
    """A call while torch.compile traces: the custom operator, and LoDTensors around what it gives."""
    tensors, call = write_call(inputs, attrs)
    flat = run(tensors, call)
    values, at = [], 0
    levels, several = fakes.result_levels(op.name, call)
    for count in levels:
        made = flat[at]
        if count:
            made = LoDTensor._wrap(made, tuple([traced_array_of(t) for t in flat[at + 1 : at + 1 + count]]))
        values.append(made)
        at += 1 + count
    return tuple(values) if several else values[0]


def _inputs_of(arrays, frames):
    """The operator's inputs over the arrays of tensors; offsets are checked and copied."""
    inputs, at = [], 0
    for levels in frames:
        if levels is None:
            inputs.append(None)
            continue
        values = arrays[at]
        if levels:
            given = [x if type(x) is np.ndarray else numbers_of(x) for x in arrays[at + 1 : at + 1 + levels]]
            offsets = _levels.from_offsets(given)
            _levels.check_rows(offsets, values)
            values = LoDTensor._wrap(values, offsets)
        inputs.append(values)
        at += 1 + levels
    return tuple(inputs)


def _forward(op, tensors, call):
    frames, attrs = fakes.resolve_call(call, tensors)
    arrays, like = [array(t) for t in tensors], rounded_like(tensors)
    result, flat = op.full(*_inputs_of(arrays, frames), **attrs), []
    for x in result if isinstance(result, tuple) else (result,):
        if not isinstance(x, LoDTensor | np.ndarray | torch.Tensor):
            raise LodkitError(f"{op.name} gives {type(x).__name__}, which torch.compile has no type for")
        flat.append(_copy_unless_fresh(x._values if isinstance(x, LoDTensor) else x, arrays, like))
        if isinstance(x, LoDTensor):
            flat += [torch.from_numpy(level.copy()) for level in x._lod]
    return flat


def _copy_unless_fresh(x, others, like):
    """A contiguous tensor that shares no memory with the inputs: what custom operators are to return."""
    if isinstance(x, torch.Tensor):
        return x.clone()
    if not x.flags.c_contiguous or not x.flags.writeable or any(np.may_share_memory(x, a) for a in others):
        x = np.array(x, order="C")
    return tensor(x, like).reshape(x.shape)


def _backward(op, saved, grads, call):
    _, _, _, needs, mask = fakes.parse_call(call)
    frames, attrs = fakes.resolve_call(call, saved[: len(needs)])
    count, known, given = len(needs), [array(t) for t in saved], [array(g) for g in grads]
    inputs = _inputs_of(known[:count], frames)
    levels = _levels_of.get((op.name, call))
    if levels is None:
        promise = op.full.infer(*(VarDesc.of(x) for x in inputs), **attrs)
        levels = [desc.lod_level for desc in (promise if isinstance(promise, tuple) else (promise,))]
        if len(_levels_of) >= MAX_CALLS:
            _levels_of.clear()
        _levels_of[op.name, call] = levels
    outputs = _inputs_of(known[count:], levels) if op.reads_outputs else Unsaved(op)
    arrays, at, by_result = iter(given), 0, []
    for n in levels:
        g = next(arrays) if mask[at] else None
        # A graph has zeros for what nobody asked for; some rules take None only.
        by_result.append(None if g is None or (len(levels) > 1 and not g.any()) else g)
        at += 1 + n
    places = fakes.places_of(frames)
    step = Call(op, inputs, {**op.defaults, **attrs}, outputs)
    step.wanted = tuple([at is not None and needs[at] for at in places])
    found = ()
    if any(g is not None for g in by_result):
        with no_grad():
            found = op.gradient_rule(step, *by_result)
    found = found if isinstance(found, tuple) else (found,)
    flat, others = [], [*known, *given]
    for i, at in enumerate(places):
        if at is None or not needs[at]:
            continue
        g = found[i] if i < len(found) else None
        if g is None:
            flat.append(torch.zeros_like(saved[at], memory_format=torch.contiguous_format))
        elif isinstance(g, SelectedRows):
            flat += [tensor(np.array(g._rows)), _copy_unless_fresh(g.value, others, saved[at])]
        else:
            flat.append(_copy_unless_fresh(g.values if isinstance(g, LoDTensor) else g, others, saved[at]))
    return flat
