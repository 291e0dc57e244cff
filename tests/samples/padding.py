"""Samples of lodkit/ops/padding.py."""

from __future__ import annotations

import numpy as np

from ._make import array, reals, vector

PACKS = [
    ((reals(6, 3), vector(3, 0, 2, 1)), {"pad_value": -1.0}),
    ((reals(4), vector(4, dtype=np.int32)), {}),
    ((reals(6, 2, 2), vector(0, 4, 2)), {"max_length": 3}),
    ((reals(5, 64, dtype=np.float32), vector(1, 4)), {"max_length": 6}),
    ((array(3, 4, dtype=np.float16), vector(2, 1)), {"pad_value": -np.inf}),
    ((array(5, 1, dtype=np.int64), vector(2, 3)), {"pad_value": 7, "return_presence_mask": True}),
    ((reals(3, 2), vector(0, 3)), {"return_presence_mask": True, "max_length": 2}),
    ((reals(0, 2), vector(0, 0)), {"max_length": 2}),
    ((reals(0), vector()), {}),
    ((reals(2, 3), vector(1, 1)), {"max_length": 0}),
]
UNPACKS = [
    ((reals(3, 3, 2), vector(3, 0, 2)), {}),
    ((reals(2, 4), vector(4, 1, dtype=np.int32)), {"max_length": 3}),
    ((reals(2, 3, 2, 2), vector(1, 9)), {"max_length": 2}),
    ((reals(2, 3, 64, dtype=np.float32), vector(0, 3)), {}),
    ((array(2, 3, 3, dtype=np.float16), vector(2, 3)), {}),
    ((array(1, 3, dtype=np.int32), vector(2)), {}),
    ((reals(2, 0, 2), vector(0, 0)), {}),
    ((reals(0, 3), vector()), {}),
]
PADS = [
    ((reals(5, 3), vector(3, 0, 2)), {"max_length": 4, "pad_value": -1.0}),
    ((array(3, dtype=np.int32), vector(1, 2)), {"max_length": 2}),
    ((reals(4, 2, 2), vector(3, 1)), {"max_length": 3}),
    ((reals(0, 2), vector()), {"max_length": 3}),
]


def grads(cases):
    """Yield cases of a gradient operator: forward inputs and the gradient of the result."""
    import lodkit

    for name, forward in cases:
        for (data, lengths), attrs in forward:
            if data.dtype.kind == "f":
                attrs = {"max_length": attrs.get("max_length")}
                out = lodkit.OPS[name].definition(data, lengths, **attrs)
                yield (data, lengths, array(*out.shape, dtype=out.dtype)), attrs


SAMPLES = {
    "lengths_pad": PADS,
    "pack_segments": PACKS,
    "pack_segments_grad": list(grads([("pack_segments", [*PACKS[:5], *PACKS[7:8]])])),
    "unpack_segments": UNPACKS,
    "unpack_segments_grad": list(grads([("unpack_segments", [*UNPACKS[:5], UNPACKS[6]])])),
}
ROWS, LENGTHS = np.ones((3, 2), np.float32), np.array([1, 2], np.int32)
CAFFE2 = {
    "LengthsPad": (ROWS, LENGTHS, {"target_length": 2}),
    "PackSegments": (LENGTHS, ROWS),
    "UnpackSegments": (LENGTHS, np.ones((2, 2), np.float32)),
}
