"""Split a batch by a mask, and merge it again (Paddle's split_lod_tensor, merge_lod_tensor)."""

from __future__ import annotations

import numpy as np

from ..arrays import MOVED, check_rows, check_values, zeros_like
from ..base.errors import LoDLevelError, LoDMismatchError
from ..lod import LoDTensor, values_of
from ..lod.levels import load_compiled
from ..registry import Dense, op, takes_bfloat16
from .lod_levels import example_batch, levels_of
from .shared.features import check_items, check_mask, to_numpy

DOCS_PAGE = "rearrange"
SEARCH_WORDS = {
    "split_lod_tensor": "if else, mask batch, partition by a condition, where",
    "merge_lod_tensor": "merge branches, undo split",
}


def prepare_split(x, mask, level):
    """Check the inputs. Returns the mask as booleans, one per sequence of the level or row of an array; the level."""
    check_values(values_of(x).dtype, "split_lod_tensor")
    level = _level_of(levels_of(x), level, "x")
    return _flat_mask(mask, *_count_elements(x, level)), level


def _level_of(levels, level, name):
    if not -len(levels) <= level < max(1, len(levels)):
        has = f"{name} has lod_level {len(levels)}" if levels else f"{name} has no levels, its rows are level 0"
        raise LoDLevelError(f"level {level} does not exist: {has}")
    return level % len(levels) if levels else 0


def _count_elements(x, level):
    """The number of elements of a mask, and the noun for them: sequences, or rows of an array."""
    levels = levels_of(x)
    return (len(levels[level]) - 1, "sequence") if levels else (len(check_rows(values_of(x), "x")), "row")


def _flat_mask(mask, count, what):
    mask = to_numpy(mask, "mask")
    if mask.size != count or mask.ndim > 2 or mask.shape[1:] not in ((), (1,)):
        raise LoDMismatchError(f"mask has shape {mask.shape} for {count} {what}s; pass True or False for each {what}")
    return check_mask(mask.reshape(count), (count,), "mask")


def prepare_merge(in_true, in_false, mask, level):
    """Check that the inputs have the True and the False sequences of the mask, and levels alike.

    Returns the mask as booleans, and the level, from 0.
    """
    check_items("merge_lod_tensor", [values_of(in_true), values_of(in_false)])
    upper, other = levels_of(in_true), levels_of(in_false)
    if len(upper) != len(other):
        raise LoDLevelError(f"merge_lod_tensor: in_true has lod_level {len(upper)}, in_false {len(other)}")
    level = _level_of(upper, level, "in_true")
    (trues, what), (falses, _) = _count_elements(in_true, level), _count_elements(in_false, level)
    mask = _flat_mask(mask, trues + falses, what)
    if np.count_nonzero(mask) != trues:
        raise LoDMismatchError(
            f"merge_lod_tensor: the mask has {np.count_nonzero(mask)} True, in_true {trues} {what}s; "
            "pass what split_lod_tensor gave, with its mask"
        )
    for i in range(level - 1):
        if not np.array_equal(upper[i], other[i]):
            raise LoDMismatchError(f"merge_lod_tensor: in_true and in_false have different lengths at level {i}")
    if level:
        _check_shares(mask, upper[level - 1], other[level - 1], level)
    return mask, level


def _check_shares(mask, in_true, in_false, level):
    """Refuse a mask that does not have as many True per sequence above as ``in_true`` has sequences there."""
    above = f"the sequences of level {level - 1}"
    if len(in_true) != len(in_false):
        raise LoDMismatchError(
            f"merge_lod_tensor: in_true has {len(in_true) - 1} of {above}, in_false {len(in_false) - 1}"
        )
    trues = load_compiled().lengths_to_offsets(mask.astype(np.int64))[in_true + in_false]
    if not np.array_equal(trues, in_true):
        s = int(np.argmax(trues != in_true)) - 1
        raise LoDMismatchError(
            f"merge_lod_tensor: of {above}, number {s} has {in_true[s + 1] - in_true[s]} in in_true, and the mask "
            f"{trues[s + 1] - trues[s]} True; pass what split_lod_tensor gave, with its mask and level"
        )


@op(types=MOVED)
def split_lod_tensor(x: Dense | LoDTensor, mask: Dense, /, *, level: int = 0) -> tuple:
    """Split a batch in two: the sequences where a mask is True, and the others. split_lod_tensor of Paddle.

    Parameters
    ----------
    x : array or LoDTensor
        An array is split by rows.
    mask : array of bool, or of 0 and 1
        ``(sequences,)`` or ``(sequences, 1)``.
    level : int
        The level whose sequences to split: 0 for the outermost, -1 for the innermost. The levels above count the
        sequences that each result keeps (Paddle drops them).

    Returns
    -------
    out_true, out_false : like x
        For a few sequences, both may be parts of one new array.

    Raises
    ------
    LoDMismatchError
        The mask does not have one number per sequence.

    >>> x = LoDTensor(np.arange(4), [[1, 0, 3]])
    >>> [part.to_list() for part in split_lod_tensor(x, [False, True, True])]
    [[[], [1, 2, 3]], [[0]]]
    """
    mask, level = prepare_split(x, mask, level)
    return _keep_elements(x, mask, level), _keep_elements(x, ~mask, level)


def _keep_elements(x, keep, level):
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


@split_lod_tensor.gradient(reads_outputs=True)
def _(call, *grads):
    parts = [_like(out, grad) for out, grad in zip(call.outputs, grads, strict=True)]
    return values_of(merge_lod_tensor(*parts, call.inputs[1], **call.attrs)), None


def _like(out, grad):
    """A gradient with the structure of a result; zeros for None."""
    if grad is None:
        grad = zeros_like(values_of(out))
    return out.with_values(grad) if isinstance(out, LoDTensor) else grad


@op(types=MOVED)
def merge_lod_tensor(
    in_true: Dense | LoDTensor, in_false: Dense | LoDTensor, mask: Dense, /, *, level: int = 0
) -> Dense | LoDTensor:
    """Merge the two parts that ``split_lod_tensor`` made. merge_lod_tensor of Paddle, right for empty sequences.

    Parameters
    ----------
    in_true, in_false : arrays or LoDTensors
        Sequences where the mask is True, and where it is not, in order.
    mask : array of bool, or of 0 and 1
        ``(sequences,)`` or ``(sequences, 1)``.
    level : int
        The level whose sequences the mask marks.

    Returns
    -------
    array or LoDTensor, like the inputs

    Raises
    ------
    LoDMismatchError
        The inputs do not have the sequences that the mask marks.

    >>> merge_lod_tensor(LoDTensor([1, 2, 3], [[0, 3]]), LoDTensor([0], [[1]]), [False, True, True]).to_list()
    [[0], [], [1, 2, 3]]
    """
    (mask, level), parts = prepare_merge(in_true, in_false, mask, level), (in_true, in_false)
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


@merge_lod_tensor.gradient(reads_outputs=True)
def _(call, grad):
    parts = split_lod_tensor(_like(call.outputs[0], grad), call.inputs[2], **call.attrs)
    return (*map(values_of, parts), None)


split_lod_tensor.example(lambda dtype: [((example_batch(dtype), np.array([True, False])), {})])
merge_lod_tensor.example(lambda dtype: [((example_batch(dtype), example_batch(dtype), np.array([1, 0, 0, 1])), {})])


takes_bfloat16(split_lod_tensor, merge_lod_tensor)
