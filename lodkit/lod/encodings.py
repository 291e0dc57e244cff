"""Conversions between LoDTensor and other encodings."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Self

import numpy as np

from ..arrays import empty, from_lists, integers, is_integer, is_number, plain_array, plain_rows, to_device
from ..arrays.types import Array, ArrayLike, DenseLike, Device, DTypeLike, Integer, Number, Values
from ..errors import DTypeError, LoDError, SegmentIdError
from . import levels as _levels
from .indexing import require_cpu
from .levels import compiled, frozen

MAX_DEPTH = 64


class Conversions:
    """One constructor per encoding, and the conversions back."""

    __slots__ = ()

    @classmethod
    def from_lengths(cls, values: DenseLike | None, *lengths: ArrayLike) -> Self:
        """Make a LoDTensor from rows and lengths per level, outermost first."""
        return cls(values, lengths)

    @classmethod
    def from_offsets(cls, values: DenseLike | None, *offsets: ArrayLike, absolute: bool = False) -> Self:
        """Make a LoDTensor from rows and offsets per level, outermost first.

        Parameters
        ----------
        values : array
        *offsets : array of int
            From 0, one more than there are sequences.
        absolute : bool
            False: offsets count sequences of the next level. True: rows; empty sequences between two
            sequences of the level above then belong to the later one.
        """
        return cls(values, lod=_levels.from_offsets(offsets, absolute))

    @classmethod
    def from_segment_ids(cls, values: DenseLike, ids: ArrayLike, num_segments: Integer | None = None) -> Self:
        """Make a LoDTensor of one level from a segment id per row.

        Parameters
        ----------
        values : array
        ids : array of int
            In any order; the sort is stable. Sorted ids share ``values``, unsorted ids copy them.
        num_segments : int, optional
            Default: the largest id + 1.
        """
        values, ids = cls(values).values, integers(ids, "segment_ids")
        if ids.shape != values.shape[:1]:
            raise SegmentIdError(f"segment_ids has shape {ids.shape}, but must be ({values.shape[0]},), one id per row")
        if num_segments is not None and not is_integer(num_segments):
            raise TypeError(f"num_segments must be an integer, got {num_segments!r}")
        count = int(ids.max(initial=-1)) + 1 if num_segments is None else num_segments
        outside = np.flatnonzero((ids < 0) | (ids >= count))
        if len(outside) or count < 0:
            place = f"segment_ids[{outside[0]}] = {ids[outside[0]]}" if len(outside) else "num_segments"
            raise SegmentIdError(f"{place} is outside [0, {count}) (num_segments={count})")
        offsets, order = compiled().sort_by_segment(ids, count)
        if compiled().first_decrease(ids):
            require_cpu(values, "from_segment_ids with unsorted ids")
            values = values[order]
        return cls._wrap(values, (frozen(offsets),))

    @classmethod
    def from_padded(
        cls, padded: ArrayLike, lengths: ArrayLike | None = None, *, pad_value: Number | None = None
    ) -> Self:
        """Make a LoDTensor of one level from a padded batch.

        Parameters
        ----------
        padded : array
            ``(sequences, width, *item)``.
        lengths : array of int, optional
            Rows of data per sequence.
        pad_value : scalar, optional
            Without lengths: trailing rows of this value alone are padding; inner ones are data.
        """
        padded = _batch(padded, "from_padded")
        count, width = padded.shape[:2]
        if lengths is None:
            if pad_value is None:
                raise TypeError("from_padded needs lengths or pad_value= to tell data from padding")
            lengths = _data_lengths(padded, _number(pad_value))
        (offsets,) = _levels.from_lengths([lengths])
        lengths = np.diff(offsets)
        if len(lengths) != count:
            raise LoDError(f"{len(lengths)} lengths for {count} padded sequences")
        if lengths.max(initial=0) > width:
            i = int(np.argmax(lengths))
            raise LoDError(f"length {lengths[i]} at position {i} exceeds the padded width {width}")
        from .copy_runs import copy_runs

        values = empty((int(offsets[-1]), *padded.shape[2:]), padded.dtype)
        copy_runs(padded.reshape(count * width, *padded.shape[2:]), width, offsets, values)
        return cls._wrap(values, (offsets,))

    @classmethod
    def from_uniform(cls, values: DenseLike) -> Self:
        """Make a LoDTensor of one level from ``(sequences, length, *item)``: equal lengths."""
        values = cls(values).values
        if len(values.shape) < 2:
            raise LoDError(f"from_uniform takes (sequences, length, *item), got shape {tuple(values.shape)}")
        count, length, *item = values.shape
        return cls._wrap(values.reshape((count * length, *item)), (frozen(np.arange(count + 1) * length),))

    @classmethod
    def from_nested(cls, lists: Any, *, lod_level: int | None = None, dtype: DTypeLike = None) -> Self:
        """Make a LoDTensor from nested lists of rows, which are arrays or numbers.

        Parameters
        ----------
        lists : list
            A list of sequences, which are lists of rows or of sequences.
        lod_level : int, optional
            Number of levels below the batch; deeper lists are items. Default: all.
        dtype : data-type, optional
        """
        depth = max(_depth(lists) - 1, 0) if lod_level is None else lod_level
        lengths = []
        for level in range(depth):
            for i, part in enumerate(lists):
                if not isinstance(part, list | tuple):
                    rule = f"every row lies {depth + 1} lists deep"
                    raise LoDError(f"item {i} of level {level} is {part!r}, not a list; {rule}")
            lengths.append([len(part) for part in lists])
            lists = [row for part in lists for row in part]
        return cls(_row_array(lists, dtype), lengths)

    @classmethod
    def from_sequences(cls, sequences: Iterable[DenseLike | Conversions]) -> Self:
        """Make a LoDTensor from its sequences: arrays ``(length, *item)``, or LoDTensors."""
        sequences = list(sequences)
        if sequences and all(isinstance(s, cls) for s in sequences):
            from .batching import concat

            below = concat(sequences)
            (top,) = _levels.from_lengths([[len(s) for s in sequences]])
            return cls._wrap(below.values, (top, *below._lod))
        lengths = [len(s) for s in sequences]
        # An empty list has neither dtype nor item shape and must not decide them.
        arrays = [
            plain_array(s, f"sequence {i}") for i, s in enumerate(sequences) if len(s) or isinstance(s, np.ndarray)
        ]
        for i, a in enumerate(arrays):
            if a.shape[1:] != arrays[0].shape[1:]:
                shapes = f"{a.shape[1:]}, the first {arrays[0].shape[1:]}"
                raise LoDError(f"sequence {i} has items of shape {shapes}")
        return cls(np.concatenate(arrays) if arrays else np.empty(0), [lengths])

    def to_padded(self, pad_value: Number = 0, max_length: Integer | None = None) -> Array:
        """Return a dense array, one axis per level, with ``pad_value`` after the end of short sequences.

        Parameters
        ----------
        pad_value : scalar
        max_length : int, optional
            Width of the innermost padded axis; longer sequences are truncated. Default: the longest.

        Returns
        -------
        numpy.ndarray
            ``(sequences, *widths, *item)``.
        """
        values, last = self._need_values(), self._level(-1)
        require_cpu(values, "to_padded")
        _number(pad_value)
        if max_length is not None and (not is_integer(max_length) or max_length < 0):
            raise ValueError(f"max_length must be an integer >= 0, got {max_length!r}")
        with np.errstate(invalid="ignore"):
            fill = np.asarray(pad_value).astype(values.dtype)
        if values.dtype.kind in "iu" and (fill != pad_value).any():
            raise DTypeError(f"{values.dtype} cannot hold pad_value {pad_value}; convert with .astype(...)")
        widths = [self.max_length(level) for level in range(last + 1)]
        widths[-1] = widths[-1] if max_length is None else int(max_length)
        out = empty((len(self), *widths, *values.shape[1:]), values.dtype)
        if values.dtype.hasobject:
            out[...] = fill
        cell = np.arange(len(self))
        for level, width in enumerate(widths[:-1]):
            offsets = self._lod[level]
            lengths = np.diff(offsets)
            cell = np.repeat(cell * width - offsets[:-1], lengths) + np.arange(offsets[-1])
        num_cells = math.prod(out.shape[: last + 1])
        runs = np.zeros((2, num_cells), np.int64)
        runs[:, cell] = self._lod[-1][:-1], self._lod[-1][1:]
        from .copy_runs import copy_runs

        rows = out.reshape(num_cells * widths[-1], *values.shape[1:])
        copy_runs(values, tuple(runs), widths[-1], rows, fill[()])
        return out

    def to_uniform(self) -> Values:
        """Return ``values`` with one axis per level, without a copy; lengths of a level must be equal."""
        widths = [self._uniform_length(level) for level in range(self.lod_level)]
        return self._need_values().reshape((len(self), *widths, *self.shape[1:]))

    def _uniform_length(self, level):
        lengths = self.lengths(level)
        differing = np.flatnonzero(lengths != lengths[:1]) if len(lengths) else ()
        if len(differing):
            i = int(differing[0])
            raise LoDError(
                f"lengths of level {level} differ ({lengths[0]} at 0, {lengths[i]} at {i}); use to_padded() or .values"
            )
        return int(lengths[0]) if len(lengths) else 0

    def to_list(self) -> list[Any]:
        """Return nested Python lists."""
        rows = self.to("cpu")._need_values().tolist()
        for offsets in reversed(self._lod):
            rows = [rows[a:b] for a, b in pairwise(offsets.tolist())]
        return rows

    def to(self, device: Device) -> Self:
        """Return the tensor with its values on ``"cpu"`` or ``"cuda"``; itself if they are there."""
        if device == self.device:
            return self
        return self.with_values(to_device(self._need_values(), device))


def _row_array(rows, dtype):
    try:
        return np.asarray(plain_rows(rows, "a row"), dtype)
    except ValueError as error:
        raise LoDError(f"rows differ in shape or are not numbers ({error}); a row is a number or an array") from None


def _batch(padded, what):
    if isinstance(padded, list | tuple):
        padded = from_lists(padded, what)
    require_cpu(padded, what)
    if padded.ndim < 2:
        raise LoDError(f"{what} takes (sequences, width, *item), got shape {padded.shape}")
    return padded


def _number(pad_value):
    if not is_number(pad_value):
        raise TypeError(f"pad_value must be a number, got {pad_value!r}")
    return pad_value


def _data_lengths(padded, pad_value):
    """Return lengths up to the last row that is not all padding; NaN equals NaN."""
    data = (padded != pad_value) & ((padded == padded) | (pad_value == pad_value))
    data = data.any(axis=tuple(range(2, padded.ndim)))
    return np.where(data, np.arange(1, padded.shape[1] + 1), 0).max(axis=1, initial=0)


def _depth(lists):
    depth, parts = 0, [lists]
    while parts := [part for part in parts if isinstance(part, list | tuple)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise LoDError(f"lists are nested more than {MAX_DEPTH} deep; does one contain itself?")
        parts = [row for part in parts for row in part]
    return depth
