"""Functions of arrays of any library: device, dtype, casts, overlap."""

from __future__ import annotations

import numpy as np

from ..base.bfloat16 import dtype_named
from ..base.errors import DeviceError, DTypeError, OutputError
from .bfloat16 import to_dtype
from .devices import is_strided
from .numpy_arrays import native, plain_array
from .recorded import is_on_tape, plain_view
from .remedies import remedy_for
from .tensors import array_of, is_cpu_tensor, is_tensor


def refuse_overlap(name, array, others, names=()):
    """Raise if ``array``, an output, may share memory with an input; ``names`` are those of the inputs."""
    plain = type(array) is np.ndarray
    own = plain and array.flags.owndata
    for i, other in enumerate(others):
        # Takes a third of the time; a sixth for arrays with memory of their own.
        if plain and type(other) is np.ndarray:
            overlaps = other is array if own and other.flags.owndata else np.may_share_memory(array, other)
        else:
            overlaps = any(may_share_memory(array, part) for part in parts(other))
        if overlaps:
            raise OutputError(f"{name} overlaps {names[i] if names else f'input {i}'}; pass separate memory")


def are_apart(arrays):
    """True if these are plain arrays with memory of their own, all different: ``refuse_overlap`` finds nothing."""
    for x in arrays:
        if type(x) is not np.ndarray or not x.flags.owndata:
            return False
    return len(set(map(id, arrays))) == len(arrays)


def is_array(x):
    """True if ``x`` is an array of NumPy or of a CUDA library."""
    return isinstance(x, np.ndarray) or exports_cuda(x)


def holds_rows(x):
    """True if ``x`` can be the values of a LoDTensor or SelectedRows: an array, or a tensor of PyTorch's on the CPU."""
    return isinstance(x, np.ndarray) or is_cpu_tensor(x) or exports_cuda(x)


def exports_cuda(x):
    """True if ``x`` is an array of a CUDA library."""
    # The interface of a tensor takes 2 us.
    if is_tensor(x):
        if x.is_cuda and x.requires_grad:
            raise _requires_grad(x)
        return x.is_cuda and is_strided(x)
    try:
        return hasattr(x, "__cuda_array_interface__")
    except RuntimeError as error:  # as PyTorch's tensors raise
        raise _requires_grad(x) from error


def _requires_grad(x):
    return TypeError(
        f"a {type(x).__name__} that requires grad: pass x.detach(), and differentiate with lodkit.Tape, or call "
        "the function of the same name in lodkit.interop.torch"
    )


def parts(x):
    """Arrays that a value consists of."""
    if is_array(x):
        return (x,)
    return tuple(a for a in (getattr(x, "values", None), getattr(x, "value", None)) if is_array(a))


def may_share_memory(a, b):
    """True if two arrays may share memory."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.may_share_memory(plain_view(a), plain_view(b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    from .cuda import overlap

    return overlap(a, b)


def dtype_of(x):
    """NumPy dtype of an array of any library."""
    if isinstance(x, np.ndarray):
        return native(x.dtype)
    if is_cpu_tensor(x):
        return array_of(x, "the tensor", record=False).dtype
    from .cuda import view

    return view(x).dtype


def cast(x, dtype):
    """Convert an array to another dtype, on its device."""
    if isinstance(x, np.ndarray):
        return to_dtype(x, dtype_named(dtype))
    from .cuda import convert, view

    return convert(view(x), dtype).array


def zeros_like(x):
    """Zeros like an array, on its device."""
    if isinstance(x, np.ndarray):
        return np.zeros(x.shape, native(x.dtype))
    from .cuda import full_like

    return full_like(x, 0)


def to_int32(x):
    """Convert int64 to int32, on the device of the array; DTypeError on overflow. On a GPU none may be negative."""

    def overflow_error(numbers, at):
        number = numbers.reshape(-1)[at]
        return DTypeError(f"{number} at position {at} of the result is no int32; lodkit's own operators give int64")

    if isinstance(x, np.ndarray):
        result = x.astype(np.int32, copy=False)
        if not np.array_equal(result, x):
            raise overflow_error(x, int(np.argmax(result.reshape(-1) != x.reshape(-1))))
        return result
    from .cuda import checked_ids

    checked_ids(x, 1 << 31, "the result", overflow_error)
    return cast(x, np.int32)


def flat(x):
    """Flatten an array, on its device, or a list."""
    if is_on_tape(x):
        return x.reshape(-1)
    if isinstance(x, np.ndarray) or not is_array(x):
        return plain_array(x, "an input").reshape(-1)
    from .cuda import view

    found = view(x)
    return found.reshape(found.size).array


def device_of(x):
    """Device of an array, LoDTensor or SelectedRows: ``"cpu"`` or ``"cuda"``; ``"any"`` of a RankTable."""
    if isinstance(x, np.ndarray):
        return "cpu"
    device = getattr(x, "device", None)
    if isinstance(device, str):
        return device
    if is_cpu_tensor(x):
        return "cpu"
    if exports_cuda(x):
        return "cuda"
    raise TypeError(f"expected a NumPy or CUDA array, got {type(x).__name__}; {remedy_for(x, 'x')}")


def one_device(op, values):
    """Device shared by all ``values``; there are no implicit device copies."""
    devices = {device_of(x) for x in values if x is not None} - {"any"}
    if len(devices) > 1:
        raise DeviceError(
            f"{op}: inputs on different devices ({', '.join(sorted(devices))}); move them with .to(device)"
        )
    return devices.pop() if devices else "cpu"
