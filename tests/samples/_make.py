"""Helpers and shared data of samples; sums of a few values are exact in float16.

Rows have 3 numbers (5 in sequences) unless a sample is about another number: each takes kernels of its own, and to
compile one takes half a second.
"""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor, SelectedRows

rng = np.random.default_rng(0)
FLOATS = (np.float32, np.float64, np.float16)
TYPES = (*FLOATS, np.int32, np.int64)


def array(*shape, dtype=np.float32):
    """Draw values whose sums are exact in float16."""
    return (rng.integers(-8, 9, shape) / (1 if np.dtype(dtype).kind == "i" else 4)).astype(dtype)


def reals(*shape, dtype=np.float64):
    return rng.normal(size=shape).astype(dtype)


def ragged(*levels, item=(5,), dtype=np.float64):
    make = array if np.dtype(dtype).kind == "i" or dtype == np.float16 else reals
    return LoDTensor(make(sum(levels[-1]), *item, dtype=dtype), [list(level) for level in levels])


def rows(*ids, height=6, item=(3,), dtype=np.float64):
    return SelectedRows(np.array(ids, np.int64), reals(len(ids), *item, dtype=dtype), height)


def ids(*levels, height=6, dtype=np.int64):
    return LoDTensor(rng.integers(0, height, sum(levels[-1])).astype(dtype), [list(level) for level in levels])


def vector(*values, dtype=np.int64):
    return np.array(values, dtype)


TABLE = reals(6, 3)
TABLES = [TABLE, reals(6), reals(6, 2, 3), reals(6, 64, dtype=np.float32), array(6, 4, dtype=np.float16)]
BAGS = [ids([3, 0, 2]), ids([]), ids([0, 0]), ids([2, 1], [1, 2, 4]), ids([1], dtype=np.int32), ids([4, 30])]
GRADIENTS = [rows(4, 1), rows(2, 2, 0, 2), rows(), rows(*[5, 0, 3] * 40), rows(1, 1, item=(2, 2)), rows(3, 3, item=())]
GRADIENTS += [rows(2, 2, 5, item=(20,), dtype=np.float32), rows(1, 1, 4, dtype=np.float16)]


def plain(cases):
    """The cases of a rowwise operator on the values alone, as its definition takes them."""
    return [(tuple(x.values if isinstance(x, LoDTensor) else x for x in inputs), attrs) for inputs, attrs in cases]


def with_gradient(cases, keep, drop=()):
    """Yield the cases of a gradient operator: forward inputs, result, gradient, attributes."""
    import lodkit

    for inputs, attrs in cases:
        if getattr(getattr(inputs[0], "dtype", None), "kind", "f") != "f" or attrs.get("dtype"):
            continue
        out = lodkit.OPS[keep].definition(*inputs, **attrs)
        out = out.values if isinstance(out, LoDTensor) else out
        grad = array(*out.shape, dtype=out.dtype)
        yield inputs, out, grad, {k: v for k, v in attrs.items() if k not in drop}


LOOKUPS = [((table, vector(0, 5, 5)), {}) for table in TABLES] + [
    ((TABLE, vector()), {}),
    ((TABLE, vector(1, dtype=np.int32)), {"padding_idx": 1}),
    ((TABLE, rng.integers(0, 6, (2, 0, 3))), {}),
    ((TABLE, rng.integers(0, 6, (2, 3, 1))), {"padding_idx": 0, "is_sparse": False}),
    ((TABLE, BAGS[3]), {}),
    ((TABLE, [[1, 2], [3, 4]]), {"is_sparse": False}),
    ((array(6, 2, dtype=np.int64), vector(4, 4)), {}),
]
PLAIN_LOOKUPS = [((t, i.values if isinstance(i, LoDTensor) else np.asarray(i)), a) for (t, i), a in LOOKUPS]
