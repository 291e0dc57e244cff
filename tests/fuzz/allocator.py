"""NumPy's allocations in guarded memory filled with a byte: everything that lodkit makes while it is called.

NEP 49's handler, set through NumPy's C API, so that nothing in lodkit has to know: an ``np.empty``, a copy and a
temporary array alike end right before a page without access. Memory that was freed has no access at all. The handler
is compiled: NumPy frees memory while exceptions are set, when no Python may run.

A block is a page with its size, a page without access, the data up to the end of its last page, a page without access.
"""

from __future__ import annotations

import contextlib
import ctypes

import numpy as np
from numba import carray, cfunc, config, njit, types
from numpy._core import _multiarray_umath

from .memory import PAGE

MOST = 1 << 26  # bytes of one allocation: beyond it there is no memory
_SET_HANDLER = 304  # of NumPy's table of functions
_SIZE, _POINTER, _INT = ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_int


def _libc(name, result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)((name, ctypes.CDLL(None)))


_mmap = _libc("mmap", _SIZE, _SIZE, _SIZE, _INT, _INT, _INT, _SIZE)
_mprotect = _libc("mprotect", _INT, _SIZE, _SIZE, _INT)
_munmap = _libc("munmap", _INT, _SIZE, _SIZE)
_memset = _libc("memset", _SIZE, _SIZE, _INT, _SIZE)
_memcpy = _libc("memcpy", _SIZE, _SIZE, _SIZE, _SIZE)
_READ_WRITE, _PRIVATE_ANONYMOUS = 3, 0x22

#: What the handler reads and writes: the byte to fill memory with, the number of blocks, the size of one.
_state = np.zeros(3, np.int64)


def _allocate(state, size, fill):
    size = max(size, 1)
    if size > MOST:
        return 0
    pages = (size + PAGE - 1) // PAGE * PAGE
    start = _mmap(0, pages + 3 * PAGE, _READ_WRITE, _PRIVATE_ANONYMOUS, -1, 0)
    if start == -1:
        return 0
    state[2] = size
    _memcpy(start, state.ctypes.data + 16, 8)
    _mprotect(start + PAGE, PAGE, 0)
    _mprotect(start + 2 * PAGE + pages, PAGE, 0)
    address = start + 2 * PAGE + pages - size  # a multiple of the item size, as sizes are
    if fill:
        _memset(address, state[0], size)
    state[1] += 1
    return address


def _size_of(state, address):
    _memcpy(state.ctypes.data + 16, address // PAGE * PAGE - 2 * PAGE, 8)
    return state[2]


def _release(state, address, size):
    pages = (size + PAGE - 1) // PAGE * PAGE
    _munmap(address // PAGE * PAGE - 2 * PAGE, pages + 3 * PAGE)
    state[1] -= 1


def _compiled():
    """The four functions of the handler; the first argument is where its state lies."""
    allocate, size_of, release = njit(_allocate), njit(_size_of), njit(_release)

    @cfunc(types.intp(types.voidptr, types.intp))
    def malloc(state, size):
        return allocate(carray(state, 3, np.int64), size, True)

    @cfunc(types.intp(types.voidptr, types.intp, types.intp))
    def calloc(state, count, size):
        return allocate(carray(state, 3, np.int64), count * size, False)

    @cfunc(types.intp(types.voidptr, types.intp, types.intp))
    def realloc(state, old, size):
        state = carray(state, 3, np.int64)
        made = allocate(state, size, True)
        if made and old:
            before = size_of(state, old)
            _memcpy(made, old, min(size, before))
            release(state, old, before)
        return made

    @cfunc(types.void(types.voidptr, types.intp, types.intp))
    def free(state, address, size):
        if address:
            state = carray(state, 3, np.int64)
            release(state, address, size_of(state, address))

    return malloc, calloc, realloc, free


class _Handler(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("state", _POINTER),
        ("functions", _POINTER * 4),
    )


def _setter():
    """NumPy's function that takes a capsule with a handler, and the capsule."""
    python = ctypes.pythonapi
    python.PyCapsule_New.restype = ctypes.py_object
    python.PyCapsule_New.argtypes = _POINTER, _POINTER, _POINTER
    python.PyCapsule_GetPointer.restype = _POINTER
    python.PyCapsule_GetPointer.argtypes = ctypes.py_object, ctypes.c_char_p
    table = python.PyCapsule_GetPointer(_multiarray_umath._ARRAY_API, None)
    address = ctypes.cast(table, ctypes.POINTER(_POINTER))[_SET_HANDLER]
    capsule = python.PyCapsule_New(ctypes.addressof(_handler), ctypes.addressof(_name), None)
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address), capsule


if not config.DISABLE_JIT:
    _functions = _compiled()
    _handler = _Handler(b"guarded", 1, _state.ctypes.data, (_POINTER * 4)(*(f.address for f in _functions)))
    _name = ctypes.create_string_buffer(b"mem_handler")  # a capsule does not copy it
    _set_handler, _capsule = _setter()


@contextlib.contextmanager
def guarded(poison):
    """Context in which NumPy allocates guarded memory, filled with the byte ``poison``. Nothing where none compiles."""
    if config.DISABLE_JIT:
        yield
        return
    _state[0] = poison
    usual = _set_handler(_capsule)
    try:
        yield
    finally:
        _set_handler(usual)


def in_use():
    """Whether NumPy asks this handler: the layout of its table is not part of its promises."""
    if config.DISABLE_JIT:
        return True
    before = int(_state[1])
    with guarded(0xA5):
        probe = np.empty(3, np.uint8)
    return int(_state[1]) == before + 1 and probe.tolist() == [0xA5] * 3
