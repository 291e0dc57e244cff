"""What ``t[...]``, ``t.slice(...)`` and iteration give: views wherever sequences stay together."""

from __future__ import annotations

import operator
from itertools import pairwise

import numpy as np

from ..arrays import empty, integers
from ..errors import DeviceError, LoDError, LoDLevelError, RowIndexError
from .levels import compiled, frozen, row_maps


class Indexing:
    """Sequences of a LoDTensor, by number, branch, range, index array or mask."""

    __slots__ = ()

    def slice(self, *branch):
        """Return the ``<i, j, ...>``-slice: a view of one sequence, kept as a batch of one.

        Parameters
        ----------
        *branch : int
            Which sequence of the outermost level, which of its sequences, and so on.

        Returns
        -------
        LoDTensor
            Of lod_level ``lod_level - len(branch) + 1``.

        Examples
        --------
        >>> from lodkit import LoDTensor
        >>> t = LoDTensor(np.arange(15), [[3, 1, 2], [3, 2, 4, 1, 2, 3]])
        >>> t.slice(2).lod()
        [[0, 2], [0, 2, 5]]
        >>> t.slice(2, 0).offsets(absolute=True)
        array([10, 12])
        """
        if not 1 <= len(branch) <= len(self._lod):
            raise LoDLevelError(f"slice takes 1 to {len(self._lod)} numbers (lod_level), got {branch}")
        at = self._find(branch)
        return self._cut(len(branch) - 1, at, at + 1)

    def slice_in_level(self, level, start, stop):
        """Return the sequences ``start:stop`` of a level, numbered over the whole batch, as a view.

        The levels above are gone: these sequences are the outermost of the result.

        Parameters
        ----------
        level : int
        start, stop : int
            ``0 <= start <= stop <=`` the sequences of the level. Unlike ``t[a:b]``, nothing is cut to fit.

        Returns
        -------
        LoDTensor
            Of lod_level ``lod_level - level``; SliceInLevel of Paddle. Its ``offsets(absolute=True)`` say which rows
            of this tensor it has.

        Examples
        --------
        >>> from lodkit import LoDTensor
        >>> t = LoDTensor(np.arange(15), [[3, 1, 2], [3, 2, 4, 1, 2, 3]])
        >>> t.slice_in_level(1, 2, 4).lod(), t.slice_in_level(1, 2, 4).lod(absolute=True)
        ([[0, 4, 5]], [[5, 9, 10]])
        """
        at = self._level(level)
        count = len(self._lod[at]) - 1
        start, stop = (_whole(i, name) for i, name in ((start, "start"), (stop, "stop")))
        if not 0 <= start <= stop <= count:
            raise RowIndexError(
                f"start={start}, stop={stop} are no range of the {count} sequences of level {at}; "
                f"0 <= start <= stop <= {count}"
            )
        return self._cut(at, start, stop)

    def __getitem__(self, key):
        if isinstance(key, tuple):
            return self._descend(key)
        if isinstance(key, slice):
            return self._range(key)
        if isinstance(key, list | np.ndarray) and np.ndim(key):
            return self._select(_numbers(key, len(self)))
        return self._part((key,))

    def __iter__(self):
        if not self._lod:
            return iter(self._values)
        return iter(self.sequences(0))

    def sequences(self, level=-1):
        """Return all sequences of a level, in order, as views: arrays at the innermost, else LoDTensors."""
        level = self._level(level)
        if level == len(self._lod) - 1:
            values = self._need_values()
            return [values[a:b] for a, b in pairwise(self._lod[-1].tolist())]
        return [self._cut(level + 1, a, b) for a, b in pairwise(self._lod[level].tolist())]

    def branches(self):
        """Return ``(branch, sequence)`` of every innermost sequence, in order: ``((0, 2), array)``."""
        branches = [()]
        for level, offsets in enumerate(self._lod):
            counts = np.diff(self._lod[level - 1]).tolist() if level else [len(offsets) - 1]
            branches = [(*b, i) for b, count in zip(branches, counts, strict=True) for i in range(count)]
        return list(zip(branches, self.sequences(), strict=True)) if self._lod else []

    # -- finding ---------------------------------------------------------------------------------

    def _find(self, branch):
        """The number, within its level, of the sequence that a branch leads to."""
        at, start, count = 0, 0, len(self)
        for level, i in enumerate(branch):
            if level:
                start, count = int(self._lod[level - 1][at]), int(self._lod[level - 1][at + 1])
                count -= start
            at = start + _checked(i, count, level, branch)
        return at

    def _cut(self, level, start, stop):
        """A view of the sequences ``start:stop`` of a level; past the innermost level, of rows."""
        levels = []
        for offsets in self._lod[level:]:
            first, last = int(offsets[start]), int(offsets[stop])
            levels.append(frozen(offsets[start : stop + 1] - first))
            start, stop = first, last
        values = None if self._values is None else self._values[start:stop]
        return self._wrap(values, tuple(levels), self._base + start)

    def _part(self, branch):
        """One sequence, a level down: an array at the innermost level, a row below it."""
        at = self._find(branch)
        level = len(branch) - 1
        if not self._lod:
            return self._values[at]
        start, stop = int(self._lod[level][at]), int(self._lod[level][at + 1])
        if level == len(self._lod) - 1:
            return self._need_values()[start:stop]
        return self._cut(level + 1, start, stop)

    def _descend(self, key):
        """``t[i, j, ...]``: numbers lead down the levels; what is left indexes the array arrived at."""
        if not key:
            return self
        depth = 0
        while depth < min(len(key), len(self._lod)) and _is_number(key[depth]):
            depth += 1
        if not depth:
            if len(key) == 1:
                return self[key[0]]
            if self._lod:
                raise IndexError(f"t[{key[0]!r}, ...]: numbers come first, as in t[i, j] and t[i, a:b]")
            return self._values[key]
        part, rest = self._part(key[:depth]), key[depth:]
        return part[rest] if rest else part

    # -- selecting -------------------------------------------------------------------------------

    def _range(self, key):
        start, stop, step = key.indices(len(self))
        if step != 1:
            return self._select(np.arange(len(self))[key])
        return self._cut(0, start, max(start, stop))

    def _select(self, numbers):
        """The sequences of these numbers, copied together."""
        starts, stops, levels = numbers, numbers + 1, []
        for offsets in self._lod:
            levels.append(frozen(compiled().cut_offsets(offsets, starts, stops)))
            starts, stops = offsets[starts], offsets[stops]
        values = None if self._values is None else take_ranges(self._values, starts, stops)
        return self._wrap(values, tuple(levels))

    def _need_values(self):
        if self._values is None:
            raise LoDError("this LoDTensor is structure without values; give it rows with set_values")
        return self._values


def take_ranges(values, starts, stops):
    """The rows ``values[starts[k]:stops[k]]``, joined."""
    require_cpu(values, "selecting sequences")
    slots = compiled().lengths_to_offsets(stops - starts)
    out = empty((int(slots[-1]), *values.shape[1:]), values.dtype)
    row_maps().copy_runs(values, (starts, stops), slots, out)
    return out


def require_cpu(values, what):
    if not isinstance(values, np.ndarray):
        if not hasattr(values, "__cuda_array_interface__"):
            raise TypeError(f"{what} takes a NumPy array, got {type(values).__name__}; convert with np.asarray(...)")
        raise DeviceError(f"{what} works on the CPU; move the tensor with .to('cpu')")


def _is_number(i):
    return isinstance(i, int | np.integer) and not isinstance(i, bool)


def _whole(i, name):
    if not _is_number(i):
        raise TypeError(f"{name} must be an integer, got {i!r}")
    return operator.index(i)


def _checked(i, count, level, branch):
    """``i`` counted from the start, or an error that says where it is outside."""
    if isinstance(i, bool | np.bool_):
        raise TypeError(f"{i!r} is no sequence number; select by mask with an array of {count} booleans")
    if not _is_number(i):
        raise TypeError(f"{i!r} selects no sequence; use numbers, slices, arrays of numbers or of {count} booleans")
    i = operator.index(i)
    if not -count <= i < count:
        place = f"level {level} of branch {tuple(branch)}" if len(branch) > 1 else f"level {level}"
        raise RowIndexError(f"sequence index {i} is out of range for {count} sequences ({place})")
    return i % count


def _numbers(key, count):
    """Sequence numbers, from 0, from an index array or a mask."""
    key = np.asarray(key) if len(key) else np.empty(0, np.int64)
    if key.ndim != 1:
        raise LoDError(f"sequences are selected by a one-dimensional array, got shape {key.shape}")
    if key.dtype == bool:
        if len(key) != count:
            raise RowIndexError(f"boolean mask has {len(key)} entries for {count} sequences")
        return np.flatnonzero(key)
    numbers = integers(key, "sequence numbers")
    outside = np.flatnonzero((numbers < -count) | (numbers >= count))
    if len(outside):
        i = int(outside[0])
        place = f"sequence index {numbers[i]} at position {i}"
        raise RowIndexError(f"{place} is out of range for {count} sequences")
    return np.where(numbers < 0, numbers + count, numbers)
