"""Samples of lodkit/ops/segments.py."""

from __future__ import annotations

import numpy as np

from ._make import array, reals, rng, vector, with_gradient


def segmentations(lengths):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = np.repeat(np.arange(len(lengths)), lengths)
    return {
        "lengths": np.array(lengths, np.int32),
        "offsets": offsets,
        "ids": ids,
        "unsorted_ids": rng.permutation(ids),
    }


def segment_cases():
    # Columns and types are those of sequence_pool's samples: each pair of them is a kernel to compile.
    for lengths, item, dtype in (
        ([3, 1, 2], (17,), np.float32),
        ([4, 0, 1], (), np.float32),
        ([2, 7], (2, 3), np.float64),
        ([3, 3], (20,), np.float16),
    ):
        data = array(sum(lengths), *item, dtype=dtype)
        for by, segments in segmentations(lengths).items():
            for reduce in ("sum", "mean", "max"):
                yield (data, segments), {"by": by, "reduce": reduce, "num_segments": len(lengths)}
        yield (data, vector(*lengths)), {"reduce": "min", "pad_value": -1.0}
        weights = (rng.integers(1, 5, len(data)) / 2).astype(dtype)
        yield (data, vector(*lengths), weights), {"reduce": "mean"}
        yield (data, vector(*lengths), weights), {"reduce": "sum"}
        yield (data, segmentations(lengths)["unsorted_ids"], weights), {"by": "unsorted_ids"}
    yield (array(0, 4), vector()), {}
    yield (array(0, 4), vector(0, 0)), {"reduce": "max"}
    yield (array(0, 4), vector()), {"by": "unsorted_ids", "num_segments": 2}
    yield (array(3, 2, dtype=np.int32), vector(1, 2)), {}
    yield (array(3, 2, dtype=np.float16), vector(1, 2)), {"dtype": "float32"}
    for end in ("first", "last"):
        yield (array(3, 2, dtype=np.float16), vector(1, 0, 2)), {"dtype": "float32", "reduce": end, "pad_value": 0.1}
    for reduce in ("sum", "mean", "sqrt", "min", "max", "prod"):
        yield (reals(6, dtype=np.float32), vector(2, 0, 2, 5, 0, 2)), {"by": "unsorted_ids", "reduce": reduce}
    yield (array(4, dtype=np.float16), vector(1, 0, 1, 1)), {"by": "unsorted_ids", "pad_value": 2.0}
    yield (array(4, dtype=np.int32), vector(1, 0, 1, 3)), {"by": "unsorted_ids", "reduce": "max"}
    yield from other_reductions()
    yield from gathered()


def other_reductions():
    """Yield products, also of zeros, and logarithms of sums."""
    data = reals(7, 5)
    data[2, 0] = data[5, 1] = data[6, 1] = 0
    for reduce in ("prod", "logsumexp", "logmeanexp"):
        yield (data, vector(3, 0, 4)), {"reduce": reduce}
        yield (data, vector(1, 0, 1, 1, 0, 2, 2)), {"by": "unsorted_ids", "reduce": reduce}
        yield (reals(5, dtype=np.float32), vector(4, 1)), {"reduce": reduce}
        yield (array(4, 20, dtype=np.float16), vector(1, 3)), {"reduce": reduce}
    yield (array(3, 2, dtype=np.int32), vector(1, 2)), {"reduce": "prod"}
    extremes = np.array([[np.inf, -np.inf], [np.inf, -np.inf], [1.0, np.nan]])
    yield (extremes, vector(2, 1)), {"reduce": "logmeanexp"}


def gathered():
    """Yield reductions fused with a gather."""
    table, picked, weights = reals(5, 3), vector(4, 0, 4, 2, 1, 1, 0, dtype=np.int32), reals(7) + 3
    reductions = ("sum", "mean", "max", "prod", "logsumexp", "logmeanexp")
    for k, (by, segments) in enumerate(segmentations([3, 0, 4]).items()):
        for reduce in reductions[k % 2 :: 2]:
            yield (table, segments, None, picked), {"by": by, "reduce": reduce, "is_sparse": by != "ids"}
        yield (table, segments, weights, picked), {"by": by, "reduce": "mean" if by == "ids" else "sum"}
    yield (table, vector(7, 0), None, picked), {"reduce": "last"}
    yield (table, vector(7), None, picked), {"reduce": "sqrt"}
    yield (reals(4), vector(0, 0, 1), None, vector(3, 3, 0)), {"by": "unsorted_ids", "reduce": "min"}
    yield (array(4, 20, dtype=np.float16), vector(2, 1), None, vector(3, 3, 0)), {}
    yield (reals(0, 2), vector(0, 0), None, vector()), {}


SEGMENTS = list(segment_cases())
SEGMENT_GRADS = list(with_gradient(SEGMENTS, "segment_reduce", ("pad_value", "dtype")))
SAMPLES = {
    "segment_reduce": SEGMENTS,
    "segment_reduce_grad": [((*i[:2], o, g, *i[2:]), a) for i, o, g, a in SEGMENT_GRADS],
    "segment_reduce_weights_grad": [
        ((*i[:2], o, g, *i[2:]), {k: v for k, v in a.items() if k != "is_sparse"})
        for i, o, g, a in SEGMENT_GRADS
        if len(i) > 2 and i[2] is not None
    ],
}
_REDUCTIONS = ["Sum", "Mean", "SqrtMean", "Max", "Min", "Prod", "LogSumExp", "LogMeanExp"]
_REDUCTIONS += ["WeightedSum", "WeightedMean"]
_SEGMENTS = dict.fromkeys(("SortedSegment", "SortedSegmentRange", "UnsortedSegment"), vector(0, 1, 1, dtype=np.int32))
_SEGMENTS["Lengths"] = vector(1, 2, dtype=np.int32)
CAFFE2 = {
    sparse + name + reduction: (
        np.ones((3, 2)),
        *((np.ones(3),) if "Weighted" in reduction else ()),
        *((vector(2, 0, 1),) if sparse else ()),
        segments,
    )
    for sparse in ("", "Sparse")
    for name, segments in _SEGMENTS.items()
    for reduction in _REDUCTIONS
}
CAFFE2["SparseLengthsPositionalWeightedSum"] = (np.ones((3, 2)), np.ones(2), vector(2, 0, 1), vector(1, 2))

_GRADS = np.ones((2, 2))
_ENDS = {"SortedSegment": vector(0, 0, 1), "UnsortedSegment": vector(1, 0, 1), "Lengths": vector(1, 2)}
for _sparse in ("", "Sparse"):
    for _name, _segments in _ENDS.items():
        for _reduction in ("Sum", "Mean"):
            CAFFE2[f"{_sparse}{_name}{_reduction}Gradient"] = _GRADS, _segments
        CAFFE2[f"{_sparse}{_name}WeightedSumGradient"] = np.ones(3), _GRADS, _segments
    for _reduction in ("Sum", "Mean"):
        CAFFE2[f"{_sparse}LengthsIndicesInGradient{_reduction}Gradient"] = _GRADS, vector(1, 2), vector(2, 0, 1)
_MAIN = np.ones(3), _GRADS, vector(1, 2), np.ones((3, 2))
CAFFE2["LengthsWeightedSumWithMainInputGradient"] = _MAIN
CAFFE2["SparseLengthsWeightedSumWithMainInputGradient"] = *_MAIN, vector(2, 0, 1)
CAFFE2["SparseLengthsIndicesInGradientWeightedSumGradient"] = *_MAIN[:3], vector(2, 0, 1)
CAFFE2["SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient"] = *_MAIN, vector(2, 0, 1)
CAFFE2["LengthsMaxWithMainInputAndForwardOutputGradient"] = _GRADS, _GRADS, vector(1, 2), np.ones((3, 2))
for _reduction in ("Sum", "Mean", "Max", "LogSumExp", "LogMeanExp"):
    CAFFE2[f"SortedSegmentRange{_reduction}Gradient"] = np.ones((3, 2)), _GRADS, _GRADS, vector(0, 0, 1)
