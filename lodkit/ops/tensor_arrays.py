"""Arrays of tensors, one per time step (Paddle's LoDTensorArray): a batch taken apart by steps and put together again.

Such an array is a tuple, or a list, of arrays or of LoDTensors: one kind, lod_level, dtype and shape of items.
"""

from __future__ import annotations

import numpy as np

from ..arrays import MOVED, check_rows, check_values, native, zeros_like
from ..base.errors import LoDLevelError, LoDMismatchError, RowIndexError
from ..lod import LoDTensor, RankTable, values_of
from ..registry import Dense, VarDesc, VarType, array_desc, keeps_bfloat16, op, takes_bfloat16
from .lod_levels import example_batch, levels_of
from .rank_table import lod_rank_table
from .shared.features import check_items
from .shared.sequences import pick_parts

DOCS_PAGE = "recur"
SEARCH_WORDS = {
    "lod_tensor_to_array": "TensorArray, time steps, unstack, unbind",
    "array_to_lod_tensor": "stack time steps",
}

# A write at an index that adds more elements is a mistake.
MOST_FILLED = 1 << 16


def prepare_steps(x, table):
    """Check that ``x`` has the sequences that the table ranks."""
    check_values(x.values.dtype, "lod_tensor_to_array")
    if x.lod_level <= table.level:
        raise LoDLevelError(
            f"lod_tensor_to_array: x has lod_level {x.lod_level}, the table ranks the sequences of level {table.level}"
        )
    for level, (found, ranked) in enumerate(zip(x._lod, table._lod, strict=False)):
        if found is not ranked and not np.array_equal(found, ranked):
            raise LoDMismatchError(
                f"lod_tensor_to_array: level {level} of x has offsets {_format_offsets(found)}, the table's level "
                f"{_format_offsets(ranked)}; rank x itself, or a LoDTensor with its lengths"
            )


def _format_offsets(offsets):
    shown = ", ".join(map(str, offsets[:8].tolist()))
    return f"[{shown}, ... {len(offsets)} in all]" if len(offsets) > 8 else f"[{shown}]"


def prepare_array(table, array):
    """Check that an array has an element for each time step, with a row or a sequence for each that runs."""
    name, counts = "array_to_lod_tensor", table.counts
    if len(array) != len(counts):
        said = "" if len(table._running) else ": one without rows, where no sequence has any"
        raise LoDMismatchError(f"{name}: the array has {len(array)} elements, the table {len(counts)} time steps{said}")
    check_items(name, [check_rows(values_of(x), f"array[{t}]") for t, x in enumerate(array)])
    depth = len(levels_of(array[0]))
    for t, (x, needed) in enumerate(zip(array, counts, strict=True)):
        levels = levels_of(x)
        if len(levels) != depth:
            raise LoDLevelError(f"{name}: element {t} has lod_level {len(levels)}, element 0 {depth}")
        count = len(levels[0]) - 1 if levels else x.shape[0]
        if count != needed:
            what = "sequences" if levels else "rows"
            raise LoDMismatchError(f"{name}: element {t} has {count} {what}, but {needed} sequences run at step {t}")


def write_element(array, index, fill):
    """The array behind its first element, with that element at an index; up to it there are empty ones to ``fill``."""
    x, *elements = array
    if not fill or index < 0:
        _check_index("write_to_array", elements, index, len(elements) + 1)
    elif index > MOST_FILLED + len(elements):
        raise RowIndexError(
            f"write_to_array: index {index} is outside [0, {MOST_FILLED + len(elements) + 1}): the array has "
            f"{len(elements)} elements, and at most {MOST_FILLED} are filled in"
        )
    if index > len(elements):
        check_rows(values_of(x), "the tensor")
        elements += [x[:0] for _ in range(index - len(elements))]
    elements[index : index + 1] = [x]
    return tuple(elements)


def element(array, index):
    _check_index("read_from_array", array, index, len(array))
    return array[index]


def _check_index(name, array, index, bound):
    if not 0 <= index < bound:
        raise RowIndexError(f"{name}: index {index} is outside [0, {bound}); the array has {len(array)} elements")


def _parts(table, reverse):
    """Step by step, the numbers of the parts that run: the definition's, slow and plain."""
    offsets = table._lod[-1].tolist()
    for t in range(max(1, len(table._running))):
        running = [s for s, length in table.items if length > t]
        yield [offsets[s + 1] - 1 - t if reverse else offsets[s] + t for s in running]


@op(types=MOVED)
def lod_tensor_to_array(x: LoDTensor, table: RankTable, /, *, reverse: bool = False) -> tuple:
    """Take a batch apart by time steps: element t has part t of every sequence that is longer, in order of rank.

    lod_tensor_to_array of Paddle. One copy of the rows; the elements are views of it.

    Parameters
    ----------
    x : LoDTensor
    table : RankTable
        A table of the lengths of ``x``; its level is split into steps.
    reverse : bool
        Step t takes the t-th part from the end of each sequence.

    Returns
    -------
    tuple of arrays, or of LoDTensors
        An element per time step: arrays ``(running, *item)`` if the table ranks the innermost level, else the running
        sequences' t-th sub-sequences. Empty sequences are in none. Where all are empty, one element without rows.

    Raises
    ------
    LoDMismatchError
        ``x`` has other lengths than the table, down to its level.

    >>> x = LoDTensor([1, 2, 3, 4, 5, 6], [[2, 1, 3]])
    >>> lod_tensor_to_array(x, lod_rank_table(x))
    (array([4, 1, 3]), array([5, 2]), array([6]))
    >>> x = LoDTensor([1, 2, 3, 4, 5, 6], [[2, 1], [1, 2, 3]])
    >>> [element.to_list() for element in lod_tensor_to_array(x, lod_rank_table(x))]
    [[[1], [4, 5, 6]], [[2, 3]]]
    """
    prepare_steps(x, table)
    depth, found = table.level + 1, _parts(table, reverse)
    if depth < x.lod_level:
        return tuple(pick_parts(x, depth, numbers, []) for numbers in found)
    return tuple(x.values[np.array(numbers, np.int64)].astype(native(x.dtype)) for numbers in found)


@lod_tensor_to_array.infer_rule
def _(x, table, *, reverse=False):
    level = x.lod_level - table.lod_level - 1
    if level < 0:
        raise LoDLevelError(
            f"lod_tensor_to_array: x has lod_level {x.lod_level}, the table ranks sequences of level {table.lod_level}"
        )
    return x.but(type=VarType.LOD_TENSOR_ARRAY, dims=(-1, *x.dims[1:]), lod_level=level)


@lod_tensor_to_array.gradient(reads_outputs=True)
def _(call, *grads):
    array = [_like(out, grad) for out, grad in zip(call.outputs, grads, strict=True)]
    return array_to_lod_tensor(call.inputs[1], *array, **call.attrs).values, None


def _like(out, grad):
    """A gradient with the structure of a result; zeros for None."""
    if grad is None:
        grad = zeros_like(values_of(out))
    return out.with_values(values_of(grad)) if isinstance(out, LoDTensor) else grad


@op(types={"array": MOVED})
def array_to_lod_tensor(table: RankTable, /, *array: Dense | LoDTensor, reverse: bool = False) -> LoDTensor:
    """Put time steps together again, sequence by sequence in their first order. array_to_lod_tensor of Paddle.

    Parameters
    ----------
    table : RankTable
    *array : arrays or LoDTensors
        As ``lod_tensor_to_array`` gives them: an element a time step, with a row, or a sequence, for each that runs.
    reverse : bool
        Step t is the t-th from the end of each sequence.

    Returns
    -------
    LoDTensor
        With the levels that the table was made of, down to its level, and below them the levels of the elements.

    Raises
    ------
    LoDMismatchError, LoDLevelError, ShapeMismatchError, DTypeError
        The elements do not fit the table, or each other; the message names the first.

    >>> x = LoDTensor([1, 2, 3, 4, 5, 6], [[2, 0, 1, 3]])
    >>> table = lod_rank_table(x)
    >>> array_to_lod_tensor(table, *lod_tensor_to_array(x, table)).equals(x)
    True
    """
    prepare_array(table, array)
    parts: dict[int, LoDTensor] = {}
    for element, numbers in zip(array, _parts(table, reverse), strict=True):
        rows = element if levels_of(element) else LoDTensor(values_of(element), [[1] * len(numbers)])
        parts.update((number, rows[r : r + 1]) for r, number in enumerate(numbers))
    joined = _join_parts([parts[number] for number in sorted(parts)], rows)
    above = [np.diff(offsets) for offsets in table._lod]
    below = joined.recursive_sequence_lengths()[0 if levels_of(array[0]) else 1 :]
    return LoDTensor(joined.values, [*above, *below])


def _join_parts(parts, empty):
    values = np.concatenate([empty.values[:0], *(part.values for part in parts)])
    lengths = [np.concatenate([[], *(part.lengths(k) for part in parts)]) for k in range(empty.lod_level)]
    return LoDTensor(values.astype(native(empty.dtype)), [level.astype(np.int64) for level in lengths])


@array_to_lod_tensor.infer_rule
def _(table, *array, reverse=False):
    x = array_desc(array)
    return x.but(type=VarType.LOD_TENSOR, dims=(-1, *x.dims[1:]), lod_level=table.lod_level + 1 + x.lod_level)


@array_to_lod_tensor.gradient(reads_outputs=True)
def _(call, grad):
    x = call.outputs[0].with_values(values_of(grad))
    return None, *map(values_of, lod_tensor_to_array(x, call.inputs[0], **call.attrs))


@op(types=MOVED)
def write_to_array(*array: Dense | LoDTensor, index: int, fill: bool = False) -> tuple:
    """Put a tensor, the first input, into the array that follows it. write_to_array of Paddle.

    Parameters
    ----------
    *array : arrays or LoDTensors
        The tensor to put there, and the elements so far.
    index : int
        The element that it becomes, or their number, to append it.
    fill : bool
        An index past their number is allowed too: elements without rows fill the gap.

    Returns
    -------
    tuple
        The elements themselves: nothing is copied.

    Raises
    ------
    RowIndexError
        ``index`` is past the end, without ``fill``; Paddle adds undefined elements.

    >>> write_to_array(np.array([9]), np.array([1]), np.array([2, 3]), index=1)
    (array([1]), array([9]))
    """
    return write_element(array, index, fill)


@write_to_array.infer_rule
def _(*array, index, fill=False):
    return array_desc(array)


@op(types=MOVED)
def read_from_array(*array: Dense | LoDTensor, index: int) -> Dense | LoDTensor:
    """Return an element of an array, not copied. read_from_array of Paddle.

    Parameters
    ----------
    *array : arrays or LoDTensors
        The elements of the array.
    index : int
        Position of the element, from 0.

    Returns
    -------
    array or LoDTensor
        The element itself.

    Raises
    ------
    RowIndexError
        There is no such element; negative numbers do not count from the end.

    >>> read_from_array(np.array([1]), np.array([2, 3]), index=1)
    array([2, 3])
    """
    return element(array, index)


@read_from_array.infer_rule
def _(*array, index):
    return array_desc(array).but(type=VarType.LOD_TENSOR)


@op(types=MOVED)
def lod_array_length(*array: Dense | LoDTensor) -> Dense:
    """Return the number of elements of an array. lod_array_length of Paddle.

    Parameters
    ----------
    *array : arrays or LoDTensors
        The elements of the array.

    Returns
    -------
    int64 array of shape (1,)

    >>> lod_array_length(np.array([1]), np.array([2, 3]))
    array([2])
    """
    return np.array([len(array)])


@lod_array_length.infer_rule
def _(*array):
    return VarDesc("", VarType.LOD_TENSOR, np.dtype(np.int64), (1,))


def _example(dtype):
    """A batch, its table, and its time steps: rows of the innermost level, or sequences of the one above."""
    x = example_batch(dtype)
    for batch in (x, LoDTensor(x.values, [[2, len(x) - 2], x.lengths(0)])):
        table = lod_rank_table.definition(batch)
        yield batch, table, lod_tensor_to_array.definition(batch, table)


lod_tensor_to_array.example(lambda dtype: [((x, table), {}) for x, table, _ in _example(dtype)])
array_to_lod_tensor.example(lambda dtype: [((table, *array), {}) for _, table, array in _example(dtype)])
for _operator in (write_to_array, read_from_array):
    _operator.example(lambda dtype: [(next(_example(dtype))[2], {"index": 0})])
lod_array_length.example(lambda dtype: [(next(_example(dtype))[2], {})])


takes_bfloat16(lod_tensor_to_array, array_to_lod_tensor, write_to_array, read_from_array, lod_array_length)
keeps_bfloat16(write_to_array, read_from_array)
