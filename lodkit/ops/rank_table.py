"""Sequences from the longest to the shortest, as recurrences take them (Paddle's lod_rank_table and its kin)."""

from __future__ import annotations

import numpy as np

from ..arrays import FLOATING, INTEGERS, MOVED, check_gradient, check_rows, check_values, native
from ..base.errors import LoDMismatchError
from ..lod import LoDTensor, RankTable, values_of
from ..registry import Dense, VarDesc, VarType, inferred_level, op, takes_bfloat16
from .lod_levels import example_batch
from .shared.sequences import is_ragged, pick_parts

DOCS_PAGE = "recur"
SEARCH_WORDS = {
    "lod_rank_table": "sort by length, sorted_indices, enforce_sorted",
    "max_sequence_len": "longest sequence",
    "reorder_lod_tensor_by_rank": "order by length",
    "shrink_rnn_memory": "batch_sizes",
}


def check_ranked(x, table):
    """Check that ``x`` has a row, or an outermost sequence, for each sequence of the table."""
    values = check_rows(values_of(x), "x")
    check_values(values.dtype, "reorder_lod_tensor_by_rank")
    count, what = (len(x), "sequences") if is_ragged(x) else (values.shape[0], "rows")
    if count != len(table):
        raise LoDMismatchError(
            f"reorder_lod_tensor_by_rank: x has {count} {what}, the table {len(table)} sequences; pass one for each"
        )


def check_running(x, table, step, what="shrink_rnn_memory", floating=False):
    """Check the inputs. Returns how many rows, or outermost sequences, of ``x`` are kept, and the rows of these."""
    values = check_rows(values_of(x), "x")
    check_values(values.dtype, what, floating=floating)
    if step < 0:
        raise ValueError(f"shrink_rnn_memory: step must be at least 0, got {step}")
    kept = table._running.item(step) if step < len(table._running) else 0
    count, named = (len(x), "sequences") if is_ragged(x) else (values.shape[0], "rows")
    if not kept <= count <= len(table):
        raise LoDMismatchError(
            f"shrink_rnn_memory: x has {count} {named}; {kept} of the {len(table)} sequences of the table run at step "
            f"{step}: pass at least those, in order of rank"
        )
    return kept, x._row_offsets(0).item(kept) if is_ragged(x) else kept


@op(types=MOVED)
def lod_rank_table(x: LoDTensor, /, *, level: int = 0) -> RankTable:
    """Sort the sequences of a level by length, the longest first, equal lengths in order. lod_rank_table of Paddle.

    Parameters
    ----------
    x : LoDTensor
        Gives its structure only.
    level : int
        The level of the sequences, all over the batch: 0 for the outermost, -1 for the innermost.

    Returns
    -------
    RankTable
        With the levels above, for ``array_to_lod_tensor``.

    >>> lod_rank_table(LoDTensor(np.zeros(6), [[2, 1, 3]]))
    RankTable([(2, 3), (0, 2), (1, 1)], level=0)
    """
    level = x._level(level)
    lengths = x.lengths(level).tolist()
    index = sorted(range(len(lengths)), key=lambda s: -lengths[s])
    running = [sum(length > t for length in lengths) for t in range(max(lengths, default=0))]
    return RankTable._wrap(x._lod[: level + 1], np.array(index, np.int64), np.array(running, np.int64))


@lod_rank_table.infer_rule
def _(x, *, level=0):
    level = inferred_level(x, level)
    return x.but(type=VarType.LOD_RANK_TABLE, dtype=np.dtype(np.int64), dims=(-1, 2), lod_level=level)


@op(types=INTEGERS)
def max_sequence_len(table: RankTable, /) -> Dense:
    """Return the length of the longest sequence of a table: the number of time steps. max_sequence_len of Paddle.

    Returns
    -------
    int64 array of shape (1,)
        0 without sequences, which Paddle leaves undefined.

    >>> max_sequence_len(lod_rank_table(LoDTensor(np.zeros(6), [[2, 1, 3]])))
    array([3])
    """
    return np.array([max(table.length, default=0)])


@max_sequence_len.infer_rule
def _(table):
    return VarDesc("", VarType.LOD_TENSOR, np.dtype(np.int64), (1,))


@op(types=MOVED)
def reorder_lod_tensor_by_rank(
    x: Dense | LoDTensor, table: RankTable, /, *, inverse: bool = False
) -> Dense | LoDTensor:
    """Put rows, or outermost sequences, in the order of a table. reorder_lod_tensor_by_rank of Paddle.

    Right for empty sequences, at which Paddle raises.

    Parameters
    ----------
    x : array or LoDTensor
        A row, or an outermost sequence, for each sequence of the table.
    table : RankTable
        The table may come from another LoDTensor.
    inverse : bool
        Put what is in order of rank back.

    Returns
    -------
    like x

    Raises
    ------
    LoDMismatchError
        ``x`` has not as many.

    >>> table = lod_rank_table(LoDTensor(np.zeros(6), [[2, 1, 3]]))
    >>> reorder_lod_tensor_by_rank(np.array([10, 20, 30]), table)
    array([30, 10, 20])
    >>> reorder_lod_tensor_by_rank(LoDTensor([1, 2, 3], [[0, 1, 2]]), table).to_list()
    [[2, 3], [], [1]]
    """
    check_ranked(x, table)
    order = table.index.tolist()
    if inverse:
        order = [order.index(s) for s in range(len(order))]
    if is_ragged(x):
        return pick_parts(x, 0, order, [])
    values = values_of(x)
    return values[np.array(order, np.int64)].astype(native(values.dtype))


@reorder_lod_tensor_by_rank.infer_rule
def _(x, table, *, inverse=False):
    return x


@reorder_lod_tensor_by_rank.gradient(reads_outputs=True)
def _(call, grad):
    (_, table), (out,) = call.inputs, call.outputs
    grad = out.with_values(values_of(grad)) if is_ragged(out) else values_of(grad)
    return values_of(reorder_lod_tensor_by_rank(grad, table, inverse=not call.attrs["inverse"])), None


@op(types=MOVED)
def shrink_rnn_memory(x: Dense | LoDTensor, table: RankTable, /, *, step: int) -> Dense | LoDTensor:
    """Keep the rows, or outermost sequences, that run at a time step. shrink_rnn_memory of Paddle.

    Parameters
    ----------
    x : array or LoDTensor
        In order of rank; rows of sequences that ended earlier may be missing.
    table : RankTable
    step : int
        From 0. After the last step no sequence runs (Paddle's result is undefined there).

    Returns
    -------
    like x

    Raises
    ------
    LoDMismatchError
        ``x`` has fewer rows than run at this step, or more than there are sequences.

    >>> table = lod_rank_table(LoDTensor(np.zeros(6), [[2, 1, 3]]))
    >>> shrink_rnn_memory(np.array([30, 10, 20]), table, step=1)
    array([30, 10])
    """
    _, rows = check_running(x, table, step)
    kept = sum(length > step for length in table.length)
    if not is_ragged(x):
        return values_of(x)[:rows].copy()
    return x[:kept]


@shrink_rnn_memory.infer_rule
def _(x, table, *, step):
    return x.but(dims=(-1, *x.dims[1:]))


@op(like="x", gradient_of=shrink_rnn_memory, types=FLOATING)
def shrink_rnn_memory_grad(x: Dense | LoDTensor, table: RankTable, grad: Dense, /, *, step: int) -> Dense:
    """Return the gradient of ``shrink_rnn_memory`` by ``x``: zeros for sequences that had ended.

    >>> table = lod_rank_table(LoDTensor(np.zeros(6), [[2, 1, 3]]))
    >>> shrink_rnn_memory_grad(np.zeros(3), table, np.array([5.0, 7.0]), step=1)
    array([5., 7., 0.])
    """
    _, rows = check_running(x, table, step, "the gradient", floating=True)
    values = values_of(x)
    check_gradient(grad, (rows, *values.shape[1:]))
    return np.concatenate([grad, np.zeros(values[rows:].shape)]).astype(native(values.dtype))


def _example(dtype):
    x = example_batch(dtype)
    return x, lod_rank_table.definition(x), np.ones((len(x), 4), dtype)


lod_rank_table.example(lambda dtype: [((example_batch(dtype),), {})])
max_sequence_len.example(lambda dtype: [((_example(dtype)[1],), {})])


@reorder_lod_tensor_by_rank.example
def _(dtype):
    x, table, rows = _example(dtype)
    return [((x, table), {}), ((rows, table), {})]


@shrink_rnn_memory.example
def _(dtype):
    _, table, rows = _example(dtype)
    return [((rows, table), {"step": 1})]


takes_bfloat16(lod_rank_table, reorder_lod_tensor_by_rank, shrink_rnn_memory)
