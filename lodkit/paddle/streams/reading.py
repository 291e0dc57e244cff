"""Reading of Paddle's binary tensor streams; every size is checked against the remaining bytes.

``writing.py`` documents the format.
"""

from __future__ import annotations

import io
import math

import numpy as np

from ...arrays import empty, is_bfloat16
from ...base.errors import LoDError, LodkitError
from ...base.files import open_regular
from ...lod import LoDTensor, SelectedRows, bad_row
from ...lod import levels as _levels
from ...lod.encodings import MAX_DEPTH
from ...registry import TensorDesc
from .bytes import Reader, StreamError
from .writing import VERSION

LONGEST_DESC = 1 << 16
_KNOWN = {
    b"\x80": "; it looks like a pickle, as paddle.save and paddle.static.save write: pickle.load reads it",
    b"PK\x03\x04": "; it looks like a zip archive",
}


def loads(data, kind=LoDTensor):
    """Read one value from bytes.

    Parameters
    ----------
    data : bytes
    kind : type
        ``LoDTensor`` (also for plain parameters) or ``SelectedRows``: the stream does not record it.

    Returns
    -------
    numpy.ndarray, LoDTensor or SelectedRows
        An array if there are no levels.

    Raises
    ------
    StreamError
        The bytes are not such a stream, or some are left. No memory is allocated for missing bytes.

    Examples
    --------
    >>> from lodkit.paddle import dumps
    >>> loads(dumps(LoDTensor([3, 1, 4], [[2, 1]])))
    LoDTensor([[3, 1], [4]], recursive_sequence_lengths=[[2, 1]], shape=(3,), dtype=int64)
    """
    return _read_single(Reader(io.BytesIO(data)), kind)


def load(file, kind=LoDTensor):
    """Read one variable written by ``save``, or by Paddle's ``save`` operator.

    Parameters
    ----------
    file : path or binary file
        A path holds one value. An open file is read from its position to the end of the value.
    kind : type
        As in ``loads``.

    Returns
    -------
    numpy.ndarray, LoDTensor or SelectedRows

    Raises
    ------
    StreamError
        As ``loads``.
    """
    if hasattr(file, "read"):
        return _read(Reader(file), kind)
    with open_regular(file) as opened:
        return _read_single(Reader(opened), kind)


def load_combine(file, names=None, kind=LoDTensor):
    """Read all values written by ``save_combine``, or by Paddle's ``save_combine`` operator.

    Parameters
    ----------
    file : path or binary file
    names : list of str, optional
        One per value, in file order: Paddle's ``save_vars`` and ``save_inference_model`` sort by name.
    kind : type
        As in ``loads``, for every value.

    Returns
    -------
    list, or dict by names

    Raises
    ------
    StreamError
        As ``loads``, or the number of values differs from the number of names.
    """
    if not hasattr(file, "read"):
        with open_regular(file) as opened:
            return load_combine(opened, names, kind)
    reader, values = Reader(file), []
    names = None if names is None else list(names)
    if names is not None and len(set(names)) != len(names):
        raise ValueError(f"names must be unique: {names}")
    while reader.left:
        try:
            values.append(_read(reader, kind))
        except StreamError as error:
            raise StreamError(f"value {len(values)}: {error}") from None
    if names is None:
        return values
    if len(names) != len(values):
        raise StreamError(f"{len(values)} values in the file for {len(names)} names; give one per value, in file order")
    return dict(zip(names, values, strict=True))


def _read_single(reader, kind):
    """Read a file of one value; on failure, try the other kind for the error message."""
    start = reader.at
    try:
        return _check_end(reader, kind)
    except StreamError as error:
        other = LoDTensor if kind is SelectedRows else SelectedRows
        reader.go(start)
        try:
            _check_end(reader, other)
        except StreamError:
            raise error from None
        raise StreamError(f"{error}; it reads as {other.__name__}: kind=lodkit.{other.__name__}") from None


def _check_end(reader, kind):
    value = _read(reader, kind)
    if reader.left:
        raise StreamError(
            f"{reader.left:,} bytes are left after the value, at byte {reader.at}; load_combine reads several values"
        )
    return value


def _read(reader, kind):
    if kind is not LoDTensor and kind is not SelectedRows:
        raise TypeError(f"kind must be LoDTensor or SelectedRows, got {kind!r}")
    _check_version(reader, f"a {kind.__name__}")
    return (_read_lod_tensor if kind is LoDTensor else _read_selected_rows)(reader)


def _check_version(reader, what):
    at, data = reader.at, reader.take(4, f"the version of {what}")
    version = int.from_bytes(data, "little")
    if version != VERSION:
        hint = next((text for start, text in _KNOWN.items() if data.startswith(start)), "")
        raise StreamError(f"the version of {what} at byte {at} is {version}, not {VERSION}: not a Paddle stream{hint}")


def _read_lod_tensor(reader):
    at, count = reader.at, reader.number("<Q", "the number of levels")
    if count > MAX_DEPTH:
        raise StreamError(f"{count:,} levels at byte {at}, more than {MAX_DEPTH}: not a Paddle stream")
    start, levels = reader.at, [_read_level(reader, level) for level in range(count)]
    try:
        levels = _levels.from_offsets(levels)
    except LoDError as error:
        raise StreamError(f"the levels at byte {start}: {error}") from None
    values = _read_tensor(reader, lambda shape: _check_fit(levels, shape))
    return LoDTensor._wrap(values, levels) if levels else values


def _check_fit(levels, shape):
    if levels and not shape:
        return f"{len(levels)} levels, but a tensor without dimensions"
    if levels and levels[-1][-1] != shape[0]:
        return f"the innermost level ends at {levels[-1][-1]}, but there are {shape[0]} rows; these must be equal"
    return None


def _read_level(reader, level):
    at, size = reader.at, reader.number("<Q", f"the size of level {level}")
    if size % 8 or not size:
        raise StreamError(
            f"level {level} at byte {at} has {size:,} bytes; it must have 8 per offset, and at least one offset"
        )
    return reader.integers(size // 8, f"level {level}")


def _read_selected_rows(reader):
    at, count = reader.at, reader.number("<Q", "the number of rows")
    rows = reader.integers(count, f"{count:,} row numbers")
    height_at, height = reader.at, reader.number("<q", "the height")
    if height < 0:
        raise StreamError(f"the height at byte {height_at} is {height}; it must be >= 0")
    outside = (rows < 0) | (rows >= height)
    if outside.any():
        i = int(np.argmax(outside))
        raise StreamError(f"{bad_row(rows, i, height)}; that row number is at byte {at + 8 + 8 * i}")

    def fit(shape):
        return None if shape[:1] == (count,) else f"{count:,} row numbers, but a value of shape {shape}"

    return SelectedRows._wrap(rows, _read_tensor(reader, fit), height)


def _read_tensor(reader, misfit):
    """Read an array; ``misfit(shape)`` returns an error or None, before memory is allocated."""
    _check_version(reader, "a tensor")
    at, size = reader.at, reader.number("<i", "the size of TensorDesc")
    if not 0 <= size <= LONGEST_DESC:
        raise StreamError(f"TensorDesc at byte {at} has {size:,} bytes; it must have 2 to {LONGEST_DESC:,}")
    at, data = reader.at, reader.take(size, "TensorDesc")
    try:
        desc = TensorDesc.from_bytes(data)
    except LodkitError as error:
        raise StreamError(f"TensorDesc at byte {at}: {error}") from None
    wrong = _bad_dims(desc.dims, desc.dtype.itemsize) or misfit(desc.dims)
    if wrong:
        raise StreamError(f"TensorDesc at byte {at}: {wrong}")
    start, what = reader.at, f"the data of shape {desc.dims}, {desc.dtype},"
    reader.need(math.prod(desc.dims) * desc.dtype.itemsize, what)
    kind = np.dtype(np.uint16) if is_bfloat16(desc.dtype) else desc.dtype
    array = reader.fill(empty(desc.dims, kind.newbyteorder("<")), what)
    bits = array.reshape(-1).view(np.uint8)
    if desc.dtype == bool and bits.max(initial=0) > 1:
        i = int(np.argmax(bits > 1))
        raise StreamError(f"a bool at byte {start + i} is {bits[i]}, not 0 or 1; save the values as uint8")
    return array.astype(kind, copy=False).view(desc.dtype)


def _bad_dims(dims, itemsize):
    if min(dims, default=0) < 0:
        return f"dims {dims} must all be known"
    if len(dims) > MAX_DEPTH:
        return f"{len(dims)} dims, more than {MAX_DEPTH}"
    if math.prod(max(d, 1) for d in dims) * itemsize >= 1 << 63:
        return f"dims {dims} exceed the address space"
    return None
