"""Rows put where a plan of ``lodkit._placement`` says, on a GPU. Plans are made on the CPU, where structure is."""

from __future__ import annotations

from ..arrays import check_gradient, check_values
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
