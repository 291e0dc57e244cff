"""Samples of lodkit/ops/sequence_attention.py."""

from __future__ import annotations

import numpy as np

from ._make import array, ragged, reals, with_gradient


def attention(*levels, heads=(2,), size=3, wide=None, dtype=np.float64, **attrs):
    """Make a call of sequence_attention; values of 64 columns are few, as the emulator is slow."""
    query = ragged(*levels, item=(*heads, size), dtype=dtype)
    make = array if dtype == np.float16 else reals
    key = query.with_values(make(*query.values.shape, dtype=dtype))
    value = query.with_values(make(len(query.values), *heads, size if wide is None else wide, dtype=dtype))
    return (query, key, value), attrs


CASES = [
    attention([3, 0, 1, 4]),
    attention([2, 3], causal=True, scale=0.5),
    attention([2, 1], [3, 0, 2], wide=4, level=0),
    attention([4, 1], heads=(), size=6, wide=2, num_heads=2, causal=True),
    attention([2, 1], heads=(), size=2),
    attention([1, 2], heads=(2, 2), size=1),
    attention([5, 2], heads=(2,), size=64, dtype=np.float32, causal=True),
    attention([3], heads=(1,), size=40, wide=33, dtype=np.float32),
    attention([4, 1], heads=(1,), size=8, dtype=np.float16),
    attention([3, 2], heads=(1,), size=3, dtype=np.float16),
    attention([1]),
    attention([]),
    attention([0, 0]),
    attention([2, 1], size=0, wide=2),
    attention([2, 1], size=2, wide=0),
]
SAMPLES = {
    "sequence_attention": CASES,
    "sequence_attention_grad": [
        ((*inputs, grad), attrs) for inputs, _, grad, attrs in with_gradient(CASES, "sequence_attention")
    ],
}
