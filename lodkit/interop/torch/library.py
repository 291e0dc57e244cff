"""Operators as ``torch.library`` custom operators, which torch.compile traces without a graph break.

``torch.ops.lodkit.<operator>(tensors, call) -> tensors``: LoDTensors are their values followed by the offsets of each
level, and ``call`` holds everything else (see ``write_call``). The functions of ``lodkit.interop.torch``
call these by themselves where torch.compile traces them; offsets are checked at every run.
"""

from __future__ import annotations

import functools

import numpy as np
import torch
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
    """Define the custom operators of an operator and of its gradient, once. Returns the first."""
    if op.name in _defined:
        return _defined[op.name]
    name, back = f"lodkit::{op.name}", f"lodkit::{op.name}_backward"
    _library.define(f"{op.name}(Tensor[] tensors, str call) -> Tensor[]")
    _library.define(f"{op.name}_backward(Tensor[] saved, Tensor[] grads, str call) -> Tensor[]")
    forward, backward = functools.partial(_forward, op), functools.partial(_backward, op)
    for key in ("CPU", "CUDA"):
        _library.impl(op.name, forward, key)
        _library.impl(f"{op.name}_backward", backward, key)
    torch.library.register_fake(name, functools.partial(fakes.forward, op), lib=_library)
    torch.library.register_fake(back, functools.partial(fakes.backward, op), lib=_library)
    gradient = getattr(torch.ops.lodkit, f"{op.name}_backward").default

    def setup(ctx, inputs, output):
        ctx.count, ctx.call = len(inputs[0]), inputs[1]
        ctx.save_for_backward(*inputs[0], *(output if op.reads_outputs else ()))

    def run_backward(ctx, grads):
        saved, call = ctx.saved_tensors, fakes.parse_call(ctx.call)
        tensors = list(saved[: ctx.count])
        needs = ctx.needs_input_grad[0]
        needs = [bool(n) and t.is_floating_point() for n, t in zip(needs, tensors, strict=True)]
        mask = [g is not None and g.is_floating_point() for g in grads]
        given = [g.contiguous() for g, m in zip(grads, mask, strict=True) if m]
        flat = iter(gradient(list(saved), given, repr((*call, tuple(needs), tuple(mask)))))
        made = []
        for at, (t, needed) in enumerate(zip(tensors, needs, strict=True)):
            if needed and fakes.is_sparse(op, call[0], call[1], at):
                rows, values = next(flat), next(flat)
                made.append(torch.sparse_coo_tensor(rows.unsqueeze(0), values, t.shape, check_invariants=False))
            else:
                made.append(next(flat) if needed else None)
        return made, None

    torch.library.register_autograd(name, run_backward, setup_context=setup, lib=_library)
    _defined[op.name] = getattr(torch.ops.lodkit, op.name).default
    return _defined[op.name]


def write_call(inputs, attrs, offsets=None):
    """Flatten inputs: their tensors, and the string that says how to put them together again.

    ``([None, 0, 1, ...], {attributes})``: for each input None, 0 for a tensor, or the number of levels. Third, where
    there are any, names of attributes whose numbers are the last tensors: scalars of NumPy are tensors of a graph.
    ``offsets`` are those of inputs that are the values of a LoDTensor of one level, by position.
    """
    tensors, frames, offsets = [], [], offsets or {}
    for i, x in enumerate(inputs):
        if x is None:
            frames.append(None)
            continue
        if i in offsets:
            tensors += [x, offsets[i]]
            frames.append(1)
        elif isinstance(x, LoDTensor):
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


def _inputs_of(tensors, frames):
    """The operator's inputs over the arrays of tensors; offsets are checked and copied."""
    inputs, at = [], 0
    for levels in frames:
        if levels is None:
            inputs.append(None)
            continue
        values = array(tensors[at])
        if levels:
            offsets = _levels.from_offsets([numbers_of(t) for t in tensors[at + 1 : at + 1 + levels]])
            _levels.check_rows(offsets, values)
            values = LoDTensor._wrap(values, offsets)
        inputs.append(values)
        at += 1 + levels
    return tuple(inputs)


def _forward(op, tensors, call):
    frames, attrs = fakes.resolve_call(call, tensors)
    result = op.full(*_inputs_of(tensors, frames), **attrs)
    flat, arrays, like = [], [array(t) for t in tensors], rounded_like(tensors)
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
    count = len(needs)
    inputs = _inputs_of(saved[:count], frames)
    promise = op.full.infer(*(VarDesc.of(x) for x in inputs), **attrs)
    levels = [desc.lod_level for desc in (promise if isinstance(promise, tuple) else (promise,))]
    outputs = _inputs_of(saved[count:], levels) if op.reads_outputs else Unsaved(op)
    arrays, at, by_result = iter(grads), 0, []
    for n in levels:
        g = next(arrays) if mask[at] else None
        # A graph has zeros for what nobody asked for; some rules take None only.
        by_result.append(None if g is None or (len(levels) > 1 and not g.any()) else array(g))
        at += 1 + n
    places = fakes.places_of(frames)
    step = Call(op, inputs, {**op.defaults, **attrs}, outputs)
    step.wanted = tuple([at is not None and needs[at] for at in places])
    found = ()
    if any(g is not None for g in by_result):
        with no_grad():
            found = op.gradient_rule(step, *by_result)
    found = found if isinstance(found, tuple) else (found,)
    flat, others = [], [*map(array, saved), *map(array, grads)]
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
