"""Samples of lodkit/ops/bag_updates.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ids, reals


def cases(rowwise):
    bags, repeated = ids([3, 0, 2]), LoDTensor(np.array([1, 4, 1, 1, 4], np.int32), [[2], [3, 2]])
    for at, item, dtype, weighted, attrs in (
        (bags, (3,), np.float64, False, {"epsilon": 1e-3}),
        (repeated, (3,), np.float64, False, {"pool": "mean", "duplicates": "sequential"}),
        (repeated, (3,), np.float64, True, {"weight_decay": 0.1}),
        (repeated, (2, 2), np.float64, True, {"pool": "mean", "duplicates": "sequential", "weight_decay": 0.1}),
        (ids([4, 30]), (64,), np.float32, False, {"pool": "sqrt"}),
        (repeated, (4,), np.float16, True, {}),
        (repeated, (), np.float32, False, {}),
        (ids([0, 0]), (3,), np.float64, False, {}),
        (ids([]), (3,), np.float32, True, {}),
    ):
        make = array if dtype == np.float16 else reals
        state = np.abs(make(*(6,) if rowwise else (6, *item), dtype=dtype)) + dtype(1)
        grad = make(len(at.row_offsets()) - 1, *item, dtype=dtype)
        weights = (make(len(at.values), dtype=dtype),) if weighted else ()
        yield (make(6, *item, dtype=dtype), at, grad, state, *weights), {"lr": 0.5, **attrs}


SAMPLES = {"embedding_bag_adagrad": list(cases(False)), "embedding_bag_rowwise_adagrad": list(cases(True))}


def caffe2_call(moment, *weights):
    rates, indices, lengths = np.array([-0.1], np.float32), np.array([1, 2, 1]), np.array([2, 1], np.int32)
    return np.ones((3, 2)), moment, *weights, indices, np.ones((2, 2)), rates, lengths


CAFFE2 = {
    f"{prefix}SparseAdagradFusedWithSparseLengths{pool}Gradient": caffe2_call(
        np.ones(shape), *([np.ones(3)] if pool == "WeightedSum" else [])
    )
    for prefix, shape in (("", (3, 2)), ("RowWise", 3))
    for pool in ("Sum", "Mean", "WeightedSum")
}
