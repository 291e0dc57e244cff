"""What optimizers refuse, before anything is written."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
from bisect import bisect_left
from collections.abc import Mapping

import numpy as np

from ..arrays import (
    are_apart,
    compute_dtype,
    dtype_of,
    is_array,
    is_bfloat16,
    is_cpu_tensor,
    is_floating,
    is_integer,
    may_share_memory,
    mixed_types,
    name_of_dtype,
    one_device,
    writable,
)
from ..arrays.objects import remedy_of
from ..base.errors import DTypeError, LodkitError, OutputError, ShapeMismatchError
from ..lod import SelectedRows
from ..ops.shared.updates import check_clipping, check_mask, check_merged, check_rounding, check_whole, one_number
from ..registry.kinds import accept, unwrapped
from ..registry.kinds import check_whole as check_whole_array
from ..registry.usage import find_attribute
from ..tape.recording import check_update_on_tape
from .master_weights import MASTER, check_master, keeps_master

MOST_STEPS = 1 << 62


def asks_for_lr(init):
    """Decorator of ``__init__``, whose ``lr`` is needed: the error names the class, not its base."""

    @functools.wraps(init)
    def made(self, *args, **kwargs):
        if "lr" not in kwargs and len(args) < _positional(init):
            name = type(self).__name__
            raise TypeError(f"{name} needs lr, the learning rate: {name}(params, lr=...)")
        return init(self, *args, **kwargs)

    return made


def _positional(init):
    """How many arguments give lr by its position; none do where it is a keyword."""
    names = inspect.getfullargspec(inspect.unwrap(init)).args
    return names.index("lr") if "lr" in names else math.inf


def unknown_class(module, name, classes):
    """The AttributeError of a module of optimizers for a name that it lacks."""
    lower = {known.lower(): known for known in classes}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    hint = _ELSEWHERE.get(name) or (near and f"did you mean {lower[near[0]]}?") or f"there are {', '.join(classes)}"
    return AttributeError(f"module {module!r} has no attribute {name!r}; {hint}", name=name)


#: What stands for optimizers that have no class of their own.
_ELSEWHERE = {"SparseAdam": "use Adam(..., lazy=True), which updates the rows of a sparse gradient alone"}


def counted(what, number):
    """A number of steps, which files may hold as an array."""
    plain = number.item() if isinstance(number, np.ndarray) and number.size == 1 else number
    if not is_integer(plain) or not 0 <= plain < MOST_STEPS:
        raise LodkitError(
            f"the state is damaged: {what} must be a whole number from 0 on, below 2**62, so that int64 counts the "
            f"steps to come too, got {_cut(number)}; pass what state_dict() returned"
        )
    return int(plain)


def _cut(value):
    """A value for an error, cut short."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return f"{type(value).__name__} of too many digits to show"
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_rate(op, lr, iteration):
    """Check the learning rate of a step."""
    if type(lr) is float and 0 <= lr < math.inf:
        return
    op._check_attrs({"lr": lr})
    if not 0 <= one_number(lr) < math.inf:
        raise ValueError(f"lr must be finite and at least 0, got {lr} in step {iteration}")


def check_attrs(op, attrs, iteration):
    """Check attributes of the operator; ``lr`` is that of this iteration."""
    op._check_attrs(attrs)
    check_rate(op, attrs["lr"], iteration)
    record = op.definition.optimizer
    record.check({k: v for k, v in attrs.items() if k in op._tests and v is not None})
    check_clipping(attrs.get("clip_value"), attrs.get("clip_norm"))
    if record.whole:
        check_whole(op.name, attrs.get("duplicates", "merge"))


def check_group(optimizer, group):
    """Check the settings and the parameters of a group."""
    op, flags, kind = optimizer.op, optimizer.flags, type(optimizer).__name__
    for name in group:
        if name not in ("params", "states", MASTER, *flags, *op._tests) or name == "iteration":
            near = [a for a in (*op._tests, *flags, MASTER) if a != "iteration"]
            meant = find_attribute(name, near)
            hint = f"did you mean {meant}=?" if meant else f"it takes {', '.join(near)}"
            raise TypeError(f"{kind} has no attribute {name!r}; {hint}")
    for flag in (*flags, MASTER):
        if not isinstance(group.get(flag, False), bool | np.bool_):
            raise TypeError(f"{kind}: {flag} must be True or False, got {group[flag]!r}")
    if group["states"] not in ("all", "touched"):
        raise ValueError(f'states must be "all" or "touched", got {group["states"]!r}')
    attrs = optimizer._step_attrs(optimizer._group_attrs(group))
    check_attrs(op, attrs, optimizer.iteration)
    if group["states"] == "touched":
        _check_touched(op, attrs)
    for name, param in group["params"].items():
        check_param(name, param)
        if keeps_master(group, param):
            check_master(group, name, isinstance(param, np.ndarray))
        if attrs.get("mask") is not None:
            check_mask(attrs["mask"], param.shape)
        check_rounding(param, attrs.get("duplicates", "merge"), attrs.get("rounding_seed"), None)


def _check_touched(op, attrs):
    record = op.definition.optimizer
    for name in ("mask", "rounding_seed"):
        if attrs.get(name) is not None:
            raise ValueError(f'states="touched" takes no {name}, which is by rows of the table; use states="all"')
    if record.whole or record.spreads({**op.defaults, **attrs}):
        raise ValueError(
            f'states="touched": {op.name} changes rows without a gradient too'
            + ("; pass lazy=True" if not record.whole else ", by norms over all of them")
        )


def check_param(name, param):
    """Refuse what cannot be updated in place under this name."""
    if is_cpu_tensor(param):
        if "float8" in str(param.dtype):
            raise DTypeError(f"{name} is {param.dtype}; an optimizer updates floating numbers; convert with .float()")
        array = f"{name}.detach().numpy()"
        # NumPy lacks the type.
        if str(param.dtype) == "torch.bfloat16":
            array = f"{name}.detach().view(torch.int16).numpy().view(ml_dtypes.bfloat16)"
        raise TypeError(
            f"params[{name!r}] is a tensor; pass {array}, which shares its memory, or optimise a module's parameters "
            "by lodkit.interop.torch.optim"
        )
    if not isinstance(name, str) or not is_array(param):
        raise TypeError(f"params[{name!r}] must be an array by a string, got {type(param).__name__}")
    if "/" in name:
        raise ValueError(f"params[{name!r}]: names have no '/', which separates keys in files")
    if not param.ndim:
        raise ShapeMismatchError(
            f"{name} has no dimension; make it of shape (1,), {name} = lodkit.parameter([{float(param)}]), and compute "
            "with that"
        )
    if not is_floating(dtype_of(param)):
        remedy = remedy_of(dtype_of(param), floating=True)
        raise DTypeError(f"{name} is {dtype_of(param)}; an optimizer updates floating numbers; {remedy}")
    if isinstance(param, np.ndarray):
        writable(param, name)


def named(grads, names, missing):
    """Gradients by the names of the parameters, of which some may lack one."""
    if missing not in ("raise", "skip"):
        raise ValueError(f'missing must be "raise" or "skip", got {missing!r:.200}')
    if isinstance(grads, list | tuple):
        if len(grads) != len(names):
            raise ValueError(f"{len(grads)} gradients for {len(names)} parameters: {', '.join(names)}")
        grads = dict(zip(names, grads, strict=True))
    if type(grads) is not dict and not isinstance(grads, Mapping):
        raise TypeError(f"grads must be a dictionary or a list, got {type(grads).__name__}")
    if not grads.keys() <= names:
        unknown = sorted(map(str, grads.keys() - names))
        there = ", ".join(names)
        raise ValueError(f"grads has {unknown!s:.400}, which are no parameters; there are {there:.1000}")
    if type(grads) is not dict:
        # Asked once: it may make its values anew.
        grads = {name: grads.get(name) for name in names}
    absent = [name for name in names if grads.get(name) is None]
    if absent and missing == "raise":
        raise ValueError(
            f"grads has no gradient for {', '.join(absent)}, which would not be trained; compute it, or pass "
            'step(grads, missing="skip") to leave such parameters as they are'
        )
    return grads


def check_gradient(op, group, name, param, grad, states, attrs):
    """Refuse a gradient, or a parameter, with which the operator would refuse the step."""
    sparse = isinstance(grad, SelectedRows)
    if not sparse and not is_array(grad):
        raise TypeError(f"{name}: the gradient must be an array or SelectedRows, got {type(grad).__name__}")
    value = grad._value if sparse else grad
    plain = type(value) is type(param) is np.ndarray
    if tuple(grad.shape) != tuple(param.shape):
        raise ShapeMismatchError(
            f"{name}: the gradient has shape {tuple(grad.shape)}, the parameter {tuple(param.shape)}"
        )
    if not plain or value.dtype != param.dtype:
        given, kept = dtype_of(value), dtype_of(param)
        alike = given == kept or (is_bfloat16(given) and is_bfloat16(kept))
        if not alike and not (MASTER in states and given == np.float32):
            raise mixed_types(f"{name}: the gradient", given, "the parameter", kept)
    if group["states"] == "touched" and not sparse:
        raise TypeError(f'{name}: states="touched" takes SelectedRows, a dense gradient touches every row')
    duplicates = attrs.get("duplicates", "merge")
    in_turn = sparse and duplicates != "merge" and attrs.get("mask") is None
    # To join the attributes takes a microsecond.
    if in_turn and op.definition.optimizer.spreads({**op.defaults, **attrs}):
        check_merged(duplicates)
    arrays = [s for s in states.values() if type(s) is not int and is_array(s)]
    _check_states(op.definition.optimizer, name, param, states)
    if not plain:
        one_device(op.name, (param, accept(unwrapped(grad), op.inputs["grad"], f"the gradient of {name}"), *arrays))
    if sparse:
        check_whole_array(op.name, f"the gradient of {name}", grad)
    for array in (param, *arrays):
        if isinstance(array, np.ndarray):
            writable(array, name if array is param else f"a state of {name}")
    if may_share_memory(param, value):
        raise OutputError(f"{name}: the gradient overlaps the parameter, which changes; pass a copy of it")
    check_update_on_tape(op, (param, grad, *arrays))


def _check_states(record, name, param, states):
    """Refuse states that a step of the parameter does not take: they were resized or replaced, or it was converted."""
    kept, computed = dtype_of(param), compute_dtype(dtype_of(param))
    for state, array in states.items():
        if not (state in record.states or state == MASTER) or not is_array(array):
            continue
        shape, dtype = tuple(param.shape), computed
        if state != MASTER:
            shape, dtype, _ = record.layout(state, shape, dtype)
        if tuple(array.shape) != tuple(shape):
            raise ShapeMismatchError(
                f"{name}: its state {state} has shape {tuple(array.shape)}, and a step takes {tuple(shape)}; put back "
                "an array of this shape, or make another optimizer"
            )
        if dtype_of(array) != dtype and not (state != MASTER and dtype == computed and dtype_of(array) == kept):
            found, kept, needed = map(name_of_dtype, (dtype_of(array), kept, np.dtype(dtype)))
            raise DTypeError(
                f"{name}: its state {state} is {found}, and a step of {kept} takes {needed}; convert the state too, or "
                "make another optimizer"
            )


def refuse_shared(plan):
    """Refuse gradients that share memory with the parameter of another, which changes before they are read."""
    if len(plan) < 2:
        return
    values = [grad._value if isinstance(grad, SelectedRows) else grad for _, _, grad, *_ in plan]
    if are_apart([*values, *(param for _, param, *_ in plan)]):
        return
    params = sorted(
        (*_span(param), name, param) for name, param, *_ in plan if isinstance(param, np.ndarray) and param.size
    )
    starts = [start for start, *_ in params]
    for (name, *_), value in zip(plan, values, strict=True):
        if not isinstance(value, np.ndarray) or not value.size:
            continue
        start, stop = _span(value)
        i = bisect_left(starts, stop) - 1
        if i >= 0 and params[i][1] > start:
            raise OutputError(
                f"{name}: the gradient overlaps the parameter {params[i][2]}, which changes; pass a copy of it"
            )


def _span(array):
    """The first byte of an array, and the one after its last."""
    if not array.flags.c_contiguous:
        return np.lib.array_utils.byte_bounds(array)
    start = array.__array_interface__["data"][0]  # a fifth of the time
    return start, start + array.nbytes
