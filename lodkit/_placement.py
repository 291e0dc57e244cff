"""Where the rows of features go: ranges of an input's rows, and the rows of the result that each starts at.

Structure alone, on the CPU; kernels then copy the ranges, and for a gradient copy them back.
"""

from __future__ import annotations

import typing

import numpy as np

from ._levels import compiled, frozen


class Placement(typing.NamedTuple):
    """The rows ``starts[r]:stops[r]`` of one input are the rows from ``to[r]`` on of the result: int64 arrays."""

    starts: np.ndarray
    stops: np.ndarray
    to: np.ndarray

    @property
    def back(self):
        """The same ranges, from the result to the input."""
        return Placement(self.to, self.to + self.stops - self.starts, self.starts)


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
    places : list of Placement
        One an input.
    """
    bounds = [levels[0] for levels in inputs]
    ends, places = _places(bounds, keep)
    levels = [_offsets(ends[:, -1])]
    for depth in range(1, len(inputs[0])):
        lengths = np.empty(levels[-1][-1], np.int64)
        for offsets, place in zip(inputs, places, strict=True):
            compiled().copy_rows(np.diff(offsets[depth]), place.starts, place.stops, lengths, place.to)
        levels.append(frozen(compiled().lengths_to_offsets(lengths)))
        bounds = [offsets[depth][b] for offsets, b in zip(inputs, bounds, strict=True)]
        ends, places = _places(bounds, keep)
    return tuple(levels), places


def _places(bounds, keep):
    """Where the items of every example and input end, ``(examples, inputs)``; and where each input's go."""
    counts = np.stack([np.diff(b) for b in bounds], axis=1)
    if keep is not None:
        counts *= keep.T
    ends = np.cumsum(counts, dtype=np.int64).reshape(counts.shape)
    places = []
    for f, b in enumerate(bounds):
        some = np.flatnonzero(counts[:, f])
        starts, lengths = b[some], counts[some, f]
        places.append(Placement(starts, starts + lengths, ends[some, f] - lengths))
    return ends, places


def packed(mask):
    """The level of what a mask ``(examples, features)`` leaves, and where its cells go."""
    starts = np.flatnonzero(mask)
    return _offsets(np.cumsum(np.count_nonzero(mask, axis=1))), Placement(starts, starts + 1, np.arange(len(starts)))


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
    return levels, Placement(rows[some], rows[some + 1], ends[:-1])


def _offsets(ends):
    offsets = np.zeros(len(ends) + 1, np.int64)
    offsets[1:] = ends
    return frozen(offsets)
