"""CUDA kernels of lodkit/ops/sequence_tokens.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import convert, copy_elements, elementwise, output, vector, view
from ...lod import LoDTensor, freeze
from ...ops import sequence_tokens as ops
from ..common.integers import comparable_tokens, from_comparable, to_comparable
from .primitives import device as gpu
from .primitives.gather import gather, list_ones, take
from .primitives.offsets import offsets_like
from .primitives.row_kernels import lower_bound, segment_of
from .primitives.scan import offsets_of


@elementwise
def _mark_kept(i, values, tokens, count, kept):
    token = vector.number(values, i)
    at = lower_bound(tokens, 0, count, token)
    kept[i] = 0 if at < count and vector.number(tokens, at) == token else 1


def keep(values, kept, offsets, out=None):
    """The rows where ``kept`` is 1, and offsets, on the CPU, of what is left of each segment. Synchronises."""
    upto = offsets_of(kept)
    ends = take(upto, offsets_like(values, offsets).offsets).read()
    out = output(values, (int(ends[-1]), *values.shape[1:]), values.dtype, out)
    gather(values, list_ones(upto, len(out)), None, out)
    return ends, out


@ops.sequence_erase.kernel("cuda")
def sequence_erase(x: LoDTensor, /, *, tokens, out=None):
    values = view(x.values)
    dtype, tokens = ops.prepare_erase(values, tokens)
    values = convert(values, dtype)
    numbers, tokens = to_comparable(gpu, values), comparable_tokens(tokens, dtype)
    kept = _mark_kept.into(values.like((len(values),), np.int64), numbers, values.send(tokens), len(tokens))
    ends, out = keep(values, kept, x._row_offsets(), out)
    return LoDTensor._wrap(out.array, (*x._lod[:-1], freeze(ends)))


@elementwise
def _windows(at, values, offsets, segments, size, pad, out):
    i, j = at // size, at % size
    inside = i + j < vector.number(offsets, segment_of(offsets, segments, i) + 1)
    out[at] = vector.number(values, i + j) if inside else pad


@ops.sequence_enumerate.kernel("cuda")
def sequence_enumerate(x: LoDTensor, /, *, win_size, pad_value, out=None):
    values = view(x.values)
    dtype = ops.check_windows(values, win_size, pad_value)
    values, out = convert(values, dtype), output(values, (len(values), win_size), dtype, out)
    numbers, offsets = to_comparable(gpu, values), offsets_like(values, x._row_offsets())
    pad = pad_value - (1 << 63) if dtype == np.uint64 else pad_value
    windows = out if numbers is values else numbers.like(out.shape)
    _windows.into(windows, numbers, offsets.offsets, len(offsets), win_size, pad)
    if windows is not out:
        copy_elements(from_comparable(gpu, windows, dtype), out)
    return x.with_values(out.array)
