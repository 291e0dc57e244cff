"""Packed and padded segments."""

from __future__ import annotations

from .. import ops
from ..ops.padding import check_width
from ._common import int32


def _limit(max_length):
    return None if max_length == -1 else max_length


def pack_segments(lengths, tensor, *, max_length=-1, pad_minf=False, return_presence_mask=False):
    pad_value = -float("inf") if pad_minf else 0.0
    attrs = {"pad_value": pad_value, "return_presence_mask": bool(return_presence_mask)}
    return ops.pack_segments(tensor, lengths, max_length=_limit(max_length), **attrs)


def unpack_segments(lengths, tensor, *, max_length=-1):
    return ops.unpack_segments(tensor, lengths, max_length=_limit(max_length))


def lengths_pad(data, lengths, *, padding_value=-1.0, target_length=-1):
    width = check_width(target_length, "target_length")
    return ops.lengths_pad(data, lengths, max_length=width, pad_value=padding_value)


def add_padding(data, lengths=None, start_padding=None, end_padding=None, *, padding_width=1, end_padding_width=-1):
    widths = {"padding_width": padding_width, "end_padding_width": _limit(end_padding_width)}
    padded, counts = ops.add_padding(data, lengths, start_padding, end_padding, **widths)
    return padded, int32(counts, below=len(padded) + 1)


def remove_padding(data, lengths=None, *, padding_width=1, end_padding_width=-1):
    widths = {"padding_width": padding_width, "end_padding_width": _limit(end_padding_width)}
    rows, counts = ops.remove_padding(data, lengths, **widths)
    return rows, int32(counts, below=len(rows) + 1)


def gather_padding(data, lengths=None, *, padding_width=1, end_padding_width=-1):
    return ops.gather_padding(data, lengths, padding_width=padding_width, end_padding_width=_limit(end_padding_width))


def pad_empty_samples(lengths, *features):
    if not features:
        return pad_empty_samples(lengths, ops.lengths_to_segment_ids(lengths))[0]
    padded = [ops.pad_empty_samples(feature, lengths) for feature in features]
    return int32(padded[0][1], below=len(padded[0][0]) + 1), *(rows for rows, _ in padded)


OPERATORS = {
    "AddPadding": add_padding,
    "GatherPadding": gather_padding,
    "LengthsPad": lengths_pad,
    "PackRNNSequence": lambda values, lengths: ops.pack_rnn_sequence(values, lengths),
    "PackSegments": pack_segments,
    "PadEmptySamples": pad_empty_samples,
    "RemovePadding": remove_padding,
    "ReversePackedSegs": lambda data, lengths: ops.reverse_packed_segs(data, lengths),
    "UnpackRNNSequence": lambda values, lengths: ops.unpack_rnn_sequence(values, lengths),
    "UnpackSegments": unpack_segments,
}
