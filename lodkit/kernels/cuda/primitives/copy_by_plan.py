"""Rows put where a plan of ``lodkit._placement`` or ``lodkit._sequence_runs`` says, on a GPU.

Plans are made on the CPU, where structure is.
"""

from __future__ import annotations

from ....arrays import check_gradient, check_values
from ....arrays.cuda.elementwise import convert, fill
from ....arrays.cuda.memory import output, view
from ....lod.lod_tensor import LoDTensor
from ....lod.offsets import run_rows
from ...common.sequence_plans import laid, overlap
from .copy_runs import move_runs
from .gather import gather, put_rows
from .merge import rows_grad

array = view


def structure(x):
    """Numbers that plans read, where they read them. Waits for the device."""
    if x is None:
        return None
    return x.with_values(view(x.values).read()) if isinstance(x, LoDTensor) else view(x).read()


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


def moved(plan, out=None):
    """The rows of an input that a plan takes, in its order."""
    x, levels, place = plan
    if type(place) is tuple:
        return placed(([x], levels, [laid(place)]), out)
    return LoDTensor._wrap(taken(x, x.send(place), out), levels)


def taken(x, rows, out=None):
    """``x[rows]``, for rows that are there."""
    out = output(x, (len(rows), *x.shape[1:]), x.dtype, out)
    gather(x, rows, None, out)
    return out.array


def moved_back(plan, grad):
    """The rows of a gradient where those of the input came from: those of one row add up."""
    (x, levels, place), grad = plan, view(grad)
    dtype = check_values(x.dtype, "the gradient", floating=True)
    check_gradient(grad, (int(levels[-1][-1]), *x.shape[1:]))
    runs = type(place) is tuple
    if overlap(place):
        rows = run_rows(*place, levels[-1][-1]) if runs else place
        return rows_grad(x.shape, x.send(rows), grad, dtype).array
    if runs:
        return placed_back(([x], levels, [laid(place)]), grad)[0]
    made = fill(x.like(x.shape), 0)
    put_rows(x.send(place), convert(grad, dtype), made)
    return made.array
