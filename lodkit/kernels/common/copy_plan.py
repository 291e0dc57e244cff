"""Where the rows of features go: ranges of an input's rows, and the rows of the result that each starts at.

Structure alone, on the CPU; kernels then copy the ranges, and for a gradient copy them back. The functions ``plan_...``
check inputs first: ``array`` makes of a value's rows what a device's kernels take. They return those, the levels of the
result, and a CopyPlan an input.
"""

from __future__ import annotations

import typing

import numpy as np

from ...arrays import check_values
from ...lod.levels import compiled, frozen, row_maps
from ...lod.lod_tensor import LoDTensor, values_of
from ...ops.shared import features as checks


class CopyPlan(typing.NamedTuple):
    """The rows ``starts[r]:stops[r]`` of one input are the rows from ``to[r]`` on of the result: int64 arrays."""

    starts: np.ndarray
    stops: np.ndarray
    to: np.ndarray

    def back(self):
        """The way back: where the rows of the result came from."""
        return CopyPlan(self.to, self.to + self.stops - self.starts, self.starts)


def merged(inputs, keep=None):
    """Merge example by example.

    Parameters
    ----------
    inputs : list of tuples of int64 arrays
        The levels of each input: relative offsets.
    keep : array of bool, optional
        A row an input: which of its examples are there.

    Returns
    -------
    levels : tuple
        Those of the result.
    places : list of CopyPlan
        One an input.
    """
    bounds = [levels[0] for levels in inputs]
    first, places = _between(bounds) if keep is None else _places(bounds, keep)
    levels = [first]
    for depth in range(1, len(inputs[0])):
        lengths = np.empty(levels[-1][-1], np.int64)
        for offsets, place in zip(inputs, places, strict=True):
            row_maps().move_runs(np.diff(offsets[depth]), place, lengths)
        levels.append(frozen(compiled().lengths_to_offsets(lengths)))
        bounds = [offsets[depth][b] for offsets, b in zip(inputs, bounds, strict=True)]
        _, places = _between(bounds) if keep is None else _places(bounds, keep)
    return tuple(levels), places


def _between(bounds):
    """Offsets of the items of every example, of all inputs together; and where each input's go."""
    total = bounds[0]
    for b in bounds[1:]:
        total = total + b
    places, to = [], total[:-1]
    for b in bounds:
        starts, stops = b[:-1], b[1:]
        places.append(CopyPlan(starts, stops, to))
        to = to + (stops - starts)
    return frozen(total), places


def _places(bounds, keep):
    """The same, of the examples that an input is to ``keep``."""
    counts = np.stack([np.diff(b) for b in bounds], axis=1) * keep.T
    ends = np.cumsum(counts, dtype=np.int64).reshape(counts.shape)
    places = []
    for f, b in enumerate(bounds):
        some = np.flatnonzero(counts[:, f])
        starts, lengths = b[some], counts[some, f]
        places.append(CopyPlan(starts, starts + lengths, ends[some, f] - lengths))
    return _offsets(ends[:, -1]), places


def packed(mask):
    """The level of what a mask ``(examples, features)`` leaves, and where its cells go."""
    starts = np.flatnonzero(mask)
    return _offsets(np.cumsum(np.count_nonzero(mask, axis=1))), CopyPlan(starts, starts + 1, np.arange(len(starts)))


def selected(values, keys, feature_keys):
    """The levels of the features of some keys, and where the rows of ``values`` go.

    Parameters
    ----------
    values : LoDTensor of lod_level 1 or 2
    keys, feature_keys : int64 arrays
    """
    examples, entries = len(values), np.arange(len(keys) + 1)
    rows = values.row_offsets() if values.lod_level == 2 else entries
    order = np.argsort(feature_keys)
    place = np.searchsorted(feature_keys, keys, sorter=order)
    which = order[np.minimum(place, len(order) - 1)] if len(order) else np.zeros(len(keys), np.int64)
    some = np.flatnonzero(feature_keys[which] == keys) if len(order) else entries[:0]
    batch = which[some] * examples + np.repeat(np.arange(examples), values.lengths(0))[some]
    offsets, order = compiled().sort_by_segment(batch, len(feature_keys) * examples)
    some = some[order]
    ends = _offsets(np.cumsum(rows[some + 1] - rows[some]))
    levels = frozen(np.arange(len(feature_keys) + 1) * examples), frozen(ends[offsets])
    return levels, CopyPlan(rows[some], rows[some + 1], ends[:-1])


def _offsets(ends):
    offsets = np.zeros(len(ends) + 1, np.int64)
    offsets[1:] = ends
    return frozen(offsets)


def plan_merge(xs, array):
    checks.check_examples("merge_features", xs)
    values = [array(x.values) for x in xs]
    checks.check_items("merge_features", values)
    return values, *merged([x._lod for x in xs])


def plan_stack(xs, presence, array):
    checks.check_examples("stack_features", xs)
    values = [array(values_of(x)) for x in xs]
    checks.check_items("stack_features", values)
    keep = checks.check_presence(presence, xs)
    top = np.arange(keep.shape[1] + 1)
    return values, *merged([(top, *(x._lod if isinstance(x, LoDTensor) else ())) for x in xs], keep)


def plan_pack(x, presence, array):
    x = checks.check_packed(array(x))
    check_values(x.dtype, "pack_features")
    level, place = packed(checks.check_mask(presence, x.shape[:2], "presence"))
    return [x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])], (level,), [place]


def plan_select(x, keys, feature_keys, array):
    values = array(x.values)
    check_values(values.dtype, "select_features")
    levels, place = selected(x, *checks.check_keys(x, keys, feature_keys))
    return [values], levels, [place]
