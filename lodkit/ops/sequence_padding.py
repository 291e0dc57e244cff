"""Sequences side by side in a padded array, and laid end to end again (Paddle's sequence_pad, sequence_unpad)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import FLOATING, MOVED, check_gradient, check_values, dtype_of, is_floating, is_plain, native, upcast
from ..base.errors import DTypeError, LoDError, ShapeMismatchError
from ..lod import LoDTensor, check_vector, values_of
from ..lod.levels import load_compiled
from ..registry import Dense, aligned, inferred_level, keeps_bfloat16, op, pooled_desc, takes_bfloat16
from .padding import check_width
from .sequence_pool import with_outer_levels
from .shared import plain
from .shared.reductions import pad_of

DOCS_PAGE = "pad"
SEARCH_WORDS = {
    "sequence_pad": "pad_sequence, pad_packed_sequence, to_tensor, padded batch, jagged to dense, rectangular",
    "sequence_unpad": "unpad_sequence, pack_padded_sequence, remove padding, unpad_input, dense to jagged",
}

Side = Literal["right", "left"]


def room_for(offsets, max_length, truncate):
    """Rows of each sequence to keep, and the width of the padded array."""
    width = check_width(max_length, "max_length")
    lengths, longest = load_compiled().measure_lengths(offsets)
    if width is None:
        return lengths, longest
    if longest <= width:
        return lengths, width
    if not truncate:
        s = int(np.argmax(lengths > width))
        raise LoDError(
            f"sequence {s} has {lengths[s]} rows, more than max_length = {width}; "
            "pass a larger one, or truncate=True to cut it"
        )
    return np.minimum(lengths, width), width


def check_pad(pad, item):
    """Refuse padding that is neither one number nor a row of x."""
    if pad.size != 1 and pad.shape != item:
        shapes = f"shape {pad.shape}, a row of x {item}"
        raise ShapeMismatchError(f"pad_value has {shapes}; pass one number, or a row")


def pad_as(pad, dtype):
    """Padding in the type of the values, or an error if it has no value of that type."""
    kind = pad.dtype.kind
    if not is_plain(pad.dtype) and pad.dtype != dtype and (kind not in "mM" or dtype.kind not in "mM"):
        raise DTypeError(f"pad_value is {pad.dtype}; pass a number, or a row of numbers")
    if kind in "mM":
        found = np.array([pad_of(x, dtype) for x in pad.reshape(-1)], dtype).reshape(pad.shape)
    elif dtype.kind == "f":
        with np.errstate(over="ignore"):
            # The sign of -0.0 is kept.
            found = pad.astype(dtype)
        if (lost := np.isinf(found) & ~np.isinf(pad)).any():
            pad_of(pad[lost][0], dtype)
    else:
        numbers = upcast(pad.reshape(-1)).tolist()
        found = np.array([pad_of(x, dtype) for x in numbers], dtype).reshape(pad.shape)
    return found.reshape(()) if pad.size == 1 else found


def prepare_pad(x, pad_value, max_length, truncate):
    """Check ``sequence_pad`` on any device. Returns the type of the values, rows to keep, and the width."""
    dtype = check_values(x.values.dtype, "sequence_pad")
    kept, width = room_for(x._row_offsets(), max_length, truncate)
    if pad_value is not None:
        check_pad(pad_value, x.values.shape[1:])
    return dtype, kept, width


def prepare_pad_grad(x, grad, max_length, pad_value=None):
    """Check its gradients on any device. Returns the type of the values, rows that were kept, and the width."""
    dtype = check_values(x.dtype, "the gradient", floating=True)
    if pad_value is not None:
        check_pad(pad_value, x.values.shape[1:])
    kept, width = room_for(x._row_offsets(), max_length, True)
    check_gradient(grad, (len(kept), width, *x.shape[1:]))
    return dtype, kept, width


def _check_padded(shape):
    if len(shape) < 2:
        raise ShapeMismatchError(f"x has shape {shape}; padded sequences are (sequences, width, *item)")


def prepare_unpad(on, x, lengths, what):
    """Check padded sequences on any device.

    Returns the padded array, the type of its values, and, of NumPy, lengths and offsets.
    """
    values, found = values_of(x), check_vector(on.read(values_of(lengths)), "lengths").copy()
    shape = tuple(values.shape)
    _check_padded(shape)
    if shape[0] != len(found):
        raise LoDError(f"x has {shape[0]} sequences, of shape {shape}; lengths has {len(found)}")
    offsets = load_compiled().lengths_to_offsets(found)
    if load_compiled().longest_length.code(offsets) > shape[1]:
        s = int(np.argmax(found > shape[1]))
        rule = f"is more than the {shape[1]} rows of a padded sequence"
        raise LoDError(f"lengths[{s}] = {found[s]} {rule}; a length counts the rows that are data")
    return values, check_values(values.dtype, what, floating=what == "the gradient"), found, offsets


def place_of(n, width, side):
    """Place of ``n`` rows among ``width``."""
    return slice(0, n) if side == "right" else slice(width - n, width)


def levels_above(x, lengths):
    """The levels above padded sequences: those of x, or of the lengths; the same where both have some."""
    if isinstance(x, LoDTensor) and x.lod_level:
        aligned(lengths, x, "lengths", "x")
        return x._lod
    return lengths._lod if isinstance(lengths, LoDTensor) else ()


@op(types=MOVED)
def sequence_pad(
    x: LoDTensor,
    pad_value: Dense | None = None,
    /,
    *,
    max_length: int | None = None,
    truncate: bool = False,
    side: Side = "right",
) -> tuple:
    """Pad the innermost sequences to one width, as Paddle's sequence_pad.

    Parameters
    ----------
    x : LoDTensor
        Rows have the shape ``(*item)``. Both results keep the outer levels; Paddle's sequence_pad takes only one level.
    pad_value : number, or array of shape (*item,), optional
        Value of the padding, 0 by default. A floating ``pad_value`` has a gradient too.
    max_length : int, optional
        The width; the longest length by default.
    truncate : bool
        Cut sequences that are longer than ``max_length``. Without ``truncate`` such a sequence raises.
    side : {"right", "left"}
        Side on which padding is added and rows are cut off: "right" is after the rows, "left" is before the rows.

    Returns
    -------
    padded : array of shape (sequences, width, *item), or LoDTensor if x has outer levels
    lengths : int64 array of shape (sequences,), or LoDTensor if x has outer levels
        Number of data rows in each padded sequence; ``sequence_unpad`` takes these lengths.

    Raises
    ------
    LoDError
        A sequence is longer than ``max_length``, and ``truncate`` is False.
    ShapeMismatchError, ValueError
        ``pad_value`` does not have the shape of a row of x, or the type of x cannot represent ``pad_value``.

    >>> x = LoDTensor(np.array([1, 2, 3, 4, 5]), [[2, 0, 3]])
    >>> sequence_pad(x, -1)
    (array([[ 1,  2, -1],
           [-1, -1, -1],
           [ 3,  4,  5]]), array([2, 0, 3]))
    >>> sequence_pad(x, max_length=2, truncate=True, side="left")[0]
    array([[1, 2],
           [0, 0],
           [4, 5]])
    """
    (dtype, kept, width), offsets = prepare_pad(x, pad_value, max_length, truncate), x.offsets()
    padded = np.zeros((len(kept), width, *x.shape[1:]), dtype)
    if pad_value is not None:
        padded[...] = pad_as(pad_value, dtype)
    for s, n in enumerate(kept):
        rows = x.values[offsets[s] : offsets[s + 1]]
        padded[s, place_of(n, width, side)] = rows[place_of(n, len(rows), side)]
    return with_outer_levels(x, -1, padded), with_outer_levels(x, -1, kept)


@sequence_pad.infer_rule
def _(x, pad_value=None, *, max_length=None, truncate=False, side="right"):
    padded = pooled_desc(x, -1, (-1 if max_length is None else max_length, *x.dims[1:]))
    return padded, padded.but(dims=padded.dims[:1], dtype=np.dtype(np.int64))


@sequence_pad.gradient
def _(call, grad, _):
    x, pad = (*call.inputs, None)[:2]
    if grad is None:  # only the lengths were asked for
        return None, None
    kept = {k: call.attrs[k] for k in ("max_length", "side")}
    by_pad = pad is not None and call.wanted[1] and is_floating(dtype_of(pad))
    by_x = sequence_pad_grad(x, grad, **kept) if call.wanted[0] else None
    return by_x, sequence_pad_value_grad(x, pad, grad, **kept) if by_pad else None


@op(types=FLOATING)
def sequence_pad_grad(
    x: LoDTensor, grad: Dense, /, *, max_length: int | None = None, side: Side = "right"
) -> LoDTensor:
    """Return the gradient of ``sequence_pad`` by its sequences: zeros for rows that were cut off.

    >>> x = LoDTensor(np.zeros(3), [[1, 2]])
    >>> sequence_pad_grad(x, np.array([[1.0], [2.0]]), max_length=1).values
    array([1., 2., 0.])
    """
    dtype, kept, width = prepare_pad_grad(x, grad, max_length)
    offsets, result = x.offsets(), np.zeros(x.shape, dtype)
    for s, n in enumerate(kept):
        rows = result[offsets[s] : offsets[s + 1]]
        rows[place_of(n, len(rows), side)] = grad[s, place_of(n, width, side)]
    return x.with_values(result)


@sequence_pad_grad.infer_rule
def _(x, grad, *, max_length=None, side="right"):
    inferred_level(x, -1)
    return x


@op(like="pad_value", types=FLOATING)
def sequence_pad_value_grad(
    x: LoDTensor, pad_value: Dense, grad: Dense, /, *, max_length: int | None = None, side: Side = "right"
) -> Dense:
    """Return the gradient of ``sequence_pad`` by the value of the padding: the sum over all of it.

    >>> x = LoDTensor(np.zeros(3), [[1, 2]])
    >>> sequence_pad_value_grad(x, np.zeros(1), np.array([[1.0, 2.0], [4.0, 8.0]]))
    array([2.])
    """
    _, kept, width = prepare_pad_grad(x, grad, max_length, pad_value)
    is_pad = np.ones((len(kept), width), bool)
    for s, n in enumerate(kept):
        is_pad[s, place_of(n, width, side)] = False
    total = grad[is_pad].sum(axis=0, dtype=np.float64)
    total = np.asarray(total.sum() if pad_value.size == 1 else total)
    return total.reshape(pad_value.shape).astype(native(pad_value.dtype))


@op(types=MOVED)
def sequence_unpad(x: Dense | LoDTensor, lengths: Dense | LoDTensor, /, *, side: Side = "right") -> LoDTensor:
    """Lay padded sequences end to end, without the padding. sequence_unpad of Paddle.

    Parameters
    ----------
    x : array of shape (sequences, width, *item)
        A LoDTensor of such rows keeps its levels, above the level of the sequences.
    lengths : array of int32 or int64
        Rows of each sequence that are data, at most ``width``. A LoDTensor of lengths has the levels, as from
        ``sequence_pad``.
    side : {"right", "left"}
        Side of the padding: after the rows, or before them.

    Returns
    -------
    LoDTensor
        Rows ``(*item)``; Paddle's gives ``(rows, 1)`` for an array of rank 2.

    Raises
    ------
    LoDError
        A length is negative or more than ``width``, or there is not one per sequence.

    >>> sequence_unpad(np.array([[1, 2, 0], [0, 0, 0], [3, 4, 5]]), [2, 0, 3])
    LoDTensor([[1, 2], [], [3, 4, 5]], recursive_sequence_lengths=[[2, 0, 3]], shape=(5,), dtype=int64)
    """
    values, dtype, found, _ = prepare_unpad(plain, x, lengths, "sequence_unpad")
    width = values.shape[1]
    rows = [np.zeros((0, *values.shape[2:]), dtype)]
    rows += [sequence[place_of(n, width, side)] for sequence, n in zip(values, found, strict=True)]
    upper = [np.diff(offsets) for offsets in levels_above(x, lengths)]
    return LoDTensor(np.concatenate(rows, dtype=dtype), [*upper, found])


@sequence_unpad.infer_rule
def _(x, lengths, *, side="right"):
    _check_padded(x.dims)
    return x.but(dims=(-1, *x.dims[2:]), lod_level=max(x.lod_level, lengths.lod_level) + 1)


@op(like="x", gradient_of=sequence_unpad, types=FLOATING)
def sequence_unpad_grad(
    x: Dense | LoDTensor, lengths: Dense | LoDTensor, grad: Dense, /, *, side: Side = "right"
) -> Dense | LoDTensor:
    """Return the gradient of ``sequence_unpad``: zeros for the padding.

    >>> sequence_unpad_grad(np.zeros((2, 2)), [1, 2], np.array([1.0, 2.0, 3.0]))
    array([[1., 0.],
           [2., 3.]])
    """
    values, dtype, found, _ = prepare_unpad(plain, x, lengths, "the gradient")
    check_gradient(grad, (found.sum(), *values.shape[2:]))
    width = values.shape[1]
    result, ends = np.zeros(values.shape, dtype), np.cumsum(found)
    for s, n in enumerate(found):
        result[s, place_of(n, width, side)] = grad[ends[s] - n : ends[s]]
    return x.with_values(result) if isinstance(x, LoDTensor) else result


def _batch(dtype):
    return LoDTensor(np.ones((2, 2), dtype), [[1, 1]])


sequence_pad.example(lambda dtype: [((_batch(dtype),), {}), ((_batch(dtype), np.ones(2, dtype)), {})])
sequence_unpad.example(lambda dtype: [((np.ones((2, 1, 2), dtype), np.array([1, 1])), {})])


takes_bfloat16(sequence_pad, sequence_unpad)
keeps_bfloat16(sequence_pad, sequence_pad_value_grad)
