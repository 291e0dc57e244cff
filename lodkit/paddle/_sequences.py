"""Sequences: arithmetic, padding, pooling, structure, tokens, levels, and images as sequences.

The input Y of im2sequence, true sizes of padded images, is not supported; nor is the output pos of
sequence_topk_avg_pooling, which Paddle's gradient reads.
"""

from __future__ import annotations

from ..arrays import is_integer, to_tuple
from ..registry import DATA_TYPES
from ._types import SlotError, as_int32, flatten, op_type, rank, single_integer, vector, width, without_last

POOLS = {"SUM": "sum", "AVERAGE": "average", "SQRT": "sqrt", "MAX": "max", "LAST": "last", "FIRST": "first"}
_NAMES = {code: name for name, code in DATA_TYPES.items()}


@op_type
def sequence_softmax(ops, X):
    return {"Out": ops.sequence_softmax(X)}


@op_type
def add_position_encoding(ops, X, *, alpha=1.0, beta=1.0):
    return {"Out": ops.add_position_encoding(X, alpha=alpha, beta=beta)}


@op_type
def sequence_conv(
    ops, X, Filter, PaddingData=None, *, contextLength, contextStart=0, contextStride=1, paddingTrainable=False
):
    if contextStride != 1:
        raise ValueError(f"contextStride must be 1, got {contextStride}")
    if paddingTrainable and PaddingData is None:
        raise SlotError("sequence_conv with paddingTrainable needs the input PaddingData")
    padding = PaddingData if paddingTrainable else None
    return {"Out": ops.sequence_conv(X, Filter, padding, context_start=contextStart, context_length=contextLength)}


@op_type
def row_conv(ops, X, Filter):
    return {"Out": ops.row_conv(X, Filter)}


@op_type
def sequence_pad(ops, X, PadValue, *, padded_length=-1):
    out, length = ops.sequence_pad(X, PadValue, max_length=width(padded_length))
    return {"Out": out, "Length": length}


@op_type
def sequence_unpad(ops, X, Length):
    out = ops.sequence_unpad(X, Length)
    return {"Out": ops.sequence_reshape(out, new_dim=1) if rank(X) == 2 else out}


@op_type
def sequence_mask(ops, X, MaxLenTensor=None, *, maxlen=-1, out_dtype=3):
    if MaxLenTensor is not None:
        maxlen = single_integer(MaxLenTensor, "MaxLenTensor")
    if not (maxlen is None or is_integer(maxlen)):
        raise TypeError(f"sequence_mask: maxlen must be an integer, got {maxlen!r}")
    most = None if maxlen is None or maxlen < 0 else maxlen  # any negative number means the longest length
    dtype = _NAMES.get(out_dtype, out_dtype) if is_integer(out_dtype) else str(out_dtype)
    return {"Y": ops.sequence_mask(X, max_length=most, dtype=dtype)}


@op_type
def sequence_pool(ops, X, *, pooltype="AVERAGE", pad_value=0.0):
    if pooltype not in POOLS:
        raise ValueError(f"pooltype must be one of {', '.join(POOLS)}, got {pooltype!r}")
    if pooltype != "MAX":
        return {"Out": ops.sequence_pool(X, pool=POOLS[pooltype], pad_value=pad_value)}
    out, index = ops.sequence_pool(X, pool="max", pad_value=pad_value, return_index=True)
    return {"Out": out, "MaxIndex": as_int32(index)}


@op_type
def sequence_expand(ops, X, Y, *, ref_level=-1):
    return {"Out": ops.sequence_expand(X, Y, ref_level=ref_level)}


@op_type
def sequence_expand_as(ops, X, Y):
    return {"Out": ops.sequence_expand_as(X, Y)}


@op_type
def sequence_reverse(ops, X):
    return {"Y": ops.sequence_reverse(X)}


@op_type
def sequence_slice(ops, X, Offset, Length):
    return {"Out": ops.sequence_slice(X, vector(Offset), vector(Length), by="lengths", wrap=False)}


@op_type
def sequence_concat(ops, X: list, *, axis=0, level=None):
    """Concatenate outermost sequences; ``level``, of early versions, counts from the innermost."""
    return {"Out": ops.sequence_concat(*X, axis=axis, level=0 if level is None else -1 - level)}


@op_type
def sequence_scatter(ops, X, Ids, Updates):
    return {"Out": ops.sequence_scatter(X, without_last(Ids, "Ids of sequence_scatter"), Updates)}


@op_type
def sequence_erase(ops, X, *, tokens):
    return {"Out": ops.sequence_erase(X, tokens=tokens)}


@op_type
def sequence_enumerate(ops, X, *, win_size, pad_value=0):
    return {"Out": ops.sequence_enumerate(X, win_size=win_size, pad_value=pad_value)}


@op_type
def sequence_topk_avg_pooling(ops, X, ROW, COLUMN, *, topks, channel_num):
    return {"Out": ops.sequence_topk_avg_pooling(X, ROW, COLUMN, topks=topks, channel_num=channel_num)}


@op_type
def lod_reset(ops, X, Y=None, *, target_lod=(), append=False):
    if Y is None:
        return {"Out": ops.lod_reset(X, target_lod=target_lod, append=append)}
    if getattr(Y, "lod_level", 0):
        return {"Out": ops.lod_reset(X, Y)}  # all levels of Y, regardless of append
    return {"Out": ops.lod_reset(X, ops.offsets_to_lengths(flatten(Y)), append=append)}


@op_type
def sequence_reshape(ops, X, *, new_dim):
    return {"Out": ops.sequence_reshape(X, new_dim=new_dim)}


@op_type
def split_lod_tensor(ops, X, Mask, *, level=0):
    out_true, out_false = ops.split_lod_tensor(X, Mask, level=level)
    return {"OutTrue": out_true, "OutFalse": out_false}


@op_type
def merge_lod_tensor(ops, X, Mask, InTrue, InFalse, *, level=0):
    """X is ignored: levels come from InTrue and InFalse."""
    return {"Out": ops.merge_lod_tensor(InTrue, InFalse, Mask, level=level)}


@op_type
def im2sequence(ops, X, *, kernels, strides=(1, 1), paddings=(0, 0, 0, 0)):
    given = {"kernels": kernels, "strides": strides, "paddings": paddings}
    return {"Out": ops.im2sequence(X, **{name: to_tuple(x, f"im2sequence: {name}") for name, x in given.items()})}


@op_type
def match_matrix_tensor(ops, X, Y, W, *, dim_t=1):
    """Without Tmp, the products of X and W, which Paddle's gradient reads. ``dim_t`` is the second dimension of W."""
    return {"Out": ops.match_matrix(X, Y, W)}
