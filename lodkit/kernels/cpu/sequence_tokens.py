"""CPU kernels of lodkit/ops/sequence_tokens.py."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import words
from ...jit import jitable, lower_bound, parallel_kernel, prange, settings
from ...lod import LoDTensor, freeze
from ...lod.offsets import lengths_to_offsets
from ...ops import sequence_tokens as ops
from ..common.integers import comparable_tokens, from_comparable, to_comparable
from .primitives import device
from .primitives.templates import row_kernel


@jitable
def _is_among(tokens, token):
    at = lower_bound(tokens, token)
    return at < len(tokens) and tokens[at] == token


@parallel_kernel
def _count(values, offsets, tokens, lengths):
    for s in prange(len(lengths)):
        kept = 0
        for i in range(offsets[s], offsets[s + 1]):
            kept += not _is_among(tokens, values[i])
        lengths[s] = kept


@parallel_kernel
def _keep(values, offsets, tokens, ends, out):
    for s in prange(len(ends) - 1):
        k = ends[s]
        for i in range(offsets[s], offsets[s + 1]):
            # Another thread may write the values meanwhile.
            if k < ends[s + 1] and not _is_among(tokens, values[i]):
                out[k] = values[i]
                k += 1


def numbers_of(values, dtype):
    """Values of one number a row as a vector that kernels compare."""
    return to_comparable(device, np.ascontiguousarray(values, dtype).reshape(-1))


@ops.sequence_erase.kernel("cpu")
def sequence_erase(x: LoDTensor, /, *, tokens, out=None):
    dtype, tokens = ops.prepare_erase(x.values, tokens)
    values, offsets = numbers_of(x.values, dtype), x._row_offsets()
    tokens = comparable_tokens(tokens, dtype)
    lengths = np.empty(len(offsets) - 1, np.int64)
    _count(len(values), values, offsets, tokens, lengths)
    ends = lengths_to_offsets(lengths)
    out = arrays.output((int(ends[-1]), *x.shape[1:]), dtype, out)
    kept = out.reshape(-1) if values.dtype == dtype else np.empty(len(out), values.dtype)
    _keep(len(values), values, offsets, tokens, ends, kept)
    if values.dtype != dtype:
        out.reshape(-1)[:] = from_comparable(device, kept, dtype)
    return LoDTensor._wrap(out, (*x._lod[:-1], freeze(ends)))


def _window(i, s, _, values, pad, unused, offsets, out):
    for j in range(out.shape[1]):
        out[i, j] = values[i + j] if i + j < offsets[s + 1] else pad


_windows = row_kernel(_window)


@ops.sequence_enumerate.kernel("cpu")
def sequence_enumerate(x: LoDTensor, /, *, win_size, pad_value, out=None):
    dtype = ops.check_windows(x.values, win_size, pad_value)
    values = words(np.ascontiguousarray(x.values, dtype).reshape(-1)).reshape(-1)
    out, pad = arrays.output((len(values), win_size), dtype, out), words(np.array([pad_value], dtype))[0, 0]
    _windows(out.size, values, pad, 0, x._row_offsets(), settings.chunk_rows, words(out))
    return x.with_values(out)
