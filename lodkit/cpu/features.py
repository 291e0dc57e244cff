"""CPU kernels of lodkit/ops/features.py: ranges of rows are copied, and for a gradient copied back."""

from __future__ import annotations

import numpy as np

from .. import arrays
from .._placement import merged, packed, selected
from ..arrays import check_gradient, check_values, native
from ..lod_tensor import LoDTensor, values_of
from ..ops import _features as checks
from ..ops import features as ops
from ..registry import Dense
from ._lod import copy_rows


def placed(xs, places, rows, out):
    """The rows of all inputs where they go."""
    out = arrays.output((rows, *xs[0].shape[1:]), native(xs[0].dtype), out)
    for x, place in zip(xs, places, strict=True):
        copy_rows(x, place.starts, place.stops, out, place.to)
    return out


def placed_back(xs, places, rows, grad):
    """The rows of a gradient where those of the inputs came from, zeros elsewhere."""
    check_gradient(grad, (rows, *xs[0].shape[1:]))
    made = []
    for x, place in zip(xs, places, strict=True):
        part = np.zeros(x.shape, check_values(x.dtype, "the gradient", floating=True))
        copy_rows(grad, *place.back[:2], part, place.back.to)
        made.append(part)
    return tuple(made)


def merge_levels(xs):
    """The checked arrays of what is to be merged, the levels of the result, and where rows go."""
    checks.check_examples("merge_features", xs)
    values = [x.values for x in xs]
    checks.check_items("merge_features", values)
    return values, *merged([x._lod for x in xs])


@ops.merge_features.kernel("cpu")
def merge(*xs: LoDTensor, out=None):
    values, levels, places = merge_levels(xs)
    return LoDTensor._wrap(placed(values, places, levels[-1][-1], out), levels)


@ops.merge_features_grad.kernel("cpu")
def merge_grad(grad: Dense, /, *xs: LoDTensor):
    values, levels, places = merge_levels(xs)
    return placed_back(values, places, levels[-1][-1], grad)


def stack_levels(xs, presence):
    """The same of what is to be stacked, which gets a level on top."""
    checks.check_examples("stack_features", xs)
    values = [values_of(x) for x in xs]
    checks.check_items("stack_features", values)
    keep = checks.check_presence(presence, xs)
    top = np.arange(keep.shape[1] + 1)
    return values, *merged([(top, *(x._lod if isinstance(x, LoDTensor) else ())) for x in xs], keep)


def stack(*xs, presence, out=None):
    values, levels, places = stack_levels(xs, presence)
    return LoDTensor._wrap(placed(values, places, levels[-1][-1], out), levels)


def stack_grad(grad, /, *xs, presence):
    values, levels, places = stack_levels(xs, presence)
    return placed_back(values, places, levels[-1][-1], grad)


@ops.stack_features.kernel("cpu")
def stack_rows(*xs: Dense, presence, out=None):
    return stack(*xs, presence=presence, out=out)


@ops.stack_features.kernel("cpu")
def stack_lists(*xs: LoDTensor, presence, out=None):
    return stack(*xs, presence=presence, out=out)


@ops.stack_features_grad.kernel("cpu")
def stack_rows_grad(grad: Dense, /, *xs: Dense, presence):
    return stack_grad(grad, *xs, presence=presence)


@ops.stack_features_grad.kernel("cpu")
def stack_lists_grad(grad: Dense, /, *xs: LoDTensor, presence):
    return stack_grad(grad, *xs, presence=presence)


def pack_level(x, presence):
    """The cells of ``x`` as rows, the level of those that stay, and where they go."""
    check_values(checks.check_packed(x).dtype, "pack_features")
    level, place = packed(checks.check_mask(presence, x.shape[:2], "presence"))
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), level, place


@ops.pack_features.kernel("cpu")
def pack(x: Dense, /, *, presence, out=None):
    cells, level, place = pack_level(x, presence)
    return LoDTensor._wrap(placed([cells], [place], level[-1], out), (level,))


@ops.pack_features_grad.kernel("cpu")
def pack_grad(x: Dense, grad: Dense, /, *, presence):
    cells, level, place = pack_level(x, presence)
    return placed_back([cells], [place], level[-1], grad)[0].reshape(x.shape)


@ops.select_features.kernel("cpu")
def select(values: LoDTensor, /, *, keys, feature_keys, out=None):
    check_values(values.values.dtype, "select_features")
    levels, place = selected(values, *checks.check_keys(values, keys, feature_keys))
    return LoDTensor._wrap(placed([values.values], [place], levels[-1][-1], out), levels)


@ops.select_features_grad.kernel("cpu")
def select_grad(values: LoDTensor, grad: Dense, /, *, keys, feature_keys):
    levels, place = selected(values, *checks.check_keys(values, keys, feature_keys))
    return placed_back([values.values], [place], levels[-1][-1], grad)[0]


@ops.concat_columns.kernel("cpu")
def concat(*xs: Dense, out=None):
    widths = checks.check_columns(xs)
    rows = len(xs[0])
    out = arrays.output((rows, sum(widths)), native(xs[0].dtype), out)
    return np.concatenate([x.reshape(rows, w) for x, w in zip(xs, widths, strict=True)], axis=1, out=out)


@ops.concat_columns_grad.kernel("cpu")
def concat_grad(grad: Dense, /, *xs: Dense):
    ends = np.cumsum(checks.check_columns(xs, grad))
    parts = np.split(grad, ends[:-1], axis=1)
    return tuple(p.reshape(x.shape).astype(native(x.dtype)) for p, x in zip(parts, xs, strict=True))
