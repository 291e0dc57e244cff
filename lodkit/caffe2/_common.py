"""What the tables of published names share."""

from __future__ import annotations

import numpy as np

from ..arrays import native
from ..kinds import on_gpu


def only(name, **fixed):
    """Refuse arguments that this operator of Caffe2 has, and whose effect is not there yet."""
    for argument, (value, neutral) in fixed.items():
        if value != neutral:
            raise ValueError(f"{name}: {argument}={value!r} is not supported, only {neutral!r}")


def float32(data):
    """The type of a reduction's result where it is not that of its data: Caffe2's, for float16."""
    return "float32" if hasattr(data, "dtype") and native(data.dtype) == np.float16 else None


def negative(lr):
    """A learning rate as lodkit takes it: Caffe2's optimizers add."""
    return np.negative(np.asarray(lr, np.float64))


def int32(lengths):
    """Lengths or ids in Caffe2's type, where they are."""
    if not on_gpu(lengths):
        return lengths.astype(np.int32)
    from ..cuda.memory import converted

    return converted(lengths, np.int32)
