"""Samples of lodkit/ops/segments.py."""

from __future__ import annotations

import numpy as np

from ._make import array, rng, vector, with_gradient


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


SEGMENTS = list(segment_cases())
SEGMENT_GRADS = list(with_gradient(SEGMENTS, "segment_reduce", ("pad_value", "dtype")))
SAMPLES = {
    "segment_reduce": SEGMENTS,
    "segment_reduce_grad": [((*i[:2], o, g, *i[2:]), a) for i, o, g, a in SEGMENT_GRADS],
    "segment_reduce_weights_grad": [((*i[:2], o, g, *i[2:]), a) for i, o, g, a in SEGMENT_GRADS if len(i) == 3],
}
CAFFE2 = {
    **{f"Lengths{r}": (np.ones((3, 2)), np.array([1, 2], np.int32)) for r in ("Sum", "Mean", "Max")},
    "LengthsWeightedSum": (np.ones((3, 2)), np.ones(3), np.array([1, 2], np.int32)),
    **{
        f"SparseLengths{r}": (np.ones((4, 2)), np.array([3, 0, 1]), np.array([1, 2], np.int32)) for r in ("Sum", "Mean")
    },
    "SparseLengthsWeightedSum": (np.ones((4, 2)), np.ones(3), np.array([3, 0, 1]), np.array([1, 2], np.int32)),
}
