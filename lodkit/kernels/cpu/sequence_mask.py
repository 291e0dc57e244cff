"""CPU kernels of lodkit/ops/sequence_mask.py."""

from __future__ import annotations

import functools

import numpy as np

from ... import arrays
from ...arrays import integers
from ...jit import parallel_kernel, prange, settings
from ...ops.sequence_mask import check_mask_lengths, sequence_mask


@parallel_kernel
def _mask(lengths, one, chunk, out):
    rows, width = out.shape
    for c in prange((rows + chunk - 1) // chunk):
        for i in range(c * chunk, min(rows, (c + 1) * chunk)):
            n = min(lengths[i], width)
            out[i, :n] = one
            out[i, n:] = 0


@functools.cache
def _make_one(name):
    """A type of masks by its name, and its 1 as the kernel writes it: the bits of a half."""
    kind = arrays.dtype_named(name)
    one = arrays.to_dtype(np.ones(1, np.float32), kind)
    return kind, one.view(np.uint16)[0] if arrays.is_half(kind) else one[0]


@sequence_mask.kernel("cpu")
def mask(lengths, /, *, max_length, dtype, out=None):
    width = check_mask_lengths(lengths, max_length)
    lengths = integers(lengths, "lengths")
    (kind, one), size = _make_one(dtype), lengths.size
    out = arrays.output((*lengths.shape, width), kind, out)
    bits = out.view(one.dtype) if arrays.is_half(kind) else out
    _mask(out.size, lengths.reshape(-1), one, settings.chunk_rows, bits.reshape(size, width))
    return out
