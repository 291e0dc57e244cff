"""Rows put where a plan of ``lodkit._placement`` or ``lodkit._sequence_runs`` says: what moves of rows share."""

from __future__ import annotations

import numpy as np

from .... import arrays
from ....arrays import check_gradient, check_values, matrix, native
from ....jit import settings
from ....lod.copy_runs import move_runs
from ....lod.lod_tensor import LoDTensor
from ....lod.offsets import run_rows
from ...common.sequence_plans import laid, overlap
from .gather import put_all, take_rows
from .merge import rows_grad

FEW_TIMES = 16  # up to so many times ``settings.few_rows`` rows, their numbers cost less than runs: half of a call
array = np.asarray


def structure(x):
    """Numbers that plans read, where they read them."""
    return x


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
    start = _start(sum(map(len, xs)), levels)
    made = tuple(start(x.shape, check_values(x.dtype, "the gradient", floating=True)) for x in xs)
    for part, place in zip(made, places, strict=True):
        move_runs(grad, place.back(), part)
    return made


def _start(rows, levels):
    """What gradients are made of: of zeros, unless each of the rows went to a place of its own."""
    return arrays.output if rows == levels[-1][-1] else np.zeros


def moved(plan, out=None):
    """The rows of an input that a plan takes, in its order."""
    x, levels, place = plan
    if type(place) is tuple:
        rows = levels[-1].item(-1)
        if rows > FEW_TIMES * settings.few_rows:
            return placed(([x], levels, [laid(place)]), out)
        place = run_rows(*place, rows)
    return LoDTensor._wrap(take_rows(x, place, out), levels)


def moved_back(plan, grad):
    """The rows of a gradient where those of the input came from: those of one row add up."""
    x, levels, place = plan
    dtype = check_values(x.dtype, "the gradient", floating=True)
    check_gradient(grad, (levels[-1][-1], *x.shape[1:]))
    runs = type(place) is tuple
    if overlap(place):
        return rows_grad(x.shape, run_rows(*place, levels[-1][-1]) if runs else place, grad, dtype)
    if runs:
        return placed_back(([x], levels, [laid(place)]), grad)[0]
    made = _start(len(x), levels)(x.shape, dtype)
    put_all(place, matrix(grad.astype(dtype, copy=False)), matrix(made))
    return made
