"""How rows are cut into sequences, changed: levels replaced and appended, rows re-cut, batches split and merged.

Paddle's lod_reset, sequence_reshape, split_lod_tensor, merge_lod_tensor.
"""

from __future__ import annotations

import math
import typing

import numpy as np

from ..arrays import native, zeros_like
from ..errors import LoDError, LoDLevelError, LoDMismatchError
from ..lod_tensor import LoDTensor, values_of
from ..registry import Dense, op
from ._features import check_items, check_mask, on_cpu
from .sequence_pool import inferred_level


def check_one_given(y, target_lod):
    if (y is None) == (target_lod is None):
        given = "neither" if y is None else "both"
        raise TypeError(f"lod_reset takes y or target_lod=, got {given}; y: lengths, or a LoDTensor with the levels")


def levels_given(y, target_lod):
    """The levels that a LoDTensor has, or that lengths or offsets make, as a LoDTensor without rows."""
    check_one_given(y, target_lod)
    if y is None:
        return LoDTensor(None, lod=[target_lod])
    if isinstance(y, LoDTensor) and y.lod_level:
        return y
    return LoDTensor(None, [on_cpu(values_of(y), "y")])


def check_appended(x, lower):
    """Refuse levels below those of ``x`` that have not a sequence for each of its rows."""
    rows, count = x.row_offsets()[-1], len(lower)
    if rows != count:
        raise LoDError(
            f"{count} sequences are appended below level {x.lod_level - 1}, which has {rows}; "
            "give one length for each: they count what that level's lengths count now"
        )


@op
def lod_reset(
    x: Dense | LoDTensor,
    y: Dense | LoDTensor | None = None,
    /,
    *,
    target_lod: typing.Any = None,
    append: bool = False,
) -> LoDTensor:
    """Cut the rows of x into other sequences; the rows are shared, not copied. lod_reset of Paddle.

    Parameters
    ----------
    x : array or LoDTensor
        Of ``rows`` rows.
    y : LoDTensor, or array of int32 or int64, optional
        A tensor whose levels, all of them, x is given; or the lengths of one level. (Paddle's array has offsets.)
    target_lod : list of int, optional
        Instead of y: the offsets of one level, from 0 to ``rows``.
    append : bool
        Put the new levels below those of x, which count the new sequences then, instead of in their place.

    Returns
    -------
    LoDTensor

    Raises
    ------
    LoDError
        The lengths do not add up to the rows, or what is appended has not a sequence for each that x counts.

    >>> x = LoDTensor(np.arange(6), [[2, 3, 1]])
    >>> lod_reset(x, [4, 2]).to_list()
    [[0, 1, 2, 3], [4, 5]]
    >>> lod_reset(x, target_lod=[0, 1, 6]).lod()
    [[0, 1, 6]]
    """
    new = levels_given(y, target_lod)
    levels = new.recursive_sequence_lengths()
    if append and isinstance(x, LoDTensor) and x.lod_level:
        check_appended(x, new)
        levels = x.recursive_sequence_lengths() + levels
    return LoDTensor(values_of(x), levels)


@lod_reset.infer_rule
def _(x, y=None, *, target_lod=None, append=False):
    check_one_given(y, target_lod)
    new = 1 if y is None else max(1, y.lod_level)
    return x.but(lod_level=new + (x.lod_level if append else 0))


@lod_reset.gradient
def _(call, grad):
    return values_of(grad), None


@op
def lod_append(x: Dense | LoDTensor, lengths: Dense, /) -> LoDTensor:
    """Append a level below those of x: its rows become the sequences of the new level. lod_append of Paddle.

    Paddle documents lengths and takes offsets. Rows are shared, not copied.

    Parameters
    ----------
    x : array or LoDTensor
    lengths : array of int32 or int64
        A length for each sequence that the innermost level of x counts, which are its rows; they add up to the rows.

    Returns
    -------
    LoDTensor

    Raises
    ------
    LoDError
        There is not a length for each, or they do not add up.

    >>> x = LoDTensor(np.arange(4), [[3, 1]])
    >>> lod_append(x, [1, 1, 2, 0]).to_list()
    [[[0], [1], [2, 3]], [[]]]
    """
    return lod_reset.definition(x, lengths, append=True)


@lod_append.infer_rule
def _(x, lengths):
    return x.but(lod_level=x.lod_level + 1)


@lod_append.gradient
def _(call, grad):
    return values_of(grad), None


def reshaped_offsets(x, new_dim):
    """The innermost offsets, when every item has ``new_dim`` numbers."""
    if new_dim < 1:
        raise ValueError(f"new_dim = {new_dim}; an item has at least one number")
    offsets, size = x.row_offsets(), math.prod(x.shape[1:])
    made, rest = np.divmod(offsets * size, new_dim)
    if rest.any():
        s = int(np.argmax(rest != 0)) - 1
        n = offsets[s + 1] - offsets[s]
        raise LoDError(
            f"sequence {s} has {n} rows of {size} numbers, {n * size} in all: no number of rows of new_dim = {new_dim}"
        )
    return made


@op
def sequence_reshape(x: LoDTensor, /, *, new_dim: int) -> LoDTensor:
    """Read the numbers of every innermost sequence as rows of another width. sequence_reshape of Paddle.

    Parameters
    ----------
    x : LoDTensor
        Items of any shape are read in order. Levels above the innermost stay (Paddle's takes one).
    new_dim : int
        Numbers in a row of the result.

    Returns
    -------
    LoDTensor
        Rows ``(new_dim,)``. They share the memory of x where it is contiguous.

    Raises
    ------
    LoDError
        The numbers of a sequence do not make whole rows; the message names it.

    >>> x = LoDTensor(np.arange(8).reshape(4, 2), [[1, 0, 3]])
    >>> sequence_reshape(x, new_dim=1).recursive_sequence_lengths()
    [[2, 0, 6]]
    """
    values = np.ascontiguousarray(x.values, native(x.dtype))
    made = reshaped_offsets(x, new_dim)
    return LoDTensor(values.reshape(made[-1], new_dim), [*x.recursive_sequence_lengths()[:-1], np.diff(made)])


@sequence_reshape.infer_rule
def _(x, *, new_dim):
    inferred_level(x, -1)
    return x.but(dims=(-1, new_dim))


@sequence_reshape.gradient
def _(call, grad):
    return values_of(grad).reshape(tuple(call.inputs[0].shape))


def check_split(x, mask, level):
    """The mask as booleans: one for each sequence of the level, or each row of an array."""
    if not isinstance(x, LoDTensor) or not x.lod_level:
        if level != 0:
            raise LoDLevelError(f"level {level} does not exist: x has no levels, its rows are level 0")
        return _flat_mask(mask, len(values_of(x)), "row")
    return _flat_mask(mask, len(x.row_offsets(level)) - 1, "sequence")


def _flat_mask(mask, count, what):
    mask = on_cpu(mask, "mask")
    if mask.size != count or mask.ndim > 2 or mask.shape[1:] not in ((), (1,)):
        raise LoDMismatchError(f"mask has shape {mask.shape} for {count} {what}s; pass True or False for each {what}")
    return check_mask(mask.reshape(count), (count,), "mask")


def levels_of(x):
    """The offsets of every level; none of an array."""
    return x._lod if isinstance(x, LoDTensor) else ()


def check_merge(in_true, in_false, mask, level):
    """The mask as booleans; the two inputs have its True and its False sequences, and the same levels above."""
    check_items("merge_lod_tensor", [values_of(in_true), values_of(in_false)])
    upper, other = levels_of(in_true), levels_of(in_false)
    if len(upper) != len(other):
        raise LoDLevelError(f"merge_lod_tensor: in_true has lod_level {len(upper)}, in_false {len(other)}")
    if not 0 <= level < max(1, len(upper)):
        raise LoDLevelError(f"level {level} does not exist: the inputs have lod_level {len(upper)}; it counts from 0")
    counts = [len(x._lod[level]) - 1 if upper else len(values_of(x)) for x in (in_true, in_false)]
    mask = _flat_mask(mask, sum(counts), "sequence" if upper else "row")
    if np.count_nonzero(mask) != counts[0]:
        raise LoDMismatchError(
            f"merge_lod_tensor: the mask has {np.count_nonzero(mask)} True, in_true {counts[0]} sequences; "
            "pass what split_lod_tensor gave, with its mask"
        )
    for i in range(level - 1):
        if not np.array_equal(upper[i], other[i]):
            raise LoDMismatchError(f"merge_lod_tensor: in_true and in_false have different lengths at level {i}")
    if level:
        _check_shares(mask, upper[level - 1], other[level - 1], level)
    return mask


def _check_shares(mask, in_true, in_false, level):
    """Refuse a mask that is not True for as many sequences as ``in_true`` has of each one above."""
    above = f"the sequences of level {level - 1}"
    if len(in_true) != len(in_false):
        raise LoDMismatchError(
            f"merge_lod_tensor: in_true has {len(in_true) - 1} of {above}, in_false {len(in_false) - 1}"
        )
    trues = np.concatenate([[0], np.cumsum(mask)])[in_true + in_false]
    if not np.array_equal(trues, in_true):
        s = int(np.argmax(trues != in_true)) - 1
        raise LoDMismatchError(
            f"merge_lod_tensor: of {above}, number {s} has {in_true[s + 1] - in_true[s]} in in_true, and the mask "
            f"{trues[s + 1] - trues[s]} True; pass what split_lod_tensor gave, with its mask and level"
        )


@op
def split_lod_tensor(x: Dense | LoDTensor, mask: Dense, /, *, level: int = 0) -> tuple:
    """Part a batch in two: the sequences where a mask is True, and the others. split_lod_tensor of Paddle.

    Parameters
    ----------
    x : array or LoDTensor
        An array is parted by rows.
    mask : array of bool, or of 0 and 1
        ``(sequences,)`` or ``(sequences, 1)``.
    level : int
        Whose sequences are parted, from 0, the outermost. The levels above count what each result has left (Paddle
        drops them).

    Returns
    -------
    out_true, out_false : like x

    Raises
    ------
    LoDMismatchError
        The mask has not one number for each sequence.

    >>> x = LoDTensor(np.arange(4), [[1, 0, 3]])
    >>> [part.to_list() for part in split_lod_tensor(x, [False, True, True])]
    [[[], [1, 2, 3]], [[0]]]
    """
    mask = check_split(x, mask, level)
    return _chosen(x, mask, level), _chosen(x, ~mask, level)


def _chosen(x, keep, level):
    if not levels_of(x):
        return values_of(x)[keep]
    lengths = x.recursive_sequence_lengths()
    if level:
        bounds = x.offsets(level - 1)
        lengths[level - 1] = [int(keep[a:b].sum()) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
    for lower in range(level, x.lod_level):
        lengths[lower], keep = x.lengths(lower)[keep], np.repeat(keep, x.lengths(lower))
    return LoDTensor(x.values[keep], lengths)


@split_lod_tensor.infer_rule
def _(x, mask, *, level=0):
    part = x.but(dims=(-1, *x.dims[1:]))
    return part, part


@split_lod_tensor.gradient
def _(call, *grads):
    parts = [_like(out, grad) for out, grad in zip(call.outputs, grads, strict=True)]
    return values_of(merge_lod_tensor(*parts, call.inputs[1], **call.attrs)), None


def _like(out, grad):
    """A gradient with the structure of a result; zeros where nothing flows."""
    if grad is None:
        grad = zeros_like(values_of(out))
    return out.with_values(grad) if isinstance(out, LoDTensor) else grad


@op
def merge_lod_tensor(
    in_true: Dense | LoDTensor, in_false: Dense | LoDTensor, mask: Dense, /, *, level: int = 0
) -> Dense | LoDTensor:
    """Put back together what ``split_lod_tensor`` parted. merge_lod_tensor of Paddle, right for empty sequences.

    Parameters
    ----------
    in_true, in_false : arrays or LoDTensors
        Sequences where the mask is True, and where it is not, in order.
    mask : array of bool, or of 0 and 1
        ``(sequences,)`` or ``(sequences, 1)``.
    level : int
        Whose sequences the mask is about, from 0, the outermost.

    Returns
    -------
    array or LoDTensor, like the inputs

    Raises
    ------
    LoDMismatchError
        The inputs have not the sequences that the mask tells of.

    >>> merge_lod_tensor(LoDTensor([1, 2, 3], [[0, 3]]), LoDTensor([0], [[1]]), [False, True, True]).to_list()
    [[0], [], [1, 2, 3]]
    """
    mask, parts = check_merge(in_true, in_false, mask, level), (in_true, in_false)
    order = np.empty(len(mask), np.int64)
    order[mask], order[~mask] = np.arange(mask.sum()), np.arange(mask.sum(), len(mask))
    lengths = [offsets[1:] - offsets[:-1] for offsets in levels_of(in_true)]
    if level:
        lengths[level - 1] = lengths[level - 1] + in_false.lengths(level - 1)
    for lower in range(level, len(lengths)):
        both = np.concatenate([x.lengths(lower) for x in parts])
        ends = np.cumsum(both)
        lengths[lower] = both[order]
        order = np.array([i for s in order for i in range(ends[s] - both[s], ends[s])], np.int64)
    rows = np.concatenate([values_of(x) for x in parts])[order]
    return LoDTensor(rows, lengths) if lengths else rows


@merge_lod_tensor.infer_rule
def _(in_true, in_false, mask, *, level=0):
    return in_true.but(dims=(-1, *in_true.dims[1:]))


@merge_lod_tensor.gradient
def _(call, grad):
    parts = split_lod_tensor(_like(call.outputs[0], grad), call.inputs[2], **call.attrs)
    return (*map(values_of, parts), None)


def _batch(dtype):
    return LoDTensor(np.ones((2, 2), dtype), [[1, 1]])


lod_reset.example(lambda dtype: [((_batch(dtype), [2]), {})])
lod_append.example(lambda dtype: [((_batch(dtype), [1, 1]), {})])
sequence_reshape.example(lambda dtype: [((_batch(dtype),), {"new_dim": 1})])
split_lod_tensor.example(lambda dtype: [((_batch(dtype), np.array([True, False])), {})])
merge_lod_tensor.example(lambda dtype: [((_batch(dtype), _batch(dtype), np.array([1, 0, 0, 1])), {})])
