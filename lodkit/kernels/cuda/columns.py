"""CUDA part of lodkit/ops/columns.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import elementwise, vector
from ...jit import simd


@elementwise
def _copy_columns(i, source, source_width, source_start, width, out, out_width, out_start):
    row, column = i // width, i % width
    x = vector.load(source, row * source_width + source_start + column, 1)
    vector.store(out, row * out_width + out_start + column, x)


def words_in_number(x):
    """Words that move for each number."""
    return 1 + (x.as_words().ndim > x.ndim)


def join_columns(views, widths, out):
    """Put rows of these widths side by side into ``out``."""
    start, out, words = 0, out.as_words(), [x.as_words() for x in views]
    widths = [width * words_in_number(x) for width, x in zip(widths, views, strict=True)]
    for x, width in zip(words, widths, strict=True):
        _copy_columns(x.size, x, width, 0, width, out, sum(widths), start)
        start += width


def split_columns(grad, views, widths):
    """New arrays like ``views``, each of its columns."""
    parts, start = [x.like(x.shape) for x in views], 0
    for part, width in zip(parts, widths, strict=True):
        _copy_columns(part.size, grad, sum(widths), start, width, part, width, 0)
        start += width
    return tuple(part.array for part in parts)


def take_columns(x, pairs, out):
    """Put ranges of the columns of ``x`` side by side into ``out``."""
    first, words = 0, x.as_words()
    each, out = words_in_number(x), out.as_words()
    for start, stop in pairs:
        width = (stop - start) * each
        _copy_columns(len(x) * width, words, words.columns, start * each, width, out, out.columns, first)
        first += width


@elementwise
def _add_columns(i, grad, width, offsets, sources, columns, out):
    row, column = i // columns, i % columns
    total = simd.full(grad, 1, 0.0)
    for k in range(vector.number(offsets, column), vector.number(offsets, column + 1)):
        total = simd.add(total, vector.load(grad, row * width + vector.number(sources, k), 1))
    vector.store(out, i, total)


def add_columns(x, grad, pairs):
    """A new array like ``x``: the sum of the columns of ``grad`` that were made of each column."""
    made_of = np.concatenate([np.zeros(0, np.int64), *(np.arange(*pair) for pair in pairs)])
    offsets = np.searchsorted(np.sort(made_of), np.arange(x.columns + 1))
    sources = x.send(np.argsort(made_of, kind="stable"))
    return _add_columns.into(x.like(x.shape), grad, grad.columns, x.send(offsets), sources, x.columns)
