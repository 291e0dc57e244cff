"""CUDA kernels of lodkit/ops/edit_distance.py: a block goes through the antidiagonals of a table of distances."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import cuda, launch, vector
from ...arrays.sizes import size_products
from ...lod.offsets import lengths_to_offsets
from .primitives.offsets import offsets_like

THREADS = 64


@cuda.jit
def _distances(hyp, hyps, ref, refs, places, segments, normalized, room, out):
    """``room`` has three antidiagonals of every pair, by the row: the last two and the next."""
    s, lane = cuda.blockIdx.x, cuda.threadIdx.x
    while s < segments:
        a, b = vector.number(hyps, s), vector.number(refs, s)
        m, n = vector.number(hyps, s + 1) - a, vector.number(refs, s + 1) - b
        first = vector.number(places, s)
        for d in range(m + n + 1):
            now, last = first + d % 3 * (m + 1), first + (d + 2) % 3 * (m + 1)
            before = first + (d + 1) % 3 * (m + 1)
            i = max(0, d - n) + lane
            while i <= min(d, m):
                if i == 0 or i == d:
                    room[now + i] = d
                else:
                    edits = 1 if vector.number(hyp, a + i - 1) != vector.number(ref, b + d - i - 1) else 0
                    room[now + i] = min(room[before + i - 1] + edits, min(room[last + i - 1], room[last + i]) + 1)
                i += THREADS
            cuda.syncthreads()
        if lane == 0:
            edits = np.float32(room[first + (m + n) % 3 * (m + 1) + m])
            out[s] = edits / np.float32(n) if normalized and edits > 0 else edits
        s += cuda.gridDim.x


def distances(hyp, hyps, ref, refs, normalized, out):
    """Put the distance of each pair of sequences into ``out``."""
    places = lengths_to_offsets(size_products(np.diff(hyps) + 1, 3, "tokens"))
    sent = [offsets_like(out, offsets).offsets for offsets in (hyps, refs)]
    room = out.like((int(places[-1]),), np.int32)
    inputs = hyp, sent[0], ref, sent[1], out.send(places), len(out), int(normalized)
    launch(_distances, len(out) * THREADS, *inputs, room, out, block=THREADS)
