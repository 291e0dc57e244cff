"""Recording of calls on the open tapes of a thread."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from ..arrays import dtype_of, is_array, is_cpu_tensor, is_floating, is_tensor, plain_array
from ..arrays.objects import remedy_of
from ..arrays.recorded import Parameter, RecordedArray, hooks, parameter_of, plain_view
from ..base.errors import DTypeError
from ..base.loading import public
from ..lod import LoDTensor, SelectedRows
from ..registry.calls import run_plan, types_of
from ..registry.kinds import given_back, numbers_of, on_gpu, replaced, unwrapped, with_numbers, wrapped
from ..registry.open_tapes import Call, listeners, note_written, open_tapes, thread
from ..registry.tensors import holds_bfloat16, holds_tensors

T = TypeVar("T")


def record(op, inputs, attrs, result):
    """Record a call on the open tapes of this thread.

    The tapes keep the structure of the inputs as it is now: ``set_lod`` of an input may follow before the gradient.
    """
    inputs = tuple([x._like(x._values) if type(x) is LoDTensor else x for x in inputs])
    outputs = result if isinstance(result, tuple) else (result,)
    for tape in open_tapes():
        tape._record(Call(op, inputs, {**op.defaults, **attrs}, outputs))


def call_recorded(op, inputs, out, attrs):
    """Call an operator and record it; its floating arrays come back as recorded ones."""
    if attrs:
        if op.updates:  # no gradient flows through an update: a rate that is a parameter is a number
            attrs = {name: plain_view(x) if type(x) is Parameter else x for name, x in attrs.items()}
        _check_constant(op, attrs)
        op._check_attrs(attrs)
    plain = tuple([x if type(x) is np.ndarray else unwrapped(x) for x in inputs])
    plan = _find_plan(op, plain, out, attrs)
    if plan is None:
        _refuse_tensors(op, inputs, out)
        plain = op._accept(plain)  # gradient rules get arrays
    if op.updates:
        _refuse_lost(op, plain)
    tapes, thread.tapes = thread.tapes, ()
    try:
        if plan is not None:
            result = run_plan(op, plan, plain, attrs)
        else:
            result = op.full(*plain, **attrs) if out is None else op.full(*plain, out=unwrapped(out), **attrs)
    finally:
        thread.tapes = tapes
    if op.updates:
        record(op, plain, attrs, result)
        return given_back(result, plain, inputs)
    for x in plain:
        if x is result or (type(result) is tuple and any(x is r for r in result)):
            given = given_back(result, plain, inputs)  # an identity, as merging a merged gradient
            return tuple(map(wrapped, given)) if isinstance(given, tuple) else wrapped(given)
    many = isinstance(result, tuple)
    if plan is None:
        _refuse_on_gpu(op, inputs, result if many else (result,))
    result = tuple([as_new_variable(r, plain) for r in result]) if many else as_new_variable(result, plain)
    record(op, plain, attrs, result)
    return tuple(map(wrapped, result)) if many else wrapped(result)


def _find_plan(op, plain, out, attrs):
    """The plan of a call on NumPy's arrays that are accepted as they are; None where there is none.

    Updates have none here, as they are noted under Ctrl-C, nor has bfloat16, which may run on copies.
    """
    if out is not None or op.updates or not attrs.keys() >= {*op._needed}:
        return None
    for x in plain:
        kind = type(x)
        values = x._values if kind is LoDTensor and x._lod else x._value if kind is SelectedRows else x
        if x is not None and (type(values) is not np.ndarray or values.dtype.kind == "V"):
            return None
    return op._plans.get(types_of(op, plain))


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


def _refuse_on_gpu(op, inputs, results):
    """Refuse results in bfloat16 of a variable on a GPU, whose gradients are not summed in float32 there."""
    if not holds_bfloat16([x for x in results if on_gpu(x)]):
        return
    for name, x in zip(op._names(inputs), inputs, strict=True):
        if isinstance(numbers_of(x), RecordedArray) or any(tape._is_traced(x) for tape in open_tapes()):
            raise DTypeError(
                f"{op.name} gives bfloat16 on a GPU, which a lodkit.Tape does not record; pass {name} in float32, or "
                f"lodkit.stop_gradient({name})"
            )


def check_update_on_tape(op, inputs):
    """Refuse an update that an open tape refuses."""
    if open_tapes():
        _refuse_lost(op, tuple(map(unwrapped, inputs)))


def _check_constant(op, attrs):
    for name, value in attrs.items():
        if isinstance(value, RecordedArray):
            raise TypeError(f"{op.name}: no gradient flows to the attribute {name}; pass lodkit.stop_gradient({name})")


def as_new_variable(result, inputs):
    """A result as another variable than the inputs: tapes tell variables apart by their arrays."""
    array = numbers_of(result)
    shared = id(array) in map(id, map(numbers_of, inputs))
    return replaced(result, array, array[...]) if shared and is_array(array) else result


@public
def parameter(x: T) -> T:
    """Return ``x`` as a parameter: an array whose arithmetic every open tape records.

    A tape does not see what NumPy computes of a plain array. A parameter shares the memory of ``x``, and is a
    ``numpy.ndarray`` wherever one is taken: by operators, ``lodkit.optim``, ``lodkit.save``, PyTorch, pickle. Views of
    a parameter (``W.T``, ``W[:10]``) are parameters; other results are plain where no tape is open. ``np.asarray(W)``
    is the plain array, a constant to tapes.

    Parameters
    ----------
    x : array, list, LoDTensor or SelectedRows
        An array of floating numbers, bfloat16 too. Values of a LoDTensor and the value of SelectedRows become
        parameters. Arrays on a GPU are returned as they are: tapes record operators of them, and take them as sources.

    Returns
    -------
    numpy.ndarray, LoDTensor or SelectedRows
        An array of a subclass of ndarray; ``x`` itself if it is a parameter.

    Raises
    ------
    DTypeError
        ``x`` holds no floating numbers, which have no gradient.
    TypeError
        ``x`` is a tensor of PyTorch on the CPU, which PyTorch differentiates, or a result on an open tape.

    See Also
    --------
    Tape.watch : Record the arithmetic of an array on one tape.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> W = lodkit.parameter(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> with lodkit.Tape() as tape:
    ...     loss = lodkit.tanh(W).sum() + 0.5 * np.square(W).sum()
    >>> tape.gradient(loss, [W])[0].round(2)
    array([[1.42, 2.07],
           [3.01, 4.  ]])
    """
    values = numbers_of(x)
    if type(values) is Parameter:
        return x
    if isinstance(values, list | tuple | int | float | np.generic):
        return parameter(np.asarray(values))  # type: ignore[return-value]
    if is_cpu_tensor(values):
        raise TypeError(
            "parameter takes NumPy arrays, and PyTorch differentiates its tensors itself; pass x.detach().numpy(), "
            "which shares its memory, or use lodkit.interop.torch"
        )
    if isinstance(values, RecordedArray) and open_tapes():
        raise TypeError("parameter takes no result of a tape, which has a gradient already; pass np.asarray(x)")
    if not is_array(values):
        raise TypeError(f"parameter takes arrays, LoDTensors and SelectedRows, got {type(values).__name__}")
    dtype = dtype_of(values)
    if not is_floating(dtype):
        raise DTypeError(f"a parameter must hold floating numbers, not {dtype}; {remedy_of(dtype, floating=True)}")
    if not isinstance(values, np.ndarray):
        return x
    from . import array_gradients, array_methods  # noqa: F401  fill in what recorded arrays can do

    return with_numbers(x, parameter_of(plain_array(values, "a parameter")))


@public
def stop_gradient(x: T) -> T:
    """Return ``x`` as a constant of the open tapes: no gradient flows through the result.

    Parameters
    ----------
    x : array, LoDTensor or SelectedRows
        Shares its memory with the result. Without an open tape a parameter gives its plain array, others themselves.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> x = lodkit.parameter([1.0, 2.0])
    >>> with lodkit.Tape() as tape:
    ...     y = lodkit.tanh(x) * lodkit.stop_gradient(lodkit.tanh(x))
    >>> bool(np.allclose(tape.gradient(y, [x])[0], (1 - np.tanh(x) ** 2) * np.tanh(x)))
    True
    """
    x = unwrapped(x)
    if not open_tapes():
        return x
    values = numbers_of(x)
    if not isinstance(values, np.ndarray):
        raise TypeError(
            f"stop_gradient takes NumPy arrays, and LoDTensors and SelectedRows of them, got {type(values).__name__}"
        )
    constant = values.view()
    for tape in open_tapes():
        tape._constants.add(id(constant))
        tape._alive.append(constant)
    return with_numbers(x, constant)  # type: ignore[no-any-return]


def prepare_write(array):
    """Prepare the open tapes for a change of a recorded array in place. Returns a copy of its present numbers."""
    before = array.copy()
    for tape in open_tapes():  # all of them, before one of them changes
        tape._check_rename(array)
    for tape in open_tapes():
        tape._rename(array, before)
    return before


def note_write(array):
    """Tell all tapes that NumPy wrote to an array, while none is open in this thread."""
    if listeners.data:
        note_written(array)


def reads(array):
    """Tell the open tapes that a parameter is read as one."""
    for tape in open_tapes():
        tape._parameters[id(array)] = array


def has_seen(array):
    """Whether an open tape has seen an array."""
    return any(id(array) in tape._versions for tape in open_tapes())


def replace_variable(array, other):
    """Tell all tapes that ``other`` takes the place of an array."""
    for reference in listeners.data.copy():
        if (tape := reference()) is not None and id(array) in tape._versions:
            tape._moved.append(other)


hooks.open_tapes, hooks.record, hooks.before_write, hooks.knows = open_tapes, record, prepare_write, has_seen
hooks.moved, hooks.written, hooks.reads, hooks.parameter = replace_variable, note_write, reads, parameter
hooks.call_recorded = call_recorded
