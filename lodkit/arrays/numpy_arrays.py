"""NumPy arrays: allocation, checks, and the matrix that kernels take.

Nothing here computes. ``matrix`` copies only what a kernel cannot address: arrays that are not C-contiguous, or of
foreign byte order. Such an array is refused if it must be updated in place (``writable``).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

import numpy as np

from ..base.bfloat16 import is_bfloat16
from ..base.errors import DTypeError, LoDError, OutputError, RowIndexError, ShapeMismatchError, SizeError
from .bfloat16 import bits_of, is_half, widen
from .checks import MAX_INT64, as_dtype, is_time
from .number_types import check_values, native
from .objects import NUMBERS, id_remedy_of, objects_error, remedy_of
from .pages import allocate
from .recorded import RecordedArray, refuse, refuse_lists, state
from .remedies import mixed_types
from .tensors import array_of, is_tensor
from .types import Array, DTypeLike

HUGE_PAGE_BYTES = 1 << 21
BIG_ARRAY_BYTES = 1 << 22
#: Of ``flags.num``: C-contiguous and aligned, writable, or writable memory of its own.
ALIGNED, WRITABLE, OWN = 0x101, 0x401, 0x405
#: Words of what only moves, by its bytes, where kernels do not compute in its type: they share code with these.
WORDS = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
AS_THEY_ARE = frozenset(map(np.dtype, ("float32", "float64", "int32", "int64")))
_INT64, _UINT64, _FLOAT64 = map(np.dtype, (np.int64, np.uint64, np.float64))


def empty(shape: int | Sequence[int], dtype: DTypeLike = np.float32) -> Array:
    """Return an uninitialised array aligned to 64 bytes, and to huge pages if it is big.

    From 4 MiB up the memory is private, anonymous and advised to 2 MiB pages where the system has them: gathers are
    1.3 to 1.6 times faster than from ``np.empty``. Up to 256 MiB of freed memory is kept for later arrays, all
    but the last 32 MiB as long as the system does not need it: writing to fresh pages takes three times as long.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : data-type, default float32

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> table = empty((1000, 64))
    >>> table.shape, table.ctypes.data % 64
    ((1000, 64), 0)
    """
    try:
        shape = tuple(map(operator.index, shape)) if np.iterable(shape) else (operator.index(shape),)
    except TypeError as error:
        raise TypeError(f"shape must be an integer or a list of integers, got {shape!r}") from error
    if min(shape, default=0) < 0:
        raise ValueError(f"shape {shape} has a negative size")
    dtype = as_dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    try:
        if dtype.hasobject or not size:
            return np.empty(shape, dtype)
        if size < BIG_ARRAY_BYTES:
            buffer, align = np.empty(size + 64, np.uint8), 64
        else:
            buffer, align = allocate(size + HUGE_PAGE_BYTES), HUGE_PAGE_BYTES
    except (MemoryError, ValueError) as error:
        raise SizeError(f"there is no memory for an array of shape {shape} and type {dtype} ({error})") from error
    start = -buffer.ctypes.data % align
    return buffer[start : start + size].view(dtype).reshape(shape)


def output(shape, dtype, out=None, like=None):
    """Array for a kernel to fill: ``out`` if it fits, a new one by default. ``like`` is for other devices."""
    if out is None:
        size = math.prod(shape)
        if size < BIG_ARRAY_BYTES // 8 or size * np.dtype(dtype).itemsize < BIG_ARRAY_BYTES:
            return np.empty(shape, dtype)
        return empty(shape, dtype)
    if type(out) is not np.ndarray:
        raise TypeError(
            f"out must be a plain numpy.ndarray, got {type(out).__name__}; of a subclass pass np.asarray(out)"
        )
    if out.shape != tuple(shape) or out.dtype != dtype:
        raise OutputError(
            f"out has shape {out.shape} and dtype {out.dtype}; the result is {tuple(shape)} {np.dtype(dtype)}"
        )
    return writable(out, "out")


# ``output`` for a few rows, without the test of their size: 0.15 us less.
small_output = np.empty


def writable(array, name):
    """Return ``array``; OutputError unless kernels can write to it in place."""
    if type(array) is np.ndarray and array.flags.num & WRITABLE == WRITABLE and array.dtype.isnative:
        return array
    if not isinstance(array, np.ndarray):
        return array.writable(name)  # the View of a CUDA array
    flags, kept = array.flags, "lodkit.parameter({})" if isinstance(array, RecordedArray) else "{}"
    if not flags.writeable:
        made = kept.format(f"{name}.copy()")
        raise OutputError(f"{name} is read-only; keep {made}, which can be written, and pass that")
    if not flags.c_contiguous or not array.dtype.isnative:
        remedy = "keep " + kept.format(f"{name}.astype('{native(array.dtype)}', 'C')") + ", and pass that"
        raise OutputError(f"{name} is not a C-contiguous array in native byte order; {remedy}")
    return array


def matrix(array):
    """``array`` as a matrix of one row per item: ``(rows, elements)``, C-contiguous.

    float16 as uint16 bits, bfloat16 as int16 bits.
    """
    if array.ndim == 1:
        # Takes 30 ns less than reshape.
        array = array[:, None]
    if array.ndim == 2 and array.dtype in AS_THEY_ARE and array.flags.c_contiguous:
        return array
    if array.ndim != 2:
        array = array.reshape(len(array), math.prod(array.shape[1:]))
    if not (array.flags.c_contiguous and array.dtype.isnative):
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    if array.dtype == np.float16:
        return array.view(np.uint16)
    return bits_of(array) if is_bfloat16(array.dtype) else array


def words(array):
    """Return ``matrix(array)`` for a kernel that only moves numbers: types that none computes in as ``WORDS``."""
    array = matrix(array)
    return array if array.dtype in AS_THEY_ARE else array.view(WORDS[array.itemsize])


def without_repeats(array):
    """The elements of an array once, where broadcasting repeats them; an index here is one of the array."""
    return array[tuple(slice(1) if stride == 0 else slice(None) for stride in array.strides)]


def upcast(array):
    """float16 of either byte order and bfloat16 as float32: CPU kernels compute no halves. Other arrays as they are."""
    return widen(array) if is_half(array.dtype) else array


def total_dtype(dtype):
    """Type in which values of a type are added up: int64 for integers, uint64 for unsigned ones, else float64."""
    return _UINT64 if dtype.kind == "u" else _INT64 if dtype.kind in "ib" else _FLOAT64


def time_of(time, dtype):
    """A time, or a whole number of units, as a value of ``dtype``; NaT is one of every unit. None where it is none."""
    if dtype.kind not in "mM":
        return None
    if not is_time(time):
        whole = math.isfinite(time) and time == int(time) and -1 << 63 <= int(time) < 1 << 63
        return np.array(int(time), np.int64).view(native(dtype))[()] if whole else None
    if np.isnat(time):
        return np.array("NaT", dtype)[()]
    # Months have no number of days: NumPy would take their mean.
    if time.dtype.kind != dtype.kind or not np.can_cast(time.dtype, dtype, "same_kind"):
        return None
    found = np.asarray(time).astype(dtype)
    # A comparison would convert both to the finer unit, and overflow as this did.
    return found[()] if found.astype(time.dtype) == time else None


def check_same_type(name, values, **others):
    """Refuse arrays of another type than the values, which must be floating."""
    check_values(values.dtype, name, floating=True)
    for what, array in others.items():
        if array is not None and native(array.dtype) != native(values.dtype):
            raise mixed_types(f"{name}: the {what}", array.dtype, "the input", values.dtype)


def from_lists(x, name):
    """Lists of numbers as an array; LoDError if they are uneven."""
    if is_tensor(x):
        return array_of(x, name)
    if state.open:
        refuse_lists(x)
    return _to_even_array(plain_rows(x, name), name)


def _to_even_array(x, name):
    try:
        return np.asarray(x)
    except ValueError as error:
        raise LoDError(
            f"{name} = {x!r:.200} is a list of uneven lists; make a LoDTensor of it: LoDTensor.from_nested"
        ) from error


def check_rows(array, name):
    """Refuse an array of no dimension, which has no rows."""
    if array.ndim == 0:
        raise ShapeMismatchError(f"{name} has no dimension; the first one counts rows, pass {name}.reshape(1)")
    return array


def check_gradient(grad, shape, name="grad", bfloat16=False):
    """Check that a gradient has the shape of the forward operator's result, and a numeric type."""
    if tuple(grad.shape) != tuple(shape):
        shape = tuple(map(int, shape))
        raise ShapeMismatchError(f"{name} has shape {tuple(grad.shape)}, the result {shape}; pass one like it")
    # The type of a PyTorch tensor has no kind; its View is checked.
    if getattr(grad.dtype, "kind", "f") not in "fiu" and not (bfloat16 and is_bfloat16(grad.dtype)):
        raise DTypeError(f"{name} must hold floating numbers, not {grad.dtype}; {remedy_of(grad.dtype, floating=True)}")
    return grad


def plain_array(x, name):
    """A list, or an array of a subclass of numpy.ndarray, as a numpy.ndarray; masked arrays are refused."""
    if type(x) is np.ndarray:
        return x
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask no operator looks at; pass {name}.filled(...)")
    return refuse(x, f"a function that takes {name}") if isinstance(x, RecordedArray) else _to_even_array(x, name)


def plain_rows(rows, name):
    """Rows of a list as plain arrays; masked ones are refused."""
    if isinstance(rows, list) and rows and isinstance(rows[0], np.ndarray):
        return [plain_array(row, name) for row in rows]
    # The types take a ninth of the time of a question for each number (1,000 numbers, znver5).
    if isinstance(rows, list) and not set(map(type, rows)) <= NUMBERS and any(map(is_tensor, rows)):
        return [array_of(row, f"{name}[{i}]") if is_tensor(row) else row for i, row in enumerate(rows)]
    return rows


def refuse_large(array, name):
    """RowIndexError that names the first of unsigned integers that int64 does not hold."""
    if array.max() > MAX_INT64:
        at = np.unravel_index(int(np.argmax(array > MAX_INT64)), array.shape)
        place = f"{name}[{', '.join(map(str, at))}] = {array[at]}"
        raise RowIndexError(f"{place} is above 2^63 - 1, which no id and no length is; pass smaller ones")


def integers(x, name):
    """``x``, an array or list of integers, as a C-contiguous int64 array of the same shape."""
    # Skipping the conversion takes 130 ns less.
    if type(x) is np.ndarray and x.dtype is _INT64 and x.flags.c_contiguous:
        return x
    array = plain_array(x, name) if isinstance(x, np.ndarray) else from_lists(x, name)
    if array.dtype != np.int64 or not array.flags.c_contiguous:
        if array.dtype.hasobject and array.size:
            raise objects_error(array, name, whole=True, listed=isinstance(x, list | tuple))
        if array.size and array.dtype.kind not in "iu":
            raise DTypeError(f"{name} must be integers, not {array.dtype}; {id_remedy_of(array.dtype, name)}")
        if array.size and array.dtype.itemsize == 8 and array.dtype.kind == "u":
            refuse_large(array, name)
        try:
            if not array.size:
                return np.empty(array.shape, np.int64)
            # np.ascontiguousarray would make a vector of a single number.
            array = np.asarray(array, np.int64, order="C")
        except (MemoryError, ValueError) as error:
            raise SizeError(f"there is no memory for {name} as int64, of shape {array.shape}") from error
    return array
