"""Quantized tables: packing, unpacking, and bags of packed rows."""

from __future__ import annotations

from .. import ops
from ._common import only, ragged


def _pack(bits):
    return lambda input: ops.quantize_rows(input, bits=bits)


def _unpack(bits):
    return lambda scale_bias_quantized_input: ops.dequantize_rows(scale_bias_quantized_input, bits=bits)


def _bags(bits, pool, weighted):
    def run_weighted(data, weights, indices, lengths):
        return ops.quantized_embedding_bag(data, ragged(indices, lengths), weights, bits=bits, pool=pool)

    def run(data, indices, lengths):
        return ops.quantized_embedding_bag(data, ragged(indices, lengths), bits=bits, pool=pool)

    return run_weighted if weighted else run


def float_to_half(input, *, clip=False):
    only("FloatToHalf", clip=(bool(clip), False))
    return ops.cast(input, dtype="float16")


def half_to_float(input):
    return ops.cast(input, dtype="float32")


BITS = (8, 4, 2)
POOLS = {"Sum": ("sum", False), "WeightedSum": ("sum", True), "Mean": ("mean", False)}
OPERATORS = {
    "FloatToHalf": float_to_half,
    "HalfToFloat": half_to_float,
    **{f"FloatToFused{bits}BitRowwiseQuantized": _pack(bits) for bits in BITS},
    **{f"Fused{bits}BitRowwiseQuantizedToFloat": _unpack(bits) for bits in BITS},
    **{f"SparseLengths{name}Fused{bits}BitRowwise": _bags(bits, *POOLS[name]) for name in POOLS for bits in BITS},
}
