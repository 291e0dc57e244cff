"""CPU kernels of lodkit/ops/ctc_align.py: sequences in parallel, which are counted first."""

from __future__ import annotations

import numpy as np

from ...jit import jitable, parallel_kernel, prange
from ...lod.offsets import lengths_to_offsets


@jitable(inline=True, nrt=False)
def _stays(tokens, i, start, blank, merge):
    return tokens[i] != blank and not (merge and i > start and tokens[i] == tokens[i - 1])


@parallel_kernel
def _count(tokens, offsets, blank, merge, lengths):
    for s in prange(len(lengths)):
        kept = 0
        for i in range(offsets[s], offsets[s + 1]):
            kept += _stays(tokens, i, offsets[s], blank, merge)
        lengths[s] = kept


@parallel_kernel
def _keep(tokens, offsets, blank, merge, ends, out):
    for s in prange(len(ends) - 1):
        k = ends[s]
        for i in range(offsets[s], offsets[s + 1]):
            # Another thread may write the tokens meanwhile.
            if k < ends[s + 1] and _stays(tokens, i, offsets[s], blank, merge):
                out[k] = tokens[i]
                k += 1


def align(tokens, offsets, blank, merge):
    """Offsets and tokens of sequences without repeated ones and blanks."""
    lengths = np.empty(len(offsets) - 1, np.int64)
    _count(len(tokens), tokens, offsets, blank, merge, lengths)
    ends = lengths_to_offsets(lengths)
    out = np.empty(ends[-1], tokens.dtype)
    _keep(len(tokens), tokens, offsets, blank, merge, ends, out)
    return ends, out


def best_classes(logits):
    """The first of the largest classes of each frame."""
    return np.argmax(logits, axis=1)
