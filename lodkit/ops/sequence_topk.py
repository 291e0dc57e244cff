"""The largest elements of each sequence: their values and indices, and averages of them."""

from __future__ import annotations

import typing

import numpy as np

from ..arrays import FLOATING, MAX_INT64, ORDERED, check_gradient, check_values, is_integer, native
from ..arrays.sizes import size_products
from ..base.errors import LoDMismatchError, RowIndexError, ShapeMismatchError
from ..lod import LoDTensor, values_of
from ..registry import Dense, op
from .shared import plain
from .shared.reductions import order_keys

DOCS_PAGE = "pool"
SEARCH_WORDS = {"sequence_topk": "topk, k largest, nlargest, best k", "sequence_topk_avg_pooling": "k-max pooling"}


def check_steps(values, k=1):
    """One number per step, and k."""
    check_values(values.dtype, "sequence_topk")
    if len(values.shape) != 1:
        raise ShapeMismatchError(
            f"sequence_topk: x has shape {tuple(values.shape)}, not one dimension; pass one column"
        )
    if k < 1:
        raise ValueError(f"sequence_topk: k must be at least 1, got {k}")


def prepare_grad(on, x, indices):
    """Check the inputs of the gradient but ``grad`` on any device. Returns the indices' numbers."""
    check_values(x.values.dtype, "the gradient", floating=True)
    check_steps(x.values)
    if len(indices._row_offsets()) != len(x._row_offsets()) or len(indices.shape) != 1:
        raise LoDMismatchError(
            f"sequence_topk_grad: indices of {len(indices._row_offsets()) - 1} sequences, of shape {indices.shape}, "
            f"for the {len(x._row_offsets()) - 1} sequences of x; pass the indices that sequence_topk returned"
        )
    return on.integers(indices.values, "indices")


def bad_index(x, indices, numbers, at):
    s = int(indices.segment_ids()[at])
    return RowIndexError(
        f"indices: {numbers[at]} at position {at} is outside [0, {x.lengths()[s]}), the steps of sequence {s}; "
        "pass the indices that sequence_topk returned"
    )


def top_positions(values, k):
    """Positions of the largest, NaN first, and of equal ones the first."""
    numbers = order_keys(values).tolist()
    nan = [n != n for n in numbers]
    return sorted(range(len(numbers)), key=lambda i: (not nan[i], 0 if nan[i] else -numbers[i], i))[:k]


@op(types=ORDERED)
def sequence_topk(x: LoDTensor, /, *, k: int) -> tuple[LoDTensor, LoDTensor]:
    """Return the k largest elements of each innermost sequence, in descending order, and their indices in it.

    A shorter sequence gives all of its elements; nothing is padded (``lengths_top_k`` pads). NaN and NaT count as
    larger than every number, as in max; of equal values the first comes first. Levels above stay.

    Parameters
    ----------
    x : LoDTensor
        One number per step: shape ``(rows,)``.
    k : int
        At least 1.

    Returns
    -------
    values : LoDTensor
        Sequences of ``min(k, length)``.
    indices : LoDTensor of int64
        Counted from 0 within each sequence.

    Raises
    ------
    ShapeMismatchError
        x has items.
    ValueError
        k is less than 1.

    Examples
    --------
    >>> values, indices = sequence_topk(LoDTensor(np.array([1., 3., 2., 3., 5.]), [[4, 0, 1]]), k=2)
    >>> values.to_list(), indices.to_list()
    ([[3.0, 3.0], [], [5.0]], [[1, 3], [], [0]])
    """
    check_steps(x.values, k)
    offsets = x._row_offsets().tolist()
    best = [top_positions(x.values[a:b], k) for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    rows = [offsets[s] + i for s, chosen in enumerate(best) for i in chosen]
    lengths = [*x.recursive_sequence_lengths()[:-1], [len(chosen) for chosen in best]]
    values = x.values[np.array(rows, np.int64)].astype(native(x.dtype))
    indices = np.array([i for chosen in best for i in chosen], np.int64)
    return LoDTensor(values, lengths), LoDTensor(indices, lengths)


@sequence_topk.infer_rule
def _(x, *, k):
    values = x.but(dims=(-1, *x.dims[1:]))
    return values, values.but(dtype=np.dtype(np.int64))


@sequence_topk.gradient(reads_outputs=True)
def _(call, grad, _):
    return None if grad is None else sequence_topk_grad(call.inputs[0], call.outputs[1], values_of(grad))


@op(like="x", types=FLOATING)
def sequence_topk_grad(x: LoDTensor, indices: LoDTensor, grad: Dense, /) -> Dense:
    """Return the gradient of ``sequence_topk`` by its input: zero except at the largest elements.

    >>> x, indices = LoDTensor(np.zeros(4), [[3, 1]]), LoDTensor([2, 0, 0], [[2, 1]])
    >>> sequence_topk_grad(x, indices, np.array([1., 2., 3.]))
    array([2., 0., 1., 3.])
    """
    numbers, sequence = prepare_grad(plain, x, indices), indices.segment_ids()
    for at in np.flatnonzero((numbers < 0) | (numbers >= x.lengths()[sequence])):
        raise bad_index(x, indices, numbers, at)
    result = np.zeros(len(x.values), native(x.dtype))
    result[x._row_offsets()[sequence] + numbers] = check_gradient(grad, numbers.shape)
    return result


def check_topks(topks, channels):
    """Numbers of elements to average, ascending."""
    found = tuple(topks) if np.iterable(topks) else ()
    if not found or any(not is_integer(k) or not 1 <= k <= MAX_INT64 for k in found) or list(found) != sorted(found):
        raise ValueError(f"sequence_topk_avg_pooling: topks must be ascending integers of at least 1, got {topks!r}")
    if channels < 1:
        raise ValueError(f"sequence_topk_avg_pooling: channel_num must be at least 1, got {channels}")
    return np.array(found, np.int64)


def prepare_matrices(x, row, column, topks, channels):
    """Check the inputs of sequence_topk_avg_pooling. Returns topks, and the shape of the result's values."""
    topks, values = check_topks(topks, channels), x.values
    check_values(values.dtype, "sequence_topk_avg_pooling")
    if values.size != len(values):
        raise ShapeMismatchError(f"sequence_topk_avg_pooling: x has shape {tuple(values.shape)}; it must be one column")
    rows, columns = row.lengths(-1), column.lengths(-1)
    if len(rows) != len(columns):
        raise LoDMismatchError(
            f"sequence_topk_avg_pooling: row has {len(rows)} sequences, column {len(columns)}; a matrix has one of each"
        )
    what = "channel_num * rows * columns"
    lengths, needed = x.lengths(-1), size_products(size_products(rows, columns, what), channels, what)
    if len(lengths) != len(needed) or (lengths != needed).any():
        s = int(np.argmax(lengths != needed)) if len(lengths) == len(needed) else None
        what = f"{len(lengths)} sequences for {len(needed)}" if s is None else f"{lengths[s]} rows in sequence {s}"
        raise LoDMismatchError(
            f"sequence_topk_avg_pooling: x has {what}; each has channel_num * rows * columns, here "
            f"{channels} * {rows.tolist()[:8]} * {columns.tolist()[:8]}"
        )
    return topks, (len(row.values), channels * len(topks))


def _largest(x, row, column, k, channels):
    """For each row and channel: both, and the positions of the largest elements in x."""
    for s, start in enumerate(x._row_offsets()[:-1]):
        rows, columns = row.lengths()[s], column.lengths()[s]
        for c in range(channels):
            for r in range(rows):
                first = start + (c * rows + r) * columns
                numbers = x.values.reshape(-1)[first : first + columns]
                yield row._row_offsets()[s] + r, c, [first + i for i in top_positions(numbers, k)]


@op(types=FLOATING)
def sequence_topk_avg_pooling(
    x: LoDTensor, row: LoDTensor, column: LoDTensor, /, *, topks: typing.Any, channel_num: int
) -> LoDTensor:
    """Average the largest elements of each row of matrices that two sequences span, for text matching.

    sequence_topk_avg_pooling of Paddle. Sequence i of x is ``channel_num`` matrices, one after another. A matrix has a
    row per row of the i-th innermost sequence of ``row``, and a column per row of the i-th of ``column``. NaN counts as
    larger than every number.

    Parameters
    ----------
    x : LoDTensor
        Shape ``(elements,)`` or ``(elements, 1)``.
    row, column : LoDTensor
        Only their structure is read.
    topks : ascending ints
        Numbers of largest elements to average. If a matrix has fewer columns, their sum is still divided by this.
    channel_num : int

    Returns
    -------
    LoDTensor
        Rows ``(channel_num * len(topks),)``, the numbers of a channel side by side, in the structure of ``row``; 0
        without columns.

    Raises
    ------
    LoDMismatchError
        A sequence of x has not as many numbers as its matrices.
    ValueError
        ``topks`` are none, not ascending, or less than 1.

    Examples
    --------
    >>> row, column = LoDTensor(np.zeros(2), [[2]]), LoDTensor(np.zeros(3), [[3]])
    >>> x = LoDTensor(np.array([5., 1., 3., 2., 8., 6.]), [[6]])
    >>> sequence_topk_avg_pooling(x, row, column, topks=[1, 2], channel_num=1).values
    array([[5., 4.],
           [8., 7.]])
    """
    topks, shape = prepare_matrices(x, row, column, topks, channel_num)
    out, flat = np.zeros((len(row.values), channel_num, len(topks))), x.values.reshape(-1).astype(np.float64)
    for r, c, best in _largest(x, row, column, topks[-1], channel_num):
        out[r, c] = [flat[best[:k]].sum() / k for k in topks]
    return row.with_values(out.reshape(shape).astype(native(x.dtype)))


@sequence_topk_avg_pooling.infer_rule
def _(x, row, column, *, topks, channel_num):
    columns = channel_num * len(check_topks(topks, channel_num))
    return x.but(dims=(row.dims[0], columns), lod_level=row.lod_level)


@op(like="x", gradient_of=sequence_topk_avg_pooling, types=FLOATING)
def sequence_topk_avg_pooling_grad(
    x: LoDTensor, row: LoDTensor, column: LoDTensor, grad: Dense, /, *, topks: typing.Any, channel_num: int
) -> Dense:
    """Return the gradient of ``sequence_topk_avg_pooling`` by ``x``: shares for the largest elements.

    >>> row, column = LoDTensor(np.zeros(1), [[1]]), LoDTensor(np.zeros(3), [[3]])
    >>> x = LoDTensor(np.array([5., 1., 3.]), [[3]])
    >>> sequence_topk_avg_pooling_grad(x, row, column, np.array([[1., 4.]]), topks=[1, 2], channel_num=1)
    array([3., 0., 2.])
    """
    topks, shape = prepare_matrices(x, row, column, topks, channel_num)
    g = check_gradient(grad, shape).reshape(len(grad), channel_num, len(topks)).astype(np.float64)
    result = np.zeros(len(x.values))
    for r, c, best in _largest(x, row, column, topks[-1], channel_num):
        for rank, at in enumerate(best):
            result[at] = (g[r, c] / topks)[topks > rank].sum()
    return result.reshape(x.values.shape).astype(native(x.dtype))


sequence_topk.example(lambda dtype: [((LoDTensor(np.ones(3, dtype), [[2, 1]]),), {"k": 2})])


sequence_topk_avg_pooling.example(
    lambda dtype: [([LoDTensor(np.ones(n, dtype), [[n]]) for n in (2, 1, 2)], {"topks": [1], "channel_num": 1})]
)
