"""Indexing, slicing and iteration; results are views wherever sequences stay contiguous."""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any, Self, overload

import numpy as np

from ..arrays import (
    array_of,
    from_lists,
    integers,
    is_cpu_tensor,
    is_integer,
    is_tensor,
    output,
    plain_array,
    remedy_for,
    tensor_of,
)
from ..arrays.recorded import is_on_tape, refuse_unrecorded, track
from ..arrays.sizes import memory_for
from ..arrays.types import Array, Integer, Values
from ..base.errors import DeviceError, LoDError, LodkitError, LoDLevelError, RowIndexError
from ..base.tracebacks import shorten
from .index_advice import advise_on_mask, advise_on_parts, advise_on_writing, write_index
from .large import is_size, needs_memory
from .levels import freeze, load_compiled
from .members import Members


class Indexing(Members):
    """Selection by index, branch, range, index array or mask."""

    __slots__ = ()

    def slice(self, *branch: int) -> Self:
        """Return the ``<i, j, ...>``-slice: a view of one sequence, kept as a batch of one.

        Parameters
        ----------
        *branch : int
            Index at the outermost level, index within that sequence, and so on.

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
        try:
            if not 1 <= len(branch) <= len(self._lod):
                raise LoDLevelError(
                    f"slice takes one index per level to go down, 1 to lod_level = {len(self._lod)}; got {branch}"
                )
            at = self._find(branch)
            return self._cut(len(branch) - 1, at, at + 1)
        except Exception as error:
            shorten(error)
            raise

    def slice_in_level(self, level: int, start: Integer, stop: Integer) -> Self:
        """Return the sequences ``start:stop`` of a level, counted over the whole batch, as a view.

        The levels above are dropped.

        Parameters
        ----------
        level : int
        start, stop : int
            ``0 <= start <= stop <=`` the sequences of the level; not clipped, unlike ``t[a:b]``.

        Returns
        -------
        LoDTensor
            Of lod_level ``lod_level - level`` (Paddle's SliceInLevel). Its ``offsets(absolute=True)`` are rows of this
            tensor.

        Examples
        --------
        >>> from lodkit import LoDTensor
        >>> t = LoDTensor(np.arange(15), [[3, 1, 2], [3, 2, 4, 1, 2, 3]])
        >>> t.slice_in_level(1, 2, 4).lod(), t.slice_in_level(1, 2, 4).lod(absolute=True)
        ([[0, 4, 5]], [[5, 9, 10]])
        """
        at = self._level(level)
        count = len(self._lod[at]) - 1
        for i, name in ((start, "start"), (stop, "stop")):
            if not is_integer(i):
                raise TypeError(f"{name} must be an integer, got {i!r}")
        start, stop = int(start), int(stop)
        if not 0 <= start <= stop <= count:
            raise RowIndexError(
                f"start={start}, stop={stop} is not a range of the {count} sequences of level {at}; "
                f"0 <= start <= stop <= {count}"
            )
        return self._cut(at, start, stop)

    @overload
    def __getitem__(self, key: builtins.slice | list[Any] | Array) -> Self: ...
    @overload
    def __getitem__(self, key: Integer | tuple[Any, ...]) -> Values: ...
    def __getitem__(self, key):
        try:
            if isinstance(key, tuple):
                return self._descend(key)
            if isinstance(key, slice):
                return self._range(key)
            if is_tensor(key):
                key = from_lists(key, "sequence indices")[()]
            if isinstance(key, list) or (isinstance(key, np.ndarray) and key.ndim):
                return self._select(_indices(key, len(self)))
            return self._part((key,))
        except Exception as error:
            shorten(error)
            raise

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(advise_on_writing(self, key))

    def __delitem__(self, key: Any) -> None:
        raise TypeError(
            f"del t[{write_index(key)}]: a LoDTensor is not cut by index; keep the others, t[[0, 2]] or t[mask]"
        )

    def __iter__(self) -> Iterator[Values]:
        if not self._lod:
            return iter(self._values)
        return iter(self.sequences(0))

    def sequences(self, level: int = -1) -> list[Values]:
        """Return the sequences of a level, in order, as views: arrays at the innermost, else LoDTensors."""
        level = self._level(level)
        if level == len(self._lod) - 1:
            values = track(self._need_values())
            return [values[a:b] for a, b in pairwise(self._lod[-1].tolist())]
        return [self._cut(level + 1, a, b) for a, b in pairwise(self._lod[level].tolist())]

    def branches(self) -> list[tuple[tuple[int, ...], Values]]:
        """Return ``(branch, sequence)`` per innermost sequence, in order: ``((0, 2), array)``."""
        return list(zip(first_branches(self), self.sequences(), strict=True)) if self._lod else []

    def _find(self, branch):
        """Return the index, within its level, of the sequence at a branch."""
        at, start, count = 0, 0, len(self)
        for level, i in enumerate(branch):
            if level:
                start, count = int(self._lod[level - 1][at]), int(self._lod[level - 1][at + 1])
                count -= start
            at = start + _check_index(i, count, level, branch)
        return at

    def _cut(self, level, start, stop):
        """Return a view of the sequences ``start:stop`` of a level, or of rows below the innermost."""
        levels = []
        for offsets in self._lod[level:]:
            first, last = int(offsets[start]), int(offsets[stop])
            levels.append(freeze(offsets[start : stop + 1] - first))
            start, stop = first, last
        values = None if self._whole() is None else track(self._values)[start:stop]
        return self._wrap(values, tuple(levels), self._base + start)

    def _part(self, branch):
        """Return the sequence at a branch: a LoDTensor, at the innermost level an array, below it a row."""
        at = self._find(branch)
        level = len(branch) - 1
        if not self._lod:
            return track(self._values)[at]
        start, stop = int(self._lod[level][at]), int(self._lod[level][at + 1])
        if level == len(self._lod) - 1:
            return track(self._need_values())[start:stop]
        return self._cut(level + 1, start, stop)

    def _descend(self, key):
        """Index by ``t[i, j, ...]``: one integer per level, then the array reached."""
        if not key:
            return self
        depth = 0
        while depth < min(len(key), len(self._lod)) and is_integer(key[depth]):
            depth += 1
        if not depth:
            if len(key) == 1:
                return self[key[0]]
            if self._lod:
                raise IndexError(advise_on_parts(self, key))
            return _index_values(self._values, key, "values")
        part, rest = self._part(key[:depth]), key[depth:]
        return _index_values(part, rest, f"the part at {key[:depth]}") if rest else part

    def _range(self, key):
        count = len(self)
        try:
            start, stop, step = key.indices(count)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{key!r:.200} is no index of sequences: {error}") from None
        if step != 1:
            step = min(max(step, -count - 1), count + 1)  # which 64 bits hold
            with memory_for(f"the numbers of the sequences that t[{key}] takes"):
                numbers = np.arange(start, stop, step, dtype=np.int64)
            return self._select(numbers)
        return self._cut(0, start, max(start, stop))

    @needs_memory
    def _select(self, indices):
        """Return a copy of the sequences at these indices."""
        # A recorded array records what follows.
        values = track(self._whole())
        if len(self._lod) == 1 and type(values) is np.ndarray and not values.dtype.hasobject:
            few = load_compiled("selection").take_few(self, indices)
            if few is not None:
                return few
        starts, stops, count, levels = indices, indices + 1, len(indices), []
        to = None if self._lod else np.arange(count)
        for level, offsets in enumerate(self._lod):
            cut, starts, stops, to = load_compiled().cut_parts(offsets, starts, stops, count, "t[indices]", level)
            levels.append(freeze(cut))
            count = cut.item(-1)
        if values is None:
            return self._wrap(None, tuple(levels))
        return self._wrap(take_runs(values, (starts, stops, to), count), tuple(levels))

    def _need_values(self):
        if self._values is None:
            raise LoDError("this LoDTensor is structure without values; give it rows with set_values")
        return self._whole()


@needs_memory
def _index_values(values, index, what):
    """The elements of an array, or of a LoDTensor, at an index: NumPy's errors do not say of what."""
    try:
        return values[index]
    except (IndexError, TypeError, ValueError) as error:
        if isinstance(error, LodkitError) or is_size(error):
            raise
        raise RowIndexError(f"index {index!r:.200} does not fit {what}, of shape {values.shape}: {error}") from error


def first_branches(t, count=None):
    """Return the branches of the first ``count`` innermost sequences, or of all."""
    branches = [()]
    for level in range(t.lod_level):
        lengths = np.diff(t._lod[level - 1][: len(branches) + 1]).tolist() if level else [len(t)]
        below = ((*b, i) for b, n in zip(branches, lengths, strict=True) for i in range(n))
        branches = list(islice(below, count))
    return branches


def take_runs(values, place, count):
    """Copy runs of rows to their places, as ``move_runs``, in a new array of ``count`` rows, which they fill."""
    if type(values) is not np.ndarray:
        tensor = is_cpu_tensor(values)
        if is_on_tape(values) or (tensor and values.requires_grad and sys.modules["torch"].is_grad_enabled()):
            return values[take_runs(np.arange(len(values)), place, count)]
        if tensor:
            return tensor_of(take_runs(array_of(values, "values", record=False), place, count), values)
        require_cpu(values, "selecting sequences")
    out = output((count, *values.shape[1:]), values.dtype)
    load_compiled("copy_runs").move_runs(values, place, out)
    return out


def require_cpu(values, what):
    if is_on_tape(values):
        refuse_unrecorded(what)
    if not isinstance(values, np.ndarray):
        if not hasattr(values, "__cuda_array_interface__"):
            raise TypeError(f"{what} takes a NumPy array, got {type(values).__name__}; {remedy_for(values, 'it')}")
        raise DeviceError(f"{what} works on the CPU; move the tensor with .to('cpu')")


def _check_index(i, count, level, branch):
    """Return ``i`` as a non-negative index, or raise."""
    if isinstance(i, bool | np.bool_):
        raise TypeError(f"{i!r} is not a sequence index; select by mask with an array of {count} booleans")
    if not is_integer(i):
        if isinstance(i, Indexing):
            raise TypeError(advise_on_mask(i))
        raise TypeError(
            f"{i!r} is not a sequence index; use integers, slices, arrays of integers or of {count} booleans"
        )
    i = operator.index(i)
    if not -count <= i < count:
        place = f"level {level} of branch {tuple(branch)}" if len(branch) > 1 else f"level {level}"
        raise RowIndexError(f"sequence index {i} is out of range for {count} sequences ({place})")
    return i % count


def _indices(key, count):
    """Convert an index array or a mask to non-negative indices."""
    key = plain_array(key, "indices") if isinstance(key, np.ndarray) else from_lists(key, "sequence indices")
    key = key if len(key) else np.empty(0, np.int64)
    if key.ndim != 1:
        raise LoDError(f"an index array must be one-dimensional, got shape {key.shape}")
    if key.dtype == bool:
        if len(key) != count:
            raise RowIndexError(f"boolean mask has {len(key)} entries for {count} sequences")
        return np.flatnonzero(key)
    numbers = integers(key, "sequence indices")
    indices, bad = load_compiled("selection").indices_within(numbers, count)
    if bad >= 0:
        place = f"sequence index {numbers[bad]} at position {bad}"
        raise RowIndexError(f"{place} is out of range for {count} sequences")
    return indices
