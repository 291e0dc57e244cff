"""What the tables of published names share."""

from __future__ import annotations

import numpy as np

from ..arrays import check_rows
from ..arrays.checks import is_scalar
from ..arrays.generic import cast, dtype_of, is_array, narrow
from ..arrays.transfer import to_device
from ..lod.lod_tensor import LoDTensor

MOST_INT32 = 2**31 - 1


def only(name, **fixed):
    """Refuse arguments that this operator of Caffe2 has, and whose effect is not there yet."""
    for argument, (value, neutral) in fixed.items():
        if value != neutral:
            raise ValueError(f"{name}: {argument}={value!r} is not supported, only {neutral!r}")


def float32(data):
    """The type of a reduction's result where it is not that of its data: Caffe2's, for float16."""
    return "float32" if is_array(data) and dtype_of(data) == np.float16 else None


def int32(ids, below=None):
    """Ids or lengths as Caffe2 gives them; those that are ``below`` a small number need no look."""
    if isinstance(ids, LoDTensor):
        return ids.with_values(int32(ids.values, below))
    return narrow(ids) if below is None or below > MOST_INT32 else cast(ids, np.int32)


def check_int32(name, number):
    """Refuse an argument that Caffe2's int32 result cannot hold; what is no integer is the operator's to refuse."""
    if isinstance(number, int) and not -MOST_INT32 <= number <= MOST_INT32:
        raise ValueError(f"{name} = {number} is no int32, which Caffe2's ids and positions are")


def as_given(x, *likes):
    """A result in the widest type of some inputs."""
    types = [dtype_of(like) if is_array(like) else np.dtype(np.int64) for like in likes]
    return cast(x, max(types, key=lambda dtype: dtype.itemsize))


def array(x):
    """An input that was given as a list, or whose structure does not matter, as an array."""
    if isinstance(x, LoDTensor):
        return x.values
    return x if is_array(x) else np.asarray(x)


def height(x, name):
    """How many rows an input has."""
    return len(check_rows(array(x), name))


def copied(x):
    """The same numbers in an array of their own."""
    x = array(x)
    if isinstance(x, np.ndarray):
        return x.copy()
    from ..arrays.cuda.elementwise import convert
    from ..arrays.cuda.memory import view

    return convert(view(x), view(x).dtype, new=True).array


def number(x, name):
    """The only element of an input, as a number of Python."""
    x = _home(x)
    found = x if is_array(x) else np.asarray(x)
    if not is_scalar(found):
        raise TypeError(f"{name} must be a number or a one-element array, got {x!r}")
    return found.item()


def beside(numbers, like):
    """A list as an array where an input is."""
    if isinstance(like, np.ndarray):
        return np.asarray(numbers)
    from ..registry.inputs import to_device_of

    return to_device_of(np.asarray(numbers), (like,))


def ragged(values, lengths):
    """A LoDTensor of inputs: its structure is on the CPU, where Caffe2's lengths may be anywhere."""
    return LoDTensor(values, [_home(lengths)])


def negative(lr):
    """A learning rate as lodkit takes it: Caffe2's optimizers add."""
    return np.negative(number(lr, "lr"))


def _home(x):
    return to_device(x, "cpu") if is_array(x) else x
