"""Nested sequences as one array, with a padded axis per level."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import (
    array_of,
    is_cpu_tensor,
    is_integer,
    is_number,
    is_time,
    name_of_dtype,
    output,
    tensor_of,
    time_of,
    to_dtype,
    upcast,
)
from ..arrays.recorded import is_on_tape, refuse_unrecorded, track
from ..arrays.tensors import bfloat16_array_of
from ..base.errors import DTypeError, LoDError
from .copy_runs import copy_runs
from .indexing import require_cpu
from .levels import lengths_between
from .offsets import longest_length

MAX_DIMS = 64  # of NumPy's arrays


def to_padded(t, pad_value, max_length):
    """``LoDTensor.to_padded``."""
    values, last = t._need_values(), t._level(-1)
    if type(values) is not np.ndarray and is_cpu_tensor(values):
        bits = bfloat16_array_of(values)
        array = array_of(values, "values") if bits is None else bits
        return tensor_of(to_padded(t._like(array), pad_value, max_length), values)
    require_cpu(values, "to_padded")
    if is_on_tape(track(values)):
        refuse_unrecorded("to_padded", "lodkit.sequence_pad is")
    fill = padding_of(pad_value, values.dtype)
    if max_length is not None and (not is_integer(max_length) or max_length < 0):
        raise ValueError(f"max_length must be an integer >= 0, got {max_length!r}")
    if (rank := last + values.ndim + 1) > MAX_DIMS:
        raise LoDError(
            f"to_padded would give an array of {rank} dimensions, of lod_level {last + 1} and values of {values.ndim}; "
            f"NumPy's have at most {MAX_DIMS}; use to_list(), or pad an inner level: t.slice_in_level(...)"
        )
    widths = [int(longest_length.code(offsets)) for offsets in t._lod]
    widths[-1] = widths[-1] if max_length is None else int(max_length)
    item = values.shape[1:]
    out = output((len(t), *widths, *item), values.dtype)
    cells = math.prod(out.shape[: last + 1])
    runs = _runs_of_cells(t._lod, widths, cells) if last else t._lod[0]
    copy_runs(values, runs, widths[-1], out.reshape(cells * widths[-1], *item), fill)
    return out


def padding_of(pad_value, dtype):
    """Padding, a number or a time, in the type of the values; DTypeError if that does not hold it."""
    refusal = DTypeError(f"{name_of_dtype(dtype)} cannot hold pad_value {pad_value!s:.80}; convert with .astype(...)")
    if not (is_time(pad_value) or is_number(pad_value)) and not (
        dtype.kind == "c" and isinstance(pad_value, complex | np.complexfloating)
    ):
        times = ", or a time of NumPy, as np.datetime64('2026-01-31')" if dtype.kind in "mM" else ""
        raise TypeError(
            f"pad_value must be a number that float64 holds, got {pad_value!r:.80}; pass pad_value=0.0{times}"
        )
    if is_time(pad_value) or dtype.kind in "mM":
        if (time := time_of(pad_value, dtype)) is None:
            raise refusal
        return time
    if type(pad_value) is int and pad_value == 0:
        return 0
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            fill = to_dtype(np.asarray(pad_value), dtype)[()]
            found = upcast(np.asarray(fill))[()]
    except OverflowError:  # of integers beyond 64 bits
        raise refusal from None
    lost = np.isinf(found) and not np.isinf(pad_value) if found.dtype.kind in "fc" else fill != pad_value
    if lost and found.dtype.kind in "biufc":
        raise refusal
    return fill


def _runs_of_cells(levels, widths, cells):
    """Start and stop of the rows in each cell of padded levels; none in cells that are padding."""
    cell = np.arange(len(levels[0]) - 1)
    for offsets, width in zip(levels, widths[:-1], strict=False):
        cell = np.repeat(cell * width - offsets[:-1], lengths_between(offsets)) + np.arange(offsets[-1])
    runs = np.zeros((2, cells), np.int64)
    runs[:, cell] = levels[-1][:-1], levels[-1][1:]
    return tuple(runs)
