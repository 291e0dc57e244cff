"""Paddle's binary streams of tensors, written: what its operators save and save_combine write.

::

    LoDTensor     u32 version = 0 | u64 levels | each level: u64 bytes, u64 offsets[] | Tensor
    SelectedRows  u32 version = 0 | u64 rows | i64 row numbers[] | i64 height | Tensor
    Tensor        u32 version = 0 | i32 bytes | TensorDesc (protobuf) | the data, row-major

All little-endian. A stream does not say which of the two kinds it is: in Paddle the program does.
"""

from __future__ import annotations

import struct

import numpy as np

from ...arrays.generic import is_array
from ...arrays.transfer import to_device
from ...errors import DTypeError
from ...files import replacing
from ...lod.lod_tensor import LoDTensor
from ...lod.selected_rows import SelectedRows
from ...registry.desc import DATA_TYPES, TensorDesc

VERSION = 0


def dumps(value):
    """Return the bytes that Paddle's ``save`` operator writes.

    Parameters
    ----------
    value : LoDTensor, array or SelectedRows
        An array is a tensor without levels. Arrays on a GPU are fetched.

    Returns
    -------
    bytes

    Raises
    ------
    DTypeError
        Paddle has no such type of values; those there are: bool, int8 to int64, uint8, float16 to float64.

    Examples
    --------
    >>> import numpy as np
    >>> dumps(LoDTensor(np.array([[5]], np.uint8), [[1]])).hex(" ", -4)
    '00000000 01000000 00000000 10000000 00000000 00000000 00000000 01000000 00000000 00000000 06000000 08141001 100105'
    """
    return b"".join(_pieces(value))


def save(file, value):
    """Write a value as Paddle's ``save`` operator does.

    Parameters
    ----------
    file : path or binary file
        A path is replaced at once, when everything is written: an interrupt leaves the old file or the new one.
        A file is written from where it stands.
    value : LoDTensor, array or SelectedRows

    Raises
    ------
    DTypeError
        As ``dumps``; nothing has been written.
    """
    _write(file, _pieces(value))


def save_combine(file, values):
    """Write several values, one after another, as Paddle's ``save_combine`` operator does.

    Parameters
    ----------
    file : path or binary file
        As in ``save``.
    values : list, or dict of str
        Those of a dict are written in the order of their names, sorted, as Paddle's ``save_vars`` and
        ``save_params`` write them. Names are not written.
    """
    if isinstance(values, LoDTensor | SelectedRows) or is_array(values):
        raise TypeError(f"save_combine takes a list or a dict of values, got a {type(values).__name__}; save takes one")
    if isinstance(values, dict):
        values = [values[name] for name in sorted(values)]
    _write(file, [piece for value in list(values) for piece in _pieces(value)])


def _pieces(value):
    """What a value's stream consists of: bytes, and the memory of its array last."""
    if isinstance(value, SelectedRows):
        rows = to_device(value.rows, "cpu")
        head = [struct.pack("<IQ", VERSION, len(rows)), rows.astype("<i8").tobytes(), struct.pack("<q", value.height)]
        return head + _tensor_pieces(value.value)
    if not isinstance(value, LoDTensor):
        if not is_array(value):
            rule = f"a stream holds a LoDTensor, an array or SelectedRows, got {type(value).__name__}"
            raise TypeError(f"{rule}; convert with np.asarray(...), or write several with save_combine")
        return [struct.pack("<IQ", VERSION, 0), *_tensor_pieces(value)]
    head = [struct.pack("<IQ", VERSION, value.lod_level)]
    for offsets in value._lod:
        head += [struct.pack("<Q", offsets.nbytes), offsets.astype("<u8").tobytes()]
    return head + _tensor_pieces(value._need_values())


def _tensor_pieces(array):
    array = to_device(array, "cpu")
    if array.dtype.name not in DATA_TYPES:
        known = ", ".join(DATA_TYPES)
        raise DTypeError(f"Paddle has no type {array.dtype}; there are {known}: convert with .astype(...)")
    desc = TensorDesc(array.dtype, array.shape).to_bytes()
    data = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
    return [struct.pack("<Ii", VERSION, len(desc)), desc, data.reshape(-1).view(np.uint8).data]


def _write(file, pieces):
    if hasattr(file, "write"):
        for piece in pieces:
            _write_all(file, memoryview(piece))
        return
    with replacing(file) as draft, open(draft, "xb") as opened:
        for piece in pieces:
            opened.write(piece)


def _write_all(file, rest):
    while len(rest):
        written = file.write(rest)  # an unbuffered file may take a part; some say nothing
        rest = rest[len(rest) if written is None else written :]
