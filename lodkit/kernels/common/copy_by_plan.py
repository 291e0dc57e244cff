"""Rows copied as plans say, and gradients copied back."""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, check_values, native
from ...lod import LoDTensor
from ...lod.selection import run_rows
from .copy_plan import CopyPlan


def scatter_by_plan(on, plan, out=None):
    """Copy the rows of all inputs to their places."""
    xs, levels, places = plan
    out = on.output((levels[-1].item(-1), *xs[0].shape[1:]), native(xs[0].dtype), out, xs[0])
    for x, place in zip(xs, places, strict=True):
        on.move_runs(x, place, out)
    return LoDTensor._wrap(out, levels)


def scatter_grad(on, plan, grad):
    """Copy the rows of a gradient back to the places that those of the inputs came from; zeros elsewhere."""
    xs, levels, places = plan
    rows = levels[-1].item(-1)
    check_gradient(grad, (rows, *xs[0].shape[1:]))
    dtype = check_values(xs[0].dtype, "the gradient", floating=True)
    grad = grad if grad.dtype == dtype else on.convert(grad, dtype)
    made = tuple(_new(on, x, dtype, rows == sum(map(len, xs))) for x in xs)
    for part, place in zip(made, places, strict=True):
        on.move_runs(grad, place.inverse(), part)
    return made


def _new(on, x, dtype, filled):
    """A new array like ``x``: of zeros, unless all its rows are ``filled``."""
    return on.output(x.shape, dtype, None, x) if filled else on.zeros(x.shape, dtype, x)


def gather_by_plan(on, plan, out=None):
    """Take the rows of an input that a plan lists, in its order."""
    x, levels, place = plan
    if type(place) is not CopyPlan:
        return LoDTensor._wrap(on.take_rows(x, place, out), levels)
    out = on.output((levels[-1].item(-1), *x.shape[1:]), native(x.dtype), out, x)
    on.move_runs(x, place, out)
    return LoDTensor._wrap(out, levels)


def gather_grad(on, plan, grad):
    """Add the rows of a gradient to the rows that those of the result were taken from."""
    x, levels, place = plan
    rows = levels[-1].item(-1) if levels else len(place)
    dtype = check_values(x.dtype, "the gradient", floating=True)
    check_gradient(grad, (rows, *x.shape[1:]))
    runs = type(place) is CopyPlan
    if _overlap(place):
        return on.rows_grad(x.shape, on.send(x, run_rows(*place[:2], rows) if runs else place), grad, dtype)
    if runs:
        return scatter_grad(on, ([x], levels, [place]), grad)[0]
    made = _new(on, x, dtype, rows == len(x))
    on.scatter_rows(place, on.convert(grad, dtype), made)
    return made


def _overlap(place):
    """True if a row of the input is taken more than once."""
    if type(place) is not CopyPlan:
        rows = np.sort(place)
        return bool((rows[1:] == rows[:-1]).any())
    starts, stops, _ = place
    some = np.flatnonzero(stops > starts)
    order = some[np.argsort(starts[some], kind="stable")]
    return bool((starts[order[1:]] < stops[order[:-1]]).any())
