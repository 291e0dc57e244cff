"""CUDA kernels of lodkit/ops/sequence_mask.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import elementwise, ids_of, output, vector
from ...base.bfloat16 import BFLOAT16
from ...base.errors import DTypeError
from ...ops.sequence_mask import check_mask_lengths, sequence_mask


@elementwise
def _mask(i, lengths, width, one, out):
    out[i] = one if i % width < vector.number(lengths, i // width) else 0


#: The words of the 1 of types that kernels write by their bits.
_ONES = {"bool": np.uint8(1), "float16": np.uint16(0x3C00), "bfloat16": np.int16(0x3F80)}


@sequence_mask.kernel("cuda")
def mask(lengths, /, *, max_length, dtype, out=None):
    lengths = ids_of(lengths, "lengths")
    kind = BFLOAT16 if dtype == "bfloat16" else np.dtype(dtype)
    if dtype == "bfloat16" and not hasattr(lengths.library, "to_torch"):
        raise DTypeError("on a GPU only PyTorch has bfloat16; pass lengths in a tensor, or dtype='float32'")
    width = check_mask_lengths(lengths.read(), max_length)
    out = output(lengths, (*lengths.shape, width), kind, out)
    return _mask.into(out, lengths, width, _ONES.get(dtype, kind.type(1))).array
