"""Kernels of lodkit/ops/beam_search_decode.py: hypotheses in the order of scores, then the rows of their words."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...arrays import native
from ...lod import LoDTensor, freeze
from ...lod.offsets import lengths_to_offsets
from ...ops.beam_search_decode import prepare_decode


@ops.beam_search_decode.kernel("cpu", "cuda")
def beam_search_decode(on, *steps: LoDTensor, beam_size, end_id):
    ids, scores, walks = prepare_decode(steps, beam_size)
    words = on.join_rows([on.convert(x.values, np.dtype(np.int64)).reshape(-1) for x in ids])
    totals = on.join_rows([on.convert(x.values, native(x.dtype)).reshape(-1) for x in scores])
    ends, rows = np.zeros(1, np.int64), on.zeros((0,), words.dtype, words)
    if len(walks.lasts):
        parents, lasts = on.send(words, walks.parents), on.send(words, walks.lasts)
        ranked, lengths = on.beam_search_decode.rank(words, totals, parents, lasts, walks.offsets, end_id)
        ends = lengths_to_offsets(on.read(lengths))
        rows = on.output((int(ends[-1]),), words.dtype, None, words)
        on.beam_search_decode.walk(words, parents, ranked, on.send(words, ends), end_id, rows)
    levels = *ids[0]._lod[:-2], freeze(walks.offsets), freeze(ends)
    return tuple(LoDTensor._wrap(on.take(values, rows), levels) for values in (words, totals))
