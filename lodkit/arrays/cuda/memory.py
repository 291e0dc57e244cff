"""GPU arrays as Views, which kernels take: allocation, copies, overlap."""

from __future__ import annotations

import math

import numpy as np

from ...base.errors import DeviceError, DTypeError, OutputError
from .. import integers, is_cpu_tensor
from ..numpy_arrays import refuse_large
from ..objects import id_remedy_of
from .kernels import convert, copy_elements, fill
from .libraries import LIBRARIES, library_of
from .views import View, check_dtype

__all__ = ["LIBRARIES", "View", "check_dtype", "copy_to", "extent", "full_like", "library_of", "output", "overlap"]
__all__ += ["refuse_overlap", "rows_on_device_of", "view"]


def view(x):
    """View of a CUDA array; strided arrays are copied."""
    if type(x) is View:
        return x
    found = library_of(x).view(x)
    if found.pointer & (found.dtype.itemsize - 1):
        raise alignment_error(found)
    return found


def alignment_error(x):
    """The error for memory that a GPU cannot read: its context would be lost."""
    size = x.dtype.itemsize
    return DTypeError(
        f"a CUDA array of {x.dtype} starts at an address that is no multiple of {size} bytes, {x.pointer:#x}; "
        "copy it into memory of its own, with x.copy(), or x.clone() of a tensor"
    )


def output(like, shape, dtype, out=None):
    """View for a kernel to fill: of ``out`` if it fits, of a new array on the device of ``like`` by default."""
    if out is None:
        return like.like(shape, dtype)
    shape, dtype = tuple(shape), np.dtype(dtype)
    if library_of(out) is not like.library:
        raise TypeError(f"out must be an array of the inputs' library, got {type(out).__name__}")
    found = view(out)
    if found.device != like.device:
        raise DeviceError(f"out is on cuda:{found.device}, the inputs on cuda:{like.device}; pass one from there")
    if found.shape != shape or found.dtype != dtype:
        raise OutputError(f"out has shape {found.shape} and dtype {found.dtype}; the result is {shape} {dtype}")
    return found.writable("out")


def overlap(a, b):
    """True if two arrays or Views may share memory."""
    (a, a_end), (b, b_end) = extent(a), extent(b)
    return a < b_end and b < a_end


def extent(x):
    """Start and end of the memory of an array, strided or not."""
    if type(x) is View:
        return x.pointer, x.end
    interface = x.__cuda_array_interface__
    shape, itemsize = interface["shape"], np.dtype(interface["typestr"]).itemsize
    start = interface["data"][0] or 0
    if not all(shape):
        return start, start
    if interface.get("strides") is None:
        return start, start + math.prod(shape) * itemsize
    steps = [(n - 1) * stride for n, stride in zip(shape, interface["strides"], strict=True)]
    return start + sum(s for s in steps if s < 0), start + sum(s for s in steps if s > 0) + itemsize


def refuse_overlap(name, array, others, names=()):
    """Raise if ``array``, an output, may share memory with another View, an input."""
    for i, other in enumerate(others):
        if overlap(array, other):
            raise OutputError(f"{name} overlaps {names[i] if names else f'input {i}'}; pass separate memory")


def copy_to(array, out):
    """Copy an array into one like it."""
    source = view(array)
    copy_elements(source, output(source, source.shape, source.dtype, out))


def copy_of(array):
    """Copy of an array."""
    source = view(array)
    return convert(source, source.dtype, new=True).array


def full_like(array, number):
    """Array like another, filled with a number."""
    like = view(array)
    return fill(like.like(like.shape), number).array


def rows_on_device_of(value, rows):
    """Copy of the rows of SelectedRows, int64, on the device of the value."""
    like = view(value)
    if isinstance(rows, np.ndarray) or is_cpu_tensor(rows):
        raise DeviceError("value is on a GPU and rows are not; move one of them")
    if isinstance(rows, list | tuple):
        return like.send(integers(rows, "rows")).array
    rows = view(rows)
    if rows.size and rows.dtype.kind not in "iu":
        raise DTypeError(f"rows must be integers, not {rows.dtype}; {id_remedy_of(rows.dtype, 'rows')}")
    if rows.size and rows.dtype == np.uint64:
        refuse_large(rows.read(), "rows")
    return convert(rows, np.int64, new=True).array


def norm(array):
    """Euclidean norm of all elements, by the library of the array. Synchronises with the device."""
    xp = library_of(array).namespace()
    squares = xp.square(xp.astype(xp.asarray(array), xp.float64))
    return float(view(xp.reshape(xp.sqrt(xp.sum(squares)), (1,))).read()[0])


def grad_output_like(values, given):
    """Output gradient of ``values``, on a GPU, as an array like it."""
    if isinstance(given, np.ndarray):
        raise DeviceError("the output gradient is on the CPU, the target on a GPU; move it there")
    like, found = view(values), view(given)
    if found.dtype.kind not in "fiu":
        raise DTypeError(f"an output gradient must hold floating numbers, not {found.dtype}")
    if found.shape != like.shape:
        raise ValueError(f"output gradient of shape {found.shape} for a target of shape {like.shape}")
    return given if found.dtype == like.dtype else convert(found, like.dtype).array


def join_rows(arrays):
    """Concatenate arrays along their rows."""
    xs = [view(array) for array in arrays]
    for i, x in enumerate(xs):
        if x.dtype != xs[0].dtype:
            raise DTypeError(f"concat: array {i} is {x.dtype}, array 0 {xs[0].dtype}; convert with lodkit.cast")
    out, start = output(xs[0], (sum(map(len, xs)), *xs[0].shape[1:]), xs[0].dtype), 0
    for x in xs:
        copy_elements(x, out.part(start, start + len(x)))
        start += len(x)
    return out.array
