"""Samples of lodkit/ops/sequence_pool.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import ragged, with_gradient

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
# Every reduction with the double ones; three of them in turn with the others, each of which is a kernel to compile.
POOLED = [((x,), {"pool": p}) for x in RAGGED[:9] for p in POOLS]
POOLED += [((x,), {"pool": POOLS[(3 * i + k) % 8]}) for i, x in enumerate(RAGGED[9:]) for k in range(3)]
POOLED += [((RAGGED[6],), {"pool": p, "level": 0, "pad_value": 2.0}) for p in POOLS]
POOLED += [((RAGGED[7],), {"pool": "sum", "level": level}) for level in (0, 1, 2, -2, -3)]
POOLED += [((x,), {"pool": p}) for x in INTEGERS for p in ("sum", "max", "min", "first", "last")]
POOLED += [
    ((x,), {"pool": pool} | more)
    for x in (
        LoDTensor(np.array([2**64 - 1, 2**63, 5, 7], np.uint64), [[2, 0, 2]]),
        LoDTensor(np.array([[True, False], [True, True], [False, False]]), [[2, 1]]),
    )
    for pool, more in (("sum", {}), ("min", {}), ("last", {}), ("mean", {"dtype": "float64"}))
]
POOLED += [((x,), {"pool": "mean", "dtype": "float64"}) for x in INTEGERS[1:2]]
INDEXED = [((x,), {"pool": p, "return_index": True}) for x in (*RAGGED, *INTEGERS) for p in ("max", "min")]
SPECIALS = [((SPECIAL,), {"pool": p}) for p in POOLS] + [((SPECIAL,), {"pool": "max", "return_index": True})]
SAMPLES = {
    "sequence_pool": POOLED + INDEXED + SPECIALS,
    "sequence_pool_grad": [
        ((i[0], o, g), a) for i, o, g, a in with_gradient(POOLED + SPECIALS[:-1], "sequence_pool", ("pad_value",))
    ],
}
PADDLE = {"sequence_pool": ({"X": LoDTensor(np.ones((3, 2)), [[1, 2]])}, {"pooltype": "MAX"})}
