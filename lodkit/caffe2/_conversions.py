"""Conversions between lengths, segment ids and other representations; quantized tables, and bags of packed rows."""

from __future__ import annotations

from .. import ops
from ..arrays import flat
from ..base.errors import SegmentIdError
from ._common import array_like, height, int32, lod_tensor, require_defaults


def lengths_range_fill(lengths):
    positions = ops.lengths_range_fill(lengths)
    return int32(positions, below=len(positions))


def lengths_to_offsets(lengths, *, include_last_offset=False):
    offsets = int32(ops.lengths_to_offsets(lengths))
    return offsets if include_last_offset else offsets[:-1]


def segment_ids_to_lengths(segment_ids, like=None):
    num_segments = None if like is None else height(like, "like")
    ids = flat(segment_ids)
    return int32(ops.segment_ids_to_lengths(ids, num_segments=num_segments), below=len(ids) + 1)


def segment_ids_to_ranges(segment_ids, like=None):
    """SegmentIdsToRanges of Caffe2: segments after the last id are [0, 0], gaps between ids [start, 0]."""
    ids = flat(segment_ids)
    ranges = ops.segment_ids_to_ranges(ids)
    if like is not None:
        rows = height(like, "like")
        if rows < len(ranges):
            raise SegmentIdError(f"SegmentIdsToRanges: like has {rows} rows, but the ids have {len(ranges)} segments")
        segments = ops.lengths_range_fill(array_like([len(ranges)], ranges))
        ranges = ops.sparse_to_dense(segments, ranges, num_rows=rows)
    return int32(ranges, below=len(ids) + 1)


def _pack(bits):
    def run(input, *, engine=""):
        require_defaults(
            f"FloatToFused{bits}BitRowwiseQuantized", engine=(engine if bits == 8 or engine != "GREEDY" else "", "")
        )
        return ops.quantize_rows.full(input, bits=bits, search="greedy" if engine else "extremes")

    return run


def _unpack(bits):
    return lambda scale_bias_quantized_input: ops.dequantize_rows(scale_bias_quantized_input, bits=bits)


def _bags(bits, pool, weighted):
    def run_weighted(data, weights, indices, lengths):
        return ops.quantized_embedding_bag(data, lod_tensor(indices, lengths), weights, bits=bits, pool=pool)

    def run(data, indices, lengths):
        return ops.quantized_embedding_bag(data, lod_tensor(indices, lengths), bits=bits, pool=pool)

    return run_weighted if weighted else run


def float_to_half(input, *, clip=False):
    require_defaults("FloatToHalf", clip=(bool(clip), False))
    return ops.cast(input, dtype="float16")


BITS = (8, 4, 2)
POOLS = {"Sum": ("sum", False), "WeightedSum": ("sum", True), "Mean": ("mean", False)}
OPERATORS: dict = {
    "FloatToHalf": float_to_half,
    "HalfToFloat": lambda input: ops.cast(input, dtype="float32"),
    **{f"FloatToFused{bits}BitRowwiseQuantized": _pack(bits) for bits in BITS},
    **{f"Fused{bits}BitRowwiseQuantizedToFloat": _unpack(bits) for bits in BITS},
    **{f"SparseLengths{name}Fused{bits}BitRowwise": _bags(bits, *POOLS[name]) for name in POOLS for bits in BITS},
    "GatherFused8BitRowwise": lambda data, indices: ops.dequantize_rows(ops.gather(data, indices), bits=8),
    "LengthsRangeFill": lengths_range_fill,
    "LengthsToOffsets": lengths_to_offsets,
    "LengthsToRanges": lambda lengths: int32(ops.lengths_to_ranges(lengths)),
    "LengthsToSegmentIds": lambda lengths: int32(ops.lengths_to_segment_ids(lengths), below=len(lengths)),
    "LengthsToShape": lambda lengths: int32(ops.lengths_to_shape(lengths)),
    "LengthsToWeights": lambda lengths, *, power=0.5: ops.lengths_to_weights(lengths, power=power),
    "SegmentIdsToLengths": segment_ids_to_lengths,
    "SegmentIdsToLengthsOp": segment_ids_to_lengths,
    "SegmentIdsToRanges": segment_ids_to_ranges,
}
