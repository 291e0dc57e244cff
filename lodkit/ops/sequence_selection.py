"""Select parts of sequences: by ranges (Paddle's sequence_slice), by their numbers, in the order of keys."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np

from ..arrays import FLOATING, MOVED, check_values
from ..lod import LoDTensor
from ..registry import Dense, inferred_level, op, takes_bfloat16
from .shared import sequences as shared
from .shared.features import rows_of

DOCS_PAGE = "rearrange"
SEARCH_WORDS = {
    "sequence_select": "take per sequence, local indices",
    "sequence_slice": "slice, truncate, trim, first k, head, last k, crop, cut to max length",
    "sequence_sort": "sort, argsort, order, sort_values",
}

By = Literal["stops", "lengths"]


def _slice_sequences(x, starts, stops, by, wrap, clip, level):
    level = x._level(level)
    starts, stops, ranges = shared.check_slices(x, starts, stops, level)
    bounds, above = x.lod()[level], x.recursive_sequence_lengths()[:level]
    if ranges is not None:
        above.append(np.diff(ranges).tolist())
    sequences = np.arange(len(bounds) - 1)
    sequences = sequences if ranges is None else np.repeat(sequences, np.diff(ranges))
    numbers, lengths = [], []
    for k, i in enumerate(map(int, sequences)):
        start, stop = (None if given is None else int(given[k]) for given in (starts, stops))
        first, last = shared.range_of(i, bounds[i + 1] - bounds[i], start, stop, by, wrap, clip)
        numbers += range(bounds[i] + first, bounds[i] + last)
        lengths.append(last - first)
    return shared.pick_parts(x, level + 1, numbers, [*above, lengths])


@op(types=MOVED)
def sequence_slice(
    x: LoDTensor,
    starts: Dense | LoDTensor | None = None,
    stops: Dense | LoDTensor | None = None,
    /,
    *,
    by: By = "stops",
    wrap: bool = True,
    clip: bool = False,
    level: int = -1,
) -> LoDTensor:
    """Take one range, or several ranges, from every sequence: ``sequence[start:stop]``.

    Paddle's sequence_slice corresponds to ``by="lengths", wrap=False``: offsets and lengths, without negative numbers.

    Parameters
    ----------
    x : LoDTensor
    starts, stops : arrays of int32 or int64, numbers, or LoDTensors, optional
        One number per sequence, or one for all sequences. For several ranges per sequence, pass LoDTensors of one
        level, with any number of ranges for each sequence. Ranges may be in any order and may overlap. By default a
        range starts at the first part of its sequence, and ends after the last.
    by : {"stops", "lengths"}
        Meaning of ``stops``: the end of a range, or its length.
    wrap : bool
        Count negative numbers from the end of their sequence, as NumPy does; otherwise they are out of range.
    clip : bool
        Clip ranges to their sequence, as NumPy's slices do.
    level : int
        The level of the sequences; the innermost by default. Ranges of an outer level select whole sequences.

    Returns
    -------
    LoDTensor
        If starts or stops are LoDTensors, the result has one more level, and each range is a sequence.

    Raises
    ------
    RowIndexError
        ``clip`` is False, and a range is not inside its sequence, or its stop is before its start.
    LoDError
        A length is negative.
    ShapeMismatchError
        Starts or stops are not one number, or one per sequence.
    LoDLevelError
        x has no such level.

    Examples
    --------
    >>> x = LoDTensor([1, 2, 3, 4, 5, 6], [[3, 1, 2]])
    >>> sequence_slice(x, [0, 0, 1], [2, 0, 1], by="lengths").to_list()
    [[1, 2], [], [6]]
    >>> sequence_slice(x, -1).to_list()
    [[3], [4], [6]]
    >>> sequence_slice(x, LoDTensor([0, 1, 0], [[2, 0, 1]]), 2).to_list()
    [[[1, 2], [2]], [], [[5, 6]]]
    """
    check_values(x.dtype, "sequence_slice")
    return _slice_sequences(x, starts, stops, by, wrap, clip, level)


@sequence_slice.infer_rule
def _(x, starts=None, stops=None, *, by="stops", wrap=True, clip=False, level=-1):
    inferred_level(x, level)
    several = any(given is not None and given.lod_level for given in (starts, stops))
    return rows_of(x, lod_level=x.lod_level + several)


@op(like="x", gradient_of=sequence_slice, types=FLOATING)
def sequence_slice_grad(
    x: LoDTensor,
    grad: Dense,
    starts: Dense | LoDTensor | None = None,
    stops: Dense | LoDTensor | None = None,
    /,
    *,
    by: By = "stops",
    wrap: bool = True,
    clip: bool = False,
    level: int = -1,
) -> Dense:
    """Return the gradient of ``sequence_slice`` by ``x``: 0 outside of ranges; the sum where ranges overlap.

    >>> sequence_slice_grad(LoDTensor([1.0, 2.0, 3.0], [[3]]), np.array([5.0]), [1], [2])
    array([0., 5., 0.])
    """
    sources = _slice_sequences(shared.number_rows(x), starts, stops, by, wrap, clip, level).values
    return shared.add_to_sources(x, sources, grad)


def _select_sequences(x, selected, level):
    level = x._level(level)
    numbers, offsets = shared.check_selected(x, selected, level)
    bounds, chosen = x.lod()[level], []
    for parent, (a, b) in enumerate(pairwise(offsets.tolist())):
        count = bounds[parent + 1] - bounds[parent]
        for position, number in enumerate(numbers[a:b].tolist()):
            if not 0 <= number < count:
                raise shared.unselectable(number, parent, position, count, level)
            chosen.append(bounds[parent] + number)
    above = x.recursive_sequence_lengths()[:level]
    return shared.pick_parts(x, level + 1, chosen, [*above, np.diff(offsets).tolist()])


@op(types=MOVED)
def sequence_select(x: LoDTensor, selected: LoDTensor, /, *, level: int = 0) -> LoDTensor:
    """Take parts of every sequence by their numbers: some sentences of an article, in the order given.

    The operator corresponds to SubNestedSequenceLayer of Paddle's v2 API.

    Parameters
    ----------
    x : LoDTensor
    selected : LoDTensor of int32 or int64
        Indices, from 0, of the parts to take from each sequence of ``x``: one innermost sequence of indices per
        sequence of ``x``. Indices may be in any order, and may repeat.
    level : int
        The level from whose sequences parts are taken; the outermost by default. The parts of an innermost sequence are
        rows.

    Returns
    -------
    LoDTensor
        With as many levels as x.

    Raises
    ------
    RowIndexError
        A number is outside its sequence; the message gives the sequence, the position and the bound.

    Examples
    --------
    >>> x = LoDTensor([1, 2, 3, 4, 5, 6], [[2, 1], [3, 1, 2]])
    >>> sequence_select(x, LoDTensor([1, 0, 0], [[2, 1]])).to_list()
    [[[4], [1, 2, 3]], [[5, 6]]]
    >>> sequence_select(x, LoDTensor([2, 0], [[1, 0, 1]]), level=-1).to_list()
    [[[3], []], [[5]]]
    """
    check_values(x.dtype, "sequence_select")
    return _select_sequences(x, selected, level)


@sequence_select.infer_rule
def _(x, selected, *, level=0):
    inferred_level(x, level)
    return rows_of(x, lod_level=x.lod_level)


@op(like="x", gradient_of=sequence_select, types=FLOATING)
def sequence_select_grad(x: LoDTensor, selected: LoDTensor, grad: Dense, /, *, level: int = 0) -> Dense:
    """Return the gradient of ``sequence_select`` by ``x``: the sum over all copies of each part.

    >>> x = LoDTensor([1.0, 2.0, 3.0], [[3]])
    >>> sequence_select_grad(x, LoDTensor([2, 0, 2], [[3]]), np.array([1.0, 2.0, 4.0]))
    array([2., 0., 5.])
    """
    return shared.add_to_sources(x, _select_sequences(shared.number_rows(x), selected, level).values, grad)


def _sort_sequences(x, keys, descending, level):
    depth = 0 if level is None else x._level(level) + 1
    count = shared.count_parts(x, depth)
    keys = shared.check_sort_keys(x, keys, level, descending).tolist()
    groups = [(0, count)] if level is None else pairwise(x.lod()[depth - 1])

    def place(i):
        return keys[i] != keys[i], -keys[i] if descending else keys[i]

    numbers = [i for a, b in groups for i in sorted(range(a, b), key=place)]
    return shared.pick_parts(x, depth, numbers, x.recursive_sequence_lengths()[:depth])


@op(like="x", types=MOVED)
def sequence_sort(
    x: LoDTensor, keys: Dense | LoDTensor, /, *, descending: bool = False, level: int | None = None
) -> LoDTensor:
    """Sort the sequences of a batch by keys, or the parts inside each sequence; equal keys keep their order.

    Parameters
    ----------
    x : LoDTensor
    keys : array of numbers, or LoDTensor
        One number, or time, for each sequence or part that is sorted. NaN and NaT come last, in both orders.
    descending : bool
        Sort from the largest key to the smallest.
    level : int, optional
        Sort the parts inside each sequence of this level; with level -1 the parts are rows. By default the outermost
        sequences are sorted.

    Returns
    -------
    LoDTensor
        With as many levels as x.

    Raises
    ------
    ShapeMismatchError
        Keys are not one per sequence or part.
    DTypeError
        Keys are neither numbers nor times.
    LoDMismatchError
        Keys are a LoDTensor, and its sequences and the sequences of x differ in length.
    LoDLevelError
        x has no such level.

    Examples
    --------
    >>> x = LoDTensor([1, 2, 3, 4, 5, 6], [[2, 1, 3]])
    >>> sequence_sort(x, x.lengths(), descending=True).to_list()
    [[4, 5, 6], [1, 2], [3]]
    >>> sequence_sort(x, -x.values, level=-1).to_list()
    [[2, 1], [3], [6, 5, 4]]
    """
    check_values(x.dtype, "sequence_sort")
    return _sort_sequences(x, keys, descending, level)


@op(like="x", gradient_of=sequence_sort, types=FLOATING)
def sequence_sort_grad(
    x: LoDTensor, keys: Dense | LoDTensor, grad: Dense, /, *, descending: bool = False, level: int | None = None
) -> Dense:
    """Return the gradient of ``sequence_sort`` by ``x``: ``grad`` in the original order.

    >>> sequence_sort_grad(LoDTensor([1.0, 2.0], [[1, 1]]), [7, 3], np.array([10.0, 20.0]))
    array([20., 10.])
    """
    return shared.add_to_sources(x, _sort_sequences(shared.number_rows(x), keys, descending, level).values, grad)


def _example(dtype):
    return LoDTensor(np.ones((3, 4), dtype), [[1, 1], [2, 1]])


sequence_slice.example(lambda dtype: [((_example(dtype), np.array([0, 0]), np.array([1, 1])), {})])
sequence_select.example(
    lambda dtype: [((_example(dtype), LoDTensor([0, 0], [[1, 1]])), {"level": level}) for level in (0, 1)]
)
sequence_sort.example(lambda dtype: [((_example(dtype), np.array([2, 1])), {"level": level}) for level in (None, 0)])


takes_bfloat16(sequence_slice, sequence_select)
