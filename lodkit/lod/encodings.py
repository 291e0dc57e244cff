"""Conversions between LoDTensor and other encodings."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Self

import numpy as np

from ..arrays import (
    array_of,
    from_lists,
    integer,
    integers,
    is_cpu_tensor,
    is_tensor,
    output,
    plain_array,
    tensor_of,
    to_device,
)
from ..arrays.objects import refuse_objects
from ..arrays.recorded import is_on_tape, plain_view, track
from ..arrays.tensors import check_storage
from ..arrays.types import Array, ArrayLike, DenseLike, Device, DTypeLike, Integer, PadValue, Values
from ..base.bfloat16 import to_readable
from ..base.errors import DTypeError, LoDError, SegmentIdError
from ..base.tracebacks import surface
from . import levels as _levels
from .elsewhere import Familiar
from .indexing import require_cpu
from .joining import join_sequences
from .large import joined_rows, needs_memory, rows_of
from .levels import freeze, lengths_between, load_compiled
from .members import Members

MAX_DEPTH = 64


class Conversions(Familiar, Members):
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
        remedy = "; pass levels one by one, from_offsets(values, *offsets)"
        return cls(values, lod=_levels.from_offsets(offsets, absolute, "offsets", remedy))

    @classmethod
    @needs_memory
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
        # Private copy: another thread may write to the array meanwhile.
        values, ids = cls(values).values, integers(ids, "segment_ids").copy()
        if ids.shape != values.shape[:1]:
            raise SegmentIdError(f"segment_ids has shape {ids.shape}, but must be ({values.shape[0]},), one id per row")
        count = int(ids.max(initial=-1)) + 1 if num_segments is None else integer(num_segments, "num_segments")
        outside = np.flatnonzero((ids < 0) | (ids >= count))
        if len(outside) or count < 0:
            place = f"segment_ids[{outside[0]}] = {ids[outside[0]]}" if len(outside) else "num_segments"
            raise SegmentIdError(f"{place} is outside [0, {count}) (num_segments={count})")
        offsets, order = load_compiled().sort_by_segment(ids, count)
        if load_compiled().first_decrease(ids):
            if not is_cpu_tensor(values):
                require_cpu(values, "from_segment_ids with unsorted ids")
            values = values[order]
        return cls._wrap(values, (freeze(offsets),))

    @classmethod
    @needs_memory
    def from_padded(
        cls, padded: ArrayLike, lengths: ArrayLike | None = None, *, pad_value: PadValue | None = None
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
        if is_cpu_tensor(padded):
            made = cls.from_padded(array_of(padded, "padded"), lengths, pad_value=pad_value)
            return made._like(tensor_of(made._values, padded))
        recorded = track(padded)
        padded = _batch(plain_view(padded), "from_padded")
        count, width = padded.shape[:2]
        if lengths is None:
            if pad_value is None:
                raise TypeError("from_padded needs lengths or pad_value= to tell data from padding")
            lengths = _data_lengths(padded, load_compiled("padded").padding_of(pad_value, padded.dtype))
        shape = getattr(lengths, "shape", ())
        if len(shape) == 2 and str(getattr(lengths, "dtype", "")).endswith("bool"):
            raise DTypeError(
                f"from_padded: lengths is a mask of shape {tuple(shape)}; where data comes first pass its sums, "
                "lengths.sum(axis=1)"
            )
        offsets = _levels.level_offsets(lengths, "lengths")
        if len(offsets) - 1 != count:
            raise LoDError(f"from_padded: {len(offsets) - 1} lengths for {count} padded sequences; give one for each")
        if load_compiled().longest_length.code(offsets) > width:
            lengths = lengths_between(offsets)
            i = int(np.argmax(lengths))
            raise LoDError(
                f"from_padded: lengths[{i}] = {lengths[i]} exceeds the padded width {width}; a length counts the rows "
                "that are data"
            )
        rows = np.arange(count * width) if is_on_tape(recorded) else padded.reshape(count * width, *padded.shape[2:])
        values = output((offsets.item(-1), *rows.shape[1:]), rows.dtype)
        load_compiled("copy_runs").copy_runs(rows, width, offsets, values)
        if is_on_tape(recorded):
            values = recorded.reshape(count * width, *padded.shape[2:])[values]
        return cls._wrap(values, (offsets,))

    @classmethod
    @needs_memory
    def from_uniform(cls, values: DenseLike) -> Self:
        """Make a LoDTensor of one level from ``(sequences, length, *item)``: equal lengths."""
        values = cls(values).values
        if len(values.shape) < 2:
            raise LoDError(f"from_uniform takes (sequences, length, *item), got shape {tuple(values.shape)}")
        count, length, *item = values.shape
        return cls._wrap(values.reshape((count * length, *item)), (freeze(np.arange(count + 1) * length),))

    @classmethod
    @surface
    def from_nested(cls, lists: Any, *, lod_level: int | None = None, dtype: DTypeLike | None = None) -> Self:
        """Make a LoDTensor from nested data: lists, arrays, columns of tables, tensors.

        Parameters
        ----------
        lists : nested lists, or array, Series, column or tensor
            Lists and tuples, nested to any depth; arrays, tensors and Series in a list are sequences, those in lists of
            lists rows. An array alone is a batch of sequences of equal length, ``(sequences, length, *item)``; one
            dimension is lod_level 0. pandas Series of lists, objects with Arrow's interface (pyarrow, polars, duckdb:
            ``from_arrow``), awkward arrays (``from_awkward``), nested tensors of PyTorch (``from_torch``).
        lod_level : int, optional
            Number of levels below the batch; deeper lists and dimensions are items. Default: all lists, as above.
        dtype : data-type, optional

        Raises
        ------
        LoDError
            Lists and numbers are mixed at one depth, or rows differ in shape.
        DTypeError
            There are words (see ``lodkit.vocabulary``), missing values or other objects.

        Examples
        --------
        >>> from lodkit import LoDTensor
        >>> LoDTensor.from_nested([[[10, 11, 12], [20]], [[30, 31]]]).recursive_sequence_lengths()
        [[2, 1], [3, 1, 2]]
        >>> LoDTensor.from_nested([np.array([1.0, 2.0]), np.array([3.0])])
        LoDTensor([[1., 2.], [3.]], recursive_sequence_lengths=[[2, 1]], shape=(3,), dtype=float64)
        >>> LoDTensor.from_nested([[[1, 2], [3, 4]], [[5, 6]]], lod_level=1).shape
        (3, 2)
        """
        from .nesting import from_nested

        return from_nested(cls, lists, lod_level, dtype)

    @classmethod
    @needs_memory
    def from_sequences(cls, sequences: Iterable[DenseLike | Conversions]) -> Self:
        """Make a LoDTensor from its sequences: arrays ``(length, *item)``, or LoDTensors. Empty ones decide no type."""
        if not np.iterable(sequences):
            raise TypeError(f"sequences must be a list of arrays or of LoDTensors, got {type(sequences).__name__}")
        parts: list[Any] = list(sequences)
        if parts and all(isinstance(s, cls) for s in parts):
            from .batching import concat

            below = concat(parts)
            (top,) = _levels.from_lengths([[len(s) for s in parts]])
            return cls._wrap(below.values, (top, *below._lod))
        joined = join_sequences(cls, parts, set(map(type, parts)))
        if joined is not None:
            return joined
        if any(map(is_tensor, parts)):
            return cls._from_tensors(parts)
        arrays = [rows_of(s, f"sequences[{i}]") for i, s in enumerate(parts)]
        lengths = [len(a) for a in arrays]
        # An empty list has neither dtype nor item shape and must not decide them.
        arrays = [a for a, s in zip(arrays, parts, strict=True) if len(a) or isinstance(s, np.ndarray)]
        for i, a in enumerate(arrays):
            if a.shape[1:] != arrays[0].shape[1:]:
                shapes = f"{a.shape[1:]}, the first {arrays[0].shape[1:]}"
                raise LoDError(f"sequence {i} has items of shape {shapes}")
        arrays = [a for a in arrays if len(a)] or arrays
        return cls(joined_rows(arrays, "sequences") if arrays else np.empty(0), [lengths])

    @classmethod
    def _from_tensors(cls, sequences):
        """``from_sequences`` of tensors, among which there may be lists and arrays; PyTorch joins them."""
        torch = sys.modules["torch"]
        parts = [torch.as_tensor(s) for s in sequences if is_tensor(s) or len(s)]
        for i, part in enumerate(parts):
            check_storage(part, f"sequence {i}")
            if part.shape[1:] != parts[0].shape[1:] or not part.ndim:
                raise LoDError(
                    f"sequence {i} has shape {tuple(part.shape)}, the first {tuple(parts[0].shape)}; "
                    "sequences are (length, *item)"
                )
        return cls(torch.cat([x for x in parts if len(x)] or parts), [[len(s) for s in sequences]])

    @needs_memory
    def to_padded(self, pad_value: PadValue = 0, max_length: Integer | None = None) -> Array:
        """Return a dense array, one axis per level, with ``pad_value`` after the end of short sequences.

        Parameters
        ----------
        pad_value : scalar
            A number or time that the values' type holds.
        max_length : int, optional
            Width of the innermost padded axis; longer sequences are truncated. Default: the longest.

        Returns
        -------
        array
            ``(sequences, *widths, *item)``, of the values' library.
        """
        return load_compiled("padded").to_padded(self, pad_value, max_length)

    def to_uniform(self) -> Values:
        """Return ``values`` with one axis per level, without a copy; lengths of a level must be equal."""
        widths = [self._uniform_length(level) for level in range(self.lod_level)]
        return track(self._need_values()).reshape((len(self), *widths, *self.shape[1:]))

    def _uniform_length(self, level):
        lengths = self.lengths(level)
        differing = np.flatnonzero(lengths != lengths[:1])
        if len(differing):
            i = int(differing[0])
            raise LoDError(
                f"lengths of level {level} differ ({lengths[0]} at 0, {lengths[i]} at {i}); use to_padded() or .values"
            )
        return int(lengths[0]) if len(lengths) else 0

    @needs_memory
    def to_list(self) -> list[Any]:
        """Return nested Python lists."""
        values = self.to("cpu")._need_values()
        rows = (to_readable(values) if isinstance(values, np.ndarray) else values).tolist()
        for offsets in reversed(self._lod):
            rows = [rows[a:b] for a, b in pairwise(offsets.tolist())]
        return rows

    def to(self, device: Device) -> Self:
        """Return the tensor with its values on ``"cpu"`` or ``"cuda"``; itself if they are there."""
        if device == self.device:
            return self
        return self.with_values(to_device(self._need_values(), device))


def _batch(padded, what):
    if isinstance(padded, list | tuple):
        padded = from_lists(padded, what)
    require_cpu(padded, what)
    padded = plain_array(padded, "padded")
    refuse_objects(padded, what)
    if padded.ndim < 2:
        raise LoDError(f"{what} takes (sequences, width, *item), got shape {padded.shape}")
    return padded


def _data_lengths(padded, pad_value):
    """Return lengths up to the last row that is not all padding; NaN equals NaN."""
    padded, pad_value = map(to_readable, (padded, np.asarray(pad_value)))
    data = (padded != pad_value) & ((padded == padded) | (pad_value == pad_value))
    data = data.any(axis=tuple(range(2, padded.ndim)))
    return np.where(data, np.arange(1, padded.shape[1] + 1), 0).max(axis=1, initial=0)
