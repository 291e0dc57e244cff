"""Rows put where a plan of ``lodkit._placement`` says, on a GPU. Plans are made on the CPU, where structure is."""

from __future__ import annotations

import numpy as np

from .._placement import Placement
from ..arrays import check_gradient, check_values
from ..errors import DTypeError
from ..lod_tensor import LoDTensor
from ._elements import convert, fill
from ._row_maps import move_runs
from .memory import output, view


def placed(plan, out=None):
    """The rows of all inputs where they go."""
    xs, levels, places = plan
    out = output(xs[0], (int(levels[-1][-1]), *xs[0].shape[1:]), xs[0].dtype, out)
    for x, place in zip(xs, places, strict=True):
        move_runs(x, place, out)
    return LoDTensor._wrap(out.array, levels)


def placed_back(plan, grad):
    """The rows of a gradient where those of the inputs came from, zeros elsewhere."""
    xs, levels, places = plan
    grad = view(grad)
    check_gradient(grad, (int(levels[-1][-1]), *xs[0].shape[1:]))
    dtype = check_values(xs[0].dtype, "the gradient", floating=True)
    made, grad = [fill(x.like(x.shape), 0) for x in xs], convert(grad, dtype)
    for part, place in zip(made, places, strict=True):
        move_runs(grad, place.back(), part)
    return tuple(part.array for part in made)


def joined(arrays):
    """The rows of all arrays, one after another."""
    xs = [view(array) for array in arrays]
    for i, x in enumerate(xs):
        if x.dtype != xs[0].dtype:
            raise DTypeError(f"concat: array {i} is {x.dtype}, array 0 {xs[0].dtype}; convert with lodkit.cast")
    ends = np.cumsum([x.shape[0] for x in xs])
    out = output(xs[0], (int(ends[-1]), *xs[0].shape[1:]), xs[0].dtype)
    for x, end in zip(xs, ends, strict=True):
        rows = x.shape[0]
        move_runs(x, Placement(*(np.array([n]) for n in (0, rows, end - rows))), out)
    return out.array
