"""Writing of Paddle's binary tensor streams, the format of its operators save and save_combine.

::

    LoDTensor     u32 version = 0 | u64 levels | each level: u64 bytes, u64 offsets[] | Tensor
    SelectedRows  u32 version = 0 | u64 rows | i64 row numbers[] | i64 height | Tensor
    Tensor        u32 version = 0 | i32 bytes | TensorDesc (protobuf) | the data, row-major

All little-endian. A stream does not record which of the two kinds it is; in Paddle the program does.
"""

from __future__ import annotations

import struct

import numpy as np

from ...arrays import is_array, is_bfloat16, name_of_dtype, to_device
from ...base.errors import DTypeError
from ...base.files import replacing
from ...lod import LoDTensor, SelectedRows
from ...registry import DATA_TYPES, TensorDesc

VERSION = 0


def dumps(value):
    """Return the bytes that Paddle's ``save`` operator writes.

    Parameters
    ----------
    value : LoDTensor, array or SelectedRows
        An array is a tensor without levels. Arrays on a GPU are copied to the CPU.

    Returns
    -------
    bytes

    Raises
    ------
    DTypeError
        Paddle lacks the dtype; it has bool, int8 to int64, uint8, float16 to float64.

    Examples
    --------
    >>> import numpy as np
    >>> dumps(LoDTensor(np.array([[5]], np.uint8), [[1]])).hex(" ", -4)
    '00000000 01000000 00000000 10000000 00000000 00000000 00000000 01000000 00000000 00000000 06000000 08141001 100105'
    """
    return b"".join(_chunks(value))


def save(file, value):
    """Write a value as Paddle's ``save`` operator does.

    Parameters
    ----------
    file : path or binary file
        A path is replaced atomically, once all is written. An open file is written from its position.
    value : LoDTensor, array or SelectedRows

    Raises
    ------
    DTypeError
        As ``dumps``; nothing has been written.
    """
    _write(file, _chunks(value))


def save_combine(file, values):
    """Write several values in sequence, as Paddle's ``save_combine`` operator does.

    Parameters
    ----------
    file : path or binary file
        As in ``save``.
    values : list, or dict of str
        A dict is written sorted by name, as by Paddle's ``save_vars`` and ``save_params``. Names are not
        written.
    """
    if isinstance(values, LoDTensor | SelectedRows) or is_array(values):
        raise TypeError(f"save_combine takes a list or a dict of values, got a {type(values).__name__}; save takes one")
    if isinstance(values, dict):
        values = [values[name] for name in sorted(values)]
    _write(file, [chunk for value in list(values) for chunk in _chunks(value)])


def _chunks(value):
    """Return the buffers of a stream; the last is the array's memory."""
    if isinstance(value, SelectedRows):
        rows = to_device(value._rows, "cpu")
        head = [struct.pack("<IQ", VERSION, len(rows)), rows.astype("<i8").tobytes(), struct.pack("<q", value.height)]
        return head + _tensor_chunks(value.value)
    if not isinstance(value, LoDTensor):
        if not is_array(value):
            rule = f"a stream holds a LoDTensor, an array or SelectedRows, got {type(value).__name__}"
            raise TypeError(f"{rule}; convert with np.asarray(...), or write several with save_combine")
        return [struct.pack("<IQ", VERSION, 0), *_tensor_chunks(value)]
    head = [struct.pack("<IQ", VERSION, value.lod_level)]
    for offsets in value._lod:
        head += [struct.pack("<Q", offsets.nbytes), offsets.astype("<u8").tobytes()]
    return head + _tensor_chunks(value._need_values())


def _tensor_chunks(array):
    array = to_device(array, "cpu")
    if name_of_dtype(array.dtype) not in DATA_TYPES:
        known = ", ".join(DATA_TYPES)
        raise DTypeError(f"Paddle has no dtype {array.dtype}, only {known}; convert with .astype(...)")
    desc = TensorDesc(array.dtype, array.shape).to_bytes()
    array = array.view(np.uint16) if is_bfloat16(array.dtype) and array.dtype.isnative else array
    data = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
    return [struct.pack("<Ii", VERSION, len(desc)), desc, data.reshape(-1).view(np.uint8).data]


def _write(file, chunks):
    if hasattr(file, "write"):
        for chunk in chunks:
            _write_all(file, memoryview(chunk))
        return
    with replacing(file) as opened:
        opened.writelines(chunks)


def _write_all(file, rest):
    while len(rest):
        written = file.write(rest)  # unbuffered files may write a part; some return None
        rest = rest[len(rest) if written is None else written :]
