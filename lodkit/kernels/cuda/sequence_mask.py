"""CUDA kernels of lodkit/ops/sequence_mask.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import elementwise, ids_of, output, vector
from ...base.errors import DTypeError
from ...ops.sequence_mask import check_mask_lengths, sequence_mask


@elementwise
def _mask(i, lengths, width, one, out):
    out[i] = one if i % width < vector.number(lengths, i // width) else 0


@sequence_mask.kernel("cuda")
def mask(lengths, /, *, max_length, dtype, out=None):
    if dtype == "bfloat16":
        raise DTypeError("sequence_mask makes no bfloat16 on a GPU; pass dtype='float32' and convert the mask")
    lengths = ids_of(lengths, "lengths")
    width = check_mask_lengths(lengths.read(), max_length)
    out = output(lengths, (*lengths.shape, width), dtype, out)
    one = np.ones(1, dtype)
    one = one.view(np.uint16) if dtype == "float16" else one.view(np.uint8) if dtype == "bool" else one
    return _mask.into(out, lengths, width, one[0]).array
