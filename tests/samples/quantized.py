"""Samples of lodkit/ops/quantized.py."""

from __future__ import annotations

import numpy as np

import lodkit

from ._make import BAGS, GRADIENTS, array, ids, ragged, reals

FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
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


#: Every byte of a format: NaN, infinities, subnormal numbers, and both zeros.
EVERY_BYTE = np.arange(256, dtype=np.uint8).reshape(4, 64)
FLOAT8_TABLES = [
    (reals(6, 64, dtype=np.float32), {}),
    (reals(6, 20) * 1e-30, {"per": "table"}),
    (array(5, 7, dtype=np.float16), {}),
    (np.array([[0, -0.0], [1e-44, -1e-45], [np.inf, 1], [2, np.nan], [3e38, 1e30]], np.float32), {}),
    (np.array([[1, np.nan], [2, 3]], np.float32), {"per": "table"}),
    (reals(4, 1), {}),
    (reals(0, 4), {}),
    (reals(0, 4), {"per": "table"}),
    (reals(3, 0), {}),
    (reals(2, 3, 4, dtype=np.float32), {}),
    (reals(2, 3, 4, dtype=np.float32), {"per": "table"}),
]


def packed(rows, columns, bits):
    return lodkit.quantize_rows.definition(reals(rows, columns), bits=bits)


def float8_rows(rows, columns, bits, per="row"):
    return lodkit.quantize_rows.definition(reals(rows, columns), bits=bits, per=per)


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


def float8_bag_cases():
    for bits, columns, per, bags in (
        ("float8_e4m3fn", 64, "row", BAGS[0]),
        ("float8_e4m3fn", 20, "table", BAGS[3]),
        ("float8_e5m2", 3, "row", ids([4, 30])),
        ("float8_e5m2", 1, "table", BAGS[4]),
    ):
        rows, scale = float8_rows(6, columns, bits, per)
        yield (rows, bags, None, scale), {"bits": bits, "pad_value": 0.5}
        weights = reals(len(bags.values), dtype=np.float32) + 3
        yield (rows, bags, weights, scale), {"bits": bits, "pool": "mean", "padding_idx": 1}
    yield (rows, ids([2, 0, 1])), {"bits": "float8_e5m2", "pool": "mean"}
    yield (rows, ids([2, 0, 1]), None, scale.astype(np.float16)), {"bits": "float8_e5m2"}


def lookup_cases():
    for rows, bits in ROWS:
        yield (rows, np.array([5, 0, 5])), {"bits": bits}
        yield (rows, ids([2, 0, 1])), {"bits": bits, "padding_idx": 2}
    for bits in FLOAT8:
        yield (EVERY_BYTE, np.array([[3, 0], [1, 2]], np.int32)), {"bits": bits, "padding_idx": 1}
        for columns, per in ((64, "row"), (5, "table"), (1, "row")):
            rows, scale = float8_rows(6, columns, bits, per)
            yield (rows, np.array([5, 0, 5, 1]), scale), {"bits": bits}
        yield (rows, np.zeros((0, 2), np.int64), scale), {"bits": bits}
        yield (*float8_rows(2, 0, bits)[:1], np.array([1])), {"bits": bits}
    yield (float8_rows(6, 4, bits)[0], ids([2, 1]), np.ones((6, 1), np.float16)), {"bits": bits}


BAG = [*bag_cases(), *float8_bag_cases()]
WEIGHTED = [(inputs, attrs) for inputs, attrs in BAG if len(inputs) > 2 and inputs[2] is not None]


def weights_grad_cases():
    for (rows, bags, weights, *scale), attrs in [*WEIGHTED, (WEIGHTED[0][0], {"bits": 8, "pool": "sum"})]:
        attrs = {k: v for k, v in attrs.items() if k != "pad_value"}
        columns = lodkit.dequantize_rows.definition(rows, bits=attrs["bits"]).shape[1]
        grad = reals(len(bags.row_offsets()) - 1, columns, dtype=np.float32)
        yield (rows, bags, grad, weights, *scale), attrs


SAMPLES = {
    "quantize_rows": [((table,), {"bits": bits}) for table, bits in TABLES]
    + [((table,), {"bits": bits, "search": "greedy"}) for table, bits in TABLES if bits < 8]
    + [((table,), {"bits": bits, **attrs}) for table, attrs in FLOAT8_TABLES for bits in FLOAT8],
    "dequantize_rows": [((rows,), {"bits": bits}) for rows, bits in ROWS]
    + [((packed(0, 4, 8),), {"bits": 8}), ((packed(2, 0, 2),), {"bits": 2})]
    + [((EVERY_BYTE,), {"bits": bits}) for bits in FLOAT8]
    + [(float8_rows(6, columns, bits), {"bits": bits}) for columns, bits in ((20, FLOAT8[0]), (3, FLOAT8[1]))]
    + [((EVERY_BYTE.reshape(2, 2, 64), np.float64([0.3])), {"bits": FLOAT8[0]})]
    + [((EVERY_BYTE, np.float16([0.3])), {"bits": FLOAT8[1]})],
    "quantized_lookup_table": list(lookup_cases()),
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
