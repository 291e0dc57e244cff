"""Rows put where a plan of ``lodkit._placement`` says: what operators that move whole runs of rows share."""

from __future__ import annotations

import numpy as np

from .. import arrays
from ..arrays import check_gradient, check_values, native
from ..lod_tensor import LoDTensor
from ._row_maps import move_runs


def placed(plan, out=None):
    """The rows of all inputs where they go."""
    xs, levels, places = plan
    out = arrays.output((levels[-1][-1], *xs[0].shape[1:]), native(xs[0].dtype), out)
    for x, place in zip(xs, places, strict=True):
        move_runs(x, place, out)
    return LoDTensor._wrap(out, levels)


def placed_back(plan, grad):
    """The rows of a gradient where those of the inputs came from, zeros elsewhere."""
    xs, levels, places = plan
    check_gradient(grad, (levels[-1][-1], *xs[0].shape[1:]))
    made = tuple(np.zeros(x.shape, check_values(x.dtype, "the gradient", floating=True)) for x in xs)
    for part, place in zip(made, places, strict=True):
        move_runs(grad, place.back(), part)
    return made
