"""Checks of operators that move whole sequences, and what their definitions share."""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, check_values, dtype_of, integers, is_plain, mixed_types, native
from ...arrays.objects import remedy_of
from ...base.errors import DTypeError, LoDError, LoDLevelError, LoDMismatchError, RowIndexError, ShapeMismatchError
from ...lod import LoDTensor, values_of
from ...lod.batching import concat
from ...lod.levels import are_equal
from .reductions import order_keys


def is_ragged(x):
    """True if ``x`` has sequences: a LoDTensor may have no level."""
    return isinstance(x, LoDTensor) and x.lod_level > 0


def count_parts(x, depth):
    """The number of sequences of a level; below the innermost, of rows."""
    return len(x._lod[depth]) - 1 if depth < x.lod_level else x.shape[0]


def pick_parts(x, depth, numbers, above):
    """Take the parts of a depth with these numbers, in this order, under levels of the lengths ``above``."""
    parts = LoDTensor(x.values, lod=x.lod()[depth:])
    joined = concat([parts[:0], *(parts[i : i + 1] for i in numbers)])
    values = joined.values.astype(native(x.dtype), copy=False)
    return LoDTensor(values, [*above, *joined.recursive_sequence_lengths()])


def number_rows(x):
    """``x`` with the number of each row as its value: the result of an operator lists the rows that it took."""
    numbers = np.arange(values_of(x).shape[0])
    return x.with_values(numbers) if isinstance(x, LoDTensor) else numbers


def add_to_sources(x, sources, grad):
    """Return the gradient of ``x[sources]``: the gradients of equal sources add up, in double precision."""
    values = values_of(x)
    dtype = check_values(values.dtype, "the gradient", floating=True)
    check_gradient(grad, (len(sources), *values.shape[1:]))
    total = np.zeros(values.shape, np.float64)
    np.add.at(total, sources, grad)
    return total.astype(dtype)


def prepare_concat(xs, axis, level, what="sequence_concat", floating=False):
    """Check the inputs. Returns the axis and the level, from 0, and the dtype."""
    if not xs:
        raise TypeError("sequence_concat_grad needs the inputs that were joined, got none")
    name, first = "sequence_concat", xs[0]
    values, levels = first._values, len(first._lod)
    ndim = len(values.shape)
    if not -ndim <= axis < ndim:
        raise ShapeMismatchError(f"{name}: axis = {axis} is outside [{-ndim}, {ndim}), values have {ndim} dimensions")
    axis, level = axis % ndim, first._level(level)
    kept, item, count = levels if axis else level, _shape_without(values.shape, axis), len(first._lod[0])
    for i, x in enumerate(xs[1:], 1):
        other, lod = x._values, x._lod
        if len(lod) != levels:
            raise LoDLevelError(f"{name}: input {i} has lod_level {x.lod_level}, input 0 {levels}")
        if len(lod[0]) != count:
            raise LoDMismatchError(
                f"{name}: input {i} has {len(x)} sequences, input 0 {len(first)}; they join in pairs"
            )
        if kept:
            _check_above(name, first, x, i, kept, "axis is not 0" if axis else f"level {level} is joined")
        shape = other.shape
        if len(shape) != ndim or (_shape_without(shape, axis) if axis else shape[1:]) != item:
            raise ShapeMismatchError(f"{name}: input {i} has values of shape {x.shape}, input 0 {first.shape}")
        if other.dtype is not values.dtype and dtype_of(other) != dtype_of(values):
            raise mixed_types(f"{name}: input {i}", dtype_of(other), "input 0", dtype_of(values))
    return axis, level, check_values(values.dtype, what, floating=floating)


def _check_above(name, first, x, i, kept, why):
    """Check that input ``i`` has the levels that joining keeps of the first."""
    for level in range(kept):
        a, b = first._lod[level], x._lod[level]
        if a is not b and not are_equal(a, b):
            at = int(np.argmax(np.diff(a) != np.diff(b)))
            raise LoDMismatchError(
                f"{name}: {why}, so level {level} must equal the level of input 0; "
                f"sequence {at} of input {i} has length {b[at + 1] - b[at]}, of input 0 {a[at + 1] - a[at]}"
            )


def _shape_without(shape, axis):
    return *shape[1:axis], *shape[axis + 1 :]


def range_of(i, count, start, stop, by, wrap, clip):
    """The start and the stop of a range in sequence ``i``, which has ``count`` parts; None is an open end."""
    first = 0 if start is None else start + count if wrap and start < 0 else start
    if stop is None:
        last = count
    elif by == "lengths":
        if stop < 0:
            raise LoDError(f"sequence_slice: the length {stop} for sequence {i} is negative; 0 takes nothing")
        last = first + stop
    else:
        last = stop + count if wrap and stop < 0 else stop
    if clip:
        first = min(max(first, 0), count)
        return first, max(min(last, count), first)
    if not 0 <= first <= last <= count:
        asked = f"[{'' if start is None else start}:{'' if stop is None else stop}]"
        if by == "lengths" and stop is not None:
            asked = f"start {start or 0} and length {stop}"
        negative = "" if wrap else ", where negative numbers do not count from the end"
        raise RowIndexError(
            f"sequence_slice: {asked} is not inside sequence {i}, which has {count} parts{negative}; "
            "clip=True takes what there is"
        )
    return first, last


def check_slices(x, starts, stops, level):
    """Return starts and stops as int64 vectors or None, and the offsets of the ranges: None for one per sequence."""
    count = count_parts(x, level)
    if not (is_ragged(starts) or is_ragged(stops)):
        return _repeat_single("starts", starts, count), _repeat_single("stops", stops, count), None
    named = ("starts", starts), ("stops", stops)
    lists = [(name, given) for name, given in named if is_ragged(given)]
    offsets = lists[0][1]._lod[0]
    for name, given in lists:
        if given.lod_level != 1 or len(given) != count:
            raise LoDMismatchError(
                f"sequence_slice: {name} has lod_level {given.lod_level} and {len(given)} lists; "
                f"give one level, a list of ranges for each of the {count} sequences"
            )
        if not are_equal(offsets, given._lod[0]):
            raise LoDMismatchError("sequence_slice: starts and stops list different numbers of ranges")
    ranges = int(offsets[-1])
    return *(_repeat_by_range(name, given, count, ranges, offsets) for name, given in named), offsets


def _repeat_single(name, numbers, count):
    """Return ``count`` numbers: a single one is repeated."""
    if numbers is None:
        return None
    numbers = integers(numbers if type(numbers) is np.ndarray else values_of(numbers), name)
    if numbers.ndim == 0:
        return np.full(count, numbers)
    if numbers.shape != (count,):
        raise ShapeMismatchError(f"sequence_slice: {name} has shape {numbers.shape}; give {count} numbers, one each")
    return numbers


def _repeat_by_range(name, numbers, count, ranges, offsets):
    """``_repeat_single`` for listed ranges: the number of a sequence holds for each of its ranges."""
    if numbers is None or is_ragged(numbers):
        return _repeat_single(name, numbers, ranges)
    return np.repeat(_repeat_single(name, numbers, count), np.diff(offsets))


def check_selected(x, selected, level):
    """Return the numbers to select, int64, and their offsets; whether they are in range is checked later."""
    count = count_parts(x, level)
    if not is_ragged(selected):
        raise LoDLevelError("sequence_select: selected has lod_level 0; attach lengths: LoDTensor(selected, [[...]])")
    offsets = selected._lod[-1]
    if len(offsets) - 1 != count:
        raise LoDMismatchError(
            f"sequence_select: selected has {len(offsets) - 1} lists, level {level} of x {count} sequences; "
            "give one list per sequence"
        )
    numbers = integers(values_of(selected), "selected")
    if numbers.ndim != 1:
        raise ShapeMismatchError(f"sequence_select: selected has values of shape {numbers.shape}; give one dimension")
    return numbers, offsets


def unselectable(number, parent, position, count, level):
    """The error for a number outside its sequence."""
    return RowIndexError(
        f"sequence_select: selected[{parent}][{position}] = {number} is outside [0, {count}), "
        f"sequence {parent} of level {level} has {count} parts"
    )


def check_sort_keys(x, keys, level, descending):
    """Check that there is one key per part to sort. Returns numbers: of times integers, in whose order NaT is last."""
    depth = 0 if level is None else x._level(level) + 1
    count = count_parts(x, depth)
    # A key of another sequence would be taken for one of this.
    if depth and is_ragged(keys) and not np.array_equal(keys._lod[-1], x._lod[depth - 1]):
        raise LoDMismatchError(
            f"sequence_sort: keys have lengths {keys.recursive_sequence_lengths()[-1]!s:.200}, the sequences of x "
            f"{x.recursive_sequence_lengths()[depth - 1]!s:.200}; give one key per part, in the same sequences"
        )
    keys = order_keys(np.asarray(values_of(keys)), nat_first=descending)
    if not is_plain(keys.dtype):
        raise DTypeError(f"sequence_sort: keys must be numbers, not {keys.dtype}; {remedy_of(keys.dtype)}")
    if keys.shape != (count,):
        what = "sequence" if level is None else "part of a sequence"
        raise ShapeMismatchError(
            f"sequence_sort: keys have shape {keys.shape}, there are {count} to sort; give one key per {what}"
        )
    return keys


def check_tokens(name, values, what="x", takes=None):
    """Check that values are one integer per row. Returns the dtype: int64 where there are none."""
    if tuple(values.shape[1:]) not in ((), (1,)):
        raise ShapeMismatchError(f"{name}: {what} has rows of shape {tuple(values.shape[1:])}; a token is one number")
    if not values.shape[0] and values.dtype.kind not in "iub":
        return np.dtype(np.int64)
    return check_values(values.dtype, name, takes=takes)


def offsets_of_pairs(name, level, **pair):
    """The row offsets, at a level, of two LoDTensors whose sequences are pairs, under the same levels above."""
    (one, x), (other, y) = pair.items()
    a, b = x._row_offsets(level), y._row_offsets(level)
    if len(a) != len(b):
        raise LoDMismatchError(f"{name}: {one} has {len(a) - 1} sequences, {other} {len(b) - 1}; they are pairs")
    above = [t._lod[: level % t.lod_level] for t in (x, y)]
    if len(above[0]) != len(above[1]) or not all(map(np.array_equal, *above)):
        raise LoDMismatchError(
            f"{name}: {one} and {other} differ in the levels above their sequences: {x.lod()} and {y.lod()}"
        )
    return a, b
