"""Samples of lodkit/ops/quantized.py."""

from __future__ import annotations

import numpy as np

import lodkit

from ._make import BAGS, GRADIENTS, array, ids, ragged, reals

TABLES = [
    (reals(6, 64, dtype=np.float32), 8),
    (reals(6, 64), 4),
    (reals(6, 64, dtype=np.float32), 2),
    (array(5, 20, dtype=np.float16), 2),
    (np.full((3, 6), 0.3, np.float32), 4),
    (reals(4, 1), 8),
    (reals(0, 4), 8),
    (reals(3, 0), 4),
    (reals(2, 3, 4, dtype=np.float32), 8),
    (reals(2, 0, 2, 4), 2),
]


def packed(rows, columns, bits):
    return lodkit.quantize_rows.definition(reals(rows, columns), bits=bits)


ROWS = [
    (packed(6, 64, 8), 8),
    (packed(6, 64, 4), 4),
    (packed(6, 100, 2), 2),
    (packed(6, 6, 4), 4),
    (packed(6, 3, 8), 8),
]


def bag_cases():
    for (rows, bits), bags in zip(ROWS, (BAGS[0], BAGS[3], ids([4, 30]), BAGS[4], BAGS[5]), strict=True):
        yield (rows, bags), {"bits": bits, "pad_value": 0.5}
        weights = reals(len(bags.values), dtype=np.float32) + 3
        yield (rows, bags, weights), {"bits": bits, "pool": "mean", "padding_idx": 1}
    yield (ROWS[0][0], BAGS[1]), {"bits": 8, "pool": "mean"}
    yield (ROWS[0][0], ids([2, 0, 1])), {"bits": 8, "pool": "mean"}


BAG = list(bag_cases())
WEIGHTED = [(inputs, attrs) for inputs, attrs in BAG if len(inputs) == 3]


def weights_grad_cases():
    for (rows, bags, weights), attrs in [*WEIGHTED, (WEIGHTED[0][0], {"bits": 8, "pool": "sum"})]:
        attrs = {k: v for k, v in attrs.items() if k != "pad_value"}
        columns = lodkit.dequantize_rows.definition(rows, bits=attrs["bits"]).shape[1]
        yield (rows, bags, reals(len(bags.row_offsets()) - 1, columns, dtype=np.float32), weights), attrs


SAMPLES = {
    "quantize_rows": [((table,), {"bits": bits}) for table, bits in TABLES]
    + [((table,), {"bits": bits, "search": "greedy"}) for table, bits in TABLES if bits < 8],
    "dequantize_rows": [((rows,), {"bits": bits}) for rows, bits in ROWS]
    + [((packed(0, 4, 8),), {"bits": 8}), ((packed(2, 0, 2),), {"bits": 2})],
    "quantized_embedding_bag": BAG,
    "quantized_embedding_bag_weights_grad": list(weights_grad_cases()),
    "cast": [
        ((reals(3, 50, dtype=np.float32),), {"dtype": "float16"}),
        ((array(2, 3, dtype=np.float16),), {"dtype": "float32"}),
        ((np.array([70000, -1e-8, np.inf, np.nan, 65519], np.float32),), {"dtype": "float16"}),
        ((array(0, 3),), {"dtype": "float16"}),
        ((ragged([2, 1]),), {"dtype": "float64"}),
        ((array(2, 3, dtype=np.int64),), {"dtype": "float32"}),
        *(((grad,), {"dtype": "float16"}) for grad in GRADIENTS[1:5]),
    ],
}
TABLE, INDICES, LENGTHS = np.ones((4, 8), np.float32), np.array([1, 3], np.int64), np.array([2, 0], np.int32)
CAFFE2 = {"FloatToHalf": (TABLE,), "HalfToFloat": (TABLE.astype(np.float16),)}
for _bits in (8, 4, 2):
    _rows = lodkit.quantize_rows.definition(TABLE, bits=_bits)
    CAFFE2[f"FloatToFused{_bits}BitRowwiseQuantized"] = (TABLE,)
    CAFFE2[f"Fused{_bits}BitRowwiseQuantizedToFloat"] = (_rows,)
    CAFFE2[f"SparseLengthsSumFused{_bits}BitRowwise"] = _rows, INDICES, LENGTHS
    CAFFE2[f"SparseLengthsMeanFused{_bits}BitRowwise"] = _rows, INDICES, LENGTHS
    CAFFE2[f"SparseLengthsWeightedSumFused{_bits}BitRowwise"] = _rows, np.ones(2, np.float32), INDICES, LENGTHS
CAFFE2["GatherFused8BitRowwise"] = lodkit.quantize_rows.definition(TABLE, bits=8), INDICES
