"""NumPy ufuncs on LoDTensors: elementwise on values, same structure."""

from __future__ import annotations

import operator

import numpy as np

from ..arrays import device_of, dtype_of, from_lists, holds_rows, is_cpu_tensor, is_floating, plain_array
from ..arrays.objects import refuse_bits
from ..arrays.recorded import UFUNCS, Function, hooks, partials, refuse_unrecorded, reshape_rule, state, track
from ..base.errors import DeviceError, DTypeError, NoKernelError, ShapeMismatchError
from .elsewhere import write_function
from .levels import mismatch
from .lod_tensor import LoDTensor

INSTEAD = {
    "reduce": "lodkit.sequence_pool(t) reduces sequences, np.{0}.reduce(t.values) all rows",
    "accumulate": "lodkit.sequence_cumsum(t) runs along sequences, np.{0}.accumulate(t.values) along all rows",
    "reduceat": "lodkit.sequence_pool(t) reduces sequences",
    "outer": "use t.values",
    "at": "use t.values, or lodkit.scatter",
}
OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
ARRAY_API = {"absolute": "abs", "invert": "bitwise_invert"}  # NumPy name -> array API name


def apply(ufunc, method, inputs, out=None, **kwargs):
    """Implement ``LoDTensor.__array_ufunc__``: apply a ufunc to LoDTensors of one structure, rows and numbers.

    A plain array is one row, broadcast to items, with at most as many dimensions; its meaning never depends on its
    length.
    """
    name = f"np.{ufunc.__name__}"
    if method != "__call__":
        raise TypeError(f"{name}.{method} of a LoDTensor: {INSTEAD[method].format(ufunc.__name__)}")
    if ufunc.signature is not None:
        raise TypeError(f"{name} of a LoDTensor is not elementwise; use t.values, or lodkit.fc(t, weight)")
    where = (kwargs["where"],) if "where" in kwargs else ()
    for x in (*inputs, *where):
        if not _fits(x):
            if hasattr(x, "__array_ufunc__"):
                return NotImplemented
            raise TypeError(f"{name} takes LoDTensors, arrays and numbers, got {type(x).__name__}: {x!r:.80}")
    outs = out or ()
    if any(not isinstance(o, LoDTensor | None) for o in outs):
        raise TypeError(f"{name}: out must be a LoDTensor of the same structure; pass out=t.with_values(array)")
    if ufunc in (np.equal, np.not_equal) and not outs and not kwargs:
        t, other = inputs if isinstance(inputs[0], LoDTensor) else inputs[::-1]
        return t == other if ufunc is np.equal else t != other
    like, *others = (x for x in (*inputs, *where, *outs) if isinstance(x, LoDTensor))
    for other in others:
        if not like.same_lod(other):
            raise mismatch(name, like, other)
    ragged = [x for x in (*inputs, *where) if isinstance(x, LoDTensor)]
    rank = max(len(x.shape) for x in ragged or [like])
    operands = [_operand(name, x, rank) for x in (*inputs, *where)]
    if device_of(like) == "cuda":
        _check_items(name, operands)
        made = _apply_on_gpu(ufunc, operands, outs, kwargs)
    elif any(map(is_cpu_tensor, operands)) or any(o is not None and is_cpu_tensor(o.values) for o in outs):
        from .tensor_ufuncs import apply_to_tensors

        _check_items(name, operands)
        if where:
            kwargs["where"] = operands.pop()
        made = apply_to_tensors(ufunc, operands, outs, kwargs)
    else:
        if where:
            kwargs["where"] = operands.pop()
        if outs:
            kwargs["out"] = tuple(o if o is None else o._need_values() for o in outs)
        try:
            made = ufunc(*operands, **kwargs)
        except ValueError:
            _check_items(name, operands)
            raise
        except OverflowError as error:
            raise _integer_error(name, error) from error
    if not isinstance(made, tuple):
        return outs[0] if outs else like.with_values(made)
    outs = outs or [None] * len(made)
    return tuple(like.with_values(m) if o is None else o for o, m in zip(outs, made, strict=True))


def _integer_error(name, error):
    """The error for an integer that no type of the values holds."""
    return DTypeError(
        f"{name}: {error}; convert the values with .astype(np.int64) or .astype(np.float64), or pass a float"
    )


def apply_function(function, args, kwargs):
    """Implement ``LoDTensor.__array_function__``: where and clip, which are elementwise."""
    name = f"np.{function.__name__}"
    if function is np.clip:
        return _clip(*args, **kwargs)
    if function is not np.where or len(args) != 3 or kwargs:
        raise TypeError(f"{name} of a LoDTensor: {write_function(function.__name__)}")
    for i, x in enumerate(args):
        if not _fits(x):
            raise TypeError(f"{name} takes LoDTensors, arrays and numbers, got {type(x).__name__} as argument {i}")
    args = [
        plain_array(x, f"argument {i} of {name}") if isinstance(x, np.ma.MaskedArray) else x for i, x in enumerate(args)
    ]
    like, *others = (x for x in args if isinstance(x, LoDTensor))
    for other in others:
        if not like.same_lod(other):
            raise mismatch(name, like, other)
    rank = max(len(x.shape) for x in (like, *others))
    operands = [_operand(name, x, rank) for x in args]
    if device_of(like) == "cuda":
        _check_items(name, operands)
        if state.open and hooks.open_tapes():
            refuse_unrecorded(f"{name} on a GPU", "np.maximum, np.minimum and products with masks are")
        return like.with_values(_apply_on_gpu(np.where, operands, (), {}))
    try:
        if any(map(is_cpu_tensor, operands)):
            from .tensor_ufuncs import select_from_tensors

            return like.with_values(select_from_tensors(*operands))
        return like.with_values(np.where(*operands))
    except OverflowError as error:
        raise _integer_error(name, error) from error
    except (ValueError, RuntimeError):
        # The check takes five times as long as np.where of a few numbers.
        _check_items(name, operands)
        raise


def _clip(x, a_min=None, a_max=None, out=None, *, min=None, max=None, **options):
    if out is not None or options:
        raise TypeError(f"np.clip of a LoDTensor takes no {', '.join(options) or 'out'}=; clip t.values")
    if (min is not None and a_min is not None) or (max is not None and a_max is not None):
        raise ValueError("np.clip: give a_min and a_max, or min= and max=, not both")
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if low is None and high is None:
        return x.copy()
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _fits(x):
    return (
        isinstance(x, LoDTensor | list | tuple) or (np.isscalar(x) and not isinstance(x, str | bytes)) or holds_rows(x)
    )


def _operand(name, x, rank):
    """Return values of ``rank`` dimensions, a row of at most an item's dimensions, or a number."""
    if type(x) in (int, float, bool):
        return x
    if isinstance(x, LoDTensor):
        values = track(x._need_values())
        refuse_bits(name, values)
        item = tuple(values.shape[1:])
        if len(item) + 1 == rank:
            return values
        made = values.reshape(len(values), *[1] * (rank - 1 - len(item)), *item)
        if not isinstance(values, np.ndarray) and hooks.open_tapes():
            hooks.record(Function("reshape", reshape_rule), (values,), {}, made)
        return made
    x = from_lists(x, "a row") if isinstance(x, list | tuple) else x
    refuse_bits(name, x)
    shape = () if np.isscalar(x) else tuple(x.shape)
    if len(shape) >= rank and not (len(shape) == rank and shape[0] == 1):
        raise ShapeMismatchError(
            f"{name}: an array of shape {shape} is not a row, items have {rank - 1} dimensions; for one value per row "
            "pass t.with_values(array), for one per sequence call lodkit.per_sequence(t, array)"
        )
    return x


def _check_items(name, operands):
    shapes = [() if np.isscalar(x) else tuple(x.shape) for x in operands]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError as error:
        shown = " and ".join(map(str, shapes))
        raise ShapeMismatchError(f"{name}: values and rows of shape {shown} do not broadcast") from error


def _apply_on_gpu(ufunc, operands, outs, kwargs):
    """Apply the array library's function of that name in the array API."""
    from ..arrays.cuda import library_of

    name = ufunc.__name__
    if outs or kwargs:
        raise DeviceError(f"np.{name} on a GPU takes no out= and no where=; use the array library on t.values")
    first = next(x for x in operands if not _is_number(x) and not isinstance(x, np.ndarray))
    if any(isinstance(x, np.ndarray) and x.ndim for x in operands):
        raise DeviceError(f"np.{name}: a row is on the CPU, the values are on a GPU; move it to the GPU")
    xp = library_of(first).namespace()
    run = OPERATORS.get(name) or getattr(xp, ARRAY_API.get(name, name), None)
    if run is None:
        raise NoKernelError(f"np.{name} is not in the array API; use the array library: t.with_values(f(t.values))")
    numbers = tuple(x.item() if isinstance(x, np.generic | np.ndarray) else x for x in operands)
    made = run(*(x if _is_number(x) else xp.asarray(x) for x in numbers))
    if hooks.open_tapes() and is_floating(dtype_of(made)):
        rules = UFUNCS.get(ufunc) or refuse_unrecorded(f"np.{name}")
        hooks.record(Function(f"np.{name}", partials(rules)), numbers, {}, made)
    return made


def _is_number(x):
    return np.isscalar(x) or (isinstance(x, np.ndarray) and x.ndim == 0)
