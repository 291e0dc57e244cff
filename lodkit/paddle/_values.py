"""Element by element and row by row: arrays and SelectedRows; ids and rows over shards."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import MAX_INT64, flat, is_number, to_tuple
from ..lod import LoDTensor, SelectedRows, values_of
from ..registry import VarDesc, array_desc
from ._types import SlotError, as_int32, dtype_of_variable, is_selected, op_type, rank, single_float, without_last


@op_type
def abs(ops, X):
    return {"Out": ops.abs(X)}


@op_type
def square(ops, X):
    return {"Out": ops.square(X)}


@op_type
def sqrt(ops, X):
    return {"Out": ops.sqrt(X)}


@op_type
def assign(ops, X: tuple):
    """X may be an array of tensors, each of which is copied."""
    if not isinstance(X, list):
        return {"Out": ops.assign(X)}
    copies = [ops.assign(x) for x in X]
    return {"Out": array_desc(copies) if isinstance(copies[0], VarDesc) else copies}


@op_type
def isfinite(ops, X):
    return {"Out": ops.isfinite(X)}


@op_type
def isinf(ops, X):
    return {"Out": ops.isinf(X)}


@op_type
def isnan(ops, X):
    return {"Out": ops.isnan(X)}


def _truncate_like(x, number):
    """A number as Paddle takes it for integers: without its fraction."""
    whole = dtype_of_variable(x).kind != "f" and is_number(number) and math.isfinite(number)
    return int(number) if whole else number


@op_type
def clip(ops, X, Min=None, Max=None, *, min=None, max=None):
    """Min and Max are numbers in place of the attributes."""
    bounds = {"min": single_float(Min, "Min of clip", min), "max": single_float(Max, "Max of clip", max)}
    bounds = {name: _truncate_like(X, bound) for name, bound in bounds.items()}
    for name, bound in bounds.items():
        if bound is None and not isinstance(X, VarDesc):
            raise SlotError(f"clip needs the attribute {name}, or the input {name.capitalize()}")
    return {"Out": X if isinstance(X, VarDesc) and None in bounds.values() else ops.clip_by_value(X, **bounds)}


@op_type
def clip_by_norm(ops, X, *, max_norm):
    return {"Out": ops.clip_by_norm(X, max_norm=max_norm)}


@op_type
def scale(ops, X, ScaleTensor=None, *, scale=1.0, bias=0.0, bias_after_scale=True):
    """ScaleTensor is a number in place of the attribute; integers are scaled by numbers without their fractions."""
    scale = _truncate_like(X, single_float(ScaleTensor, "ScaleTensor of scale", scale))
    return {"Out": ops.scale(X, scale=scale, bias=_truncate_like(X, bias), bias_after_scale=bias_after_scale)}


@op_type
def elementwise_mul(ops, X, Y, *, axis=-1):
    """Axes of length 1 repeat; the first axis of that with fewer axes is at ``axis`` of the other."""
    factors = (Y, X) if not isinstance(X, SelectedRows) and rank(Y) > rank(X) else (X, Y)
    return {"Out": ops.elementwise_mul(*factors, axis=axis)}


@op_type
def shape(ops, Input):
    return {"Out": as_int32(ops.shape(Input))}


@op_type
def cvm(ops, X, CVM=None, *, use_cvm=True):
    """CVM has the counts that are in X already; Paddle's gradient copies it."""
    return {"Y": ops.continuous_value_model(X, use_cvm=use_cvm)}


@op_type
def fused_embedding_seq_pool(ops, W, Ids, *, combiner="sum", padding_idx=-1, is_sparse=False):
    """Of several ids a row, the pooled rows of the first ones, then of the second ones ..., side by side."""
    padding_idx = None if padding_idx == -1 else padding_idx
    ids = without_last(Ids, "Ids of fused_embedding_seq_pool")
    attrs = {"pool": combiner, "padding_idx": padding_idx, "is_sparse": is_sparse}
    pooled = [ops.embedding_bag(W, column, **attrs) for column in _columns(ids)]
    out = pooled[0] if len(pooled) == 1 else ops.concat_columns(*pooled)
    unknown = isinstance(ids, VarDesc) and -1 in ids.dims[1:]
    return {"Out": out.but(dims=(out.dims[0], -1)) if unknown else out}


def _columns(ids):
    """Sequences of ids, of several a row those of each place; as they are, of one a row."""
    if isinstance(ids, VarDesc):
        return [ids.but(dims=ids.dims[:1])] * (1 if -1 in ids.dims[1:] else math.prod(ids.dims[1:]))
    values = values_of(ids)
    if len(values.shape) == 1 or not isinstance(ids, LoDTensor):
        return [ids]
    values = values.reshape(values.shape[0], math.prod(values.shape[1:]))
    return [ids.with_values(values[:, i]) for i in range(values.shape[1])]


@op_type
def split_selected_rows(ops, X, *, height_sections):
    sections = to_tuple(height_sections, "split_selected_rows: height_sections")
    return {"Out": list(ops.split_selected_rows(X, height_sections=sections))}


def _column(ids):
    return ids.but(dims=(-1, 1)) if isinstance(ids, VarDesc) else ids.reshape(-1, 1)


@op_type
def split_ids(ops, Ids: list, *, num_outputs):
    """Shard ``id % num_outputs``; ids of all variables ascend, each once, and rows of SelectedRows keep their order."""
    first = Ids[0]
    if any(map(is_selected, Ids)):
        if len(Ids) > 1:
            raise SlotError(f"split_ids: Ids takes one variable of SelectedRows, got {len(Ids)}; sum them first")
        if isinstance(first, VarDesc):
            return {"Out": [first] * num_outputs}
        parts = ops.partition(first._rows, first.value, num_outputs=2 * num_outputs)
        pairs = zip(parts[::2], parts[1::2], strict=True)
        return {"Out": [SelectedRows(rows, value, first.height) for rows, value in pairs]}
    if isinstance(first, VarDesc):
        ids = first.but(dims=(-1,), lod_level=0)
    else:
        vectors = map(flat, map(values_of, Ids))
        ids = ops.merge_id_lists(*(LoDTensor(x, [[len(x)]]) for x in vectors)).values
    return {"Out": [_column(part) for part in ops.partition(ops.unique(ids), num_outputs=num_outputs)]}


@op_type
def hash(ops, X, *, num_hash=1, mod_by=100000):
    """The bytes of ids are hashed: int32 make other numbers than int64, and int32 numbers."""
    dtype = "int32" if dtype_of_variable(X) == np.int32 else "int64"
    return {"Out": ops.hash_rows(X, num_hash=num_hash, mod_by=mod_by, dtype=dtype)}


@op_type
def merge_ids(ops, Ids: list, Rows: list, X: list):
    """The value of each id, from the shards: the rows and the values of each."""
    if not X or len(Rows) != len(X):
        raise SlotError(f"merge_ids: Rows has {len(Rows)} variables, X has {len(X)}; give one of each per shard")
    if isinstance(X[0], VarDesc):
        return {"Out": [X[0].but(dims=(ids.dims[0], *X[0].dims[1:])) for ids in Ids]}
    shards = (SelectedRows(flat(rows), x, MAX_INT64) for rows, x in zip(Rows, X, strict=True))
    whole = ops.sum(*shards)
    return {"Out": [ops.gather(whole.value, ops.find(whole._rows, flat(ids))) for ids in Ids]}


@op_type
def filter_by_instag(ops, Ins, Ins_tag, Filter_tag, *, is_lod=True, out_val_if_empty=0):
    """The sequences (or rows) of Ins with a tag of Filter_tag; without any, one row of a number, of weight 0."""
    if isinstance(Ins, VarDesc):
        numbers = Ins.but(dims=(-1, 1), dtype=np.dtype(np.float32), lod_level=1)
        return {
            "Out": Ins.but(dims=(-1, *Ins.dims[1:]), lod_level=1),
            "LossWeight": numbers,
            "IndexMap": numbers.but(dims=(-1, 3), dtype=np.dtype(np.int64)),
        }
    mask = ops.sequence_contains(Ins_tag, tokens=flat(values_of(Filter_tag)).tolist(), level=0)
    if is_lod and not isinstance(Ins, LoDTensor):
        raise SlotError("filter_by_instag: Ins has no levels; pass a LoDTensor, or is_lod=False to filter rows")
    ins = Ins if is_lod else LoDTensor(Ins, [[1] * len(Ins)])
    out, _ = ops.split_lod_tensor(ins, mask)
    kept, _ = ops.split_lod_tensor(ops.lengths_to_ranges(ins.lengths(0)), mask)
    if len(kept):
        places = ops.lengths_to_ranges(out.lengths(0))
        weights, index = [[1.0]] * len(kept), ops.concat_columns(places[:, :1], kept)
    else:
        item = out.values.shape[1:]
        row = np.asarray([out_val_if_empty] * math.prod(item), out.dtype).reshape(1, *item)
        out = LoDTensor(row, [[1]])
        weights, index = [[0.0]], np.asarray([[0, 1, 1]])
    ones = [[1] * len(weights)]
    weights = LoDTensor(np.asarray(weights, np.float32), ones)
    return {"Out": out, "LossWeight": weights, "IndexMap": LoDTensor(index, ones)}
