"""Structures of the Arrow C data and stream interfaces, and the capsules that carry them between libraries."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int, c_int64, c_void_p

import numpy as np

NULLABLE = 2  # of ArrowSchema.flags
SCHEMA, ARRAY, STREAM = b"arrow_schema", b"arrow_array", b"arrow_array_stream"

#: Arrow's formats of numbers as NumPy's types.
NUMBERS: dict[bytes, np.dtype] = {
    format.encode(): np.dtype(kind + size)
    for kind, formats in {"i": "csil", "u": "CSIL", "f": "efg"}.items()
    for format, size in zip(formats, "248" if kind == "f" else "1248", strict=True)
}
FORMATS = {dtype: format for format, dtype in NUMBERS.items()}


class _Node(ctypes.Structure):
    def child(self, i):
        """The i-th child, where it lies; None where there is none."""
        return self._read_pointer(self.children + i * 8) if 0 <= i < self.n_children and self.children else None

    def words(self):
        """The dictionary of an array of ids, where it lies; None where there is none."""
        return type(self).from_address(self.dictionary) if self.dictionary else None

    def _read_pointer(self, place):
        address = c_void_p.from_address(place).value
        return type(self).from_address(address) if address else None


class ArrowSchema(_Node):
    """A type: ``format`` as in Arrow's specification, and the types of its children."""

    _fields_ = (
        *(("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64)),
        *(("n_children", c_int64), ("children", c_void_p), ("dictionary", c_void_p)),
        *(("release", c_void_p), ("private_data", c_void_p)),
    )


class ArrowArray(_Node):
    """Addresses of buffers, and of children: nothing says how long the buffers are."""

    _fields_ = (
        *(("length", c_int64), ("null_count", c_int64), ("offset", c_int64)),
        *(("n_buffers", c_int64), ("n_children", c_int64), ("buffers", c_void_p), ("children", c_void_p)),
        *(("dictionary", c_void_p), ("release", c_void_p), ("private_data", c_void_p)),
    )

    def buffer(self, i):
        """Address of the i-th buffer; None where there is none."""
        there = 0 <= i < self.n_buffers and self.buffers
        return c_void_p.from_address(self.buffers + i * 8).value if there else None


class ArrowArrayStream(ctypes.Structure):
    """Functions that give a type and then array after array of it."""

    _fields_ = (
        *(("get_schema", c_void_p), ("get_next", c_void_p), ("get_last_error", c_void_p)),
        *(("release", c_void_p), ("private_data", c_void_p)),
    )


Release = ctypes.CFUNCTYPE(None, c_void_p)
Get = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)
LastError = ctypes.CFUNCTYPE(c_char_p, c_void_p)

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = c_void_p, (ctypes.py_object, c_char_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, (c_void_p, c_char_p, c_void_p)
set_context = ctypes.pythonapi.PyCapsule_SetContext
set_context.restype, set_context.argtypes = c_int, (ctypes.py_object, c_void_p)
add_reference = ctypes.pythonapi.Py_IncRef
add_reference.restype, add_reference.argtypes = None, (ctypes.py_object,)
