"""Arithmetic with one value a sequence, and with one a position (Paddle's add_position_encoding)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import check_gradient, check_values
from ..arrays.generic import dtype_of
from ..errors import DTypeError, LoDMismatchError, ShapeMismatchError
from ..lod.levels import mismatch
from ..lod.lod_tensor import LoDTensor, values_of
from ..registry import Dense, op
from .sequence_pool import inferred_level

Arithmetic = Literal["add", "sub", "mul", "div"]
OPERATIONS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


def check_sequences(x, dtype, values, shape, value_dtype, op, level):
    """One value a sequence: tells whether each is one number for all elements of the items, instead of an item.

    ``values`` is looked at for its structure; shape and type are those of its array.
    """
    dtype, value_dtype = check_values(dtype, "per_sequence"), check_values(value_dtype, "per_sequence")
    sequences = len(x.row_offsets(level)) - 1
    item = tuple(x.shape[1:])
    if isinstance(values, LoDTensor) and values.lod_level:
        levels, what = x._lod[: level % len(x._lod)], f"values against the levels above level {level} of x"
        if not levels:
            raise LoDMismatchError(f"{what}: there are none")
        above = LoDTensor._wrap(None, levels)
        if not values.same_lod(above):
            raise mismatch(what, values, above)
    if shape not in ((sequences,), (sequences, *item)):
        wanted = f"({sequences},)" + (f" or {(sequences, *item)}" if item else "")
        raise ShapeMismatchError(f"values have shape {shape}; one a sequence of level {level} is {wanted}")
    if dtype.kind == "i" and (op == "div" or value_dtype.kind == "f"):
        raise DTypeError(
            f"{op} of {dtype} rows by {value_dtype} values is no {dtype}; convert the rows with .astype(...)"
        )
    return shape != (sequences, *item)


def _rows(x, values, level):
    """The value of every row, in double precision, in as many dimensions as the rows have."""
    of_rows = np.repeat(values_of(values), np.diff(x.row_offsets(level)), axis=0)
    of_rows = of_rows.reshape(*of_rows.shape, *[1] * (x.values.ndim - of_rows.ndim))
    return of_rows.astype(np.int64 if of_rows.dtype.kind == "i" else np.float64)


@op
def per_sequence(x: LoDTensor, values: Dense | LoDTensor, /, *, op: Arithmetic = "add", level: int = -1) -> LoDTensor:
    """Add one value a sequence to all its rows; or subtract it, multiply or divide them by it.

    ``x + y`` with a plain array takes it for a row: one value a sequence is said so by this name.

    Parameters
    ----------
    x : LoDTensor
        Items of any shape.
    values : array, or LoDTensor of the levels above
        ``(sequences, *item)``, as ``sequence_pool`` gives; or ``(sequences,)``, one number for all elements of the
        items.
    op : {"add", "sub", "mul", "div"}
    level : int
        Which level's sequences; the innermost by default.

    Returns
    -------
    LoDTensor like x

    Raises
    ------
    ShapeMismatchError
        There is not one value for every sequence.
    DTypeError
        The result would be no integer and the rows are.

    Examples
    --------
    >>> x = LoDTensor(np.array([1.0, 3.0, 5.0]), [[2, 1]])
    >>> per_sequence(x, np.array([2.0, 5.0]), op="sub").values
    array([-1.,  1.,  0.])
    """
    values_array = values_of(values)
    check_sequences(x, x.values.dtype, values, values_array.shape, values_array.dtype, op, level)
    wide = x.values.astype(np.int64 if x.values.dtype.kind == "i" else np.float64)
    with np.errstate(all="ignore"):
        out = OPERATIONS[op](wide, _rows(x, values, level))
        return x.with_values(out.astype(x.values.dtype.newbyteorder("=")))


@per_sequence.infer_rule
def _(x, values, *, op="add", level=-1):
    inferred_level(x, level)
    return x


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


@op
def per_sequence_values_grad(
    x: LoDTensor, values: Dense | LoDTensor, grad: Dense, /, *, op: Arithmetic = "add", level: int = -1
) -> Dense:
    """Return the gradient of ``per_sequence`` by its values: a sum over each sequence.

    >>> x = LoDTensor(np.array([1.0, 3.0, 5.0]), [[2, 1]])
    >>> per_sequence_values_grad(x, np.ones(2), np.array([1.0, 1.0, 2.0]), op="mul")
    array([ 4., 10.])
    """
    check_values(x.values.dtype, "the gradient", floating=True)
    values = values_of(values)
    check_values(values.dtype, "the gradient", floating=True)
    check_sequences(x, x.values.dtype, values, values.shape, values.dtype, op, level)
    check_gradient(grad, x.values.shape)
    flow = grad.astype(np.float64)
    if op in ("mul", "div"):
        flow = flow * x.values.astype(np.float64)
    flow = flow.sum(axis=tuple(range(values.ndim, flow.ndim)))
    offsets = x.row_offsets(level)
    sums = np.array([flow[a:b].sum(axis=0) for a, b in zip(offsets[:-1], offsets[1:], strict=True)])
    return finished(sums.reshape(values.shape), values, op)


def finished(sums, values, op):
    """The gradient by the values from the sums over sequences, in the type of the values."""
    with np.errstate(all="ignore"):
        if op == "div":
            sums = -sums / np.square(values.astype(np.float64))
        return (-sums if op == "sub" else sums).astype(values.dtype.newbyteorder("="))


@per_sequence_values_grad.infer_rule
def _(x, values, grad, *, op="add", level=-1):
    inferred_level(x, level)
    return values.but(lod_level=0)


def encodings(length, item):
    """What positions from 0 on are told by: sines in the first half of an item's last axis, cosines in the second."""
    width = item[-1] if item else 1
    half = width // 2
    powers = np.arange(half) / max(half - 1, 1)
    angles = np.arange(length)[:, None] / 10000.0 ** (powers if half > 1 else np.ones(half))
    table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return np.ascontiguousarray(np.broadcast_to(table.reshape(length, *[1] * (len(item) - 1), width), (length, *item)))


def check_encoded(dtype, shape):
    """Rows that have two halves."""
    dtype = check_values(dtype, "add_position_encoding", floating=True)
    if len(shape) < 2 or shape[-1] % 2:
        raise ShapeMismatchError(f"items of shape {tuple(shape[1:])} have no two halves; their last axis must be even")
    return dtype


def batched(shape):
    """A dense batch (sequences, length, ...): offsets of its rows, and the shape of these."""
    if len(shape) < 3:
        raise ShapeMismatchError(f"x has shape {tuple(shape)}; a dense batch is (sequences, length, ..., width)")
    return np.arange(shape[0] + 1) * shape[1], (shape[0] * shape[1], *shape[2:])


@op
def add_position_encoding(
    x: Dense | LoDTensor, /, *, alpha: float = 1.0, beta: float = 1.0, level: int = -1
) -> Dense | LoDTensor:
    """Return ``alpha * x + beta * encoding``, where a row's encoding tells its position in its sequence.

    ``sin(position / 10000 ** (k / (half - 1)))`` in the first half of an item's last axis, k from 0 to half - 1, and
    the cosines of the same in the second. add_position_encoding of Paddle.

    Parameters
    ----------
    x : LoDTensor, or array of shape (sequences, length, ..., width)
        Floating values; the width is even.
    alpha, beta : float
    level : int
        Which level's sequences positions are counted in; the innermost by default.

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
    values, item = values_of(x), x.shape[1:]
    offsets, rows = x.row_offsets(level) if isinstance(x, LoDTensor) else None, values
    if offsets is None:
        offsets, shape = batched(values.shape)
        rows, item = values.reshape(shape), shape[1:]
    dtype = check_encoded(rows.dtype, rows.shape)
    table = encodings(int(np.diff(offsets).max(initial=0)), item)
    position = np.arange(len(rows)) - np.repeat(offsets[:-1], np.diff(offsets))
    out = (alpha * rows.astype(np.float64) + beta * table[position]).astype(dtype).reshape(values.shape)
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
