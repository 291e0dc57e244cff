"""Inputs for every operator: name -> list of (inputs, attrs). A new operator adds an entry.

Each list has empty, single, nested, duplicate and many-dimensional cases in several types.
"""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor, SelectedRows

rng = np.random.default_rng(0)
FLOATS = (np.float32, np.float64, np.float16)
TYPES = (*FLOATS, np.int32, np.int64)


def array(*shape, dtype=np.float32):
    """Values that no sum of a few can round in float16."""
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


RAGGED = [
    ragged([3, 1, 2]),
    ragged([0, 4, 0, 0]),
    ragged([0, 0]),
    ragged([]),
    ragged([1]),
    ragged([2, 0, 3, 1], item=()),
    ragged([3, 1, 2], [3, 2, 4, 1, 0, 3], item=(2, 3)),
    ragged([2, 0], [1, 2], [2, 1, 0], item=(1,)),
    ragged([2, 1], item=(0,)),
    ragged([7, 40], item=(17,), dtype=np.float32),
    ragged([5, 0, 12], item=(64,), dtype=np.float32),
    ragged([30, 2, 0], item=(), dtype=np.float32),
    ragged([4, 0, 2], item=(20,), dtype=np.float16),
    ragged([9, 1], item=(), dtype=np.float16),
]
INTEGERS = [ragged([3, 0, 2], dtype=t) for t in (np.int32, np.int64)] + [ragged([2, 5], item=(), dtype=np.int64)]
SPECIAL = LoDTensor(
    np.array([[1, np.nan], [np.nan, -np.inf], [3, 2], [-np.inf, np.inf], [-np.inf, np.inf], [7, 7], [7, 7]]),
    [[3, 2, 2]],
)
POOLS = ("sum", "average", "sqrt", "max", "min", "logsumexp", "first", "last")
TABLE = reals(6, 3)
TABLES = [TABLE, reals(6), reals(6, 2, 3), reals(6, 64, dtype=np.float32), array(6, 4, dtype=np.float16)]
BAGS = [ids([3, 0, 2]), ids([]), ids([0, 0]), ids([2, 1], [1, 2, 4]), ids([1], dtype=np.int32), ids([4, 30])]
GRADIENTS = [rows(4, 1), rows(2, 2, 0, 2), rows(), rows(*[5, 0, 3] * 40), rows(1, 1, item=(2, 2)), rows(3, 3, item=())]
GRADIENTS += [rows(2, 2, 5, item=(20,), dtype=np.float32), rows(1, 1, 4, dtype=np.float16)]


def segmentations(lengths):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return {
        "lengths": np.array(lengths, np.int32),
        "offsets": offsets,
        "ids": np.repeat(np.arange(len(lengths)), lengths),
    }


def segment_cases():
    for lengths, item, dtype in (
        ([3, 1, 2], (5,), np.float64),
        ([4, 0, 1], (), np.float32),
        ([2, 7], (3, 2), np.float32),
        ([3, 3], (16,), np.float16),
    ):
        data = array(sum(lengths), *item, dtype=dtype)
        for by, segments in segmentations(lengths).items():
            for reduce in ("sum", "mean", "max"):
                yield (data, segments), {"by": by, "reduce": reduce, "num_segments": len(lengths)}
        yield (data, vector(*lengths)), {"reduce": "min", "pad_value": -1.0}
        weights = (rng.integers(1, 5, len(data)) / 2).astype(dtype)
        yield (data, vector(*lengths), weights), {"reduce": "mean"}
        yield (data, vector(*lengths), weights), {"reduce": "sum"}
    yield (array(0, 4), vector()), {}
    yield (array(0, 4), vector(0, 0)), {"reduce": "max"}
    yield (array(3, 2, dtype=np.int32), vector(1, 2)), {}
    yield (array(3, 2, dtype=np.float16), vector(1, 2)), {"dtype": "float32"}


def with_gradient(cases, keep, drop=()):
    """Cases of a gradient operator: those of the forward one, its result and a gradient beside them."""
    import lodkit

    for inputs, attrs in cases:
        if getattr(inputs[0], "dtype", None) in (np.int32, np.int64) or attrs.get("dtype"):
            continue
        out = lodkit.OPS[keep].definition(*inputs, **attrs)
        out = out.values if isinstance(out, LoDTensor) else out
        grad = array(*out.shape, dtype=out.dtype)
        yield inputs, out, grad, {k: v for k, v in attrs.items() if k not in drop}


def bag_cases():
    for table in TABLES:
        for bags in BAGS[:4]:
            yield (table, bags), {"pool": "sum"}
    for bags in BAGS:
        for pool in ("sum", "mean", "sqrt", "max", "min"):
            yield (TABLE, bags), {"pool": pool, "pad_value": 0.5}
        weights = reals(len(bags.values)) + 3
        yield (TABLE, bags, weights), {"pool": "sum", "padding_idx": 1}
        yield (TABLE, bags, weights), {"pool": "mean"}
    yield (TABLES[3], BAGS[5]), {"pool": "max", "padding_idx": 2, "is_sparse": False}
    yield (TABLES[4], BAGS[5]), {"pool": "mean", "dtype": "float32"}
    yield (array(6, 3, dtype=np.int64), BAGS[0]), {}


POOLED = [((x,), {"pool": p}) for x in RAGGED for p in POOLS]
POOLED += [((RAGGED[6],), {"pool": p, "level": 0, "pad_value": 2.0}) for p in POOLS]
POOLED += [((RAGGED[7],), {"pool": "sum", "level": level}) for level in (0, 1, 2, -2, -3)]
POOLED += [((x,), {"pool": p}) for x in INTEGERS for p in ("sum", "max", "min", "first", "last")]
INDEXED = [((x,), {"pool": p, "return_index": True}) for x in (*RAGGED, *INTEGERS) for p in ("max", "min")]
SPECIALS = [((SPECIAL,), {"pool": p}) for p in POOLS] + [((SPECIAL,), {"pool": "max", "return_index": True})]
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
LENGTHS = [vector(3, 4, 2), vector(), vector(0, 0, 5, 0), vector(7, dtype=np.int32)]
IDS = [vector(0, 0, 0, 1, 1, 1, 1, 2, 2), vector(), vector(2, 2, 5), vector(0, dtype=np.int32)]
OFFSETS = [vector(0, 3, 7, 9), vector(0), vector(0, 0, 0, 5, 5), vector(0, 2, dtype=np.int32)]
NUMBERED = [((i,), {}) for i in IDS] + [((IDS[2],), {"num_segments": 9}), ((IDS[1],), {"num_segments": 2})]
MATRICES = [reals(4, 3), reals(0, 3), reals(1, 1), reals(5, 7, dtype=np.float32), array(3, 2, dtype=np.float16)]
ELEMENTS = [*MATRICES, reals(), reals(2, 3, 4), ragged([2, 0, 1])]


def dense_grad():
    return [((y, reals(*y.shape, dtype=y.dtype)), {}) for y in (*MATRICES, reals(2, 3, 4))]


def optimizer_cases(states, **attrs):
    for grad in GRADIENTS:
        param = reals(*grad.shape, dtype=grad.dtype)
        state = [np.abs(reals(*grad.shape, dtype=grad.dtype)) for _ in range(states)]
        for duplicates in ("merge", "sequential"):
            yield (param, grad, *state), {"lr": 0.5, "duplicates": duplicates, **attrs}
    for shape, dtype in (((6, 3), np.float64), ((0, 3), np.float32), ((4,), np.float16), ((), np.float64)):
        param, grad = reals(*shape, dtype=dtype), reals(*shape, dtype=dtype)
        state = [np.abs(reals(*shape, dtype=dtype)) for _ in range(states)]
        yield (param, grad, *state), {"lr": np.array([0.1]), **attrs}


SELECTED = SelectedRows([7, 2, 5], reals(3, 2), 10)
SUMS = [
    (rows(0, 2), rows(2, 4)),
    (rows(), rows(2, 2)),
    (rows(2, 2), reals(6, 3)),
    (reals(6, 3), rows(1), reals(6, 3)),
    (reals(2), reals(2), reals(2)),
    (array(3, 2, dtype=np.int64),),
    (array(6, 3, dtype=np.float16), rows(1, 1, dtype=np.float16)),
]
BAG = list(bag_cases())
BAG_GRADS = [((i[0], i[1], g, *i[2:]), a) for i, o, g, a in with_gradient(BAG, "embedding_bag", ("pad_value", "dtype"))]
SEGMENTS = list(segment_cases())
SEGMENT_GRADS = list(with_gradient(SEGMENTS, "segment_reduce", ("pad_value", "dtype")))
SAMPLES = {
    "adagrad": list(optimizer_cases(1, epsilon=1e-3)),
    "embedding_bag": BAG,
    "embedding_bag_grad": BAG_GRADS,
    "embedding_bag_weights_grad": [
        (i, {k: v for k, v in a.items() if k != "is_sparse"}) for i, a in BAG_GRADS if len(i) == 4
    ],
    "fc": [
        (
            (
                x,
                reals(
                    x.values.shape[1] if isinstance(x, LoDTensor) else x.size // max(len(x), 1) or x.shape[1],
                    4,
                    dtype=x.dtype,
                ),
            ),
            {},
        )
        for x in (*MATRICES[:1], *MATRICES[2:], ragged([2, 1]))
    ]
    + [((reals(2, 3, 2), reals(6, 5), reals(5)), {}), ((reals(0, 3), reals(3, 2), reals(2)), {})],
    "fc_grad": [((reals(n, 3), reals(3, 2), reals(n, 2)), {}) for n in (0, 1, 4)],
    "gather": [((t, i), {}) for (t, i), a in LOOKUPS] + [((TABLE, vector(-1, 2, -6)), {"wrap": True})],
    "gather_grad": [
        ((t, i, reals(*i.shape, *t.shape[1:], dtype=t.dtype)), {}) for (t, i), a in PLAIN_LOOKUPS if t.dtype.kind == "f"
    ],
    "get_tensor_from_selected_rows": [((g,), {}) for g in GRADIENTS],
    "lengths_to_offsets": [((x,), {}) for x in LENGTHS],
    "lengths_to_segment_ids": [((x,), {}) for x in LENGTHS],
    "lookup_table": LOOKUPS,
    "lookup_table_grad": [
        ((t, i, array(*i.shape, *t.shape[1:], dtype=t.dtype)), a) for (t, i), a in PLAIN_LOOKUPS if t.dtype.kind == "f"
    ]
    + [((TABLE, vector(*[1, 5, 1] * 30), reals(90, 3)), {"is_sparse": False})],
    "mean": [((x,), {}) for x in ELEMENTS],
    "mean_grad": [((x, vector(2, dtype=x.dtype)), {}) for x in MATRICES],
    "merge_selected_rows": [((g,), {}) for g in GRADIENTS]
    + [((SelectedRows([3, 3], array(2, 4, dtype=np.int32), 5),), {})],
    "offsets_to_lengths": [((x,), {}) for x in OFFSETS],
    "offsets_to_segment_ids": [((x,), {}) for x in OFFSETS],
    "relu": [((x,), {}) for x in (*ELEMENTS, array(2, 3, dtype=np.int32))],
    "relu_grad": dense_grad(),
    "segment_ids_to_lengths": NUMBERED,
    "segment_ids_to_offsets": NUMBERED,
    "segment_reduce": SEGMENTS,
    "segment_reduce_grad": [((*i[:2], o, g, *i[2:]), a) for i, o, g, a in SEGMENT_GRADS],
    "segment_reduce_weights_grad": [((*i[:2], o, g, *i[2:]), a) for i, o, g, a in SEGMENT_GRADS if len(i) == 3],
    "selected_rows_to_dense": [((g,), {}) for g in GRADIENTS],
    "sequence_pool": POOLED + INDEXED + SPECIALS,
    "sequence_pool_grad": [
        ((i[0], o, g), a) for i, o, g, a in with_gradient(POOLED + SPECIALS[:-1], "sequence_pool", ("pad_value",))
    ],
    "sgd": list(optimizer_cases(0))
    + [((SELECTED, SelectedRows([5, 5], reals(2, 2), 10)), {"lr": 0.1}), ((SELECTED, reals(10, 2)), {"lr": 0.1})],
    "sigmoid": [((x,), {}) for x in ELEMENTS] + [((np.array([-1e3, 1e3, np.nan]),), {})],
    "sigmoid_grad": dense_grad(),
    "softmax_with_cross_entropy": [
        ((reals(3, 4), vector(0, 3, 1)), {}),
        ((reals(2, 4, dtype=np.float32), vector(0, 3).reshape(2, 1)), {}),
        ((reals(0, 4), vector()), {}),
        ((array(2, 3, dtype=np.float16), vector(2, 2)), {}),
        ((np.array([[np.inf, 0.0], [1e4, -1e4]]), vector(0, 0)), {}),
        ((ragged([2, 1]), vector(0, 4, 1)), {}),
    ],
    "softmax_with_cross_entropy_grad": [((reals(n, 4), vector(*range(n)), reals(n, 1)), {}) for n in (0, 1, 3)],
    "sum": [(xs, {}) for xs in SUMS],
    "tanh": [((x,), {}) for x in ELEMENTS],
    "tanh_grad": dense_grad(),
}
