"""What the tables of published names share."""

from __future__ import annotations

import numpy as np

from .._transfer import to_device
from ..arrays import cast, dtype_of, is_array
from ..lod_tensor import LoDTensor


def only(name, **fixed):
    """Refuse arguments that this operator of Caffe2 has, and whose effect is not there yet."""
    for argument, (value, neutral) in fixed.items():
        if value != neutral:
            raise ValueError(f"{name}: {argument}={value!r} is not supported, only {neutral!r}")


def float32(data):
    """The type of a reduction's result where it is not that of its data: Caffe2's, for float16."""
    return "float32" if is_array(data) and dtype_of(data) == np.float16 else None


def int32(ids):
    """Ids or lengths as Caffe2 gives them."""
    return cast(ids, np.int32)


def as_given(x, like):
    """A result in the type of an input."""
    return cast(x, dtype_of(like) if is_array(like) else np.int64)


def copied(x):
    """The same numbers in an array of their own."""
    if isinstance(x, np.ndarray):
        return x.copy()
    from ..cuda._elements import convert
    from ..cuda.memory import view

    return convert(view(x), view(x).dtype, new=True).array


def number(x):
    """The only element of an input, as a number of Python."""
    return np.asarray(_home(x)).item()


def beside(numbers, like):
    """A list as an array where an input is."""
    if isinstance(like, np.ndarray):
        return np.asarray(numbers)
    from ..cuda.memory import beside

    return beside(np.asarray(numbers), (like,))


def ragged(values, lengths):
    """A LoDTensor of inputs: its structure is on the CPU, where Caffe2's lengths may be anywhere."""
    return LoDTensor(values, [_home(lengths)])


def negative(lr):
    """A learning rate as lodkit takes it: Caffe2's optimizers add."""
    return np.negative(np.asarray(_home(lr), np.float64))


def _home(x):
    return to_device(x, "cpu") if is_array(x) else x
