"""Masks of padded sequences (Paddle's sequence_mask)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import INTEGERS, dtype_named, to_dtype
from ..arrays.numpy_arrays import without_repeats
from ..arrays.objects import id_remedy_of
from ..base.errors import DTypeError, LoDError
from ..lod.levels import load_compiled
from ..registry import Dense, VarDesc, op
from .padding import check_width

DOCS_PAGE = "pad"
SEARCH_WORDS = {"sequence_mask": "attention mask, padding mask, key_padding_mask, boolean mask of lengths"}

MaskType = Literal["bool", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


def check_mask_lengths(lengths, max_length):
    """Check lengths of any shape. Returns the width of the mask."""
    if lengths.size and lengths.dtype.kind not in "iu":
        remedy = id_remedy_of(lengths.dtype, "lengths")
        raise DTypeError(f"lengths must be integers, not {lengths.dtype}; {remedy}")
    if type(lengths) is np.ndarray and lengths.dtype == np.int64 and lengths.flags.c_contiguous:
        least, most = load_compiled().find_extremes.code(lengths.reshape(-1))
    else:
        lengths = without_repeats(lengths) if type(lengths) is np.ndarray and lengths.size else lengths
        least, most = lengths.min(initial=0), int(lengths.max(initial=0))
    if least < 0:
        where = np.unravel_index(int(np.argmax(lengths < 0)), lengths.shape)
        place = f"[{', '.join(map(str, where))}]" if where else ""
        raise LoDError(f"lengths{place} = {lengths[where]} is negative; a length counts rows, 0 for an empty sequence")
    return most if check_width(max_length, "max_length") is None else max_length


@op(rowwise=True, types=INTEGERS)
def sequence_mask(lengths: Dense, /, *, max_length: int | None = None, dtype: MaskType = "bool") -> Dense:
    """Return the mask of the data in padded sequences: ``row < length``. sequence_mask of Paddle.

    Parameters
    ----------
    lengths : array of int32 or int64, of any shape
        From a LoDTensor, the mask is a LoDTensor of its structure.
    max_length : int, optional
        The width; the greatest length by default. Longer sequences are all data.
    dtype : {"bool", "int32", "int64", "float16", "bfloat16", "float32", "float64"}
        Type of the mask: True and False, or 1 and 0.

    Returns
    -------
    array of shape (*lengths.shape, max_length)

    Raises
    ------
    LoDError
        A length is negative.

    >>> sequence_mask([2, 0, 3], dtype="int64")
    array([[1, 1, 0],
           [0, 0, 0],
           [1, 1, 1]])
    """
    width = check_mask_lengths(lengths, max_length)
    # np.arange of a width beyond all memory is wrong.
    if not lengths.size:
        return np.zeros((*lengths.shape, width), dtype_named(dtype))
    mask = np.arange(width) < lengths[..., None]
    return to_dtype(mask.astype(np.float32), dtype_named(dtype)) if dtype == "bfloat16" else mask.astype(dtype)


@sequence_mask.infer_rule
def _(lengths, *, max_length=None, dtype="bool"):
    dims = (*lengths.dims, -1 if max_length is None else max_length)
    return VarDesc("", lengths.type, dtype_named(dtype), dims)


sequence_mask.example(lambda dtype: [((np.array([1, 2]),), {})])
