"""Arithmetic with one value per sequence, and with one per position (Paddle's add_position_encoding)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import COMPUTED, FLOATING, cast_to, check_gradient, check_values, dtype_of, native, total_dtype
from ..base.errors import DTypeError, LoDMismatchError, ShapeMismatchError
from ..lod import LoDTensor, mismatch, values_of
from ..registry import Dense, inferred_level, op

DOCS_PAGE = "compute"
SEARCH_WORDS = {
    "add_position_encoding": "positional encoding, sinusoidal, position embedding, rotary, rope, transformer",
    "per_sequence": "broadcast one value to all rows of a sequence, add per segment, normalise per sequence",
}

Arithmetic = Literal["add", "sub", "mul", "div"]
OPERATIONS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


def prepare(x, values, op, level, what="per_sequence", floating=False):
    """Check the inputs of per_sequence, or of its gradient.

    Returns
    -------
    rows, by, offsets, is_number
        Both arrays, the rows' offsets, and whether each value is one number for all elements of the items.
    """
    rows, by, offsets = x.values, values_of(values), x._row_offsets(level)
    dtype = check_values(rows.dtype, what, floating=floating)
    value_dtype = check_values(by.dtype, what, floating=floating)
    sequences, item, shape = len(offsets) - 1, rows.shape[1:], by.shape
    if isinstance(values, LoDTensor) and values.lod_level:
        levels, what = x._lod[: level % len(x._lod)], f"values against the levels above level {level} of x"
        if not levels:
            raise LoDMismatchError(f"{what}: there are none")
        above = LoDTensor._wrap(None, levels)
        if not values.same_lod(above):
            raise mismatch(what, values, above)
    if shape not in ((sequences,), (sequences, *item)):
        wanted = f"({sequences},)" + (f" or {(sequences, *item)}" if item else "")
        raise ShapeMismatchError(f"values have shape {shape}; one per sequence of level {level} is {wanted}")
    if dtype.kind == "i" and (op == "div" or value_dtype.kind == "f"):
        remedy = cast_to(np.float64, which=f"the {dtype} array ")
        raise DTypeError(f"{op} of {dtype} rows by {value_dtype} values is no {dtype}; {remedy}")
    return rows, by, offsets, shape != (sequences, *item)


@op(like="x", types=COMPUTED)
def per_sequence(x: LoDTensor, values: Dense | LoDTensor, /, *, op: Arithmetic = "add", level: int = -1) -> LoDTensor:
    """Add one value per sequence to all its rows; or subtract it, multiply or divide them by it.

    ``x + y`` with a plain array takes it for a row; this name says that it has one value per sequence.

    Parameters
    ----------
    x : LoDTensor
        Items of any shape.
    values : array, or LoDTensor of the levels above
        ``(sequences, *item)``, as ``sequence_pool`` gives; or ``(sequences,)``, one number for all elements of the
        items.
    op : {"add", "sub", "mul", "div"}
    level : int
        Level of the sequences; the innermost by default.

    Returns
    -------
    LoDTensor like x

    Raises
    ------
    ShapeMismatchError
        There is not one value per sequence.
    DTypeError
        The rows are integers and the result would not be.

    Examples
    --------
    >>> x = LoDTensor(np.array([1.0, 3.0, 5.0]), [[2, 1]])
    >>> per_sequence(x, np.array([2.0, 5.0]), op="sub").values
    array([-1.,  1.,  0.])
    """
    rows, by, offsets, _ = prepare(x, values, op, level)
    by = np.repeat(by, np.diff(offsets), axis=0)
    by = by.reshape(*by.shape, *[1] * (rows.ndim - by.ndim))
    exact, by = (v.astype(total_dtype(v.dtype)) for v in (rows, by))
    with np.errstate(all="ignore"):
        return x.with_values(OPERATIONS[op](exact, by).astype(native(rows.dtype)))


@per_sequence.gradient
def _(call, grad):
    x, values = call.inputs
    op, level = call.attrs["op"], call.attrs["level"]
    grad, by_x, by_values = values_of(grad), None, None
    if call.wanted[0]:
        by_x = per_sequence(x.with_values(grad), values, op=op, level=level) if op in ("mul", "div") else grad
    if call.wanted[1] and dtype_of(values_of(values)).kind == "f":
        by_values = per_sequence_values_grad(x, values, grad, op=op, level=level)
    return by_x, by_values


@op(like="values", types=FLOATING)
def per_sequence_values_grad(
    x: LoDTensor, values: Dense | LoDTensor, grad: Dense, /, *, op: Arithmetic = "add", level: int = -1
) -> Dense:
    """Return the gradient of ``per_sequence`` by its values: a sum over each sequence.

    >>> x = LoDTensor(np.array([1.0, 3.0, 5.0]), [[2, 1]])
    >>> per_sequence_values_grad(x, np.ones(2), np.array([1.0, 1.0, 2.0]), op="mul")
    array([ 4., 10.])
    """
    rows, by, offsets, _ = prepare(x, values, op, level, "the gradient", floating=True)
    g = check_gradient(grad, rows.shape).astype(np.float64)
    if op in ("mul", "div"):
        g = g * rows.astype(np.float64)
    g = g.sum(axis=tuple(range(by.ndim, g.ndim)))
    sums = np.array([g[a:b].sum(axis=0) for a, b in zip(offsets[:-1], offsets[1:], strict=True)])
    return finish_gradient(sums.reshape(by.shape), by, op)


def finish_gradient(sums, values, op):
    """Gradient by the values from the sums over sequences, in the type of the values."""
    with np.errstate(all="ignore"):
        return _FINISH[op](sums, values).astype(native(values.dtype))


#: From the sums of the output gradient, times the rows for products, to the gradient by the values.
_FINISH = {
    "add": lambda sums, values: sums,
    "sub": lambda sums, values: -sums,
    "mul": lambda sums, values: sums,
    "div": lambda sums, values: -sums / np.square(values.astype(np.float64)),
}


def encodings(length, item):
    """Encodings of positions from 0 on: sines in the first half of an item's last axis, cosines in the second."""
    width = item[-1] if item else 1
    half = width // 2
    powers = np.arange(half) / max(half - 1, 1)
    angles = np.arange(length)[:, None] / 10000.0 ** (powers if half > 1 else np.ones(half))
    table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return np.ascontiguousarray(np.broadcast_to(table.reshape(length, *[1] * (len(item) - 1), width), (length, *item)))


def prepare_encoding(x, level):
    """Check the input of add_position_encoding.

    Returns
    -------
    rows, offsets, dtype
        The rows of a LoDTensor or of a dense batch (sequences, length, ...), offsets of the sequences, their type.
    """
    if isinstance(x, LoDTensor):
        rows, offsets = x.values, x._row_offsets(level)
        shape = rows.shape
    else:
        shape = x.shape
        if len(shape) < 3:
            raise ShapeMismatchError(f"x has shape {tuple(shape)}; a dense batch is (sequences, length, ..., width)")
        offsets, shape = np.arange(shape[0] + 1) * shape[1], (shape[0] * shape[1], *shape[2:])
        rows = x.reshape(shape)
    dtype = check_values(rows.dtype, "add_position_encoding")
    if len(shape) < 2 or shape[-1] % 2:
        raise ShapeMismatchError(f"items of shape {tuple(shape[1:])} have no two halves; their last axis must be even")
    return rows, offsets, dtype


@op(types=FLOATING)
def add_position_encoding(
    x: Dense | LoDTensor, /, *, alpha: float = 1.0, beta: float = 1.0, level: int = -1
) -> Dense | LoDTensor:
    """Return ``alpha * x + beta * encoding``, where a row's encoding tells its position in its sequence.

    ``sin(position / 10000 ** (k / (half - 1)))`` in the first half of an item's last axis, k from 0 to half - 1;
    cosines in the second half. add_position_encoding of Paddle.

    Parameters
    ----------
    x : LoDTensor, or array of shape (sequences, length, ..., width)
        Floating values; the width is even.
    alpha, beta : float
    level : int
        Level of the sequences that positions are counted in; the innermost by default.

    Returns
    -------
    like x

    Examples
    --------
    >>> add_position_encoding(LoDTensor(np.zeros((3, 4)), [[2, 1]])).values.round(2)
    array([[0.  , 0.  , 1.  , 1.  ],
           [0.84, 0.  , 0.54, 1.  ],
           [0.  , 0.  , 1.  , 1.  ]])
    """
    rows, offsets, dtype = prepare_encoding(x, level)
    table = encodings(int(np.diff(offsets).max(initial=0)), rows.shape[1:])
    position = np.arange(len(rows)) - np.repeat(offsets[:-1], np.diff(offsets))
    out = (alpha * rows.astype(np.float64) + beta * table[position]).astype(dtype).reshape(x.shape)
    return x.with_values(out) if isinstance(x, LoDTensor) else out


@add_position_encoding.infer_rule
def _(x, *, alpha=1.0, beta=1.0, level=-1):
    if x.lod_level:
        inferred_level(x, level)
    return x


@add_position_encoding.gradient
def _(call, grad):
    x, attrs = call.inputs[0], call.attrs
    grad = x.with_values(values_of(grad)) if isinstance(x, LoDTensor) else grad
    return add_position_encoding(grad, **{**attrs, "beta": 0.0})


@per_sequence.example
def _(dtype):
    x = LoDTensor(np.ones((3, 16), dtype), [[1, 2]])
    return [((x, x.values[:2]), {}), ((x, x.values[:2, 0].copy()), {"op": "mul"})]


@add_position_encoding.example
def _(dtype):
    return [((LoDTensor(np.ones((3, 16), dtype), [[1, 2]]),), {})]
