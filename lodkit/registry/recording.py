"""Recording of calls on the open tapes of a thread."""

from __future__ import annotations

import threading
import weakref
from typing import TypeVar

import numpy as np

from ..arrays import is_array, is_tensor
from ..arrays.recorded import RecordedArray, hooks, operand, recorded
from ..lod import LoDTensor, SelectedRows
from ..public import public
from .kinds import LISTS, numbers_of, replaced
from .tensors import holds_tensors

T = TypeVar("T")
_local = threading.local()
closed: weakref.WeakSet = weakref.WeakSet()  # tapes that may still be asked for gradients


def open_tapes():
    """Tapes that record the calls of this thread."""
    return getattr(_local, "tapes", ())


class Call:
    """Recorded call, as gradient rules see it.

    Attributes
    ----------
    op : Op
    inputs, outputs : tuple
    attrs : dict
        All attributes, defaults included.
    wanted : tuple of bool
        Per input, True if it needs a gradient.
    """

    __slots__ = ("attrs", "input_keys", "inputs", "op", "output_keys", "outputs", "wanted")

    def __init__(self, op, inputs, attrs, outputs):
        self.op, self.inputs, self.attrs, self.outputs = op, inputs, attrs, outputs
        self.wanted, self.input_keys, self.output_keys = (), (), ()


class no_grad:
    """Context without recording: gradient rules call operators too."""

    def __enter__(self):
        self.tapes, _local.tapes = open_tapes(), []

    def __exit__(self, *error):
        _local.tapes = self.tapes


def record(op, inputs, attrs, result):
    """Record a call on the open tapes of this thread."""
    outputs = result if isinstance(result, tuple) else (result,)
    for tape in open_tapes():
        tape._record(Call(op, inputs, {**op.defaults, **attrs}, outputs))


def call_recorded(op, inputs, out, attrs):
    """Call an operator and record it; its floating arrays come back as recorded ones."""
    _refuse_tensors(op, inputs, out)
    if attrs:
        _check_constant(op, attrs)
        op._check_attrs(attrs)
    plain = tuple([x if type(x) is np.ndarray else unwrapped(x) for x in inputs])
    types = tuple(map(type, plain))
    if (types[0] if len(types) == 1 else types) not in op._selected or any(isinstance(x, LISTS) for x in plain):
        plain = op._accept(plain)  # gradient rules get arrays
    if op.updates:
        _refuse_lost(op, plain)
    tapes, _local.tapes = _local.tapes, ()
    try:
        result = op.full(*plain, **attrs) if out is None else op.full(*plain, out=unwrapped(out), **attrs)
    finally:
        _local.tapes = tapes
    if op.updates:
        record(op, plain, attrs, result)
        return _given(result, plain, inputs)
    for x in plain:
        if x is result or (type(result) is tuple and any(x is r for r in result)):
            given = _given(result, plain, inputs)  # an identity, as merging a merged gradient
            return tuple(map(_watched, given)) if isinstance(given, tuple) else _watched(given)
    for tape in tapes if out is not None else ():  # closed ones were told by the call
        tape._overwritten(unwrapped(out))
    many = isinstance(result, tuple)
    result = tuple([_another(r, plain) for r in result]) if many else _another(result, plain)
    record(op, plain, attrs, result)
    return tuple(map(wrapped, result)) if many else wrapped(result)


def _refuse_tensors(op, inputs, out):
    """Refuse PyTorch's tensors on the CPU: their arithmetic is PyTorch's own, which a tape does not see."""
    for name, x in zip((*op._names(inputs), "out"), (*inputs, out), strict=False):
        if holds_tensors((x,)):
            values = "" if is_tensor(x) else ".value" if isinstance(x, SelectedRows) else ".values"
            raise TypeError(
                f"{op.name}: {name}{values} is a tensor, and a lodkit.Tape records NumPy arrays, or arrays on a GPU; "
                f"pass {name}{values}.numpy(), which shares its memory, or let PyTorch differentiate: "
                f"lodkit.interop.torch.{op.name}"
            )


def _refuse_lost(op, inputs):
    """Refuse updates of, or by, numbers that were computed from a variable: an update has no gradient."""
    for name, x in zip(op._names(inputs), inputs, strict=True):
        if any(tape._is_traced(x) for tape in open_tapes()):
            raise TypeError(
                f"{op.name} writes to an array, and no gradient flows through it to {name}; "
                f"pass lodkit.stop_gradient({name})"
            )


def check_update_on_tape(op, inputs):
    """Refuse an update that an open tape refuses."""
    if open_tapes():
        _refuse_lost(op, tuple(map(unwrapped, inputs)))


def note_written(array):
    """Tell all tapes that an array was written to."""
    for tape in (*open_tapes(), *(reference() for reference in closed.data.copy())):
        if tape is not None:
            tape._overwritten(array)


def _check_constant(op, attrs):
    for name, value in attrs.items():
        if type(value) is RecordedArray:
            raise TypeError(f"{op.name}: no gradient flows to the attribute {name}; pass lodkit.stop_gradient({name})")


def _given(result, plain, inputs):
    """The inputs that an operator returns, as they were given."""
    if isinstance(result, tuple):
        return tuple(_given(r, plain, inputs) for r in result)
    pairs = zip(plain, inputs, strict=False)
    return next((given for x, given in pairs if x is result and not isinstance(given, list | tuple)), result)


def _another(result, inputs):
    """A result as another variable than the inputs: tapes tell variables apart by their arrays."""
    array = numbers_of(result)
    shared = any(numbers_of(x) is array for x in inputs)
    return replaced(result, array, array[...]) if shared and is_array(array) else result


def _watched(x):
    """An input that comes back, as the results of operators are; what NumPy computes with it is recorded."""
    values = x._values if type(x) is LoDTensor else x
    return wrapped(x) if type(values) is np.ndarray else x


def unwrapped(x):
    """The variable behind a recorded array, also in a LoDTensor or SelectedRows; other values as they are."""
    if type(x) is LoDTensor:
        return x._like(operand(x._values)) if type(x._values) is RecordedArray else x
    if type(x) is SelectedRows:
        return x._with_value(operand(x.value)) if type(x.value) is RecordedArray else x
    return operand(x) if isinstance(x, RecordedArray) else x


def wrapped(x):
    """A floating array, or a LoDTensor or SelectedRows of one, as recorded."""
    if type(x) is LoDTensor:
        return x._like(wrapped(x._values))
    if type(x) is SelectedRows:
        return x._with_value(wrapped(x.value))
    return recorded(x) if type(x) is np.ndarray and x.dtype.kind == "f" else x


@public
def stop_gradient(x: T) -> T:
    """Return ``x`` as a constant of the open tapes: no gradient flows through the result.

    Parameters
    ----------
    x : array or LoDTensor
        Shares its memory with the result; itself if no tape is open.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> x = np.array([1.0, 2.0])
    >>> with lodkit.Tape() as tape:
    ...     y = lodkit.tanh(x) * lodkit.stop_gradient(lodkit.tanh(x))
    >>> bool(np.allclose(tape.gradient(y, [x])[0], (1 - np.tanh(x) ** 2) * np.tanh(x)))
    True
    """
    if not open_tapes():
        return x
    x = unwrapped(x)
    values = x.values if isinstance(x, LoDTensor) else x
    if not isinstance(values, np.ndarray):
        raise TypeError(f"stop_gradient takes NumPy arrays and LoDTensors of them, got {type(values).__name__}")
    constant = values.view()
    for tape in open_tapes():
        tape._constants.add(id(constant))
        tape._alive.append(constant)
    return x.with_values(constant) if isinstance(x, LoDTensor) else constant  # type: ignore[return-value]


def before_write(array):
    """Prepare the open tapes for a change of a recorded array in place. Returns a copy of its present numbers."""
    before = array.copy()
    for tape in open_tapes():
        tape._rename(array, before)
    return before


def note_update(op, inputs):
    """Tell closed tapes which arrays an operator has updated."""
    for name, x in zip(op._names(inputs), inputs, strict=True):
        if name in op.updates:
            for reference in closed.data.copy():  # one step: threads add tapes, collections remove them
                if (tape := reference()) is not None:
                    tape._overwritten(x)


def knows(array):
    """Whether an open tape has seen an array."""
    return any(id(array) in tape._versions for tape in open_tapes())


def moved(array, other):
    """Tell closed tapes that ``other`` takes the place of an array."""
    for reference in closed.data.copy():
        if (tape := reference()) is not None and id(array) in tape._versions:
            tape._moved.append(other)


hooks.open_tapes, hooks.record, hooks.before_write, hooks.knows = open_tapes, record, before_write, knows
hooks.moved = moved
