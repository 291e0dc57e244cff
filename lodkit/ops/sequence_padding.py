"""Sequences side by side in a padded array, and laid end to end again (Paddle's sequence_pad, sequence_unpad)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import check_gradient, check_values, native
from ..arrays.generic import dtype_of
from ..errors import DTypeError, LoDError, ShapeMismatchError
from ..lod.levels import check_vector
from ..lod.lod_tensor import LoDTensor, values_of
from ..registry import Dense, op
from ..registry.kinds import aligned
from .padding import check_width
from .sequence_pool import above, inferred_level

Side = Literal["right", "left"]


def room_for(lengths, padded_length, truncate):
    """How many rows of each sequence are kept, and how wide the padded array is."""
    longest = int(lengths.max(initial=0))
    if check_width(padded_length, "padded_length") is None:
        return lengths, longest
    if longest <= padded_length:
        return lengths, padded_length
    if not truncate:
        s = int(np.argmax(lengths > padded_length))
        raise LoDError(
            f"sequence {s} has {lengths[s]} rows, more than padded_length = {padded_length}; "
            "pass a larger one, or truncate=True to cut it"
        )
    return np.minimum(lengths, padded_length), padded_length


def check_pad(pad, item):
    """One number, or a row of them."""
    if pad.size != 1 and tuple(pad.shape) != tuple(item):
        shapes = f"shape {tuple(pad.shape)}, a row of x {tuple(item)}"
        raise ShapeMismatchError(f"pad_value has {shapes}; pass one number, or a row")
    return pad


def pad_as(pad, dtype):
    """What stands in the padding, in the type of the values, or an error where it cannot."""
    if pad.dtype.kind not in "fiub":
        raise DTypeError(f"pad_value is {pad.dtype}; pass a number, or a row of numbers")
    with np.errstate(over="ignore", invalid="ignore"):
        found = pad.astype(dtype)
        lost = found != pad if dtype.kind == "i" else np.isinf(found) & ~np.isinf(pad)
    if lost.any():
        wrong = pad.reshape(-1)[int(np.argmax(lost))]
        raise ValueError(f"pad_value {wrong} is no value of {dtype}; pass one that is, or convert the values")
    return found.reshape(()) if pad.size == 1 else found


def place_of(n, width, side):
    """Where ``n`` rows stand among ``width``."""
    return slice(0, n) if side == "right" else slice(width - n, width)


def check_unpad(x, lengths, side):
    """The lengths of the sequences of a padded array, each of which fits it."""
    shape, found = values_of(x).shape, check_vector(values_of(lengths), "lengths")
    if len(shape) < 2:
        raise ShapeMismatchError(f"x has shape {tuple(shape)}; padded sequences are (sequences, width, *item)")
    if shape[0] != len(found):
        raise LoDError(f"x has {shape[0]} sequences, of shape {tuple(shape)}; lengths has {len(found)}")
    wrong = np.flatnonzero((found < 0) | (found > shape[1]))
    if len(wrong):
        s = int(wrong[0])
        rule = "is negative" if found[s] < 0 else f"is more than the {shape[1]} rows of a padded sequence"
        raise LoDError(f"lengths[{s}] = {found[s]} {rule}; a length counts the rows that are data")
    return found


def levels_above(x, lengths):
    """The levels above padded sequences: those of x, or of the lengths; the same where both have some."""
    if isinstance(x, LoDTensor) and x.lod_level:
        aligned(lengths, x, "lengths")
        return x._lod
    return lengths._lod if isinstance(lengths, LoDTensor) else ()


@op
def sequence_pad(
    x: LoDTensor,
    pad_value: Dense | None = None,
    /,
    *,
    padded_length: int | None = None,
    truncate: bool = False,
    side: Side = "right",
) -> tuple:
    """Put the innermost sequences side by side, all of one width. sequence_pad of Paddle.

    Parameters
    ----------
    x : LoDTensor
        Of rows ``(*item)``. Paddle's takes one level; here the levels above the innermost stay above both results.
    pad_value : number, or array of shape (*item,), optional
        What stands in the padding: 0 by default. It has a gradient too.
    padded_length : int, optional
        The width; the longest length by default.
    truncate : bool
        Cut a sequence that is longer than ``padded_length``, which is an error otherwise.
    side : {"right", "left"}
        Where the padding stands, and where rows are cut off: behind the rows, or before them.

    Returns
    -------
    padded : array of shape (sequences, width, *item), or LoDTensor where there are levels above
    lengths : the same of shape (sequences,), int64
        How many rows of each are data: what ``sequence_unpad`` takes.

    Raises
    ------
    LoDError
        A sequence is longer than ``padded_length``.
    ShapeMismatchError, ValueError
        ``pad_value`` is no row of x, or no value of its type.

    >>> x = LoDTensor(np.array([1, 2, 3, 4, 5]), [[2, 0, 3]])
    >>> sequence_pad(x, -1)
    (array([[ 1,  2, -1],
           [-1, -1, -1],
           [ 3,  4,  5]]), array([2, 0, 3]))
    >>> sequence_pad(x, padded_length=2, truncate=True, side="left")[0]
    array([[1, 2],
           [0, 0],
           [4, 5]])
    """
    dtype, item, offsets = check_values(x.dtype, "sequence_pad"), x.shape[1:], x.offsets()
    kept, width = room_for(x.lengths(), padded_length, truncate)
    padded = np.zeros((len(kept), width, *item), dtype)
    if pad_value is not None:
        padded[...] = pad_as(check_pad(pad_value, item), dtype)
    for s, n in enumerate(kept):
        rows = x.values[offsets[s] : offsets[s + 1]]
        padded[s, place_of(n, width, side)] = rows[place_of(n, len(rows), side)]
    return above(x, -1, padded), above(x, -1, kept)


@sequence_pad.infer_rule
def _(x, pad_value=None, *, padded_length=None, truncate=False, side="right"):
    level = inferred_level(x, -1)
    padded = x.but(dims=(-1, -1 if padded_length is None else padded_length, *x.dims[1:]), lod_level=level)
    return padded, padded.but(dims=(-1,), dtype=np.dtype(np.int64))


@sequence_pad.gradient
def _(call, grad, _):
    x, pad = (*call.inputs, None)[:2]
    if grad is None:  # only the lengths were asked for
        return None, None
    kept = {k: call.attrs[k] for k in ("padded_length", "side")}
    by_pad = pad is not None and call.wanted[1] and dtype_of(pad).kind == "f"
    by_x = sequence_pad_grad(x, grad, **kept) if call.wanted[0] else None
    return by_x, sequence_pad_value_grad(x, pad, grad, **kept) if by_pad else None


def check_padded_grad(x, grad, padded_length):
    """How many rows of each sequence of x there are in the gradient of what was padded."""
    kept, width = room_for(x.lengths(), padded_length, True)
    check_gradient(grad, (len(kept), width, *x.shape[1:]))
    return kept


@op
def sequence_pad_grad(
    x: LoDTensor, grad: Dense, /, *, padded_length: int | None = None, side: Side = "right"
) -> LoDTensor:
    """Return the gradient of ``sequence_pad`` by its sequences: zeros for rows that were cut off.

    >>> x = LoDTensor(np.zeros(3), [[1, 2]])
    >>> sequence_pad_grad(x, np.array([[1.0], [2.0]]), padded_length=1).values
    array([1., 2., 0.])
    """
    check_values(x.dtype, "the gradient", floating=True)
    offsets, result = x.offsets(), np.zeros(x.shape, native(x.dtype))
    for s, n in enumerate(check_padded_grad(x, grad, padded_length)):
        rows = result[offsets[s] : offsets[s + 1]]
        rows[place_of(n, len(rows), side)] = grad[s, place_of(n, grad.shape[1], side)]
    return x.with_values(result)


@sequence_pad_grad.infer_rule
def _(x, grad, *, padded_length=None, side="right"):
    inferred_level(x, -1)
    return x


@op
def sequence_pad_value_grad(
    x: LoDTensor, pad_value: Dense, grad: Dense, /, *, padded_length: int | None = None, side: Side = "right"
) -> Dense:
    """Return the gradient of ``sequence_pad`` by what stands in the padding: the sum over all of it.

    >>> x = LoDTensor(np.zeros(3), [[1, 2]])
    >>> sequence_pad_value_grad(x, np.zeros(1), np.array([[1.0, 2.0], [4.0, 8.0]]))
    array([2.])
    """
    check_values(x.dtype, "the gradient", floating=True)
    check_pad(pad_value, x.shape[1:])
    is_pad = np.ones(grad.shape[:2], bool)
    for s, n in enumerate(check_padded_grad(x, grad, padded_length)):
        is_pad[s, place_of(n, grad.shape[1], side)] = False
    total = grad[is_pad].sum(axis=0, dtype=np.float64)
    total = np.asarray(total.sum() if pad_value.size == 1 else total)
    return total.reshape(pad_value.shape).astype(native(pad_value.dtype))


@sequence_pad_value_grad.infer_rule
def _(x, pad_value, grad, *, padded_length=None, side="right"):
    return pad_value


@op
def sequence_unpad(x: Dense | LoDTensor, lengths: Dense | LoDTensor, /, *, side: Side = "right") -> LoDTensor:
    """Lay padded sequences end to end, without the padding. sequence_unpad of Paddle.

    Parameters
    ----------
    x : array of shape (sequences, width, *item)
        A LoDTensor of such rows keeps its levels, above that of the sequences.
    lengths : array of int32 or int64
        How many rows of each sequence are data, at most ``width``. They may have the levels, as ``sequence_pad``
        gives both.
    side : {"right", "left"}
        Where the padding stands: behind the rows, or before them.

    Returns
    -------
    LoDTensor
        Rows ``(*item)``; Paddle's gives ``(rows, 1)`` for an array of rank 2.

    Raises
    ------
    LoDError
        A length is negative or more than ``width``, or there is not one for every sequence.

    >>> sequence_unpad(np.array([[1, 2, 0], [0, 0, 0], [3, 4, 5]]), [2, 0, 3])
    LoDTensor([[1, 2], [], [3, 4, 5]], recursive_sequence_lengths=[[2, 0, 3]], shape=(5,), dtype=int64)
    """
    values, found = values_of(x), check_unpad(x, lengths, side)
    dtype, width = check_values(values.dtype, "sequence_unpad"), values.shape[1]
    rows = [np.zeros((0, *values.shape[2:]), dtype)]
    rows += [sequence[place_of(n, width, side)] for sequence, n in zip(values, found, strict=True)]
    upper = [np.diff(offsets) for offsets in levels_above(x, lengths)]
    return LoDTensor(np.concatenate(rows, dtype=dtype), [*upper, found])


@sequence_unpad.infer_rule
def _(x, lengths, *, side="right"):
    return x.but(dims=(-1, *x.dims[2:]), lod_level=max(x.lod_level, lengths.lod_level) + 1)


@sequence_unpad.gradient
def _(call, grad):
    return sequence_unpad_grad(*call.inputs, grad, **call.attrs), None


@op
def sequence_unpad_grad(
    x: Dense | LoDTensor, lengths: Dense | LoDTensor, grad: Dense, /, *, side: Side = "right"
) -> Dense | LoDTensor:
    """Return the gradient of ``sequence_unpad``: zeros for the padding.

    >>> sequence_unpad_grad(np.zeros((2, 2)), [1, 2], np.array([1.0, 2.0, 3.0]))
    array([[1., 0.],
           [2., 3.]])
    """
    values, found = values_of(x), check_unpad(x, lengths, side)
    dtype, width = check_values(values.dtype, "the gradient", floating=True), values.shape[1]
    check_gradient(grad, (found.sum(), *values.shape[2:]))
    result, ends = np.zeros(values.shape, dtype), np.cumsum(found)
    for s, n in enumerate(found):
        result[s, place_of(n, width, side)] = grad[ends[s] - n : ends[s]]
    return x.with_values(result) if isinstance(x, LoDTensor) else result


@sequence_unpad_grad.infer_rule
def _(x, lengths, grad, *, side="right"):
    return x


def _batch(dtype):
    return LoDTensor(np.ones((2, 2), dtype), [[1, 1]])


sequence_pad.example(lambda dtype: [((_batch(dtype),), {}), ((_batch(dtype), np.ones(2, dtype)), {})])
sequence_unpad.example(lambda dtype: [((np.ones((2, 1, 2), dtype), np.array([1, 1])), {})])
