"""Samples of lodkit/ops/shards.py."""

from __future__ import annotations

import numpy as np

from lodkit import OPS

from ._make import array, reals, rng, vector

KEYS = vector(4, 7, 1, 6, -1, 4)
MANY = rng.integers(-20, 20, 40)
SPLITS = [
    ((KEYS, reals(6, 3)), {"num_outputs": 6}),
    ((vector(),), {"num_outputs": 2}),
    ((vector(5, dtype=np.int32), array(1, dtype=np.int64)), {"num_outputs": 2}),
    ((KEYS.reshape(2, 3), array(2, 3, 2, 2, dtype=np.float16), reals(2, 3)), {"num_outputs": 9}),
    ((MANY, reals(40, 64, dtype=np.float32)), {"num_outputs": 6, "pack_first_input": True}),
]
SEGMENTED = [
    ((vector(1, 0, 5), KEYS), {"num_outputs": 4}),
    ((vector(), vector()), {"num_outputs": 2}),
    ((vector(0, 0), vector(), reals(0, 2)), {"num_outputs": 6}),
    ((vector(30, 10, dtype=np.int32), MANY, reals(40, 3)), {"num_outputs": 9, "pack_first_input": True}),
]


def _gathered():
    """Return keys and the rows of every shard."""
    for (keys, *data), attrs in SPLITS:
        if data:
            parts = OPS["partition"].definition(keys, *data, **attrs)
            yield (keys, *parts[1 :: 1 + len(data)]), {}


SAMPLES = {
    "partition": SPLITS,
    "lengths_partition": SEGMENTED,
    "gather_by_key": [*_gathered(), ((vector(), reals(0, 2)), {})],
}
_KEYS = np.array([3, 1, 4], np.int32)
CAFFE2 = {
    "Partition": (_KEYS, {"num_outputs": 2}),
    "LengthsPartition": (np.array([1, 2], np.int32), _KEYS, {"num_outputs": 4}),
    "GatherByKey": (_KEYS, np.array([4.0]), np.array([3.0, 1.0])),
}
