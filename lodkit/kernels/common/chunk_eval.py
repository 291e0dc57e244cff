"""Kernels of lodkit/ops/chunk_eval.py."""

from __future__ import annotations

from ... import ops
from ...lod import LoDTensor
from ...ops.chunk_eval import measures, prepare


@ops.chunk_eval.kernel("cpu", "cuda")
def chunk_eval(
    on, inference: LoDTensor, label: LoDTensor, /, *, chunk_scheme, num_chunk_types, excluded_chunk_types, level
):
    inferred, labels, offsets, table = prepare(
        on, inference, label, chunk_scheme, num_chunk_types, excluded_chunk_types, level
    )
    counts = on.chunk_eval.count(inferred, labels, offsets, table) if inferred.size else (0, 0, 0)
    return tuple(on.send(inference.values, x) for x in measures(*map(int, counts)))
