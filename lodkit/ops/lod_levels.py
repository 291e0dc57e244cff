"""Replace and append levels, and change the width of rows (Paddle's lod_reset, lod_append, sequence_reshape)."""

from __future__ import annotations

import math
import typing

import numpy as np

from ..arrays import MOVED, check_rows, native
from ..base.errors import LoDError
from ..lod import LoDTensor, levels, values_of
from ..registry import Dense, inferred_level, keeps_bfloat16, op, takes_bfloat16
from .shared.features import to_numpy

DOCS_PAGE = "rearrange"
SEARCH_WORDS = {
    "lod_reset": "set lengths, other structure, regroup",
    "lod_append": "add a level",
    "sequence_reshape": "reshape, view",
}


def levels_of(x):
    """The offsets of every level; an array has none."""
    return x._lod if isinstance(x, LoDTensor) else ()


def check_one_given(y, target_lod):
    """Refuse both of ``y`` and ``target_lod``, and neither."""
    if (y is None) == (target_lod is None):
        given = "neither" if y is None else "both"
        raise TypeError(f"lod_reset takes y or target_lod=, got {given}; y: lengths, or a LoDTensor with the levels")


def reset_levels(x, y, target_lod, append):
    """Check the inputs of ``lod_reset``. Returns the levels of the result."""
    if y is None or target_lod is not None:
        check_one_given(y, target_lod)
        new = levels.from_offsets([target_lod])
    elif isinstance(y, LoDTensor) and y.lod_level:
        new = y._lod
    else:
        new = levels.from_lengths((to_numpy(values_of(y), "y"),))
    upper = levels_of(x)
    if append and upper:
        rows, count = upper[-1].item(-1), len(new[0]) - 1
        if rows != count:
            raise LoDError(
                f"{count} sequences are appended below level {len(upper) - 1}, which has {rows}; "
                "give one length for each: they count what that level's lengths count now"
            )
        new = upper + new
    levels.check_rows(new, check_rows(values_of(x), "x"))
    return new


@op(types=MOVED)
def lod_reset(
    x: Dense | LoDTensor, y: Dense | LoDTensor | None = None, /, *, target_lod: typing.Any = None, append: bool = False
) -> LoDTensor:
    """Cut the rows of x into other sequences; the rows are shared, not copied. lod_reset of Paddle.

    Parameters
    ----------
    x : array or LoDTensor
        Has ``rows`` rows.
    y : LoDTensor, or array of int32 or int64, optional
        A tensor with the new levels; or the lengths of one level. (Paddle's array has offsets.)
    target_lod : list of int, optional
        Instead of y: the offsets of one level, from 0 to ``rows``.
    append : bool
        Put the new levels below the levels of x, not in their place; the levels of x then count the new sequences.

    Returns
    -------
    LoDTensor

    Raises
    ------
    LoDError
        The lengths do not add up to the rows, or an appended level does not have a sequence per row of x.

    >>> x = LoDTensor(np.arange(6), [[2, 3, 1]])
    >>> lod_reset(x, [4, 2]).to_list()
    [[0, 1, 2, 3], [4, 5]]
    >>> lod_reset(x, target_lod=[0, 1, 6]).lod()
    [[0, 1, 6]]
    """
    return LoDTensor(values_of(x), lod=reset_levels(x, y, target_lod, append))


@lod_reset.infer_rule
def _(x, y=None, *, target_lod=None, append=False):
    check_one_given(y, target_lod)
    new = (np.size(target_lod) - 1,) if y is None else y.sequences if y.lod_level else y.dims[:1]
    count, upper = 1 if y is None else max(1, y.lod_level), x.sequences if append else ()
    return x.but(lod_level=count + (x.lod_level if append else 0), sequences=(*upper, *new))


@op(types=MOVED)
def lod_append(x: Dense | LoDTensor, lengths: Dense, /) -> LoDTensor:
    """Append a level below the levels of x: rows become the sequences of the new level. lod_append of Paddle.

    Paddle documents lengths and takes offsets. Rows are shared, not copied.

    Parameters
    ----------
    x : array or LoDTensor
    lengths : array of int32 or int64
        One length per row where x has levels, any number where it has none; they add up to the rows.

    Returns
    -------
    LoDTensor

    Raises
    ------
    LoDError
        There is not one length per row, or they do not add up.

    >>> x = LoDTensor(np.arange(4), [[3, 1]])
    >>> lod_append(x, [1, 1, 2, 0]).to_list()
    [[[0], [1], [2, 3]], [[]]]
    """
    return lod_reset.definition(x, lengths, append=True)


@lod_append.infer_rule
def _(x, lengths):
    return x.but(lod_level=x.lod_level + 1, sequences=(*x.sequences, *lengths.dims[:1]))


@lod_reset.gradient
@lod_append.gradient
def _(call, grad):
    return values_of(grad), None


def reshaped_offsets(x, new_dim):
    """Return the innermost offsets of rows of ``new_dim`` numbers."""
    if new_dim < 1:
        raise ValueError(f"new_dim = {new_dim}; an item has at least one number")
    offsets, size = x._row_offsets(), math.prod(x.shape[1:])
    made, rest = np.divmod(offsets * size, new_dim)
    if rest.any():
        s = int(np.argmax(rest != 0)) - 1
        n = offsets[s + 1] - offsets[s]
        raise LoDError(
            f"sequence {s} has {n} rows of {size} numbers, {n * size} in all: no number of rows of new_dim = {new_dim}"
        )
    return made


@op(types=MOVED)
def sequence_reshape(x: LoDTensor, /, *, new_dim: int) -> LoDTensor:
    """Reshape the rows of every innermost sequence to another width. sequence_reshape of Paddle.

    Parameters
    ----------
    x : LoDTensor
        Items of any shape, in row-major order. Levels above the innermost stay (Paddle takes one level).
    new_dim : int
        The width of a row of the result.

    Returns
    -------
    LoDTensor
        Rows of shape ``(new_dim,)``. The rows share the memory of x if it is contiguous.

    Raises
    ------
    LoDError
        The numbers of a sequence do not fill whole rows; the message names it.

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


def example_batch(dtype):
    return LoDTensor(np.ones((2, 2), dtype), [[1, 1]])


lod_reset.example(lambda dtype: [((example_batch(dtype), [2]), {})])
lod_append.example(lambda dtype: [((example_batch(dtype), [1, 1]), {})])
sequence_reshape.example(lambda dtype: [((example_batch(dtype),), {"new_dim": 1})])


takes_bfloat16(lod_reset, lod_append, sequence_reshape)
keeps_bfloat16(lod_reset)
