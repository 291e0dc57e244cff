"""The parts of SelectedRows, checked."""

from __future__ import annotations

import numpy as np

from ..arrays import (
    MAX_INT64,
    check_dense,
    from_lists,
    integer,
    integers,
    is_array,
    is_cpu_tensor,
    plain_array,
    remedy_for,
)
from ..arrays.objects import refuse_objects
from ..arrays.recorded import is_recorded
from ..base.errors import DeviceError, LoDError, RowIndexError
from .levels import locked_copy


def bad_row(rows, i, height):
    return RowIndexError(
        f"rows[{i}] = {rows[i]} is outside [0, {height}) (height={height}); give the table's number of rows as height"
    )


def checked_parts(rows, value, height):
    """Return rows as a read-only copy, a value and the height."""
    value = from_lists(value, "value") if isinstance(value, list | tuple | int | float) else value
    if isinstance(value, np.ndarray) and not is_recorded(value):
        value = refuse_objects(plain_array(value, "value"), "value")
    tensor = is_cpu_tensor(value)
    if tensor:
        check_dense(value, "value")
    elif not is_array(value):
        raise TypeError(
            f"expected a NumPy or CUDA array, or a tensor, as value, got {type(value).__name__}; "
            f"{remedy_for(value, 'value')}"
        )
    height = integer(height, "height")
    if height < 0:
        raise RowIndexError(f"height = {height} is negative")
    if height > MAX_INT64:
        raise RowIndexError(f"height = {height} does not fit int64")
    if tensor or isinstance(value, np.ndarray):
        if not isinstance(rows, np.ndarray) and is_array(rows):
            raise DeviceError("rows are on a GPU and value is not; move one of them")
        rows = locked_copy(integers(rows, "rows"))
    else:
        from ..arrays.cuda import rows_on_device_of

        rows = rows_on_device_of(value, rows)
    if rows.ndim != 1:
        raise LoDError(f"rows must be one-dimensional, got shape {rows.shape}; pass rows.reshape(-1)")
    if not value.ndim or len(value) != len(rows):
        raise LoDError(f"{len(rows)} rows, but value has shape {value.shape}; give one row of values per row")
    if not tensor and not isinstance(value, np.ndarray):
        from ..arrays.cuda import checked_ids

        checked_ids(rows, height, "rows", lambda numbers, i: bad_row(numbers, i, height))
    # Negative numbers are the largest of these.
    elif len(rows) and rows.view(np.uint64).max() >= height:
        raise bad_row(rows, int(np.argmax((rows < 0) | (rows >= height))), height)
    return rows, value, height
