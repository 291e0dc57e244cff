"""CPU part of lodkit/ops/columns.py: NumPy's own copies."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ...arrays import native


def join_columns(xs, widths, out):
    """Put rows of these widths side by side into ``out``."""
    np.concatenate([x.reshape(len(out), w) for x, w in zip(xs, widths, strict=True)], axis=1, out=out)


def split_columns(grad, xs, widths):
    """New arrays like ``xs``, each of its columns."""
    parts = np.split(grad, [*itertools.accumulate(widths[:-1])], axis=1)
    return tuple(p.reshape(x.shape).astype(native(x.dtype)) for p, x in zip(parts, xs, strict=True))


def _slices(pairs):
    """Each range of the items, and of the columns side by side."""
    end = 0
    for start, stop in pairs:
        end += stop - start
        yield slice(start, stop), slice(end - stop + start, end)


def take_columns(x, pairs, out):
    """Put ranges of the columns of ``x`` side by side into ``out``."""
    flat = x.reshape(len(x), math.prod(x.shape[1:]))
    for source, place in _slices(pairs):
        out[:, place] = flat[:, source]


def add_columns(x, grad, pairs):
    """A new array like ``x``: the sum of the columns of ``grad`` that were made of each column."""
    dtype = native(x.dtype)
    total = np.zeros((len(x), math.prod(x.shape[1:])), np.float32 if dtype == np.float16 else dtype)
    for place, source in _slices(pairs):
        total[:, place] += grad[:, source]
    total = total.reshape(x.shape)
    # np.errstate costs as much as the sum of a few numbers.
    if total.dtype == dtype:
        return total
    with np.errstate(over="ignore"):
        return total.astype(dtype)
