"""CUDA kernels of lodkit/ops/ctc_align.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import elementwise, vector
from .primitives.indices import argreduce_rows
from .primitives.offsets import offsets_like
from .primitives.row_kernels import segment_of
from .sequence_tokens import keep


@elementwise
def _mark(i, tokens, offsets, segments, blank, merge, kept):
    token = vector.number(tokens, i)
    repeated = i > 0 and token == vector.number(tokens, i - 1)
    if repeated and merge:
        repeated = i > vector.number(offsets, segment_of(offsets, segments, i))
    kept[i] = 0 if token == blank or (repeated and merge) else 1


def align(tokens, offsets, blank, merge):
    """Offsets, on the CPU, and tokens of sequences without repeated ones and blanks."""
    sent, kept = offsets_like(tokens, offsets), tokens.like((len(tokens),), np.int64)
    return keep(tokens, _mark.into(kept, tokens, sent.offsets, len(sent), blank, int(merge)), offsets)


@elementwise
def _class_of(i, places, classes, out):
    out[i] = vector.number(places, i) - i * classes


def best_classes(logits):
    """The first of the largest classes of each frame."""
    frames, classes = logits.shape
    places = argreduce_rows("max", logits.reshape(logits.size), None, None, np.arange(frames + 1) * classes, (frames,))
    return _class_of.into(places.like((frames,)), places, classes)
