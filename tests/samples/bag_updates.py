"""Samples of lodkit/ops/bag_updates.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ids, reals

REPEATED = LoDTensor(np.array([1, 4, 1, 1, 4], np.int32), [[2], [3, 2]])


def cases(rowwise):
    bags = ids([3, 0, 2])
    for at, item, dtype, weighted, attrs in (
        (bags, (3,), np.float64, False, {"epsilon": 1e-3}),
        (REPEATED, (3,), np.float64, False, {"pool": "mean", "duplicates": "sequential"}),
        (REPEATED, (3,), np.float64, True, {"weight_decay": 0.1}),
        (REPEATED, (2, 2), np.float64, True, {"pool": "mean", "duplicates": "sequential", "weight_decay": 0.1}),
        (ids([4, 30]), (64,), np.float32, False, {"pool": "sqrt"}),
        (REPEATED, (4,), np.float16, True, {}),
        (REPEATED, (), np.float32, False, {}),
        (ids([0, 0]), (3,), np.float64, False, {}),
        (ids([]), (3,), np.float32, True, {}),
    ):
        make = array if dtype == np.float16 else reals
        state = np.abs(make(*(6,) if rowwise else (6, *item), dtype=dtype)) + dtype(1)
        grad = make(len(at.row_offsets()) - 1, *item, dtype=dtype)
        weights = (make(len(at.values), dtype=dtype),) if weighted else ()
        yield (make(6, *item, dtype=dtype), at, grad, state, *weights), {"lr": 0.5, **attrs}


def few_cases(states, **attrs):
    """A case with equal ids and one without: what is common to all of these is in the samples of adagrad.

    Pools that scale the gradient take a kernel more, in the samples of a rule for each number of states.
    """
    for at, more in ((REPEATED, {}), (ids([0, 0]), {})):
        arrays = [np.abs(reals(6, *shape)) + 1 for shape in states]
        yield (reals(6, 3), at, reals(len(at.row_offsets()) - 1, 3), *arrays), {"lr": 0.5, **attrs, **more}


MEAN = {"pool": "mean"}
ALL, ROW = (3,), ()  # shapes of states: like the parameter, or with a number per row
SAMPLES = {
    "embedding_bag_adagrad": list(cases(False)),
    "embedding_bag_rowwise_adagrad": list(cases(True)),
    "embedding_bag_sgd": list(few_cases([], **MEAN)),
    "embedding_bag_decayed_adagrad": list(few_cases([ALL])),
    "embedding_bag_proximal_gd": list(few_cases([], l1=0.2)),
    "embedding_bag_proximal_adagrad": list(few_cases([ALL], l1=0.2)),
    "embedding_bag_ftrl": [*few_cases([ALL, ALL], l1=0.2), *list(few_cases([(3, 2)], l1=0.2))[:1]],
    "embedding_bag_momentum": list(few_cases([ALL], duplicates="sequential")),
    "embedding_bag_adadelta": list(few_cases([ALL, ALL])),
    "embedding_bag_rmsprop": [*few_cases([ALL, ALL]), *list(few_cases([ALL, ALL, ALL], maximize=True))[:1]],
    "embedding_bag_lion": list(few_cases([ALL])),
    "embedding_bag_adam": list(few_cases([ALL, ALL], iteration=3, **MEAN)),
    "embedding_bag_rowwise_adam": list(few_cases([ALL, ROW], iteration=3, **MEAN)),
    "embedding_bag_adamw": list(few_cases([ALL, ALL], iteration=3)),
    "embedding_bag_adamax": list(few_cases([ALL, ALL], iteration=3)),
    "embedding_bag_nadam": list(few_cases([ALL, ALL], iteration=3)),
    "embedding_bag_radam": list(few_cases([ALL, ALL], iteration=9)),
}


def caffe2_call(moment, *weights):
    rates, indices, lengths = np.array([-0.1], np.float32), np.array([1, 2, 1]), np.array([2, 1], np.int32)
    return np.ones((3, 3)), moment, *weights, indices, np.ones((2, 3)), rates, lengths


CAFFE2 = {
    f"{prefix}SparseAdagradFusedWithSparseLengths{pool}Gradient": caffe2_call(
        np.ones(shape), *([np.ones(3)] if pool == "WeightedSum" else [])
    )
    for prefix, shape in (("", (3, 3)), ("RowWise", 3))
    for pool in ("Sum", "Mean", "WeightedSum")
}
