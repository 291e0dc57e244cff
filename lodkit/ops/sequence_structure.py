"""Repeat, reverse and join sequences (Paddle's sequence_expand, sequence_expand_as, _reverse and _concat)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..arrays import FLOATING, MOVED, check_gradient, check_values, native
from ..base.errors import LoDMismatchError, ShapeMismatchError
from ..lod import LoDTensor, values_of
from ..registry import Dense, inferred_level, op, takes_bfloat16
from .sequence_pool import sequence_pool
from .shared.features import merge_examples, rows_of
from .shared.sequences import add_to_sources, is_ragged, number_rows, pick_parts, prepare_concat

DOCS_PAGE = "rearrange"
SEARCH_WORDS = {
    "sequence_concat": "concatenate sequences, append to each sequence, concatenate row by row, zip",
    "sequence_expand": "repeat, tile, broadcast to sequences",
    "sequence_expand_as": "repeat_interleave, broadcast, expand to rows",
    "sequence_reverse": "flip, backwards, reverse time",
}


def _repeat_segments(x, offsets):
    numbers = [i for i, (a, b) in enumerate(pairwise(offsets.tolist())) for _ in range(a, b)]
    if is_ragged(x):
        return pick_parts(x, 0, numbers, [])
    values = values_of(x)
    return values[np.array(numbers, np.int64)].astype(native(values.dtype))


def prepare_expand(x, y, ref_level, what="sequence_expand", floating=False):
    """Check the inputs. Returns offsets that say how often to repeat each row, or sequence, of x; and the dtype."""
    dtype = check_values(values_of(x).dtype, what, floating=floating)
    offsets = y._lod[y._level(ref_level)]
    _check_repeats("sequence_expand", x, offsets, ref_level)
    return offsets, dtype


def prepare_expand_as(x, y, level):
    """Check the inputs. Returns the rows of x, and offsets that say how often to repeat each."""
    x, offsets = values_of(x), y._row_offsets(level)
    check_values(x.dtype, "sequence_expand_as")
    _check_repeats("sequence_expand_as", x, offsets, level)
    return x, offsets


def _check_repeats(name, x, offsets, level):
    """Check that ``x`` has one row per segment, or one sequence where it has levels."""
    if is_ragged(x):
        count, needed = len(x), "sequences"
    elif not x.shape:
        raise ShapeMismatchError(f"{name}: x has no dimension; the first one counts rows, pass x.reshape(1)")
    else:
        count, needed = x.shape[0], "rows"
    if count != len(offsets) - 1:
        raise LoDMismatchError(
            f"{name}: x has {count} {needed}, level {level} of y has {len(offsets) - 1} sequences; give one for each"
        )


@op(types=MOVED)
def sequence_expand(x: Dense | LoDTensor, y: LoDTensor, /, *, ref_level: int = -1) -> Dense | LoDTensor:
    """Repeat the i-th row of ``x``, or its i-th sequence, as often as the i-th sequence of ``y`` has parts.

    sequence_expand of Paddle, where ``x`` has at most one level; here it may have any number.

    Parameters
    ----------
    x : array of shape (sequences, *item), or LoDTensor
        For a LoDTensor, the outermost sequences are repeated.
    y : LoDTensor
        Gives its structure only.
    ref_level : int
        The level of ``y`` whose lengths are the counts; the innermost by default, which counts rows.

    Returns
    -------
    array, or LoDTensor with the levels of ``x`` where it has some
        A length of 0 removes its row or sequence.

    Raises
    ------
    LoDMismatchError
        ``x`` does not have one row (or sequence) per sequence of that level of ``y``.

    Examples
    --------
    >>> y = LoDTensor(np.zeros(5), [[2, 0, 3]])
    >>> sequence_expand(np.array([1, 2, 3]), y)
    array([1, 1, 3, 3, 3])
    >>> sequence_expand(LoDTensor([1, 2, 3, 4], [[1, 2, 1]]), y).to_list()
    [[1], [1], [4], [4], [4]]
    """
    return _repeat_segments(x, prepare_expand(x, y, ref_level)[0])


@sequence_expand.infer_rule
def _(x, y, *, ref_level=-1):
    inferred_level(y, ref_level)
    return rows_of(x, lod_level=x.lod_level)


@op(like="x", gradient_of=sequence_expand, types=FLOATING)
def sequence_expand_grad(x: Dense | LoDTensor, y: LoDTensor, grad: Dense, /, *, ref_level: int = -1) -> Dense:
    """Return the gradient of ``sequence_expand`` by ``x``: the sum over the copies of each row, 0 without copies.

    >>> sequence_expand_grad(np.zeros(2), LoDTensor(np.zeros(3), [[3, 0]]), np.array([1.0, 2.0, 4.0]))
    array([7., 0.])
    """
    sources = values_of(_repeat_segments(number_rows(x), prepare_expand(x, y, ref_level)[0]))
    return add_to_sources(x, sources, grad)


@op(types=MOVED)
def sequence_expand_as(x: Dense | LoDTensor, y: LoDTensor, /, *, level: int = -1) -> LoDTensor:
    """Repeat the i-th row of ``x`` for every row of the i-th sequence of ``y``, in the structure of ``y``.

    sequence_expand_as of Paddle, at any depth: the reverse of ``sequence_pool``.

    Parameters
    ----------
    x : array of shape (sequences, *item), or LoDTensor
        For a LoDTensor, its rows are repeated, and its own structure is ignored.
    y : LoDTensor
        Gives its structure only.
    level : int
        The level of the sequences; the innermost by default.

    Returns
    -------
    LoDTensor
        One row per row of ``y``.

    Raises
    ------
    LoDMismatchError
        ``x`` does not have one row per sequence of that level of ``y``.

    Examples
    --------
    >>> y = LoDTensor(np.zeros(5), [[2, 1], [2, 0, 3]])
    >>> sequence_expand_as(np.array([1, 2, 3]), y).to_list()
    [[[1, 1], []], [[3, 3, 3]]]
    >>> sequence_expand_as(np.array([1, 2]), y, level=0).to_list()
    [[[1, 1], []], [[2, 2, 2]]]
    """
    return y.with_values(_repeat_segments(*prepare_expand_as(x, y, level)))


@sequence_expand_as.infer_rule
def _(x, y, *, level=-1):
    inferred_level(y, level)
    return rows_of(x, lod_level=y.lod_level)


@sequence_expand_as.gradient
def _(call, grad):
    y = call.inputs[1]
    return values_of(sequence_pool(y.with_values(values_of(grad)), pool="sum", **call.attrs)), None


@op(like="x", types=MOVED)
def sequence_reverse(x: LoDTensor, /, *, level: int = -1) -> LoDTensor:
    """Reverse the parts of every sequence of a level: rows in the innermost, whole sequences in an outer one.

    sequence_reverse of Paddle, which takes one level. The operator is its own gradient, and its own inverse.

    Parameters
    ----------
    x : LoDTensor
    level : int
        The level of the sequences; the innermost by default.

    Returns
    -------
    LoDTensor
        The lengths of the levels below an outer one are reversed with their sequences.

    Raises
    ------
    LoDLevelError
        x has no such level.

    Examples
    --------
    >>> x = LoDTensor([1, 2, 3, 4, 5, 6], [[2, 1], [3, 1, 2]])
    >>> sequence_reverse(x).to_list()
    [[[3, 2, 1], [4]], [[6, 5]]]
    >>> sequence_reverse(x, level=0).to_list()
    [[[4], [1, 2, 3]], [[5, 6]]]
    """
    check_values(x.dtype, "sequence_reverse")
    level = x._level(level)
    numbers = [i for a, b in pairwise(x.lod()[level]) for i in reversed(range(a, b))]
    return pick_parts(x, level + 1, numbers, x.recursive_sequence_lengths()[: level + 1])


@sequence_reverse.gradient(reads_outputs=True)
def _(call, grad):
    out = call.outputs[0]
    return sequence_reverse(out.with_values(values_of(grad)), **call.attrs).values


def _join_sequences(xs, level):
    whole = merge_examples([LoDTensor(x.values, lod=x.lod()[level:]) for x in xs])
    return LoDTensor(whole.values, [*xs[0].recursive_sequence_lengths()[:level], *whole.recursive_sequence_lengths()])


@op(types=MOVED)
def sequence_concat(*xs: LoDTensor, axis: int = 0, level: int = 0) -> LoDTensor:
    """Join the i-th sequences of all inputs, for every i.

    The operator corresponds to Paddle's sequence_concat. Paddle's first versions had ``axis`` and ``level``; later
    versions have neither.

    Parameters
    ----------
    *xs : LoDTensors
        All inputs have the same number of levels (``lod_level``), number of sequences, item shape and dtype.
    axis : int
        0 joins sequences. Another axis of the values joins the items of each row; all inputs must then have the same
        structure.
    level : int
        The level of the sequences, the outermost by default. Levels outside of this level must be the same in all
        inputs.

    Returns
    -------
    LoDTensor

    Raises
    ------
    LoDMismatchError, LoDLevelError, ShapeMismatchError, DTypeError
        An input does not fit the first input; the message names the input that does not fit.

    Examples
    --------
    >>> x, y = LoDTensor([1, 2, 3], [[2], [2, 1]]), LoDTensor([4, 5, 6], [[2], [0, 3]])
    >>> sequence_concat(x, y).to_list()
    [[[1, 2], [3], [], [4, 5, 6]]]
    >>> sequence_concat(x, y, level=1).to_list()
    [[[1, 2], [3, 4, 5, 6]]]
    """
    axis, level, _ = prepare_concat(xs, axis, level)
    return _concatenate_values(xs, axis, level)


def _concatenate_values(xs, axis, level):
    if not axis:
        return _join_sequences(xs, level)
    return xs[0].with_values(np.concatenate([x.values for x in xs], axis))


@sequence_concat.infer_rule
def _(*xs, axis=0, level=0):
    level, dims = inferred_level(xs[0], level), [*xs[0].dims]
    counts = [x.dims[axis] for x in xs]
    dims[axis] = -1 if min(counts) < 0 else sum(counts)
    kept = len(xs[0].sequences) if axis % len(dims) else level + 1
    joined = [sum(numbers) for numbers in zip(*(x.sequences for x in xs), strict=False)]
    return xs[0].but(dims=dims, sequences=(*xs[0].sequences[:kept], *joined[kept:]))


@op(like=("xs",), gradient_of=sequence_concat, types=FLOATING)
def sequence_concat_grad(grad: Dense, /, *xs: LoDTensor, axis: int = 0, level: int = 0) -> tuple:
    """Return the gradients of ``sequence_concat`` by the values of its inputs.

    >>> x, y = LoDTensor([1.0, 2.0], [[1, 1]]), LoDTensor([3.0], [[0, 1]])
    >>> sequence_concat_grad(np.array([10.0, 20.0, 30.0]), x, y)
    (array([10., 20.]), array([30.]))
    """
    axis, level, dtype = prepare_concat(xs, axis, level, "the gradient", floating=True)
    numbers, start = [], 0
    for x in xs:
        size = x.values.size
        numbers.append(x.with_values(np.arange(start, start + size).reshape(x.shape)))
        start += size
    sources = _concatenate_values(numbers, axis, level).values
    check_gradient(grad, sources.shape)
    total = np.zeros(start, dtype)
    total[sources.ravel()] = np.asarray(grad).ravel()
    ends = np.cumsum([x.values.size for x in xs])
    return tuple(part.reshape(x.shape) for part, x in zip(np.split(total, ends[:-1]), xs, strict=True))


def _example(dtype):
    return LoDTensor(np.ones((3, 4), dtype), [[1, 1], [2, 1]])


sequence_expand.example(lambda dtype: [((x, _example(dtype)), {}) for x in (np.ones((2, 4), dtype), _example(dtype))])
sequence_expand_as.example(lambda dtype: [((np.ones((2, 4), dtype), _example(dtype)), {})])
sequence_reverse.example(lambda dtype: [((_example(dtype),), {"level": level}) for level in (0, 1)])
sequence_concat.example(lambda dtype: [((_example(dtype), _example(dtype)), {"axis": axis}) for axis in (0, 1)])


takes_bfloat16(sequence_expand, sequence_expand_as, sequence_reverse, sequence_concat)
