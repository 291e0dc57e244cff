"""Helpers shared by the modules of published names."""

from __future__ import annotations

import numpy as np

from ..arrays import cast, check_rows, dtype_of, from_lists, is_array, is_scalar, to_device, to_int32
from ..lod import LoDTensor
from ..registry.inputs import to_device_of

MAX_INT32 = 2**31 - 1


def require_defaults(name, **fixed):
    """Raise unless unsupported arguments of a Caffe2 operator have their defaults."""
    for argument, (value, neutral) in fixed.items():
        if value != neutral:
            raise ValueError(f"{name}: {argument}={value!r} is not supported, only {neutral!r}")


def float32(data):
    """Return the dtype of a reduction's result: Caffe2's float32 for float16, else None."""
    return "float32" if is_array(data) and dtype_of(data) == np.float16 else None


def int32(ids, below=None):
    """Cast ids or lengths to int32, as Caffe2 returns them; unchecked if ``below`` fits int32."""
    if isinstance(ids, LoDTensor):
        return ids.with_values(int32(ids.values, below))
    return to_int32(ids) if below is None or below > MAX_INT32 else cast(ids, np.int32)


def check_int32(name, number):
    """Raise for an integer that Caffe2's int32 results cannot hold; the operator checks its type."""
    if isinstance(number, int) and not -MAX_INT32 <= number <= MAX_INT32:
        raise ValueError(f"{name} = {number} does not fit int32, the type of Caffe2's ids and positions")


def widest(x, *likes):
    """Cast a result to the widest dtype of some inputs."""
    types = [dtype_of(like) if is_array(like) else np.dtype(np.int64) for like in likes]
    return cast(x, max(types, key=lambda dtype: dtype.itemsize))


def array(x):
    """Return an input as an array: of a LoDTensor the values, of a list a copy."""
    if isinstance(x, LoDTensor):
        return x.values
    return x if is_array(x) else from_lists(x, "an input")


def height(x, name):
    """Return the number of rows of an input."""
    return len(check_rows(array(x), name))


def copy_input(x):
    """Return a copy of an input."""
    x = array(x)
    if isinstance(x, np.ndarray):
        return x.copy()
    from ..arrays.cuda import convert, view

    return convert(view(x), view(x).dtype, new=True).array


def number(x, name):
    """Return the only element of an input as a Python number."""
    x = _to_cpu(x)
    found = x if is_array(x) else from_lists(x, name)
    if not is_scalar(found):
        raise TypeError(f"{name} must be a number or a one-element array, got {x!r}")
    return found.item()


def array_like(numbers, like):
    """Return a list as an array on the device of an input."""
    numbers = np.asarray(numbers)
    return numbers if isinstance(like, np.ndarray) else to_device_of(numbers, (like,))


def lod_tensor(values, lengths):
    """Make a LoDTensor of inputs; lengths are copied to the CPU."""
    return LoDTensor(values, [_to_cpu(lengths)])


def negative(lr):
    """Negate a learning rate: Caffe2's optimizers add, lodkit's subtract."""
    return np.negative(number(lr, "lr"))


def _to_cpu(x):
    return to_device(x, "cpu") if is_array(x) else x
